#include "runtime/text/text_normaliser.h"

#include "runtime/core/error.h"
#include "runtime/text/utf8.h"

#include <algorithm>

namespace xf::rt {

namespace {

// Hangul syllables are computed from their parts (the Unicode standard, 3.12).
constexpr uint32_t kSyllables = 0xac00, kLeading = 0x1100, kVowels = 0x1161, kTrailing = 0x11a7;
constexpr uint32_t kLeadingCount = 19, kVowelCount = 21, kTrailingCount = 28, kSyllableCount = kLeadingCount * kVowelCount * kTrailingCount;

size_t utf8_size(uint32_t point) { return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4; }

bool begins_with(std::span<const uint32_t> text, std::span<const uint32_t> beginning) {
  return text.size() >= beginning.size() && std::equal(beginning.begin(), beginning.end(), text.begin());
}

} // namespace

std::string_view text_normaliser::normalise(std::string_view text, std::string &buffer) const {
  // Composing and decomposing leave ASCII alone, which most text is.
  bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) < unicode_text::kAscii; });
  auto changes = [&](const xf_tokenizer_stage &stage) {
    return !ascii || (stage.step != XF_TOKENIZER_DECOMPOSE && stage.step != XF_TOKENIZER_COMPOSE);
  };
  if (text.empty() || std::none_of(table_.steps.begin(), table_.steps.end(), changes))
    return text;
  points work;
  work.reserve(text.size());
  const size_t max_size = table_.head().growth * text.size() + kPrepended;
  for (code_point point; (point = unicode_text::point_at(text, 0)).size > 0; text.remove_prefix(point.size))
    work.push_back(point.value);
  for (const xf_tokenizer_stage &stage : table_.steps) {
    apply(stage, work);
    if (work.size() > max_size)
      fail(status::invalid_argument, "it grows too long when it is normalised");
  }
  buffer.clear();
  for (uint32_t point : work)
    append_utf8(point, buffer);
  return buffer;
}

void text_normaliser::apply(const xf_tokenizer_stage &stage, points &text) const {
  auto spaces = [&](uint32_t point) { return is_space(point); };
  switch (stage.step) {
  case XF_TOKENIZER_CLEAN:
    return clean(text);
  case XF_TOKENIZER_SPACE_CJK:
    return space_cjk(text);
  case XF_TOKENIZER_DECOMPOSE:
    return decompose(stage, text);
  case XF_TOKENIZER_COMPOSE:
    return compose(text);
  case XF_TOKENIZER_STRIP_NONSPACING:
    return remove(XF_TOKENIZER_NONSPACING, text);
  case XF_TOKENIZER_STRIP_MARKS:
    return remove(XF_TOKENIZER_MARK, text);
  case XF_TOKENIZER_MAP:
    return rewrite(text, [&](uint32_t point, points &to) {
      if (!append_mapped(stage, point, to))
        to.push_back(point);
    });
  case XF_TOKENIZER_MAP_CLUSTERS:
    return map_clusters(stage, text);
  case XF_TOKENIZER_STRIP_LEFT:
    text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), spaces));
    return;
  case XF_TOKENIZER_STRIP_RIGHT:
    text.erase(std::find_if_not(text.rbegin(), text.rend(), spaces).base(), text.end());
    return;
  default:
    return replace(stage, text);
  }
}

template <typename Add> void text_normaliser::rewrite(points &text, Add add) {
  points rewritten;
  rewritten.reserve(text.size());
  for (uint32_t point : text)
    add(point, rewritten);
  text.swap(rewritten);
}

bool text_normaliser::append_mapped(const xf_tokenizer_stage &stage, uint32_t point, points &to) const {
  std::span<const xf_tokenizer_mapping> mappings = table_.mappings(stage);
  auto found = std::lower_bound(mappings.begin(), mappings.end(), point,
                                [](const xf_tokenizer_mapping &m, uint32_t value) { return m.point < value; });
  if (found == mappings.end() || found->point != point)
    return false;
  std::span<const uint32_t> mapped = points_of(found->first, found->count);
  to.insert(to.end(), mapped.begin(), mapped.end());
  return true;
}

const xf_tokenizer_rule *text_normaliser::shortest_rule(const xf_tokenizer_stage &stage, std::span<const uint32_t> text) const {
  // Rules are sorted. Those that the text begins with come before it, the shortest first, but others may be between them.
  std::span<const xf_tokenizer_rule> rules = table_.rules(stage);
  for (size_t count = 2; count <= text.size(); ++count) {
    std::span<const uint32_t> beginning = text.first(count);
    auto precedes = [&](const xf_tokenizer_rule &rule, std::span<const uint32_t> wanted) {
      std::span<const uint32_t> from = points_of(rule.from_first, rule.from_count);
      return std::lexicographical_compare(from.begin(), from.end(), wanted.begin(), wanted.end());
    };
    auto found = std::lower_bound(rules.begin(), rules.end(), beginning, precedes);
    if (found != rules.end() && found->from_count == count && begins_with(beginning, points_of(found->from_first, found->from_count)))
      return &*found;
  }
  return nullptr;
}

