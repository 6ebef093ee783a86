#include "compiler/Frontend/Attention.h"

#include "compiler/Frontend/Evaluator.h"
#include "compiler/Frontend/Hoist.h"
#include "compiler/Frontend/Masks.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/SaveAndRestore.h"
#include <cmath>
#include <fmt/format.h>

using namespace xf::frontend;

namespace {
constexpr llvm::StringLiteral kPositions[] = {"b", "h", "i", "j", "s"};

/// The regions of an attention.
enum RegionKind : unsigned { kMasks, kBiases, kScores, kRegionCount };
constexpr llvm::StringLiteral kRegionNames[] = {"mask", "bias", "score"};

/// Writes the value of a mask, a bias or a score at the positions (b, h, i, j), and of the score s so far, as code in a region of the attention.
class TermWriter {
public:
  TermWriter(Evaluator &e, llvm::ArrayRef<Scalar> positions, RegionKind kind, Loc loc) : e(e), positions(positions), kind(kind), loc(loc) {}

  /// Null after an error.
  mlir::Value write(const Value &value) {
    if (auto *tensor = getIf<Tensor>(value))
      return readTensor(*tensor);
    auto *term = getIf<std::shared_ptr<Term>>(value);
    if (!term)
      return {};
    return (*term)->kind == Term::Leaf ? callFunction(**term) : join(**term);
  }

private:
  mlir::Type type() { return kind == kMasks ? e.builder.getI1Type() : mlir::Type(e.builder.getF32Type()); }

  /// Reads an element of [Q, K], [B, Q, K] or [B, H, Q, K]; a dimension of size 1 is broadcast.
  mlir::Value readTensor(const Tensor &tensor) {
    auto type = tensor.type();
    if (kind == kMasks && type.getElementType().isF32()) {
      e.error(loc, "'&', '|' and '!' join masks, not numbers; " + describe(Tensor{tensor.value}) + " is a bias");
      e.noteValue(tensor.value, "the tensor");
      return {};
    }
    int64_t rank = type.getRank();
    llvm::SmallVector<unsigned> axes = {2, 3};
    if (rank >= 3)
      axes.insert(axes.begin(), 0);
    if (rank == 4)
      axes.insert(axes.begin() + 1, 1);
    bool fits = rank >= 2 && rank <= 4;
    llvm::SmallVector<mlir::Value> indices;
    for (int64_t d = 0; fits && d < rank; ++d) {
      DimSize dim = dimOf(type, d);
      const Scalar &position = positions[axes[d]];
      fits = dim.size == 1 || dim == *position.range;
      indices.push_back(dim.size == 1 ? e.scalars.convert(int64_t(0), e.builder.getIndexType(), loc) : position.value);
    }
    if (!fits) {
      e.error(loc, fmt::format("the {} {} does not fit the attention's [{}, {}, {}, {}]", kRegionNames[kind].str(), mlir::xf::describeShape(type),
                               positions[0].range->str(), positions[1].range->str(), positions[2].range->str(), positions[3].range->str()));
      e.noteValue(tensor.value, "the shape");
      return {};
    }
    mlir::Value element = mlir::xf::AtOp::create(e.builder, e.at(loc), type.getElementType(), tensor.value, indices);
    return e.scalars.convert(element, this->type(), loc);
  }

  mlir::Value join(const Term &term) {
    llvm::SmallVector<mlir::Value> parts;
    for (const Value &operand : term.operands) {
      parts.push_back(write(operand));
      if (!parts.back())
        return {};
    }
    if (term.kind == Term::Not)
      return e.scalars.unary("!", parts[0], loc);
    return e.scalars.binary(term.kind == Term::And ? "&" : "|", parts[0], parts[1], loc);
  }

  mlir::Value callFunction(const Term &term) {
    bool isInline = term.lambda && term.loc == loc;
    e.calls.push_back({loc, /*isInside=*/!isInline});
    llvm::scope_exit leave([&] { e.calls.pop_back(); });
    auto local = std::make_shared<Scope>();
    local->parent = term.scope;
    for (const Param &param : *term.indices) {
      size_t index = llvm::find(kPositions, param.name) - kPositions;
      if (index >= positions.size()) {
        e.error(param.loc, "'" + param.name + "' is no position of a " + kRegionNames[kind].str() +
                               "; they are b (batch), h (head), i (query) and j (key)" +
                               (kind == kScores ? "; the score itself is s, as in (s) -> " + term.name + "(s)" : ""));
        return {};
      }
      local->set(param.name, positions[index], param.loc);
    }
    Value result = term.lambda           ? e.eval(*term.lambda->operands[0], local)
                   : term.function->expr ? e.eval(*term.function->expr, local)
                                         : e.exec(term.function->body, local).value_or(Value(None{}));
    if (isPoison(result))
      return {};
    auto operand = operandOf(result);
    bool boolean = holds<bool>(result) || (holds<Scalar>(result) && std::get<Scalar>(result).value.getType().isInteger(1));
    if (!operand || (kind == kMasks && !boolean)) {
      e.error(term.loc, term.name + " must give " + (kind == kMasks ? "true or false" : "a number") + " for each position, not " + describe(result));
      return {};
    }
    return e.scalars.convert(*operand, type(), loc);
  }

