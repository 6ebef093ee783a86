#include "compiler/Target/Link/Metadata.h"

#include "compiler/Conversion/XfToLLVM/MemoryPlan.h"
#include "compiler/Target/Isa.h"
#include "compiler/Target/Link/TokenBounds.h"
#include "compiler/Target/Link/Vocabularies.h"
#include "compiler/Transforms/Layouts.h"
#include "dialect/IR/ModuleRoles.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {
namespace {

/// Bytes with what was put where.
class Bytes {
public:
  explicit Bytes(size_t reserved) : data(reserved) {}
  uint64_t align(uint64_t alignment) {
    data.resize(llvm::alignTo(data.size(), alignment));
    return data.size();
  }
  xf_abi_range put(StringRef text) {
    xf_abi_range range{data.size(), text.size()};
    data.insert(data.end(), text.begin(), text.end());
    return range;
  }
  template <typename T>
  xf_abi_table putTable(ArrayRef<T> rows) {
    xf_abi_table table{align(8), rows.size()};
    put(StringRef(reinterpret_cast<const char *>(rows.data()), rows.size() * sizeof(T)));
    return table;
  }
  std::vector<char> data;
};

class ImageHead {
public:
  ImageHead(const ImageContents &contents) : contents(contents), module(contents.kernelModule), bytes(sizeof(xf_abi_image)) {}

  std::vector<char> build(ArrayRef<StoredParameter> parameters, int64_t weightBytes) {
    memcpy(header.magic, XF_ABI_MAGIC, sizeof(XF_ABI_MAGIC));
    header.abi_version = XF_ABI_VERSION;
    header.header_size = sizeof(xf_abi_image);
    header.name = bytes.put(modelName(module));
    putDims();
    putEntries();
    if (contents.codeModule.targets.cpu)
      putKernels();
    putGpuKernels();
    putStates();
    putParameters(parameters);
    header.workspace_bytes = contents.codeModule.workspaceBytes;
    header.scratch_bytes = contents.codeModule.scratchBytes;
    fillGenerate();
    fillText();
    fillPredict();
    header.ir = bytes.put(contents.ir);
    header.source_vocabulary = bytes.put(contents.source.tokens);
    header.target_vocabulary = bytes.put(contents.target.tokens);
    putSubwords();
    bytes.align(XF_ABI_PAGE);
    header.code = bytes.put(StringRef(contents.code.bytes.data(), contents.code.bytes.size()));
    header.weights = {bytes.align(XF_ABI_PAGE), uint64_t(weightBytes)};
    header.image_size = header.weights.offset + weightBytes;
    memcpy(bytes.data.data(), &header, sizeof(header));
    header.checksum = xf_abi_checksum(bytes.data.data(), bytes.data.size());
    memcpy(bytes.data.data(), &header, sizeof(header));
    return std::move(bytes.data);
  }

private:
  int32_t dimIndex(StringRef name) {
    auto found = contents.codeModule.layout.dims.find(name);
    return found == contents.codeModule.layout.dims.end() ? -1 : int32_t(found->second);
  }

  /// Tables of tokenizers are used as they lie there; what both sides have is stored once.
  void putSubwords() {
    bytes.align(8);
    header.source_subwords = header.target_subwords = bytes.put(contents.source.subwords);
    bytes.align(8);
    if (contents.target.subwords != contents.source.subwords)
      header.target_subwords = bytes.put(contents.target.subwords);
  }

  void putDims() {
    std::vector<xf_abi_dim> dims;
    if (auto bounds = module->getAttrOfType<DictionaryAttr>(kBoundsAttr))
      for (auto bound : bounds)
        dims.push_back({bytes.put(bound.getName().getValue()), cast<IntegerAttr>(bound.getValue()).getInt()});
    header.dims = bytes.putTable<xf_abi_dim>(dims);
  }

  xf_abi_tensor tensor(StringRef name, Type type) {
    auto shape = cast<RankedTensorType>(type);
    xf_abi_tensor t{};
    t.name = bytes.put(name);
    t.dtype = dtypeOf(shape.getElementType());
    t.rank = shape.getRank();
    for (unsigned d = 0; d < t.rank; ++d)
      t.dim[d] = shape.isDynamicDim(d) ? -(int64_t(dimIndex(getDimName(shape, d))) + 1) : shape.getDimSize(d);
    return t;
  }

