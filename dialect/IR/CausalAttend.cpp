// Causality of attention: a proof that its mask lets no position read a later one, and its form for new positions.
#include "dialect/IR/Xf.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::xf;

namespace {
/// query * i + key * j + constant, i and j being the region's query and key positions.
struct Affine {
  int64_t query = 0, key = 0, constant = 0;
};

/// Kernels compute in 32 bits: with larger factors the sum may overflow at large positions.
std::optional<Affine> ifExact(Affine sum) {
  constexpr int64_t kMaxFactor = 32, kMaxConstant = 1 << 29; // positions are below 2^24
  auto isWithin = [](int64_t value, int64_t max) { return -max <= value && value <= max; };
  bool isExact = isWithin(sum.query, kMaxFactor) && isWithin(sum.key, kMaxFactor) && isWithin(sum.constant, kMaxConstant);
  return isExact ? std::optional(sum) : std::nullopt;
}

/// `value` as an exact affine sum, if it is one of at most `budget` operations.
std::optional<Affine> affine(Value value, Block &body, int64_t &budget) {
  if (value == body.getArgument(2))
    return Affine{1, 0, 0};
  if (value == body.getArgument(3))
    return Affine{0, 1, 0};
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return ifExact({0, 0, constant.getSExtValue()});
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op) || budget-- <= 0)
    return std::nullopt;
  // A narrower integer may not hold a position.
  if (!value.getType().isIndex() && value.getType().getIntOrFloatBitWidth() < 32)
    return std::nullopt;
  auto a = affine(op->getOperand(0), body, budget);
  if (!a || op->getNumOperands() == 1)
    return a;
  auto b = affine(op->getOperand(1), body, budget);
  if (!b)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return ifExact({a->query + b->query, a->key + b->key, a->constant + b->constant});
  if (isa<arith::SubIOp>(op))
    return ifExact({a->query - b->query, a->key - b->key, a->constant - b->constant});
  if (a->query || a->key)
    std::swap(a, b);
  if (a->query || a->key)
    return std::nullopt;
  return ifExact({a->constant * b->query, a->constant * b->key, a->constant * b->constant});
}

std::optional<Affine> affine(Value value, Block &body) {
  int64_t budget = 32; // an operand that is used many times is visited as often
  return affine(value, body, budget);
}

/// Whether `lhs - rhs < bound` (lhs and rhs being a comparison's operands) implies j <= i.
bool ordersKeys(Affine lhs, Affine rhs, int64_t bound) {
  int64_t key = lhs.key - rhs.key, query = lhs.query - rhs.query;
  // key * (j - i) < bound - constant, so j - i < 1.
  return key > 0 && query == -key && bound - (lhs.constant - rhs.constant) <= key;
}

bool comparisonOrdersKeys(arith::CmpIOp cmp, bool negated, Block &body) {
  auto lhs = affine(cmp.getLhs(), body), rhs = affine(cmp.getRhs(), body);
  if (!lhs || !rhs)
    return false;
  auto predicate = negated ? arith::invertPredicate(cmp.getPredicate()) : cmp.getPredicate();
  // Positions are never negative: sums without subtraction compare the same when unsigned.
  auto isNonNegative = [](Affine a) { return a.query >= 0 && a.key >= 0 && a.constant >= 0; };
  bool canCompareUnsigned = isNonNegative(*lhs) && isNonNegative(*rhs);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return ordersKeys(*lhs, *rhs, 1) || ordersKeys(*rhs, *lhs, 1);
  case arith::CmpIPredicate::slt:
    return ordersKeys(*lhs, *rhs, 0);
  case arith::CmpIPredicate::sle:
    return ordersKeys(*lhs, *rhs, 1);
  case arith::CmpIPredicate::sgt:
    return ordersKeys(*rhs, *lhs, 0);
  case arith::CmpIPredicate::sge:
    return ordersKeys(*rhs, *lhs, 1);
  case arith::CmpIPredicate::ult:
    return canCompareUnsigned && ordersKeys(*lhs, *rhs, 0);
  case arith::CmpIPredicate::ule:
    return canCompareUnsigned && ordersKeys(*lhs, *rhs, 1);
  case arith::CmpIPredicate::ugt:
    return canCompareUnsigned && ordersKeys(*rhs, *lhs, 0);
  case arith::CmpIPredicate::uge:
    return canCompareUnsigned && ordersKeys(*rhs, *lhs, 1);
  case arith::CmpIPredicate::ne:
    return false;
  }
  return false;
}

