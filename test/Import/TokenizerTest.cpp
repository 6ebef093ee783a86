// What a tokenizer.json says, and what is refused of it. e2e.tokenizers compares what programs make of one with the library that writes them.
#include "compiler/Import/Tokenizer.h"
#include "compiler/Import/TokenizerUnicode.h"
#include "runtime/abi/xf_tokenizer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <random>

using namespace xf;
using nlohmann::json;

namespace {

json addedToken(int id, const char *content, bool isSpecial) {
  return {{"id", id},         {"content", content}, {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", isSpecial}};
}

/// "ab" of two bytes, and a special token.
json bpe() {
  json byteLevel = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"post_processor", {{"type", "TemplateProcessing"}}},
          {"added_tokens", {addedToken(0, "<s>", true), addedToken(4, "<sep>", false)}},
          {"normalizer", nullptr},
          {"pre_tokenizer", byteLevel},
          {"decoder", byteLevel},
          {"model", {{"type", "BPE"}, {"vocab", {{"<s>", 0}, {"a", 1}, {"b", 2}, {"ab", 3}}}, {"merges", json::array({"a b"})}}}};
}

json wordpiece() {
  return {{"added_tokens", json::array()},
          {"normalizer",
           {{"type", "BertNormalizer"}, {"clean_text", true}, {"handle_chinese_chars", true}, {"strip_accents", nullptr}, {"lowercase", true}}},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
          {"model",
           {{"type", "WordPiece"}, {"unk_token", "?"}, {"continuing_subword_prefix", "##"}, {"max_input_chars_per_word", 100},
            {"vocab", {{"?", 0}, {"a", 1}}}}}};
}

std::string message(const std::string &text) {
  auto read = readTokenizer("t.json", text);
  return read ? "" : llvm::toString(read.takeError());
}
/// With a member replaced.
std::string message(json file, const char *place, json value) {
  file[json::json_pointer(place)] = std::move(value);
  return message(file.dump());
}

xf_tokenizer headOf(const json &file) {
  std::string table = llvm::cantFail(readTokenizer("t.json", file.dump())).table;
  xf_tokenizer head{};
  EXPECT_GE(table.size(), sizeof(head));
  std::memcpy(&head, table.data(), std::min(table.size(), sizeof(head)));
  return head;
}

TEST(Tokenizer, isATable) {
  for (const json &file : {bpe(), wordpiece()}) {
    auto read = readTokenizer("t.json", file.dump());
    ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
    xf_tokenizer head = headOf(file);
    EXPECT_STREQ(head.magic, XF_TOKENIZER_MAGIC);
    EXPECT_EQ(read->tokens, int64_t(head.token_flags.count));
    EXPECT_EQ(read->tokens, file.contains("version") ? 5 : 2);
  }
}

TEST(Tokenizer, mayHaveMergesOfEitherForm) {
  EXPECT_EQ(message(bpe(), "/model/merges", json::array({json::array({"a", "b"})})), "");
  EXPECT_EQ(message(bpe(), "/model/merges", {"#version: 0.2", "a b"}), "");
}

TEST(Tokenizer, isRefusedWhereItIsNone) {
  for (const char *text : {"", "[1]", "{", "{\"model\": \"\xff\"}", "\"a\"", "1e999"})
    EXPECT_EQ(message(text), "t.json: it is no JSON object") << text;
  EXPECT_EQ(message("{}"), "t.json: it has no 'model', and is no tokenizer.json");
  EXPECT_EQ(message("{\"model\": 3}"), "t.json: 'model' of the file is no object");
}

TEST(Tokenizer, isRefusedWhereItsTokensAreWrong) {
  EXPECT_EQ(message(bpe(), "/model/vocab", json::array()), "t.json: 'vocab' of the model is no object");
  EXPECT_EQ(message(bpe(), "/model/vocab/b", 1), "t.json: the tokens 'a' and 'b' have the same id 1");
  for (json id : {json(-1), json(1.5), json("1"), json(nullptr), json(UINT64_MAX), json(1 << 22)})
    EXPECT_EQ(message(bpe(), "/model/vocab/b", id), "t.json: the id of the token 'b' is no number from 0 to 4194303");
  EXPECT_EQ(message(bpe(), "/model/merges", 3), "t.json: 'merges' of the model is no list");
  EXPECT_EQ(message(bpe(), "/model/merges", {"a b", "a"}), "t.json: the merge 2 of the model is not two tokens");
  EXPECT_EQ(message(bpe(), "/model/merges", {"a b c"}), "t.json: the merge 1 of the model is not two tokens");
  EXPECT_EQ(message(bpe(), "/model/merges", {"b a"}), "t.json: the merge 1 of the model has a token that is not in its vocabulary, 'ba'");
  EXPECT_EQ(message(bpe(), "/model/unk_token", "?"), "t.json: 'unk_token' of the model, '?', is not in its vocabulary");
  EXPECT_EQ(message(bpe(), "/added_tokens/0/id", 2), "t.json: the added token '<s>' has the id 2, but 0 in the vocabulary");
  EXPECT_EQ(message(bpe(), "/added_tokens/1/id", 3), "t.json: the added token '<sep>' has the id 3, but 4 is the number of tokens before it");
  EXPECT_EQ(message(bpe(), "/added_tokens/1/content", "b"), "t.json: the added token 'b' has the id 4, but 2 in the vocabulary");
  EXPECT_EQ(message(bpe(), "/added_tokens/1/id", 5), "t.json: the added token '<sep>' has the id 5, but 4 is the number of tokens before it");
  json gap = bpe(); // the library gives ids that are taken
  gap["model"]["vocab"]["ab"] = 4;
  EXPECT_EQ(message(gap.dump()), "t.json: the tokens 'ab' and '<sep>' have the same id 4");
  gap["added_tokens"][1]["id"] = 5;
  EXPECT_EQ(message(gap.dump()), "t.json: the added token '<sep>' has the id 5, but 4 is the number of tokens before it");
  EXPECT_EQ(message(bpe(), "/added_tokens/1/content", "<s>"), "t.json: the added token '<s>' is there twice");
  // Tokens without a name are there, but no text is cut into them, and added ones are none.
  json nameless = bpe();
  nameless["model"]["vocab"][""] = 4;
  nameless["model"]["unk_token"] = "";
  nameless["added_tokens"][1]["id"] = 5;
  nameless["added_tokens"].push_back(addedToken(4, "", true));
  EXPECT_EQ(message(nameless.dump()), "");
  EXPECT_EQ(headOf(nameless).unknown, 4);
  EXPECT_EQ(message(bpe(), "/added_tokens/1", addedToken(0, "<s>", true)), "t.json: the added token '<s>' is there twice");
  EXPECT_EQ(message(bpe(), "/added_tokens/1", 3), "t.json: 'content' of an added token is no text");
  EXPECT_EQ(message(bpe(), "/added_tokens/1/special", nullptr), "t.json: 'special' of the added token '<sep>' is neither true nor false");
  EXPECT_EQ(message(bpe(), "/added_tokens/0", addedToken(1, "a", true)), "t.json: the special token 'a' stands for a byte of text");
}

TEST(Tokenizer, isRefusedWhereNormalisedTokensAreTheSame) {
  json same = bpe();
  same["normalizer"] = {{"type", "Lowercase"}};
  same["added_tokens"].push_back(addedToken(5, "<SEP>", true));
  EXPECT_EQ(message(same.dump()), "");
  for (int token : {1, 2})
    same["added_tokens"][token]["normalized"] = true;
  EXPECT_EQ(message(same.dump()), "t.json: the added tokens '<sep>' and '<SEP>' are the same text when they are normalised");
}

TEST(Tokenizer, isRefusedWhereItIsNotSupported) {
  EXPECT_EQ(message(bpe(), "/model/dropout", 0.1), "t.json: 'dropout' of the model is not supported");
  EXPECT_EQ(message(bpe(), "/model/dropout", 0.0), "");
  EXPECT_EQ(message(bpe(), "/model/end_of_word_suffix", "</w>"), "t.json: 'end_of_word_suffix' of the model is not supported");
  EXPECT_EQ(message(bpe(), "/model/byte_fallback", true),
            "t.json: 'byte_fallback' of the model is not supported; where there is a SentencePiece model of it, give that (--source-spm, "
            "--target-spm)");
  EXPECT_EQ(message(bpe(), "/model/new", 1), "t.json: the model has a member 'new' that is not known");
  EXPECT_EQ(message(bpe(), "/model/type", "WordLevel"), "t.json: the model 'WordLevel' is not supported (only 'BPE' and 'WordPiece' are)");
  EXPECT_EQ(message(bpe(), "/normalizer", {{"type", "NFKC"}}), "t.json: the normalizer 'NFKC' is not supported");
  EXPECT_EQ(message(bpe(), "/pre_tokenizer", {{"type", "Metaspace"}}),
            "t.json: the pre-tokenizer 'Metaspace' is not supported: with the model 'BPE' it is 'ByteLevel'; pieces of SentencePiece models need "
            "those (--source-spm, --target-spm)");
  EXPECT_EQ(message(bpe(), "/decoder", nullptr),
            "t.json: 'decoder' is missing: with the model 'BPE' it is 'ByteLevel'; pieces of SentencePiece models need those (--source-spm, "
            "--target-spm)");
  EXPECT_EQ(message(wordpiece(), "/pre_tokenizer", {{"type", "Whitespace"}}),
            "t.json: the pre-tokenizer 'Whitespace' is not supported: with the model 'WordPiece' it is 'BertPreTokenizer'");
  EXPECT_EQ(message(wordpiece(), "/model/unk_token", nullptr), "t.json: 'unk_token' of the model is no text");
  EXPECT_EQ(message(wordpiece(), "/model/max_input_chars_per_word", -1),
            "t.json: 'max_input_chars_per_word' of the model is no number from 0 to 65536");
  json split = {{"type", "Split"}, {"pattern", {{"Regex", "a+"}}}, {"behavior", "Isolated"}, {"invert", false}};
  json behind = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  json sequence = {{"type", "Sequence"}, {"pretokenizers", {split, behind}}};
  EXPECT_EQ(message(bpe(), "/pre_tokenizer", sequence),
            "t.json: the pattern 'a+' of the pre-tokenizer 'Split' is not supported: those of GPT-2, Llama 3 and Qwen2 are");
  json deep = {{"type", "Lowercase"}};
  for (int i = 0; i < 9; ++i)
    deep = {{"type", "Sequence"}, {"normalizers", {deep}}};
  EXPECT_EQ(message(bpe(), "/normalizer", deep), "t.json: normalizers stand within each other too deeply");
  EXPECT_EQ(message(std::string(1 << 20, '[')), "t.json: it is no JSON object");
}

TEST(Tokenizer, knowsUnicode) {
  EXPECT_EQ(normalised("\xc3\x84 \xed\x95\x9c", {XF_TOKENIZER_DECOMPOSE}), "A\xcc\x88 \xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab");
  EXPECT_EQ(normalised("A\xcc\x88", {XF_TOKENIZER_DECOMPOSE, XF_TOKENIZER_COMPOSE, XF_TOKENIZER_LOWER}), "\xc3\xa4");
  EXPECT_EQ(normalised("\xc3\x84\xe4\xb8\xad", {XF_TOKENIZER_SPACE_CJK, XF_TOKENIZER_DECOMPOSE, XF_TOKENIZER_STRIP_NONSPACING}), "A \xe4\xb8\xad ");
  EXPECT_EQ(normalised("a\tb\x01", {XF_TOKENIZER_CLEAN}), "a b");
  EXPECT_EQ(lowerOf(0x130), (std::vector<uint32_t>{'i', 0x307}));
  EXPECT_EQ(classesOf(' '), XF_TOKENIZER_SPACE);
  EXPECT_EQ(classesOf('$') & XF_TOKENIZER_PUNCTUATION, XF_TOKENIZER_PUNCTUATION);
  EXPECT_EQ(combiningClassOf(0x301), 230);
  for (auto [point, isNonspacing] : {std::pair(0x301, true), {0x1734, true}, {0x1885, false}, {0x1886, false}, {0xa9bd, false}})
    EXPECT_EQ((classesOf(point) & XF_TOKENIZER_NONSPACING) != 0, isNonspacing) << point;
}

/// A byte of a sound file, or some that are left out: an error, or a file.
TEST(Tokenizer, isReadOrRefusedWhereItIsDamaged) {
  std::mt19937 random(1);
  json tiny = wordpiece();
  tiny["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}}}};
  for (const json &file : {bpe(), tiny}) {
    std::string sound = file.dump();
    int good = 0;
    for (int i = 0; i < 300; ++i) {
      std::string text = sound;
      if (i % 2)
        text[random() % text.size()] = "0129-\"{}[]:,.aetx\\"[random() % 18];
      else
        text.erase(random() % text.size(), 1 + random() % 5);
      std::string problem = message(text);
      good += problem.empty();
      EXPECT_TRUE(problem.empty() || problem.starts_with("t.json: ")) << problem;
    }
    EXPECT_LT(good, 300);
  }
}

} // namespace
