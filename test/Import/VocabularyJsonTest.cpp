// Vocabularies as JSON objects have them, by what programs make of their lines.
#include "compiler/Import/VocabularyJson.h"
#include "runtime/text/vocabulary.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace xf;

namespace {

TEST(VocabularyJson, hasTheTokensOfTheFile) {
  nlohmann::json file = {{"a", 0}, {"x\r", 1}, {"x", 2}, {"\r", 3}, {"", 4}, {"\r\r", 5}};
  std::string lines = llvm::cantFail(readVocabularyJson("v.json", file.dump()));
  rt::vocabulary vocabulary(lines);
  EXPECT_EQ(vocabulary.size(), file.size());
  for (auto &[token, id] : file.items())
    EXPECT_EQ(vocabulary.find(token), id.get<int32_t>()) << id;
}

TEST(VocabularyJson, saysWhereItIsNone) {
  auto error = [](const std::string &text) { return llvm::toString(readVocabularyJson("v.json", text).takeError()); };
  EXPECT_EQ(error("[]"), "v.json: is no JSON object");
  std::string cut = error("{\"a\": 0,\n\"b\" 1}");
  EXPECT_TRUE(llvm::StringRef(cut).starts_with("v.json: is no JSON object: parse error at line 2, column 5: ")) << cut;
  std::string wordy = error("{\"" + std::string(1 << 20, 'x') + "\n");
  EXPECT_TRUE(wordy.size() < 300 && llvm::StringRef(wordy).ends_with("…")) << wordy.size();
}

TEST(VocabularyJson, nestsAsDeepAsTheMessageSays) {
  auto error = [](const std::string &token, unsigned lists) {
    std::string text = "{\"" + token + "\":\n" + std::string(lists, '[') + std::string(lists, ']') + "}";
    return llvm::toString(readVocabularyJson("v.json", text).takeError());
  };
  EXPECT_EQ(error("a", 99), "v.json: token 'a' has no number");
  EXPECT_EQ(error("a", 100), "v.json: is no JSON object: parse error at line 2, column 100: more than 100 lists and objects stand within each other");
  std::string brackets(200, '{');
  EXPECT_EQ(error(brackets + "\\\"<(//", 99), "v.json: token '" + brackets + "\"<(//' has no number");
}

} // namespace
