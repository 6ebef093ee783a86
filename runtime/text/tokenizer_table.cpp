#include "runtime/text/tokenizer_table.h"

#include "runtime/core/error.h"

#include <algorithm>
#include <bit>

namespace xf::rt {

namespace {

[[noreturn]] void damaged(const char *what) { fail(status::invalid_argument, "its tokenizer's %s", what); }

void require(bool condition, const char *what) {
  if (!condition)
    damaged(what);
}

bool is_point(uint32_t value) { return value < 0xd800 || (value >= 0xe000 && value < 0x110000); }

} // namespace

tokenizer_table::tokenizer_table(std::string_view bytes) : file_(bytes) {
  require(bytes.size() >= sizeof(xf_tokenizer) && bytes.size() <= UINT32_MAX, "table is cut off");
  require(reinterpret_cast<uintptr_t>(bytes.data()) % alignof(xf_tokenizer) == 0, "table is not aligned");
  head_ = reinterpret_cast<const xf_tokenizer *>(bytes.data());
  bytes_ = list<char>(head_->bytes, "texts are past its end");
  texts_ = list<uint32_t>(head_->texts, "texts are past its end");
  token_flags_ = list<uint8_t>(head_->token_flags, "tokens are past its end");
  scores_ = list<double>(head_->scores, "scores are past its end");
  slots_ = list<uint32_t>(head_->slots, "tokens are past its end");
  merges_ = list<xf_tokenizer_merge>(head_->merges, "merges are past its end");
  merge_slots_ = list<uint32_t>(head_->merge_slots, "merges are past its end");
  names = list<xf_tokenizer_added>(head_->names, "added tokens are past its end");
  added = list<xf_tokenizer_added>(head_->added, "added tokens are past its end");
  normalised = list<xf_tokenizer_added>(head_->normalised, "added tokens are past its end");
  steps = list<xf_tokenizer_stage>(head_->steps, "normaliser is past its end");
  runs = list<xf_tokenizer_run>(head_->runs, "classes are past its end");
  points = list<uint32_t>(head_->points, "code points are past its end");
  compositions = list<xf_tokenizer_composition>(head_->compositions, "compositions are past its end");
  check_head();
  check_tokens();
  check_added(names);
  check_added(added);
  check_added(normalised);
  check_unicode();
}

template <typename T> std::span<const T> tokenizer_table::list(const xf_tokenizer_list &list, const char *what) const {
  require(list.offset <= file_.size() && list.count <= (file_.size() - list.offset) / sizeof(T), what);
  require(list.offset % alignof(T) == 0, what);
  return at<T>(list);
}

void tokenizer_table::check_head() const {
  const xf_tokenizer &h = *head_;
  bool is_bpe = h.kind == XF_TOKENIZER_BYTE_BPE || h.kind == XF_TOKENIZER_BPE;
  require(h.kind >= XF_TOKENIZER_BYTE_BPE && h.kind <= XF_TOKENIZER_WORDS, "kind is unknown");
  require(h.decoder >= XF_TOKENIZER_JOINS_BYTES && h.decoder <= XF_TOKENIZER_JOINS_PIECES, "decoder is unknown");
  require(h.pattern <= XF_TOKENIZER_BLANKS, "pattern is unknown");
  require(h.growth >= 1 && h.growth <= XF_TOKENIZER_MAX_GROWTH, "text grows too long");
  auto tokens = static_cast<int64_t>(size());
  require(tokens <= INT32_MAX && texts_.size() == size() + 1, "tokens have no texts");
  require(h.unknown < tokens && h.unknown >= (is_bpe ? -1 : 0), "unknown token is none");
  require(std::all_of(std::begin(h.of_byte), std::end(h.of_byte), [&](int32_t id) { return id >= -1 && id < tokens; }), "bytes are no tokens");
  for (const xf_tokenizer_text &text : {h.continuing, h.joined})
    require(text.first <= bytes_.size() && text.size <= bytes_.size() - text.first, "texts are past its end");
}

void tokenizer_table::check_tokens() {
  uint32_t longest = 0, bad = 0;
  for (size_t i = 0; i + 1 < texts_.size(); ++i) {
    bad |= texts_[i] > texts_[i + 1];
    longest = std::max(longest, texts_[i + 1] - texts_[i]);
  }
  require(!bad && texts_.back() <= bytes_.size(), "texts overlap");
  longest_ = longest;
  uint32_t max = 0;
  for (const xf_tokenizer_merge &merge : merges_)
    max = std::max({max, merge.left, merge.right, merge.merged});
  require(merges_.empty() || max < size(), "merges are of no tokens");
  check_slots(slots_, size(), "tokens cannot be found");
  if (head_->kind == XF_TOKENIZER_UNIGRAM)
    require(std::all_of(slots_.begin(), slots_.end(), [&](uint32_t slot) { return slot <= scores_.size(); }), "tokens have no scores");
  check_slots(merge_slots_, merges_.size(), "merges cannot be found");
}

void tokenizer_table::check_slots(std::span<const uint32_t> slots, size_t elements, const char *what) const {
  uint32_t max = 0, min = UINT32_MAX;
  for (uint32_t slot : slots) {
    max = std::max(max, slot);
    min = std::min(min, slot);
  }
  require(std::has_single_bit(slots.size()) && max <= elements && min == 0, what);
}

void tokenizer_table::check_added(std::span<const xf_tokenizer_added> tokens) const {
  for (const xf_tokenizer_added &token : tokens)
    require(token.id < size() && token.text.size > 0 && token.text.first <= bytes_.size() && token.text.size <= bytes_.size() - token.text.first,
            "added tokens are none");
}

void tokenizer_table::check_unicode() const {
  for (const xf_tokenizer_stage &stage : steps)
    check_stage(stage);
  require(!runs.empty() && runs[0].first == 0, "classes do not begin at 0");
  for (size_t i = 1; i < runs.size(); ++i)
    require(runs[i - 1].first < runs[i].first, "classes are in no order");
  require(std::all_of(points.begin(), points.end(), is_point), "code points are none");
  for (const xf_tokenizer_composition &composition : compositions)
    require(is_point(composition.composed), "code points are none");
}

void tokenizer_table::check_stage(const xf_tokenizer_stage &stage) const {
  require(stage.step >= XF_TOKENIZER_CLEAN && stage.step <= XF_TOKENIZER_STRIP_RIGHT, "normaliser is unknown");
  for (const xf_tokenizer_mapping &m : list<xf_tokenizer_mapping>(stage.mappings, "mappings are past its end"))
    check_points(m.first, m.count);
  std::span<const xf_tokenizer_rule> all = list<xf_tokenizer_rule>(stage.rules, "rules are past its end");
  for (const xf_tokenizer_rule &rule : all) {
    check_points(rule.from_first, rule.from_count);
    check_points(rule.first, rule.count);
  }
  if (stage.step == XF_TOKENIZER_REPLACE || stage.step == XF_TOKENIZER_REPLACE_RUNS || stage.step == XF_TOKENIZER_PREPEND)
    require(all.size() == 1 && (all[0].from_count > 0 || stage.step == XF_TOKENIZER_PREPEND), "rule is none");
}

void tokenizer_table::check_points(uint32_t first, uint32_t count) const {
  // No code point becomes more than a few: text grows by no more than memory is planned for.
  require(count <= XF_TOKENIZER_MAX_POINTS && first <= points.size() && count <= points.size() - first, "code points are past its end");
}

int32_t tokenizer_table::find(std::string_view text) const {
  return find(xf_tokenizer_hash_bytes(XF_TOKENIZER_HASH_START, text.data(), text.size()), {}, text);
}

int32_t tokenizer_table::find(uint32_t hash, std::string_view left, std::string_view right) const {
  uint32_t mask = static_cast<uint32_t>(slots_.size()) - 1;
  for (uint32_t at = xf_tokenizer_hash_end(hash) & mask; slots_[at] != 0; at = (at + 1) & mask) {
    auto id = static_cast<int32_t>(slots_[at] - 1);
    std::string_view there = text(id);
    if (there.size() == left.size() + right.size() && there.starts_with(left) && there.ends_with(right))
      return id;
  }
  return -1;
}

const xf_tokenizer_merge *tokenizer_table::find_merge(uint32_t left, uint32_t right) const {
  uint32_t mask = static_cast<uint32_t>(merge_slots_.size()) - 1;
  for (uint32_t at = xf_tokenizer_hash_merge(left, right) & mask; merge_slots_[at] != 0; at = (at + 1) & mask) {
    const xf_tokenizer_merge &merge = merges_[merge_slots_[at] - 1];
    if (merge.left == left && merge.right == right)
      return &merge;
  }
  return nullptr;
}

} // namespace xf::rt
