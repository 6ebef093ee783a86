// attend(…) and the functions of positions in it: its score, masks and biases, which may be tensors and joined, too.
#ifndef XF_COMPILER_FRONTEND_ATTENTION_H
#define XF_COMPILER_FRONTEND_ATTENTION_H

#include "compiler/Frontend/Values.h"

#include "mlir/IR/Builders.h"

namespace xf::frontend {

Value attend(Evaluator &e, Args &args, Loc loc);

/// Attentions whose probabilities are asked for.
class Probabilities {
public:
  /// The same attention's context and probabilities; nothing if `context` is no attention's.
  std::optional<std::pair<mlir::Value, mlir::Value>> of(mlir::Value context, mlir::OpBuilder &builder);
  /// Those in a body that is given up are none.
  void forget(mlir::Region &body);
  /// When nothing more is built: attentions with probabilities take the place of those without.
  void settle();

private:
  std::vector<std::pair<mlir::xf::AttendOp, mlir::xf::AttendOp>> twins; // values that scopes hold refer to the first of each
};

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_ATTENTION_H
