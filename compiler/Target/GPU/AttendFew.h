// Attention for few queries, as in a decoder's step: reading keys and values is all that it costs.
//
// A block computes one query of one head. Its warps take the tiles of keys in turn, each by itself, and then join what they
// found, every thread for columns of its own; so any number of keys needs the same shared memory. How many warps there are
// follows from how many keys there may be, and changes no bit.
#ifndef XF_COMPILER_TARGET_GPU_ATTENDFEW_H
#define XF_COMPILER_TARGET_GPU_ATTENDFEW_H

#include "compiler/Target/GPU/AttendKernel.h"

namespace xf::gpu {

class AttendFew : public AttendKernel {
public:
  AttendFew(GpuBuilder builder, mlir::xf::AttendOp op, const KernelRequest &request, int64_t warps)
      : AttendKernel(builder, op, request), warps(warps), threads(warps * kWarp) {}
  virtual ~AttendFew() = default;

  void emit();

protected:
  /// What a warp finds in a tile: its softmax, which lane 0 must have, and words for emitContext (zeros where the tile does
  /// not exist).
  struct Tile {
    Softmax softmax;
    llvm::SmallVector<Value> words;
  };

  /// Brings the query to where emitTile needs it, and finds `begin` and `end`.
  virtual void stageQuery() = 0;
  virtual Tile emitTile(Value first) = 0;
  virtual int64_t tileWords() { return 0; }
  /// Stores the context of the warp's tile at `contexts`.
  virtual void emitContext(Value first, llvm::ArrayRef<Value> words) = 0;
  virtual void storeProbabilities(const Softmax &) {}

  Value contextAt(Value warp, Value column) { return b.at(contexts, b.add(b.mul(warp, valueWidth), column), f32); }

  int64_t warps, threads;
  Value position;   // of the query
  Value begin, end; // of its keys; `begin` is the first key of a tile
  Value keys, values;

private:
  void appendOne();
  llvm::SmallVector<Value> joinTiles(Value found, mlir::ValueRange before);
  void storeContext(llvm::ArrayRef<Value> found, const Softmax &all);

  Value contexts, maxima, sums; // shared: each warp's results for its tile
};

/// The kernel of 16-bit factors.
std::unique_ptr<AttendFew> makeTensorAttendFew(GpuBuilder b, mlir::xf::AttendOp op, const KernelRequest &request, int64_t warps);

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_ATTENDFEW_H
