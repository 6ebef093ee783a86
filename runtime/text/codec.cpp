#include "runtime/text/codec.h"

#include "runtime/core/error.h"
#include "runtime/text/utf8.h"

#include <algorithm>
#include <charconv>

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

// A token as a message shows it.
std::string shown(std::string_view token) {
  std::string text(token.substr(0, 60));
  while (!text.empty() && find_invalid_utf8(text) != std::string::npos)
    text.pop_back();
  return text.size() < token.size() ? text + "…" : text;
}

void check_utf8(std::string_view line) {
  if (size_t wrong = find_invalid_utf8(line); wrong != std::string_view::npos)
    fail(status::invalid_argument, "byte %zu is not UTF-8", wrong + 1);
}

int32_t parse_id(std::string_view word) {
  int32_t id = -1;
  auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), id);
  if (problem != std::errc() || end != word.data() + word.size() || id < 0)
    fail(status::invalid_argument, "'%s' is not a token id", shown(word).c_str());
  return id;
}

} // namespace

vocabulary::vocabulary(std::string_view text) {
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    ids_.emplace(line, static_cast<int32_t>(tokens_.size()));
    tokens_.push_back(line);
  }
}

int32_t vocabulary::find(std::string_view token) const {
  auto found = ids_.find(token);
  return found == ids_.end() ? -1 : found->second;
}

text_side::text_side(const model &m, bool source, bool ids)
    : name(source ? "source" : "target"), split(source ? m.header().text.source_split : m.header().text.target_split),
      most(static_cast<size_t>(std::max(m.header().generate.source, m.header().generate.target))),
      words(m.text(source ? m.header().source_vocabulary : m.header().target_vocabulary)) {
  std::string_view bytes = m.text(source ? m.header().source_subwords : m.header().target_subwords);
  this->ids = ids || split == XF_ABI_IDS || (split == XF_ABI_SUBWORDS ? bytes.empty() : words.empty());
  if (this->ids || split != XF_ABI_SUBWORDS)
    return;
  try {
    subwords = std::make_unique<subword_model>(bytes);
  } catch (const error &problem) {
    fail(status::bad_image, "%s: damaged: the %s's subwords: %s", m.file_name().c_str(), name, problem.what());
  }
}

text_codec::text_codec(const model &m, bool ids)
    : ids_(ids), text_(m.header().text), generate_(m.header().generate), source_(m, true, ids), target_(m, false, ids),
      shared_(m.text(m.header().source_vocabulary) == m.text(m.header().target_vocabulary) &&
              m.text(m.header().source_subwords) == m.text(m.header().target_subwords)) {}

