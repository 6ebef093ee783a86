// Choosing from rows of logits that a step has stored, for searches that change them first: the rules of runtime/core/logit_rules.h, and what
// xf.choose does after its product.
#include "compiler/Target/GPU/ChooseKernel.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {
namespace {

constexpr int64_t kRuleThreads = 128;

/// A block takes a row, of which a thread has every 128th position.
class Rules {
public:
  enum View : unsigned { logits, tokens, past, read, rules, viewCount };

  explicit Rules(GpuBuilder &b)
      : b(b), i32(b.getI32Type()), f32(b.getF32Type()), f64(b.getF64Type()), row(b.block()), last(loadIndex(b, past, row)),
        newest(loadIndex(b, tokens, row)) {}

  void emit() {
    Value isKnown = note();
    Value penalty = b.load(f64, b.data(rules)), length = b.load(b.getI64Type(), b.at(b.data(rules), 1, f64));
    Value penalises = b.create<arith::CmpFOp>(arith::CmpFPredicate::ONE, penalty, b.create<arith::ConstantOp>(b.getF64FloatAttr(1)));
    b.ifThen(penalises, [&] {
      forPositions(b.i64(0), [&](Value position) {
        // Each token that has been read changes its logit once, at its first position.
        Value word = wordAt(position), isNewest = b.equal(position, last);
        Value isFirst = select(b, isNewest, b.isNot(isKnown), b.less(b.i64(-1), word));
        b.ifThen(b.both(isFirst, isLogit(word)), [&] { penalise(logitOf(word), penalty); });
      });
    });
    b.barrier();
    b.ifThen(b.less(b.i64(0), length), [&] { forbidRepeated(b.sub(length, 1)); });
  }

private:
  Value addressOf(Value position) { return b.at(b.data(read), b.add(b.mul(row, b.stride(read, 0)), position), i32); }
  Value logitOf(Value token) { return b.at(b.data(logits), b.add(b.mul(row, b.stride(logits, 0)), token), f32); }
  /// Whether the token has a logit; decoders may read tokens without one.
  Value isLogit(Value token) { return b.both(b.less(b.i64(-1), token), b.less(token, b.size(logits, 1))); }
  /// The word that is noted for a position, and the token that was read there.
  Value wordAt(Value position) {
    return b.chooseOne(b.equal(position, last), [&] { return newest; }, [&] { return b.toI64(b.load(i32, addressOf(position))); });
  }
  Value tokenAt(Value position) {
    Value word = wordAt(position);
    return b.max(word, b.sub(b.i64(-1), word));
  }
  void forPositions(Value from, function_ref<void(Value)> body) { b.loop(b.add(from, b.thread()), b.add(last, 1), kRuleThreads, body); }

  Value note();
  void penalise(Value address, Value penalty);
  void forbidRepeated(Value given);
  Value isRepeated(Value position, Value end, Value given);

  GpuBuilder &b;
  Type i32, f32, f64;
  Value row, last, newest; // position, and the token that has been read there
};

/// Notes what the step has read; says whether it was read before.
Value Rules::note() {
  Value flags = b.shared(i32, kRuleThreads / kWarp), isSame = b.falseValue();
  isSame = b.loop(b.thread(), last, kRuleThreads, {isSame},
                  [&](Value position, ValueRange before) { return SmallVector<Value>{b.either(before[0], b.equal(tokenAt(position), newest))}; })[0];
  Value found = b.ballot(isSame);
  b.ifThen(b.equal(b.lane(), b.i64(0)), [&] { b.store(found, b.at(flags, b.warp(), i32)); });
  b.barrier();
  Value all = b.i32(0);
  for (Value flag : b.loadMany(flags, kRuleThreads / kWarp, i32))
    all = b.create<arith::OrIOp>(all, flag);
  Value isKnown = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, all, b.i32(0));
  b.ifThen(b.equal(b.thread(), b.i64(0)), [&] { b.store(b.narrow(select(b, isKnown, b.sub(b.i64(-1), newest), newest)), addressOf(last)); });
  return isKnown;
}

void Rules::penalise(Value address, Value penalty) {
  Value logit = b.create<arith::ExtFOp>(f64, b.load(f32, address));
  Value isPositive = compare(b, arith::CmpFPredicate::OGT, logit, b.create<arith::ConstantOp>(b.getF64FloatAttr(0)));
  Value changed = select(b, isPositive, b.create<arith::DivFOp>(logit, penalty), b.create<arith::MulFOp>(logit, penalty));
  b.store(b.create<arith::TruncFOp>(f32, changed), address);
}

/// Whether the `given` tokens before `position` equal those before `end`.
Value Rules::isRepeated(Value position, Value end, Value given) {
  return b.loop(b.i64(0), given, 1, {b.isNot(b.falseValue())}, [&](Value i, ValueRange before) {
    auto token = [&](Value behind) { return tokenAt(b.add(b.sub(behind, given), i)); };
    return SmallVector<Value>{b.both(before[0], b.equal(token(position), token(end)))};
  })[0];
}

