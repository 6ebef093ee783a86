#ifndef XF_COMPILER_FRONTEND_FOLD_H
#define XF_COMPILER_FRONTEND_FOLD_H

#include "compiler/Frontend/Messages.h"

namespace xf::frontend {

/// What an operator makes of two values that are known when compiling; nothing if it is for others. An error is reported and sets `failed`.
std::optional<Value> fold(Messages &messages, llvm::StringRef op, const Value &left, const Value &right, Loc loc, bool &failed);

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_FOLD_H