  void putEntries() {
    std::vector<xf_abi_entry> entries;
    std::vector<xf_abi_tensor> tensors;
    for (auto [i, entry] : llvm::enumerate(module.getOps<EntryOp>())) {
      xf_abi_entry e{};
      e.name = bytes.put(entry.getSymName());
      e.code_offset = contents.code.symbols.lookup(contents.codeModule.plans[i]);
      e.kind = static_cast<uint32_t>(entry.getKind());
      e.inputs = entry.getArgumentTypes().size();
      e.outputs = entry.getResultTypes().size();
      e.first_tensor = tensors.size();
      e.workspace_bytes = contents.codeModule.workspaces[i];
      llvm::StringMap<int64_t> least = minSizes(entry);
      // What a step reads of a sentence, the entry that begins it has stored.
      if (entry.getKind() == EntryKind::begin)
        for (auto step : module.getOps<EntryOp>())
          if (step.getKind() == EntryKind::step)
            for (auto &size : minSizes(step))
              least[size.getKey()] = std::max(least[size.getKey()], size.getValue());
      for (auto [a, type] : llvm::enumerate(entry.getArgumentTypes())) {
        tensors.push_back(tensor(entry.getArgName(a), type));
        tensors.back().bound = tokenBound(entry, a);
        auto shape = cast<RankedTensorType>(type);
        for (int64_t d = 0; d < shape.getRank(); ++d)
          tensors.back().min_size[d] = shape.isDynamicDim(d) ? least.lookup(getDimName(shape, d)) : 0;
      }
      for (auto [r, type] : llvm::enumerate(entry.getResultTypes()))
        tensors.push_back(tensor(entry.getResultName(r), type));
      entries.push_back(e);
      entryIndices[entry.getSymName()] = i;
    }
    header.entries = bytes.putTable<xf_abi_entry>(entries);
    header.tensors = bytes.putTable<xf_abi_tensor>(tensors);
  }

  void putKernels() {
    std::vector<xf_abi_kernels> sets;
    for (codegen::Isa isa : contents.codeModule.targets.isas) {
      std::vector<uint64_t> offsets;
      codegen::Isa needed = codegen::Isa::baseline;
      for (StringRef name : contents.codeModule.kernels) {
        auto [own, offset] = bestKernel(name, isa);
        offsets.push_back(offset);
        needed = std::max(needed, own);
      }
      // Where it adds nothing to the one before, that serves CPUs with both.
      if (sets.empty() || sets.back().isa != static_cast<uint32_t>(needed))
        sets.push_back({static_cast<uint32_t>(needed), 0, bytes.putTable<uint64_t>(offsets)});
    }
    header.kernels = bytes.putTable<xf_abi_kernels>(sets);
  }

  /// The best of a kernel that CPUs with `isa` execute, and its offset: a kernel that an instruction set adds nothing to has none for it.
  std::pair<codegen::Isa, uint64_t> bestKernel(StringRef name, codegen::Isa isa) {
    for (codegen::Isa own : llvm::reverse(codegen::kAllIsas))
      if (own <= isa)
        if (auto symbol = contents.code.symbols.find((name + "." + codegen::isaName(own)).str()); symbol != contents.code.symbols.end())
          return {own, symbol->second};
    llvm_unreachable("each kernel has code for each instruction set that code is made for");
  }