/// Forbids all tokens that have followed the `given` last ones before.
void Rules::forbidRepeated(Value given) {
  Value end = b.add(last, 1);
  forPositions(given, [&](Value position) {
    Value token = tokenAt(position);
    b.ifThen(b.both(isLogit(token), isRepeated(position, end, given)), [&] {
      // Of several such positions with that token, the first one stores.
      Value others = b.loop(given, position, 1, {b.falseValue()}, [&](Value other, ValueRange before) {
        Value isSame = b.both(b.equal(tokenAt(other), token), isRepeated(other, end, given));
        return SmallVector<Value>{b.either(before[0], isSame)};
      })[0];
      b.ifThen(b.isNot(others), [&] { b.store(noLogit(b), logitOf(token)); });
    });
  });
}

} // namespace

Kernel emitApplyRules(mlir::gpu::GPUModuleOp module, StringRef name) {
  GpuBuilder b(module, name, Rules::viewCount, kRuleThreads, module.getLoc());
  Rules(b).emit();
  b.finish();
  return {Rules::viewCount, {{name.str(), kRuleThreads, {{Rules::logits, 0}}, 1, 1, std::nullopt}}};
}

Kernel emitChooseLogits(mlir::gpu::GPUModuleOp module, StringRef name, int64_t columns, int64_t maxCandidates) {
  enum View : unsigned { logits, forbidden, classes, options, result, viewCount = result + 4 };
  // A warp has a row.
  constexpr int64_t kRows = 4, kThreads = kRows * kWarp, kStride = ChooseOp::kBlock + 4;
  static_assert(kThreads == ChooseOp::kBlock);
  ChooseShape shape{logits, 0, forbidden, classes, options, result, columns, maxCandidates};
  std::string merge = (name + "_merge").str();
  {
    GpuBuilder b(module, name, viewCount, kThreads, module.getLoc());
    ChooseViews views(b, shape);
    views.readOptions();
    Type f32 = b.getF32Type();
    ChooseTile tile{kRows,
                    kThreads,
                    b.mul(b.divide(b.block(), b.i64(views.blocks)), kRows),
                    b.remainder(b.block(), b.i64(views.blocks)),
                    b.shared(f32, kRows * kStride),
                    kStride,
                    b.shared(b.getI8Type(), kRows * ChooseTile::foundPerRow(maxCandidates))};
    Value column = b.add(b.mul(tile.columnBlock, ChooseOp::kBlock), b.thread()), exists = b.less(column, b.i64(columns));
    for (int64_t i = 0; i < kRows; ++i) {
      Value row = b.min(b.add(tile.firstRow, i), b.sub(views.rows, 1));
      Value isFree = b.isNot(b.hasBit(views.wordsOf(row, tile.columnBlock), b.thread()));
      Value logit = b.load(f32, b.at(b.data(logits), b.add(b.mul(row, b.stride(logits, 0)), b.min(column, b.i64(columns - 1))), f32));
      b.store(select(b, b.both(isFree, exists), logit, noLogit(b)), b.at(tile.logits, b.add(b.thread(), i * kStride), f32));
    }
    b.barrier();
    emitChooseRows(b, views, tile);
    b.finish();
  }
  emitChooseMerge(GpuBuilder(module, merge, viewCount, kMergeThreads, module.getLoc()), shape);
  int64_t blocks = ChooseOp::countBlocks(columns);
  return {viewCount,
          {{name.str(), kThreads, {{logits, 0, kRows}}, 1, blocks, std::nullopt}, {merge, kMergeThreads, {{logits, 0}}, 1, 1, std::nullopt, 1}}};
}

Kernel emitTakeLogits(mlir::gpu::GPUModuleOp module, StringRef name) {
  enum View : unsigned { logits, forbidden, classes, tokens, values, viewCount };
  constexpr int64_t kThreads = 128;
  GpuBuilder b(module, name, viewCount, kThreads, module.getLoc());
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  Value row = b.add(b.mul(b.block(), kThreads), b.thread());
  b.ifThen(b.less(row, b.size(logits, 0)), [&] {
    Value token = loadIndex(b, tokens, row), words = b.at(b.data(forbidden), b.mul(loadIndex(b, classes, row), b.stride(forbidden, 0)), i32);
    Value logit = b.load(f32, b.at(b.data(logits), b.add(b.mul(row, b.stride(logits, 0)), token), f32));
    b.store(select(b, b.hasBit(words, token), noLogit(b), logit), b.at(b.data(values), row, f32));
  });
  b.finish();
  return {viewCount, {{name.str(), kThreads, {{logits, 0, kThreads}}, 1, 1, std::nullopt}}};
}

} // namespace xf::gpu
