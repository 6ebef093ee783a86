#include "runtime/text/codec.h"

#include "runtime/core/error.h"
#include "runtime/core/predict.h"
#include "runtime/core/refusal.h"
#include "runtime/text/utf8.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <tuple>
#include <utility>

namespace xf::rt {

namespace {

bool blank(char c) { return c == ' ' || c == '\t'; }

// The next word from `at` on; empty at the end.
std::string_view next_word(std::string_view line, size_t &at) {
  while (at < line.size() && blank(line[at]))
    ++at;
  size_t begin = at;
  while (at < line.size() && !blank(line[at]))
    ++at;
  return line.substr(begin, at - begin);
}

void check_utf8(std::string_view line) {
  if (size_t wrong = find_invalid_utf8(line); wrong != std::string_view::npos)
    fail(status::invalid_argument, "byte %zu is not UTF-8", wrong + 1);
}

// Whether texts are equal. Two views of one stored text are not read.
bool same(std::string_view left, std::string_view right) { return (left.data() == right.data() && left.size() == right.size()) || left == right; }

bool have_same_tokens(const model &m) {
  const xf_abi_image &h = m.header();
  return same(m.text(h.source_vocabulary), m.text(h.target_vocabulary)) && same(m.text(h.source_subwords), m.text(h.target_subwords));
}

int32_t parse_id(std::string_view word) {
  int32_t id = -1;
  auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), id);
  if (problem != std::errc() || end != word.data() + word.size() || id < 0)
    fail(status::invalid_argument, "'%s' is not a token id", shown(word).c_str());
  return id;
}

[[noreturn]] void refuse_tokens(size_t count, size_t max_tokens) {
  refusal why;
  fail(status::invalid_argument, "%s", why.too_long("it", static_cast<int64_t>(count), static_cast<int64_t>(max_tokens)));
}

// How many tokens of two texts are kept, where they have more than `max_tokens` together: the longer one is cut down to the shorter one's, then
// both of them alike.
std::pair<size_t, size_t> kept_of(size_t first, size_t second, size_t max_tokens) {
  size_t less = std::min({first, second, max_tokens / 2});
  return first < second ? std::pair(less, max_tokens - less) : std::pair(max_tokens - less, less);
}

} // namespace

text_side::text_side(const model &m, bool source, bool ids, const text_side *other)
    : name(source ? "source" : "target"), split(source ? m.header().text.source_split : m.header().text.target_split),
      max_tokens(static_cast<size_t>(std::max(m.header().generate.source, m.header().generate.target))) {
  bool alike = other && have_same_tokens(m);
  vocab = alike ? other->vocab : std::make_shared<const vocabulary>(m.text(source ? m.header().source_vocabulary : m.header().target_vocabulary));
  std::string_view bytes = m.text(source ? m.header().source_subwords : m.header().target_subwords);
  this->ids = ids || split == XF_ABI_IDS || (split == XF_ABI_SUBWORDS ? bytes.empty() : vocab->empty());
  if (this->ids || split != XF_ABI_SUBWORDS)
    return;
  if (alike && other->subwords) {
    subwords = other->subwords;
    return;
  }
  try {
    subwords = open_tokenizer(bytes, *vocab, name);
  } catch (const error &problem) {
    fail(status::bad_image, "%s: damaged: the %s's subwords: %s", m.file_name().c_str(), name, problem.what());
  }
}

text_codec::text_codec(const model &m, bool ids)
    : ids_(ids), text_(m.header().text), generate_(m.header().generate), source_(m, true, ids), target_(m, false, ids, &source_) {}

// `unknown`: the token for text without one, or -1.
size_t text_codec::append(std::string_view line, const text_side &side, int32_t unknown, std::vector<int32_t> &tokens) const {
  auto lookup = [&](std::string_view token) {
    int32_t id = side.vocab->find(token);
    if (id < 0)
      id = unknown;
    if (id < 0)
      fail(status::invalid_argument, "'%s' is not in the %s vocabulary", shown(token).c_str(), side.name);
    return id;
  };
  if (side.subwords)
    return side.subwords->encode(line, side.max_tokens, unknown, tokens);
  size_t at = 0, before = tokens.size();
  if (side.ids) {
    for (std::string_view word = next_word(line, at); !word.empty(); word = next_word(line, at))
      tokens.push_back(parse_id(word));
  } else if (side.split == XF_ABI_CHARACTERS) {
    for (size_t length; at < line.size(); at += length) {
      length = utf8_length(line, at);
      tokens.push_back(lookup(line.substr(at, length)));
    }
  } else {
    for (std::string_view word = next_word(line, at); !word.empty(); word = next_word(line, at))
      tokens.push_back(lookup(word));
  }
  return tokens.size() - before;
}

size_t text_codec::append_text(std::string_view text, const char *when_empty, std::vector<int32_t> &tokens) const {
  size_t count = append(text, source_, text_.source_unknown, tokens);
  if (count == 0)
    fail(status::invalid_argument, "%s", when_empty);
  return count;
}

