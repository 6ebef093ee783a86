// What a tokenizer.json says, and what is refused of it. e2e.tokenizers compares what programs make of one with the library that writes them.
#include "compiler/Import/Tokenizer.h"
#include "compiler/Import/TokenizerContents.h"
#include "compiler/Import/TokenizerUnicode.h"
#include "runtime/abi/xf_tokenizer.h"

#include "llvm/Support/Base64.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <random>

using namespace xf;
using nlohmann::json;

namespace {

json addedToken(int id, const char *content, bool isSpecial) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
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
           {{"type", "WordPiece"},
            {"unk_token", "?"},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 100},
            {"vocab", {{"?", 0}, {"a", 1}}}}}};
}

json metaspace(const char *scheme) { return {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", scheme}, {"split", true}}; }

json unigram() {
  json vocab = json::array({json::array({"<unk>", 0}), json::array({"</s>", 0.0}), json::array({"▁a", -10.425487518310547})});
  return {{"added_tokens", json::array({addedToken(1, "</s>", true)})},
          {"pre_tokenizer", metaspace("always")},
          {"decoder", metaspace("always")},
          {"model", {{"type", "Unigram"}, {"unk_id", 0}, {"byte_fallback", false}, {"vocab", vocab}}}};
}

/// Of characters, and bytes where there is none.
json characters() {
  json blanks = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}}, back = blanks;
  back["pattern"]["String"].swap(back["content"]);
  json decoders = {back, {{"type", "ByteFallback"}}, {{"type", "Fuse"}}, {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}};
  return {{"normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "Prepend"}, {"prepend", "▁"}}, blanks}}}},
          {"decoder", {{"type", "Sequence"}, {"decoders", decoders}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", "<unk>"},
            {"fuse_unk", true},
            {"byte_fallback", true},
            {"merges", json::array({"▁ a"})},
            {"vocab", {{"<unk>", 0}, {"<0x41>", 1}, {"▁", 2}, {"a", 3}, {"▁a", 4}}}}}};
}

std::string message(const std::string &text) {
  auto read = readTokenizer("t.json", text);
  return read ? "" : llvm::toString(read.takeError());
}
/// With a member replaced.
std::string message(json file, const char *pointer, json value) {
  file[json::json_pointer(pointer)] = std::move(value);
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
  for (const json &file : {bpe(), wordpiece(), unigram(), characters()}) {
    auto read = readTokenizer("t.json", file.dump());
    ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
    xf_tokenizer head = headOf(file);
    EXPECT_STREQ(head.magic, XF_TOKENIZER_MAGIC);
    EXPECT_EQ(read->tokens, int64_t(head.token_flags.count));
  }
}

TEST(Tokenizer, hasTheScoresThatTheLibraryReads) {
  std::string table = llvm::cantFail(readTokenizer("t.json", unigram().dump())).table;
  xf_tokenizer head = headOf(unigram());
  ASSERT_EQ(head.scores.count, 3u);
  double score = 0;
  std::memcpy(&score, table.data() + head.scores.offset + 16, sizeof(score));
  EXPECT_EQ(score, -10.425487518310549) << "which is not the nearest";
  EXPECT_EQ(head.unknown_score, score - 10);
}

TEST(Tokenizer, mayBeOfBytesOrCharacters) {
  EXPECT_EQ(headOf(bpe()).kind, uint32_t(XF_TOKENIZER_BYTE_BPE));
  xf_tokenizer head = headOf(characters());
  EXPECT_EQ(head.kind, uint32_t(XF_TOKENIZER_BPE));
  EXPECT_EQ(head.of_byte[0x41], 1);
  EXPECT_EQ(head.of_byte[0x42], -1);
  EXPECT_EQ(head.dropped, 1u);
  EXPECT_EQ(head.growth, 3u);
  json special = characters(); // of which no text is made
  special["added_tokens"] = json::array({addedToken(1, "<0x41>", true)});
  EXPECT_EQ(headOf(special).of_byte[0x41], -1);
}

/// What a file with this post-processor puts around a text; "?" if that is not known.
std::string affixes(const json &processor) {
  json file = bpe();
  file["post_processor"] = processor;
  auto read = llvm::cantFail(readTokenizer("t.json", file.dump())).affixes;
  return read ? json(read->before).dump() + json(read->after).dump() : "?";
}

TEST(Tokenizer, tellsWhatGoesAroundAText) {
  auto special = [](const char *name) -> json { return {{"SpecialToken", {{"id", name}, {"type_id", 0}}}}; };
  json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
       tokens = {{"<s>", {{"id", "<s>"}, {"ids", {0}}, {"tokens", {"<s>"}}}}, {"end", {{"id", "end"}, {"ids", {4, 2}}, {"tokens", {"<sep>", "b"}}}}};
  json around = {
      {"type", "TemplateProcessing"}, {"single", {special("<s>"), text, special("end")}}, {"pair", json::array()}, {"special_tokens", tokens}};
  json bytes = {{"type", "ByteLevel"}}, roberta = {{"type", "RobertaProcessing"}, {"sep", {"</s>", 2}}, {"cls", {"<s>", 1}}};
  EXPECT_EQ(affixes(around), "[0][4,2]");
  EXPECT_EQ(affixes(roberta), "[1][2]");
  EXPECT_EQ(affixes(bytes), "[][]");
  EXPECT_EQ(affixes({{"type", "Sequence"}, {"processors", {bytes, around, roberta}}}), "[1,0][4,2,2]");
  around["single"] = {text};
  EXPECT_EQ(affixes(around), "[][]");
  for (const char *broken : {"null", "7", "{}", R"({"type": "Other"})", R"({"type": "TemplateProcessing", "single": "$A"})", R"({"type": 3})",
                             R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}, {"Sequence": {}}]})",
                             R"({"type": "TemplateProcessing", "single": [7, null]})", R"({"type": "BertProcessing", "cls": ["x"]})",
                             R"({"type": "Sequence", "processors": [{"type": "ByteLevel"}, 3]})", R"({"type": "Sequence", "processors": 3})"})
    EXPECT_EQ(affixes(json::parse(broken)), "?") << broken;
}

