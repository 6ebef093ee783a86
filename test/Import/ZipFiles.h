// Zip archives for tests of their readers.
#ifndef XF_TEST_IMPORT_ZIPFILES_H
#define XF_TEST_IMPORT_ZIPFILES_H

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>
#include <zip.h>

namespace xf {

using Members = std::vector<std::pair<std::string, std::string>>;

/// An archive as libzip writes it after `change`.
inline std::string makeZip(const Members &members, int method = ZIP_CM_STORE, std::function<void(zip_t *)> change = {}) {
  zip_source_t *memory = zip_source_buffer_create(nullptr, 0, 0, nullptr);
  zip_source_keep(memory); // the archive frees it once
  zip_t *archive = zip_open_from_source(memory, ZIP_TRUNCATE, nullptr);
  for (const auto &[name, bytes] : members) {
    auto index = zip_file_add(archive, name.c_str(), zip_source_buffer(archive, bytes.data(), bytes.size(), 0), 0);
    EXPECT_EQ(zip_set_file_compression(archive, index, method, 1), 0);
  }
  if (change)
    change(archive);
  EXPECT_EQ(zip_close(archive), 0) << zip_strerror(archive);
  EXPECT_EQ(zip_source_open(memory), 0);
  zip_stat_t info;
  EXPECT_EQ(zip_source_stat(memory, &info), 0);
  std::string bytes(info.size, '\0');
  EXPECT_EQ(zip_source_read(memory, bytes.data(), bytes.size()), zip_int64_t(bytes.size()));
  zip_source_close(memory);
  zip_source_free(memory);
  return bytes;
}

template <typename T>
std::string bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

} // namespace xf

#endif // XF_TEST_IMPORT_ZIPFILES_H
