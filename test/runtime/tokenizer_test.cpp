// Tokenizers' tables: cutting text and putting it together again, and tables that are damaged. e2e.tokenizers compares with the library that
// writes tokenizer.json.
#include "runtime/core/error.h"
#include "runtime/text/tokenizer.h"
#include "runtime/text/tokenizer_table.h"
#include "test/runtime/allocations.h"

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
using ids = std::vector<int32_t>;

// A table of a few tokens, with as much of Unicode as the tests need.
struct made {
  xf_tokenizer head{};
  std::vector<std::string> tokens; // by id
  std::vector<int32_t> special;
  std::vector<xf_tokenizer_merge> merges;
  struct added_token {
    std::string text;
    uint32_t id, flags;
  };
  std::map<std::string, added_token> added, normalised; // by what is found
  std::vector<uint32_t> steps;
  std::vector<xf_tokenizer_mapping> decompositions, lower;
  std::vector<xf_tokenizer_composition> compositions;
  std::vector<uint32_t> points;
  std::string continuing, joined;

  // At a multiple of 8, where an image would have it.
  std::vector<uint64_t> build() {
    std::string texts;
    file_.assign(sizeof(xf_tokenizer), '\0');
    auto text = [&](const std::string &bytes) {
      texts += bytes;
      return xf_tokenizer_text{static_cast<uint32_t>(texts.size() - bytes.size()), static_cast<uint32_t>(bytes.size())};
    };
    std::memcpy(head.magic, XF_TOKENIZER_MAGIC, sizeof(head.magic));
    head.continuing = text(continuing);
    head.joined = text(joined);
    std::vector<uint32_t> begins, hashes, merge_hashes;
    std::vector<uint8_t> flags(tokens.size(), XF_TOKENIZER_PRESENT);
    for (int32_t id : special)
      flags[static_cast<size_t>(id)] |= XF_TOKENIZER_SPECIAL;
    for (const std::string &token : tokens) {
      begins.push_back(text(token).first);
      hashes.push_back(xf_tokenizer_hash_end(xf_tokenizer_hash_bytes(XF_TOKENIZER_HASH_START, token.data(), token.size())));
    }
    begins.push_back(static_cast<uint32_t>(texts.size()));
    for (const xf_tokenizer_merge &merge : merges)
      merge_hashes.push_back(xf_tokenizer_hash_merge(merge.left, merge.right));
    auto entries = [&](const std::map<std::string, added_token> &from, bool by_name) {
      std::map<std::string, added_token> sorted;
      for (const auto &[found, token] : from)
        sorted[by_name ? token.text : found] = token;
      std::vector<xf_tokenizer_added> list;
      for (const auto &[found, token] : sorted)
        list.push_back({text(found), token.id, token.flags});
      return list;
    };
    std::map<std::string, added_token> all = added;
    all.insert(normalised.begin(), normalised.end());
    head.names = put(entries(all, true));
    head.added = put(entries(added, false));
    head.normalised = put(entries(normalised, false));
    head.texts = put(begins);
    head.token_flags = put(flags);
    head.slots = put(slots(hashes, special));
    head.merges = put(merges);
    head.merge_slots = put(slots(merge_hashes, {}));
    head.steps = put(steps);
    head.runs = put(runs());
    head.decompositions = put(decompositions);
    head.lower = put(lower);
    head.points = put(points);
    head.compositions = put(compositions);
    head.bytes = put(std::vector<char>(texts.begin(), texts.end()));
    std::memcpy(file_.data(), &head, sizeof(head));
    std::vector<uint64_t> aligned((file_.size() + 7) / 8);
    std::memcpy(aligned.data(), file_.data(), file_.size());
    return aligned;
  }

private:
  template <typename T> xf_tokenizer_list put(const std::vector<T> &elements) {
    file_.resize((file_.size() + 7) / 8 * 8);
    xf_tokenizer_list list{static_cast<uint32_t>(file_.size()), static_cast<uint32_t>(elements.size())};
    file_.append(reinterpret_cast<const char *>(elements.data()), elements.size() * sizeof(T));
    return list;
  }
  static std::vector<uint32_t> slots(const std::vector<uint32_t> &hashes, const ids &without) {
    std::vector<uint32_t> table(64);
    for (uint32_t number = 0; number < hashes.size(); ++number) {
      if (std::find(without.begin(), without.end(), number) != without.end())
        continue;
      uint32_t at = hashes[number] % 64;
      while (table[at])
        at = (at + 1) % 64;
      table[at] = number + 1;
    }
    return table;
  }
  // Of ASCII, ä, combining diaeresis and a Chinese character.
  static std::vector<xf_tokenizer_run> runs() {
    const uint16_t letter = XF_TOKENIZER_LETTER | XF_TOKENIZER_WORD, number = XF_TOKENIZER_NUMBER | XF_TOKENIZER_WORD;
    const uint16_t mark = XF_TOKENIZER_MARK | XF_TOKENIZER_NONSPACING | XF_TOKENIZER_WORD;
    return {{0, XF_TOKENIZER_CONTROL, 0},   {'\t', XF_TOKENIZER_SPACE, 0}, {0xe, XF_TOKENIZER_CONTROL, 0}, {' ', XF_TOKENIZER_SPACE, 0},
            {'!', XF_TOKENIZER_PUNCTUATION, 0}, {'0', number, 0},          {':', XF_TOKENIZER_PUNCTUATION, 0}, {'A', letter, 0},
            {'[', XF_TOKENIZER_PUNCTUATION, 0}, {'a', letter, 0},          {'{', XF_TOKENIZER_PUNCTUATION, 0}, {0x80, 0, 0},
            {0xc4, letter, 0},              {0xc5, 0, 0},                  {0xe4, letter, 0},                  {0xe5, 0, 0},
            {0x308, mark, 230},             {0x309, 0, 0},                 {0x4e2d, letter | XF_TOKENIZER_CJK, 0}, {0x4e2e, 0, 0}};
  }

