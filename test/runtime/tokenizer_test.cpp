// Tokenizers' tables: cutting text and putting it together again, and tables that are damaged. e2e.tokenizers compares with the library that
// writes tokenizer.json.
#include "runtime/core/error.h"
#include "runtime/text/text_stream.h"
#include "runtime/text/tokenizer.h"
#include "runtime/text/tokenizer_table.h"
#include "test/runtime/allocations.h"
#include "test/runtime/tokenizer_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace xf::rt;
using namespace tokenizers;

std::string message(const std::vector<uint64_t> &table) {
  try {
    open(table);
  } catch (const error &problem) {
    return problem.what();
  }
  return "";
}

TEST(tokenizer, merges_bytes_by_rank) {
  made m = bpe();
  EXPECT_EQ(encode(m, "abc abc bc"), (ids{12, 14, 5, 11}));
  EXPECT_EQ(encode(m, "bcab  abc\xc3\xa4"), (ids{11, 10, 5, 14, 13}));
  EXPECT_EQ(encode(m, "a1!"), (ids{1, 6, 7}));
  EXPECT_EQ(encode(m, ""), (ids{}));
  EXPECT_EQ(encode(m, "aaa", 3), (ids{1, 1, 1}));
  EXPECT_EQ(encode(m, "aaa", 2), (ids{1, 1}));
  ids found;
  auto table = m.build();
  EXPECT_EQ(open(table)->encode("aaa", 2, -1, found), 3u) << "of which two are wanted";
  EXPECT_EQ(encode(m, "a<s>"), (ids{1})) << "bytes that no token stands for are nothing";
  EXPECT_EQ(encode(m, "a~~a", 9, 4), (ids{1, 4, 4, 1}));
  m.head.flags = XF_TOKENIZER_FUSES_UNKNOWN;
  EXPECT_EQ(encode(m, "a~~a", 9, 4), (ids{1, 4, 1}));
  m.head.flags = XF_TOKENIZER_ADDS_SPACE;
  EXPECT_EQ(encode(m, "abc"), (ids{14}));
  EXPECT_EQ(encode(m, " abc"), (ids{14}));
  m.tokens.push_back("ca");
  EXPECT_EQ(encode(m, "ca"), (ids{5, 3, 1}));
  m.head.flags = XF_TOKENIZER_WHOLE_WORDS;
  EXPECT_EQ(encode(m, "ca"), (ids{16}));
}

TEST(tokenizer, splits_words_as_patterns_do) {
  made m = bpe();
  m.head.pattern = XF_TOKENIZER_NO_PATTERN;
  m.merges.push_back({6, 6, 4}); // "11" is d, so that it can be seen which numbers are words
  m.merges.push_back({7, 1, 3}); // and "!a" c
  EXPECT_EQ(encode(m, "1111!a"), (ids{4, 4, 3}));
  m.head.pattern = XF_TOKENIZER_GPT2;
  EXPECT_EQ(encode(m, "1111!a"), (ids{4, 4, 7, 1}));
  m.head.pattern = XF_TOKENIZER_LLAMA3;
  EXPECT_EQ(encode(m, "1111!a"), (ids{4, 6, 6, 3}));
  m.head.pattern = XF_TOKENIZER_QWEN2;
  EXPECT_EQ(encode(m, "1111!a"), (ids{6, 6, 6, 6, 3}));
}

