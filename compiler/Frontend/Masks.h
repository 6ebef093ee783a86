// Masks and biases as values: functions of positions, and masks joined by & | !. Their code is written where an attention uses them.
#ifndef XF_COMPILER_FRONTEND_MASKS_H
#define XF_COMPILER_FRONTEND_MASKS_H

#include "compiler/Frontend/Values.h"

namespace xf::frontend {

class Messages;

/// A function of positions as a mask or bias.
Value asTerm(Messages &messages, const Value &value, bool isBias, Loc loc);
/// The mask that joins operands, of which at least one is no tensor.
Value joinMasks(Evaluator &e, Term::Kind kind, llvm::ArrayRef<Value> operands, Loc loc);

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_MASKS_H
