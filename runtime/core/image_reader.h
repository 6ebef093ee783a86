// Reads a header and tables that nobody vouches for: every access is checked against the image's size.
#ifndef RUNTIME_CORE_IMAGE_READER_H
#define RUNTIME_CORE_IMAGE_READER_H

#include "runtime/abi/xf_abi.h"
#include "runtime/core/error.h"
#include "runtime/core/mapping.h"

#include <cstring>
#include <string>
#include <vector>

namespace xf::rt {

class image_reader {
public:
  explicit image_reader(const mapping &image) : image_(image) {}

  // Throws "FILE: damaged: WHAT".
  [[noreturn]] void damaged(const std::string &what) const { fail(status::bad_image, "%s: damaged: %s", image_.name().c_str(), what.c_str()); }
  void require(bool condition, const std::string &what) const {
    if (!condition)
      damaged(what);
  }

  void check_range(const xf_abi_range &range, const std::string &what) const {
    require(range.offset <= image_.size() && range.size <= image_.size() - range.offset, "past the end of the image: " + what);
  }

  // A copy of the table's structs.
  template <typename T> std::vector<T> table(const xf_abi_table &table, const std::string &what) const {
    require(table.offset % 8 == 0, what + " is not aligned");
    require(table.offset <= image_.size() && table.count <= (image_.size() - table.offset) / sizeof(T), "past the end of the image: " + what);
    std::vector<T> result(table.count);
    if (table.count)
      std::memcpy(result.data(), image_.data() + table.offset, table.count * sizeof(T));
    return result;
  }

  // A name: 1 to XF_ABI_MAX_NAME bytes, none of them 0.
  std::string name(const xf_abi_range &range, const std::string &what) const {
    check_range(range, "the name of " + what);
    require(range.size >= 1 && range.size <= XF_ABI_MAX_NAME, "the name of " + what + " has an absurd length");
    std::string result(reinterpret_cast<const char *>(image_.data() + range.offset), range.size);
    require(result.find('\0') == std::string::npos, "the name of " + what + " holds a zero byte");
    return result;
  }

private:
  const mapping &image_;
};

} // namespace xf::rt

#endif
