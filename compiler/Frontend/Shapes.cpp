// Shapes: checking and binding of dimensions, and the conversions of values that operations need.
#include "compiler/Frontend/Evaluator.h"

#include "llvm/Support/SaveAndRestore.h"
#include <cmath>
#include <fmt/format.h>

using namespace xf::frontend;

mlir::Type Evaluator::elementType(const TypeExpr &type, bool weight) {
  if (type.name == "f32")
    return builder.getF32Type();
  if (weight && type.name == "f16")
    return builder.getF16Type();
  if (weight && type.name == "bf16")
    return builder.getBF16Type();
  if (!weight && type.name == "token")
    return builder.getI32Type();
  if (!weight && type.name == "bool")
    return builder.getI1Type();
  error(type.loc, "'" + type.name + "' is not the type of " + (weight ? "a parameter (f32, bf16 or f16)" : "a tensor (f32, token or bool)"));
  return {};
}

/// The size of a dimension that the scope knows; nothing after an error, which unknown names are, too.
std::optional<DimSize> Evaluator::evalDim(const Expr &expr, const ScopePtr &scope) {
  Value value = eval(expr, scope);
  if (isPoison(value))
    return std::nullopt;
  if (auto *dim = getIf<DimName>(value))
    return DimSize{mlir::ShapedType::kDynamic, dim->name};
  auto size = asInt(value, expr.loc, "a dimension");
  if (!size)
    return std::nullopt;
  if (*size < 1 || *size > INT32_MAX) {
    error(expr.loc, fmt::format("a dimension cannot be {}", *size));
    return std::nullopt;
  }
  return DimSize{*size, ""};
}

namespace {
/// Checks a tensor's shape against a type, and binds the type's unknown names.
class ShapeBinder {
public:
  ShapeBinder(Evaluator &e, mlir::RankedTensorType actual, const ScopePtr &scope, const std::string &what, Loc loc)
      : e(e), dims(dimsOf(actual)), shape(mlir::xf::describeShape(actual)), scope(scope), what(what), loc(loc) {}

  bool bind(const TypeExpr &type) {
    bool hasEllipsis = llvm::any_of(type.dims, isEllipsis);
    size_t fixed = type.dims.size() - hasEllipsis;
    if (hasEllipsis ? dims.size() < fixed : dims.size() != fixed)
      return fail(fmt::format("{} has shape {}, but {}{} dimensions are wanted", what, shape, hasEllipsis ? "at least " : "", fixed));
    size_t d = 0;
    for (const DimExpr &dim : type.dims) {
      size_t count = isEllipsis(dim) ? dims.size() - fixed : 1;
      if (!(isEllipsis(dim) ? bindLeading({dims.begin() + d, dims.begin() + d + count}) : bindDim(*dim.size, d)))
        return false;
      d += count;
    }
    return true;
  }

private:
  static bool isEllipsis(const DimExpr &dim) { return !dim.size; }
  bool fail(const std::string &message) { return e.error(loc, message), false; }

  /// `..` is the same in all shapes of a call.
  bool bindLeading(std::vector<DimSize> found) {
    if (scope->leading && *scope->leading != found) {
      fail(fmt::format("{} has leading dimensions {}, but '..' is {}", what, describeDims(found), describeDims(*scope->leading)));
      e.note(scope->leadingLoc, "'..' got its value here");
      return false;
    }
    if (!scope->leading)
      scope->leadingLoc = loc;
    scope->leading = std::move(found);
    return true;
  }

  bool bindDim(const Expr &size, size_t d) {
    if (size.kind == ExprKind::Name) {
      auto binding = e.lookup(scope.get(), size.text);
      if (!binding || (!holds<int64_t>(binding->value) && !holds<DimName>(binding->value))) {
        scope->set(size.text, dimValue(dims[d]), loc);
        return true;
      }
    }
    auto expected = e.evalDim(size, scope);
    if (!expected || *expected == dims[d])
      return expected.has_value();
    bool named = size.kind == ExprKind::Name;
    std::string text = named && size.text != expected->str() ? size.text + " = " + expected->str() : expected->str(), found = dims[d].str();
    // The block's dimension and the entry's have the same name.
    if (named && size.text == found) {
      text = size.text + " of " + blockName() + " = " + expected->str();
      found = "the entry's " + found;
    }
    fail(fmt::format("{} has shape {}, but its dimension {} must be {}, not {}", what, shape, d + 1, text, found));
    if (named)
      if (auto it = scope->names.find(size.text); it != scope->names.end())
        e.note(it->second.loc, text + " comes from this argument");
    return false;
  }