TEST(tokenizer, puts_bytes_together) {
  made m = bpe();
  EXPECT_EQ(decode(m, {0, 12, 14, 13, 15}), "abc abc\xc3\xa4[x]");
  EXPECT_EQ(decode(m, {8, 1}), "\xef\xbf\xbd"
                               "a");
  EXPECT_EQ(decode(m, {9, 8}), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(decode(m, {999, -1}), "");
  m.tokens.insert(m.tokens.end(), {"\xf0\x9f", "\x98", "\x80", std::string(1, '\0')});
  EXPECT_EQ(decode(m, {16, 17}), "\xef\xbf\xbd") << "the beginning of a character is one replacement";
  EXPECT_EQ(decode(m, {16, 17, 18}), "\xf0\x9f\x98\x80");
  EXPECT_EQ(decode(m, {18, 19}), "\xef\xbf\xbd\xef\xbf\xbd") << "texts hold no zero byte";
}

// Whatever comes: half characters, tokens without text, and pieces that would read otherwise where a text begins.
TEST(tokenizer, text_comes_in_pieces) {
  std::mt19937 random(1);
  for (made m : {bpe(), wordpiece(), characters(), unigrams(), whole_words()}) {
    auto table = m.build();
    auto opened = open(table);
    auto decode = [&](std::span<const int32_t> tokens, std::string &text) { opened->decode(opened->settled(tokens), text); };
    for (int round = 0; round < 2000; ++round) {
      std::string got, want;
      text_stream stream(decode, [&](std::string_view piece) { got += piece; });
      ids tokens(random() % 12);
      for (int32_t &token : tokens)
        stream.push(token = static_cast<int32_t>(random() % m.tokens.size()));
      opened->decode(tokens, want);
      stream.end(want);
      ASSERT_EQ(got, want) << round;
    }
  }
}

TEST(tokenizer, pieces_of_text_need_no_more_memory_as_it_grows) {
  if (!xf_test_counts_allocations())
    GTEST_SKIP() << "allocations are not counted";
  auto table = bpe().build();
  auto opened = open(table);
  size_t written = 0;
  text_stream stream([&](std::span<const int32_t> tokens, std::string &text) { opened->decode(tokens, text); },
                     [&](std::string_view piece) { written += piece.size(); });
  xf_test_peak();
  for (int i = 0; i < 5000; ++i)
    stream.push(12 + i % 3);
  EXPECT_GT(written, 10000u);
  EXPECT_LT(xf_test_peak(), 1000);
}

TEST(tokenizer, takes_added_tokens_out_first) {
  made m = bpe();
  EXPECT_EQ(encode(m, "a [x]b"), (ids{1, 5, 15, 2}));
  m.added["[x]"].flags = XF_TOKENIZER_STRIPS_LEFT | XF_TOKENIZER_STRIPS_RIGHT;
  EXPECT_EQ(encode(m, "a  [x] b [x]"), (ids{1, 15, 2, 15}));
  m.added["  "] = {"  ", 4, 0};
  EXPECT_EQ(encode(m, "[x]   b"), (ids{15, 4, 5, 2})) << "of blanks that belong to the token before";
  EXPECT_EQ(encode(m, "[x]    b"), (ids{15, 4, 4, 2}));
  m.added["  "].flags = XF_TOKENIZER_STRIPS_LEFT;
  EXPECT_EQ(encode(m, "[x]  b"), (ids{15, 2}));
  m.added.erase("  ");
  m.added["[x]"].flags = XF_TOKENIZER_SINGLE_WORD;
  EXPECT_EQ(encode(m, "a [x] b[x]"), (ids{1, 5, 15, 5, 2})) << "which is none behind a letter, and its brackets no tokens";
  m.added["abca"] = {"abca", 4, 0};
  EXPECT_EQ(encode(m, "abcabc"), (ids{4, 11})) << "the longest";
  m.added["<s>ab"] = {"<s>ab", 3, 0};
  EXPECT_EQ(encode(m, "<s>abc"), (ids{3, 3}));
  m = wordpiece();
  m.normalised = {{"un a", {"Un A", 6, 0}}};
  EXPECT_EQ(encode(m, "UN A"), (ids{6}));
  auto table = m.build();
  EXPECT_EQ(open(table)->find("Un A"), 6);
  EXPECT_EQ(open(table)->find("##aff"), 3);
  EXPECT_EQ(open(table)->find("nothing"), -1);
  EXPECT_EQ(open(table)->find("[SEP]"), 1);
  EXPECT_EQ(open(table)->find_marker("[SEP]"), 1);
  EXPECT_EQ(open(table)->find_marker("Un A"), -1);
  EXPECT_TRUE(open(table)->is_special(1));
  EXPECT_FALSE(open(table)->is_special(2));
}

TEST(tokenizer, cuts_the_longest_pieces) {
  made m = wordpiece();
  EXPECT_EQ(encode(m, "unaffa, AFF. unx"), (ids{2, 3, 5, 0, 6, 7, 0}));
  EXPECT_EQ(encode(m, "unaffable"), (ids{0})) << "too many characters";
  EXPECT_EQ(encode(m, "[SEP]"), (ids{0, 0, 0})) << "no text is cut into special tokens";
  EXPECT_EQ(encode(m, "un", 9, 5), (ids{2}));
  EXPECT_EQ(encode(m, "x", 9, 5), (ids{5}));
  EXPECT_EQ(encode(m, "a\xe4\xb8\xad"
                      "b"),
            (ids{0, 9, 0}));
  EXPECT_EQ(encode(m, "u\x01n\taff"), (ids{2, 6}));
  EXPECT_EQ(decode(m, {2, 3, 1, 6, 7, 0}), "unaff aff.");
  EXPECT_EQ(decode(m, {5, 5}), "##aa");
  m.head.flags = 0;
  EXPECT_EQ(decode(m, {6, 7}), "aff .");
}

TEST(tokenizer, normalises_text) {
  made m = wordpiece();
  m.compositions = {{'a', 0x308, 0xe4}};
  const made::step decompose{XF_TOKENIZER_DECOMPOSE, {{0xe4, {'a', 0x308}}}};
  m.tokens.insert(m.tokens.end(), {"\xc3\xa4", "\xed\x95\x9c"});
  m.steps = {decompose};
  EXPECT_EQ(encode(m, "\xc3\xa4"), (ids{8}));
  m.steps = {decompose, {XF_TOKENIZER_COMPOSE}};
  EXPECT_EQ(encode(m, "a\xcc\x88"), (ids{11}));
  EXPECT_EQ(encode(m, "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab"), (ids{12})) << "Hangul";
  EXPECT_EQ(encode(m, "\xed\x95\x9c"), (ids{12}));
  for (uint32_t step : {XF_TOKENIZER_STRIP_NONSPACING, XF_TOKENIZER_STRIP_MARKS}) {
    m.steps = {decompose, {step}};
    EXPECT_EQ(encode(m, "\xc3\xa4"
                        "b"),
              (ids{10}));
  }
}

// A word of many tokens that merge.
std::string long_word(size_t size) {
  std::string word(size, 'a');
  for (size_t i = 0; i < size; i += 3)
    word[i] = 'b';
  return word;
}

TEST(tokenizer, takes_little_longer_for_long_words) {
  made m = bpe();
  auto seconds = [&](size_t size) {
    double min = 1e9;
    for (int run = 0; run < 3; ++run) {
      auto begin = std::chrono::steady_clock::now();
      EXPECT_EQ(encode(m, long_word(size), size).size(), size - size / 3 + 1); // of each b but the first, with the a before it
      min = std::min(min, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return min;
  };
  // In quadratic time 16 times as long a word would take 256 times as long.
  EXPECT_LT(seconds(3 << 16), 100 * seconds(3 << 12));
}

TEST(tokenizer, takes_the_memory_that_it_says) {
  if (!xf_test_counts_allocations())
    GTEST_SKIP() << "allocations are not counted";
  for (made m : {bpe(), wordpiece(), characters(), unigrams()}) {
    m.head.max_characters = 1 << 20;
    auto table = m.build();
    auto opened = open(table);
    for (size_t size : {1u, 1000u, 65536u, 100000u, 131072u, 150000u, 262145u})
      for (const std::string &text : {"un" + std::string(size, 'a'), long_word(size), std::string(size, ' ')}) {
        ids tokens;
        tokens.reserve(2 * size + 8);
        xf_test_peak();
        opened->encode(text, 2 * size + 8, -1, tokens);
        EXPECT_LE(static_cast<uint64_t>(xf_test_peak()), opened->memory(text.size()) + 1024) << m.head.kind << " of " << size;
      }
  }
}

TEST(tokenizer, is_refused_where_its_table_is_damaged) {
  auto broken = [](auto change) {
    made m = bpe();
    auto table = m.build();
    change(*reinterpret_cast<xf_tokenizer *>(table.data()));
    return message(table);
  };
  EXPECT_EQ(message(bpe().build()), "");
  EXPECT_EQ(broken([](xf_tokenizer &h) { h.kind = 6; }), "its tokenizer's kind is unknown");
  EXPECT_EQ(broken([](xf_tokenizer &h) { h.kind = XF_TOKENIZER_UNIGRAM, h.unknown = 0; }), "its tokenizer's tokens have no scores");
  EXPECT_EQ(broken([](xf_tokenizer &h) { h.decoder = 5; }), "its tokenizer's decoder is unknown");
  EXPECT_EQ(broken([](xf_tokenizer &h) { h.growth = 0; }), "its tokenizer's text grows too long");
  EXPECT_EQ(broken([](xf_tokenizer &h) { h.pattern = 7; }), "its tokenizer's pattern is unknown");
  EXPECT_EQ(broken([](xf_tokenizer &h) { h.unknown = 16; }), "its tokenizer's unknown token is none");
  EXPECT_EQ(broken([](xf_tokenizer &h) { h.of_byte[7] = 99; }), "its tokenizer's bytes are no tokens");
  EXPECT_EQ(broken([](xf_tokenizer &h) { h.bytes.count = 3; }), "its tokenizer's texts overlap");
  EXPECT_EQ(broken([](xf_tokenizer &h) { h.texts.offset = UINT32_MAX - 3; }), "its tokenizer's texts are past its end");
  EXPECT_EQ(broken([](xf_tokenizer &h) { h.texts.count -= 1; }), "its tokenizer's tokens have no texts");
  EXPECT_EQ(broken([](xf_tokenizer &h) { h.slots.count -= 1; }), "its tokenizer's tokens cannot be found");
  EXPECT_EQ(broken([](xf_tokenizer &h) { h.merges.count -= 1; }), "its tokenizer's merges cannot be found");
  EXPECT_EQ(broken([](xf_tokenizer &h) { h.merges.offset += 2; }), "its tokenizer's merges are past its end");
  EXPECT_EQ(broken([](xf_tokenizer &h) { h.runs.count = 0; }), "its tokenizer's classes do not begin at 0");
  std::vector<uint64_t> cut = bpe().build();
  cut.resize(4);
  EXPECT_EQ(message(cut), "its tokenizer's table is cut off");
  EXPECT_THROW(tokenizer_table(bytes_of(bpe().build()).substr(4)), error);
  made grows = wordpiece();
  const made::step doubles{XF_TOKENIZER_MAP, {{'a', {'a', 'a'}}}};
  grows.steps = {doubles, doubles, doubles, doubles};
  EXPECT_THROW(encode(grows, "aaaa"), error);
  auto rule = [](uint32_t step, std::vector<uint32_t> from, std::vector<uint32_t> to) {
    made m = wordpiece();
    m.steps = {{step, {}, {{from, to}}}};
    return message(m.build());
  };
  EXPECT_EQ(rule(XF_TOKENIZER_REPLACE, {'a'}, {'b'}), "");
  EXPECT_EQ(rule(XF_TOKENIZER_REPLACE, {}, {'b'}), "its tokenizer's rule is none");
  EXPECT_EQ(rule(XF_TOKENIZER_PREPEND, {}, {'b'}), "");
  EXPECT_EQ(rule(XF_TOKENIZER_MAP_CLUSTERS, {'a', 'b'}, std::vector<uint32_t>(33, 'b')), "its tokenizer's code points are past its end");
  EXPECT_EQ(rule(XF_TOKENIZER_STRIP_RIGHT + 1, {}, {}), "its tokenizer's normaliser is unknown");
}

// Some bytes of sound tables, mostly of their heads.
TEST(tokenizer, survives_damage) {
  std::mt19937 random(1);
  for (const made &sound : {bpe(), wordpiece(), characters(), unigrams(), whole_words()}) {
    auto whole = made(sound).build();
    for (int i = 0; i < 20000; ++i) {
      auto table = whole;
      auto *bytes = reinterpret_cast<uint8_t *>(table.data());
      size_t limit = i % 2 ? sizeof(xf_tokenizer) : table.size() * 8;
      for (int changes = 0; changes <= i % 3; ++changes)
        bytes[8 + random() % (limit - 8)] = static_cast<uint8_t>(i % 5 ? random() % 24 : random());
      try {
        auto found = open(table);
        ids tokens;
        found->encode("un AFF. abc 11 [x] \xc3\xa4\xe4\xb8\xad<s>'s", 1000, -1, tokens);
        std::string text;
        found->decode(tokens, text);
        found->find("abc");
        found->find_marker("<s>");
      } catch (const error &) {
      }
    }
  }
}

} // namespace
