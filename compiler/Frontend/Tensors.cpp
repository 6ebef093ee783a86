// Operations on whole tensors: products with weights, rearrangements, slices, look-ups.
#include "compiler/Frontend/Evaluator.h"
#include "compiler/Frontend/Ranges.h"
#include "dialect/IR/Producers.h"

#include "llvm/Support/SaveAndRestore.h"
#include <fmt/format.h>

using namespace xf::frontend;

namespace {
constexpr llvm::StringLiteral kTransposed = "a b -> b a";
constexpr int64_t kFarthestPosition = int64_t(1) << 30;
} // namespace

Value Evaluator::transpose(const Value &value, Loc loc) {
  mlir::Value x = asTensor(value, loc, "the value before '.T'");
  if (!x)
    return Poison{};
  if (typeOf(x).getRank() == 2)
    return rearrange(x, kTransposed.str(), {}, loc);
  error(loc, "'.T' needs a tensor of two dimensions, not " + mlir::xf::describeShape(typeOf(x)) + "; use rearrange");
  noteValue(x, "the shape");
  return Poison{};
}

Value Evaluator::matmul(const Value &left, const Value &right, Loc loc) {
  mlir::Value x = asTensor(left, loc, "the left side of '@'"), w = asTensor(right, loc, "the right side of '@'");
  if (!x || !w)
    return Poison{};
  if (!mlir::xf::dependsOnParametersOnly(w)) {
    error(loc, "the right side of '@' must be computed from parameters; products of activations are attend's");
    noteValue(w, "the right side of shape");
    return Poison{};
  }
  if (typeOf(w).getRank() != 2) {
    error(loc, "the right side of '@' must have two dimensions, not " + mlir::xf::describeShape(typeOf(w)));
    noteValue(w, "the shape");
    return Poison{};
  }
  // x @ W.T reads W as it is.
  if (auto turned = w.getDefiningOp<mlir::xf::RearrangeOp>(); turned && turned.getPattern() == kTransposed) {
    w = turned.getX();
    if (turned->use_empty())
      turned->erase();
  } else {
    Value turnedBack = rearrange(w, kTransposed.str(), {}, loc);
    if (isPoison(turnedBack))
      return turnedBack;
    w = std::get<Tensor>(turnedBack).value;
  }
  return linear(x, w, {}, loc);
}

Value Evaluator::linear(mlir::Value x, mlir::Value weight, mlir::Value bias, Loc loc) {
  auto xt = typeOf(x), wt = typeOf(weight);
  if (!xt.getElementType().isF32() || !wt.getElementType().isF32())
    return poison(loc, "a product needs numbers (f32) on both sides");
  if (wt.getRank() != 2 || xt.getRank() == 0 || !mlir::xf::sameDim(xt, xt.getRank() - 1, wt, 1)) {
    error(loc, fmt::format("{} @ {} does not fit: {} is not {}", mlir::xf::describeShape(xt),
                           wt.getRank() == 2 ? "[" + dimOf(wt, 1).str() + ", " + dimOf(wt, 0).str() + "]" : mlir::xf::describeShape(wt),
                           xt.getRank() ? dimOf(xt, xt.getRank() - 1).str() : "a number", wt.getRank() == 2 ? dimOf(wt, 1).str() : "a matrix"));
    noteValue(x, "the left shape");
    noteValue(weight, "the weight");
    return Poison{};
  }
  if (!mlir::xf::dependsOnParametersOnly(weight) || (bias && !mlir::xf::dependsOnParametersOnly(bias)))
    return poison(loc, "weight and bias of a linear must be computed from parameters");
  if (bias && (typeOf(bias).getRank() != 1 || !mlir::xf::sameDim(typeOf(bias), 0, wt, 0)))
    return poison(loc, "the bias " + mlir::xf::describeShape(typeOf(bias)) + " does not fit the weight " + mlir::xf::describeShape(wt));
  auto type = mlir::xf::withDim(xt, xt.getRank() - 1, wt.getDimSize(0), "");
  return Tensor{mlir::xf::LinearOp::create(builder, at(loc), type, x, weight, bias)};
}

