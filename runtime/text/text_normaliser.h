// How a tokenizer's table normalises text.
#ifndef RUNTIME_TEXT_TEXT_NORMALISER_H
#define RUNTIME_TEXT_TEXT_NORMALISER_H

#include "runtime/text/unicode_text.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xf::rt {

class text_normaliser {
public:
  // Bytes of normalised text besides those that `growth` of the table counts.
  static constexpr size_t kPrepended = 16;

  text_normaliser(const tokenizer_table &table, const unicode_text &unicode) : table_(table), unicode_(unicode) {}

  // The normalised text: a view of `text` if nothing changes, else of `buffer`. Throws if it grows more than the table says, which none with
  // a sound table does.
  std::string_view normalise(std::string_view text, std::string &buffer) const;

private:
  using points = std::vector<uint32_t>;

  void apply(const xf_tokenizer_stage &stage, points &text) const;
  // Replaces each code point by what add(point, to) appends.
  template <typename Add> static void rewrite(points &text, Add add);
  void decompose(const xf_tokenizer_stage &stage, points &text) const;
  void order_marks(points &text) const;
  void compose(points &text) const;
  // What two code points become, or 0.
  uint32_t compose(uint32_t left, uint32_t right) const;
  void map_clusters(const xf_tokenizer_stage &stage, points &text) const;
  void replace(const xf_tokenizer_stage &stage, points &text) const;
  void remove(uint16_t classes, points &text) const;
  void clean(points &text) const;
  void space_cjk(points &text) const;
  bool is_space(uint32_t point) const { return (unicode_.classes(point) & XF_TOKENIZER_SPACE) != 0; }

  // Appends what a code point becomes; false if it stays the same.
  bool append_mapped(const xf_tokenizer_stage &stage, uint32_t point, points &to) const;
  // The rule for the shortest beginning of `text`, or null.
  const xf_tokenizer_rule *shortest_rule(const xf_tokenizer_stage &stage, std::span<const uint32_t> text) const;
  std::span<const uint32_t> points_of(uint32_t first, uint32_t count) const { return table_.points.subspan(first, count); }

  const tokenizer_table &table_;
  const unicode_text &unicode_;
};

} // namespace xf::rt

#endif
