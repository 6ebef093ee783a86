// Expressions of a description as text again, on one line.
#ifndef XF_COMPILER_EXPLAIN_EXPRESSIONTEXT_H
#define XF_COMPILER_EXPLAIN_EXPRESSIONTEXT_H

#include "compiler/Frontend/Ast.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace xf {

/// The expression as its author could have written it. Long arguments become "...", and a scan has only its head.
std::string textOf(const frontend::Expr &expr);

/// Visits the parts of `expr`, except those in a scan's statements.
void forEachPart(const frontend::Expr &expr, llvm::function_ref<void(const frontend::Expr &)> visit);

} // namespace xf

#endif // XF_COMPILER_EXPLAIN_EXPRESSIONTEXT_H
