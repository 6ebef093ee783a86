// Tables of small tokenizers, one of each kind.
#ifndef TEST_RUNTIME_TOKENIZER_TABLES_H
#define TEST_RUNTIME_TOKENIZER_TABLES_H

#include "runtime/abi/xf_tokenizer.h"
#include "runtime/text/tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tokenizers {

using ids = std::vector<int32_t>;

// A table of a few tokens, with the Unicode properties that the tests need.
struct made {
  xf_tokenizer head{};
  std::vector<std::string> tokens; // by id
  std::vector<int32_t> special;
  std::vector<xf_tokenizer_merge> merges;
  struct added_token {
    std::string text;
    uint32_t id, flags;
  };
  std::map<std::string, added_token> added, normalised; // by the text that is found
  struct step {
    uint32_t kind;
    std::map<uint32_t, std::vector<uint32_t>> mappings = {};
    std::map<std::vector<uint32_t>, std::vector<uint32_t>> rules = {};
  };
  std::vector<step> steps;
  std::vector<xf_tokenizer_composition> compositions;
  std::vector<double> scores;
  std::string continuing, joined;

  // The table's bytes, aligned to 8 as in an image.
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
    for (size_t id = 0; id < tokens.size(); ++id)
      if (tokens[id].starts_with("<0x"))
        flags[id] |= XF_TOKENIZER_BYTE;
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
    head.scores = put(scores);
    put_steps();
    head.runs = put(runs());
    head.compositions = put(compositions);
    head.bytes = put(std::vector<char>(texts.begin(), texts.end()));
    std::memcpy(file_.data(), &head, sizeof(head));
    std::vector<uint64_t> aligned((file_.size() + 7) / 8);
    std::memcpy(aligned.data(), file_.data(), file_.size());
    return aligned;
  }

private:
  void put_steps() {
    std::vector<uint32_t> points;
    std::vector<xf_tokenizer_stage> stages;
    auto offset_of = [&](const std::vector<uint32_t> &of) {
      points.insert(points.end(), of.begin(), of.end());
      return static_cast<uint32_t>(points.size() - of.size());
    };
    auto size = [](const std::vector<uint32_t> &of) { return static_cast<uint32_t>(of.size()); };
    for (const step &each : steps) {
      std::vector<xf_tokenizer_mapping> mappings;
      std::vector<xf_tokenizer_rule> rules;
      for (const auto &[from, to] : each.mappings)
        mappings.push_back({from, offset_of(to), size(to)});
      for (const auto &[from, to] : each.rules)
        rules.push_back({offset_of(from), size(from), offset_of(to), size(to)});
      stages.push_back({each.kind, put(mappings), put(rules)});
    }
    head.steps = put(stages);
    head.points = put(points);
  }
  template <typename T> xf_tokenizer_list put(const std::vector<T> &elements) {
    file_.resize((file_.size() + 7) / 8 * 8);
    xf_tokenizer_list list{static_cast<uint32_t>(file_.size()), static_cast<uint32_t>(elements.size())};
    file_.append(reinterpret_cast<const char *>(elements.data()), elements.size() * sizeof(T));
    return list;
  }
  static std::vector<uint32_t> slots(const std::vector<uint32_t> &hashes, const ids &without) {
    std::vector<uint32_t> table(64);
    for (uint32_t index = 0; index < hashes.size(); ++index) {
      if (std::find(without.begin(), without.end(), index) != without.end())
        continue;
      uint32_t at = hashes[index] % 64;
      while (table[at])
        at = (at + 1) % 64;
      table[at] = index + 1;
    }
    return table;
  }
  // The properties of ASCII, Ä, ä, the combining diaeresis and a Chinese character.
  static std::vector<xf_tokenizer_run> runs() {
    const uint16_t letter = XF_TOKENIZER_LETTER | XF_TOKENIZER_WORD, number = XF_TOKENIZER_NUMBER | XF_TOKENIZER_WORD;
    const uint16_t mark = XF_TOKENIZER_MARK | XF_TOKENIZER_NONSPACING | XF_TOKENIZER_WORD;
    const uint16_t punctuation = XF_TOKENIZER_PUNCTUATION, control = XF_TOKENIZER_CONTROL, space = XF_TOKENIZER_SPACE;
    return {{0, control, 0, XF_TOKENIZER_BREAKS},
            {'\t', space, 0, XF_TOKENIZER_BREAKS},
            {'\r', space, 0, XF_TOKENIZER_CR},
            {0xe, control, 0, XF_TOKENIZER_BREAKS},
            {' ', space, 0, 0},
            {'!', punctuation, 0, 0},
            {'0', number, 0, 0},
            {':', punctuation, 0, 0},
            {'A', letter, 0, 0},
            {'[', punctuation, 0, 0},
            {'a', letter, 0, 0},
            {'{', punctuation, 0, 0},
            {0x80, 0, 0, 0},
            {0xc4, letter, 0, 0},
            {0xc5, 0, 0, 0},
            {0xe4, letter, 0, 0},
            {0xe5, 0, 0, 0},
            {0x308, mark, 230, XF_TOKENIZER_EXTEND},
            {0x309, 0, 0, 0},
            {0x4e2d, letter | XF_TOKENIZER_CJK, 0, 0},
            {0x4e2e, 0, 0, 0}};
  }

  std::string file_;
};

