// A block of xf.attend: a few queries, the products with their keys, softmax, the product with their values.
//
// An element of the context is one chain of multiply-adds over ascending keys, and masked keys have probability 0, so
// that neither the rows beside it nor keys before its own first or behind its own end change its bits.
//
// With factors of bf16 the strip holds exponentials, and the context is divided by their sum when it is stored. Where bf16 is multiplied as
// int16, the exponentials are int16, too (AttendInt16).
#ifndef XF_COMPILER_TARGET_CPU_ATTENDBLOCK_H
#define XF_COMPILER_TARGET_CPU_ATTENDBLOCK_H

#include "compiler/Target/CPU/AttendInt16.h"
#include "compiler/Target/CPU/AttendScores.h"
#include "compiler/Target/CPU/SentenceOrder.h"
#include "compiler/Target/CPU/Tiles.h"

#include <optional>

namespace xf::cpu {

/// Whether several rows may have the same keys and values: those of states that are only read.
bool mayShareStates(mlir::xf::AttendOp op);

/// The layout of a thread's scratch: offsets in floats, row lengths in elements. Rows of bf16 have room for floats.
struct AttendScratch {
  AttendScratch(mlir::xf::AttendOp op, mlir::ModuleOp root, int64_t tileRows);
  int64_t sorted; // the most rows that are to be sorted by their sentences
  int64_t stripRow, contextRow, queryRow, context, query, order, int16, total;
};

struct AttendBlocks {
  using Value = mlir::Value;

  AttendBlocks(KernelBuilder &b, mlir::xf::AttendOp op, const KernelRequest &request);

  /// The queries of a block: one head's from position `first` on; or, where rows have one query, those of a few heads from `head` on, or
  /// one head's of a few rows with the same keys and values, which follow index `batch` in the order of sentences.
  enum class Queries { ofPositions, ofHeads, ofBeams };
  struct Block {
    Queries kind;
    Value batch = {}, head = {}, first = {}, rows = {}; // i64
    Value keys = {}, values = {};                       // addresses of the (first) head's
  };
  /// Sets the addresses of the block's keys and values.
  void findStates(Block &block);
  /// The index of a row's keys or values in their tensor: the row, or its sentence's slot.
  Value stateRow(Value tensor, Value row);
  /// Computes a block. `next` is the thread's next block, whose keys and values are prefetched meanwhile, or null.
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
  Value ends;        // address of the rows' ends of keys, if they differ
  Value reciprocals; // address of those of the rows' sums, if the context is still to be multiplied by them
  std::optional<AttendInt16> int16;
  Value queryScales; // with int16: address of the rows' scales

private:
  Value headStart(unsigned view, Value tensor, const Block &block);
  Value findEnds(const Block &block);
  void copyQueries(const Block &block, Value target);
  /// The keys that some of a block's queries may see: the first, rounded down to a multiple of 16, and the end.
  struct Keys {
    Value begin, end;
  };
  Value findBegin(const Block &block, Value end);
  void quantizeStates(Block &block);
  /// `next`: the following block, of which as much is prefetched meanwhile, line by line (a burst of requests would wait for itself); or null.
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
  /// The address of a block's row in view `view`, whose elements are `type`.
  Value rowAddress(unsigned view, mlir::Type type, const Block &block, Value row);
  Value strip(Value row) { return b.at(b.scratch(), b.mul(row, layout.stripRow), b.getF32Type()); }
  /// The stride of the strip's rows, in elements of factors.
  int64_t stripStride() const { return layout.stripRow * group; }
  Value reciprocal(Value row) { return b.at(reciprocals, row, b.getF32Type()); }
  Value queryScale(Value row) { return b.at(queryScales, row, b.getF32Type()); }
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_ATTENDBLOCK_H
