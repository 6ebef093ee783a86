// SentencePiece models: cutting text and putting it together again, and models that are damaged. e2e.subwords compares with the library.
#include "runtime/core/error.h"
#include "runtime/text/codec.h"
#include "runtime/text/subwords.h"
#include "runtime/text/text_stream.h"
#include "test/runtime/sample_math.h"
#include "test/runtime/sample_model.h"
#include "test/runtime/spm_files.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace xf::rt;
using namespace spm;

std::vector<int32_t> encode(const std::string &file, std::string_view text, size_t max_pieces = 1000) {
  subword_model model(file);
  std::vector<int32_t> ids;
  encode_subwords(model, text, max_pieces, ids);
  return ids;
}
std::string decode(const std::string &file, const std::vector<int32_t> &ids) {
  subword_model model(file);
  std::vector<subword_piece> pieces;
  for (int32_t id : ids)
    pieces.push_back(model.piece(id));
  std::string text;
  decode_subwords(model, pieces, text);
  return text;
}
std::string message(const std::string &file) {
  try {
    subword_model model(file);
  } catch (const error &problem) {
    return problem.what();
  }
  return "";
}

using ids = std::vector<int32_t>;
const std::string kBlank(kSpacePiece);
//  2: _ab, 3: a, 4: b, 5: _, 6: ab, 7: abc
const std::vector<made> kPieces = {{kBlank + "ab", -3}, {"a", -2}, {"b", -2}, {kBlank, -1}, {"ab", -3.5f}, {"abc", -9}};

TEST(subwords, of_a_unigram_model_are_the_most_probable) {
  std::string model = model_of(kPieces, subword_kind::unigram);
  EXPECT_EQ(encode(model, "ab ab"), (ids{2, 2}));
  EXPECT_EQ(encode(model, "  ab   a "), (ids{2, 5, 3}));
  EXPECT_EQ(encode(model, "abab"), (ids{2, 6}));
  EXPECT_EQ(encode(model, "xyza"), (ids{5, 0, 3})); // unknown ones that follow each other are one
  EXPECT_EQ(encode(model, ""), (ids{}));
  EXPECT_EQ(encode(model, "   "), (ids{}));
  EXPECT_EQ(encode(model, "ab ab", 2), (ids{2, 2}));
  EXPECT_EQ(encode(model, "ab ab", 1), (ids{2}));
  ids first;
  EXPECT_EQ(encode_subwords(subword_model(model), "ab ab", 1, first), 2u) << "of which one is wanted";
  EXPECT_EQ(decode(model, {2, 2, 6}), "ab abab");
  EXPECT_EQ(decode(model, {1, 5, 3, 0}), "a \xe2\x81\x87 ");
}

TEST(subwords, may_begin_with_the_same_bytes) {
  const std::string zero(1, '\0');
  std::vector<made> pieces = {{kBlank, -1},      {"abcdefgh", -2}, {"abcdefghi", -2}, {"abcdefghij", -2},
                              {"abcdefghk", -2}, {"ab", -2},       {"ab" + zero, -2}, {"ab" + zero + "c", -2}};
  std::string model = model_of(pieces, subword_kind::unigram);
  for (size_t i = 1; i < pieces.size(); ++i)
    EXPECT_EQ(encode(model, pieces[i].text), (ids{2, static_cast<int32_t>(i + 2)})) << i;
  EXPECT_EQ(encode(model, "abcdefghkababcdefghi"), (ids{2, 6, 7, 4}));
}

TEST(subwords, of_a_merging_model_are_merged_best_first) {
  std::vector<made> pieces = {{"a", -9}, {"b", -9}, {"c", -9}, {"ab", -1}, {"bc", -2}, {"abc", -3}, {kBlank, -9}};
  EXPECT_EQ(encode(model_of(pieces, subword_kind::bpe), "abc bc"), (ids{8, 7, 8, 6}));
  pieces[5].type = piece_type::unused; // for merging only
  EXPECT_EQ(encode(model_of(pieces, subword_kind::bpe), "abc"), (ids{8, 5, 4}));
  pieces.push_back({"ca", 0, piece_type::user_defined});
  EXPECT_EQ(encode(model_of(pieces, subword_kind::bpe), "bcab"), (ids{8, 3, 9, 3}));
}

TEST(subwords, of_words_and_characters) {
  EXPECT_EQ(encode(model_of({{kBlank + "ab"}, {kBlank + "c"}}, subword_kind::word), "ab c d ab"), (ids{2, 3, 0, 2}));
  EXPECT_EQ(encode(model_of({{kBlank}, {"a"}, {"\xc3\xa4"}}, subword_kind::character), "a\xc3\xa4x"), (ids{2, 3, 4, 0}));
}

