// Expressions of a description as text again, on one line.
#ifndef XF_COMPILER_EXPLAIN_EXPRESSIONTEXT_H
#define XF_COMPILER_EXPLAIN_EXPRESSIONTEXT_H

#include "compiler/Frontend/Ast.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace xf {

/// As its author could have written it. Long arguments become "...", and of a scan only the head is there.
std::string textOf(const frontend::Expr &expr);

/// The expressions that `expr` is made of; those in a scan's statements are not among them.
void forEachPart(const frontend::Expr &expr, llvm::function_ref<void(const frontend::Expr &)> visit);

} // namespace xf

#endif // XF_COMPILER_EXPLAIN_EXPRESSIONTEXT_H
