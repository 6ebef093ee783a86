// x[…]: elements of lists, rows of tables, slices of tensors, elements in masks and scans.
#include "compiler/Frontend/Evaluator.h"
#include "compiler/Frontend/Ranges.h"

#include <fmt/format.h>

using namespace xf::frontend;

namespace {

bool isRange(const Expr &subscript) { return subscript.kind == ExprKind::Slice || subscript.kind == ExprKind::Ellipsis; }

/// keep[b, j] in a mask, x[t] in a scan: one element, as scalar code.
class ElementReader {
public:
  ElementReader(Evaluator &e, mlir::Value x, llvm::ArrayRef<Value> indices, const Expr &expr)
      : e(e), x(x), type(typeOf(x)), indices(indices), expr(expr) {}

  Value run() {
    if (e.scalars.realType.isF64())
      return e.poison(expr.loc, "a table is computed when compiling and cannot read a tensor");
    if (static_cast<int64_t>(indices.size()) != type.getRank()) {
      e.error(expr.loc, fmt::format("{} indices for {}", indices.size(), describe(Tensor{x})));
      e.noteValue(x, "the tensor");
      return Poison{};
    }
    llvm::SmallVector<mlir::Value> positions;
    for (unsigned d = 0; d < indices.size(); ++d) {
      positions.push_back(positionAlong(d));
      if (!positions.back())
        return Poison{};
    }
    return Scalar{mlir::xf::AtOp::create(e.builder, e.at(expr.loc), type.getElementType(), x, positions), {}};
  }

private:
  /// Null after an error.
  mlir::Value positionAlong(unsigned d) {
    const Value &value = indices[d];
    Loc loc = expr.operands[d + 1]->loc;
    DimSize dim = dimOf(type, d);
    auto operand = operandOf(value);
    if (!operand || holds<bool>(value) || holds<double>(value))
      return fail(loc, "an index must be a position or an integer, not " + describe(value));
    auto *scalar = getIf<Scalar>(value);
    if (!scalar) {
      int64_t i = std::get<int64_t>(value);
      if (i < 0 || (!dim.isDynamic() && i >= dim.size))
        return fail(loc, fmt::format("index {} is outside of dimension {} of {}", i, d + 1, mlir::xf::describeShape(type)));
    } else if (dim.size == 1) {
      operand = int64_t(0);
    } else if (!scalar->range && dim.isDynamic()) {
      return fail(loc, fmt::format("a computed index needs a dimension of known size, and {} is known at run time only", dim.name));
    } else if (scalar->range && *scalar->range != dim && scalar->range->size != 1) {
      // A position over one dimension cannot index another.
      e.error(loc,
              fmt::format("this position runs over {}, but dimension {} of {} is {}{}", scalar->range->str(), d + 1, mlir::xf::describeShape(type),
                          dim.str(), dim.isDynamic() ? "" : "; a computed index, as i + 0, may go beyond and is held inside"));
      e.noteValue(x, "the tensor");
      return {};
    }
    mlir::Value position = e.scalars.convert(*operand, e.builder.getIndexType(), loc);
    bool isComputed = scalar && !scalar->range && dim.size != 1;
    if (position && isComputed && !isInBounds(position, dim.size))
      position = e.scalars.binary("min", e.scalars.binary("max", position, int64_t(0), loc), dim.size - 1, loc);
    return position;
  }

  mlir::Value fail(Loc loc, const std::string &message) { return e.error(loc, message), mlir::Value(); }

  Evaluator &e;
  mlir::Value x;
  mlir::RankedTensorType type;
  llvm::ArrayRef<Value> indices;
  const Expr &expr;
};

/// x[…] with a tensor x: a look-up of rows, an element in a mask or scan, or ranges and indices.
class TensorIndex {
public:
  TensorIndex(Evaluator &e, mlir::Value x, const Expr &expr, const ScopePtr &scope)
      : e(e), x(x), expr(expr), scope(scope), values(expr.operands.size() - 1), rank(typeOf(x).getRank()), dropped(rank) {}

  Value run() {
    if (auto result = evalSubscripts())
      return *result;
    if (llvm::any_of(values, holds<Scalar>))
      return ElementReader(e, x, values, expr).run();
    return checkRank() && sliceRanges() ? dropDims() : Value(Poison{});
  }

private:
  /// `start:stop:step` of a dimension.
  struct Range {
    int64_t start = 0, stop = 0, step = 1;
    bool all = false;
  };

