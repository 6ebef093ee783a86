#include "compiler/Target/Link/Metadata.h"

#include "compiler/Conversion/XfToLLVM/MemoryPlan.h"
#include "compiler/Target/Link/TokenBounds.h"
#include "compiler/Target/Link/Vocabularies.h"
#include "compiler/Transforms/Layouts.h"

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
  int32_t dimNumber(StringRef name) {
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
      t.dim[d] = shape.isDynamicDim(d) ? -(int64_t(dimNumber(getDimName(shape, d))) + 1) : shape.getDimSize(d);
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
      llvm::StringMap<int64_t> least = leastSizes(entry);
      // What a step reads of a sentence, the entry that begins it has stored.
      if (entry.getKind() == EntryKind::begin)
        for (auto step : module.getOps<EntryOp>())
          if (step.getKind() == EntryKind::step)
            for (auto &size : leastSizes(step))
              least[size.getKey()] = std::max(least[size.getKey()], size.getValue());
      for (auto [a, type] : llvm::enumerate(entry.getArgumentTypes())) {
        tensors.push_back(tensor(entry.getArgName(a), type));
        tensors.back().bound = tokenBound(entry, a);
        auto shape = cast<RankedTensorType>(type);
        for (int64_t d = 0; d < shape.getRank(); ++d)
          tensors.back().least[d] = shape.isDynamicDim(d) ? least.lookup(getDimName(shape, d)) : 0;
      }
      for (auto [r, type] : llvm::enumerate(entry.getResultTypes()))
        tensors.push_back(tensor(entry.getResultName(r), type));
      entries.push_back(e);
      entryNumbers[entry.getSymName()] = i;
    }
    header.entries = bytes.putTable<xf_abi_entry>(entries);
    header.tensors = bytes.putTable<xf_abi_tensor>(tensors);
  }

  void putKernels() {
    std::vector<xf_abi_kernels> sets;
    std::vector<uint64_t> offsets(contents.codeModule.kernels.size());
    for (cpu::Isa isa : cpu::kAllIsas) {
      // A kernel that an instruction set adds nothing to is the one of the set before.
      bool any = false;
      for (auto [offset, name] : llvm::zip(offsets, contents.codeModule.kernels)) {
        auto symbol = contents.code.symbols.find((name + "." + cpu::isaName(isa)).str());
        if (symbol == contents.code.symbols.end())
          continue;
        offset = symbol->second;
        any = true;
      }
      if (any)
        sets.push_back({static_cast<uint32_t>(isa), 0, bytes.putTable<uint64_t>(offsets)});
    }
    header.kernels = bytes.putTable<xf_abi_kernels>(sets);
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

  int32_t number(DictionaryAttr attr, StringRef key, int32_t otherwise) {
    auto value = attr.getAs<IntegerAttr>(key);
    return value ? int32_t(value.getInt()) : otherwise;
  }
  int32_t entryNumber(DictionaryAttr attr, StringRef key) {
    auto symbol = attr.getAs<FlatSymbolRefAttr>(key);
    auto found = symbol ? entryNumbers.find(symbol.getValue()) : entryNumbers.end();
    return found == entryNumbers.end() ? -1 : int32_t(found->second);
  }
  int32_t dim(DictionaryAttr attr, StringRef key) {
    auto name = attr.getAs<StringAttr>(key);
    return name ? dimNumber(name.getValue()) : -1;
  }
  int64_t bound(DictionaryAttr attr, StringRef key) {
    auto name = attr.getAs<StringAttr>(key);
    return name ? getBound(module, name.getValue()).value_or(0) : 0;
  }

  void fillGenerate() {
    auto attr = module->getAttrOfType<DictionaryAttr>(kGenerateAttr);
    auto &g = header.generate;
    g = {};
    if (!attr || entryNumber(attr, "step") < 0)
      return;
    g.present = 1;
    g.encode = entryNumber(attr, "encode");
    g.begin = entryNumber(attr, "begin");
    g.step = entryNumber(attr, "step");
    g.choose = entryNumber(attr, "choose");
    g.align = entryNumber(attr, "align");
    g.packed_encode = entryNumber(attr, "packed_encode");
    g.packed_begin = entryNumber(attr, "packed_begin");
    auto step = module.lookupSymbol<EntryOp>(attr.getAs<FlatSymbolRefAttr>("step"));
    g.tokens_input = *step.findArg(attr.getAs<StringAttr>("tokens"));
    g.logits_output = *step.findResult(attr.getAs<StringAttr>("logits"));
    // The step's new positions are the dimension of its tokens that is not the batch.
    auto tokens = cast<RankedTensorType>(step.getArgumentTypes()[g.tokens_input]);
    for (unsigned d = 0; d < 2; ++d)
      if (getDimName(tokens, d) != attr.getAs<StringAttr>("batch").getValue())
        g.new_dim = dimNumber(getDimName(tokens, d));
    g.start = number(attr, "start", -1);
    g.end = number(attr, "end", -1);
    SmallVector<int64_t> moreEnds = tokenIds(attr, "more_ends");
    moreEnds.truncate(std::min<size_t>(moreEnds.size(), XF_ABI_MAX_ENDS - 1));
    llvm::copy(moreEnds, g.more_ends);
    g.more_ends_count = moreEnds.size();
    g.pad = number(attr, "pad", -1);
    g.sequence_first = attr.contains("sequence_first");
    g.ragged_source = attr.contains("ragged_source");
    g.batch_dim = dim(attr, "batch");
    g.source_dim = dim(attr, "source");
    g.target_dim = dim(attr, "target");
    g.min_length = number(attr, "min_length", 0);
    g.max_length_base = number(attr, "max_length_base", 0);
    g.max_length_per_source = number(attr, "max_length_per_source", 0);
    g.beam = number(attr, "beam", 1);
    // Search rows and sentences share the batch dimension: its bound holds sentences times beams.
    g.batch = std::max<int64_t>(1, bound(attr, "batch") / std::max<int64_t>(1, g.beam));
    g.source = bound(attr, "source");
    g.target = bound(attr, "target");
  }

  uint32_t split(DictionaryAttr attr, StringRef key) {
    auto name = attr.getAs<StringAttr>(key);
    StringRef text = name ? name.getValue() : "ids";
    return text == "characters" ? XF_ABI_CHARACTERS : text == "words" ? XF_ABI_WORDS : text == "subwords" ? XF_ABI_SUBWORDS : XF_ABI_IDS;
  }
  uint32_t affix(DictionaryAttr attr, StringRef key, int32_t (&out)[XF_ABI_MAX_AFFIX]) {
    SmallVector<int64_t> ids = tokenIds(attr, key);
    ids.truncate(std::min<size_t>(ids.size(), XF_ABI_MAX_AFFIX));
    llvm::copy(ids, out);
    return ids.size();
  }
  void fillText() {
    auto &t = header.text;
    t = {};
    t.source_unknown = -1;
    auto attr = module->getAttrOfType<DictionaryAttr>(kTextAttr);
    if (!attr)
      return;
    t.source_split = split(attr, "source");
    t.target_split = split(attr, "target");
    t.source_unknown = number(attr, "unknown", -1);
    t.lowercase = attr.contains("lowercase");
    t.prefix_count = affix(attr, "prefix", t.prefix);
    t.suffix_count = affix(attr, "suffix", t.suffix);
    t.between_count = affix(attr, "between", t.between);
  }

  void fillPredict() {
    auto attr = module->getAttrOfType<DictionaryAttr>(kPredictAttr);
    header.predict = {};
    header.predict.pad = header.predict.packed = header.predict.types = -1;
    if (!attr)
      return;
    header.predict.present = 1;
    fillPredictDims(attr);
    header.predict.entry = entryNumber(attr, "entry");
    header.predict.packed = entryNumber(attr, "packed");
    header.predict.labels = attr.contains("labels");
    header.predict.pad = number(attr, "pad", -1);
    auto entry = module.lookupSymbol<EntryOp>(attr.getAs<FlatSymbolRefAttr>("entry"));
    header.predict.output = *entry.findResult(attr.getAs<StringAttr>("result"));
    if (auto types = attr.getAs<StringAttr>("types"))
      header.predict.types = *entry.findArg(types);
  }

  /// Batch and source of the tokens that a prediction reads, as a search would have them.
  void fillPredictDims(DictionaryAttr attr) {
    auto &g = header.generate;
    g.encode = g.begin = g.step = g.choose = g.align = g.packed_encode = g.packed_begin = g.target_dim = g.new_dim = g.start = g.end = -1;
    g.pad = number(attr, "pad", -1);
    g.batch_dim = dim(attr, "batch");
    g.source_dim = dim(attr, "source");
    g.sequence_first = attr.contains("sequence_first");
    g.batch = bound(attr, "batch");
    g.source = bound(attr, "source");
  }

  const ImageContents &contents;
  ModuleOp module;
  Bytes bytes;
  xf_abi_image header{};
  llvm::StringMap<int64_t> entryNumbers;
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
