#include "compiler/Explain/Explanation.h"

#include "compiler/Explain/Members.h"
#include "compiler/Import/Error.h"
#include "dialect/IR/ModuleRoles.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {

Cost ExplainedEntry::total() const {
  Cost sum;
  for (const ExplainedLine &line : lines)
    sum += line.cost;
  return sum;
}

int64_t ExplainedEntry::launches() const {
  int64_t count = 0;
  for (const ExplainedLine &line : lines)
    for (const ExplainedLine::Launch &launch : line.launches)
      count += launch.times;
  return count;
}

namespace {

class EntryExplainer {
public:
  EntryExplainer(EntryOp entry, const EntryCalls &calls, const SourceText &source, ExplainedEntry &result)
      : root(entry->getParentOfType<ModuleOp>()), entry(entry), source(source), result(result) {
    for (const EntryCalls::value_type &call : calls)
      kernels[call.first] = call.second;
  }

  void run() { explainBlock(entry.getBody().front(), 0, 1, result.order); }

private:
  void explainBlock(Block &block, unsigned depth, int64_t times, std::vector<unsigned> &order) {
    for (Operation &op : block.without_terminator()) {
      if (auto repeat = dyn_cast<RepeatOp>(op)) {
        ExplainedLine line;
        line.depth = depth, line.times = repeat.getCount(), line.isStack = true;
        for (FileLineColLoc place : source.places(op.getLoc())) {
          line.text = source.statement(place);
          line.place = SourceText::name(place);
        }
        result.lines.push_back(std::move(line));
        std::vector<unsigned> once;
        explainBlock(repeat.getBody().front(), depth + 1, times * repeat.getCount(), once);
        for (int64_t i = 0; i < int64_t(repeat.getCount()); ++i)
          order.insert(order.end(), once.begin(), once.end());
      } else if (auto kernel = kernels.find(&op); kernel != kernels.end() && isCalled(&op)) {
        order.push_back(result.lines.size());
        result.lines.push_back(explainCall(&op, depth, times, kernel->second));
      }
    }
  }

  /// It computes nothing, but puts its first operand elsewhere.
  static bool isCopy(Operation *op) { return isa<AppendOp, StoreOp, PackOp, SpreadOp>(op); }

  /// The layers whose input a copy copies; null if it copies something else.
  static RepeatOp givenToLayer(Operation *copy) {
    auto argument = dyn_cast<BlockArgument>(copy->getOperand(0));
    return argument ? dyn_cast<RepeatOp>(argument.getOwner()->getParentOp()) : RepeatOp();
  }

  /// Whether an op inside of a kernel op stands for an expression: others hold such ops together, or convert to other types.
  static bool isOfModel(Operation *op) {
    if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
      return !isa<arith::ConstantOp, arith::TruncFOp, arith::ExtFOp>(op);
    return isa<ReduceOp, EmbedOp, AtOp>(op);
  }

  /// Several new positions are not explained: attention writes a single one.
  static bool isCalled(Operation *op) {
    auto append = dyn_cast<AppendOp>(op);
    return !append || !append.getByReader();
  }

  ExplainedLine explainCall(Operation *op, unsigned depth, int64_t times, unsigned kernel) {
    ExplainedLine line;
    line.depth = depth, line.times = times, line.kernel = kernel;
    line.kind = kindOf(op);
    line.path = memberOf(op, root);
    line.apart = reasonOf(op);
    line.cost = costOf(op, result.sizes);
    line.cost.operations *= times, line.cost.weightBytes *= times, line.cost.otherBytes *= times;

    SmallVector<FileLineColLoc> main = source.places(mainLocation(op)), others;
    op->walk([&](Operation *inner) {
      if (!isOfModel(inner))
        return;
      for (FileLineColLoc place : source.places(inner->getLoc()))
        if (!llvm::is_contained(main, place) && !llvm::is_contained(others, place))
          others.push_back(place);
    });
    for (FileLineColLoc place : main)
      line.text += (line.text.empty() ? "" : ", ") + source.expression(place, SourceText::Side::both);
    if (isCopy(op) && op->getOperand(0).getDefiningOp<RepeatOp>())
      line.text = "what the last layer gives";
    if (isCopy(op) && givenToLayer(op))
      line.text = "what a layer is given";
    if (line.text.empty()) // a block of the library by itself
      line.text = line.path;
    if (!main.empty())
      line.place = SourceText::name(main.front());
    nameMembers(op, line);
    llvm::SmallVector<FileLineColLoc> inFront = operatorsBehindProduct(op);
    for (FileLineColLoc place : others) {
      auto side = llvm::is_contained(inFront, place) ? SourceText::Side::left : SourceText::Side::right;
      if (std::string text = source.expression(place, side); !llvm::is_contained(line.fused, text))
        line.fused.push_back(text);
    }
    addConversions(op, line);
    if (auto attend = dyn_cast<AttendOp>(op))
      if (auto append = attend.getK().getDefiningOp<AppendOp>(); append && append.getByReader())
        line.fused.push_back("keeping the new key and value");
    return line;
  }

