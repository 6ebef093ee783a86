#include "compiler/Frontend/TensorCode.h"
#include "dialect/IR/Producers.h"

#include <fmt/format.h>

using namespace xf::frontend;

static constexpr int64_t kMaxPosition = int64_t(1) << 30;
static constexpr llvm::StringLiteral kTransposed = "a b -> b a";

/// As a description writes it: token[B, S].
static std::string typeText(mlir::RankedTensorType type) {
  mlir::Type element = type.getElementType();
  return (element.isF32() ? "f32" : element.isInteger(1) ? "bool" : "token") + mlir::xf::describeShape(type);
}

Value TensorCode::linear(mlir::Value x, mlir::Value weight, mlir::Value bias, Loc loc) {
  auto xt = typeOf(x), wt = typeOf(weight);
  if (!xt.getElementType().isF32() || !wt.getElementType().isF32())
    return messages.poison(loc, "a product needs numbers (f32) on both sides, not " + typeText(xt) + " and " + typeText(wt));
  if (wt.getRank() != 2 || xt.getRank() == 0 || !mlir::xf::sameDim(xt, xt.getRank() - 1, wt, 1)) {
    messages.error(loc,
                   fmt::format("{} @ {} does not fit: {} is not {}", mlir::xf::describeShape(xt),
                               wt.getRank() == 2 ? "[" + dimOf(wt, 1).str() + ", " + dimOf(wt, 0).str() + "]" : mlir::xf::describeShape(wt),
                               xt.getRank() ? dimOf(xt, xt.getRank() - 1).str() : "a number", wt.getRank() == 2 ? dimOf(wt, 1).str() : "a matrix"));
    messages.noteValue(x, "the left shape");
    messages.noteValue(weight, "the weight");
    return Poison{};
  }
  for (auto [value, what] : {std::pair(weight, "the weight"), {bias, "the bias"}})
    if (value && !mlir::xf::dependsOnParametersOnly(value)) {
      messages.error(loc, std::string(what) + " of a linear must be computed from parameters; products of activations are attend's");
      messages.noteValue(value, what);
      return Poison{};
    }
  if (bias && (typeOf(bias).getRank() != 1 || !mlir::xf::sameDim(typeOf(bias), 0, wt, 0))) {
    messages.error(loc, fmt::format("the bias {} does not fit the weight {}: [{}] is wanted", mlir::xf::describeShape(typeOf(bias)),
                                    mlir::xf::describeShape(wt), dimOf(wt, 0).str()));
    messages.noteValue(bias, "the bias");
    messages.noteValue(weight, "the weight");
    return Poison{};
  }
  auto type = mlir::xf::withDim(xt, xt.getRank() - 1, wt.getDimSize(0), "");
  return Tensor{mlir::xf::LinearOp::create(builder, messages.at(loc), type, x, weight, bias)};
}

Value TensorCode::product(mlir::Value x, mlir::Value weight, Loc loc) {
  if (!mlir::xf::dependsOnParametersOnly(weight)) {
    messages.error(loc, "the right side of '@' must be computed from parameters; products of activations are attend's");
    messages.noteValue(weight, "the right side of shape");
    return Poison{};
  }
  if (typeOf(weight).getRank() != 2) {
    messages.error(loc, "the right side of '@' must have two dimensions, not " + mlir::xf::describeShape(typeOf(weight)));
    messages.noteValue(weight, "the shape");
    return Poison{};
  }
  // x @ W.T reads W as it is.
  if (auto transposeOp = weight.getDefiningOp<mlir::xf::RearrangeOp>(); transposeOp && transposeOp.getPattern() == kTransposed) {
    weight = transposeOp.getX();
    if (transposeOp->use_empty())
      transposeOp->erase();
  } else {
    Value transposed = transpose(weight, loc);
    if (isPoison(transposed))
      return transposed;
    weight = std::get<Tensor>(transposed).value;
  }
  return linear(x, weight, {}, loc);
}

Value TensorCode::transpose(mlir::Value x, Loc loc) {
  if (typeOf(x).getRank() == 2)
    return rearrange(x, kTransposed.str(), {}, loc);
  messages.error(loc, "'.T' needs a tensor of two dimensions, not " + mlir::xf::describeShape(typeOf(x)) + "; use rearrange");
  messages.noteValue(x, "the shape");
  return Poison{};
}

Value TensorCode::rearrange(mlir::Value x, const std::string &pattern, llvm::ArrayRef<std::pair<std::string, int64_t>> sizes, Loc loc) {
  llvm::SmallVector<mlir::NamedAttribute> attrs;
  for (auto &[name, size] : sizes)
    attrs.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(size)));
  auto dictionary = builder.getDictionaryAttr(attrs);
  unsigned before = messages.diagnostics.getErrorCount();
  auto emit = [&] { return mlir::emitError(messages.at(loc)); };
  auto parsed = mlir::xf::Rearrangement::parse(pattern, emit);
  if (succeeded(parsed)) {
    for (auto &[name, size] : sizes)
      if (!llvm::is_contained(parsed->axes, name))
        return messages.poison(loc, "the pattern \"" + pattern + "\" has no axis '" + name + "'");
    auto type = parsed->apply(typeOf(x), dictionary, emit);
    if (succeeded(type))
      return Tensor{mlir::xf::RearrangeOp::create(builder, messages.at(loc), *type, x, builder.getStringAttr(pattern), dictionary)};
  }
  if (messages.diagnostics.getErrorCount() > before)
    messages.noteValue(x, "the tensor");
  return Poison{};
}

