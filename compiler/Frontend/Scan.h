// scan t along T { state c = 0; c = …; yield … }, or `along T reversed`: a recurrence over elements becomes one xf.scan.
#ifndef XF_COMPILER_FRONTEND_SCAN_H
#define XF_COMPILER_FRONTEND_SCAN_H

#include "compiler/Frontend/Values.h"

namespace xf::frontend {

class Messages;

/// The body of a scan that is being evaluated, and the tensors that it reads.
struct ScanBody {
  DimSize dim; // that it runs along
  mlir::Block *block = nullptr;
  std::vector<mlir::Value> inputs;
  std::vector<mlir::BlockArgument> arguments; // their elements

  /// The element of a tensor at the scan's position; a tensor without the scan's dimension has the same element at all positions.
  Value read(Messages &messages, mlir::Value tensor, Loc loc, bool indexed);
};

Value scan(Evaluator &e, const Expr &expr, const ScopePtr &scope);
enum class Shift { delay, advance };
/// x shifted by one position. delay: each position gets what was before it, the first zeros; advance: what was after it, the last zeros.
Value shift(Evaluator &e, mlir::Value x, const DimSize &dim, Shift direction, Loc loc);

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_SCAN_H
