// A block of xf.attend: a few queries, the products with their keys, softmax, the product with their values.
//
// An element of the context is one chain of multiply-adds over ascending keys, and masked keys have probability 0, so
// that neither the rows beside it nor keys before its own first or behind its own end change its bits.
//
// With factors of bf16 the strip holds exponentials, and the context is divided by their sum when it is stored. Where these are multiplied
// as words, so are they (AttendWords).
#ifndef XF_COMPILER_TARGET_CPU_ATTENDBLOCK_H
#define XF_COMPILER_TARGET_CPU_ATTENDBLOCK_H

#include "compiler/Target/CPU/AttendScores.h"
#include "compiler/Target/CPU/AttendWords.h"
#include "compiler/Target/CPU/SentenceOrder.h"
#include "compiler/Target/CPU/Tiles.h"

#include <optional>

namespace xf::cpu {

/// Whether several rows may have the same keys and values: those of states that are only read.
bool mayShareStates(mlir::xf::AttendOp op);

/// Where a thread's scratch holds what: offsets in floats, row lengths in elements. Rows of bf16 have room for floats.
struct AttendScratch {
  AttendScratch(mlir::xf::AttendOp op, mlir::ModuleOp root, int64_t tileRows);
  int64_t sorted; // the most rows that are to be sorted by their sentences
  int64_t stripRow, contextRow, queryRow, context, query, order, words, total;
};

struct AttendBlocks {
  using Value = mlir::Value;

  AttendBlocks(KernelBuilder &b, mlir::xf::AttendOp op, const KernelRequest &request);

  /// What a block's queries are: one head's from position `first` on; or, of rows with one query, a few heads' from `head` on, or one
  /// head's of a few rows, which are from place `batch` on in the order of sentences and have the same keys and values.
  enum class Queries { ofPositions, ofHeads, ofBeams };
  struct Block {
    Queries kind;
    Value batch = {}, head = {}, first = {}, rows = {}; // i64
    Value keys = {}, values = {};                       // addresses of the (first) head's
  };
  /// Sets where the block's keys and values are.
  void findStates(Block &block);
  /// Where a row's keys or values are.
  Value stateRow(Value tensor, Value row);
  /// Computes a block. `next` is what the thread does behind it, or null where that is not to be fetched.
  void emitBlock(Block block, const Block *next);

  KernelBuilder &b;
  mlir::xf::AttendOp op;
  const KernelRequest &request;
  AttendScores scores;
  mlir::Type element; // of queries, keys and values
  Factor factor;      // what is multiplied
  int64_t group;      // elements of a word
  int64_t tileRows;
  AttendScratch layout;
  SentenceOrder order; // where rows may share keys and values
  std::optional<unsigned> spans;
  unsigned q, k, v, out; // views; probabilities' is the one behind `out`
  int64_t width, valueWidth, heads;
  int64_t ratio;    // query heads that share keys and values
  int64_t together; // heads in a block where there is one query
  Value keyCount;
  Value start;       // with spans: the first position of the block's sentence
  Value ends;        // where the rows' ends of keys are kept, if they differ
  Value reciprocals; // where those of their sums are, if they have not been used yet
  std::optional<AttendWords> words;
  Value queryScales; // with words: where the rows' scales are

private:
  Value headStart(unsigned view, Value tensor, const Block &block);
  Value findEnds(const Block &block);
  void copyQueries(const Block &block, Value target);
  /// Of the keys that some of a block's queries may see the first, rounded down to a multiple of 16, and the end.
  struct Keys {
    Value begin, end;
  };
  Value findBegin(const Block &block, Value end);
  void takeWords(Block &block);
  /// `next`: the block behind it, of which as much is fetched meanwhile, line by line (a burst of requests would wait for itself); or null.
  void multiplyKeys(const Block &block, const Block *next, const Keys &seen);
  void multiplyValues(const Block &block, const Block *next, std::optional<Value> onlyRow, const Keys &seen);
  /// Rows of a block, and where their context is computed.
  struct Context {
    Value firstRow, rows;
    Value start = {}, stride = {};
  };
  Value valuesOf(const Block &block, Value row);
  void addHalfWord(const Block &block, const Context &context, Value last);
  void storeContext(const Block &block, const Context &context);
  Value emitSoftmax(const Block &block, Value row, const Keys &seen, Value panels);
  void storeProbabilities(const Block &block, Value row);
  void emitRowWithoutKeys(const Block &block, Value row);

  Query query(const Block &block, Value row);
  /// Whether the block's rows see different numbers of keys.
  bool hasEnds(const Block &block) { return scores.hasEnds() || block.kind == Queries::ofBeams; }
  /// A row of a tensor of `type`, of which view `view` is.
  Value rowAddress(unsigned view, mlir::Type type, const Block &block, Value row);
  Value strip(Value row) { return b.at(b.scratch(), b.mul(row, layout.stripRow), b.getF32Type()); }
  /// Of the strip's rows, in elements of factors.
  int64_t stripStride() { return layout.stripRow * group; }
  Value reciprocal(Value row) { return b.at(reciprocals, row, b.getF32Type()); }
  Value queryScale(Value row) { return b.at(queryScales, row, b.getF32Type()); }
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_ATTENDBLOCK_H
