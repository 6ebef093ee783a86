// How the tokens of a table become text again.
#include "runtime/text/table_tokenizer.h"
#include "runtime/text/utf8.h"

#include <algorithm>
#include <charconv>

namespace xf::rt {

namespace {

void replace_all(std::string &text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// Appends bytes as text: what is not UTF-8 is replaced, the beginning of a character by one replacement. Texts end with a zero byte, so they
// hold none.
void append_text(std::string_view bytes, std::string &text) {
  while (!bytes.empty()) {
    size_t length = bytes.front() ? utf8_length(bytes, 0) : 0;
    text += length ? bytes.substr(0, length) : kReplacement;
    bytes.remove_prefix(length ? length : broken_length(bytes));
  }
}

// The byte that a token of that name stands for.
char byte_of(std::string_view name) {
  unsigned value = 0;
  std::from_chars(name.data() + 3, name.data() + 5, value, 16);
  return static_cast<char>(value);
}

} // namespace

template <typename Visit> void table_tokenizer::for_written(std::span<const int32_t> ids, Visit visit) const {
  for (int32_t id : ids)
    if (!table_.is_special(id) && table_.has_token(id))
      visit(id);
}

void table_tokenizer::decode(std::span<const int32_t> ids, std::string &text) const {
  std::string bytes;
  bool first = true;
  switch (table_.head().decoder) {
  case XF_TOKENIZER_JOINS_PARTS:
    decode_parts(ids, bytes);
    break;
  case XF_TOKENIZER_JOINS_PIECES:
    decode_pieces(ids, bytes);
    break;
  case XF_TOKENIZER_JOINS_WORDS:
    for_written(ids, [&](int32_t id) {
      bytes.append(first ? "" : " ").append(table_.text(id));
      first = false;
    });
    break;
  default:
    for_written(ids, [&](int32_t id) { bytes += table_.text(id); });
  }
  append_text(bytes, text);
}

void table_tokenizer::decode_parts(std::span<const int32_t> ids, std::string &bytes) const {
  std::string_view joined = table_.text(table_.head().joined);
  std::string part;
  bool first = true;
  for_written(ids, [&](int32_t id) {
    part = table_.text(id);
    if (!first && part.starts_with(joined))
      part.erase(0, joined.size());
    else if (!first)
      part.insert(0, " ");
    first = false;
    if (table_.has(XF_TOKENIZER_CLEANS_UP))
      for (auto [from, to] : {std::pair(" .", "."),
                              {" ?", "?"},
                              {" !", "!"},
                              {" ,", ","},
                              {" ' ", "'"},
                              {" n't", "n't"},
                              {" 'm", "'m"},
                              {" do not", " don't"},
                              {" 's", "'s"},
                              {" 've", "'ve"},
                              {" 're", "'re"}})
        replace_all(part, from, to);
    bytes += part;
  });
}

void table_tokenizer::decode_pieces(std::span<const int32_t> ids, std::string &bytes) const {
  std::string run, piece; // run: of consecutive tokens that are bytes
  auto end_run = [&] {
    // The bytes of a run are text together, or none of them is.
    bool good = find_invalid_utf8(run) == std::string_view::npos;
    for (char byte : run)
      if (good)
        bytes += byte;
      else
        bytes += kReplacement;
    run.clear();
  };
  bool first = true;
  for_written(ids, [&](int32_t id) {
    if (table_.has(XF_TOKENIZER_WRITES_BYTES) && table_.is_byte(id)) {
      run += byte_of(table_.text(id));
      return;
    }
    end_run();
    piece = table_.text(id);
    replace_all(piece, kSpacePiece, first && table_.has(XF_TOKENIZER_DROPS_FIRST) ? "" : " ");
    first = false;
    bytes += piece;
  });
  end_run();
  size_t dropped = std::min({bytes.find_first_not_of(' '), bytes.size(), size_t(table_.head().dropped)});
  bytes.erase(0, dropped);
}

std::span<const int32_t> table_tokenizer::settled(std::span<const int32_t> ids) const {
  if (!table_.has(XF_TOKENIZER_WRITES_BYTES))
    return ids;
  // What the last bytes become depends on bytes that follow, even with tokens between that are no text.
  auto unsettled = [&](int32_t id) { return !table_.has_token(id) || table_.is_byte(id) || table_.is_special(id); };
  while (!ids.empty() && unsettled(ids.back()))
    ids = ids.first(ids.size() - 1);
  return ids;
}

} // namespace xf::rt
