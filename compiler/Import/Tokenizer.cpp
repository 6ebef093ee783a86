#include "compiler/Import/Tokenizer.h"

#include "compiler/Import/Error.h"
#include "compiler/Import/Json.h"
#include "compiler/Import/TokenizerContents.h"

using nlohmann::json;

namespace xf {

llvm::Expected<Tokenizer> readTokenizer(llvm::StringRef file, llvm::StringRef text) {
  TokenizerJson reader;
  TokenizerContents contents;
  Tokenizer tokenizer;
  auto parsed = parseJsonObject(text);
  if (!parsed)
    return makeError("{}: it {}", file.str(), llvm::toString(parsed.takeError()));
  const json &members = *parsed;
  if (!members.contains("model")) {
    reader.refuse("it has no 'model', and is no tokenizer.json");
  } else {
    reader.checkMembers(members, "the file",
                        {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder", "model"});
    readModel(reader, members, contents);
    if (reader.isGood())
      readAddedTokens(reader, members, contents);
    if (reader.isGood())
      contents.steps = readNormalizer(reader, members);
    if (reader.isGood())
      readStages(reader, members, contents);
    if (reader.isGood() && contents.vocabulary.empty())
      reader.refuse("its model has no tokens");
    if (reader.isGood())
      tokenizer.table = writeTokenizerTable(reader, contents);
  }
  if (!reader.isGood())
    return makeError("{}: {}", file.str(), reader.getProblem());
  tokenizer.tokens = int64_t(contents.names.size());
  tokenizer.affixes = readAffixes(members);
  return tokenizer;
}

} // namespace xf