TEST(Tokenizer, mayHaveMergesOfEitherForm) {
  EXPECT_EQ(message(bpe(), "/model/merges", json::array({json::array({"a", "b"})})), "");
  EXPECT_EQ(message(bpe(), "/model/merges", {"#version: 0.2", "a b"}), "");
}

TEST(Tokenizer, isRefusedWhereItIsNone) {
  for (const char *text : {"[1]", "\"a\""})
    EXPECT_EQ(message(text), "t.json: it is no JSON object") << text;
  for (const char *text : {"", "{", "{\"model\": \"\xff\"}", "1e999", "{\n\"model\": 1,\n}"})
    EXPECT_TRUE(llvm::StringRef(message(text)).starts_with("t.json: it is no JSON object: ")) << text;
  EXPECT_TRUE(llvm::StringRef(message("{\n\"model\": 1,\n}")).contains(": parse error at line 3, column 1: "));
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
  EXPECT_EQ(message(bpe(), "/model/byte_fallback", true), "t.json: 'byte_fallback' of the model is not supported with the pre-tokenizer 'ByteLevel'");
  EXPECT_EQ(message(bpe(), "/model/new", 1), "t.json: the model has a member 'new' that is not known");
  EXPECT_EQ(message(bpe(), "/model/type", "Other"),
            "t.json: the model 'Other' is not supported (only 'BPE', 'Unigram', 'WordPiece' and 'WordLevel' are)");
  EXPECT_EQ(message(bpe(), "/normalizer", {{"type", "NFKC"}}), "");
  EXPECT_EQ(message(bpe(), "/normalizer", {{"type", "ByteLevel"}}), "t.json: the normalizer 'ByteLevel' is not supported");
  EXPECT_EQ(message(bpe(), "/pre_tokenizer", metaspace("always")),
            "t.json: the decoder 'ByteLevel' is not supported: 'WordPiece', 'Metaspace' and a 'Sequence' as Llama's are");
  EXPECT_EQ(message(bpe(), "/decoder", nullptr), "t.json: 'decoder' is missing: with the pre-tokenizer 'ByteLevel' it is 'ByteLevel'");
  EXPECT_EQ(message(bpe(), "/decoder/type", "Fuse"),
            "t.json: the decoder 'Fuse' is not supported: with the pre-tokenizer 'ByteLevel' it is 'ByteLevel'");
  EXPECT_EQ(message(wordpiece(), "/pre_tokenizer", {{"type", "Digits"}}),
            "t.json: the pre-tokenizer 'Digits' is not supported: 'BertPreTokenizer', 'Whitespace', 'WhitespaceSplit' and 'Metaspace' are");
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
  EXPECT_EQ(message(std::string(1 << 20, '[')),
            "t.json: it is no JSON object: parse error at line 1, column 101: more than 100 lists and objects stand within each other");
}

