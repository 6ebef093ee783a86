// What the two kernels of xf.choose share: its views, where the first leaves its results for the second, and how a warp
// finds the best of its lanes' candidates.
#ifndef XF_COMPILER_TARGET_GPU_CHOOSEKERNEL_H
#define XF_COMPILER_TARGET_GPU_CHOOSEKERNEL_H

#include "compiler/Target/GPU/KernelEmitters.h"

#include <limits>

namespace xf::gpu {

inline mlir::Value compare(GpuBuilder &b, mlir::arith::CmpFPredicate predicate, mlir::Value x, mlir::Value y) {
  return b.create<mlir::arith::CmpFOp>(predicate, x, y);
}
inline mlir::Value select(GpuBuilder &b, mlir::Value condition, mlir::Value x, mlir::Value y) {
  return b.create<mlir::arith::SelectOp>(condition, x, y);
}
/// -inf, the logit of a column that may not be chosen.
inline mlir::Value noLogit(GpuBuilder &b) { return b.f32(-std::numeric_limits<double>::infinity()); }

/// A logit (f32) and its column (i32); -inf and -1: none.
struct Candidate {
  mlir::Value logit, column;
};
Candidate noCandidate(GpuBuilder &b);

/// A logit as an i32 of the same order, which a warp compares in one instruction. Zeros of both signs are equal; NaN is never chosen, and
/// counts as -inf.
mlir::Value keyOf(GpuBuilder &b, mlir::Value logit);
/// The key of no candidate.
mlir::Value noKey(GpuBuilder &b);
/// The greatest of the lanes' keys, and whether the lane is the one that has it: the lowest lane of equal ones.
struct Best {
  mlir::Value key, isOwn;
};
Best bestOfWarp(GpuBuilder &b, mlir::Value key);

/// What exponentials are shifted by: the largest logit, but 0 where there is none.
mlir::Value shiftOf(GpuBuilder &b, mlir::Value largest);
/// Stores `largest`, or NaN where the i32 `isNonFinite` is not 0.
void storeLargest(GpuBuilder &b, mlir::Value largest, mlir::Value isNonFinite, mlir::Value address);

/// The views of a kernel that chooses, the columns that it chooses from, and the most candidates that it may have to find.
struct ChooseShape {
  unsigned rowsView, rowsDim; // whose size is the number of rows
  unsigned forbiddenView, classesView, optionsView;
  unsigned result; // the first of the views of values, tokens, norms and parts
  int64_t columns, maxCandidates;
};
/// Those of xf.choose.
struct ChooseOperands {
  enum View : unsigned { rowsView, weightView, forbiddenView, classesView, optionsView, firstExtra };
};
ChooseShape shapeOf(mlir::xf::ChooseOp op, const KernelRequest &request);

class ChooseViews {
public:
  ChooseViews(GpuBuilder &b, const ChooseShape &shape);
  /// Reads what is wanted, after awaitLaunches().
  void readOptions();

  mlir::Value rows;   // how many there are
  mlir::Value wanted; // candidates
  mlir::Value sums;   // whether they are wanted, i1
  unsigned result;    // as the shape's
  int64_t blocks, maxCandidates;

  /// The address of the row's bits for the columns of `block`.
  mlir::Value wordsOf(mlir::Value row, mlir::Value block);

  // The entries of a row and block of columns in `parts`, as on the CPU.
  mlir::Value maximumAt(mlir::Value row, mlir::Value block);
  mlir::Value sumAt(mlir::Value row, mlir::Value block);
  void store(const Candidate &candidate, mlir::Value row, mlir::Value block, mlir::Value index);
  // The same by a candidate's index among all elements of the row's lists.
  mlir::Value listBegin(mlir::Value block) { return b.mul(block, 2 * maxCandidates); }
  mlir::Value loadLogit(mlir::Value row, mlir::Value index);
  Candidate load(mlir::Value row, mlir::Value index);

  /// Stores a candidate at `rank` of the row's results.
  void storeResult(const Candidate &candidate, mlir::Value row, mlir::Value rank);

private:
  mlir::Value logitAt(mlir::Value row, mlir::Value index);
  mlir::Value columnOf(mlir::Value logitAddress);

  GpuBuilder &b;
  ChooseShape shape;
  int64_t paddedBlocks;
};

/// Where the first kernel's block has the logits of its rows and columns, -inf where they may not be chosen.
struct ChooseTile {
  int64_t rows, threads;     // of the tile, of the block
  mlir::Value firstRow;      // of the tile
  mlir::Value columnBlock;   // index of the block of columns
  mlir::Value logits;        // shared, [rows][stride]
  int64_t stride;
  mlir::Value found;         // shared, free for [rows][foundPerRow()] bytes
  static int64_t foundPerRow(int64_t maxCandidates) { return std::min(maxCandidates, mlir::xf::ChooseOp::kBlock); }
};
/// Finds each row's maximum, sum and candidates, and leaves them for the second kernel. All threads must take part, and see the logits.
void emitChooseRows(GpuBuilder &b, ChooseViews &views, const ChooseTile &tile);

/// The second kernel: a block joins what the first one's blocks have found of a row.
void emitChooseMerge(GpuBuilder b, const ChooseShape &shape);
/// Warps of its blocks that take lists; another one joins the norms.
inline constexpr int64_t kListWarps = 4, kMergeThreads = (kListWarps + 1) * kWarp;

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_CHOOSEKERNEL_H
