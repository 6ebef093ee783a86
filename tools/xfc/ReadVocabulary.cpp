#include "tools/xfc/ReadVocabulary.h"

#include "compiler/Import/Error.h"
#include "compiler/Import/Tokenizer.h"
#include "compiler/Import/VocabularyJson.h"
#include "runtime/text/subword_model.h"
#include "runtime/text/utf8.h"

#include "llvm/Support/MemoryBuffer.h"

namespace xf {

llvm::Error readFile(const std::string &path, std::string &contents) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!buffer)
    return makeError("{}: {}", path, buffer.getError().message());
  contents = (*buffer)->getBuffer().str();
  return llvm::Error::success();
}

/// Reads a vocabulary, which must not be empty.
static llvm::Error readTokens(const std::string &path, Vocabulary &vocabulary) {
  std::string &contents = vocabulary.tokens;
  if (llvm::Error error = readFile(path, contents))
    return error;
  if (contents.starts_with(rt::kByteOrderMark))
    contents.erase(0, rt::kByteOrderMark.size());
  if (llvm::StringRef(path).ends_with(".json")) {
    auto lines = readVocabularyJson(path, contents);
    if (!lines)
      return lines.takeError();
    contents = std::move(*lines);
  }
  return contents.empty() ? makeError("{}: the vocabulary is empty", path) : llvm::Error::success();
}

/// Reads a SentencePiece model, and checks that it is one.
static llvm::Error readSpm(const std::string &path, Vocabulary &vocabulary) {
  if (llvm::Error error = readFile(path, vocabulary.subwords))
    return error;
  try {
    vocabulary.pieces = static_cast<int64_t>(rt::subword_model(vocabulary.subwords).size());
    return llvm::Error::success();
  } catch (const std::exception &problem) {
    return makeError("{}: {}", path, problem.what());
  }
}

static llvm::Error readTokenizerTable(const std::string &path, Vocabulary &vocabulary) {
  std::string contents;
  if (llvm::Error error = readFile(path, contents))
    return error;
  auto tokenizer = readTokenizer(path, contents);
  if (!tokenizer)
    return tokenizer.takeError();
  vocabulary.subwords = std::move(tokenizer->table);
  vocabulary.pieces = tokenizer->tokens;
  vocabulary.isTable = true;
  vocabulary.affixes = std::move(tokenizer->affixes);
  return llvm::Error::success();
}

llvm::Expected<Vocabulary> readVocabulary(const VocabularyFiles &files) {
  Vocabulary vocabulary;
  if (!files.tokenizer.empty() && !files.spm.empty())
    return makeError("give either --{}-tokenizer or --{}-spm", files.side, files.side);
  if (!files.tokenizer.empty() && !files.tokens.empty())
    return makeError("--{}-vocab is not for --{}-tokenizer, which numbers its tokens itself", files.side, files.side);
  for (auto [path, read] : {std::pair(&files.tokens, &readTokens), {&files.spm, &readSpm}, {&files.tokenizer, &readTokenizerTable}})
    if (!path->empty())
      if (llvm::Error error = read(*path, vocabulary))
        return error;
  return vocabulary;
}

} // namespace xf
