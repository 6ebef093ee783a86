// What a search does between two steps, for all sentences: which beams go on, where their rows lie, and what the next step is
// given. It decides as runtime/core/beam.cpp does, by the same operations in the same order.
//
// A block takes a sentence. Its threads find each pair's rank among all by counting those before it; then one thread decides, as
// the decisions depend on each other and are few; then a thread for each beam finds the beam's row and writes the next step's inputs.
#include "compiler/Target/GPU/DeviceScalar.h"
#include "runtime/abi/xf_log.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace xf::gpu {
namespace {

constexpr int64_t kThreads = 128, kMaxBeams = XF_ABI_MAX_ADVANCED_BEAMS, kMaxPairs = 2 * kMaxBeams * kMaxBeams;

class Advance {
public:
  enum View : unsigned { values, chosen, norms, options, sums, sentences, tokens, past, classes, moves, pairSums, decided, endBits, viewCount };

  explicit Advance(GpuBuilder &b) : b(b), i32(b.getI32Type()), i64(b.getI64Type()), f64(b.getF64Type()), sentence(b.block()), beams(b.size(sums, 1)) {
    auto words = [&](int64_t count) { return b.shared(i64, count); };
    unsortedSums = b.shared(f64, kMaxPairs), unsortedKeys = words(kMaxPairs);
    sortedSums = b.shared(f64, 2 * kMaxBeams), sortedKeys = words(2 * kMaxBeams), sortedEnds = words(2 * kMaxBeams);
    rows = words(kMaxBeams), isNaN = words(kMaxBeams), parents = words(kMaxBeams), chosenTokens = words(kMaxBeams);
    stays = words(kMaxBeams), isKept = words(kMaxBeams), decisions = words(decisionCount);
  }

  void emit() {
    b.ifThen(b.equal(wordOf(XF_ABI_DONE), b.i64(0)), [&] {
      readPairs();
      b.barrier();
      sortPairs();
      b.barrier();
      record();
      b.ifThen(b.equal(b.thread(), b.i64(0)), [&] { decide(); });
      b.barrier();
      forBeams([&](Value beam) { findKept(beam); });
      b.barrier();
      forBeams([&](Value beam) { assignRow(beam); });
    });
  }

private:
  enum Decision : int64_t { next, done, nextClass, positions, decisionCount };

  Value i64Of(Value condition) { return b.create<arith::ExtUIOp>(i64, condition); }
  Value select(Value condition, Value x, Value y) { return b.create<arith::SelectOp>(condition, x, y); }
  Value real(double value) { return b.create<arith::ConstantOp>(b.getF64FloatAttr(value)); }
  Value isGreater(Value x, Value y) { return b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, x, y); }
  Value isSame(Value x, Value y) { return b.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x, y); }

  // Elements of shared memory, and of the sentence's row of a view.
  Value get(Value shared, Value i, Type type) { return b.load(type, b.at(shared, i, type)); }
  Value get(Value shared, Value i) { return get(shared, i, i64); }
  void put(Value value, Value shared, Value i) { b.store(value, b.at(shared, i, value.getType())); }
  Value own(View view, Value i, Type type) { return b.at(b.data(view), b.add(b.mul(sentence, b.stride(view, 0)), i), type); }
  Value wordOf(int64_t i) { return b.toI64(b.load(i32, own(sentences, b.i64(i), i32))); }
  void setWord(int64_t i, Value value) { b.store(b.narrow(value), own(sentences, b.i64(i), i32)); }
  // Elements of the rows of a view that has one for each row of the step.
  Value at(View view, Value row, Value i, Type type) { return b.at(b.data(view), b.add(b.mul(row, b.stride(view, 0)), i), type); }

  void forBeams(function_ref<void(Value)> body) {
    b.ifThen(b.less(b.thread(), beams), [&] { body(b.thread()); });
  }

  // Keys order pairs of equal sums: a beam and a token; -1: no pair.
  Value keyOf(Value beam, Value token) { return b.create<arith::OrIOp>(b.create<arith::ShLIOp>(beam, b.i64(32)), token); }
  Value beamOf(Value key) { return b.create<arith::ShRSIOp>(key, b.i64(32)); }
  Value tokenOf(Value key) { return b.create<arith::AndIOp>(key, b.i64(0xffffffff)); }

  Value optionWord(int64_t i) { return b.toI64(b.load(i32, b.at(b.data(options), i, i32))); }
  Value logOf(Value x);
  void readPairs();
  void sortPairs();
  void record();
  void decide();
  void findKept(Value beam);
  void assignRow(Value beam);

  GpuBuilder &b;
  Type i32, i64, f64;
  Value sentence, beams;
  // [open beams * candidates], and what follows: [2 * beams], [beams].
  Value unsortedSums, unsortedKeys, sortedSums, sortedKeys, sortedEnds;
  Value rows, isNaN, parents, chosenTokens, stays, isKept, decisions;
  Value pairs, apart; // how many there are, and whether beams go on by themselves
};

