// attend(…) with its masks, biases and score: functions of positions. Masks and biases may also be tensors, and masks joined.
#ifndef XF_COMPILER_FRONTEND_ATTENTION_H
#define XF_COMPILER_FRONTEND_ATTENTION_H

#include "compiler/Frontend/Values.h"

#include "mlir/IR/Builders.h"

namespace xf::frontend {

Value attend(Evaluator &e, Args &args, Loc loc);

/// Attentions whose probabilities the description uses.
class Probabilities {
public:
  /// The same attention's context and probabilities; nothing if `context` is no attention's.
  std::optional<std::pair<mlir::Value, mlir::Value>> of(mlir::Value context, mlir::OpBuilder &builder);
  /// Forgets the attentions in a body that is discarded.
  void forget(mlir::Region &body);
  /// Replaces attentions by the same ones with probabilities; to be called when nothing more is built.
  void replaceAll();

private:
  std::vector<std::pair<mlir::xf::AttendOp, mlir::xf::AttendOp>> replacements; // values that scopes hold refer to the first of each
};

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_ATTENTION_H
