// Whether vocabularies and special tokens fit the model that they are compiled into.
#ifndef XF_COMPILER_TARGET_LINK_VOCABULARIES_H
#define XF_COMPILER_TARGET_LINK_VOCABULARIES_H

#include "dialect/IR/Xf.h"

#include "llvm/Support/Error.h"

namespace xf {

/// Checks vocabularies, a token a line (empty: none is given), against a module of model IR or kernel IR: each is UTF-8,
/// and has no more lines than the table that its tokens look up, or than the results have columns. The tokens that a
/// description names must be the model's, too; those that are not are said at their entry, and the error is empty.
llvm::Error checkVocabularies(mlir::ModuleOp module, llvm::StringRef source, llvm::StringRef target);

} // namespace xf

#endif // XF_COMPILER_TARGET_LINK_VOCABULARIES_H
