// What conversion to code takes for granted, checked on the whole module: IR may have been written by hand, or damaged.
//
// Verifiers look at one op. These checks find what is wrong only between ops: names in the module's attributes that stand for
// nothing (CheckRoles.cpp), views that are none, operands that are not packed as kernels read them, layers that do not exist.
#include "compiler/Conversion/XfToLLVM/CheckModule.h"

#include "compiler/Target/KernelOperands.h"
#include "compiler/Transforms/Layouts.h"
#include "compiler/Transforms/MapUtils.h"
#include "dialect/IR/Producers.h"
#include "runtime/abi/xf_abi.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {
namespace {

bool isStored(Type element) {
  return element.isF32() || element.isBF16() || element.isF16() || element.isInteger(1) || element.isInteger(8) || element.isInteger(32);
}

class Checker {
public:
  explicit Checker(ModuleOp module) : module(module) {}

  LogicalResult run() {
    bool isGood = !module
                       .walk([&](Operation *op) {
                         return failed(checkTypes(op)) || failed(checkLayers(op)) ? WalkResult::interrupt() : WalkResult::advance();
                       })
                       .wasInterrupted();
    if (!isGood || failed(checkNames()) || failed(checkRoles(module)))
      return failure();
    for (auto weight : module.getOps<WeightOp>())
      if (failed(checkWeight(weight)))
        return failure();
    for (auto entry : module.getOps<EntryOp>())
      if (failed(checkEntry(entry)))
        return failure();
    return success();
  }

private:
  LogicalResult checkType(Operation *op, Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return success();
    // 16-bit integers are weights, and nothing else.
    bool isInt16 = tensor.getElementType().isInteger(16) && isa<WeightOp, ParamOp, QuantizeOp>(op);
    if (!isStored(tensor.getElementType()) && !isInt16)
      return op->emitError("no kernel is for tensors of ") << tensor.getElementType();
    if (tensor.getRank() > XF_ABI_MAX_RANK)
      return op->emitError("tensors of more than ") << XF_ABI_MAX_RANK << " dimensions are not supported";
    for (StringRef name : getDimNames(tensor))
      if (!name.empty() && !getBound(module, name))
        return op->emitError("dimension '") << name << "' has no bound in the module's xf.bounds";
    return success();
  }

  LogicalResult checkTypes(Operation *op) {
    SmallVector<Type> types(op->getResultTypes());
    for (Region &region : op->getRegions())
      llvm::append_range(types, region.getArgumentTypes());
    if (auto state = dyn_cast<StateOp>(op))
      types.push_back(state.getType());
    if (auto parameter = dyn_cast<ParameterOp>(op))
      types.push_back(parameter.getType());
    if (auto weight = dyn_cast<WeightOp>(op))
      types.push_back(weight.getType());
    for (Type type : types)
      if (failed(checkType(op, type)))
        return failure();
    return success();
  }

  /// Checks the names that a file stores: a loader refuses others.
  LogicalResult checkNames() {
    SmallVector<std::pair<Operation *, StringRef>> names;
    if (auto moduleName = module->getAttrOfType<StringAttr>(kNameAttr))
      names.push_back({module, moduleName.getValue()});
    if (auto bounds = module->getAttrOfType<DictionaryAttr>(kBoundsAttr))
      for (auto bound : bounds)
        names.push_back({module, bound.getName()});
    for (auto state : module.getOps<StateOp>())
      names.push_back({state, state.getSymName()});
    for (auto entry : module.getOps<EntryOp>()) {
      names.push_back({entry, entry.getSymName()});
      for (unsigned i = 0; i < entry.getArgumentTypes().size(); ++i)
        names.push_back({entry, entry.getArgName(i)});
      for (unsigned i = 0; i < entry.getResultTypes().size(); ++i)
        names.push_back({entry, entry.getResultName(i)});
    }
    for (auto [op, name] : names)
      if (name.empty() || name.size() > XF_ABI_MAX_NAME || name.contains('\0'))
        return op->emitError("a name of ") << name.size() << " bytes" << (name.contains('\0') ? ", one of them 0," : "")
                                           << " cannot be stored: names have 1 to " << XF_ABI_MAX_NAME << " bytes, none of them 0";
    return success();
  }

