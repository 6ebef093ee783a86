// Products of 16-bit factors on tensor cores, for few rows and for many, up to their sums: callers decide what becomes of these.
//
// A sum consists of chains of multiplications over kChainDepth ascending k each, from +0, which are added in ascending order to +0; zeros
// follow the last k. The chains of an element depend on nothing but the depth, so several warps can work on one where rows are few: alone, a
// warp would wait for memory every few steps.
#ifndef XF_COMPILER_TARGET_GPU_TENSORPRODUCT_H
#define XF_COMPILER_TARGET_GPU_TENSORPRODUCT_H

#include "compiler/Target/GPU/TensorCore.h"

#include "llvm/Support/MathExtras.h"

namespace xf::gpu {

/// The k of one multiplication of tiles, the rows of x in it, and the columns of a panel, which are one A.
inline constexpr int64_t kStepDepth = 16, kTileRows = 8, kPanelColumns = codegen::kLanes;
/// The k that are brought to shared memory together, and those of a chain.
inline constexpr int64_t kPartDepth = 32, kChainDepth = 128;

/// x [rows, depth] and the panels of a weight [columns, depth], both bf16 or f16.
struct TensorOperands {
  mlir::Type factor;
  int64_t columns, depth;
  mlir::Value x, rowStride, rows; // where row 0 is, elements from row to row, and how many there are
  mlir::Value weights;
};

class TensorProduct {
public:
  using Value = mlir::Value;
  TensorProduct(GpuBuilder &b, const TensorOperands &operands);

  /// Whether all rows of x start at multiples of `bytes`. The same for all threads.
  Value rowsAligned(int64_t bytes);
  /// The address of row `row`, or of the last one if there is no such row: nobody uses its results.
  Value xRow(Value row) { return b.at(operands.x, b.mul(b.min(row, b.sub(operands.rows, 1)), operands.rowStride), factor); }

protected:
  llvm::SmallVector<Value> addTo(mlir::ValueRange sums, mlir::ValueRange chains);
  int64_t chains() const { return llvm::divideCeil(depth, kChainDepth); }
  /// The address of panel `panel`, or of the last one if there is no such panel.
  Value panelAt(Value panel) { return b.at(operands.weights, b.mul(b.min(panel, b.i64(panels - 1)), pairs * 2 * kPanelColumns), factor); }

  GpuBuilder &b;
  TensorOperands operands;
  mlir::Type factor, word; // bf16 or f16; i32
  /// Of the weight; `pairs` are words along k, of which the last one may be half zero.
  int64_t depth, panels, pairs;
};

/// A panel's columns of 8 rows.
class FewRowsProduct : public TensorProduct {
public:
  using TensorProduct::TensorProduct;

  /// A warp computes all chains: the lane's sums, of which `i` is of rowOf(i) and columnOf(i), counted from the first row and the panel's first
  /// column. All lanes must take part.
  static constexpr int64_t kSums = 4;
  llvm::SmallVector<Value> multiply(Value firstRow, Value panel);
  static Value rowOf(GpuBuilder &b, int64_t i);
  static Value columnOf(GpuBuilder &b, int64_t i);

  /// A block of warpsFor(depth) warps computes them, a warp a chain at a time: the thread's sums, of which `i` is of element
  /// thread + i * threads, in rows of a panel's columns; those from kElements on are nobody's. All threads must take part.
  static constexpr int64_t kElements = kTileRows * kPanelColumns;
  static int64_t warpsFor(int64_t depth);
  llvm::SmallVector<Value> multiplyTogether(Value firstRow, Value panel);
  /// The same, with the weights on their way while `findRow` waits for the preceding launches, or makes rows in shared memory with all threads
  /// and ends with a barrier. It returns the start of the lane's row, the block's row `lane / 4`, and whether its pairs are aligned (null: they
  /// are). canReadAhead(depth) must hold: each warp has one chain, all of the same length.
  struct Row {
    Value start, isAligned;
  };
  llvm::SmallVector<Value> multiplyBehind(Value panel, llvm::function_ref<Row()> findRow);
  static bool canReadAhead(int64_t depth) {
    return (depth < kChainDepth && depth % kStepDepth == 0) || (depth % kChainDepth == 0 && depth / kChainDepth == warpsFor(depth));
  }

private:
  /// What a lane needs for one step.
  struct Step {
    llvm::SmallVector<Value> weights, x;
  };
  void findWeights(Value panel);
  void findOwn(Value firstRow, Value panel);
  llvm::SmallVector<Value> anyChain(Value index, bool isAligned);
  llvm::SmallVector<Value> chain(Value firstK, int64_t count, bool isAligned);
  void share(mlir::ValueRange products, Value shared);
  llvm::SmallVector<Value> addShared(Value shared, int64_t count, mlir::ValueRange sums);
  llvm::SmallVector<Value> readWeights(Value k);
  llvm::SmallVector<Value> readX(Value k, bool isAligned);
  Step readLast(Value k);
  Value xWord(Value k, bool isAligned);

  Value inGroup;    // the lane's t
  Value weights, x; // of the lane: its first columns at pair t, and k = 2t of its row
};

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_TENSORPRODUCT_H