// Control and byte pieces are never cut from text, whatever it says.
TEST(subwords, of_reserved_pieces_are_text) {
  std::vector<made> pieces = {{"a"}, {"@", 0, piece_type::control}, {"<0x40>", 0, piece_type::byte}};
  std::string plain = integer(3, 0); // no blank in front
  for (subword_kind kind : {subword_kind::unigram, subword_kind::bpe, subword_kind::character})
    EXPECT_EQ(encode(model_of(pieces, kind, "", plain), "a@a"), (ids{2, 0, 2}));
  for (std::string_view text : {"@", "<s>", "<0x40>"})
    EXPECT_EQ(encode(model_of(pieces, subword_kind::word, "", plain), text), (ids{0})) << text;
  EXPECT_EQ(encode(model_of(pieces, subword_kind::character, integer(35, 1), plain), "@"), (ids{4})) << "by its byte";
}

TEST(subwords, stand_for_bytes_where_there_is_nothing_else) {
  std::vector<made> pieces = {{kBlank}};
  for (const char *byte : {"<0xC3>", "<0xA4>", "<0x78>"})
    pieces.push_back({byte, 0, piece_type::byte});
  std::string model = model_of(pieces, subword_kind::unigram, integer(35, 1));
  EXPECT_EQ(encode(model, "x\xc3\xa4"), (ids{2, 5, 3, 4}));
  EXPECT_EQ(decode(model, {2, 5, 3, 4}), "x\xc3\xa4");
  EXPECT_EQ(decode(model, {3, 5}), "\xef\xbf\xbdx"); // half a character
}

// Two entries of a double-array trie, from a and from ab, and their replacements.
TEST(subwords, are_of_text_that_is_normalised_first) {
  std::vector<uint32_t> units(512);
  auto set = [&](uint32_t at, char label, uint32_t next, bool leaf) {
    units[at] = (at ^ next) << 10 | uint32_t(leaf) << 8 | static_cast<uint8_t>(label);
  };
  units[0] = 256u << 10;                 // the root's children stand at 256 ^ their label
  set(256 ^ 'a', 'a', 128, true);        // "a" ends here, and goes on at 128 ^ label
  units[128] = 0x80000000u | 0;          // what "a" becomes: the string at 0
  set(128 ^ 'b', 'b', 64, true);         // "ab"
  units[64] = 0x80000000u | 2;           // the string at 2
  std::string map(4, '\0');
  uint32_t size = static_cast<uint32_t>(units.size() * 4);
  std::memcpy(map.data(), &size, 4);
  map.append(reinterpret_cast<const char *>(units.data()), size);
  map += std::string("x\0y z\0", 6);
  std::string model = model_of({{kBlank}, {"x"}, {"y"}, {"z"}, {"c"}}, subword_kind::character, "", bytes(2, map));
  EXPECT_EQ(encode(model, "ac"), (ids{2, 3, 6}));
  EXPECT_EQ(encode(model, "aabc"), (ids{2, 3, 4, 2, 5, 6}));
}

TEST(subwords, keep_blanks_if_the_model_does) {
  std::string keeps = integer(3, 0) + integer(4, 0);
  std::string model = model_of({{kBlank}, {"a"}}, subword_kind::unigram, "", keeps);
  EXPECT_EQ(encode(model, " a  a "), (ids{2, 3, 2, 2, 3, 2}));
  EXPECT_EQ(decode(model, {2, 3, 2, 2, 3, 2}), " a  a ");
}

TEST(subwords, text_comes_in_pieces) {
  std::vector<made> pieces = kPieces;
  pieces.push_back({kBlank + kBlank});
  for (const char *byte : {"<0xC3>", "<0xA4>", "<0x78>"})
    pieces.push_back({byte, 0, piece_type::byte});
  std::mt19937 random(1);
  for (const std::string &blanks : {integer(3, 1) + integer(4, 1), integer(3, 1) + integer(4, 0), integer(3, 0) + integer(4, 0)}) {
    const std::string file = model_of(pieces, subword_kind::unigram, integer(35, 1), blanks);
    auto decode_tokens = [&](std::span<const int32_t> tokens, std::string &text) { text += decode(file, {tokens.begin(), tokens.end()}); };
    for (int round = 0; round < 1000; ++round) {
      std::string got;
      text_stream stream(decode_tokens, [&](std::string_view piece) { got += piece; });
      ids tokens(random() % 12);
      for (int32_t &token : tokens)
        stream.push(token = static_cast<int32_t>(random() % (pieces.size() + 2)));
      std::string want = decode(file, tokens);
      stream.end(want);
      ASSERT_EQ(got, want) << round;
    }
  }
}

