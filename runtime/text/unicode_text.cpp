#include "runtime/text/unicode_text.h"

#include "runtime/core/error.h"
#include "runtime/text/utf8.h"

#include <algorithm>

namespace xf::rt {

namespace {

// Hangul syllables are computed from their parts (the Unicode standard, 3.12).
constexpr uint32_t kSyllables = 0xac00, kLeading = 0x1100, kVowels = 0x1161, kTrailing = 0x11a7;
constexpr uint32_t kLeadingCount = 19, kVowelCount = 21, kTrailingCount = 28, kSyllableCount = kLeadingCount * kVowelCount * kTrailingCount;

} // namespace

unicode_text::unicode_text(const tokenizer_table &table) : table_(table) {
  for (uint32_t point = 0; point < kAscii; ++point)
    ascii_[point] = run_of(point).classes;
}

code_point unicode_text::point_at(std::string_view text, size_t at) {
  if (at >= text.size())
    return {};
  auto first = static_cast<uint8_t>(text[at]);
  if (first < 0x80)
    return {first, 1};
  size_t length = utf8_length(text, at);
  if (length == 0)
    return {0xfffd, 1};
  return {utf8_point(text, at, length), static_cast<uint32_t>(length)};
}

size_t unicode_text::before(std::string_view text, size_t at) {
  size_t begin = at - 1;
  while (begin > 0 && at - begin < 4 && (static_cast<uint8_t>(text[begin]) & 0xc0) == 0x80)
    --begin;
  return begin;
}

size_t unicode_text::skip(std::string_view text, size_t at, uint16_t wanted) const {
  for (code_point point; (point = point_at(text, at)).size > 0 && (classes(point.value) & wanted); at += point.size)
    ;
  return at;
}

const xf_tokenizer_run &unicode_text::run_of(uint32_t point) const {
  auto behind = std::upper_bound(table_.runs.begin(), table_.runs.end(), point,
                                 [](uint32_t value, const xf_tokenizer_run &run) { return value < run.first; });
  return behind[-1]; // the first is of 0
}

std::string_view unicode_text::normalise(std::string_view text, std::string &room) const {
  // Composing and decomposing leave ASCII alone, which most text is.
  bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) < kAscii; });
  auto changes = [&](uint32_t step) { return !ascii || (step != XF_TOKENIZER_DECOMPOSE && step != XF_TOKENIZER_COMPOSE); };
  if (std::none_of(table_.steps.begin(), table_.steps.end(), changes))
    return text;
  points work;
  work.reserve(text.size());
  const size_t most = kGrowth * text.size();
  for (code_point point; (point = point_at(text, 0)).size > 0; text.remove_prefix(point.size))
    work.push_back(point.value);
  for (uint32_t step : table_.steps) {
    if (step == XF_TOKENIZER_CLEAN)
      clean(work);
    else if (step == XF_TOKENIZER_SPACE_CJK)
      space_cjk(work);
    else if (step == XF_TOKENIZER_DECOMPOSE)
      map(table_.decompositions, true, work), order_marks(work);
    else if (step == XF_TOKENIZER_COMPOSE)
      compose(work);
    else if (step == XF_TOKENIZER_STRIP_NONSPACING)
      remove(XF_TOKENIZER_NONSPACING, work);
    else if (step == XF_TOKENIZER_STRIP_MARKS)
      remove(XF_TOKENIZER_MARK, work);
    else
      map(table_.lower, false, work);
    if (work.size() > most)
      fail(status::invalid_argument, "it grows too long when it is normalised");
  }
  room.clear();
  for (uint32_t point : work)
    append_utf8(point, room);
  return room;
}

void unicode_text::map(std::span<const xf_tokenizer_mapping> mappings, bool hangul, points &text) const {
  points mapped;
  mapped.reserve(text.size());
  for (uint32_t point : text) {
    if (uint32_t number = point - kSyllables; hangul && number < kSyllableCount) {
      mapped.push_back(kLeading + number / (kVowelCount * kTrailingCount));
      mapped.push_back(kVowels + number % (kVowelCount * kTrailingCount) / kTrailingCount);
      if (number % kTrailingCount)
        mapped.push_back(kTrailing + number % kTrailingCount);
      continue;
    }
    auto found = std::lower_bound(mappings.begin(), mappings.end(), point,
                                  [](const xf_tokenizer_mapping &m, uint32_t value) { return m.point < value; });
    if (found == mappings.end() || found->point != point)
      mapped.push_back(point);
    else
      mapped.insert(mapped.end(), table_.points.begin() + found->first, table_.points.begin() + found->first + found->count);
  }
  text.swap(mapped);
}

void unicode_text::remove(uint16_t wanted, points &text) const {
  text.erase(std::remove_if(text.begin(), text.end(), [&](uint32_t point) { return (classes(point) & wanted) != 0; }), text.end());
}

void unicode_text::clean(points &text) const {
  remove(XF_TOKENIZER_CONTROL, text);
  for (uint32_t &point : text)
    if (classes(point) & XF_TOKENIZER_SPACE)
      point = ' ';
}

void unicode_text::space_cjk(points &text) const {
  points spaced;
  spaced.reserve(text.size());
  for (uint32_t point : text) {
    if (classes(point) & XF_TOKENIZER_CJK)
      spaced.insert(spaced.end(), {' ', point, ' '});
    else
      spaced.push_back(point);
  }
  text.swap(spaced);
}

// Marks behind a letter stand in the order of their combining classes.
void unicode_text::order_marks(points &text) const {
  auto combining = [&](uint32_t point) { return point < kAscii ? 0 : run_of(point).combining; };
  for (auto at = text.begin(); at != text.end();) {
    auto begin = std::find_if(at, text.end(), [&](uint32_t point) { return combining(point) != 0; });
    at = std::find_if(begin, text.end(), [&](uint32_t point) { return combining(point) == 0; });
    std::stable_sort(begin, at, [&](uint32_t left, uint32_t right) { return combining(left) < combining(right); });
  }
}

// A mark joins the letter before it where no mark of its class, or of a higher one, stands between them.
void unicode_text::compose(points &text) const {
  size_t written = 0, letter = SIZE_MAX;
  int between = -1; // the combining class of what stands there last; -1: nothing does
  for (size_t at = 0; at < text.size(); ++at) {
    uint32_t point = text[at];
    int combining = point < kAscii ? 0 : run_of(point).combining;
    if (letter != SIZE_MAX && between < combining)
      if (uint32_t both = compose(text[letter], point)) {
        text[letter] = both;
        continue;
      }
    between = combining;
    if (combining == 0) {
      letter = written;
      between = -1;
    }
    text[written++] = point;
  }
  text.resize(written);
}

uint32_t unicode_text::compose(uint32_t left, uint32_t right) const {
  if (uint32_t l = left - kLeading, v = right - kVowels; l < kLeadingCount && v < kVowelCount)
    return kSyllables + (l * kVowelCount + v) * kTrailingCount;
  if (uint32_t s = left - kSyllables, t = right - kTrailing; s < kSyllableCount && s % kTrailingCount == 0 && t > 0 && t < kTrailingCount)
    return left + t;
  auto precedes = [](const xf_tokenizer_composition &c, std::pair<uint32_t, uint32_t> pair) { return std::pair(c.left, c.right) < pair; };
  auto found = std::lower_bound(table_.compositions.begin(), table_.compositions.end(), std::pair(left, right), precedes);
  return found != table_.compositions.end() && found->left == left && found->right == right ? found->composed : 0;
}

} // namespace xf::rt