  std::string file_;
};

// A few merges: 0 <s>, then the bytes of "abcd 1!" and of ä.
made bpe() {
  made m;
  m.head.kind = XF_TOKENIZER_BYTE_BPE;
  m.head.pattern = XF_TOKENIZER_GPT2;
  m.head.unknown = -1;
  m.tokens = {"<s>", "a", "b", "c", "d", " ", "1", "!", "\xc3", "\xa4", "ab", "bc", "abc", "\xc3\xa4", " abc", "[x]"};
  m.special = {0};
  std::fill(std::begin(m.head.of_byte), std::end(m.head.of_byte), -1);
  for (size_t id = 1; id < 10; ++id)
    m.head.of_byte[static_cast<uint8_t>(m.tokens[id][0])] = static_cast<int32_t>(id);
  m.merges = {{1, 2, 10}, {2, 3, 11}, {10, 3, 12}, {8, 9, 13}, {5, 12, 14}};
  m.added = {{"<s>", {"<s>", 0, XF_TOKENIZER_SHADOW}}, {"[x]", {"[x]", 15, 0}}};
  return m;
}

made wordpiece() {
  made m;
  m.head.kind = XF_TOKENIZER_WORDPIECE;
  m.head.flags = XF_TOKENIZER_CLEANS_UP;
  m.head.most_characters = 8;
  m.tokens = {"[UNK]", "[SEP]", "un", "##aff", "##able", "##a", "aff", ".", "a\xcc\x88", "\xe4\xb8\xad", "ab"};
  m.special = {0, 1};
  m.continuing = m.joined = "##";
  m.added = {{"[SEP]", {"[SEP]", 1, XF_TOKENIZER_SHADOW}}};
  m.steps = {XF_TOKENIZER_CLEAN, XF_TOKENIZER_SPACE_CJK, XF_TOKENIZER_LOWER};
  for (uint32_t letter = 'A'; letter <= 'Z'; ++letter) {
    m.lower.push_back({letter, letter - 'A', 1});
    m.points.push_back(letter + 32);
  }
  return m;
}

std::string_view bytes_of(const std::vector<uint64_t> &table) { return {reinterpret_cast<const char *>(table.data()), table.size() * 8}; }

std::unique_ptr<const tokenizer> open(const std::vector<uint64_t> &table) {
  static const vocabulary none("");
  return open_tokenizer(bytes_of(table), none, "source");
}
ids encode(made m, std::string_view text, size_t most = 1000, int32_t unknown = -1) {
  auto table = m.build();
  ids found;
  open(table)->encode(text, most, unknown, found);
  return found;
}
std::string decode(made m, const ids &tokens) {
  auto table = m.build();
  std::string text;
  open(table)->decode(tokens, text);
  return text;
}
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
  EXPECT_THROW(encode(m, "aaa", 2), error);
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
  EXPECT_EQ(decode(m, {8, 1}), "\xef\xbf\xbd" "a");
  EXPECT_EQ(decode(m, {9, 8}), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(decode(m, {999, -1}), "");
  m.tokens.insert(m.tokens.end(), {"\xf0\x9f", "\x98", "\x80", std::string(1, '\0')});
  EXPECT_EQ(decode(m, {16, 17}), "\xef\xbf\xbd") << "the beginning of a character is one replacement";
  EXPECT_EQ(decode(m, {16, 17, 18}), "\xf0\x9f\x98\x80");
  EXPECT_EQ(decode(m, {18, 19}), "\xef\xbf\xbd\xef\xbf\xbd") << "texts hold no zero byte";
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
  EXPECT_EQ(encode(m, "a\xe4\xb8\xad" "b"), (ids{0, 9, 0}));
  EXPECT_EQ(encode(m, "u\x01n\taff"), (ids{2, 6}));
  EXPECT_EQ(decode(m, {2, 3, 1, 6, 7, 0}), "unaff aff.");
  EXPECT_EQ(decode(m, {5, 5}), "##aa");
  m.head.flags = 0;
  EXPECT_EQ(decode(m, {6, 7}), "aff .");
}