/// Whether `value` being true (false when negated) implies j <= i, looking at `budget` conditions at most.
bool ordersKeys(Value value, bool negated, Block &body, int64_t &budget) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.isZero() != negated;
  Operation *op = value.getDefiningOp();
  auto of = [&](unsigned i, bool negate) { return budget-- > 0 && ordersKeys(op->getOperand(i), negate, body, budget); };
  if (auto cmp = dyn_cast_or_null<arith::CmpIOp>(op))
    return comparisonOrdersKeys(cmp, negated, body);
  if (isa_and_nonnull<arith::AndIOp>(op))
    return negated ? of(0, true) && of(1, true) : of(0, false) || of(1, false);
  if (isa_and_nonnull<arith::OrIOp>(op))
    return negated ? of(0, true) || of(1, true) : of(0, false) && of(1, false);
  if (isa_and_nonnull<arith::XOrIOp>(op))
    for (unsigned i : {0, 1})
      if (matchPattern(op->getOperand(i), m_ConstantInt(&constant)))
        return of(1 - i, constant.isZero() ? negated : !negated);
  if (isa_and_nonnull<arith::SelectOp>(op)) // condition and first, or no condition and second
    return (of(0, false) || of(1, negated)) && (of(0, true) || of(2, negated));
  return false;
}

/// Which positions of the target a captured tensor is read at.
enum class Read { here, past, ahead };
} // namespace

static Read positionRead(AtOp at, unsigned axis, bool keysAreTarget, Block &body) {
  auto index = affine(at.getIndices()[axis], body);
  if (!index)
    return Read::ahead;
  if (index->query == 1 && index->key == 0 && index->constant <= 0)
    return index->constant == 0 ? Read::here : Read::past;
  // Only the keys up to i count: the mask says so.
  if (index->query == 0 && index->key == 1 && index->constant <= 0 && keysAreTarget)
    return Read::past;
  return Read::ahead;
}

Dependence AttendOp::getDependence(CausalityQuery &query) {
  Dependence dependence = query.join(*this);
  if (!isPerPosition(dependence))
    return dependence;
  bool keysAreTarget = isPerPosition(query.get(getK())) || isPerPosition(query.get(getV()));
  LookAhead reason{"this attention mixes target positions with its batch, heads or width"};
  for (Value value : {getQ(), getK(), getV()})
    if (isPerPosition(query.get(value)) && query.axis(value) != 2u)
      return query.whole(*this, reason);
  if (!isPerPosition(query.get(getQ()))) {
    reason.what = "this attention reads all target positions, but its queries are none";
    return query.whole(*this, reason);
  }
  if (keysAreTarget) {
    reason.what = "this attention lets a position read later ones";
    reason.notes.emplace_back(getK().getLoc(), "its keys are target positions, computed here");
    if (getMask().empty()) {
      reason.notes.emplace_back(getLoc(), "it has no mask; a causal one allows key j for position i where j <= i");
      return query.whole(*this, reason);
    }
    Value allowed = getMask().front().getTerminator()->getOperand(0);
    int64_t budget = 1000;
    if (!ordersKeys(allowed, false, getMask().front(), budget)) {
      reason.notes.emplace_back(allowed.getLoc(), "the mask lets position i read position j > i: nothing in it implies j <= i");
      return query.whole(*this, reason);
    }
    if (isFillAScore()) {
      reason.notes.emplace_back(getLoc(), "a score that is masked counts as 'fill', which is above -1e4: later positions take part with it");
      return query.whole(*this, reason);
    }
  }
  for (Region *region : {&getMask(), &getBias(), &getScore()})
    for (auto at : region->getOps<AtOp>())
      if (auto axis = query.axis(at.getTensor()); axis && isPerPosition(query.get(at.getTensor())))
        if (positionRead(at, *axis, keysAreTarget, region->front()) == Read::ahead) {
          reason = {"a mask, bias or score of this attention reads a target position that may be a later one", {}};
          reason.notes.emplace_back(at.getLoc(), "read here, neither at position i nor at key position j nor at a fixed distance before");
          return query.whole(*this, reason);
        }
  return keysAreTarget ? Dependence::prefix : dependence;
}