/// The natural logarithm of a positive f64.
Value Advance::logOf(Value x) {
  Value bits = b.create<arith::BitcastOp>(i64, x);
  Value exponent = b.create<arith::ShRSIOp>(b.sub(bits, kXfLogSqrtHalf), b.i64(52));
  Value fraction = b.create<arith::BitcastOp>(f64, b.sub(bits, b.create<arith::ShLIOp>(exponent, b.i64(52))));
  Real scale(b, b.create<arith::SIToFPOp>(f64, exponent));
  return xf_log_of_parts(Real(b, fraction), scale, [&](double value) { return Real(b, real(value)); }).value;
}

/// Reads the pairs in the order in which the step gives them, and initialises what is computed from them.
void Advance::readPairs() {
  Value wanted = optionWord(0), withSums = b.less(b.i64(0), optionWord(1));
  pairs = b.mul(wordOf(XF_ABI_OPEN), wanted);
  apart = b.less(b.i64(0), wordOf(XF_ABI_INDEPENDENT));
  b.loop(b.thread(), b.mul(beams, 2), kThreads, [&](Value i) {
    put(real(0), sortedSums, i);
    put(b.i64(-1), sortedKeys, i);
    put(b.i64(0), sortedEnds, i);
  });
  forBeams([&](Value beam) {
    put(b.toI64(b.load(i32, own(sentences, b.add(beam, XF_ABI_SENTENCE_WORDS), i32))), rows, beam);
    put(b.i64(-1), parents, beam);
    put(b.i64(0), chosenTokens, beam);
  });
  b.loop(b.thread(), pairs, kThreads, [&](Value i) {
    Value beam = b.divide(i, wanted), candidate = b.sub(i, b.mul(beam, wanted));
    Value row = b.toI64(b.load(i32, own(sentences, b.add(beam, XF_ABI_SENTENCE_WORDS), i32)));
    auto wide = [&](View view, Value column) { return b.create<arith::ExtFOp>(f64, b.load(b.getF32Type(), at(view, row, column, b.getF32Type()))); };
    Value largest = wide(norms, b.i64(0)), value = wide(values, candidate);
    Value token = b.toI64(b.load(i32, at(chosen, row, candidate, i32)));
    Value norm = b.choose(
        withSums, [&] { return SmallVector<Value>{b.create<arith::AddFOp>(largest, logOf(wide(norms, b.i64(1))))}; },
        [&] { return SmallVector<Value>{real(0)}; })[0];
    Value before = b.load(f64, own(sums, beam, f64));
    Value isOrdered = isSame(largest, largest), exists = b.both(b.less(b.i64(-1), token), isOrdered);
    put(b.create<arith::AddFOp>(before, b.create<arith::SubFOp>(value, norm)), unsortedSums, i);
    put(select(exists, keyOf(beam, token), b.i64(-1)), unsortedKeys, i);
    b.ifThen(b.equal(candidate, b.i64(0)), [&] { put(select(isOrdered, b.i64(0), b.i64(1)), isNaN, beam); });
  });
}

