// Draws the tokens of a search's rows from their logits: as runtime/core/row_sample.cpp does, by the same operations in the same order.
//
// A block draws for a beam, either from the row's best tokens, which choose_logits has found, or from all. To draw from all it adds up the weights of
// 512 columns at a time, finds the 512 at which the running sum passes what was drawn, and among these the token.
#include "compiler/Target/GPU/ChooseKernel.h"
#include "compiler/Target/GPU/DeviceScalar.h"
#include "runtime/abi/xf_exp.h"
#include "runtime/abi/xf_mix.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace xf::gpu {
namespace {

constexpr int64_t kThreads = 128, kBlock = 512, kLanes = codegen::kLanes;

class Draw {
public:
  enum View : unsigned { logits, forbidden, classes, values, tokens, norms, sentences, draws, how, viewCount };

  Draw(GpuBuilder &b, int64_t columns)
      : b(b), i32(b.getI32Type()), i64(b.getI64Type()), f32(b.getF32Type()), f64(b.getF64Type()), columns(columns),
        blocks(llvm::divideCeil(columns, kBlock)) {}

  void emit() {
    Value beams = b.size(draws, 1), sentence = b.divide(b.block(), beams), beam = b.remainder(b.block(), beams);
    auto wordOf = [&](Value i) { return b.toI64(b.load(i32, b.at(b.data(sentences), b.add(b.mul(sentence, b.stride(sentences, 0)), i), i32))); };
    row = wordOf(b.add(beam, XF_ABI_SENTENCE_WORDS));
    top = b.load(f32, at(norms, row, b.i64(0), f32));
    // Nothing is drawn where there is nothing to choose from, or the maximum is NaN.
    Value isOpen = b.both(b.less(beam, wordOf(b.i64(XF_ABI_OPEN))), compare(b, arith::CmpFPredicate::OGT, top, noLogit(b)));
    b.ifThen(isOpen, [&] {
      temperature = b.load(f64, b.data(how));
      share = b.load(f64, b.at(b.data(how), 1, f64));
      Value few = b.load(i64, b.at(b.data(how), 2, i64));
      leastDistance = b.create<arith::TruncFOp>(f32, b.load(f64, b.at(b.data(how), 3, f64)));
      Value seed = b.load(i64, at(draws, sentence, b.i64(0), i64));
      uniform = uniformOf(mix(mix(seed, wordOf(b.i64(XF_ABI_PRODUCED))), beam));
      b.ifElse(b.less(b.i64(0), few), [&] { drawOfFew(few); }, [&] { drawOfAll(); });
    });
  }

private:
  Value atLeast(Value x, Value y) { return compare(b, arith::CmpFPredicate::OGE, x, y); }
  Real real(Value value) { return {b, value}; }
  Value constant(double value) { return b.create<arith::ConstantOp>(b.getF64FloatAttr(value)); }
  Value at(View view, Value row, Value i, Type type) { return b.at(b.data(view), b.add(b.mul(row, b.stride(view, 0)), i), type); }
  Value get(Value shared, Value i, Type type) { return b.load(type, b.at(shared, i, type)); }
  void onOneThread(function_ref<void()> body) { b.ifThen(b.equal(b.thread(), b.i64(0)), body); }

  Value mix(Value seed, Value value) {
    return xf_mix(Word(b, seed), Word(b, value), [&](uint64_t literal) { return Word(b, b.i64(llvm::bit_cast<int64_t>(literal))); }).value;
  }
  Value uniformOf(Value bits) {
    Value fraction = b.create<arith::SIToFPOp>(f64, (Word(b, bits) >> kXfUniformShift).value);
    return (real(fraction) * real(constant(kXfUniformUnit))).value;
  }
  Value exp(Value x);
  Value shortExp(Value x);
  Value weightOf(Value logit);
  Value isNear(Value logit) { return atLeast((real(logit) - real(top)).value, leastDistance); }
  Value logitOf(Value column);
  void drawOfFew(Value count);
  void drawOfAll();
  Value sumOfBlock(Value block);
  void findBlock(Value sums, Value foundBlock, Value goal);
  void findToken(Value weights, Value first, Value goal);
  void store(Value logit, Value token) {
    b.store(logit, at(values, row, b.i64(0), f32));
    b.store(token, at(tokens, row, b.i64(0), i32));
  }