affixes text_codec::model_affixes() const {
  if (source_.ids)
    return {};
  return {{text_.prefix, text_.prefix_count}, {text_.suffix, text_.suffix_count}};
}

bool text_codec::encode(std::string_view line, const affixes &around, std::vector<int32_t> &tokens, bool truncates) const {
  size_t before = tokens.size();
  std::string lowered;
  try {
    check_utf8(line);
    if (!source_.ids && text_.lowercase) {
      to_lower(line, lowered);
      line = lowered;
    }
    tokens.insert(tokens.end(), around.prefix.begin(), around.prefix.end());
    size_t tab = between() ? line.find('\t') : std::string_view::npos;
    bool is_pair = tab != std::string_view::npos;
    size_t begin = tokens.size(), first = append_text(line.substr(0, tab), is_pair ? "its first text is empty" : "it is empty", tokens);
    size_t middle = tokens.size(), second = is_pair ? append_text(line.substr(tab + 1), "its second text is empty", tokens) : 0;
    size_t others = around.prefix.size() + around.suffix.size() + (is_pair ? between() : 0), count = first + second;
    bool is_long = count + others > max_tokens();
    if (is_long && !truncates && count > tokens.size() - begin)
      refuse_tokens(count + others, max_tokens());
    if (is_long && truncates) {
      // Where even one token of each text is too many, the model refuses the line.
      std::tie(first, second) = kept_of(first, second, std::max(max_tokens(), others + (is_pair ? 2 : 1)) - others);
      tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(begin + first), tokens.begin() + static_cast<ptrdiff_t>(middle));
      tokens.resize(begin + first + second);
    }
    if (is_pair)
      tokens.insert(tokens.begin() + static_cast<ptrdiff_t>(begin + first), text_.between, text_.between + between());
    tokens.insert(tokens.end(), around.suffix.begin(), around.suffix.end());
    // The beginning of the second text is found by the tokens before it.
    std::span<const int32_t> all = std::span(tokens).subspan(before);
    auto found = static_cast<size_t>(first_text(text_, all));
    if (between() && found < all.size() && found < around.prefix.size() + first + between())
      fail(status::invalid_argument, "it has a token in it that stands between two texts");
    return is_long && truncates;
  } catch (...) {
    tokens.resize(before);
    throw;
  }
}

void text_codec::encode_tokens(bool source, std::string_view line, std::vector<int32_t> &tokens) const {
  const text_side &side = source ? source_ : target_;
  size_t before = tokens.size();
  try {
    check_utf8(line);
    size_t begin = 0, at = 0, count = 0;
    for (std::string_view word = next_word(line, at); side.subwords && !word.empty(); word = next_word(line, at))
      if (int32_t marker = side.subwords->find_marker(word); marker >= 0) {
        count += append(line.substr(begin, at - word.size() - begin), side, -1, tokens) + 1;
        tokens.push_back(marker);
        begin = at;
      }
    count += append(line.substr(begin), side, -1, tokens);
    if (side.subwords && count > side.max_tokens)
      refuse_tokens(count, side.max_tokens);
  } catch (...) {
    tokens.resize(before);
    throw;
  }
}

bool text_codec::special(int32_t token) const {
  std::span<const int32_t> ends(generate_.more_ends, generate_.more_ends_count);
  if (token == generate_.start || token == generate_.end || token == generate_.pad || std::find(ends.begin(), ends.end(), token) != ends.end())
    return true;
  if (target_.subwords && target_.subwords->is_special(token))
    return true;
  if (!shared())
    return false;
  return std::find(text_.prefix, text_.prefix + text_.prefix_count, token) != text_.prefix + text_.prefix_count ||
         std::find(text_.suffix, text_.suffix + text_.suffix_count, token) != text_.suffix + text_.suffix_count;
}

std::vector<int32_t> text_codec::written(std::span<const int32_t> tokens) const {
  std::vector<int32_t> written;
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(written), [&](int32_t token) { return is_written(token); });
  return written;
}

void text_codec::decode_settled(std::span<const int32_t> tokens, std::string &text) const {
  if (target_.subwords)
    target_.subwords->decode(target_.subwords->settled(written(tokens)), text);
  else
    decode(tokens, text);
}

void text_codec::decode(std::span<const int32_t> tokens, std::string &text) const {
  if (target_.subwords)
    return target_.subwords->decode(written(tokens), text);
  bool first = true;
  for (int32_t token : tokens) {
    if (!is_written(token))
      continue;
    if (!first && (target_.ids || target_.split == XF_ABI_WORDS))
      text += ' ';
    first = false;
    if (target_.ids)
      text += std::to_string(token);
    else if (static_cast<size_t>(token) < target_.vocab->size())
      text += target_.vocab->token(static_cast<size_t>(token));
    else
      text += "<unk>"; // a row of the table that the vocabulary has no line for
  }
}

void text_codec::append_label(int64_t label, std::string &text) const {
  if (!ids_ && static_cast<size_t>(label) < target_.vocab->size())
    text += target_.vocab->token(static_cast<size_t>(label));
  else
    text += std::to_string(label);
}

} // namespace xf::rt
