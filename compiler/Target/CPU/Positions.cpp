// The kernel of xf.positions.
#include "compiler/Target/CPU/KernelEmitters.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::cpu {

LogicalResult emitPositions(KernelBuilder &b, PositionsOp op, const KernelRequest &request) {
  unsigned result = request.resultView();
  bool hasPast = static_cast<bool>(op.getPast());
  Value columns = b.size(result, hasPast ? 1 : 0);
  Value rows = hasPast ? b.size(result, 0) : b.i64(1);
  auto [first, end] = b.share(b.mul(rows, columns));
  b.loop(first, end, 1, [&](Value i) {
    Value row = b.div(i, columns), column = b.rem(i, columns);
    Value position = b.add(column, op.getOffset());
    Value address = b.mul(column, b.stride(result, hasPast ? 1 : 0));
    if (hasPast) {
      position = b.add(position, b.loadIndex(request.viewOf(op.getPast()), row));
      address = b.add(address, b.mul(row, b.stride(result, 0)));
    }
    Value narrow = b.create<arith::TruncIOp>(b.getI32Type(), position);
    b.store(narrow, b.at(b.data(result), address, b.getI32Type()));
  });
  return success();
}

} // namespace xf::cpu