TEST(subwords, that_both_sides_have_are_read_once) {
  const std::string file = model_of(kPieces, subword_kind::unigram);
  sample::options o;
  o.split = XF_ABI_SUBWORDS, o.vocabulary = false, o.subwords = file;
  sample::aligned_bytes image(sample::build(o));
  std::shared_ptr<const model> m = open_model(image.data(), image.size());
  text_side source(*m, true, false), target(*m, false, false, &source);
  EXPECT_NE(source.subwords, nullptr);
  EXPECT_EQ(target.subwords, source.subwords);
  EXPECT_EQ(target.vocab, source.vocab);
}

TEST(subwords, are_as_many_as_are_possible) {
  std::string file = model_of(kPieces, subword_kind::unigram), text = "ab";
  sample::options o;
  o.model = sample::kind::tagger, o.split = XF_ABI_SUBWORDS, o.vocabulary = false, o.suffix = true, o.subwords = file;
  sample::aligned_bytes image(sample::build(o));
  std::shared_ptr<const model> m = open_model(image.data(), image.size());
  text_codec codec(*m, false);
  for (int i = 1; i < 100; ++i)
    text += " ab";
  ids tokens, wanted(sample::kSource - 1, 2);
  wanted.push_back(SAMPLE_END);
  EXPECT_TRUE(codec.encode(text, codec.model_affixes(), tokens, true));
  EXPECT_EQ(tokens, wanted);
  try {
    codec.encode(text, codec.model_affixes(), tokens);
    ADD_FAILURE() << "a line of 100 pieces is taken";
  } catch (const error &problem) {
    EXPECT_STREQ(problem.what(), "it has 101 tokens; at most 12 are possible");
  }
  EXPECT_EQ(tokens, wanted);
}

TEST(subwords, are_refused_where_a_model_is_damaged) {
  EXPECT_EQ(message(""), "it has no unknown piece, or is no SentencePiece model");
  EXPECT_EQ(message("what is this"), "it is no SentencePiece model, or damaged");
  EXPECT_EQ(message(model_of({{"a"}, {"a"}}, subword_kind::bpe)), "its piece 'a' is there twice");
  EXPECT_EQ(message(model_of({{""}}, subword_kind::bpe)), "its piece 2 is empty, no UTF-8, or without a score");
  EXPECT_EQ(message(model_of({{"<0xZZ>", 0, piece_type::byte}}, subword_kind::bpe)), "its piece '<0xZZ>' is no byte");
  EXPECT_EQ(message(model_of({{"<0x1Z>", 0, piece_type::byte}}, subword_kind::bpe)), "its piece '<0x1Z>' is no byte");
  std::string whole(59, 'z'), cut = whole + "öö"; // messages do not end within a character
  EXPECT_EQ(message(model_of({{cut}, {cut}}, subword_kind::bpe)), "its piece '" + whole + "…' is there twice");
  EXPECT_EQ(message(model_of({{cut, 0, piece_type::byte}}, subword_kind::bpe)), "its piece '" + whole + "…' is no byte");
  EXPECT_EQ(message(model_of({{"?", 0, piece_type::unknown}}, subword_kind::bpe)), "it has two unknown pieces");
  EXPECT_EQ(message(model_of({}, static_cast<subword_kind>(5))), "its kind is none of unigram, bpe, word and char");
  std::string map = bytes(2, std::string("\x08\0\0\0\0\0\0\0\0\0\0\0x", 13));
  EXPECT_THROW(encode(model_of({{"a"}}, subword_kind::unigram, "", map), "a"), error);
  EXPECT_THROW(encode(model_of(kPieces, subword_kind::unigram), std::string(kMaxNormalisedBytes + 1, 'a')), error);

  // A bit, or some bytes, of a sound one.
  std::string sound = model_of(kPieces, subword_kind::unigram, integer(35, 1),
                               bytes(2, std::string("\x04\0\0\0\0\0\0\0", 8) + std::string("x\0", 2)));
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string file = sound;
    if (i % 2)
      file[random() % file.size()] = static_cast<char>(random());
    else
      file.erase(random() % file.size(), 1 + random() % 5);
    try {
      encode(file, "ab x \xc3\xa4 abc");
    } catch (const error &) {
    }
  }
}

} // namespace
