// The innermost loops of a product of f32 rows with weights of bytes, which are made f32 in registers.
//
// Four bytes that stand together along k are one 32-bit word of a panel's lane. The byte of a position is put into its
// word's upper quarter, which is one shuffle, shift or mask, and makes a signed integer 2^24 times too large; the sums are
// divided by that at the end. Powers of two change no rounding: as long as no sum exceeds 2^104, an element is the chain
// of f32 multiply-adds, k ascending from +0, that it is with f32 weights, whatever the tile.
#include "compiler/Target/CPU/MicroKernel.h"
#include "compiler/Target/CPU/RowPointers.h"
#include "compiler/Target/VectorMath.h"

using namespace mlir;

namespace xf::cpu {

namespace {
class ByteWeightKernel {
public:
  ByteWeightKernel(CodeBuilder &b, const ProductOperands &operands, int64_t tail, int64_t rows, int64_t panels)
      : b(b), operands(operands), tail(tail), rows(rows), panels(panels), rowPointers(b, operands.a, operands.lda, b.getF32Type(), rows) {}

  void emit() {
    Type f32 = b.getF32Type();
    for (int64_t i = 0; i < panels; ++i)
      panelStart.push_back(b.at(operands.b, b.mul(operands.panelStride, i), b.getI8Type()));

    Prefetcher prefetcher(b, operands, {Factor::i8_weights}, rows, panels);
    sums.assign(rows * panels, b.splatF32(0.0));
    SmallVector<Value> end = b.loop(b.i64(0), operands.depth, 1, rowPointers.carriedWith(sums), [&](Value k, ValueRange before) {
      rowPointers.take(before, sums);
      prefetcher.prefetch(k, 0, 1);
      step(k, kGroup);
      return rowPointers.carriedWith(sums);
    });
    rowPointers.take(end, sums);
    if (tail)
      step(operands.depth, tail);

    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < panels; ++i) {
        Value sum = b.create<arith::MulFOp>(sums[row * panels + i], b.splatF32(0x1p-24));
        b.storeVector(sum, b.at(b.at(operands.c, b.mul(operands.ldc, row), f32), i * kLanes, f32));
      }
  }

private:
  static constexpr int64_t kGroup = 4;

  /// Adds the products of a group's first `count` positions, and moves the rows' pointers behind them.
  void step(Value group, int64_t count) {
    SmallVector<Value> words;
    for (Value start : panelStart)
      words.push_back(b.loadVector(b.getI32Type(), b.at(start, b.mul(group, kGroup * kLanes), b.getI8Type())));
    if (fillsRegisters())
      return loopOverPositions(count, words);
    for (int64_t position = 0; position < count; ++position) {
      SmallVector<Value> columns;
      for (Value word : words)
        columns.push_back(widened(word, position));
      multiplyAdd(position, columns);
    }
    rowPointers.advance(count);
  }

  /// Whether sums take more than half of the registers. LLVM would then load all positions' elements of the rows at once, and
  /// spill them, if positions were unrolled.
  bool fillsRegisters() { return rows * panels > byRegisters(b.isa(), 2, 4, 16); }

  /// The same as a loop: a position's byte is its word's lowest when it is its turn.
  void loopOverPositions(int64_t count, ArrayRef<Value> words) {
    SmallVector<Value> start = rowPointers.carriedWith(sums);
    llvm::append_range(start, words);
    SmallVector<Value> end = b.loop(b.i64(0), b.i64(count), 1, start, [&](Value, ValueRange before) {
      SmallVector<Value> columns, rest;
      for (Value word : rowPointers.take(before, sums)) {
        columns.push_back(widened(word, 0));
        rest.push_back(b.create<arith::ShRUIOp>(word, b.integer(word.getType(), 8)));
      }
      multiplyAdd(0, columns);
      rowPointers.advance(1);
      SmallVector<Value> after = rowPointers.carriedWith(sums);
      llvm::append_range(after, rest);
      return after;
    });
    rowPointers.take(end, sums);
  }

  /// Adds the products of the position `offset` behind the rows' pointers.
  void multiplyAdd(int64_t offset, ArrayRef<Value> columns) {
    for (int64_t row = 0; row < rows; ++row) {
      Value element = b.splat(b.load(b.getF32Type(), rowPointers.at(row, offset)));
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
  RowPointers rowPointers;
  SmallVector<Value> panelStart, sums;
};
} // namespace

void emitByteWeightMicroKernel(CodeBuilder &b, const ProductOperands &operands, int64_t tail, int64_t rows, int64_t panels) {
  ByteWeightKernel(b, operands, tail, rows, panels).emit();
}

} // namespace xf::cpu
