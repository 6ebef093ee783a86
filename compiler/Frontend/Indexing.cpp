// x[…]: elements of lists, rows of tables, slices of tensors, elements in masks and scans.
#include "compiler/Frontend/Evaluator.h"
#include "compiler/Frontend/Ranges.h"

#include <fmt/format.h>

using namespace xf::frontend;

namespace {
mlir::RankedTensorType typeOf(mlir::Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()); }
} // namespace

Value Evaluator::index(const Expr &expr, const ScopePtr &scope) {
  Value object = eval(*expr.operands[0], scope);
  if (isPoison(object))
    return object;
  if (auto *list = getIf<std::shared_ptr<List>>(object)) {
    if (expr.operands.size() != 2 || expr.operands[1]->kind == ExprKind::Slice || expr.operands[1]->kind == ExprKind::Ellipsis)
      return poison(expr.loc, "a list takes one index");
    auto i = asInt(eval(*expr.operands[1], scope), expr.operands[1]->loc, "the index");
    if (!i)
      return Poison{};
    int64_t size = (*list)->size();
    if (*i < -size || *i >= size)
      return poison(expr.operands[1]->loc, fmt::format("index {} is outside of a list of {}", *i, size));
    return elementAt(**list, *i < 0 ? *i + size : *i);
  }
  if (auto *table = getIf<std::shared_ptr<TableUse>>(object); table && expr.operands.size() == 2) {
    const Expr &part = *expr.operands[1];
    Value ids = part.kind == ExprKind::Slice || part.kind == ExprKind::Ellipsis ? Value(None{}) : force(eval(part, scope), part.loc);
    if (isPoison(ids))
      return ids;
    if (auto *tensor = getIf<Tensor>(ids))
      return indexTable(**table, tensor->value, expr.loc);
  }
  mlir::Value x = asTensor(object, expr.loc, "what is indexed");
  return x ? indexTensor(x, expr, scope) : Value(Poison{});
}

Value Evaluator::indexTensor(mlir::Value x, const Expr &expr, const ScopePtr &scope) {
  size_t count = expr.operands.size() - 1;
  std::vector<Value> values(count);
  bool scalars = false, ellipsis = false;
  for (size_t i = 0; i < count; ++i) {
    const Expr &part = *expr.operands[i + 1];
    if (part.kind == ExprKind::Slice)
      continue;
    if (part.kind == ExprKind::Ellipsis) {
      if (std::exchange(ellipsis, true))
        return poison(part.loc, "'..' stands once in an index");
      continue;
    }
    values[i] = force(eval(part, scope), part.loc);
    if (isPoison(values[i]))
      return Poison{};
    if (auto *tensor = getIf<Tensor>(values[i])) {
      if (count == 1 && tensor->type().getElementType().isInteger(32))
        return embed(x, tensor->value, expr.loc);
      return poison(part.loc, "a tensor as an index must hold tokens or positions and stand alone");
    }
    if (holds<ScanPosition>(values[i]) && count == 1)
      return currentScan ? scanInput(x, expr.loc, true) : poison(part.loc, "the scan's position is used outside of its scan");
    scalars |= holds<Scalar>(values[i]);
  }
  if (scalars)
    return readElement(x, values, expr);
  int64_t rank = typeOf(x).getRank(), given = static_cast<int64_t>(count) - ellipsis;
  if (given > rank) {
    error(expr.loc, fmt::format("{} indices for {}", given, describe(Tensor{x})));
    noteValue(x, "the tensor");
    return Poison{};
  }
  // Ranges keep their dimension, numbers drop it in the end.
  std::vector<bool> dropped(rank);
  int64_t axis = 0;
  for (size_t i = 0; i < count; ++i, ++axis) {
    const Expr &part = *expr.operands[i + 1];
    if (part.kind == ExprKind::Ellipsis) {
      axis += rank - given - 1;
      continue;
    }
    DimSize dim = dimOf(typeOf(x), axis);
    int64_t start = 0, stop = dim.size, step = 1;
    bool all = false;
    if (part.kind == ExprKind::Slice) {
      all = !part.operands[0] && !part.operands[1] && !part.operands[2];
      int64_t *places[] = {&start, &stop, &step};
      for (unsigned k = 0; k < 3; ++k) {
        if (!part.operands[k])
          continue;
        auto value = asInt(eval(*part.operands[k], scope), part.operands[k]->loc, "the bound of a range");
        if (!value)
          return Poison{};
        *places[k] = *value;
        if (k < 2 && *value < 0 && !dim.isDynamic())
          *places[k] += dim.size;
      }
      if (!all && dim.isDynamic() && !part.operands[1])
        return poison(part.loc, "the range needs an end, because " + dim.name + " is known at run time only");
    } else {
      auto value = asInt(values[i], part.loc, "the index");
      if (!value)
        return Poison{};
      start = *value < 0 && !dim.isDynamic() ? *value + dim.size : *value;
      stop = start == INT64_MAX ? start : start + 1;
      dropped[axis] = true;
    }
    if (all)
      continue;
    if (start < 0 || stop <= start || step < 1 || (!dim.isDynamic() && stop > dim.size) || stop > INT32_MAX) {
      error(part.loc, fmt::format("range {}:{}{} does not fit dimension {} of {}", start, stop, step == 1 ? "" : fmt::format(":{}", step),
                                  axis + 1, mlir::xf::describeShape(typeOf(x))));
      noteValue(x, "the tensor");
      return Poison{};
    }
    Value part_ = slice(x, axis, start, (stop - start + step - 1) / step, step, expr.loc);
    x = std::get<Tensor>(part_).value;
  }
  if (llvm::none_of(dropped, [](bool b) { return b; }))
    return Tensor{x};
  // A single element is a tensor of one element.
  if (llvm::all_of(dropped, [](bool b) { return b; })) {
    dropped[rank - 1] = false;
    if (rank == 1)
      return Tensor{x};
  }
  std::string left, right;
  for (int64_t d = 0; d < rank; ++d) {
    left += dropped[d] ? " 1" : fmt::format(" d{}", d);
    right += dropped[d] ? "" : fmt::format(" d{}", d);
  }
  return rearrange(x, left.substr(1) + " ->" + right, {}, expr.loc);
}