  const Expr &subscriptAt(size_t i) const { return *expr.operands[i + 1]; }

  /// Evaluates the subscripts that are no ranges. Returns a result where a single index is all there is: a look-up, or a scan's position.
  std::optional<Value> evalSubscripts() {
    for (size_t i = 0; i < values.size(); ++i) {
      const Expr &subscript = subscriptAt(i);
      if (subscript.kind == ExprKind::Slice)
        continue;
      if (subscript.kind == ExprKind::Ellipsis) {
        if (std::exchange(hasEllipsis, true))
          return e.poison(subscript.loc, "'..' stands once in an index");
        continue;
      }
      values[i] = e.force(e.eval(subscript, scope), subscript.loc);
      if (isPoison(values[i]))
        return Poison{};
      if (auto *tensor = getIf<Tensor>(values[i])) {
        if (values.size() == 1 && tensor->type().getElementType().isInteger(32))
          return e.embed(x, tensor->value, expr.loc);
        return e.poison(subscript.loc,
                        "a tensor as an index must hold whole numbers (tokens, positions, what int(…) gives) and stand alone; sizes and "
                        "what is computed from them are such tensors where they are known at run time only");
      }
      if (holds<ScanPosition>(values[i]) && values.size() == 1)
        return e.currentScan ? e.currentScan->read(e, x, expr.loc, /*indexed=*/true)
                             : e.poison(subscript.loc, "the scan's position is used outside of its scan");
    }
    return std::nullopt;
  }

  int64_t countIndices() const { return static_cast<int64_t>(values.size()) - hasEllipsis; }

  bool checkRank() {
    if (countIndices() <= rank)
      return true;
    e.error(expr.loc, fmt::format("{} indices for {}", countIndices(), describe(Tensor{x})));
    e.noteValue(x, "the tensor");
    return false;
  }

  /// Slices x by the ranges. An index is a range of one element, whose dimension is dropped in the end.
  bool sliceRanges() {
    int64_t axis = 0;
    for (size_t i = 0; i < values.size(); ++i, ++axis) {
      const Expr &subscript = subscriptAt(i);
      if (subscript.kind == ExprKind::Ellipsis) {
        axis += rank - countIndices() - 1;
        continue;
      }
      dropped[axis] = subscript.kind != ExprKind::Slice;
      DimSize dim = dimOf(typeOf(x), axis);
      auto range = dropped[axis] ? indexAsRange(values[i], dim, subscript.loc) : evalRange(subscript, dim);
      if (!range || (!range->all && !sliceAxis(*range, axis, dim, subscript.loc)))
        return false;
    }
    return true;
  }

  /// Whether an index can be counted from where it says: negative ones count from the end, which must be known.
  bool isInReach(int64_t index, const DimSize &dim, Loc loc) {
    if (index >= 0 || !dim.isDynamic())
      return true;
    e.error(loc, fmt::format("counting from the end needs a dimension of known size, and {} is known at run time only", dim.name));
    return false;
  }

  std::optional<Range> indexAsRange(const Value &value, const DimSize &dim, Loc loc) {
    auto index = e.asInt(value, loc, "the index");
    if (!index)
      return std::nullopt;
    if (!isInReach(*index, dim, loc))
      return std::nullopt;
    int64_t start = *index < 0 ? *index + dim.size : *index;
    return Range{start, start == INT64_MAX ? start : start + 1};
  }

  std::optional<Range> evalRange(const Expr &subscript, const DimSize &dim) {
    Range range{0, dim.size};
    int64_t *bounds[] = {&range.start, &range.stop, &range.step};
    for (unsigned i = 0; i < 3; ++i) {
      if (!subscript.operands[i])
        continue;
      auto value = e.asInt(e.eval(*subscript.operands[i], scope), subscript.operands[i]->loc, "the bound of a range");
      if (!value)
        return std::nullopt;
      bool fromEnd = bounds[i] != &range.step && *value < 0;
      if (fromEnd && !isInReach(*value, dim, subscript.operands[i]->loc))
        return std::nullopt;
      *bounds[i] = fromEnd ? *value + dim.size : *value;
    }
    range.all = llvm::none_of(subscript.operands, [](const ExprPtr &bound) { return bound != nullptr; });
    if (!range.all && dim.isDynamic() && !subscript.operands[1]) {
      e.error(subscript.loc, "the range needs an end that is a number: its rest cannot be counted, as " + dim.name + " is known at run time only");
      return std::nullopt;
    }
    return range;
  }

