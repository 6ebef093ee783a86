// What the parts of the attention kernel share.
#ifndef XF_COMPILER_TARGET_GPU_ATTENDKERNEL_H
#define XF_COMPILER_TARGET_GPU_ATTENDKERNEL_H

#include "compiler/Target/CPU/AttendMask.h"
#include "compiler/Target/CPU/RegionVectorizer.h"
#include "compiler/Target/GPU/KernelEmitters.h"

namespace xf::gpu {

/// From a product of query and key to its score, and which keys a query sees: as AttendScores does on the CPU, for one
/// key at a time.
class AttendScore {
public:
  AttendScore(GpuBuilder &b, mlir::xf::AttendOp op, const KernelRequest &request, mlir::Value batch, mlir::Value head,
              mlir::Value position);

  /// How many of the first `keys` keys the query may see.
  mlir::Value end(mlir::Value keys);
  /// The score of key `key`; -inf if it is not allowed.
  mlir::Value score(mlir::Value product, mlir::Value key);
  /// Whether a query may have no key at all.
  bool mayLackKeys() { return !exactFill && !(op.getMask().empty() && op.getBias().empty()); }
  /// What all probabilities of such a row are.
  mlir::Value rowWithoutKeys(mlir::Value keys);

private:
  cpu::RegionVectorizer scope(mlir::Region &region);
  mlir::Value read(cpu::RegionVectorizer &scope, mlir::xf::AtOp at);

  GpuBuilder &b;
  mlir::xf::AttendOp op;
  const KernelRequest &request;
  cpu::AttendMask mask;
  bool exactFill;
  mlir::Value batch, head, position;
};

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_ATTENDKERNEL_H