/// Clones a region for the step, whose query i is at position past + i of its row.
static void buildRegion(StepBuilder &step, Region &from, Region &to, bool keysAreTarget) {
  if (from.empty())
    return;
  Block &body = from.front();
  // First what the region reads from outside: this may add ops to the step's body.
  IRMapping mapping;
  llvm::DenseMap<Operation *, Value> tensors;
  auto isRead = [&](AtOp at) { return step.axis(at.getTensor().getType()) && isPerPosition(step.get(at.getTensor())); };
  for (Operation &op : body)
    if (auto at = dyn_cast<AtOp>(op); at && isRead(at)) {
      bool here = positionRead(at, *step.axis(at.getTensor().getType()), keysAreTarget, body) == Read::here;
      tensors[at] = here ? step.now(at.getTensor()) : step.history(at.getTensor());
    }
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(from, captured);
  for (Value value : captured)
    if (!step.axis(value.getType()))
      mapping.map(value, step.now(value));

  OpBuilder::InsertionGuard guard(step.builder);
  auto &b = step.builder;
  Block *block = b.createBlock(&to, to.end(), body.getArgumentTypes(), SmallVector<Location>(body.getNumArguments(), from.getLoc()));
  mapping.map(body.getArguments(), block->getArguments());
  Value row = block->getArgument(0), query = block->getArgument(2);
  Location loc = from.getLoc();
  auto rowPast = AtOp::create(b, loc, b.getI32Type(), step.past, row);
  auto past = arith::IndexCastOp::create(b, loc, b.getIndexType(), rowPast);
  auto position = arith::AddIOp::create(b, loc, past, query);
  mapping.map(body.getArgument(2), position.getResult());
  for (Operation &op : body) {
    auto at = dyn_cast<AtOp>(op);
    if (!at || !isRead(at)) {
      b.clone(op, mapping);
      continue;
    }
    unsigned axis = *step.axis(at.getTensor().getType());
    SmallVector<Value> indices;
    if (step.isPerRow(at.getTensor().getType()))
      indices.push_back(row);
    for (auto [i, index] : llvm::enumerate(at.getIndices()))
      indices.push_back(i == axis && positionRead(at, axis, keysAreTarget, body) == Read::here ? query : mapping.lookup(index));
    mapping.map(at.getResult(), AtOp::create(b, at.getLoc(), at.getType(), tensors[at], indices).getResult());
  }
  for (Operation *op : {position.getOperation(), past.getOperation(), rowPast.getOperation()})
    if (op->use_empty())
      op->erase();
}

LogicalResult AttendOp::buildStep(StepBuilder &step) {
  for (Value value : {getQ(), getK(), getV()})
    if (step.isPerRow(value.getType()))
      return emitError("the step cannot be derived from attention without a batch: ") << describeShape(cast<RankedTensorType>(value.getType()));
  bool keysAreTarget = isPerPosition(step.get(getK())) || isPerPosition(step.get(getV()));
  auto keys = [&](Value value, StateRole role) { return keysAreTarget ? step.history(value, role) : step.now(value, role); };
  Value q = step.now(getQ()), k = keys(getK(), StateRole::keys), v = keys(getV(), StateRole::values);
  Value probabilities = getProbabilities();
  if (probabilities && !step.isNeeded(probabilities))
    probabilities = {};
  auto attend = AttendOp::create(step.builder, getLoc(), step.stepType(getOutput().getType()),
                                 probabilities ? step.stepType(probabilities.getType()) : Type(), q, k, v,
                                 /*spans=*/Value(), getScaleAttr(), getFillAttr());
  OpBuilder::InsertionGuard guard(step.builder);
  step.builder.setInsertionPoint(attend);
  buildRegion(step, getMask(), attend.getMask(), keysAreTarget);
  buildRegion(step, getBias(), attend.getBias(), keysAreTarget);
  buildRegion(step, getScore(), attend.getScore(), keysAreTarget);
  step.bind(getOutput(), attend.getOutput());
  if (probabilities)
    step.bind(probabilities, attend.getProbabilities());
  return success();
}
