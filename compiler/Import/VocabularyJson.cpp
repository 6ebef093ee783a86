#include "compiler/Import/VocabularyJson.h"

#include "compiler/Import/Error.h"
#include "compiler/Import/Json.h"

#include <vector>

namespace xf {

llvm::Expected<std::string> readVocabularyJson(const std::string &path, const std::string &contents) {
  auto json = parseJsonObject(contents);
  if (!json)
    return makeError("{}: {}", path, llvm::toString(json.takeError()));
  std::vector<const std::string *> tokens(json->size());
  for (auto &[token, id] : json->items()) {
    auto fail = [&](const char *problem) { return makeError("{}: token '{}' {}", path, token, problem); };
    if (!id.is_number_unsigned())
      return fail("has no number");
    if (token.find('\n') != std::string::npos)
      return fail("holds a line break");
    auto index = id.get<uint64_t>();
    if (index >= tokens.size())
      return makeError("{}: token '{}' has the number {}, but there are {} tokens", path, token, index, tokens.size());
    if (tokens[index])
      return makeError("{}: tokens '{}' and '{}' have the same number, {}", path, *tokens[index], token, index);
    tokens[index] = &token;
  }
  std::string lines;
  // Lines may end as in DOS, with \r\n: a token that ends with the first half is followed by a whole one.
  for (const std::string *token : tokens)
    lines += *token + (token->ends_with('\r') ? "\r\n" : "\n");
  return lines;
}

} // namespace xf