  bool sliceAxis(const Range &range, int64_t axis, const DimSize &dim, Loc loc) {
    auto [start, stop, step, all] = range;
    if (step < 1)
      return e.error(loc, fmt::format("a range goes forwards: its step cannot be {}", step)), false;
    if (start < 0 || stop <= start || (!dim.isDynamic() && stop > dim.size) || stop > INT32_MAX) {
      e.error(loc, fmt::format("range {}:{}{} does not fit dimension {} of {}", start, stop, step == 1 ? "" : fmt::format(":{}", step), axis + 1,
                               mlir::xf::describeShape(typeOf(x))));
      e.noteValue(x, "the tensor");
      return false;
    }
    int64_t size = (stop - start - 1) / step + 1;
    Value sliced = e.tensors.slice(x, axis, start, size, size == 1 ? 1 : step, expr.loc);
    x = std::get<Tensor>(sliced).value;
    return true;
  }

  Value dropDims() {
    if (!llvm::is_contained(dropped, true))
      return Tensor{x};
    // A single element is a tensor of one element.
    if (!llvm::is_contained(dropped, false)) {
      dropped[rank - 1] = false;
      if (rank == 1)
        return Tensor{x};
    }
    std::string left, right;
    for (int64_t d = 0; d < rank; ++d) {
      left += dropped[d] ? " 1" : fmt::format(" d{}", d);
      right += dropped[d] ? "" : fmt::format(" d{}", d);
    }
    return e.tensors.rearrange(x, left.substr(1) + " ->" + right, {}, expr.loc);
  }

  Evaluator &e;
  mlir::Value x;
  const Expr &expr;
  const ScopePtr &scope;
  std::vector<Value> values; // of the subscripts that are no ranges
  bool hasEllipsis = false;
  int64_t rank;
  std::vector<bool> dropped;
};

/// The single index into `size` elements; a negative one counts from the end.
std::optional<int64_t> listIndex(Evaluator &e, int64_t size, const Expr &expr, const ScopePtr &scope) {
  if (expr.operands.size() != 2 || isRange(*expr.operands[1]))
    return e.error(expr.loc, "a list takes one index"), std::nullopt;
  auto i = e.asInt(e.eval(*expr.operands[1], scope), expr.operands[1]->loc, "the index");
  if (!i)
    return std::nullopt;
  if (*i < -size || *i >= size)
    return e.error(expr.operands[1]->loc, fmt::format("index {} is outside of a list of {}", *i, size)), std::nullopt;
  return *i < 0 ? *i + size : *i;
}
} // namespace

Value Evaluator::index(const Expr &expr, const ScopePtr &scope) {
  Value object = eval(*expr.operands[0], scope);
  if (isPoison(object))
    return object;
  if (auto *list = getIf<std::shared_ptr<List>>(object)) {
    auto i = listIndex(*this, (*list)->size(), expr, scope);
    return i ? elementAt(**list, *i) : Value(Poison{});
  }
  if (auto *tuple = getIf<std::shared_ptr<Tuple>>(object)) {
    auto i = listIndex(*this, static_cast<int64_t>((*tuple)->elements.size()), expr, scope);
    return i ? (*tuple)->elements[*i] : Value(Poison{});
  }
  if (auto *table = getIf<std::shared_ptr<TableUse>>(object); table && expr.operands.size() == 2) {
    const Expr &subscript = *expr.operands[1];
    Value ids = isRange(subscript) ? Value(None{}) : force(eval(subscript, scope), subscript.loc);
    if (isPoison(ids))
      return ids;
    if (auto *tensor = getIf<Tensor>(ids))
      return tables.index(**table, tensor->value, expr.loc);
  }
  mlir::Value x = asTensor(object, expr.loc, "what is indexed");
  return x ? TensorIndex(*this, x, expr, scope).run() : Value(Poison{});
}
