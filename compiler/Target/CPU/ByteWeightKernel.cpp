// The innermost loops of a product of f32 rows with weights of bytes, which are made f32 in registers.
//
// Four bytes that stand together along k are one 32-bit word of a panel's lane. The byte of a position is put into its
// word's upper quarter, which is one shuffle, shift or mask, and makes a signed number 2^24 times too large; the sums are
// divided by that at the end. Powers of two change no rounding: as long as no sum exceeds 2^104, an element is the chain
// of f32 multiply-adds, k ascending from +0, that it is with f32 weights, whatever the tile.
#include "compiler/Target/CPU/MicroKernel.h"
#include "compiler/Target/VectorMath.h"

using namespace mlir;

namespace xf::cpu {

namespace {
class ByteWeightKernel {
public:
  ByteWeightKernel(CodeBuilder &b, const ProductOperands &operands, int64_t tail, int64_t rows, int64_t panels)
      : b(b), operands(operands), tail(tail), rows(rows), panels(panels) {}

  void emit() {
    Type f32 = b.getF32Type();
    for (int64_t row = 0; row < rows; ++row)
      rowStart.push_back(b.at(operands.a, b.mul(operands.lda, row), f32));
    for (int64_t i = 0; i < panels; ++i)
      panelStart.push_back(b.at(operands.b, b.mul(operands.panelStride, i), b.getI8Type()));

    AheadFetcher ahead(b, operands, {Factor::i8_weights}, rows, panels);
    SmallVector<Value> sums(rows * panels, b.splatF32(0.0));
    sums = b.loop(b.i64(0), operands.depth, 1, sums, [&](Value k, ValueRange carried) {
      SmallVector<Value> next(carried);
      ahead.fetch(k);
      step(k, kGroup, next);
      return next;
    });
    if (tail)
      step(operands.depth, tail, sums);

    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < panels; ++i) {
        Value sum = b.create<arith::MulFOp>(sums[row * panels + i], b.splatF32(0x1p-24));
        b.storeVector(sum, b.at(b.at(operands.c, b.mul(operands.ldc, row), f32), i * kLanes, f32));
      }
  }

private:
  static constexpr int64_t kGroup = 4;
  /// How far ahead of itself a panel is fetched where rows are few: the arithmetic takes as long as memory then, and leaves
  /// the processor's own prefetching behind.
  static constexpr int64_t kAheadBytes = 1024;

  /// Adds the products of a group's first `count` positions.
  void step(Value group, int64_t count, SmallVector<Value> &sums) {
    SmallVector<Value> words;
    for (Value start : panelStart) {
      Value address = b.at(start, b.mul(group, kGroup * kLanes), b.getI8Type());
      words.push_back(b.loadVector(b.getI32Type(), address));
      if (rows < fetchingRows(b.isa(), Factor::i8_weights))
        b.prefetch(b.atByte(address, kAheadBytes), CodeBuilder::Cache::secondLevel);
    }
    Value first = b.mul(group, kGroup);
    if (fillsRegisters())
      return loopOverPositions(first, count, words, sums);
    for (int64_t position = 0; position < count; ++position) {
      SmallVector<Value> columns;
      for (Value word : words)
        columns.push_back(widened(word, position));
      multiplyAdd(first, position, columns, sums);
    }
  }

  /// Whether sums take more than half of the registers. LLVM would then load all positions' elements of the rows at once, and
  /// spill them, if positions were written out.
  bool fillsRegisters() { return rows * panels > byRegisters(b.isa(), 2, 4, 16); }

  /// The same as a loop: a position's byte is its word's lowest when it is its turn.
  void loopOverPositions(Value first, int64_t count, SmallVector<Value> &words, SmallVector<Value> &sums) {
    SmallVector<Value> start(sums);
    llvm::append_range(start, words);
    auto end = b.loop(b.i64(0), b.i64(count), 1, start, [&](Value position, ValueRange carried) {
      SmallVector<Value> next(carried.take_front(sums.size())), columns, rest;
      for (Value word : carried.drop_front(sums.size())) {
        columns.push_back(widened(word, 0));
        rest.push_back(b.create<arith::ShRUIOp>(word, b.integer(word.getType(), 8)));
      }
      multiplyAdd(b.add(first, position), 0, columns, next);
      llvm::append_range(next, rest);
      return next;
    });
    sums.assign(end.begin(), end.begin() + sums.size());
  }

  /// Adds the products of position k + u.
  void multiplyAdd(Value k, int64_t u, ArrayRef<Value> columns, SmallVector<Value> &sums) {
    Type f32 = b.getF32Type();
    for (int64_t row = 0; row < rows; ++row) {
      Value element = b.splat(b.load(f32, b.at(b.at(rowStart[row], k, f32), u, f32)));
      for (int64_t i = 0; i < panels; ++i) {
        Value &sum = sums[row * panels + i];
        sum = fusedMultiplyAdd(b, element, columns[i], sum);
      }
    }
  }

  /// Byte `position` of each word as f32, times 2^24.
  Value widened(Value words, int64_t position) {
    Type type = words.getType();
    if (position < 3)
      words = b.create<arith::ShLIOp>(words, b.integer(type, 24 - 8 * position));
    if (position > 0)
      words = b.create<arith::AndIOp>(words, b.integer(type, 0xff000000));
    return b.create<arith::SIToFPOp>(b.vectorOf(b.getF32Type()), words);
  }

  CodeBuilder &b;
  const ProductOperands &operands;
  int64_t tail, rows, panels;
  SmallVector<Value> rowStart, panelStart;
};
} // namespace

void emitByteWeightMicroKernel(CodeBuilder &b, const ProductOperands &operands, int64_t tail, int64_t rows, int64_t panels) {
  ByteWeightKernel(b, operands, tail, rows, panels).emit();
}

} // namespace xf::cpu
