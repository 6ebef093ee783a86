// Which values an entry's tokens may have: the rows of the tables that they look up.
#ifndef XF_COMPILER_TARGET_LINK_TOKENBOUNDS_H
#define XF_COMPILER_TARGET_LINK_TOKENBOUNDS_H

#include "dialect/IR/Xf.h"

namespace xf {

/// The smallest number of rows of any table that argument `number` of `entry` indexes; 0 if it indexes none.
int64_t tokenBound(mlir::xf::EntryOp entry, unsigned number);

} // namespace xf

#endif // XF_COMPILER_TARGET_LINK_TOKENBOUNDS_H