  void putGpuKernels() {
    std::vector<xf_abi_gpu_kernel> kernels;
    std::vector<xf_abi_gpu_launch> launches;
    auto toAbi = [&](const gpu::Launch &launch) {
      xf_abi_gpu_launch out = gpu::toAbi(launch);
      out.function = bytes.put(launch.function);
      return out;
    };
    auto put = [&](const gpu::Kernel &kernel) {
      uint64_t first = launches.size();
      for (const gpu::Launch &launch : kernel.launches)
        launches.push_back(toAbi(launch));
      return xf_abi_gpu_kernel{kernel.views, uint32_t(kernel.launches.size()), first};
    };
    for (const gpu::Kernel &kernel : contents.codeModule.gpuKernels)
      kernels.push_back(put(kernel));
    header.gpu.move_rows = put(contents.codeModule.gpuMoveRows);
    header.gpu.advance = put(contents.codeModule.gpuAdvance);
    header.gpu.apply_rules = put(contents.codeModule.gpuApplyRules);
    header.gpu.choose_logits = put(contents.codeModule.gpuChooseLogits);
    header.gpu.take_logits = put(contents.codeModule.gpuTakeLogits);
    header.gpu.draw = put(contents.codeModule.gpuDraw);
    header.gpu.choose_parts = static_cast<uint64_t>(contents.codeModule.gpuChooseParts);
    header.gpu.ptx = bytes.put(contents.ptx);
    header.gpu.capability = gpu::kComputeCapability;
    header.gpu.kernels = bytes.putTable<xf_abi_gpu_kernel>(kernels);
    header.gpu.launches = bytes.putTable<xf_abi_gpu_launch>(launches);
    std::vector<xf_abi_gpu_pair> pairs;
    for (const CodeModule::GpuPair &pair : contents.codeModule.gpuPairs)
      pairs.push_back({pair.row, pair.product, pair.view, pair.rank, toAbi(pair.launch)});
    header.gpu.pairs = bytes.putTable<xf_abi_gpu_pair>(pairs);
  }

  void putStates() {
    const DataLayout &layout = contents.codeModule.layout;
    std::vector<xf_abi_state> states;
    for (Operation *op : layout.states) {
      auto state = cast<StateOp>(op);
      states.push_back(describeState(state, layout));
      states.back().name = bytes.put(state.getSymName());
    }
    header.states = bytes.putTable<xf_abi_state>(states);
  }

  void putParameters(ArrayRef<StoredParameter> stored) {
    std::vector<xf_abi_parameter> parameters;
    std::vector<xf_abi_segment> segments;
    for (const StoredParameter &p : stored) {
      xf_abi_parameter out{};
      out.path = bytes.put(p.path);
      auto type = const_cast<StoredParameter &>(p).parameter.getTensorType();
      out.rank = type.getRank();
      llvm::copy(type.getShape(), out.size);
      out.first_segment = segments.size();
      out.segments = p.segments.size();
      llvm::append_range(segments, p.segments);
      parameters.push_back(out);
    }
    header.parameters = bytes.putTable<xf_abi_parameter>(parameters);
    header.segments = bytes.putTable<xf_abi_segment>(segments);
  }

  static int32_t integerOr(const ModuleRoles &roles, StringRef member, int32_t defaultValue) {
    return static_cast<int32_t>(roles.integer(member).value_or(defaultValue));
  }
  int32_t entryIndex(const ModuleRoles &roles, StringRef member) {
    auto found = entryIndices.find(roles.name(member));
    return found == entryIndices.end() ? -1 : int32_t(found->second);
  }
  int32_t dim(const ModuleRoles &roles, StringRef member) { return roles.has(member) ? dimIndex(roles.name(member)) : -1; }

  void fillGenerate() {
    ModuleRoles roles(module, kGenerateAttr);
    auto &g = header.generate;
    g = {};
    if (!roles.entry("step"))
      return;
    g.present = 1;
    g.encode = entryIndex(roles, "encode");
    g.begin = entryIndex(roles, "begin");
    g.step = entryIndex(roles, "step");
    g.choose = entryIndex(roles, "choose");
    g.align = entryIndex(roles, "align");
    g.packed_encode = entryIndex(roles, "packed_encode");
    g.packed_begin = entryIndex(roles, "packed_begin");
    EntryOp step = roles.entry("step");
    g.tokens_input = *step.findArg(roles.name("tokens"));
    g.logits_output = *step.findResult(roles.name("logits"));
    // The step's new positions are the dimension of its tokens that is not the batch.
    auto tokens = cast<RankedTensorType>(step.getArgumentTypes()[g.tokens_input]);
    for (unsigned d = 0; d < 2; ++d)
      if (getDimName(tokens, d) != roles.name("batch"))
        g.new_dim = dimIndex(getDimName(tokens, d));
    g.start = integerOr(roles, "start", -1);
    g.end = integerOr(roles, "end", -1);
    SmallVector<int64_t> moreEnds = roles.integers("more_ends");
    moreEnds.truncate(std::min<size_t>(moreEnds.size(), XF_ABI_MAX_ENDS - 1));
    llvm::copy(moreEnds, g.more_ends);
    g.more_ends_count = moreEnds.size();
    g.pad = integerOr(roles, "pad", -1);
    g.sequence_first = roles.has("sequence_first");
    g.ragged_source = roles.has("ragged_source");
    g.batch_dim = dim(roles, "batch");
    g.source_dim = dim(roles, "source");
    g.target_dim = dim(roles, "target");
    g.min_length = integerOr(roles, "min_length", 0);
    g.max_length_base = integerOr(roles, "max_length_base", 0);
    g.max_length_per_source = integerOr(roles, "max_length_per_source", 0);
    g.beam = int32_t(roles.beams());
    // Search rows and sentences share the batch dimension: its bound holds sentences times beams.
    g.batch = std::max<int64_t>(1, roles.bound("batch").value_or(0) / roles.beams());
    g.source = roles.bound("source").value_or(0);
    g.target = roles.bound("target").value_or(0);
  }

