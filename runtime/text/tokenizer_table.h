// The table of a tokenizer (xf_tokenizer.h), used as it lies in the image: all that it says is checked once, when it is opened.
#ifndef RUNTIME_TEXT_TOKENIZER_TABLE_H
#define RUNTIME_TEXT_TOKENIZER_TABLE_H

#include "runtime/abi/xf_tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace xf::rt {

class tokenizer_table {
public:
  // The bytes outlive the table. Throws what is wrong with them.
  explicit tokenizer_table(std::string_view bytes);

  // Whether bytes begin as a table does.
  static bool is_one(std::string_view bytes) { return bytes.starts_with(std::string_view(XF_TOKENIZER_MAGIC, sizeof(XF_TOKENIZER_MAGIC))); }

  const xf_tokenizer &head() const { return *head_; }
  bool has(uint32_t flag) const { return head_->flags & flag; }
  size_t size() const { return token_flags_.size(); }
  // The token's text; of an id without a token, nothing.
  std::string_view text(int32_t id) const {
    size_t i = static_cast<size_t>(id);
    return i < size() ? std::string_view(bytes_.data() + texts_[i], texts_[i + 1] - texts_[i]) : std::string_view();
  }
  std::string_view text(const xf_tokenizer_text &text) const { return {bytes_.data() + text.first, text.size}; }
  bool has_token(int32_t id) const { return (flags(id) & XF_TOKENIZER_PRESENT) != 0; }
  bool is_special(int32_t id) const { return (flags(id) & XF_TOKENIZER_SPECIAL) != 0; }
  bool is_byte(int32_t id) const { return (flags(id) & XF_TOKENIZER_BYTE) != 0; }
  // The score of a token that words are cut into.
  double score(int32_t id) const { return scores_[static_cast<size_t>(id)]; }
  size_t longest() const { return longest_; }

  // The token of that text that words are cut into, or -1.
  int32_t find(std::string_view text) const;
  // The same for a text in two parts, given the hash of its bytes.
  int32_t find(uint32_t hash, std::string_view left, std::string_view right) const;
  // The merge of two tokens, or null; merges are in the order of their ranks.
  const xf_tokenizer_merge *find_merge(uint32_t left, uint32_t right) const;
  const xf_tokenizer_merge *merges() const { return merges_.data(); }

  std::span<const xf_tokenizer_added> names, added, normalised;
  // The mappings and rules of a step of the normaliser.
  std::span<const xf_tokenizer_mapping> mappings(const xf_tokenizer_stage &stage) const { return at<xf_tokenizer_mapping>(stage.mappings); }
  std::span<const xf_tokenizer_rule> rules(const xf_tokenizer_stage &stage) const { return at<xf_tokenizer_rule>(stage.rules); }

  std::span<const xf_tokenizer_stage> steps;
  std::span<const uint32_t> points;
  std::span<const xf_tokenizer_run> runs;
  std::span<const xf_tokenizer_composition> compositions;

private:
  template <typename T> std::span<const T> at(const xf_tokenizer_list &list) const {
    return {reinterpret_cast<const T *>(file_.data() + list.offset), list.count};
  }
  // The same for a list that is yet to be checked.
  template <typename T> std::span<const T> list(const xf_tokenizer_list &list, const char *what) const;
  uint8_t flags(int32_t id) const { return static_cast<size_t>(id) < size() ? token_flags_[static_cast<size_t>(id)] : 0; }
  void check_head() const;
  void check_tokens();
  void check_slots(std::span<const uint32_t> slots, size_t elements, const char *what) const;
  void check_added(std::span<const xf_tokenizer_added> tokens) const;
  void check_unicode() const;
  void check_stage(const xf_tokenizer_stage &stage) const;
  void check_points(uint32_t first, uint32_t count) const;

  std::string_view file_;
  const xf_tokenizer *head_;
  std::span<const char> bytes_;
  std::span<const uint32_t> texts_, slots_, merge_slots_;
  std::span<const uint8_t> token_flags_;
  std::span<const double> scores_;
  std::span<const xf_tokenizer_merge> merges_;
  size_t longest_ = 0;
};

} // namespace xf::rt

#endif