void Advance::sortPairs() {
  b.loop(b.thread(), pairs, kThreads, [&](Value i) {
    Value sum = get(unsortedSums, i, f64), key = get(unsortedKeys, i), exists = b.less(b.i64(-1), key);
    Value isEnd = b.hasBit(b.data(endBits), select(exists, tokenOf(key), b.i64(0))); // read while ranks are counted
    Value rank = b.loop(b.i64(0), pairs, 1, {b.i64(0)}, [&](Value j, ValueRange before) {
      Value otherSum = get(unsortedSums, j, f64), otherKey = get(unsortedKeys, j);
      // Where beams go on apart their order stays.
      Value isEqual = b.either(apart, isSame(otherSum, sum)), isBetter = b.both(b.isNot(apart), isGreater(otherSum, sum));
      Value first = b.either(isBetter, b.both(isEqual, b.less(otherKey, key)));
      first = b.both(first, b.less(b.i64(-1), otherKey));
      return SmallVector<Value>{b.add(before[0], i64Of(first))};
    })[0];
    b.ifThen(b.both(exists, b.less(rank, b.mul(beams, 2))), [&] {
      put(sum, sortedSums, rank);
      put(key, sortedKeys, rank);
      put(i64Of(isEnd), sortedEnds, rank);
    });
  });
}

/// Writes the best pairs, in their order, which the host reads.
void Advance::record() {
  b.loop(b.thread(), b.mul(beams, 2), kThreads, [&](Value i) {
    Value key = get(sortedKeys, i), first = b.add(b.add(beams, 2), b.mul(i, 2));
    b.store(get(sortedSums, i, f64), own(pairSums, i, f64));
    b.store(b.narrow(beamOf(key)), own(decided, first, i32));
    b.store(b.narrow(tokenOf(key)), own(decided, b.add(first, 1), i32));
  });
}

/// As beam_search::take().
void Advance::decide() {
  Value produced = b.add(wordOf(XF_ABI_PRODUCED), 1), zero = b.i64(0);
  Value failed = b.loop(zero, wordOf(XF_ABI_OPEN), 1, {zero},
                        [&](Value beam, ValueRange before) { return SmallVector<Value>{b.create<arith::OrIOp>(before[0], get(isNaN, beam))}; })[0];
  auto taken = b.loop(zero, b.mul(beams, 2), 1, {zero, wordOf(XF_ABI_FINISHED), zero}, [&](Value i, ValueRange before) {
    Value key = get(sortedKeys, i), exists = b.less(b.i64(-1), key), token = tokenOf(key);
    Value isRead = b.both(exists, b.less(before[0], beams)), isEnd = b.less(zero, get(sortedEnds, i));
    Value goesOn = b.both(isRead, b.isNot(isEnd));
    b.ifThen(goesOn, [&] {
      put(beamOf(key), parents, before[0]);
      put(token, chosenTokens, before[0]);
      b.store(get(sortedSums, i, f64), own(sums, before[0], f64));
    });
    Value finishes = b.both(b.both(isRead, isEnd), b.less(i, beams));
    return SmallVector<Value>{b.add(before[0], i64Of(goesOn)), b.add(before[1], i64Of(finishes)), b.add(before[2], i64Of(exists))};
  });
  Value goesOn = b.both(b.both(b.less(taken[1], beams), b.less(produced, wordOf(XF_ABI_MAX_LENGTH))), b.less(zero, taken[0]));
  goesOn = b.both(goesOn, b.equal(failed, zero));
  Value isDone = b.sub(b.i64(1), i64Of(goesOn)), held = wordOf(XF_ABI_POSITIONS);
  Value notYet = i64Of(b.less(produced, wordOf(XF_ABI_MIN_LENGTH)));
  put(taken[0], decisions, b.i64(next));
  put(isDone, decisions, b.i64(done));
  put(b.add(wordOf(XF_ABI_CLASS), notYet), decisions, b.i64(nextClass));
  put(held, decisions, b.i64(positions));
  setWord(XF_ABI_OPEN, taken[0]);
  setWord(XF_ABI_PRODUCED, produced);
  setWord(XF_ABI_FINISHED, taken[1]);
  setWord(XF_ABI_POSITIONS, b.add(held, 1));
  setWord(XF_ABI_DONE, isDone);
  b.store(b.narrow(taken[2]), own(decided, zero, i32));
  b.store(b.narrow(failed), own(decided, b.i64(1), i32));
}