  std::string blockName() const {
    for (const Scope *outer = scope.get(); outer; outer = outer->parent.get())
      if (outer->self)
        return outer->self->instance->block->name;
    return "the function";
  }

  Evaluator &e;
  std::vector<DimSize> dims;
  std::string shape; // for messages
  const ScopePtr &scope;
  const std::string &what;
  Loc loc;
};
} // namespace

bool Evaluator::bindShape(const TypeExpr &type, mlir::RankedTensorType actual, const ScopePtr &scope, const std::string &what, Loc loc) {
  return ShapeBinder(*this, actual, scope, what, loc).bind(type);
}

std::optional<int64_t> Evaluator::asInt(const Value &value, Loc loc, llvm::StringRef what) {
  if (auto *i = getIf<int64_t>(value))
    return *i;
  if (isPoison(value))
    return std::nullopt;
  if (auto *dim = getIf<DimName>(value))
    error(loc, fmt::format("{} must be known when compiling, but {} is known at run time only", what.str(), dim->name));
  else
    error(loc, what.str() + " must be an integer, not " + describe(value));
  return std::nullopt;
}

std::optional<double> Evaluator::asDouble(const Value &value, Loc loc, llvm::StringRef what) {
  if (holds<int64_t>(value) || holds<double>(value))
    return toDouble(value);
  if (!isPoison(value))
    error(loc, what.str() + " must be a number that is known when compiling, not " + describe(value));
  return std::nullopt;
}

std::optional<bool> Evaluator::asBool(const Value &value, Loc loc, llvm::StringRef what) {
  if (auto *b = getIf<bool>(value))
    return *b;
  if (!isPoison(value))
    error(loc, what.str() + " must be true or false when compiling, not " + describe(value) +
                   (holds<Tensor>(value) ? "; where(condition, a, b) chooses for each element" : ""));
  return std::nullopt;
}

/// Weights become tensors (xf.param), and so do tables whose size is known and inputs whose shape is.
Value Evaluator::force(const Value &value, Loc loc) {
  if (auto *lazy = getIf<LazyInput *>(value))
    return (*lazy)->value ? *(*lazy)->value : value;
  if (auto *table = getIf<std::shared_ptr<TableUse>>(value))
    return tables.load(**table, loc);
  auto *weight = getIf<WeightRef>(value);
  if (!weight)
    return value;
  if (!inBody)
    return poison(loc, "a parameter's value is not known here");
  const Parameter &parameter = *weight->parameter;
  llvm::SmallVector<mlir::Value> indices;
  for (const Index &index : weight->indices) {
    if (auto *constant = std::get_if<int64_t>(&index))
      indices.push_back(mlir::arith::ConstantIndexOp::create(builder, at(loc), *constant));
    else
      indices.push_back(std::get<mlir::Value>(index));
  }
  auto type = mlir::xf::withElement(parameter.type, builder.getF32Type());
  // The parameter's own location says more about its shape than that of its use.
  mlir::Location paramLoc = parameter.loc.isValid() && !sources.isLibrary(parameter.loc) ? sources.toMlir(builder.getContext(), parameter.loc)
                                                                                         : at(loc);
  return Tensor{mlir::xf::ParamOp::create(builder, paramLoc, type, parameter.symbol, indices)};
}

mlir::Value Evaluator::asTensor(const Value &value, Loc loc, llvm::StringRef what) {
  Value forced = force(value, loc);
  if (auto *tensor = getIf<Tensor>(forced))
    return tensor->value;
  if (auto *lazy = getIf<LazyInput *>(forced))
    error(loc, "the shape of the input '" + (*lazy)->name + "' is not known here; declare it");
  else if (!isPoison(forced))
    error(loc, what.str() + " must be a tensor, not " + describe(forced));
  return {};
}