  Evaluator &e;
  llvm::ArrayRef<Scalar> positions;
  RegionKind kind;
  Loc loc;
};

/// Checks the arguments of attend(…), and builds the operation.
class AttendWriter {
public:
  AttendWriter(Evaluator &e, const Args &args, Loc loc) : e(e), args(args), loc(loc) {}

  Value run() {
    if (!readTensors() || !readConstant(kScale, scale) || !readConstant(kFill, fill) || !classifyTerm(kMask) || !classifyTerm(kBias) || !readScore())
      return Poison{};
    broadcastBatch();
    return checkShapes() ? build() : Poison{};
  }

private:
  enum Parameter : unsigned { kQ, kK, kV, kMask, kBias, kScale, kFill, kScore };

  bool readTensors() {
    for (unsigned i : {kQ, kK, kV}) {
      qkv[i] = e.asTensor(args[i].value, args[i].loc, "'" + args[i].name + "' of attend");
      if (!qkv[i])
        return false;
      if (type(i).getRank() != 4 || !type(i).getElementType().isF32()) {
        e.error(args[i].loc, "attend needs [batch, heads, positions, width], not " + describe(Tensor{qkv[i]}) + "; split(x, heads) makes it");
        e.noteValue(qkv[i], "the shape");
        return false;
      }
    }
    scale = 1 / std::sqrt(static_cast<double>(type(kQ).getDimSize(3)));
    return true;
  }

  /// Repeats queries, keys and values that are the same for all sentences for each of them.
  void broadcastBatch() {
    DimSize batch = {1, ""};
    auto update = [&](mlir::Value tensor) {
      if (batch.size == 1)
        batch = dimOf(typeOf(tensor), 0);
    };
    llvm::for_each(qkv, update);
    for (RegionKind kind : {kMasks, kBiases})
      for (const Value &term : terms[kind])
        forEachTensor(term, [&](mlir::Value tensor) {
          if (typeOf(tensor).getRank() > 2)
            update(tensor);
        });
    for (unsigned i : {kQ, kK, kV})
      if (dimOf(type(i), 0).size == 1 && batch.size != 1)
        qkv[i] = e.tensors.expand(qkv[i], 0, batch, args[i].loc);
  }

  static void forEachTensor(const Value &value, llvm::function_ref<void(mlir::Value)> visit) {
    if (auto *tensor = getIf<Tensor>(value))
      visit(tensor->value);
    else if (auto *term = getIf<std::shared_ptr<Term>>(value))
      for (const Value &operand : (*term)->operands)
        forEachTensor(operand, visit);
  }

  bool checkShapes() {
    auto q = type(kQ), k = type(kK), v = type(kV);
    if (!mlir::xf::sameDim(q, 0, k, 0))
      return mismatch(kQ, kK, "batch");
    if (!mlir::xf::sameDim(q, 3, k, 3))
      return mismatch(kQ, kK, "width");
    if (!mlir::xf::sameDim(k, 0, v, 0) || !mlir::xf::sameDim(k, 1, v, 1) || !mlir::xf::sameDim(k, 2, v, 2))
      return mismatch(kK, kV, "batch, heads or positions");
    if (q.isDynamicDim(1) || k.isDynamicDim(1) || q.getDimSize(1) % k.getDimSize(1) != 0)
      return mismatch(kQ, kK, "heads");
    if (!q.isDynamicDim(3) && !v.isDynamicDim(3))
      return true;
    e.error(args[kQ].loc, "the width of attend's queries and values must be known when compiling");
    return false;
  }

  bool mismatch(unsigned a, unsigned b, llvm::StringRef what) {
    e.error(args[b].loc, fmt::format("{} {} and {} {} of attend differ in their {}", args[a].name, mlir::xf::describeShape(type(a)), args[b].name,
                                     mlir::xf::describeShape(type(b)), what.str()));
    e.noteValue(qkv[a], args[a].name);
    e.noteValue(qkv[b], args[b].name);
    return false;
  }

  bool readConstant(Parameter parameter, double &value) {
    if (holds<None>(args[parameter].value))
      return true;
    auto constant = e.asDouble(args[parameter].value, args[parameter].loc, "'" + args[parameter].name + "'");
    value = constant.value_or(value);
    return constant.has_value();
  }

  /// Adds an argument to the masks or the biases: a tensor of f32 is a bias. An input whose shape is not known yet counts as no mask.
  bool classifyTerm(Parameter parameter) {
    Value value = e.force(args[parameter].value, args[parameter].loc);
    if (isPoison(value))
      return false;
    if (holds<None>(value) || holds<LazyInput *>(value))
      return true;
    auto *tensor = getIf<Tensor>(value);
    if (!tensor)
      value = asTerm(e, value, parameter == kBias, args[parameter].loc);
    if (isPoison(value))
      return false;
    bool additive = tensor ? tensor->type().getElementType().isF32() : (*getIf<std::shared_ptr<Term>>(value))->isBias;
    terms[additive ? kBiases : kMasks].push_back(value);
    return true;
  }

