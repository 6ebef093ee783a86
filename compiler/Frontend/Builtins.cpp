// Built-in functions: what the library cannot express in the language itself.
#include "compiler/Frontend/Evaluator.h"

#include <fmt/format.h>

using namespace xf::frontend;

namespace {

Value runWhere(Evaluator &e, Args &args, Loc loc) {
  if (auto *condition = getIf<bool>(args[0].value))
    return args[*condition ? 1 : 2].value;
  return e.elementwise({args[0].value, args[1].value, args[2].value}, loc, "where",
                       [&](llvm::ArrayRef<Operand> x) { return e.scalars.select(x[0], x[1], x[2], loc); });
}

Value runEven(Evaluator &e, Args &args, Loc loc) {
  Value remainder = e.binary("%", args[0].value, int64_t(2), loc);
  return isPoison(remainder) ? remainder : e.binary("==", remainder, int64_t(0), loc);
}

Value runPositions(Evaluator &e, Args &args, Loc loc) {
  DimSize dim;
  if (auto *name = getIf<DimName>(args[0].value)) {
    dim.name = name->name;
  } else {
    auto size = e.asInt(args[0].value, args[0].loc, "the dimension of positions");
    if (!size)
      return Poison{};
    if (*size < 1 || *size > INT32_MAX)
      return e.poison(args[0].loc, fmt::format("a dimension cannot be {}", *size));
    dim.size = *size;
  }
  auto offset = holds<None>(args[1].value) ? std::optional<int64_t>(0) : e.asInt(args[1].value, args[1].loc, "the offset of positions");
  if (!offset)
    return Poison{};
  return e.inBody ? e.tensors.positions(dim, *offset, loc) : e.poison(loc, "positions stand in a method only");
}

Value reduce(Evaluator &e, const CallArg &arg, Loc loc, llvm::StringRef name, mlir::xf::ReduceKind kind) {
  mlir::Value x = e.asTensor(arg.value, arg.loc, "the argument of " + name.str());
  if (!x)
    return Poison{};
  if (typeOf(x).getElementType().isInteger()) { // counts of booleans and tokens
    Value real = e.unary("float", Tensor{x}, loc);
    if (isPoison(real))
      return real;
    x = std::get<Tensor>(real).value;
  }
  if (typeOf(x).getRank() == 0)
    return e.poison(loc, name.str() + " needs a tensor with dimensions");
  auto type = mlir::xf::withDim(typeOf(x), typeOf(x).getRank() - 1, 1, "");
  return Tensor{mlir::xf::ReduceOp::create(e.builder, e.at(loc), type, kind, x)};
}

Value runSize(Evaluator &e, Args &args, Loc loc) {
  mlir::Value x = e.asTensor(args[0].value, args[0].loc, "the argument of size");
  auto axis = holds<None>(args[1].value) ? std::optional<int64_t>(-1) : e.asInt(args[1].value, args[1].loc, "the axis");
  if (!x || !axis)
    return Poison{};
  int64_t rank = typeOf(x).getRank();
  if (*axis < -rank || *axis >= rank)
    return e.poison(args[1].loc, fmt::format("{} has no axis {}", mlir::xf::describeShape(typeOf(x)), *axis));
  return dimValue(dimOf(typeOf(x), *axis < 0 ? *axis + rank : *axis));
}

Value runLen(Evaluator &e, Args &args, Loc loc) {
  auto *list = getIf<std::shared_ptr<List>>(args[0].value);
  return list ? Value((*list)->size()) : e.poison(args[0].loc, "len needs a list, not " + describe(args[0].value));
}

Value runRange(Evaluator &e, Args &args, Loc loc) {
  auto first = e.asInt(args[0].value, args[0].loc, "the argument of range");
  auto second = holds<None>(args[1].value) ? first : e.asInt(args[1].value, args[1].loc, "the argument of range");
  if (!first || !second)
    return Poison{};
  int64_t begin = holds<None>(args[1].value) ? 0 : *first;
  if (begin < -1'000'000 || *second > 1'000'000)
    return e.poison(loc, "the range is too long");
  if (*second > begin && !e.countSteps(loc, *second - begin))
    return Poison{};
  auto list = std::make_shared<List>();
  for (int64_t i = begin; i < *second; ++i)
    list->elements.push_back(i);
  return list;
}

Value runZip(Evaluator &e, Args &args, Loc loc) {
  auto tuple = std::make_shared<Tuple>();
  int64_t size = -1;
  bool equalLayers = !args.empty();
  for (CallArg &arg : args) {
    auto *list = getIf<std::shared_ptr<List>>(arg.value);
    if (!list)
      return e.poison(arg.loc, "zip needs lists, not " + describe(arg.value));
    if (size >= 0 && size != (*list)->size())
      return e.poison(arg.loc, fmt::format("zip needs lists of one length, not {} and {}", size, (*list)->size()));
    size = (*list)->size();
    equalLayers &= (*list)->element.has_value();
    tuple->elements.push_back(arg.value);
  }
  auto zipped = std::make_shared<List>();
  if (equalLayers) {
    zipped->element = tuple;
    zipped->count = size;
    zipped->indexed = true;
    return zipped;
  }
  if (size > 0 && !e.countSteps(loc, size))
    return Poison{};
  for (int64_t i = 0; i < size; ++i) {
    auto row = std::make_shared<Tuple>();
    for (const Value &list : tuple->elements)
      row->elements.push_back(e.elementAt(*std::get<std::shared_ptr<List>>(list), i));
    zipped->elements.push_back(row);
  }
  return zipped;
}

template <Shift direction> Value runShift(Evaluator &e, Args &args, Loc loc) {
  const std::string function = direction == Shift::delay ? "delay" : "advance";
  mlir::Value x = e.asTensor(args[0].value, args[0].loc, "the argument of " + function);
  auto *name = getIf<DimName>(args[1].value);
  auto *size = getIf<int64_t>(args[1].value);
  if (x && !name && !size)
    return e.poison(args[1].loc, function + " needs a dimension, not " + describe(args[1].value));
  if (!x)
    return Poison{};
  return shift(e, x, name ? DimSize{mlir::ShapedType::kDynamic, name->name} : DimSize{*size, ""}, direction, loc);
}

Value runLinear(Evaluator &e, Args &args, Loc loc) {
  mlir::Value x = e.asTensor(args[0].value, args[0].loc, "the input of linear");
  mlir::Value weight = e.asTensor(args[1].value, args[1].loc, "the weight of linear");
  bool biased = !holds<None>(args[2].value);
  mlir::Value bias = biased ? e.asTensor(args[2].value, args[2].loc, "the bias of linear") : mlir::Value();
  return x && weight && (bias || !biased) ? e.tensors.linear(x, weight, bias, loc) : Value(Poison{});
}

Builtin unary(llvm::StringRef name) {
  return {name, [name](Evaluator &e, Args &args, Loc loc) { return e.unary(name, args[0].value, loc); }, {"x"}};
}
Builtin binary(llvm::StringRef name) {
  return {name, [name](Evaluator &e, Args &args, Loc loc) { return e.binary(name, args[0].value, args[1].value, loc); }, {"a", "b"}};
}
Builtin statistic(llvm::StringRef name, mlir::xf::ReduceKind kind) {
  return {name, [name, kind](Evaluator &e, Args &args, Loc loc) { return reduce(e, args[0], loc, name, kind); }, {"x"}};
}

std::vector<Builtin> makeBuiltins() {
  std::vector<Builtin> builtins = {unary("int"),
                                   unary("float"),
                                   binary("min"),
                                   binary("max"),
                                   binary("div"),
                                   statistic("rowsum", mlir::xf::ReduceKind::sum),
                                   statistic("rowmax", mlir::xf::ReduceKind::max),
                                   {"where", runWhere, {"condition", "a", "b"}},
                                   {"even", runEven, {"x"}},
                                   {"positions", runPositions, {"dimension"}, {"offset"}},
                                   {"size", runSize, {"x"}, {"axis"}},
                                   {"len", runLen, {"list"}},
                                   {"range", runRange, {"begin"}, {"end"}},
                                   {"zip", runZip},
                                   {"delay", runShift<Shift::delay>, {"x", "along"}},
                                   {"advance", runShift<Shift::advance>, {"x", "along"}},
                                   {"linear", runLinear, {"x", "weight"}, {"bias"}},
                                   {"attend", attend, {"q", "k", "v"}, {"mask", "bias", "scale", "fill", "score"}}};
  for (const RealFunction &function : realFunctions())
    builtins.push_back(unary(function.name));
  return builtins;
}
} // namespace

const Builtin *xf::frontend::findBuiltin(llvm::StringRef name) {
  static const std::vector<Builtin> builtins = makeBuiltins();
  auto found = llvm::find_if(builtins, [&](const Builtin &builtin) { return builtin.name == name; });
  return found == builtins.end() ? findShapeBuiltin(name) : &*found;
}
