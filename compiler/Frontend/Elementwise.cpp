// Operators and functions on values of every kind: folded, as scalar code, or as an xf.map over tensors.
#include "compiler/Frontend/Evaluator.h"
#include "compiler/Frontend/Fold.h"
#include "compiler/Frontend/Masks.h"

#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <fmt/format.h>

using namespace xf::frontend;

namespace {
using Emit = llvm::function_ref<mlir::Value(llvm::ArrayRef<Operand>)>;

class ElementwiseWriter {
public:
  ElementwiseWriter(Evaluator &e, Loc loc, llvm::StringRef what, Emit emit) : e(e), loc(loc), what(what.str()), emit(emit) {}

  Value run(llvm::ArrayRef<Value> operands) {
    for (const Value &operand : operands)
      if (!addOperand(operand))
        return Poison{};
    if (!e.inBody || (tensors.empty() && !hasScalars))
      return e.poison(loc, "'" + what + "' needs a tensor here");
    if (tensors.empty())
      return writeScalar();
    if (!hasScalars)
      return writeMap();
    e.error(loc, "'" + what + "' mixes a tensor with an element; the tensor needs an index here");
    e.noteValue(tensors.front(), "the tensor");
    return Poison{};
  }

private:
  bool addOperand(const Value &operand) {
    Value value = e.force(operand, loc);
    if (auto *dim = getIf<DimName>(value); dim && e.inTensorCode())
      value = sizeOf(*dim);
    if (auto *tensor = getIf<Tensor>(value); tensor && e.currentScan)
      value = e.currentScan->read(e, tensor->value, loc, /*indexed=*/false);
    if (isPoison(value))
      return false;
    if (auto *tensor = getIf<Tensor>(value))
      tensors.push_back(tensor->value);
    else if (holds<LazyInput *>(value))
      return e.asTensor(value, loc, what), false;
    else if (!operandOf(value))
      return e.error(loc, "'" + what + "' is not defined for " + describe(value)), false;
    hasScalars |= holds<Scalar>(value);
    values.push_back(std::move(value));
    return true;
  }

  /// The size of a dimension that is known at run time only, as an integer tensor of one element.
  Value sizeOf(const DimName &dim) {
    DimSize size, one;
    size.name = dim.name;
    one.size = 1;
    Value reals = e.unary("float", e.tensors.positions(size, 1, loc), loc); // exact: a dimension is far below 2^24
    auto last = mlir::xf::ReduceOp::create(e.builder, e.at(loc), tensorOf(one, e.builder.getF32Type()), mlir::xf::ReduceKind::max,
                                           std::get<Tensor>(reals).value);
    return e.unary("int", Tensor{last}, loc);
  }

  /// Writes code at the builder's insertion point, in a body of scalar code.
  Value writeScalar() {
    llvm::SmallVector<Operand> elements;
    for (const Value &value : values)
      elements.push_back(*operandOf(value));
    mlir::Value result = emit(elements);
    return result ? Value(Scalar{result, {}}) : Value(Poison{});
  }

  /// An xf.map over the common shape; numbers are constants in its body.
  Value writeMap() {
    auto shape = e.tensors.broadcast(tensors, loc);
    if (!shape)
      return Poison{};
    mlir::Region region;
    mlir::Value element = writeBody(region.emplaceBlock());
    if (!element)
      return Poison{};
    llvm::SmallVector<mlir::Attribute> maps;
    for (mlir::Value tensor : tensors)
      maps.push_back(e.builder.getDenseI64ArrayAttr(mapFrom(*shape, llvm::cast<mlir::RankedTensorType>(tensor.getType()))));
    mlir::OperationState state(e.at(loc), mlir::xf::MapOp::getOperationName());
    mlir::xf::MapOp::build(e.builder, state, tensorOf(*shape, element.getType()), tensors, e.builder.getArrayAttr(maps));
    state.regions[0]->takeBody(region);
    return Tensor{e.builder.create(state)->getResult(0)};
  }

  /// Writes the map's body, and returns the element that it yields; null after an error.
  mlir::Value writeBody(mlir::Block &block) {
    llvm::SmallVector<Operand> elements;
    for (const Value &value : values)
      if (auto *tensor = getIf<Tensor>(value))
        elements.push_back(mlir::Value(block.addArgument(tensor->type().getElementType(), e.at(loc))));
      else
        elements.push_back(*operandOf(value));
    mlir::OpBuilder::InsertionGuard guard(e.builder);
    e.builder.setInsertionPointToEnd(&block);
    mlir::Value element = emit(elements);
    if (element)
      mlir::xf::YieldOp::create(e.builder, e.at(loc), element);
    return element;
  }