TEST(Tokenizer, isRefusedWhereItsPiecesAreNotSupported) {
  EXPECT_EQ(message(unigram(), "/model/vocab", json::object()), "t.json: 'vocab' of the model is no list");
  EXPECT_EQ(message(unigram(), "/model/vocab/2", json::array({"</s>", -1})), "t.json: the token '</s>' is there twice in the model");
  EXPECT_EQ(message(unigram(), "/model/vocab/2", json::array({"a", "b"})), "t.json: the token 2 of the model is not a text and a score");
  EXPECT_EQ(message(unigram(), "/model/unk_id", nullptr), "t.json: 'unk_id' of the model is no number from 0 to 2");
  EXPECT_EQ(message({{"model", {{"type", "Unigram"}, {"vocab", json::array()}}}}, "/added_tokens", json::array()), "t.json: its model has no tokens");
  EXPECT_EQ(message(unigram(), "/pre_tokenizer/replacement", "_"), "t.json: 'replacement' '_' of the pre-tokenizer 'Metaspace' is not supported");
  EXPECT_EQ(message(unigram(), "/pre_tokenizer/prepend_scheme", "?"), "t.json: 'prepend_scheme' '?' of the pre-tokenizer 'Metaspace' is not known");
  EXPECT_EQ(message(unigram(), "/pre_tokenizer/add_prefix_space", false),
            "t.json: 'add_prefix_space' and 'prepend_scheme' of the pre-tokenizer 'Metaspace' contradict each other");
  EXPECT_EQ(message(unigram(), "/decoder", nullptr), "");
  json splits = {{"type", "Sequence"}, {"pretokenizers", {{{"type", "WhitespaceSplit"}}, metaspace("always")}}};
  EXPECT_EQ(message(unigram(), "/pre_tokenizer", splits), "");
  std::swap(splits["pretokenizers"][0], splits["pretokenizers"][1]);
  EXPECT_EQ(message(unigram(), "/pre_tokenizer", splits), "t.json: the pre-tokenizer 'WhitespaceSplit' is not supported behind another");
  splits["pretokenizers"] = {{{"type", "WhitespaceSplit"}}, metaspace("first")};
  const std::string first = "t.json: 'prepend_scheme' 'first' of the pre-tokenizer 'Metaspace' is not supported with the stages before it";
  EXPECT_EQ(message(unigram(), "/pre_tokenizer", splits), first);
  json begins = unigram();
  begins["pre_tokenizer"] = metaspace("first");
  EXPECT_EQ(message(begins, "/normalizer", {{"type", "NFKC"}}), "");
  for (const char *type : {"StripAccents", "Nmt"})
    EXPECT_EQ(message(begins, "/normalizer", {{"type", type}}), first);
  EXPECT_EQ(message(begins, "/normalizer", {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}}), first);
  EXPECT_EQ(message(begins, "/normalizer", {{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}}), "");
  auto replaced = [](json pattern) { return json{{"type", "Replace"}, {"pattern", std::move(pattern)}, {"content", "▁"}}; };
  json prepended = {{"type", "Prepend"}, {"prepend", "ab"}};
  auto normalizers = [](json one, json other) {
    return json{{"type", "Sequence"}, {"normalizers", json::array({std::move(one), std::move(other)})}};
  };
  for (const json &pattern : {json{{"String", "  "}}, json{{"Regex", " {2,}"}}}) {
    EXPECT_EQ(message(begins, "/normalizer", normalizers(replaced(pattern), prepended)), first);
    EXPECT_EQ(message(begins, "/normalizer", normalizers(prepended, replaced(pattern))), "");
  }
  json gemma = {{"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}, {"invert", false}};
  EXPECT_EQ(message(characters(), "/pre_tokenizer", gemma), "");
  EXPECT_EQ(message(unigram(), "/pre_tokenizer", gemma),
            "t.json: the pre-tokenizer 'Split' is supported at blanks that the normalizer has replaced, or with 'ByteLevel'");
  json foo = characters();
  foo["added_tokens"] = json::array({addedToken(3, "a", false)});
  EXPECT_EQ(message(foo.dump()), "");
  EXPECT_EQ(message(foo, "/added_tokens/0/normalized", true),
            "t.json: the added token 'a', which is one of the model's, is another when it is normalised");
}

TEST(Tokenizer, isRefusedWhereItsDecodersAreNotSupported) {
  const std::string order = " is not supported there in a 'Sequence': 'Replace', 'ByteFallback', 'Fuse' and 'Strip' are, in this order";
  auto without = [](int decoder) {
    json file = characters();
    file["decoder"]["decoders"].erase(size_t(decoder));
    return message(file.dump());
  };
  EXPECT_EQ(without(0), "t.json: the decoder 'ByteFallback'" + order);
  EXPECT_EQ(without(1), "");
  EXPECT_EQ(without(2), "t.json: the decoder 'Strip'" + order);
  EXPECT_EQ(without(3), "");
  EXPECT_EQ(message(characters(), "/decoder/decoders", json::array()), "t.json: the decoder 'Sequence' is empty");
  EXPECT_EQ(message(characters(), "/decoder/decoders/0/content", "_"), "t.json: the decoder 'Replace' is supported of '▁' by ' ' only");
  for (auto [member, value] : {std::pair("content", json("_")), {"stop", json(1)}})
    EXPECT_EQ(message(characters(), ("/decoder/decoders/3/" + std::string(member)).c_str(), value),
              "t.json: the decoder 'Strip' is supported of blanks at the beginning only");
}

/// A table whose keys of `length` letters are all that there are, in nodes which they share, and have one replacement.
std::string sharedCharacterMap(unsigned length, const std::string &to) {
  std::vector<uint32_t> units(256 * (length + 2)); // children of the nodes at each depth
  units[0] = 256 << 10;
  for (uint32_t depth = 1; depth <= length; ++depth)
    for (uint32_t letter = 'a'; letter <= 'z'; ++letter) {
      uint32_t at = (256 * depth) ^ letter;
      units[at] = (at ^ (256 * (depth + 1))) << 10 | (depth == length) << 8 | letter;
    }
  units[256 * (length + 1)] = 1u << 31;
  uint32_t size = units.size() * 4;
  std::string bytes(reinterpret_cast<const char *>(&size), 4);
  bytes.append(reinterpret_cast<const char *>(units.data()), size);
  return llvm::encodeBase64(bytes + to + '\0');
}

TEST(Tokenizer, isRefusedBeforeItsCharacterMapGrows) {
  auto refused = [](unsigned length, const std::string &to) {
    return message(unigram(), "/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", sharedCharacterMap(length, to)}});
  };
  const std::string where = "t.json: 'precompiled_charsmap' of the normalizer 'Precompiled' ";
  EXPECT_EQ(refused(2, std::string(32, 'x')), "");
  EXPECT_EQ(refused(1, std::string(33, 'x')), "t.json: the normalizer makes 33 characters of one");
  EXPECT_EQ(refused(4, std::string(1 << 20, 'x')), where + "makes more characters of some than programs do");
  EXPECT_EQ(refused(5, "x"), where + "has more rules than make sense");
  EXPECT_EQ(refused(60, "x"), where + "is damaged");
}