TEST(tokenizer, normalises_text) {
  made m = wordpiece();
  m.points = {'a', 0x308};
  m.decompositions = {{0xe4, 0, 2}};
  m.compositions = {{'a', 0x308, 0xe4}};
  m.lower.clear();
  m.tokens.insert(m.tokens.end(), {"\xc3\xa4", "\xed\x95\x9c"});
  m.steps = {XF_TOKENIZER_DECOMPOSE};
  EXPECT_EQ(encode(m, "\xc3\xa4"), (ids{8}));
  m.steps = {XF_TOKENIZER_DECOMPOSE, XF_TOKENIZER_COMPOSE};
  EXPECT_EQ(encode(m, "a\xcc\x88"), (ids{11}));
  EXPECT_EQ(encode(m, "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab"), (ids{12})) << "Hangul";
  EXPECT_EQ(encode(m, "\xed\x95\x9c"), (ids{12}));
  for (uint32_t step : {XF_TOKENIZER_STRIP_NONSPACING, XF_TOKENIZER_STRIP_MARKS}) {
    m.steps = {XF_TOKENIZER_DECOMPOSE, step};
    EXPECT_EQ(encode(m, "\xc3\xa4" "b"), (ids{10}));
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
    double least = 1e9;
    for (int run = 0; run < 3; ++run) {
      auto begin = std::chrono::steady_clock::now();
      EXPECT_EQ(encode(m, long_word(size), size).size(), size - size / 3 + 1); // of each b but the first, with the a before it
      least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return least;
  };
  // In quadratic time 16 times as long a word would take 256 times as long.
  EXPECT_LT(seconds(3 << 16), 100 * seconds(3 << 12));
}

TEST(tokenizer, takes_the_memory_that_it_says) {
  if (!xf_test_counts_allocations())
    GTEST_SKIP() << "allocations are not counted";
  for (bool pieces : {false, true}) {
    made m = pieces ? wordpiece() : bpe();
    m.head.most_characters = 1 << 20;
    m.steps.clear();
    auto table = m.build();
    auto opened = open(table);
    for (size_t size : {1u, 1000u, 65536u, 100000u, 131072u, 150000u, 262145u}) {
      std::string text = pieces ? "un" + std::string(size, 'a') : long_word(size);
      ids tokens;
      tokens.reserve(size + 1);
      xf_test_peak();
      opened->encode(text, size + 1, -1, tokens);
      EXPECT_LE(static_cast<uint64_t>(xf_test_peak()), opened->memory(text.size()) + 1024) << pieces << " of " << size;
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
  EXPECT_EQ(broken([](xf_tokenizer &h) { h.kind = 3; }), "its tokenizer's kind is unknown");
  EXPECT_EQ(broken([](xf_tokenizer &h) { h.pattern = 4; }), "its tokenizer's pattern is unknown");
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
  grows.points = {'a', 'a', 'a', 'a'};
  grows.lower = {{'a', 0, 4}};
  grows.steps = {XF_TOKENIZER_LOWER, XF_TOKENIZER_LOWER, XF_TOKENIZER_LOWER};
  EXPECT_THROW(encode(grows, "aa"), error);
}

// Some bytes of sound tables, mostly of their heads.
TEST(tokenizer, survives_damage) {
  std::mt19937 random(1);
  for (const made &sound : {bpe(), wordpiece()}) {
    auto whole = made(sound).build();
    for (int i = 0; i < 20000; ++i) {
      auto table = whole;
      auto *bytes = reinterpret_cast<uint8_t *>(table.data());
      size_t most = i % 2 ? sizeof(xf_tokenizer) : table.size() * 8;
      for (int changes = 0; changes <= i % 3; ++changes)
        bytes[8 + random() % (most - 8)] = static_cast<uint8_t>(i % 5 ? random() % 24 : random());
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
