// Whether vocabularies and special tokens fit the model that they are compiled into.
#ifndef XF_COMPILER_TARGET_LINK_VOCABULARIES_H
#define XF_COMPILER_TARGET_LINK_VOCABULARIES_H

#include "compiler/Support/TokenAffixes.h"
#include "dialect/IR/Xf.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace xf {

/// What one side's lines are made of. Empty: none is given.
struct Vocabulary {
  std::string tokens;   // a token a line
  std::string subwords; // a SentencePiece model or the table of a tokenizer, which are one; where there are no tokens, its pieces are
  int64_t pieces = 0;   // of it
  bool isTable = false; // it is a table
  std::optional<TokenAffixes> affixes; // what its file puts around a text, where that is known
};

/// Checks vocabularies against a module of model IR or kernel IR: each is UTF-8, and has no more tokens than the table that
/// they look up has rows, or than the results have columns. One that lines are not read or results not written with is an error.
/// The tokens that a description names must be the model's, too; those that are not are said where it names them, and the error is empty.
llvm::Error checkVocabularies(mlir::ModuleOp module, const Vocabulary &source, const Vocabulary &target);

/// How the tokens that the description puts around a source text differ from those of its tokenizer's file; empty if they do not, or if the
/// file puts none there.
std::string compareAffixes(mlir::ModuleOp module, const Vocabulary &source);

} // namespace xf

#endif // XF_COMPILER_TARGET_LINK_VOCABULARIES_H
