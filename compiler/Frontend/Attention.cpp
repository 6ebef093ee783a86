// attend(…) and the masks and biases in it: functions of positions, tensors, and both joined.
#include "compiler/Frontend/Evaluator.h"
#include "compiler/Frontend/Hoist.h"

#include "llvm/Support/SaveAndRestore.h"
#include <cmath>
#include <fmt/format.h>

using namespace xf::frontend;

namespace {
mlir::RankedTensorType typeOf(mlir::Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()); }
constexpr llvm::StringLiteral kPositions[] = {"b", "h", "i", "j"};
} // namespace

/// A function of positions as a mask or bias.
Value Evaluator::asTerm(const Value &value, bool isBias, Loc loc) {
  auto *closure = getIf<std::shared_ptr<Closure>>(value);
  if (!closure) {
    if (holds<std::shared_ptr<Term>>(value) || isPoison(value))
      return value;
    return poison(loc, std::string(isBias ? "a bias" : "a mask") + " must be a function of positions or a tensor, not " + describe(value));
  }
  auto term = std::make_shared<Term>();
  term->isBias = isBias;
  term->loc = (*closure)->lambda ? (*closure)->lambda->loc : (*closure)->function->loc;
  term->name = (*closure)->name();
  term->indices = &(*closure)->params();
  term->function = (*closure)->function;
  term->lambda = (*closure)->lambda;
  term->scope = (*closure)->scope;
  return term;
}

/// The term's value at the positions (b, h, i, j), as code in a region of the attention.
mlir::Value Evaluator::evalTerm(const Value &value, llvm::ArrayRef<Scalar> positions, bool asBias, Loc loc) {
  if (auto *tensor = getIf<Tensor>(value)) {
    // [.., Q, K], aligned at the end: [Q, K], [B, Q, K] or [B, H, Q, K].
    auto type = tensor->type();
    int64_t rank = type.getRank();
    llvm::SmallVector<unsigned> which = {2, 3};
    if (rank >= 3)
      which.insert(which.begin(), 0);
    if (rank == 4)
      which.insert(which.begin() + 1, 1);
    bool fits = rank >= 2 && rank <= 4;
    llvm::SmallVector<mlir::Value> indices;
    for (int64_t d = 0; fits && d < rank; ++d) {
      DimSize dim = dimOf(type, d);
      const Scalar &position = positions[which[d]];
      fits = dim.size == 1 || dim == *position.range;
      indices.push_back(dim.size == 1 ? convert(int64_t(0), builder.getIndexType(), loc) : position.value);
    }
    if (!fits) {
      error(loc, fmt::format("the {} {} does not fit the attention's [{}, {}, {}, {}]", asBias ? "bias" : "mask", mlir::xf::describeShape(type),
                             positions[0].range->str(), positions[1].range->str(), positions[2].range->str(), positions[3].range->str()));
      noteValue(tensor->value, "the shape");
      return {};
    }
    mlir::Value element = mlir::xf::AtOp::create(builder, at(loc), type.getElementType(), tensor->value, indices);
    return convert(element, asBias ? builder.getF32Type() : mlir::Type(builder.getI1Type()), loc);
  }
  auto *pointer = getIf<std::shared_ptr<Term>>(value);
  if (!pointer)
    return {};
  const Term &term = **pointer;
  if (term.kind != Term::Leaf) {
    llvm::SmallVector<mlir::Value> parts;
    for (const Value &operand : term.operands) {
      parts.push_back(evalTerm(operand, positions, asBias, loc));
      if (!parts.back())
        return {};
    }
    if (term.kind == Term::Not)
      return emitUnary("!", parts[0], loc);
    return emitBinary(term.kind == Term::And ? "&" : "|", parts[0], parts[1], loc);
  }
  auto local = std::make_shared<Scope>();
  local->parent = term.scope;
  for (const Param &param : *term.indices) {
    auto *name = llvm::find(kPositions, param.name);
    if (name == std::end(kPositions)) {
      error(param.loc, "'" + param.name + "' is no position of a mask or bias; they are b (batch), h (head), i (query) and j (key)");
      return {};
    }
    local->set(param.name, positions[name - kPositions], param.loc);
  }
  calls.push_back(loc);
  Value result = term.lambda           ? eval(*term.lambda->operands[0], local)
                 : term.function->expr ? eval(*term.function->expr, local)
                                       : exec(term.function->body, local).value_or(Value(None{}));
  calls.pop_back();
  if (isPoison(result))
    return {};
  auto operand = scalarOperand(result);
  bool boolean = holds<bool>(result) || (holds<Scalar>(result) && std::get<Scalar>(result).value.getType().isInteger(1));
  if (!operand || (!asBias && !boolean)) {
    error(term.loc, term.name + " must give " + (asBias ? "a number" : "true or false") + " for each position, not " + describe(result));
    return {};
  }
  return convert(*operand, asBias ? builder.getF32Type() : mlir::Type(builder.getI1Type()), loc);
}

