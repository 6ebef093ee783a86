#include "compiler/Target/AttendMask.h"

#include "compiler/Target/RegionVectorizer.h"
#include "dialect/IR/Producers.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace xf::codegen {

bool dependsOn(Value value, Value source) {
  return !mlir::xf::holdsForAll(value, [&](Value part, llvm::SetVector<Value> &next) {
    Operation *producer = part.getDefiningOp();
    if (producer && producer->getParentRegion() == source.getParentRegion())
      next.insert(producer->operand_begin(), producer->operand_end());
    return part != source;
  });
}

/// Of a sum that is analysed; what people write has two or three.
static constexpr int64_t kMaxTerms = 64;

/// Adds factor * value, taken apart into `room` terms at most. Sizes are far from overflow, so casts between integers keep values if
/// these have bits enough for any position.
static void addLinear(LinearForm &sum, Value value, int64_t factor, int64_t &room) {
  llvm::APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    sum.constant += factor * constant.getSExtValue();
    return;
  }
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op) && room-- > 0) {
    addLinear(sum, op->getOperand(0), factor, room);
    addLinear(sum, op->getOperand(1), isa<arith::AddIOp>(op) ? factor : -factor, room);
    return;
  }
  auto isWide = [](Type type) { return type.isIndex() || type.getIntOrFloatBitWidth() >= 32; };
  if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(op) && isWide(op->getOperand(0).getType()) && isWide(value.getType()))
    return addLinear(sum, op->getOperand(0), factor, room);
  for (auto &[known, factorOfKnown] : sum.terms)
    if (known == value) {
      factorOfKnown += factor;
      return;
    }
  sum.terms.push_back({value, factor});
}

bool follows(Value index, Value source) {
  LinearForm sum;
  int64_t room = kMaxTerms, factor = 0;
  addLinear(sum, index, 1, room);
  for (auto [value, factorOfValue] : sum.terms) {
    if (value == source)
      factor += factorOfValue;
    else if (dependsOn(value, source))
      return false;
  }
  return factor == 1;
}

namespace {

/// A bound of the position of a key that is allowed.
struct Bound {
  bool isEnd; // the position is less than the limit; else it is the limit at least
  LinearForm limit;
};

/// A comparison as sign * (left - right) < slack.
struct Inequality {
  int64_t sign, slack;
};

} // namespace

static std::optional<Inequality> inequalityOf(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::sle:
    return Inequality{1, 1};
  case arith::CmpIPredicate::slt:
    return Inequality{1, 0};
  case arith::CmpIPredicate::sge:
    return Inequality{-1, 1};
  case arith::CmpIPredicate::sgt:
    return Inequality{-1, 0};
  default:
    return std::nullopt;
  }
}

/// The bound that `compare` sets to the key's position, if it is one that does not depend on the key.
static std::optional<Bound> findBound(arith::CmpIOp compare, Value key) {
  auto inequality = inequalityOf(compare.getPredicate());
  if (!inequality)
    return std::nullopt;
  auto [sign, slack] = *inequality;
  // The key comes with the factor 1 (an end), or -1.
  LinearForm difference;
  int64_t room = kMaxTerms;
  addLinear(difference, compare.getLhs(), sign, room);
  addLinear(difference, compare.getRhs(), -sign, room);
  int64_t factorOfKey = 0;
  for (auto [value, factor] : difference.terms)
    if (value == key)
      factorOfKey = factor;
  if (factorOfKey != 1 && factorOfKey != -1)
    return std::nullopt;
  Bound bound{factorOfKey == 1, {}};
  bound.limit.constant = factorOfKey * (slack - difference.constant) + (bound.isEnd ? 0 : 1);
  for (auto [value, factor] : difference.terms) {
    if (value == key || factor == 0)
      continue;
    if (dependsOn(value, key))
      return std::nullopt;
    bound.limit.terms.push_back({value, -factorOfKey * factor});
  }
  return bound;
}

void AttendMask::split(Value condition, Value key) {
  if (!seen.insert(condition).second)
    return;
  if (auto conjunction = condition.getDefiningOp<arith::AndIOp>()) {
    split(conjunction.getLhs(), key);
    split(conjunction.getRhs(), key);
    return;
  }
  auto choice = condition.getDefiningOp<arith::SelectOp>();
  if (choice && matchPattern(choice.getFalseValue(), m_Zero())) {
    split(choice.getCondition(), key);
    split(choice.getTrueValue(), key);
    return;
  }
  if (matchPattern(condition, m_One()))
    return;
  if (auto compare = condition.getDefiningOp<arith::CmpIOp>())
    if (auto bound = findBound(compare, key)) {
      (bound->isEnd ? ends : begins).push_back(bound->limit);
      if (bound->isEnd)
        return;
    }
  (dependsOn(condition, key) ? keyTerms : rowTerms).push_back(condition);
}

Value yieldOf(Region &region) { return region.front().getTerminator()->getOperand(0); }

bool mayLackKeys(mlir::xf::AttendOp op) { return !op.isFillAScore() && !(op.getMask().empty() && op.getBias().empty() && op.getScore().empty()); }

AttendMask::AttendMask(Region &region) {
  if (region.empty())
    return;
  split(yieldOf(region), region.getArgument(3));
  sentenceTerms = llvm::filter_to_vector(
      keyTerms, [&](Value term) { return !dependsOn(term, region.getArgument(1)) && !dependsOn(term, region.getArgument(2)); });
}

static Value emitSum(CodeBuilder &b, RegionVectorizer &region, const LinearForm &form) {
  Value sum = b.i64(form.constant);
  for (auto [value, factor] : form.terms)
    sum = b.add(sum, b.mul(b.toI64(region.emit(value)), factor));
  return sum;
}

Value emitEnd(CodeBuilder &b, RegionVectorizer &region, const AttendMask &mask, Value keys) {
  Value end = keys;
  for (const LinearForm &form : mask.ends)
    end = b.min(end, emitSum(b, region, form));
  if (!mask.ends.empty())
    end = b.max(end, b.i64(0));
  for (Value term : mask.rowTerms)
    end = b.create<arith::SelectOp>(region.emit(term), end, b.i64(0));
  return end;
}

Value emitBegin(CodeBuilder &b, RegionVectorizer &region, const AttendMask &mask) {
  Value begin = b.i64(0);
  for (const LinearForm &form : mask.begins)
    begin = b.max(begin, emitSum(b, region, form));
  return begin;
}

} // namespace xf::codegen