  /// Takes `score`: a function of the score, which may read positions, too.
  bool readScore() {
    Value value = e.force(args[kScore].value, args[kScore].loc);
    if (holds<None>(value) || isPoison(value))
      return !isPoison(value);
    if (!holds<std::shared_ptr<Closure>>(value)) {
      e.error(args[kScore].loc, "'score' of attend must be a function of the score s, as (s) -> tanh(s), not " + describe(value));
      return false;
    }
    terms[kScores].push_back(asTerm(e, value, /*isBias=*/false, args[kScore].loc));
    return true;
  }

  Value build() {
    mlir::OperationState state(e.at(loc), mlir::xf::AttendOp::getOperationName());
    mlir::Type context = mlir::xf::withDim(type(kQ), 3, type(kV).getDimSize(3), "");
    mlir::xf::AttendOp::build(e.builder, state, context, mlir::Type(), qkv[kQ], qkv[kK], qkv[kV], /*spans=*/mlir::Value(),
                              e.builder.getF64FloatAttr(scale), e.builder.getF64FloatAttr(fill));
    for (RegionKind kind : {kMasks, kBiases, kScores})
      if (!writeTerms(*state.regions[kind], kind))
        return Poison{};
    return Tensor{e.builder.create(state)->getResult(0)};
  }

  /// Writes the body that computes all masks, all biases, or the score.
  bool writeTerms(mlir::Region &region, RegionKind kind) {
    if (terms[kind].empty())
      return true;
    DimSize ranges[] = {dimOf(type(kQ), 0), dimOf(type(kQ), 1), dimOf(type(kQ), 2), dimOf(type(kK), 2)};
    mlir::Block &block = region.emplaceBlock();
    llvm::SmallVector<Scalar> positions;
    for (const DimSize &range : ranges)
      positions.push_back({block.addArgument(e.builder.getIndexType(), e.at(loc)), range});
    if (kind == kScores)
      positions.push_back({block.addArgument(e.builder.getF32Type(), e.at(loc)), std::nullopt});
    constexpr Parameter parameters[] = {kMask, kBias, kScore};
    if (!writeTotal(block, terms[kind], TermWriter(e, positions, kind, args[parameters[kind]].loc), kind == kBiases ? "+" : "&"))
      return false;
    hoistTensors(block, e.builder);
    return true;
  }

  bool writeTotal(mlir::Block &block, llvm::ArrayRef<Value> parts, TermWriter writer, llvm::StringRef op) {
    mlir::OpBuilder::InsertionGuard guard(e.builder);
    e.builder.setInsertionPointToEnd(&block);
    mlir::Value total;
    for (const Value &term : parts) {
      mlir::Value part = writer.write(term);
      if (!part)
        return false;
      total = total ? e.scalars.binary(op, total, part, loc) : part;
    }
    mlir::xf::YieldOp::create(e.builder, e.at(loc), total);
    return true;
  }

  mlir::RankedTensorType type(unsigned i) { return typeOf(qkv[i]); }

  Evaluator &e;
  const Args &args; // one for each Parameter
  Loc loc;
  mlir::Value qkv[3];
  double scale = 0, fill = -INFINITY;
  std::vector<Value> terms[kRegionCount];
};
} // namespace

Value xf::frontend::attend(Evaluator &e, Args &args, Loc loc) { return AttendWriter(e, args, loc).run(); }

std::optional<std::pair<mlir::Value, mlir::Value>> Probabilities::of(mlir::Value context, mlir::OpBuilder &builder) {
  auto op = context.getDefiningOp<mlir::xf::AttendOp>();
  if (!op)
    return std::nullopt;
  for (auto &[old, replacement] : replacements)
    if (old == op)
      op = replacement;
  if (!op.getProbabilities()) {
    auto q = typeOf(op.getQ()), k = typeOf(op.getK());
    mlir::Type type = mlir::xf::withDim(q, 3, k.getDimSize(2), mlir::xf::getDimName(k, 2));
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(op);
    auto replacement = mlir::xf::AttendOp::create(builder, op.getLoc(), context.getType(), type, op.getQ(), op.getK(), op.getV(), op.getSpans(),
                                                  op.getScaleAttr(), op.getFillAttr());
    replacement.getMask().takeBody(op.getMask());
    replacement.getBias().takeBody(op.getBias());
    replacement.getScore().takeBody(op.getScore());
    replacements.push_back({op, replacement});
    op = replacement;
  }
  return std::pair<mlir::Value, mlir::Value>{op.getOutput(), op.getProbabilities()};
}

void Probabilities::forget(mlir::Region &body) {
  llvm::erase_if(replacements, [&](auto &replacement) { return body.isAncestor(replacement.first->getParentRegion()); });
}

void Probabilities::replaceAll() {
  for (auto &[old, replacement] : replacements) {
    old.getOutput().replaceAllUsesWith(replacement.getOutput());
    old.erase();
  }
}
