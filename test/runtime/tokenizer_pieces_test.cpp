// Tokenizers' tables whose tokens are pieces of text or whole words, and how they rewrite text.
#include "test/runtime/tokenizer_tables.h"

#include <gtest/gtest.h>

namespace {

using namespace tokenizers;

TEST(tokenizer, merges_characters) {
  made m = characters();
  EXPECT_EQ(encode(m, "ab ab"), (ids{5, 5}));
  EXPECT_EQ(encode(m, " a"), (ids{3, 3, 1}));
  EXPECT_EQ(encode(m, "\xc3\xa4~\xe4\xb8\xad"), (ids{3, 6, 7, 8, 9})) << "what has no token is its bytes";
  EXPECT_EQ(encode(m, "a!?~b"), (ids{3, 1, 8, 0, 2})) << "where they all have one; unknown ones come behind those";
  m.head.flags = 0;
  EXPECT_EQ(encode(m, "!?b"), (ids{3, 0, 0, 2}));
  m.head.unknown = -1;
  EXPECT_EQ(encode(m, "a!b"), (ids{5})) << "or nothing";
}

TEST(tokenizer, cuts_the_most_probable_pieces) {
  made m = unigrams();
  EXPECT_EQ(encode(m, "ab"), (ids{2, 5})) << "of -6 and -7";
  m.scores[5] = -5;
  EXPECT_EQ(encode(m, "ab"), (ids{2, 5})) << "of equal ones the one that begins first";
  EXPECT_EQ(encode(m, "aba a"), (ids{6, 7, 6}));
  EXPECT_EQ(encode(m, "</s>"), (ids{2, 0})) << "no text is cut into special tokens, and unknown characters are one";
  EXPECT_EQ(encode(m, "<x>?<x>"), (ids{2, 8, 0, 8}));
  EXPECT_EQ(encode(m, "?<x>", 9, 3), (ids{2, 3, 8}));
  m.head.of_byte['~'] = 10;
  EXPECT_EQ(encode(m, "~~"), (ids{2, 10, 10}));
  EXPECT_EQ(encode(m, "~?~"), (ids{2, 0})) << "bytes are for all of them";
  m.scores[9] = -50;
  EXPECT_EQ(encode(m, "\xe2\x82\xac!"), (ids{2, 9})) << "which may be a token together";
}

TEST(tokenizer, takes_words_for_tokens) {
  made m = whole_words();
  EXPECT_EQ(encode(m, "a ab1!?\ta-a <s>"), (ids{1, 2, 3, 1, 0, 1, 0, 0, 0}));
  m.head.pattern = XF_TOKENIZER_BLANKS;
  EXPECT_EQ(encode(m, " a ab1 a! <s> "), (ids{1, 2, 0, 0}));
  m.head.pattern = XF_TOKENIZER_BERT;
  EXPECT_EQ(encode(m, "a!? a"), (ids{1, 0, 0, 1}));
  m.head.pattern = XF_TOKENIZER_NO_PATTERN;
  EXPECT_EQ(encode(m, "a"), (ids{1}));
  EXPECT_EQ(encode(m, "a "), (ids{0}));
  EXPECT_EQ(decode(m, {1, 4, 2, 3}), "a ab1 !?");
}

TEST(tokenizer, begins_words_with_blanks) {
  made m = unigrams();
  EXPECT_EQ(encode(m, "a  a" + kBlank + "b"), (ids{6, 2, 6, 2, 4}));
  EXPECT_EQ(encode(m, " a "), (ids{6, 2}));
  m.tokens[6] = kBlank + kBlank;
  EXPECT_EQ(encode(m, "  "), (ids{2, 2}));
  m.head.flags &= ~uint32_t(XF_TOKENIZER_SPLITS_ESCAPED);
  EXPECT_EQ(encode(m, "  "), (ids{6}));
  EXPECT_EQ(encode(m, ""), (ids{}));
  m = unigrams();
  m.added["[y]"] = {"[y]", 9, 0};
  EXPECT_EQ(encode(m, "a[y]a"), (ids{6, 9, 6}));
  m.head.flags |= XF_TOKENIZER_ADDS_ONCE;
  EXPECT_EQ(encode(m, "a[y]a"), (ids{6, 9, 3}));
  EXPECT_EQ(encode(m, "[y]a"), (ids{9, 3}));
  EXPECT_EQ(encode(m, "[y] a"), (ids{9, 6}));
  m.normalised = {{"b", {"b", 4, 0}}};
  EXPECT_EQ(encode(m, "aba"), (ids{6, 4, 3}));
  m.head.flags = XF_TOKENIZER_ESCAPES | XF_TOKENIZER_ADDS_SPACE | XF_TOKENIZER_SPLITS_ESCAPED;
  m.head.pattern = XF_TOKENIZER_BLANKS;
  m.normalised.clear();
  EXPECT_EQ(encode(m, "\ta  " + kBlank + "a "), (ids{6, 6}));
}

TEST(tokenizer, puts_pieces_together) {
  made m = characters();
  EXPECT_EQ(decode(m, {5, 3, 1, 0, 9}), "ab a\xe4\xb8\xad");
  EXPECT_EQ(decode(m, {3, 3, 1}), " a");
  EXPECT_EQ(decode(m, {6, 0, 7, 8, 1}), "\xc3\xa4~a") << "special tokens are not between them";
  EXPECT_EQ(decode(m, {6, 7, 7, 1, 8}), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                                        "a~")
      << "all bytes are text, or none of them";
  m.head.flags = 0;
  EXPECT_EQ(decode(m, {8}), "<0x7E>");
  m = unigrams();
  EXPECT_EQ(decode(m, {6, 6, 2, 4}), "a a b");
  EXPECT_EQ(decode(m, {2, 6, 10}), " a<0x7E>");
  m.tokens[6] = kBlank + "a" + kBlank;
  EXPECT_EQ(decode(m, {6, 6}), "a a ");
}

TEST(tokenizer, rewrites_text) {
  made m = whole_words();
  m.head.pattern = XF_TOKENIZER_NO_PATTERN;
  m.head.growth = 3;
  auto becomes = [&](std::string_view text, const std::string &want, std::vector<made::step> steps) {
    m.steps = std::move(steps);
    m.tokens[1] = want;
    return encode(m, text) == ids{1};
  };
  EXPECT_TRUE(becomes("aaab", "xab", {{XF_TOKENIZER_REPLACE, {}, {{{'a', 'a'}, {'x'}}}}}));
  EXPECT_TRUE(becomes("  a b   ", "_a b_", {{XF_TOKENIZER_REPLACE_RUNS, {}, {{{' '}, {'_'}}}}}));
  EXPECT_TRUE(becomes(" a\t", "a\t", {{XF_TOKENIZER_STRIP_LEFT}}));
  EXPECT_TRUE(becomes(" a\t ", " a", {{XF_TOKENIZER_STRIP_RIGHT}}));
  m.steps.push_back({XF_TOKENIZER_PREPEND, {}, {{{}, {'_'}}}});
  EXPECT_EQ(encode(m, " \t"), (ids{})) << "nothing is put before nothing";
  EXPECT_TRUE(becomes("a", "__a", {m.steps[1], m.steps[1]}));
  // Clusters: a short one becomes what the first of it, or the fewest of it, do.
  const made::step map{
      XF_TOKENIZER_MAP_CLUSTERS, {{'b', {'B'}}, {0x4e2d, {'C'}}, {'\r', {' '}}, {1, {}}}, {{{'a', 0x308}, {'A'}}, {{'a', 0x308, 0x308}, {'D'}}}};
  const std::string mark = "\xcc\x88", chinese = "\xe4\xb8\xad";
  EXPECT_TRUE(becomes("a" + mark +
                          "a\x01"
                          "b" +
                          mark + "b",
                      "AaBB", {map}));
  EXPECT_TRUE(becomes("a" + mark + mark, "A", {map}));
  EXPECT_TRUE(becomes("a" + mark + mark + mark, "a" + mark + mark + mark, {map})) << "a long one";
  EXPECT_TRUE(becomes(chinese + mark, "C", {map}));
  EXPECT_TRUE(becomes(chinese + mark + mark, "C" + mark + mark, {map}));
  EXPECT_TRUE(becomes("x\r\rx", "x  x", {map}));
}

} // namespace
