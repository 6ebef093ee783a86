#include "compiler/Target/CPU/SplitBytes.h"

#include "compiler/Target/CPU/Chunks.h"
#include "compiler/Target/CPU/FactorArithmetic.h"

using namespace mlir;

namespace xf::cpu {

void SplitBytes::splitRow(CodeBuilder &b, Value source, Value length, Value groups, Value target) const {
  Type byte = b.getI8Type();
  VectorType shorts = b.vectorOf(element(b)), words = VectorType::get({kLanes / 2}, b.getI32Type());
  SmallVector<int64_t> pairs;
  for (int64_t i = 0; i < kLanes; i += kGroup)
    pairs.append({i, i + 2, i + 1, i + 3});
  Value term = accumulateChunks(b, length, b.integer(words, 0), [&](Value first, Value count, Value sum) {
    Value row = b.create<arith::ExtUIOp>(shorts, b.loadVector(byte, b.at(source, first, byte), count));
    b.storeVector(b.create<vector::ShuffleOp>(row, row, pairs), b.at(target, first, element(b)));
    // The product of two neighbours is less than 1 << 16. Odd elements are multiplied by 0.
    Value next = b.create<arith::ShRUIOp>(b.create<vector::BitCastOp>(words, row), b.integer(words, 16));
    Value products = b.create<arith::MulIOp>(row, b.create<vector::BitCastOp>(shorts, next));
    return b.create<arith::AddIOp>(sum, b.create<vector::BitCastOp>(words, products));
  });
  b.store(b.create<vector::ReductionOp>(vector::CombiningKind::ADD, term), b.at(target, b.mul(groups, kGroup), element(b)));
}

void SplitBytes::splitPanel(CodeBuilder &b, Value source, Value groups, Value target) const {
  Type word = b.getI32Type();
  FactorArithmetic bytes(b, Factor::i8);
  Value zeros = b.integer(b.vectorOf(word), 0);
  Value term = b.accumulate(b.i64(0), groups, 1, zeros, [&](Value group, Value sum) {
    auto parts = bytes.loadPanel(b.at(source, b.mul(group, kLanes), word));
    Value line = b.at(target, b.mul(group, 2 * kLanes), word);
    b.storeVector(parts[0], line);
    b.storeVector(parts[1], b.at(line, kLanes, word));
    return b.create<arith::AddIOp>(sum, bytes.pairProducts(parts[0], parts[1]));
  });
  b.storeVector(term, b.at(target, b.mul(groups, 2 * kLanes), word));
}

} // namespace xf::cpu
