// The rows of a search in the order of their sentences: those of one, its beams, stand behind each other.
#ifndef XF_COMPILER_TARGET_CPU_SENTENCEORDER_H
#define XF_COMPILER_TARGET_CPU_SENTENCEORDER_H

#include "compiler/Target/CodeBuilder.h"

namespace xf::cpu {

class SentenceOrder {
public:
  using Value = mlir::Value;
  /// For at most `most` rows, and sentences, whose numbers are below that. `memory` has room for words(most) i32.
  SentenceOrder(CodeBuilder &b, Value memory, int64_t most) : b(b), memory(memory), most(most) {}
  static int64_t words(int64_t most) { return 2 * most; }

  /// Sorts `rows` rows, of which row i belongs to sentence `sentenceOf(i)` (i64), and returns how many sentences have any.
  Value sort(Value rows, llvm::function_ref<Value(Value row)> sentenceOf);
  /// The row at a place of the order.
  Value rowAt(Value place) { return b.toI64(b.load(b.getI32Type(), entry(place))); }

private:
  Value entry(Value place) { return b.at(memory, place, b.getI32Type()); }

  CodeBuilder &b;
  Value memory; // the order, then of each sentence how many rows it has, later its next row's place
  int64_t most;
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_SENTENCEORDER_H