  /// Checks that 64 bits can count the bytes of all layers of a weight or a parameter.
  LogicalResult checkLayers(Operation *op) {
    double count = 1;
    RankedTensorType type;
    if (auto weight = dyn_cast<WeightOp>(op)) {
      type = weight.getTensorType();
      count = weight.getLayers();
    } else if (auto parameter = dyn_cast<ParameterOp>(op)) {
      type = parameter.getTensorType();
      for (int64_t each : parameter.getCounts())
        count *= each;
    } else {
      return success();
    }
    for (int64_t size : type.getShape())
      count *= size;
    if (count * 4 <= XF_ABI_MAX_BYTES)
      return success();
    return op->emitError("tensors of shape ") << describeShape(type) << " for all layers are larger than any memory";
  }

  /// The largest value of an index: a constant, a layer of a stack or a weight, or what is computed from them; nullopt if it
  /// is none of these, or may be negative.
  std::optional<int64_t> largest(Value index) {
    if (auto known = largestOf.find(index); known != largestOf.end())
      return known->second;
    std::optional<int64_t> value = findLargest(index);
    largestOf[index] = value;
    return value;
  }

  std::optional<int64_t> findLargest(Value index) {
    APInt constant;
    if (matchPattern(index, m_ConstantInt(&constant)))
      return constant.getSExtValue() < 0 ? std::nullopt : std::optional<int64_t>(constant.getSExtValue());
    if (auto argument = dyn_cast<BlockArgument>(index)) {
      Operation *parent = argument.getOwner()->getParentOp();
      if (auto repeat = dyn_cast<RepeatOp>(parent); repeat && argument == repeat.getLayer())
        return repeat.getCount() - 1;
      if (auto weight = dyn_cast<WeightOp>(parent))
        return weight.getLayers() - 1;
      return std::nullopt;
    }
    Operation *op = index.getDefiningOp();
    bool isInWeight = isa<WeightOp>(op->getParentOp());
    if (isInWeight ? !isa<arith::DivUIOp, arith::RemUIOp>(op) : !isa<arith::AddIOp, arith::MulIOp>(op))
      return std::nullopt;
    auto a = largest(op->getOperand(0)), b = largest(op->getOperand(1));
    int64_t value;
    if (!a || !b)
      return std::nullopt;
    if (isa<arith::AddIOp>(op))
      return llvm::AddOverflow(*a, *b, value) ? std::nullopt : std::optional<int64_t>(value);
    if (isa<arith::MulIOp>(op))
      return llvm::MulOverflow(*a, *b, value) ? std::nullopt : std::optional<int64_t>(value);
    if (!matchPattern(op->getOperand(1), m_ConstantInt(&constant)) || *b == 0)
      return std::nullopt;
    return isa<arith::DivUIOp>(op) ? *a / *b : std::min(*a, *b - 1);
  }

  LogicalResult checkIndex(Operation *op, Value index, int64_t count) {
    auto value = largest(index);
    if (!value)
      return op->emitError("its index is no number of an enclosing stack's layer");
    if (*value >= count)
      return op->emitError("reads layer ") << *value << " of " << count;
    return success();
  }

  LogicalResult checkParam(ParamOp param) {
    Operation *symbol = module.lookupSymbol(param.getNameAttr());
    SmallVector<int64_t> counts;
    if (auto parameter = dyn_cast<ParameterOp>(symbol))
      counts.assign(parameter.getCounts().begin(), parameter.getCounts().end());
    else
      counts.push_back(cast<WeightOp>(symbol).getLayers());
    for (auto [index, count] : llvm::zip(param.getIndices(), counts))
      if (failed(checkIndex(param, index, count)))
        return failure();
    return success();
  }

  LogicalResult checkWeight(WeightOp weight) {
    for (Operation &op : weight.getBody().front().without_terminator()) {
      if (op.hasTrait<OpTrait::ConstantLike>() || isa<arith::DivUIOp, arith::RemUIOp>(op))
        continue;
      if (!isa<ParamOp>(op) && !isParameterMaths(&op))
        return op.emitError("cannot be computed when compiling");
      if (auto param = dyn_cast<ParamOp>(op)) {
        if (!module.lookupSymbol<ParameterOp>(param.getNameAttr()))
          return op.emitError("a weight is computed from parameters, not from ") << param.getNameAttr();
        if (failed(checkParam(param)))
          return failure();
      }
    }
    return success();
  }

