// The files that say what one side's lines are made of.
#ifndef XF_TOOLS_XFC_READVOCABULARY_H
#define XF_TOOLS_XFC_READVOCABULARY_H

#include "compiler/Target/Link/Vocabularies.h"

#include <string>

namespace xf {

/// The contents of a file ("-": of standard input), or an error that names it.
llvm::Error readFile(const std::string &path, std::string &contents);

/// The files that the options of a side name; empty: not given.
struct VocabularyFiles {
  std::string side, tokens, spm, tokenizer;
};

llvm::Expected<Vocabulary> readVocabulary(const VocabularyFiles &files);

} // namespace xf

#endif // XF_TOOLS_XFC_READVOCABULARY_H
