#include "compiler/Target/Link/TokenBounds.h"

#include "mlir/IR/Matchers.h"

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

int64_t tokenBound(EntryOp entry, unsigned argIndex) {
  int64_t bound = 0;
  entry.walk([&](EmbedOp embed) {
    if (origin(embed.getIds()) != entry.getBody().getArgument(argIndex))
      return;
    int64_t rows = cast<RankedTensorType>(embed.getTable().getType()).getDimSize(0);
    bound = bound == 0 ? rows : std::min(bound, rows);
  });
  return bound;
}

llvm::StringMap<int64_t> minSizes(EntryOp entry) {
  llvm::StringMap<int64_t> least;
  auto reads = [&](Value tensor, unsigned d, int64_t last) {
    auto type = cast<RankedTensorType>(tensor.getType());
    if (type.isDynamicDim(d))
      least[getDimName(type, d)] = std::max(least[getDimName(type, d)], last + 1);
  };
  entry.walk([&](Operation *op) {
    if (auto slice = dyn_cast<SliceOp>(op)) {
      reads(slice.getX(), slice.getAxis(), slice.getLast());
    } else if (auto element = dyn_cast<AtOp>(op)) {
      for (auto [d, index] : llvm::enumerate(element.getIndices()))
        if (llvm::APInt constant; matchPattern(index, m_ConstantInt(&constant)))
          reads(element.getTensor(), d, constant.getSExtValue());
    }
  });
  return least;
}

} // namespace xf
