#include "compiler/Target/CPU/SentenceOrder.h"

using namespace mlir;

namespace xf::cpu {

Value SentenceOrder::sort(Value rows, llvm::function_ref<Value(Value)> sentenceOf) {
  Type i32 = b.getI32Type();
  Value one = b.i32(1), none = b.i32(0);
  auto ofSentence = [&](Value sentence) { return entry(b.add(sentence, maxRows)); };
  // Adds one to what its sentence has, and returns what that was.
  auto countRow = [&](Value row) {
    Value address = ofSentence(sentenceOf(row)), count = b.load(i32, address);
    b.store(b.create<arith::AddIOp>(count, one), address);
    return count;
  };
  b.loop(b.i64(0), b.i64(maxRows), 1, [&](Value sentence) { b.store(none, ofSentence(sentence)); });
  b.loop(b.i64(0), rows, 1, [&](Value row) { countRow(row); });
  auto totals = b.loop(b.i64(0), b.i64(maxRows), 1, {none, b.i64(0)}, [&](Value sentence, ValueRange before) {
    Value address = ofSentence(sentence), count = b.load(i32, address);
    b.store(before[0], address);
    Value isThere = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, count, none);
    return SmallVector<Value>{b.create<arith::AddIOp>(before[0], count), b.add(before[1], b.create<arith::ExtUIOp>(b.i64Type(), isThere))};
  });
  b.loop(b.i64(0), rows, 1, [&](Value row) { b.store(b.create<arith::TruncIOp>(i32, row), entry(b.toI64(countRow(row)))); });
  return totals[1];
}

} // namespace xf::cpu
