// Hugging Face's tokenizer.json, made into the table that programs cut text with (runtime/abi/xf_tokenizer.h).
#ifndef XF_COMPILER_IMPORT_TOKENIZER_H
#define XF_COMPILER_IMPORT_TOKENIZER_H

#include "compiler/Support/TokenAffixes.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace xf {

struct Tokenizer {
  std::string table;
  int64_t tokens = 0; // the greatest id + 1
  /// The tokens that the file puts around a text, for a note if the description's differ; none if they are not known.
  std::optional<TokenAffixes> affixes;
};

/// Reads the contents of `file`, whose name errors begin with. What a program would not do as the file says is an error, except for what
/// the description says instead: the post-processor, truncation and padding.
llvm::Expected<Tokenizer> readTokenizer(llvm::StringRef file, llvm::StringRef contents);

} // namespace xf

#endif // XF_COMPILER_IMPORT_TOKENIZER_H
