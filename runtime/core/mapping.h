// Finds an image in what carries it (a bare model file, an executable or shared library with a trailer, a
// block of memory) and maps it: one read-only mapping shared by all processes, in which the code, once its
// location is known to be right, becomes executable.
#ifndef RUNTIME_CORE_MAPPING_H
#define RUNTIME_CORE_MAPPING_H

#include <cstdint>
#include <string>

namespace xf::rt {

class mapping {
public:
  // Of a file that is an image or ends with one.
  explicit mapping(const std::string &path);
  // Of memory that outlives the mapping.
  mapping(const void *data, uint64_t size);
  ~mapping();
  mapping(const mapping &) = delete;
  mapping &operator=(const mapping &) = delete;

  const uint8_t *data() const { return data_; }
  uint64_t size() const { return size_; }
  const std::string &name() const { return name_; }

  // Makes [offset, offset + size) executable and returns where the code lies. The range is inside the
  // image and page aligned. Called once.
  const uint8_t *map_code(uint64_t offset, uint64_t size);

private:
  const uint8_t *copy_code(uint64_t offset, uint64_t size);

  std::string name_;
  const uint8_t *data_ = nullptr;
  uint64_t size_ = 0;
  bool owned_ = false;       // the mapping is ours to undo
  int file_ = -1;            // open until the code is mapped
  uint64_t file_offset_ = 0; // of the image
  void *code_copy_ = nullptr;
  uint64_t code_copy_size_ = 0;
};

// The file whose mapping holds this address: the executable or shared library that the function is in.
std::string file_of_address(const void *address);

} // namespace xf::rt

#endif
