#include "compiler/Explain/Explanation.h"

#include "compiler/Explain/Members.h"
#include "compiler/Explain/Reasons.h"
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
        if (auto locations = source.locations(op.getLoc()); !locations.empty()) {
          line.text = source.loop(locations.front());
          line.location = SourceText::format(locations.front());
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

  /// Whether an op computes nothing, but puts its first operand elsewhere.
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

  /// Whether an op is called for a single new position, the case that is explained: then attention writes what its append would.
  static bool isCalled(Operation *op) {
    auto append = dyn_cast<AppendOp>(op);
    return !append || !append.getByReader();
  }

  ExplainedLine explainCall(Operation *op, unsigned depth, int64_t times, unsigned kernel) {
    ExplainedLine line;
    line.depth = depth, line.times = times, line.kernel = kernel;
    line.kind = kindOf(op);
    line.path = memberOf(op, root);
    line.notFused = whyNotFused(op);
    line.cost = costOf(op, result.sizes);
    line.cost.operations *= times, line.cost.weightBytes *= times, line.cost.otherBytes *= times;

    SmallVector<FileLineColLoc> main = source.locations(mainLocation(op));
    for (FileLineColLoc loc : main)
      line.text += (line.text.empty() ? "" : ", ") + source.expression(loc);
    if (op->getNumOperands() && (isCopy(op) || line.text.empty())) { // what loops pass on has no text of its own
      if (op->getOperand(0).getDefiningOp<RepeatOp>())
        line.text = "what the last layer gives";
      else if (givenToLayer(op))
        line.text = "what a layer is given";
    }
    if (line.text.empty()) // a block of the library by itself
      line.text = line.path;
    if (!main.empty())
      line.location = SourceText::format(main.front());
    addFused(op, main, line);
    nameMembers(op, line);
    addConversions(op, line);
    if (auto attend = dyn_cast<AttendOp>(op))
      if (auto append = attend.getK().getDefiningOp<AppendOp>(); append && append.getByReader())
        line.fused.push_back("keeping the new key and value");
    return line;
  }

  /// Adds the expressions that a kernel computes besides the main ones, without those that are shown as parts of others.
  void addFused(Operation *op, ArrayRef<FileLineColLoc> main, ExplainedLine &line) const {
    SmallVector<FileLineColLoc> all(main);
    op->walk([&](Operation *inner) {
      if (!isOfModel(inner))
        return;
      for (FileLineColLoc loc : source.locations(inner->getLoc()))
        if (!llvm::is_contained(all, loc))
          all.push_back(loc);
    });
    for (FileLineColLoc loc : ArrayRef(all).drop_front(main.size())) {
      std::string text = source.expression(loc);
      bool isShown = llvm::any_of(
          all, [&](FileLineColLoc whole) { return source.contains(whole, loc) && StringRef(source.expression(whole)).contains(text); });
      if (!isShown && text != line.text && !llvm::is_contained(line.fused, text))
        line.fused.push_back(text);
    }
  }

  /// All kernels of a library's block have the same location: adds the names of members, which tell them apart.
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
    if (isa<SpreadOp, ConcatOp>(op))
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

  /// Adds the conversions of a kernel's results to types of products, which the model's expressions do not have.
  static void addConversions(Operation *op, ExplainedLine &line) {
    bool toBytes = isa<RowOp>(op) &&
                   llvm::any_of(op->getResultTypes(), [](Type type) { return cast<RankedTensorType>(type).getElementType().isInteger(8); });
    Type narrow;
    op->walk([&](arith::TruncFOp cut) { narrow = cut.getType(); });
    if (toBytes)
      line.fused.push_back("to int8, with a scale");
    if (narrow)
      line.fused.push_back(narrow.isBF16() ? "to bf16" : "to f16");
  }

  ModuleOp root;
  EntryOp entry;
  const SourceText &source;
  ExplainedEntry &result;
  llvm::DenseMap<Operation *, unsigned> kernels;
};

/// The entries that running the model calls, and what they are for.
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

/// The dimensions of the inputs and results of the description's entries.
std::vector<std::string> findDims(ModuleOp module) {
  std::vector<std::string> dims;
  for (auto entry : module.getOps<EntryOp>())
    if (entry.getKind() == EntryKind::full)
      for (Type type : llvm::concat<const Type>(entry.getArgumentTypes(), entry.getResultTypes()))
        for (StringRef dim : getDimNames(cast<RankedTensorType>(type)))
          if (!dim.empty() && !llvm::is_contained(dims, dim))
            dims.push_back(dim.str());
  return dims;
}

llvm::Expected<Sizes> findSizes(ModuleOp module, ArrayRef<std::string> dims, const RequestedSizes &requested) {
  ModuleRoles roles(module, module->hasAttr(kGenerateAttr) ? kGenerateAttr : kPredictAttr);
  StringRef batch = roles ? roles.name("batch") : "B";
  Sizes sizes;
  auto bounds = module->getAttrOfType<DictionaryAttr>(kBoundsAttr);
  for (auto bound : bounds ? bounds.getValue() : ArrayRef<NamedAttribute>()) {
    bool isOne = bound.getName() == batch || bound.getName() == roles.name("new");
    sizes[bound.getName()] = isOne ? 1 : std::min<int64_t>(cast<IntegerAttr>(bound.getValue()).getInt(), 25);
  }
  for (const auto &[name, size] : requested) {
    StringRef dim = name == "batch" ? batch : name == "source" || name == "target" ? roles.name(name) : StringRef(name);
    if (dim.empty())
      dim = name;
    auto bound = getBound(module, dim);
    if (!bound || !llvm::is_contained(dims, dim))
      return makeError("--at {}: the model has no such dimension", name);
    // The batch's bound limits rows, of which a sentence has one for each beam.
    int64_t limit = dim == batch ? std::max<int64_t>(1, *bound / roles.beams()) : *bound;
    if (size > limit)
      return makeError("--at {}={}: its limit is {}", name, size, limit);
    sizes[dim] = size;
  }
  return sizes;
}

} // namespace

llvm::Expected<Explanation> explain(ModuleOp module, const CodeModule &code, const SourceText &source, const RequestedSizes &requested) {
  Explanation result;
  result.dims = findDims(module);
  auto sizes = findSizes(module, result.dims, requested);
  if (!sizes)
    return sizes.takeError();
  if (auto name = module->getAttrOfType<StringAttr>(kNameAttr))
    result.model = name.getValue();
  auto entries = llvm::to_vector(module.getOps<EntryOp>());
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