  /// Places of operators whose right side is the product: of x + w(x) the left side is what is fused.
  SmallVector<FileLineColLoc> operatorsBehindProduct(Operation *op) const {
    SmallVector<FileLineColLoc> found;
    auto contract = dyn_cast<ContractOp>(op);
    if (!contract)
      return found;
    Block &block = contract->getRegion(0).front();
    llvm::SmallPtrSet<void *, 8> made{block.getArgument(0).getAsOpaquePointer()};
    auto isMade = [&](Value value) { return made.contains(value.getAsOpaquePointer()); };
    for (Operation &inner : block) {
      if (!llvm::any_of(inner.getOperands(), isMade))
        continue;
      if (inner.getNumOperands() == 2 && isMade(inner.getOperand(1)) && !isMade(inner.getOperand(0)))
        llvm::append_range(found, source.places(inner.getLoc()));
      for (Value result : inner.getResults())
        made.insert(result.getAsOpaquePointer());
    }
    return found;
  }

  /// Blocks of the library have one place for all that they compute: their members' names tell kernels apart.
  void nameMembers(Operation *op, ExplainedLine &line) const {
    auto contract = dyn_cast<ContractOp>(op);
    if (!contract)
      return;
    SmallVector<StringRef> names = membersOf(contract.getWeight(), root);
    for (StringRef &name : names)
      name = name.rsplit('.').second;
    bool isNamed = llvm::any_of(names, [&](StringRef name) { return name.empty() || StringRef(line.text).contains(name); });
    if (!isNamed && !names.empty())
      line.text += ": " + llvm::join(names, ", ");
  }

  static std::string kindOf(Operation *op) {
    auto describe = [](StringRef name, Type element) {
      return (name + (element.isF32() ? "" : element.isInteger(8) ? " of int8" : element.isBF16() ? " of bf16" : " of f16")).str();
    };
    auto elementOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); };
    if (auto contract = dyn_cast<ContractOp>(op))
      return describe("product", elementOf(contract.getWeight()));
    if (auto choose = dyn_cast<ChooseOp>(op))
      return describe("choice", elementOf(choose.getWeight()));
    if (auto attend = dyn_cast<AttendOp>(op))
      return describe("attention", elementOf(attend.getK()));
    if (isa<RowOp>(op))
      return "row";
    if (isa<AppendOp, StoreOp>(op)) {
      StringRef state = op->getAttrOfType<FlatSymbolRefAttr>("name").getValue();
      return state.contains(".keys.") ? "keep keys" : state.contains(".values.") ? "keep values" : "keep";
    }
    if (isa<ScanOp, ScanStepOp>(op))
      return "scan";
    if (auto pack = dyn_cast<PackOp>(op))
      return pack.getLayout() == Layout::keys ? "copy of keys" : pack.getLayout() == Layout::values ? "copy of values" : "copy";
    if (isa<SpreadOp, MapOp, ConcatOp>(op))
      return "copy";
    return op->getName().stripDialect().str();
  }

  /// What gives a kernel its name: the linear of a product, the statistic or the look-up of a row.
  static Location mainLocation(Operation *op) {
    if (isCopy(op)) {
      RepeatOp layers = givenToLayer(op);
      return layers ? layers.getLoc() : op->getOperand(0).getLoc();
    }
    Location found = op->getLoc();
    if (isa<RowOp>(op))
      op->walk([&](Operation *inner) {
        if (!isa<ReduceOp, EmbedOp>(inner))
          return WalkResult::advance();
        found = inner->getLoc();
        return WalkResult::interrupt();
      });
    return found;
  }

  /// Types that a kernel's results are made in for products, beside the expressions of the model.
  static void addConversions(Operation *op, ExplainedLine &line) {
    bool toBytes = isa<RowOp>(op) && llvm::any_of(op->getResultTypes(), [](Type type) {
      return cast<RankedTensorType>(type).getElementType().isInteger(8);
    });
    Type narrow;
    op->walk([&](arith::TruncFOp cut) { narrow = cut.getType(); });
    if (toBytes)
      line.fused.push_back("to int8, with a scale");
    if (narrow)
      line.fused.push_back(narrow.isBF16() ? "to bf16" : "to f16");
  }

  /// Why it is not a part of the kernel before it.
  std::string reasonOf(Operation *op) const {
    if (auto pack = dyn_cast<PackOp>(op); pack && pack.getLayout() == Layout::plain)
      return "it is to lie elsewhere than where it is computed";
    if (isa<PackOp, SpreadOp>(op))
      return "copied once into the order in which attention reads it, for all queries";
    if (isa<AppendOp, StoreOp>(op))
      return "kept for steps that follow";
    if (isa<ConcatOp, RearrangeOp>(op))
      return "no strides show the parts as one tensor";
    auto row = dyn_cast<RowOp>(op);
    return row ? reasonOf(row) : "";
  }

  std::string reasonOf(RowOp row) const {
    bool reduces = false, looksUp = false, isLayers = false, isLayer = false;
    row->walk([&](Operation *inner) {
      reduces |= isa<ReduceOp>(inner);
      looksUp |= isa<EmbedOp>(inner);
    });
    Operation *producer = nullptr;
    for (Value input : row.getInputs()) {
      Operation *from = producerOf(input);
      if (from && isa<ContractOp, AttendOp>(from) && !producer)
        producer = from;
      isLayers |= from && isa<RepeatOp>(from);
      isLayer |= !from && isa<RepeatOp>(input.getParentBlock()->getParentOp());
    }
    if (!producer)
      return isLayers  ? "what it reads comes out of the layers, which are a loop"
             : isLayer ? "what it reads comes from the layer before"
             : looksUp ? ""
                       : "nothing is computed before it that it could be a part of";
    StringRef maker = isa<ContractOp>(producer) ? "the product before it" : "attention";
    if (reduces)
      return ("it needs whole rows, of which " + maker + " makes parts").str();
    llvm::SetVector<Operation *> users;
    for (Value value : producer->getResults())
      collectUsers(value, users);
    if (users.size() > 1)
      return ("others, too, read what " + maker + " gives").str();
    return isa<AttendOp>(producer) ? "attention has no epilogue" : "it reads tensors of other shapes than the product before it gives";
  }

  ModuleOp root;
  EntryOp entry;
  const SourceText &source;
  ExplainedEntry &result;
  llvm::DenseMap<Operation *, unsigned> kernels;
};