// BPE with a few merges. Token 0 is <s>; the bytes of "abcd 1!" and of ä follow.
inline made bpe() {
  made m;
  m.head.kind = XF_TOKENIZER_BYTE_BPE;
  m.head.decoder = XF_TOKENIZER_JOINS_BYTES;
  m.head.growth = 1;
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

inline made wordpiece() {
  made m;
  m.head.kind = XF_TOKENIZER_WORDPIECE;
  m.head.decoder = XF_TOKENIZER_JOINS_PARTS;
  m.head.growth = 3;
  m.head.pattern = XF_TOKENIZER_BERT;
  m.head.flags = XF_TOKENIZER_CLEANS_UP;
  m.head.max_characters = 8;
  m.tokens = {"[UNK]", "[SEP]", "un", "##aff", "##able", "##a", "aff", ".", "a\xcc\x88", "\xe4\xb8\xad", "ab"};
  m.special = {0, 1};
  m.continuing = m.joined = "##";
  m.added = {{"[SEP]", {"[SEP]", 1, XF_TOKENIZER_SHADOW}}};
  m.steps = {{XF_TOKENIZER_CLEAN}, {XF_TOKENIZER_SPACE_CJK}, {XF_TOKENIZER_MAP}};
  for (uint32_t letter = 'A'; letter <= 'Z'; ++letter)
    m.steps.back().mappings[letter] = {letter + 32};
  return m;
}

inline const std::string kBlank = "\xe2\x96\x81";

// Like Llama's: characters are merged, and those without a token become bytes.
inline made characters() {
  made m;
  m.head.kind = XF_TOKENIZER_BPE;
  m.head.decoder = XF_TOKENIZER_JOINS_PIECES;
  m.head.flags = XF_TOKENIZER_FUSES_UNKNOWN | XF_TOKENIZER_WRITES_BYTES;
  m.head.growth = 3;
  m.head.dropped = 1;
  m.tokens = {"<unk>", "a", "b", kBlank, "ab", kBlank + "ab", "<0xC3>", "<0xA4>", "<0x7E>", "\xe4\xb8\xad"};
  m.special = {0};
  m.merges = {{1, 2, 4}, {3, 4, 5}};
  std::fill(std::begin(m.head.of_byte), std::end(m.head.of_byte), -1);
  for (size_t id : {6, 7, 8})
    m.head.of_byte[std::stoi(m.tokens[id].substr(3, 2), nullptr, 16)] = static_cast<int32_t>(id);
  m.steps = {{XF_TOKENIZER_PREPEND, {}, {{{}, {0x2581}}}}, {XF_TOKENIZER_REPLACE, {}, {{{' '}, {0x2581}}}}};
  return m;
}

// Like T5's: after the normaliser, blanks become U+2581, as in pieces.
inline made unigrams() {
  made m;
  m.head.kind = XF_TOKENIZER_UNIGRAM;
  m.head.decoder = XF_TOKENIZER_JOINS_PIECES;
  m.head.flags = XF_TOKENIZER_ESCAPES | XF_TOKENIZER_ADDS_SPACE | XF_TOKENIZER_SPLITS_ESCAPED | XF_TOKENIZER_DROPS_FIRST;
  m.head.growth = 1;
  m.tokens = {"<unk>", "</s>", kBlank, "a", "b", "ab", kBlank + "a", "ba", "<x>", "\xe2\x82\xac!", "<0x7E>"};
  m.special = {0, 1};
  m.scores = {0, 0, -2, -3, -3, -4, -4, -4.5, -1, -5, -5};
  m.head.unknown_score = -15;
  m.added = {{"</s>", {"</s>", 1, XF_TOKENIZER_SHADOW}}};
  std::fill(std::begin(m.head.of_byte), std::end(m.head.of_byte), -1);
  return m;
}

inline made whole_words() {
  made m;
  m.head.kind = XF_TOKENIZER_WORDS;
  m.head.decoder = XF_TOKENIZER_JOINS_WORDS;
  m.head.pattern = XF_TOKENIZER_RUNS;
  m.head.growth = 1;
  m.tokens = {"<unk>", "a", "ab1", "!?", "<s>"};
  m.special = {4};
  return m;
}

inline std::string_view bytes_of(const std::vector<uint64_t> &table) { return {reinterpret_cast<const char *>(table.data()), table.size() * 8}; }

inline std::unique_ptr<const xf::rt::tokenizer> open(const std::vector<uint64_t> &table) {
  static const xf::rt::vocabulary none("");
  return xf::rt::open_tokenizer(bytes_of(table), none, "source");
}
inline ids encode(made m, std::string_view text, size_t max_tokens = 1000, int32_t unknown = -1) {
  auto table = m.build();
  ids found;
  open(table)->encode(text, max_tokens, unknown, found);
  return found;
}
inline std::string decode(made m, const ids &tokens) {
  auto table = m.build();
  std::string text;
  open(table)->decode(tokens, text);
  return text;
}

} // namespace tokenizers

#endif
