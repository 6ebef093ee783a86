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

} // namespace