  LogicalResult checkEntry(EntryOp entry) {
    for (auto types : {entry.getArgumentTypes(), entry.getResultTypes()}) {
      if (types.size() > XF_ABI_MAX_ARGUMENTS)
        return entry.emitError("takes or gives ") << types.size() << " tensors; at most " << XF_ABI_MAX_ARGUMENTS << " are possible";
      for (Type type : types) {
        if (failed(checkType(entry, type)))
          return failure();
        Type element = getElementTypeOrSelf(type);
        if (!element.isF32() && !element.isInteger(1) && !element.isInteger(32))
          return entry.emitError("takes and gives tensors of f32, i32 and i1, not of ") << element;
      }
    }
    return checkBlock(entry.getBody().front());
  }

  LogicalResult checkBlock(Block &block) {
    for (Operation &op : block.without_terminator()) {
      if (auto repeat = dyn_cast<RepeatOp>(op)) {
        if (failed(checkRepeat(repeat)))
          return failure();
      } else if (failed(checkOp(&op))) {
        return failure();
      }
    }
    // Kernels write a block's results to where they are wanted.
    SmallPtrSet<Value, 4> seen;
    Operation *terminator = block.getTerminator();
    for (Value value : terminator->getOperands())
      if (!isOwnBuffer(value, &block, module) || !seen.insert(value).second)
        return terminator->emitError("gives a value that has no buffer of its own; xf-materialize-views makes one");
    return success();
  }

  LogicalResult checkRepeat(RepeatOp repeat) {
    for (Value init : repeat.getInits())
      if (!canBeCarried(init, repeat->getBlock(), module))
        return repeat.emitError("carries a value that has no buffer of its own; xf-materialize-views makes one");
    return checkBlock(repeat.getBody().front());
  }

  /// Checks that a reader of a state with slots knows of them: otherwise it cannot find its rows.
  LogicalResult checkRowsOfState(Operation *op, Value value) {
    Operation *producer = value.getDefiningOp();
    bool isView = isa_and_nonnull<RearrangeOp, SliceOp>(producer);
    while (isa_and_nonnull<RearrangeOp, SliceOp>(producer))
      producer = producer->getOperand(0).getDefiningOp();
    if (isa_and_nonnull<LoadOp>(producer) && (isView || isa<ScanOp, ScanStepOp>(op)))
      return op->emitError("cannot find the rows of a state") << (isView ? " in a view of it" : "") << "; xf-materialize-views copies them";
    return success();
  }

  LogicalResult checkView(Operation *op, Value value, ArrayRef<Layout> layouts) {
    auto view = viewOf(value, module);
    if (!view)
      return op->emitError("reads a rearranged tensor that is no view; xf-materialize-views copies it");
    if (!llvm::is_contained(layouts, view->packing))
      return op->emitError("cannot read ") << describeShape(typeOf(value)) << " in the order '" << stringifyLayout(view->packing) << "'";
    return success();
  }

  LogicalResult checkOp(Operation *op) {
    bool isScalar = op->hasTrait<OpTrait::ConstantLike>() || isa<arith::AddIOp, arith::MulIOp>(op);
    if (isScalar && !isa<ShapedType>(op->getResult(0).getType()))
      return success();
    if (auto param = dyn_cast<ParamOp>(op))
      return checkParam(param);
    if (auto slice = dyn_cast<SliceOp>(op))
      return checkSlice(slice);
    if (isa<RearrangeOp>(op))
      return success(); // checkView() looks at it with its readers
    if (!isa<ContractOp, ChooseOp, RowOp, AttendOp, PackOp, SpreadOp, AppendOp, StoreOp, LoadOp, PositionsOp, ScanOp, ScanStepOp, ConcatOp>(op))
      return op->emitError("is no op of kernel IR");
    if (failed(checkState(op)) || failed(checkCaptures(op)))
      return failure();
    for (const codegen::KernelOperand &operand : codegen::kernelOperands(op))
      if (failed(checkRowsOfState(op, operand.value)) || failed(checkView(op, operand.value, layoutsOf(op, operand.value))))
        return failure();
    if (auto contract = dyn_cast<ContractOp>(op))
      return checkContract(contract);
    if (auto attend = dyn_cast<AttendOp>(op))
      return checkAttend(attend);
    if (auto row = dyn_cast<RowOp>(op))
      return checkRow(row);
    return success();
  }