/// Of the beams that grow from the same beam, the first keeps its row.
void Advance::findKept(Value beam) {
  Value parent = get(parents, beam);
  auto found = b.loop(b.i64(0), beams, 1, {b.i64(0), b.i64(0)}, [&](Value other, ValueRange before) {
    Value otherParent = get(parents, other);
    Value comesFirst = b.both(b.equal(otherParent, parent), b.less(other, beam));
    return SmallVector<Value>{b.add(before[0], i64Of(comesFirst)), b.add(before[1], i64Of(b.equal(otherParent, beam)))};
  });
  put(i64Of(b.both(b.less(b.i64(-1), parent), b.equal(found[0], b.i64(0)))), stays, beam);
  put(i64Of(b.less(b.i64(0), found[1])), isKept, beam);
}

/// The others take the rows that nobody keeps, in their order, and so do beams that are not open.
void Advance::assignRow(Value beam) {
  Value zero = b.i64(0), parent = get(parents, beam), keeps = b.less(zero, get(stays, beam));
  Value turn = b.loop(zero, beam, 1, {zero},
                      [&](Value other, ValueRange before) { return SmallVector<Value>{b.add(before[0], b.sub(b.i64(1), get(stays, other)))}; })[0];
  Value from = get(rows, b.max(parent, zero));
  auto found = b.loop(zero, beams, 1, {zero, from}, [&](Value other, ValueRange before) {
    Value isFree = b.equal(get(isKept, other), zero), isOurs = b.both(isFree, b.equal(before[0], turn));
    return SmallVector<Value>{b.add(before[0], i64Of(isFree)), select(isOurs, get(rows, other), before[1])};
  });
  Value row = select(keeps, from, found[1]), held = get(decisions, b.i64(positions));
  Value goesOn = b.equal(get(decisions, b.i64(done)), zero), isOpen = b.less(b.i64(-1), parent);
  Value move[] = {select(b.both(isOpen, goesOn), from, row), row, held};
  for (int64_t i = 0; i < 3; ++i)
    b.store(b.narrow(move[i]), at(moves, b.add(b.mul(sentence, beams), beam), b.i64(i), i32));
  b.store(b.narrow(row), own(decided, b.add(beam, 2), i32));
  b.store(b.narrow(row), own(sentences, b.add(beam, XF_ABI_SENTENCE_WORDS), i32));
  // The rows of a sentence that is done, and of beams that are not open, keep their positions: later steps write there again.
  b.ifThen(b.both(isOpen, goesOn), [&] {
    b.store(b.narrow(get(chosenTokens, beam)), at(tokens, row, zero, i32));
    b.store(b.narrow(held), at(past, row, zero, i32));
    b.store(b.narrow(get(decisions, b.i64(nextClass))), at(classes, row, zero, i32));
  });
}

} // namespace

Kernel emitAdvance(mlir::gpu::GPUModuleOp module, StringRef name) {
  GpuBuilder b(module, name, Advance::viewCount, kThreads, module.getLoc());
  Advance(b).emit();
  b.finish();
  return {Advance::viewCount, {{name.str(), kThreads, {{Advance::sentences, 0}}, 1, 1, std::nullopt}}};
}

} // namespace xf::gpu
