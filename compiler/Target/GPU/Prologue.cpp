#include "compiler/Target/GPU/Prologue.h"

#include "compiler/Target/GPU/RowEmitter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {

void emitPrologue(GpuBuilder &b, const Prologue &prologue, int64_t threads, Value firstRow, Value stores, const SharedRows &target) {
  b.setFirstView(prologue.firstView);
  RowOp row = prologue.row;
  RowEmitter emitter(b, row, prologue.request);
  Type element = cast<RankedTensorType>(row.getResult(prologue.result).getType()).getElementType();
  // A group of lanes for each row; with fewer groups than rows they take several rounds, with more some are idle.
  int64_t groups = threads / RowEmitter::kLanes;
  Value group = b.div(b.thread(), b.i64(RowEmitter::kLanes));
  for (int64_t first = 0; first < target.rows; first += groups) {
    Value works;
    if (first + groups > target.rows)
      works = b.less(group, b.i64(target.rows - first));
    Value own = b.min(b.add(group, first), b.i64(target.rows - 1));
    Value mayStore = b.both(stores, works);
    emitter.emit(b.add(firstRow, own), mayStore, RowEmitter::Copy{prologue.result, b.at(target.start, b.mul(own, target.stride), element)}, works);
  }
  b.setFirstView(0);
}

bool canBePrologue(RowOp row, unsigned result) {
  return RowEmitter::canBeUnrolled(row) && codegen::RowSchedule::isRow(row.getBody().front().getTerminator()->getOperand(result));
}

} // namespace xf::gpu