  /// The dimension of the result that each dimension of an operand runs along; -1 where one element serves all.
  static llvm::SmallVector<int64_t> mapFrom(llvm::ArrayRef<DimSize> shape, mlir::RankedTensorType type) {
    llvm::SmallVector<int64_t> map;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      int64_t target = static_cast<int64_t>(shape.size()) - type.getRank() + d;
      map.push_back(dimOf(type, d) == shape[target] ? target : -1);
    }
    return map;
  }

  Evaluator &e;
  Loc loc;
  std::string what; // for messages
  Emit emit;
  std::vector<Value> values; // tensors among them
  llvm::SmallVector<mlir::Value> tensors;
  bool hasScalars = false;
};
} // namespace

Value Evaluator::elementwise(llvm::ArrayRef<Value> operands, Loc loc, llvm::StringRef what,
                             llvm::function_ref<mlir::Value(llvm::ArrayRef<Operand>)> emit) {
  return ElementwiseWriter(*this, loc, what, emit).run(operands);
}

bool Evaluator::inTensorCode() const {
  mlir::Block *block = builder.getInsertionBlock();
  return inBody && !currentScan && (block == layerBody || llvm::isa_and_present<mlir::xf::EntryOp>(block->getParentOp()));
}

Value Evaluator::binary(llvm::StringRef op, const Value &left, const Value &right, Loc loc) {
  if (isPoison(left) || isPoison(right))
    return Poison{};
  bool failed = false;
  if (auto folded = fold(*this, op, left, right, loc, failed))
    return *folded;
  if (failed)
    return Poison{};
  auto isMask = [](const Value &v) {
    return holds<std::shared_ptr<Term>>(v) || holds<std::shared_ptr<Closure>>(v) || holds<None>(v) || holds<BoundMethod>(v);
  };
  if (op == "&" && (holds<None>(left) || holds<None>(right)))
    return holds<None>(left) ? right : left;
  if ((op == "&" || op == "|") && (isMask(left) || isMask(right)))
    return joinMasks(*this, op == "&" ? Term::And : Term::Or, {left, right}, loc);
  // Positions with an offset stay positions, for tables and for the derived step.
  auto *tensor = getIf<Tensor>(left);
  auto *offset = getIf<int64_t>(right);
  if (tensor && offset && (op == "+" || op == "-"))
    if (auto origin = tensor->value.getDefiningOp<mlir::xf::PositionsOp>(); origin && !origin.getPast()) {
      int64_t first = origin.getOffset(), sum = 0;
      if (op == "+" ? !llvm::AddOverflow(first, *offset, sum) : !llvm::SubOverflow(first, *offset, sum))
        return tensors.positions(dimOf(origin.getType(), 0), sum, loc);
    }
  return elementwise({left, right}, loc, op, [&](llvm::ArrayRef<Operand> e) { return scalars.binary(op, e[0], e[1], loc); });
}

namespace {
/// Folds a function of an integer whose result is an integer; nothing for other functions.
std::optional<Value> foldInteger(llvm::StringRef op, int64_t integer) {
  if (op == "-" && integer != INT64_MIN)
    return -integer;
  if (op == "abs" && integer != INT64_MIN)
    return integer < 0 ? -integer : integer;
  if (op == "floor" || op == "int")
    return integer;
  return std::nullopt;
}

/// Folds a function of any number or boolean.
Value foldNumber(Evaluator &e, llvm::StringRef op, const Value &operand, Loc loc) {
  double x = toDouble(operand);
  if (op == "int") {
    if (!(std::abs(x) < 9e18))
      return e.poison(loc, fmt::format("{} is no integer", x));
    return static_cast<int64_t>(x);
  }
  if (op == "float" || op == "-")
    return op == "-" ? -x : x;
  const RealFunction *function = findRealFunction(op);
  if (!function)
    return e.poison(loc, "'" + op.str() + "' is not defined for " + describe(operand));
  double value = function->evaluate(x);
  bool isPole = value == -INFINITY && std::isfinite(x); // log(0)
  return isPole || std::isnan(value) != std::isnan(x) ? e.poison(loc, fmt::format("{}({}) is not a number", op.str(), x)) : Value(value);
}
} // namespace

Value Evaluator::unary(llvm::StringRef op, const Value &operand, Loc loc) {
  if (isPoison(operand))
    return operand;
  if (auto *integer = getIf<int64_t>(operand))
    if (auto folded = foldInteger(op, *integer))
      return *folded;
  if (auto *b = getIf<bool>(operand); b && op == "!")
    return !*b;
  if (isNumber(operand))
    return foldNumber(*this, op, operand, loc);
  if (op == "!" && (holds<std::shared_ptr<Term>>(operand) || holds<std::shared_ptr<Closure>>(operand)))
    return joinMasks(*this, Term::Not, operand, loc);
  return elementwise({operand}, loc, op, [&](llvm::ArrayRef<Operand> e) { return scalars.unary(op, e[0], loc); });
}