/// The entries that matter to who runs the model, with what they are for.
std::vector<std::pair<EntryOp, std::string>> chooseEntries(ModuleOp module) {
  std::vector<std::pair<EntryOp, std::string>> chosen;
  auto add = [&](const ModuleRoles &roles, StringRef role, StringRef text) {
    EntryOp entry = roles.entry(role);
    if (entry)
      chosen.push_back({entry, text.str()});
    return bool(entry);
  };
  if (ModuleRoles generate(module, kGenerateAttr); generate) {
    add(generate, "encode", "once for each sentence");
    add(generate, "begin", "once for each sentence");
    if (!add(generate, "choose", "the decoder's step, once for each token"))
      add(generate, "step", "the decoder's step, once for each token");
    add(generate, "align", "once for each result whose alignment is asked for");
  } else if (!add({module, kPredictAttr}, "entry", "once for each sentence")) {
    for (auto entry : module.getOps<EntryOp>())
      if (entry.getKind() == EntryKind::full)
        chosen.push_back({entry, "called by name"});
  }
  return chosen;
}

llvm::Expected<Sizes> findSizes(ModuleOp module, const Sizes &asked) {
  Sizes sizes;
  auto bounds = module->getAttrOfType<DictionaryAttr>(kBoundsAttr);
  ModuleRoles roles(module, module->hasAttr(kGenerateAttr) ? kGenerateAttr : kPredictAttr);
  for (auto bound : bounds ? bounds.getValue() : ArrayRef<NamedAttribute>())
    sizes[bound.getName()] = std::min<int64_t>(cast<IntegerAttr>(bound.getValue()).getInt(), 25);
  for (StringRef one : {roles.name("batch"), roles.name("new")})
    if (!one.empty())
      sizes[one] = 1;
  if (!roles.name("batch").size() && sizes.contains("B"))
    sizes["B"] = 1;
  for (const auto &wanted : asked) {
    StringRef name = roles.name(wanted.getKey());
    if (name.empty() || wanted.getKey() == "new")
      name = wanted.getKey();
    if (name == roles.name("new"))
      return makeError("--at {}: a step is explained for one position", wanted.getKey().str());
    auto bound = getBound(module, name);
    // The batch's limit is that of rows, of which a sentence has one for each beam.
    if (bound && name == roles.name("batch"))
      bound = std::max<int64_t>(1, *bound / roles.beams());
    if (!bound)
      return makeError("--at {}: the model has no such dimension", wanted.getKey().str());
    if (wanted.getValue() > *bound)
      return makeError("--at {}={}: its limit is {}", wanted.getKey().str(), wanted.getValue(), *bound);
    sizes[name] = wanted.getValue();
  }
  return sizes;
}

} // namespace

llvm::Expected<Explanation> explain(ModuleOp module, const CodeModule &code, const SourceText &source, const Sizes &asked) {
  auto sizes = findSizes(module, asked);
  if (!sizes)
    return sizes.takeError();
  Explanation result;
  if (auto name = module->getAttrOfType<StringAttr>(kNameAttr))
    result.model = name.getValue();
  auto entries = llvm::to_vector(module.getOps<EntryOp>());
  for (EntryOp entry : entries)
    if (entry.getKind() == EntryKind::full)
      for (Type type : llvm::concat<const Type>(entry.getArgumentTypes(), entry.getResultTypes()))
        for (StringRef dim : getDimNames(cast<RankedTensorType>(type)))
          if (!dim.empty() && !llvm::is_contained(result.dims, dim))
            result.dims.push_back(dim.str());
  for (auto [entry, role] : chooseEntries(module)) {
    ExplainedEntry &explained = result.entries.emplace_back();
    explained.name = entry.getSymName();
    explained.role = role;
    explained.sizes = *sizes;
    EntryExplainer(entry, code.calls[std::distance(entries.begin(), llvm::find(entries, entry))], source, explained).run();
  }
  return result;
}

} // namespace xf