Value TensorCode::positions(const DimSize &dim, int64_t first, Loc loc) {
  // The last position must fit 32 bits, too.
  if (first < -kMaxPosition || first > kMaxPosition)
    return messages.poison(loc, fmt::format("positions cannot begin at {}", first));
  return Tensor{mlir::xf::PositionsOp::create(builder, messages.at(loc), tensorOf(dim, builder.getI32Type()), mlir::Value(), first)};
}

Value TensorCode::slice(mlir::Value x, unsigned axis, int64_t start, int64_t size, int64_t step, Loc loc) {
  auto type = mlir::xf::withDim(typeOf(x), axis, size, "");
  return Tensor{mlir::xf::SliceOp::create(builder, messages.at(loc), type, x, axis, start, step)};
}

Value TensorCode::concat(llvm::ArrayRef<mlir::Value> inputs, int64_t axis, Loc loc) {
  auto first = typeOf(inputs.front());
  int64_t rank = first.getRank(), total = 0;
  auto mismatch = [&](mlir::Value input, const std::string &reason) {
    messages.error(loc, fmt::format("{} and {} cannot be joined along axis {}: {}", typeText(first), typeText(typeOf(input)), axis, reason));
    messages.noteValue(inputs.front(), "the first");
    messages.noteValue(input, "the other");
    return Poison{};
  };
  for (mlir::Value input : inputs)
    if (typeOf(input).getRank() != rank)
      return mismatch(input, "they have different numbers of dimensions");
  if (axis < -rank || axis >= rank)
    return messages.poison(loc, fmt::format("{} has no axis {}", mlir::xf::describeShape(first), axis));
  axis += axis < 0 ? rank : 0;
  // Dimensions that are not joined are broadcast from size 1, as in element-wise operations.
  std::vector<DimSize> shape = dimsOf(first);
  for (mlir::Value input : inputs)
    for (int64_t d = 0; d < rank; ++d)
      if (d != axis && shape[d].size == 1)
        shape[d] = dimOf(typeOf(input), d);
  llvm::SmallVector<mlir::Value> parts;
  for (mlir::Value input : inputs) {
    auto type = typeOf(input);
    if (type.isDynamicDim(axis))
      return mismatch(input, dimOf(type, axis).str() + " is known at run time only");
    mlir::Value part = input;
    for (int64_t d = 0; d < rank; ++d) {
      DimSize dim = dimOf(type, d);
      if (d == axis || dim == shape[d])
        continue;
      if (dim.size != 1)
        return mismatch(input, fmt::format("dimension {} is {} and {}", d + 1, shape[d].str(), dim.str()));
      part = expand(part, d, shape[d], loc);
    }
    if (type.getElementType() != first.getElementType())
      return mismatch(input, "their elements are of different types");
    parts.push_back(part);
    total += type.getDimSize(axis);
  }
  return Tensor{mlir::xf::ConcatOp::create(builder, messages.at(loc), mlir::xf::withDim(typeOf(parts.front()), axis, total, ""), parts, axis)};
}

mlir::Value TensorCode::expand(mlir::Value x, unsigned axis, const DimSize &dim, Loc loc) {
  auto type = typeOf(x);
  auto map = llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
  map[axis] = -1;
  mlir::OperationState state(messages.at(loc), mlir::xf::MapOp::getOperationName());
  auto result = mlir::xf::withDim(type, axis, dim.isDynamic() ? mlir::ShapedType::kDynamic : dim.size, dim.name);
  mlir::xf::MapOp::build(builder, state, result, x, builder.getArrayAttr(builder.getDenseI64ArrayAttr(map)));
  mlir::Block &body = state.regions[0]->emplaceBlock();
  mlir::Value element = body.addArgument(type.getElementType(), messages.at(loc));
  mlir::OpBuilder inside(builder.getContext());
  inside.setInsertionPointToEnd(&body);
  mlir::xf::YieldOp::create(inside, messages.at(loc), element);
  return builder.create(state)->getResult(0);
}

mlir::Value TensorCode::fill(mlir::RankedTensorType type, mlir::TypedAttr value, Loc loc) {
  mlir::Location at = messages.at(loc);
  mlir::OperationState state(at, mlir::xf::MapOp::getOperationName());
  mlir::xf::MapOp::build(builder, state, type, mlir::ValueRange(), builder.getArrayAttr({}));
  mlir::OpBuilder inside(builder.getContext());
  inside.setInsertionPointToEnd(&state.regions[0]->emplaceBlock());
  mlir::xf::YieldOp::create(inside, at, mlir::arith::ConstantOp::create(inside, at, value).getResult());
  return builder.create(state)->getResult(0);
}

std::optional<std::vector<DimSize>> TensorCode::broadcast(llvm::ArrayRef<mlir::Value> values, Loc loc) {
  std::vector<DimSize> result;
  std::vector<mlir::Value> owner;
  for (mlir::Value value : values) {
    std::vector<DimSize> dims = dimsOf(llvm::cast<mlir::RankedTensorType>(value.getType()));
    while (result.size() < dims.size()) {
      result.insert(result.begin(), DimSize{1, ""});
      owner.insert(owner.begin(), value);
    }
    for (size_t i = 0; i < dims.size(); ++i) {
      size_t axis = result.size() - dims.size() + i;
      if (result[axis] == dims[i] || dims[i].size == 1)
        continue;
      if (result[axis].size == 1) {
        result[axis] = dims[i];
        owner[axis] = value;
        continue;
      }
      auto left = llvm::cast<mlir::RankedTensorType>(owner[axis].getType());
      messages.error(loc, fmt::format("shapes {} and {} do not fit: {} is not {}", mlir::xf::describeShape(left), describeDims(dims),
                                      result[axis].str(), dims[i].str()));
      messages.noteValue(owner[axis], "the shape");
      messages.noteValue(value, "the shape");
      return std::nullopt;
    }
  }
  return result;
}