TEST(Tokenizer, isRefusedWhereItsNormalizerIsNotSupported) {
  auto refused = [](const json &normalizer) { return message(unigram(), "/normalizer", normalizer); };
  json replace = {{"type", "Replace"}, {"pattern", {{"Regex", "\\s+"}}}, {"content", " "}};
  EXPECT_EQ(refused(replace), "t.json: the pattern '\\s+' of the normalizer 'Replace' is not supported (only ' {2,}' is)");
  replace["pattern"] = {{"String", ""}};
  EXPECT_EQ(refused(replace), "t.json: 'pattern' of the normalizer 'Replace' is empty");
  replace = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(300, 'b')}};
  EXPECT_EQ(refused(replace), "t.json: text would grow too long when it is normalised");
  EXPECT_EQ(refused({{"type", "Prepend"}, {"prepend", std::string(17, 'a')}}), "t.json: 'prepend' of the normalizer 'Prepend' is too long");
  json map = {{"type", "Precompiled"}, {"precompiled_charsmap", "BAAAAAAAAAAA"}}; // a trie of nothing
  EXPECT_EQ(refused(map), "");
  for (const char *damaged : {"", "?", "AAAA", "BQAAAAAAAAAA", "CAAAAAAAAAAA"}) {
    map["precompiled_charsmap"] = damaged;
    EXPECT_EQ(refused(map), "t.json: 'precompiled_charsmap' of the normalizer 'Precompiled' is damaged") << damaged;
  }
}