  GpuBuilder &b;
  Type i32, i64, f32, f64;
  int64_t columns, blocks;
  Value row, top, temperature, share, leastDistance, uniform;
};

/// e^x of f64.
Value Draw::exp(Value x) {
  auto literal = [&](double value) { return real(constant(value)); };
  Real shifted = real(x) * literal(kXfExpLog2e) + literal(kXfExpShift);
  Real part = xf_exp_of_parts(real(x), shifted - literal(kXfExpShift), literal);
  auto bits = [&](const Real &x) { return b.create<arith::BitcastOp>(i64, x.value); };
  Value result = b.create<arith::BitcastOp>(f64, b.add(bits(part), b.create<arith::ShLIOp>(bits(shifted), b.i64(52))));
  return select(b, atLeast(x, constant(kXfExpMin)), result, constant(0));
}

/// e^x of f32.
Value Draw::shortExp(Value x) {
  auto literal = [&](float value) { return real(b.f32(value)); };
  Real shifted = real(x) * literal(kXfShortExpLog2e) + literal(kXfShortExpShift);
  Real part = xf_short_exp_of_parts(real(x), shifted - literal(kXfShortExpShift), literal);
  auto bits = [&](const Real &x) { return b.create<arith::BitcastOp>(i32, x.value); };
  Value sum = b.create<arith::AddIOp>(bits(part), b.create<arith::ShLIOp>(bits(shifted), b.i32(23)));
  return select(b, compare(b, arith::CmpFPredicate::OGT, x, b.f32(kXfShortExpMin)), b.create<arith::BitcastOp>(f32, sum), b.f32(0));
}

/// The weight of a single token.
Value Draw::weightOf(Value logit) {
  auto wide = [&](Value x) { return real(b.create<arith::ExtFOp>(f64, x)); };
  return exp(((wide(logit) - wide(top)) / real(temperature)).value);
}

/// -inf where there is no column, or the row may not choose it.
Value Draw::logitOf(Value column) {
  Value existing = b.min(column, b.i64(columns - 1)), words = at(forbidden, loadIndex(b, classes, row), b.i64(0), i32);
  Value isFree = b.both(b.isNot(b.hasBit(words, existing)), b.less(column, b.i64(columns)));
  return select(b, isFree, b.load(f32, at(logits, row, existing, f32)), noLogit(b));
}

/// Draws from the `count` best.
void Draw::drawOfFew(Value count) {
  Value weights = b.shared(f64, XF_ABI_MAX_CHOSEN);
  b.ifThen(b.less(b.thread(), count), [&] {
    Value exists = b.less(b.i64(-1), b.toI64(b.load(i32, at(tokens, row, b.thread(), i32))));
    Value weight = weightOf(b.load(f32, at(values, row, b.thread(), f32)));
    b.store(select(b, exists, weight, constant(0)), b.at(weights, b.thread(), f64));
  });
  b.barrier();
  onOneThread([&] {
    auto add = [&](Value x, Value y) { return (real(x) + real(y)).value; };
    Value all = b.accumulate(b.i64(0), count, 1, constant(0), [&](Value i, Value before) { return add(before, get(weights, i, f64)); });
    Value least = (real(share) * real(all)).value;
    auto kept = b.loop(b.i64(0), count, 1, {constant(0), b.i64(0)}, [&](Value i, ValueRange before) {
      Value isKept = b.both(compare(b, arith::CmpFPredicate::OLT, before[0], least), isNear(b.load(f32, at(values, row, i, f32))));
      return SmallVector<Value>{select(b, isKept, add(before[0], get(weights, i, f64)), before[0]), select(b, isKept, b.add(i, 1), before[1])};
    });
    Value goal = (real(uniform) * real(kept[0])).value, last = b.sub(kept[1], 1);
    Value drawn = b.loop(b.i64(0), last, 1, {goal, b.i64(0)}, [&](Value i, ValueRange before) {
      Value left = (real(before[0]) - real(get(weights, i, f64))).value;
      Value passes = b.both(b.equal(before[1], i), atLeast(left, constant(0)));
      return SmallVector<Value>{left, select(b, passes, b.add(i, 1), before[1])};
    })[1];
    store(b.load(f32, at(values, row, drawn, f32)), b.load(i32, at(tokens, row, drawn, i32)));
  });
}

void Draw::drawOfAll() {
  Value sums = b.shared(f32, blocks), weights = b.shared(f64, kBlock), foundBlock = b.shared(i64, 1), goal = b.shared(f64, 1);
  constexpr int64_t kGroups = kThreads / kLanes;
  // All lanes of a warp take part in sums, whether or not their blocks exist.
  b.loop(b.i64(0), b.i64(blocks), kGroups, [&](Value first) {
    Value block = b.add(first, b.div(b.thread(), kLanes)), sum = sumOfBlock(block);
    Value stores = b.both(b.equal(b.rem(b.thread(), kLanes), b.i64(0)), b.less(block, b.i64(blocks)));
    b.ifThen(stores, [&] { b.store(sum, b.at(sums, block, f32)); });
  });
  b.barrier();
  onOneThread([&] { findBlock(sums, foundBlock, goal); });
  b.barrier();
  Value first = b.mul(get(foundBlock, b.i64(0), i64), kBlock);
  b.loop(b.thread(), b.i64(kBlock), kThreads, [&](Value i) {
    Value logit = logitOf(b.add(first, i));
    b.store(select(b, isNear(logit), weightOf(logit), constant(0)), b.at(weights, i, f64));
  });
  b.barrier();
  onOneThread([&] { findToken(weights, first, get(goal, b.i64(0), f64)); });
}

/// The sum of a block's weights: each of 16 lanes has every 16th column.
Value Draw::sumOfBlock(Value block) {
  Value scale = b.create<arith::TruncFOp>(f32, (real(constant(1)) / real(temperature)).value);
  Value begin = b.add(b.mul(block, kBlock), b.rem(b.thread(), kLanes));
  Value sum = b.accumulate(b.i64(0), b.i64(kBlock), kLanes, b.f32(0), [&](Value i, Value before) {
    Value logit = logitOf(b.add(begin, i));
    Value weight = shortExp(((real(logit) - real(top)) * real(scale)).value);
    return (real(before) + real(select(b, isNear(logit), weight, b.f32(0)))).value;
  });
  return b.reduceOver(mlir::xf::ReduceKind::sum, sum, kLanes);
}

/// Finds the block at which the running sum of the blocks' sums passes the drawn share of the total, and what is left of that share there.
void Draw::findBlock(Value sums, Value foundBlock, Value goal) {
  auto sumAt = [&](Value i) { return real(b.create<arith::ExtFOp>(f64, get(sums, i, f32))); };
  Value all = b.accumulate(b.i64(0), b.i64(blocks), 1, constant(0), [&](Value i, Value before) { return (real(before) + sumAt(i)).value; });
  auto found = b.loop(b.i64(0), b.i64(blocks - 1), 1, {(real(uniform) * real(all)).value, b.i64(0)}, [&](Value i, ValueRange before) {
    Real sum = sumAt(i);
    Value passes = b.both(b.equal(before[1], i), atLeast(before[0], sum.value));
    return SmallVector<Value>{select(b, passes, (real(before[0]) - sum).value, before[0]), select(b, passes, b.add(i, 1), before[1])};
  });
  b.store(found[0], goal);
  b.store(found[1], foundBlock);
}

/// What rounding leaves over belongs to the last token that has any weight; if the block has none, to the best one, which is stored already.
void Draw::findToken(Value weights, Value first, Value goal) {
  Value found = b.loop(b.i64(0), b.i64(kBlock), 1, {goal, b.i64(-1)}, [&](Value i, ValueRange before) {
    Value weight = get(weights, i, f64), isLeft = atLeast(before[0], constant(0));
    Value isThere = b.both(isLeft, compare(b, arith::CmpFPredicate::OGT, weight, constant(0)));
    return SmallVector<Value>{select(b, isLeft, (real(before[0]) - real(weight)).value, before[0]), select(b, isThere, i, before[1])};
  })[1];
  b.ifThen(b.less(b.i64(-1), found), [&] {
    Value token = b.add(first, found);
    store(logitOf(token), b.narrow(token));
  });
}

} // namespace

Kernel emitDraw(mlir::gpu::GPUModuleOp module, StringRef name, int64_t columns) {
  GpuBuilder b(module, name, Draw::viewCount, kThreads, module.getLoc());
  Draw(b, columns).emit();
  b.finish();
  return {Draw::viewCount, {{name.str(), kThreads, {{Draw::draws, 0}, {Draw::draws, 1}}, 1, 1, std::nullopt}}};
}

} // namespace xf::gpu