// `unknown`: the token for what has none, or -1.
void text_codec::append(std::string_view line, const text_side &side, int32_t unknown, std::vector<int32_t> &tokens) const {
  auto lookup = [&](std::string_view token) {
    int32_t id = side.words.find(token);
    if (id < 0)
      id = unknown;
    if (id < 0)
      fail(status::invalid_argument, "'%s' is not in the %s vocabulary", shown(token).c_str(), side.name);
    return id;
  };
  size_t at = 0;
  if (side.subwords) {
    append_subwords(line, side, unknown, tokens);
  } else if (side.ids) {
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
}

void text_codec::append_subwords(std::string_view line, const text_side &side, int32_t unknown, std::vector<int32_t> &tokens) const {
  const subword_model &model = *side.subwords;
  size_t first = tokens.size();
  encode_subwords(model, line, side.most, tokens);
  for (size_t i = first; i < tokens.size(); ++i) {
    const subword_piece &piece = model.piece(tokens[i]);
    if (piece.type == piece_type::unknown && unknown >= 0)
      tokens[i] = unknown;
    else if (!side.words.empty())
      tokens[i] = side.words.find(piece.text);
    if (tokens[i] < 0)
      tokens[i] = unknown;
    if (tokens[i] < 0)
      fail(status::invalid_argument, "the piece '%s' is not in the %s vocabulary", shown(piece.text).c_str(), side.name);
  }
}

void text_codec::encode(std::string_view line, std::vector<int32_t> &tokens) {
  size_t before = tokens.size();
  try {
    check_utf8(line);
    if (!source_.ids && text_.lowercase) {
      to_lower(line, lowered_);
      line = lowered_;
    }
    tokens.insert(tokens.end(), text_.prefix, text_.prefix + prefix());
    append(line, source_, text_.source_unknown, tokens);
    if (tokens.size() == before + prefix())
      fail(status::invalid_argument, "it is empty");
    tokens.insert(tokens.end(), text_.suffix, text_.suffix + suffix());
  } catch (...) {
    tokens.resize(before);
    throw;
  }
}

void text_codec::encode_target(std::string_view line, std::vector<int32_t> &tokens) const {
  size_t before = tokens.size();
  try {
    check_utf8(line);
    size_t begin = 0, at = 0;
    for (std::string_view word = next_word(line, at); target_.subwords && !word.empty(); word = next_word(line, at))
      if (int32_t marker = find_marker(word); marker >= 0) {
        append(line.substr(begin, at - word.size() - begin), target_, -1, tokens);
        tokens.push_back(marker);
        begin = at;
      }
    append(line.substr(begin), target_, -1, tokens);
    if (target_.subwords && tokens.size() - before > target_.most)
      fail(status::invalid_argument, "it has more tokens than are possible: %zu", target_.most);
  } catch (...) {
    tokens.resize(before);
    throw;
  }
}

// The token that a word stands for which text is not cut into: a control piece, or one that the vocabulary has beside the pieces; or -1.
int32_t text_codec::find_marker(std::string_view word) const {
  int32_t piece = target_.subwords->find_any(word);
  if (piece >= 0 && target_.subwords->piece(piece).type != piece_type::control)
    return -1;
  return target_.words.empty() ? piece : target_.words.find(word);
}

bool text_codec::special(int32_t token) const {
  std::span<const int32_t> ends(generate_.more_ends, generate_.more_ends_count);
  if (token == generate_.start || token == generate_.end || token == generate_.pad || std::find(ends.begin(), ends.end(), token) != ends.end())
    return true;
  if (!shared_)
    return false;
  return std::find(text_.prefix, text_.prefix + text_.prefix_count, token) != text_.prefix + text_.prefix_count ||
         std::find(text_.suffix, text_.suffix + text_.suffix_count, token) != text_.suffix + text_.suffix_count;
}

void text_codec::decode(std::span<const int32_t> tokens, std::string &text) const {
  if (target_.subwords)
    return decode_subwords(tokens, text);
  bool first = true;
  for (int32_t token : tokens) {
    if (!is_written(token))
      continue;
    if (!first && (target_.ids || target_.split == XF_ABI_WORDS))
      text += ' ';
    first = false;
    if (target_.ids)
      text += std::to_string(token);
    else if (static_cast<size_t>(token) < target_.words.size())
      text += target_.words.token(static_cast<size_t>(token));
    else
      text += "<unk>"; // a row of the table that the vocabulary has no line for
  }
}

void text_codec::decode_subwords(std::span<const int32_t> tokens, std::string &text) const {
  const subword_model &model = *target_.subwords;
  std::vector<subword_piece> pieces;
  for (int32_t token : tokens) {
    if (special(token))
      continue;
    auto number = static_cast<size_t>(token);
    int32_t piece = target_.words.empty() ? token : -1;
    if (number < target_.words.size())
      piece = model.find_any(target_.words.token(number));
    if (piece >= 0 && static_cast<size_t>(piece) < model.size())
      pieces.push_back(model.piece(piece));
    else if (number < target_.words.size())
      pieces.push_back({target_.words.token(number)}); // one that the vocabulary has beside the model's pieces
    else
      pieces.push_back(model.piece(model.unknown()));
  }
  rt::decode_subwords(model, pieces, text);
}

void text_codec::append_label(int64_t label, std::string &text) const {
  if (!ids_ && static_cast<size_t>(label) < target_.words.size())
    text += target_.words.token(static_cast<size_t>(label));
  else
    text += std::to_string(label);
}

} // namespace xf::rt
