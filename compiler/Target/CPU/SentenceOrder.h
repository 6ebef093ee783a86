// The rows of a search in the order of their sentences: those of one, its beams, stand behind each other.
#ifndef XF_COMPILER_TARGET_CPU_SENTENCEORDER_H
#define XF_COMPILER_TARGET_CPU_SENTENCEORDER_H

#include "compiler/Target/CodeBuilder.h"

namespace xf::cpu {

class SentenceOrder {
public:
  using Value = mlir::Value;
  /// For at most `maxRows` rows, and sentences, whose indices are below that. `memory` has room for words(maxRows) i32.
  SentenceOrder(CodeBuilder &b, Value memory, int64_t maxRows) : b(b), memory(memory), maxRows(maxRows) {}
  static int64_t words(int64_t maxRows) { return 2 * maxRows; }

  /// Sorts `rows` rows, of which row i belongs to sentence `sentenceOf(i)` (i64), and returns how many sentences have any.
  Value sort(Value rows, llvm::function_ref<Value(Value row)> sentenceOf);
  /// The row at an index of the order.
  Value rowAt(Value index) { return b.toI64(b.load(b.getI32Type(), entry(index))); }

private:
  Value entry(Value index) { return b.at(memory, index, b.getI32Type()); }

  CodeBuilder &b;
  Value memory; // the order, then of each sentence how many rows it has, later its next row's index
  int64_t maxRows;
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_SENTENCEORDER_H