Value Evaluator::rearrange(mlir::Value x, const std::string &pattern, llvm::ArrayRef<std::pair<std::string, int64_t>> sizes, Loc loc) {
  llvm::SmallVector<mlir::NamedAttribute> attrs;
  for (auto &[name, size] : sizes)
    attrs.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(size)));
  auto dictionary = builder.getDictionaryAttr(attrs);
  unsigned before = diagnostics.getErrorCount();
  auto emit = [&] { return mlir::emitError(at(loc)); };
  auto parsed = mlir::xf::Rearrangement::parse(pattern, emit);
  if (succeeded(parsed)) {
    for (auto &[name, size] : sizes)
      if (!llvm::is_contained(parsed->axes, name))
        return poison(loc, "the pattern \"" + pattern + "\" has no axis '" + name + "'");
    auto type = parsed->apply(typeOf(x), dictionary, emit);
    if (succeeded(type))
      return Tensor{mlir::xf::RearrangeOp::create(builder, at(loc), *type, x, builder.getStringAttr(pattern), dictionary)};
  }
  if (diagnostics.getErrorCount() > before)
    noteValue(x, "the tensor");
  return Poison{};
}

Value Evaluator::positions(const DimSize &dim, int64_t first, Loc loc) {
  // The last one is a number of 32 bits, too.
  if (first < -kFarthestPosition || first > kFarthestPosition)
    return poison(loc, fmt::format("positions cannot begin at {}", first));
  return Tensor{mlir::xf::PositionsOp::create(builder, at(loc), tensorOf(dim, builder.getI32Type()), mlir::Value(), first)};
}

Value Evaluator::slice(mlir::Value x, unsigned axis, int64_t start, int64_t size, int64_t step, Loc loc) {
  auto type = mlir::xf::withDim(typeOf(x), axis, size, "");
  return Tensor{mlir::xf::SliceOp::create(builder, at(loc), type, x, axis, start, step)};
}

Value Evaluator::concat(llvm::ArrayRef<mlir::Value> inputs, int64_t axis, Loc loc) {
  auto first = typeOf(inputs.front());
  int64_t rank = first.getRank(), total = 0;
  auto differ = [&](mlir::Value input, llvm::StringRef why) {
    error(loc, fmt::format("{} and {} cannot be joined along axis {}{}", mlir::xf::describeShape(first), mlir::xf::describeShape(typeOf(input)), axis,
                           why.str()));
    noteValue(inputs.front(), "the first");
    noteValue(input, "the other");
    return Poison{};
  };
  for (mlir::Value input : inputs)
    if (typeOf(input).getRank() != rank)
      return differ(input, ": they have different numbers of dimensions");
  if (axis < -rank || axis >= rank)
    return poison(loc, fmt::format("{} has no axis {}", mlir::xf::describeShape(first), axis));
  axis += axis < 0 ? rank : 0;
  // Of dimensions that are not joined, those of size 1 are as large as the others', as in maths.
  std::vector<DimSize> shape = dimsOf(first);
  for (mlir::Value input : inputs)
    for (int64_t d = 0; d < rank; ++d)
      if (d != axis && shape[d].size == 1)
        shape[d] = dimOf(typeOf(input), d);
  llvm::SmallVector<mlir::Value> parts;
  for (mlir::Value input : inputs) {
    auto type = typeOf(input);
    if (type.isDynamicDim(axis))
      return differ(input, ", which is known at run time only");
    mlir::Value part = input;
    for (int64_t d = 0; d < rank; ++d) {
      DimSize dim = dimOf(type, d);
      if (d == axis || dim == shape[d])
        continue;
      if (dim.size != 1)
        return differ(input, "");
      part = expand(part, d, shape[d], loc);
    }
    if (type.getElementType() != first.getElementType())
      return differ(input, "");
    parts.push_back(part);
    total += type.getDimSize(axis);
  }
  return Tensor{mlir::xf::ConcatOp::create(builder, at(loc), mlir::xf::withDim(typeOf(parts.front()), axis, total, ""), parts, axis)};
}

