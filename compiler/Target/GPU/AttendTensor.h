// A warp's products of an attention with factors of 16 bits, on tensor cores: 16 queries of a head with a tile of keys.
//
// Queries are the operand with 16 rows, keys and values the one with 8 columns, so that the first product leaves in a lane's
// registers what the second one needs there: exponentials need no exchange. A panel of keys gives two instructions' columns; its keys
// 2g and 2g + 1 are column g of the first and of the second, so that a lane reads both at once; columns of values likewise.
// Lane 4 g + t thus holds, for rows g and g + 8, keys 4t … 4t + 3 of each panel and columns 4t … 4t + 3 of each 16.
//
// In k, an instruction's 16 keys have the order 4t, 4t + 1 and then 4t + 2, 4t + 3: for all rows, whatever their number.
#ifndef XF_COMPILER_TARGET_GPU_ATTENDTENSOR_H
#define XF_COMPILER_TARGET_GPU_ATTENDTENSOR_H

#include "compiler/Target/GPU/AttendKernel.h"

namespace xf::gpu {

class TensorTile {
public:
  using Value = mlir::Value;

  /// For the queries from `firstRow` on and before `rowEnd`, at most 16; halves: 1 if only the first 8 can exist.
  TensorTile(AttendKernel &kernel, Value keys, Value values, Value firstRow, Value rowEnd, int64_t halves);

  int64_t halves() const { return rows.size(); }
  /// The position of the lane's row in a half, and whether that row exists.
  Value position(int64_t half) { return rows[half].position; }
  Value exists(int64_t half) { return rows[half].exists; }
  /// The first of the rows' tiles, and the last of their ends.
  Value begin() { return firstBegin; }
  Value end() { return lastEnd; }

  /// The tile that starts with key `first`: the softmax of each half, and words of two exponentials.
  struct Exponentials {
    llvm::SmallVector<AttendKernel::Softmax, 2> softmax;
    llvm::SmallVector<Value> words;
  };
  static int64_t countWords(int64_t halves) { return kTileKeys / 8 * halves; }
  Exponentials multiplyKeys(Value first);
  /// The lane's words of the tile's values in 16 columns from `column` on.
  llvm::SmallVector<Value> readValues(Value first, int64_t column);
  /// The context of these values: the lane's four columns in each half.
  llvm::SmallVector<Value> multiplyValues(llvm::ArrayRef<Value> exponentials, llvm::ArrayRef<Value> values);
  /// The lane's `i`-th of the 16 columns from `column` on.
  Value column(int64_t column, int64_t i);

private:
  static constexpr int64_t kDepth = 16, kQueryWords = 4; // of an instruction
  struct Row {
    AttendScore score;
    Value position, exists, end;
  };
  /// Panels of keys whose reads start before the first one is multiplied: one query is bound by memory, many by registers.
  int64_t panelsUnderWay() const { return halves() == 1 ? kTileKeys / codegen::kLanes : 2; }
  /// Steps of an instruction's depth over the width.
  int64_t steps() const { return llvm::divideCeil(a.width, kDepth); }
  /// The steps whose query words lie in shared memory: many queries of wide heads would take the registers that contexts need.
  int64_t sharedSteps();
  Value sharedQuery(int64_t step) { return b.at(sharedQueries, step * kAttendThreads * kQueryWords, word); }
  Value queryWord(int64_t half, int64_t column);
  llvm::SmallVector<Value> readQueries(int64_t step);
  llvm::SmallVector<Value> readKeys(Value panel, int64_t step);
  llvm::SmallVector<Value> products(Value first);
  /// Adds the products of `rows` with two instructions' columns, whose words `columns` has in the order of k.
  void multiply(llvm::ArrayRef<Value> rows, llvm::ArrayRef<Value> columns, llvm::MutableArrayRef<Value> sums);
  /// The lane's four columns of these sums in each half, in ascending order.
  llvm::SmallVector<Value> inOrder(llvm::ArrayRef<Value> sums) const;

  AttendKernel &a;
  GpuBuilder &b;
  mlir::Type word;
  Value keys, values, group, inGroup; // g and t
  llvm::SmallVector<Row, 2> rows;
  Value firstBegin, lastEnd;
  llvm::SmallVector<Value> queries; // words, as multiplyTiles wants them, of the steps whose words are not in shared memory
  Value sharedQueries;              // the thread's own; nobody else reads them
};

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_ATTENDTENSOR_H
