// What the two kernels of xf.choose share: its views, the places where the first leaves for the second what it has found,
// and candidates in registers.
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
/// `next` if its logit is greater, so that of equal ones the first stays.
Candidate greaterOf(GpuBuilder &b, const Candidate &first, const Candidate &next);
/// The greatest logit, of equal ones the one with the lowest column.
Candidate bestOf(GpuBuilder &b, const Candidate &x, const Candidate &y);
/// The same over groups of `lanes` neighbouring lanes, all of which get it.
Candidate bestOver(GpuBuilder &b, Candidate candidate, int64_t lanes);

/// The first `most` candidates that are found one by one, each kept by one of `threads` neighbouring threads, so that finding
/// them takes no branch and storing them is one store for many.
class KeptCandidates {
public:
  KeptCandidates(GpuBuilder &b, mlir::Value thread, int64_t threads, int64_t most);
  /// What a loop carries for it.
  llvm::SmallVector<mlir::Value> values() const;
  void take(mlir::ValueRange carried);
  void keep(const Candidate &candidate, mlir::Value place);
  /// Calls `store` with the thread's candidates and their places, those below `end`.
  void forEach(mlir::Value end, llvm::function_ref<void(const Candidate &, mlir::Value place)> store) const;

private:
  GpuBuilder &b;
  llvm::SmallVector<mlir::Value> places;
  llvm::SmallVector<Candidate> kept;
};

/// What exponentials are shifted by: the largest logit, but 0 where there is none.
mlir::Value shiftOf(GpuBuilder &b, mlir::Value largest);
/// Stores `largest`, or NaN where the i32 `isOdd` is not 0.
void storeLargest(GpuBuilder &b, mlir::Value largest, mlir::Value isOdd, mlir::Value address);

class ChooseViews {
public:
  enum Operand : unsigned { rowsView, weightView, forbiddenView, classesView, optionsView, firstExtra };

  ChooseViews(GpuBuilder &b, mlir::xf::ChooseOp op, const KernelRequest &request);
  /// Finds out what is wanted: behind awaitLaunches().
  void readOptions();

  mlir::Value rows;   // how many there are
  mlir::Value wanted; // candidates
  mlir::Value sums;   // whether they are wanted, i1
  unsigned result;    // the first of the views of values, tokens, norms and parts
  int64_t blocks, most;

  // The places of a row and block of columns in `parts`, as on the CPU.
  mlir::Value maximumAt(mlir::Value row, mlir::Value block);
  mlir::Value sumAt(mlir::Value row, mlir::Value block);
  Candidate load(mlir::Value row, mlir::Value block, mlir::Value place);
  void store(const Candidate &candidate, mlir::Value row, mlir::Value block, mlir::Value place);

  /// Stores a place of the results.
  void storeResult(const Candidate &candidate, mlir::Value row, mlir::Value place);

private:
  mlir::Value logitAt(mlir::Value row, mlir::Value block, mlir::Value place);
  mlir::Value columnOf(mlir::Value logitAddress);

  GpuBuilder &b;
  int64_t paddedBlocks;
};

/// The second kernel: joins what the blocks of a row have found.
void emitChooseMerge(GpuBuilder b, mlir::xf::ChooseOp op, const KernelRequest &request);
/// Threads of its blocks, of which each takes a row.
inline constexpr int64_t kMergeThreads = 128;

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_CHOOSEKERNEL_H