/// keep[b, j] in a mask, x[t] in a scan.
Value Evaluator::readElement(mlir::Value x, const std::vector<Value> &indices, const Expr &expr) {
  auto type = typeOf(x);
  if (realType.isF64())
    return poison(expr.loc, "a table is computed when compiling and cannot read a tensor");
  if (static_cast<int64_t>(indices.size()) != type.getRank()) {
    error(expr.loc, fmt::format("{} indices for {}", indices.size(), describe(Tensor{x})));
    noteValue(x, "the tensor");
    return Poison{};
  }
  llvm::SmallVector<mlir::Value> values;
  for (auto [d, value] : llvm::enumerate(indices)) {
    Loc loc = expr.operands[d + 1]->loc;
    auto operand = scalarOperand(value);
    if (!operand || holds<bool>(value))
      return poison(loc, "an index must be a position or an integer, not " + describe(value));
    DimSize dim = dimOf(type, d);
    bool computed = false;
    if (auto *scalar = getIf<Scalar>(value)) {
      // A position runs over one dimension and reads along no other.
      bool row = dim.size == 1;
      computed = !scalar->range && !row;
      if (computed && dim.isDynamic())
        return poison(loc, fmt::format("a computed index needs a dimension of known size, and {} is known at run time only", dim.name));
      if (scalar->range && *scalar->range != dim && !row && scalar->range->size != 1) {
        error(loc, fmt::format("this position runs over {}, but dimension {} of {} is {}", scalar->range->str(), d + 1,
                               mlir::xf::describeShape(type), dim.str()));
        noteValue(x, "the tensor");
        return Poison{};
      }
      if (row)
        operand = int64_t(0);
    } else if (auto *i = getIf<int64_t>(value); i && (*i < 0 || (!dim.isDynamic() && *i >= dim.size))) {
      return poison(loc, fmt::format("index {} is outside of dimension {} of {}", *i, d + 1, mlir::xf::describeShape(type)));
    }
    mlir::Value index = convert(*operand, builder.getIndexType(), loc);
    if (index && computed && !staysBelow(index, dim.size))
      index = emitBinary("min", emitBinary("max", index, int64_t(0), loc), dim.size - 1, loc);
    if (!index)
      return Poison{};
    values.push_back(index);
  }
  return Scalar{mlir::xf::AtOp::create(builder, at(expr.loc), type.getElementType(), x, values), {}};
}
