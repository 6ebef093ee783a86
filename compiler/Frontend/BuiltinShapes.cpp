// Built-in functions that rearrange tensors.
#include "compiler/Frontend/Evaluator.h"

#include <fmt/format.h>

using namespace xf::frontend;

namespace {

/// Collects the positional arguments, which must be tensors. The only named argument is `axis`, unless that is null.
bool tensors(Evaluator &e, Args &args, Loc loc, llvm::StringRef name, llvm::SmallVectorImpl<mlir::Value> &values, int64_t *axis) {
  for (CallArg &arg : args) {
    if (axis && arg.name == "axis") {
      auto constant = e.asInt(arg.value, arg.loc, "the axis");
      if (!constant)
        return false;
      *axis = *constant;
      continue;
    }
    if (!arg.name.empty()) {
      e.error(arg.loc, name.str() + " has no parameter '" + arg.name + "'");
      return false;
    }
    mlir::Value value = e.asTensor(arg.value, arg.loc, "the argument of " + name.str());
    if (!value)
      return false;
    values.push_back(value);
  }
  if (values.empty())
    e.error(loc, name.str() + " needs tensors");
  return !values.empty();
}

/// Finds axes that stand alone and on the right side of `pattern` only. Removes them from `sizes`, replaces them by 1 in the pattern, and
/// returns their dimensions in the result. An invalid pattern is left as it is: it is reported later.
std::vector<std::pair<unsigned, DimSize>> extractNewAxes(std::string &pattern, std::vector<std::pair<std::string, DimSize>> &sizes,
                                                         mlir::Location at) {
  auto [left, right] = llvm::StringRef(pattern).split("->");
  auto parseSide = [&](llvm::StringRef side) {
    auto silentError = [&] {
      auto error = mlir::emitError(at);
      error.abandon();
      return error;
    };
    return mlir::xf::Rearrangement::parse((side + "->" + side).str(), silentError);
  };
  auto from = parseSide(left), to = parseSide(right);
  std::vector<std::pair<unsigned, DimSize>> added;
  if (failed(from) || failed(to))
    return added;
  std::vector<std::string> dims;
  for (auto [dim, group] : llvm::enumerate(to->in)) {
    auto names = llvm::map_to_vector(group, [&](unsigned axis) { return to->axes[axis]; });
    dims.push_back(names.size() == 1 ? names[0] : names.empty() ? "1" : fmt::format("({})", fmt::join(names, " ")));
    auto size = llvm::find_if(sizes, [&](auto &each) { return each.first == dims.back(); });
    if (size == sizes.end() || llvm::is_contained(from->axes, dims.back()))
      continue;
    added.push_back({dim, size->second});
    sizes.erase(size);
    dims.back() = "1";
  }
  if (!added.empty())
    pattern = fmt::format("{}-> {}", left.str(), fmt::join(dims, " "));
  return added;
}

/// The tensor is repeated along axes that it lacks.
Value runRearrange(Evaluator &e, Args &args, Loc loc) {
  if (args.size() < 2 || !holds<std::string>(args[1].value) || !args[0].name.empty() || !args[1].name.empty())
    return e.poison(loc, "rearrange needs a tensor and a pattern such as \"B T (h k) -> B h T k\"");
  mlir::Value x = e.asTensor(args[0].value, args[0].loc, "the argument of rearrange");
  if (!x)
    return Poison{};
  std::vector<std::pair<std::string, DimSize>> sizes;
  for (size_t i = 2; i < args.size(); ++i) {
    if (auto *dim = getIf<DimName>(args[i].value); dim && !args[i].name.empty()) {
      sizes.push_back({args[i].name, {mlir::ShapedType::kDynamic, dim->name}});
      continue;
    }
    auto size = e.asInt(args[i].value, args[i].loc, "the size of axis '" + args[i].name + "'");
    if (!size)
      return Poison{};
    if (args[i].name.empty() || *size < 1 || *size > INT32_MAX)
      return e.poison(args[i].loc, "sizes of axes are given by name and positive, such as h = 8");
    sizes.push_back({args[i].name, {*size, ""}});
  }
  std::string pattern = std::get<std::string>(args[1].value);
  auto added = extractNewAxes(pattern, sizes, e.at(args[1].loc));
  std::vector<std::pair<std::string, int64_t>> staticSizes;
  for (auto &[name, size] : sizes) {
    if (size.isDynamic())
      return e.poison(loc, "the size of axis '" + name + "' must be known when compiling, but " + size.name + " is known at run time only");
    staticSizes.push_back({name, size.size});
  }
  Value result = e.tensors.rearrange(x, pattern, staticSizes, args[1].loc);
  for (auto &[dim, size] : added)
    if (auto *tensor = getIf<Tensor>(result))
      result = Tensor{e.tensors.expand(tensor->value, dim, size, loc)};
  return result;
}

/// split(x, heads): [B, T, h * k] to [B, h, T, k].
Value runSplit(Evaluator &e, Args &args, Loc loc) {
  mlir::Value x = e.asTensor(args[0].value, args[0].loc, "the argument of split");
  auto heads = e.asInt(args[1].value, args[1].loc, "the number of heads");
  if (!x || !heads)
    return Poison{};
  auto type = typeOf(x);
  int64_t width = type.getRank() ? type.getShape().back() : 0;
  if (type.getRank() != 3 || *heads < 1 || mlir::ShapedType::isDynamic(width) || width % *heads != 0) {
    e.error(loc, fmt::format("{} cannot be split into {} heads; [batch, positions, heads * width] is wanted", mlir::xf::describeShape(type), *heads));
    e.noteValue(x, "the shape");
    return Poison{};
  }
  return e.tensors.rearrange(x, "B T (h k) -> B h T k", {{"h", *heads}}, loc);
}

Value runMerge(Evaluator &e, Args &args, Loc loc) {
  mlir::Value x = e.asTensor(args[0].value, args[0].loc, "the argument of merge");
  if (!x)
    return Poison{};
  if (typeOf(x).getRank() == 4)
    return e.tensors.rearrange(x, "B h T k -> B T (h k)", {}, loc);
  e.error(loc, "merge needs [batch, heads, positions, width], not " + mlir::xf::describeShape(typeOf(x)));
  e.noteValue(x, "the shape");
  return Poison{};
}

/// chunk(x, n): n equal parts along an axis, the last one if none is given.
Value runChunk(Evaluator &e, Args &args, Loc loc) {
  mlir::Value x = e.asTensor(args[0].value, args[0].loc, "the argument of chunk");
  auto count = e.asInt(args[1].value, args[1].loc, "the number of parts");
  auto given = holds<None>(args[2].value) ? std::optional<int64_t>(-1) : e.asInt(args[2].value, args[2].loc, "the axis");
  if (!x || !count || !given)
    return Poison{};
  auto type = typeOf(x);
  int64_t axis = *given;
  int64_t rank = type.getRank();
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis >= rank)
    return e.poison(args[2].loc, fmt::format("{} has no axis {}", mlir::xf::describeShape(type), *given));
  if (*count < 1 || type.isDynamicDim(axis) || type.getDimSize(axis) % *count != 0) {
    e.error(loc, fmt::format("dimension {} of {} has no {} equal parts{}", axis + 1, mlir::xf::describeShape(type), *count,
                             type.isDynamicDim(axis) ? ": it is known at run time only" : ""));
    e.noteValue(x, "the shape");
    return Poison{};
  }
  auto parts = std::make_shared<Tuple>();
  int64_t size = type.getDimSize(axis) / *count;
  for (int64_t i = 0; i < *count; ++i)
    parts->elements.push_back(e.tensors.slice(x, axis, i * size, size, 1, loc));
  return parts;
}