  static uint32_t split(StringRef text) {
    return text == "characters" ? XF_ABI_CHARACTERS : text == "words" ? XF_ABI_WORDS : text == "subwords" ? XF_ABI_SUBWORDS : XF_ABI_IDS;
  }
  static uint32_t affix(const ModuleRoles &roles, StringRef member, int32_t (&out)[XF_ABI_MAX_AFFIX]) {
    SmallVector<int64_t> ids = roles.integers(member);
    ids.truncate(std::min<size_t>(ids.size(), XF_ABI_MAX_AFFIX));
    llvm::copy(ids, out);
    return ids.size();
  }
  void fillText() {
    auto &t = header.text;
    t = {};
    t.source_unknown = -1;
    ModuleRoles roles(module, kTextAttr);
    if (!roles)
      return;
    t.source_split = split(roles.name("source"));
    t.target_split = split(roles.name("target"));
    t.source_unknown = integerOr(roles, "unknown", -1);
    t.lowercase = roles.has("lowercase");
    t.prefix_count = affix(roles, "prefix", t.prefix);
    t.suffix_count = affix(roles, "suffix", t.suffix);
    t.between_count = affix(roles, "between", t.between);
  }

  void fillPredict() {
    ModuleRoles roles(module, kPredictAttr);
    header.predict = {};
    header.predict.pad = header.predict.packed = header.predict.types = -1;
    if (!roles)
      return;
    header.predict.present = 1;
    fillPredictDims(roles);
    header.predict.entry = entryIndex(roles, "entry");
    header.predict.packed = entryIndex(roles, "packed");
    header.predict.labels = roles.has("labels");
    header.predict.pad = integerOr(roles, "pad", -1);
    EntryOp entry = roles.entry("entry");
    header.predict.output = *entry.findResult(roles.name("result"));
    if (roles.has("types"))
      header.predict.types = *entry.findArg(roles.name("types"));
  }

  /// Batch and source of the tokens that a prediction reads, as a search would have them.
  void fillPredictDims(const ModuleRoles &roles) {
    auto &g = header.generate;
    g.encode = g.begin = g.step = g.choose = g.align = g.packed_encode = g.packed_begin = g.target_dim = g.new_dim = g.start = g.end = -1;
    g.pad = integerOr(roles, "pad", -1);
    g.batch_dim = dim(roles, "batch");
    g.source_dim = dim(roles, "source");
    g.sequence_first = roles.has("sequence_first");
    g.batch = roles.bound("batch").value_or(0);
    g.source = roles.bound("source").value_or(0);
  }

  const ImageContents &contents;
  ModuleOp module;
  Bytes bytes;
  xf_abi_image header{};
  llvm::StringMap<int64_t> entryIndices;
};

} // namespace

StringRef modelName(ModuleOp module) {
  auto name = module->getAttrOfType<StringAttr>(kNameAttr);
  return name ? name.getValue() : "model";
}

std::vector<char> buildImageHead(const ImageContents &contents, ArrayRef<StoredParameter> parameters, int64_t weightBytes) {
  return ImageHead(contents).build(parameters, weightBytes);
}

} // namespace xf
