// All ops of the dialect, split by kind.
#ifndef XF_OPS_TD
#define XF_OPS_TD

include "dialect/IR/XfModuleOps.td"
include "dialect/IR/XfModelOps.td"
include "dialect/IR/XfStateOps.td"
include "dialect/IR/XfKernelOps.td"

#endif // XF_OPS_TD