mlir::Value Evaluator::expand(mlir::Value x, unsigned axis, const DimSize &dim, Loc loc) {
  auto type = typeOf(x);
  auto map = llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
  map[axis] = -1;
  mlir::OperationState state(at(loc), mlir::xf::MapOp::getOperationName());
  auto result = mlir::xf::withDim(type, axis, dim.isDynamic() ? mlir::ShapedType::kDynamic : dim.size, dim.name);
  mlir::xf::MapOp::build(builder, state, result, x, builder.getArrayAttr(builder.getDenseI64ArrayAttr(map)));
  mlir::Block &body = state.regions[0]->emplaceBlock();
  mlir::Value element = body.addArgument(type.getElementType(), at(loc));
  mlir::OpBuilder inside(builder.getContext());
  inside.setInsertionPointToEnd(&body);
  mlir::xf::YieldOp::create(inside, at(loc), element);
  return builder.create(state)->getResult(0);
}

/// Whether these are tokens that an entry takes.
static bool isInput(mlir::Value ids) {
  while (ids.getDefiningOp<mlir::xf::RearrangeOp>() || ids.getDefiningOp<mlir::xf::SliceOp>())
    ids = ids.getDefiningOp()->getOperand(0);
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(ids);
  return argument && llvm::isa_and_nonnull<mlir::xf::EntryOp>(argument.getOwner()->getParentOp());
}

Value Evaluator::embed(mlir::Value table, mlir::Value ids, Loc loc, bool limits) {
  auto tt = typeOf(table), it = typeOf(ids);
  if (tt.getRank() != 2 || !tt.getElementType().isF32())
    return poison(loc, "a look-up needs a table [rows, width], not " + mlir::xf::describeShape(tt));
  if (!mlir::xf::dependsOnParametersOnly(table))
    return poison(loc, "a look-up needs a table that is computed from parameters");
  if (!it.getElementType().isInteger(32))
    return poison(loc, "a look-up needs tokens or positions, not " + mlir::xf::describeShape(it) + " of numbers");
  int64_t rows = tt.getDimSize(0);
  if (auto positions = ids.getDefiningOp<mlir::xf::PositionsOp>()) {
    int64_t offset = positions.getOffset();
    if (offset < 0)
      return poison(loc, fmt::format("a table has no rows for positions that begin at {}", offset));
    if (limits && it.isDynamicDim(0)) {
      // The sequence can be as long as the table.
      DimInfo &info = dims[mlir::xf::getDimName(it, 0).str()];
      if (!info.table || rows - offset < *info.table) {
        info.table = rows - offset;
        info.tableLoc = locOf(table);
      }
    } else if (limits && it.getDimSize(0) > rows - offset) {
      return poison(loc, fmt::format("{} positions from {} on are looked up, but the table has {} rows", it.getDimSize(0), offset, rows));
    }
  } else if (!isInput(ids) && !staysBelow(ids, rows)) {
    // Calls check their inputs, but what is computed from them may be anything.
    llvm::SaveAndRestore noScan(currentScan, static_cast<ScanState *>(nullptr));
    Value inside = binary("min", binary("max", Tensor{ids}, int64_t(0), loc), rows - 1, loc);
    if (isPoison(inside))
      return inside;
    ids = std::get<Tensor>(inside).value;
  }
  std::vector<DimSize> shape = dimsOf(it);
  shape.push_back(dimOf(tt, 1));
  return Tensor{mlir::xf::EmbedOp::create(builder, at(loc), tensorOf(shape, builder.getF32Type()), table, ids)};
}
