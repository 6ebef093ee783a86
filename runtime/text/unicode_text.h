// Unicode as a tokenizer's table has it: the classes of code points.
#ifndef RUNTIME_TEXT_UNICODE_TEXT_H
#define RUNTIME_TEXT_UNICODE_TEXT_H

#include "runtime/text/tokenizer_table.h"

#include <cstdint>
#include <string_view>

namespace xf::rt {

struct code_point {
  uint32_t value = 0;
  uint32_t size = 0; // its bytes, 0 at the end of a text
};

class unicode_text {
public:
  static constexpr uint32_t kAscii = 128;

  explicit unicode_text(const tokenizer_table &table);

  // The code point at `at`; bytes that are none count as kReplacement, one at a time.
  static code_point point_at(std::string_view text, size_t at);
  // Where the code point that ends at `at`, which is not 0, begins.
  static size_t before(std::string_view text, size_t at);
  // Classes of a code point (xf_tokenizer_class); none at the end of a text.
  uint16_t classes(code_point point) const { return point.size == 0 ? 0 : classes(point.value); }
  uint16_t classes(uint32_t point) const { return run_of(point).classes; }
  uint16_t classes_at(std::string_view text, size_t at) const { return classes(point_at(text, at)); }
  // Those of the code point that ends at `at`; none at the beginning.
  uint16_t classes_before(std::string_view text, size_t at) const { return at == 0 ? 0 : classes_at(text, before(text, at)); }
  // The end of the run of code points in these classes from `at` on.
  size_t skip(std::string_view text, size_t at, uint16_t classes) const;
  // What is known of a code point.
  const xf_tokenizer_run &run_of(uint32_t point) const { return point < kAscii ? ascii_[point] : find_run(point); }

private:
  const xf_tokenizer_run &find_run(uint32_t point) const;

  const tokenizer_table &table_;
  xf_tokenizer_run ascii_[kAscii];
};

} // namespace xf::rt

#endif
