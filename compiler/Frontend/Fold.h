#ifndef XF_COMPILER_FRONTEND_FOLD_H
#define XF_COMPILER_FRONTEND_FOLD_H

#include "compiler/Frontend/Messages.h"

namespace xf::frontend {

/// Applies an operator to two values that are known when compiling; nothing if they are of other kinds. An error is reported and sets `failed`.
std::optional<Value> fold(Messages &messages, llvm::StringRef op, const Value &left, const Value &right, Loc loc, bool &failed);

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_FOLD_H