/// What a normalizer makes of text.
std::string normalised(llvm::StringRef text, const json &normalizer) {
  TokenizerJson reader;
  std::vector<NormalizerStep> steps = readNormalizer(reader, {{"normalizer", normalizer}});
  EXPECT_EQ(reader.getProblem(), "");
  return xf::normalised(text, steps);
}
/// The same of one without settings.
std::string normalised(llvm::StringRef text, const char *type) { return normalised(text, json{{"type", type}}); }
std::string replaced(llvm::StringRef text, const json &pattern, const char *content) {
  return normalised(text, json{{"type", "Replace"}, {"pattern", pattern}, {"content", content}});
}

TEST(Tokenizer, normalisesText) {
  EXPECT_EQ(normalised("\xc3\x84 \xed\x95\x9c", "NFD"), "A\xcc\x88 \xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab");
  EXPECT_EQ(normalised("A\xcc\x88", "NFC"), "\xc3\x84");
  EXPECT_EQ(normalised("\xef\xac\x81\xe1\xba\x9b", "NFKD"), "fis\xcc\x87");
  EXPECT_EQ(normalised("\xef\xbc\xa1\xcc\x88", "NFKC"), "\xc3\x84");
  EXPECT_EQ(normalised("\xc3\x84", "Lowercase"), "\xc3\xa4");
  EXPECT_EQ(normalised("a\t\x01\xe2\x80\x8b"
                       "b",
                       "Nmt"),
            "a  b");
  json bert = {{"type", "BertNormalizer"}, {"clean_text", true}, {"handle_chinese_chars", true}, {"strip_accents", true}, {"lowercase", false}};
  EXPECT_EQ(normalised("\xc3\x84\t\x01\xe4\xb8\xad", bert), "A  \xe4\xb8\xad ");
  EXPECT_EQ(replaced("aaab", {{"String", "aa"}}, "x"), "xab");
  EXPECT_EQ(replaced("  a b   ", {{"Regex", " {2,}"}}, "_"), "_a b_");
  EXPECT_EQ(normalised(" a ", json{{"type", "Strip"}, {"strip_left", true}, {"strip_right", false}}), "a ");
  EXPECT_EQ(normalised(" a ", json{{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}}), " a");
  EXPECT_EQ(normalised("a", json{{"type", "Prepend"}, {"prepend", "_"}}), "_a");
  EXPECT_EQ(normalised("", json{{"type", "Prepend"}, {"prepend", "_"}}), "");
}

/// Where clusters end, as Unicode's annex 29 has it.
std::string clusters(std::u32string_view text) {
  std::string ends;
  uint32_t state = 0;
  for (char32_t point : text)
    ends += xf_tokenizer_joins(&state, clusterClassOf(point)) ? '+' : '|';
  return ends;
}

TEST(Tokenizer, knowsClusters) {
  EXPECT_EQ(clusters(U"ab\u0301\u0308c"), "||++|");
  EXPECT_EQ(clusters(U"\r\n\n\u0301\r"), "|+|||");
  EXPECT_EQ(clusters(U"\u0600a\u0600\n"), "|+||");
  EXPECT_EQ(clusters(U"\u1100\u1161\u11a8\u1161\uac00\u11a8\uac01\u1100\uac00"), "|++||+||+");
  EXPECT_EQ(clusters(U"\U0001f1e9\U0001f1ea\U0001f1eb\u0301\U0001f1e9"), "|+|+|");
  EXPECT_EQ(clusters(U"\u00a9\u0301\u200d\u00a9\u200d\u200d\u00a9a\u200d\u00a9"), "|+++++||+|");
  EXPECT_EQ(clusters(U"\u0915\u094d\u0301\u0924\u0915\u0301\u0924"), "|+++|+|");
  EXPECT_EQ(clusters(U"a\u0903\u200c"), "|++");
}

TEST(Tokenizer, knowsUnicode) {
  EXPECT_EQ(lowercaseOf(0x130), (std::vector<uint32_t>{'i', 0x307}));
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
  for (const json &file : {bpe(), tiny, unigram(), characters()}) {
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
