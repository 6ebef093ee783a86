// Vocabularies as Hugging Face's `vocab.json` has them: an object of tokens and their ids.
#ifndef XF_COMPILER_IMPORT_VOCABULARYJSON_H
#define XF_COMPILER_IMPORT_VOCABULARYJSON_H

#include "llvm/Support/Error.h"

#include <string>

namespace xf {

/// The tokens in the order of their ids, a line each; an error names the file and the token.
llvm::Expected<std::string> readVocabularyJson(const std::string &path, const std::string &contents);

} // namespace xf

#endif // XF_COMPILER_IMPORT_VOCABULARYJSON_H