Value runConcat(Evaluator &e, Args &args, Loc loc) {
  llvm::SmallVector<mlir::Value> values;
  int64_t axis = -1;
  return tensors(e, args, loc, "concat", values, &axis) ? e.tensors.concat(values, axis, loc) : Value(Poison{});
}

/// Whether elements of both can lie side by side: dimensions are equal, or one of them is of size 1.
bool canBroadcast(mlir::RankedTensorType a, mlir::RankedTensorType b) {
  if (a.getRank() != b.getRank() || a.getElementType() != b.getElementType())
    return false;
  return llvm::all_of(llvm::seq<int64_t>(a.getRank()), [&](int64_t d) {
    DimSize left = dimOf(a, d), right = dimOf(b, d);
    return left == right || left.size == 1 || right.size == 1;
  });
}

/// interleave(a, b): a0 b0 a1 b1 … along the last dimension.
Value runInterleave(Evaluator &e, Args &args, Loc loc) {
  llvm::SmallVector<mlir::Value> values;
  if (!tensors(e, args, loc, "interleave", values, nullptr))
    return Poison{};
  mlir::Value first = values[0];
  int64_t rank = typeOf(first).getRank();
  if (rank == 0)
    return e.poison(loc, "interleave needs tensors with a dimension");
  for (mlir::Value value : values)
    if (!canBroadcast(typeOf(first), typeOf(value))) {
      e.error(loc, mlir::xf::describeShape(typeOf(first)) + " and " + mlir::xf::describeShape(typeOf(value)) + " cannot be interleaved");
      e.noteValue(first, "the first");
      e.noteValue(value, "the other");
      return Poison{};
    }
  std::string leading;
  for (int64_t d = 0; d + 1 < rank; ++d)
    leading += fmt::format("d{} ", d);
  for (mlir::Value &value : values) {
    Value column = e.tensors.rearrange(value, leading + "k -> " + leading + "k 1", {}, loc);
    if (isPoison(column))
      return column;
    value = std::get<Tensor>(column).value;
  }
  Value joined = e.tensors.concat(values, -1, loc);
  return isPoison(joined) ? joined : e.tensors.rearrange(std::get<Tensor>(joined).value, leading + "k c -> " + leading + "(k c)", {}, loc);
}

} // namespace

const Builtin *xf::frontend::findShapeBuiltin(llvm::StringRef name) {
  static const Builtin builtins[] = {{"rearrange", runRearrange}, {"split", runSplit, {"x", "heads"}},
                                     {"merge", runMerge, {"x"}},  {"chunk", runChunk, {"x", "n"}, {"axis"}},
                                     {"concat", runConcat},       {"interleave", runInterleave}};
  auto found = llvm::find_if(builtins, [&](const Builtin &builtin) { return builtin.name == name; });
  return found == std::end(builtins) ? nullptr : found;
}
