// The kernel of xf.row: 8 rows a block.
#include "compiler/Target/GPU/RowEmitter.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {

static constexpr int64_t kThreads = 128, kRows = kThreads / RowEmitter::kLanes;

LogicalResult emitRow(RowOp op, const KernelRequest &request, Kernel &kernel) {
  GpuBuilder b = request.start(request.name, kThreads, op.getLoc());
  // Leaves the registers that unrolled rows need: ptxas would favour more blocks.
  if (RowEmitter::canBeUnrolled(op))
    b.setBlocksPerMultiprocessor(2);
  RowEmitter(b, op, request).emit(b.add(b.mul(b.block(), kRows), b.div(b.thread(), b.i64(RowEmitter::kLanes))));
  b.finish();
  Launch launch{request.name.str(), kThreads, {}, kRows, 1, std::nullopt};
  unsigned rank = cast<RankedTensorType>(op.getResult(0).getType()).getRank();
  for (unsigned d = 0; d + 1 < rank; ++d)
    launch.factors.push_back({request.resultView(), d, 1});
  kernel.launches.push_back(launch);
  return success();
}

} // namespace xf::gpu