Value Evaluator::attend(Args &args, Loc loc) {
  static const std::vector<std::string> names = {"q", "k", "v", "mask", "bias", "scale", "fill"};
  std::vector<Value> values(names.size(), None{});
  std::vector<Loc> places(names.size(), loc);
  for (size_t i = 0; i < args.size(); ++i) {
    size_t at = args[i].name.empty() ? i : llvm::find(names, args[i].name) - names.begin();
    if (at >= names.size())
      return poison(args[i].loc, args[i].name.empty() ? "attend has too many arguments" : "attend has no parameter '" + args[i].name + "'");
    values[at] = args[i].value;
    places[at] = args[i].loc;
  }
  mlir::Value qkv[3];
  for (unsigned i = 0; i < 3; ++i) {
    qkv[i] = asTensor(values[i], places[i], "'" + names[i] + "' of attend");
    if (!qkv[i])
      return Poison{};
    if (typeOf(qkv[i]).getRank() != 4 || !typeOf(qkv[i]).getElementType().isF32()) {
      error(places[i], "attend needs [batch, heads, positions, width], not " + describe(Tensor{qkv[i]}) + "; split(x, heads) makes it");
      noteValue(qkv[i], "the shape");
      return Poison{};
    }
  }
  auto q = typeOf(qkv[0]), k = typeOf(qkv[1]), v = typeOf(qkv[2]);
  auto differ = [&](unsigned a, unsigned b, llvm::StringRef what) {
    error(places[b], fmt::format("{} {} and {} {} of attend differ in their {}", names[a], mlir::xf::describeShape(typeOf(qkv[a])), names[b],
                                 mlir::xf::describeShape(typeOf(qkv[b])), what.str()));
    noteValue(qkv[a], names[a]);
    noteValue(qkv[b], names[b]);
    return Poison{};
  };
  if (!mlir::xf::sameDim(q, 0, k, 0))
    return differ(0, 1, "batch");
  if (!mlir::xf::sameDim(q, 3, k, 3))
    return differ(0, 1, "width");
  if (!mlir::xf::sameDim(k, 0, v, 0) || !mlir::xf::sameDim(k, 1, v, 1) || !mlir::xf::sameDim(k, 2, v, 2))
    return differ(1, 2, "batch, heads or positions");
  if (q.isDynamicDim(1) || k.isDynamicDim(1) || q.getDimSize(1) % k.getDimSize(1) != 0)
    return differ(0, 1, "heads");
  if (q.isDynamicDim(3) || v.isDynamicDim(3))
    return poison(places[0], "the width of attend's queries and values must be known when compiling");

  double scale = 1 / std::sqrt(static_cast<double>(q.getDimSize(3))), fill = -INFINITY;
  for (auto [at, number] : {std::pair{5, &scale}, std::pair{6, &fill}}) {
    if (holds<None>(values[at]))
      continue;
    auto known = asNumber(values[at], places[at], "'" + names[at] + "'");
    if (!known)
      return Poison{};
    *number = *known;
  }
  // An input without a shape that serves as a mask is none; an additive tensor is a bias.
  std::vector<Value> masks, biases;
  for (unsigned at : {3u, 4u}) {
    Value value = force(values[at], places[at]);
    if (isPoison(value))
      return value;
    if (holds<None>(value) || holds<LazyInput *>(value))
      continue;
    auto *tensor = getIf<Tensor>(value);
    if (!tensor)
      value = asTerm(value, at == 4, places[at]);
    if (isPoison(value))
      return value;
    auto *term = getIf<std::shared_ptr<Term>>(value);
    bool additive = tensor ? tensor->type().getElementType().isF32() : (*term)->isBias;
    (additive ? biases : masks).push_back(value);
  }
  mlir::OperationState state(at(loc), mlir::xf::AttendOp::getOperationName());
  mlir::Type context = mlir::xf::withDim(q, 3, v.getDimSize(3), "");
  mlir::xf::AttendOp::build(builder, state, context, mlir::Type(), qkv[0], qkv[1], qkv[2], builder.getF64FloatAttr(scale),
                            builder.getF64FloatAttr(fill));
  DimSize ranges[] = {dimOf(q, 0), dimOf(q, 1), dimOf(q, 2), dimOf(k, 2)};
  for (bool bias : {false, true}) {
    const std::vector<Value> &terms = bias ? biases : masks;
    if (terms.empty())
      continue;
    mlir::Block &block = state.regions[bias]->emplaceBlock();
    llvm::SmallVector<Scalar> positions;
    for (const DimSize &range : ranges)
      positions.push_back({block.addArgument(builder.getIndexType(), at(loc)), range});
    {
      mlir::OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(&block);
      mlir::Value total;
      for (const Value &term : terms) {
        mlir::Value part = evalTerm(term, positions, bias, places[bias ? 4 : 3]);
        if (!part)
          return Poison{};
        total = total ? emitBinary(bias ? "+" : "&", total, part, loc) : part;
      }
      mlir::xf::YieldOp::create(builder, at(loc), total);
    }
    hoistTensors(block, builder);
  }
  return Tensor{builder.create(state)->getResult(0)};
}

/// The same attention with its probabilities as a second result; nothing if the value is no attention's.
mlir::Value Evaluator::withProbabilities(mlir::Value context, mlir::Value &probabilities) {
  auto op = context.getDefiningOp<mlir::xf::AttendOp>();
  if (!op)
    return {};
  for (auto &[old, twin] : replaced)
    if (old == op)
      op = twin;
  if (!op.getProbabilities()) {
    auto q = typeOf(op.getQ()), k = typeOf(op.getK());
    mlir::Type type = mlir::xf::withDim(q, 3, k.getDimSize(2), mlir::xf::getDimName(k, 2));
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(op);
    auto twin = mlir::xf::AttendOp::create(builder, op.getLoc(), context.getType(), type, op.getQ(), op.getK(), op.getV(),
                                           op.getScaleAttr(), op.getFillAttr());
    twin.getMask().takeBody(op.getMask());
    twin.getBias().takeBody(op.getBias());
    // Values that scopes hold refer to the first operation, so it stays until it is unused.
    replaced.push_back({op, twin});
    probabilities = twin.getProbabilities();
    return twin.getOutput();
  }
  probabilities = op.getProbabilities();
  return op.getOutput();
}