void text_normaliser::map_clusters(const xf_tokenizer_stage &stage, points &text) const {
  points mapped;
  mapped.reserve(text.size());
  for (size_t at = 0, end; at < text.size(); at = end) {
    uint32_t state = 0;
    size_t bytes = 0;
    for (end = at; end < text.size() && (xf_tokenizer_joins(&state, unicode_.run_of(text[end]).cluster) || end == at); ++end)
      bytes += utf8_size(text[end]);
    if (end > at + 1 && bytes < XF_TOKENIZER_LONG_CLUSTER) {
      if (append_mapped(stage, text[at], mapped))
        continue;
      if (const xf_tokenizer_rule *rule = shortest_rule(stage, std::span(text).subspan(at, end - at))) {
        std::span<const uint32_t> to = points_of(rule->first, rule->count);
        mapped.insert(mapped.end(), to.begin(), to.end());
        continue;
      }
    }
    for (size_t i = at; i < end; ++i)
      if (!append_mapped(stage, text[i], mapped))
        mapped.push_back(text[i]);
  }
  text.swap(mapped);
}

void text_normaliser::replace(const xf_tokenizer_stage &stage, points &text) const {
  const xf_tokenizer_rule &rule = table_.rules(stage).front();
  std::span<const uint32_t> from = points_of(rule.from_first, rule.from_count), to = points_of(rule.first, rule.count);
  if (stage.step == XF_TOKENIZER_PREPEND) {
    if (!text.empty())
      text.insert(text.begin(), to.begin(), to.end());
    return;
  }
  points replaced;
  replaced.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    size_t length = begins_with(std::span(text).subspan(at), from) ? from.size() : 0;
    if (length > 0 && stage.step == XF_TOKENIZER_REPLACE_RUNS) {
      while (begins_with(std::span(text).subspan(at + length), from))
        length += from.size();
      length = length > from.size() ? length : 0;
    }
    if (length > 0)
      replaced.insert(replaced.end(), to.begin(), to.end());
    else
      replaced.push_back(text[at]);
    at += std::max<size_t>(length, 1);
  }
  text.swap(replaced);
}

void text_normaliser::remove(uint16_t wanted, points &text) const {
  text.erase(std::remove_if(text.begin(), text.end(), [&](uint32_t point) { return (unicode_.classes(point) & wanted) != 0; }), text.end());
}

void text_normaliser::clean(points &text) const {
  remove(XF_TOKENIZER_CONTROL, text);
  for (uint32_t &point : text)
    if (is_space(point))
      point = ' ';
}

void text_normaliser::space_cjk(points &text) const {
  rewrite(text, [&](uint32_t point, points &to) {
    if (unicode_.classes(point) & XF_TOKENIZER_CJK)
      to.insert(to.end(), {' ', point, ' '});
    else
      to.push_back(point);
  });
}

void text_normaliser::decompose(const xf_tokenizer_stage &stage, points &text) const {
  rewrite(text, [&](uint32_t point, points &to) {
    if (uint32_t syllable_index = point - kSyllables; syllable_index < kSyllableCount) {
      to.push_back(kLeading + syllable_index / (kVowelCount * kTrailingCount));
      to.push_back(kVowels + syllable_index % (kVowelCount * kTrailingCount) / kTrailingCount);
      if (syllable_index % kTrailingCount)
        to.push_back(kTrailing + syllable_index % kTrailingCount);
    } else if (!append_mapped(stage, point, to)) {
      to.push_back(point);
    }
  });
  order_marks(text);
}

void text_normaliser::order_marks(points &text) const {
  auto combining = [&](uint32_t point) { return unicode_.run_of(point).combining; };
  for (auto at = text.begin(); at != text.end();) {
    auto begin = std::find_if(at, text.end(), [&](uint32_t point) { return combining(point) != 0; });
    at = std::find_if(begin, text.end(), [&](uint32_t point) { return combining(point) == 0; });
    std::stable_sort(begin, at, [&](uint32_t left, uint32_t right) { return combining(left) < combining(right); });
  }
}

// A mark joins the letter before it where no mark of its class, or of a higher one, stands between them.
void text_normaliser::compose(points &text) const {
  size_t written = 0, letter = SIZE_MAX;
  int between = -1; // the combining class of what stands there last; -1: nothing does
  for (size_t at = 0; at < text.size(); ++at) {
    uint32_t point = text[at];
    int combining = unicode_.run_of(point).combining;
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

uint32_t text_normaliser::compose(uint32_t left, uint32_t right) const {
  if (uint32_t l = left - kLeading, v = right - kVowels; l < kLeadingCount && v < kVowelCount)
    return kSyllables + (l * kVowelCount + v) * kTrailingCount;
  if (uint32_t s = left - kSyllables, t = right - kTrailing; s < kSyllableCount && s % kTrailingCount == 0 && t > 0 && t < kTrailingCount)
    return left + t;
  auto precedes = [](const xf_tokenizer_composition &c, std::pair<uint32_t, uint32_t> pair) { return std::pair(c.left, c.right) < pair; };
  auto found = std::lower_bound(table_.compositions.begin(), table_.compositions.end(), std::pair(left, right), precedes);
  return found != table_.compositions.end() && found->left == left && found->right == right ? found->composed : 0;
}

} // namespace xf::rt
