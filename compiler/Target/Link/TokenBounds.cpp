#include "compiler/Target/Link/TokenBounds.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {

/// The value outside its row kernel or views that `ids` is read from.
static Value origin(Value ids) {
  while (true) {
    if (auto arg = dyn_cast<BlockArgument>(ids)) {
      auto row = dyn_cast<RowOp>(arg.getOwner()->getParentOp());
      if (!row)
        return ids;
      ids = row.getInputs()[arg.getArgNumber()];
    } else if (isa<RearrangeOp, SliceOp, PackOp>(ids.getDefiningOp())) {
      ids = ids.getDefiningOp()->getOperand(0);
    } else {
      return ids;
    }
  }
}

int64_t tokenBound(EntryOp entry, unsigned number) {
  int64_t bound = 0;
  entry.walk([&](EmbedOp embed) {
    if (origin(embed.getIds()) != entry.getBody().getArgument(number))
      return;
    int64_t rows = cast<RankedTensorType>(embed.getTable().getType()).getDimSize(0);
    bound = bound == 0 ? rows : std::min(bound, rows);
  });
  return bound;
}

} // namespace xf