  /// The layouts in which `op` can read `value`.
  SmallVector<Layout, 2> layoutsOf(Operation *op, Value value) {
    if (auto attend = dyn_cast<AttendOp>(op); attend && value == attend.getK())
      return {Layout::keys};
    if (auto attend = dyn_cast<AttendOp>(op); attend && value == attend.getV())
      return {Layout::values};
    if (auto contract = dyn_cast<ContractOp>(op); contract && value == contract.getWeight())
      return {Layout::panels};
    if (auto choose = dyn_cast<ChooseOp>(op)) {
      bool isFirst = llvm::is_contained(choose.getScreen().take_front(1), value) || llvm::is_contained(choose.getWords().take_front(1), value);
      if (value == choose.getWeight() || isFirst)
        return {Layout::panels};
    }
    if (isa<RowOp>(op) && value.getDefiningOp<ParamOp>() && !llvm::is_contained(op->getOperands(), value))
      return {Layout::plain, Layout::panels};
    return {Layout::plain};
  }

  LogicalResult checkSlice(SliceOp slice) {
    auto x = typeOf(slice.getX());
    if (!slice.isWithin(sizeOf(x, slice.getAxis()).upperBound(module)))
      return slice.emitError("reads behind the bound of dimension ") << slice.getAxis() << " of " << describeShape(x);
    return success();
  }

  /// Checks the layers of the states that an op names, and that an append by its reader is possible.
  LogicalResult checkState(Operation *op) {
    auto check = [&](StringRef name, Value layer) { return checkIndex(op, layer, module.lookupSymbol<StateOp>(name).getLayers()); };
    if (auto append = dyn_cast<AppendOp>(op); append && append.getByReader() && !append.canBeByReader())
      return append.emitError("leaves its position to a reader that does not write it");
    if (auto access = dyn_cast<StateAccess>(op))
      return check(access.getStateName(), access.getLayer());
    if (auto scan = dyn_cast<ScanStepOp>(op))
      for (auto name : scan.getStates().getAsRange<FlatSymbolRefAttr>())
        if (failed(check(name.getValue(), scan.getLayer())))
          return failure();
    return success();
  }

  /// A kernel is made from its op alone.
  LogicalResult checkCaptures(Operation *op) {
    WalkResult walked = op->walk([&](Operation *inner) {
      for (Value value : inner->getOperands()) {
        bool isOutside = inner != op && !op->isAncestor(value.getParentBlock()->getParentOp());
        if (isOutside && !isa<RankedTensorType>(value.getType()) && !matchPattern(value, m_Constant())) {
          inner->emitError("a kernel cannot read ") << value.getType() << " from outside";
          return WalkResult::interrupt();
        }
      }
      return WalkResult::advance();
    });
    return failure(walked.wasInterrupted());
  }

  LogicalResult checkContract(ContractOp contract) {
    if (typeOf(contract.getX()).getRank() > 1 && !hasRowStride(contract.getX(), module))
      return contract.emitError("its rows have no single stride; xf-materialize-views copies them");
    int64_t rank = typeOf(contract.getResult()).getRank();
    for (auto [i, extra] : llvm::enumerate(contract.getExtras())) {
      if (typeOf(extra).getRank() > 1 && !hasRowStride(extra, module))
        return contract.emitError("the rows of its extra ") << i << " have no single stride; xf-materialize-views copies them";
      if (!fitsEpilogue(contract.getMap(i), rank))
        return contract.emitError("an epilogue reads a tensor by element, row or column, unlike map ") << i;
    }
    return success();
  }

  LogicalResult checkAttend(AttendOp attend) {
    if (typeOf(attend.getQ()).isDynamicDim(3) || typeOf(attend.getV()).isDynamicDim(3))
      return attend.emitError("needs heads of static width");
    if (!(viewOf(attend.getQ(), module)->strides.back() == Monomial{1, {}}))
      return attend.emitError("the elements of its queries are not adjacent; xf-materialize-views copies them");
    return success();
  }

  LogicalResult checkRow(RowOp row) {
    for (auto embed : row.getBody().front().getOps<EmbedOp>())
      if (!embed.getTable().getDefiningOp<ParamOp>())
        return embed.emitError("looks up in parameters only");
    return success();
  }

  ModuleOp module;
  DenseMap<Value, std::optional<int64_t>> largestOf; // of indices
};

} // namespace

LogicalResult checkModule(ModuleOp module) { return Checker(module).run(); }

} // namespace xf
