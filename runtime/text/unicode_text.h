// Unicode as a tokenizer's table has it: the classes of code points, and how text is normalised.
#ifndef RUNTIME_TEXT_UNICODE_TEXT_H
#define RUNTIME_TEXT_UNICODE_TEXT_H

#include "runtime/text/tokenizer_table.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xf::rt {

struct code_point {
  uint32_t value = 0;
  uint32_t size = 0; // its bytes, 0 at the end of a text
};

class unicode_text {
public:
  // Code points for each byte of a text.
  static constexpr size_t kGrowth = 12;

  explicit unicode_text(const tokenizer_table &table);

  // The code point that stands there; bytes that are none are kReplacement's, one at a time.
  static code_point point_at(std::string_view text, size_t at);
  // Where the code point that ends at `at`, which is not 0, begins.
  static size_t before(std::string_view text, size_t at);
  // Classes of a code point (xf_tokenizer_class); none at the end of a text.
  uint16_t classes(code_point point) const { return point.size == 0 ? 0 : classes(point.value); }
  uint16_t classes(uint32_t point) const { return point < kAscii ? ascii_[point] : run_of(point).classes; }
  uint16_t classes_at(std::string_view text, size_t at) const { return classes(point_at(text, at)); }
  // Those of the code point that ends there; none at the beginning.
  uint16_t classes_before(std::string_view text, size_t at) const { return at == 0 ? 0 : classes_at(text, before(text, at)); }
  // Where the code points of a class from `at` on end.
  size_t skip(std::string_view text, size_t at, uint16_t classes) const;

  // The text, normalised; a view of it where nothing changes, else of `room`. Throws where it becomes more than kGrowth times as long:
  // no sound table's does.
  std::string_view normalise(std::string_view text, std::string &room) const;

private:
  static constexpr uint32_t kAscii = 128;
  using points = std::vector<uint32_t>;

  const xf_tokenizer_run &run_of(uint32_t point) const;
  void map(std::span<const xf_tokenizer_mapping> mappings, bool hangul, points &text) const;
  void remove(uint16_t classes, points &text) const;
  void clean(points &text) const;
  void space_cjk(points &text) const;
  void order_marks(points &text) const;
  void compose(points &text) const;
  // What two code points become, or 0.
  uint32_t compose(uint32_t left, uint32_t right) const;

  const tokenizer_table &table_;
  uint16_t ascii_[kAscii];
};

} // namespace xf::rt

#endif
