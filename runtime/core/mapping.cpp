#include "runtime/core/mapping.h"

#include "runtime/abi/xf_abi.h"
#include "runtime/core/error.h"
#include "runtime/core/owned_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace xf::rt {

namespace {

bool read_at(int file, void *target, size_t size, uint64_t offset) {
  auto *bytes = static_cast<uint8_t *>(target);
  while (size > 0) {
    ssize_t n = pread(file, bytes, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    bytes += n;
    size -= n;
    offset += n;
  }
  return true;
}

// Where the image lies in a file of this size.
xf_abi_range find_image(int file, const char *name, uint64_t size) {
  char magic[8] = {};
  if (size >= sizeof(magic) && !read_at(file, magic, sizeof(magic), 0))
    fail(status::io, "%s: cannot read: %s", name, std::strerror(errno));
  if (std::memcmp(magic, XF_ABI_MAGIC, sizeof(magic)) == 0)
    return {0, size};
  xf_abi_trailer trailer = {};
  if (size < sizeof(trailer) || !read_at(file, &trailer, sizeof(trailer), size - sizeof(trailer)) ||
      std::memcmp(trailer.magic, XF_ABI_TRAILER_MAGIC, sizeof(trailer.magic)) != 0) {
    if (std::memcmp(magic, "\177ELF", 4) == 0)
      fail(status::bad_image, "%s: holds no compiled model (cut short, or a runner without one)", name);
    fail(status::bad_image, "%s: neither a compiled program nor a compiled model", name);
  }
  uint64_t end = size - sizeof(trailer);
  if (trailer.image_offset % XF_ABI_PAGE != 0 || trailer.image_offset > end || trailer.image_size != end - trailer.image_offset)
    fail(status::bad_image, "%s: damaged: the trailer does not fit the file", name);
  return {trailer.image_offset, trailer.image_size};
}

} // namespace

mapping::mapping(const std::string &path) : name_(path) {
  // A pipe, which is no model, must not be waited for.
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    fail(status::io, "%s: %s", path.c_str(), std::strerror(errno));
  try {
    struct stat info;
    if (fstat(file, &info) != 0)
      fail(status::io, "%s: %s", path.c_str(), std::strerror(errno));
    if (!S_ISREG(info.st_mode))
      fail(status::io, "%s: not a file", path.c_str());
    xf_abi_range range = find_image(file, path.c_str(), info.st_size);
    if (range.size < sizeof(xf_abi_image))
      fail(status::bad_image, "%s: cut short: %llu bytes are less than a header", path.c_str(), static_cast<unsigned long long>(range.size));
    void *data = mmap(nullptr, range.size, PROT_READ, MAP_SHARED, file, static_cast<off_t>(range.offset));
    if (data == MAP_FAILED)
      fail(status::io, "%s: cannot map: %s", path.c_str(), std::strerror(errno));
    // What is not in the page cache yet comes there in huge pages, where the kernel knows how: weights are read again and again,
    // far more slowly through many small pages. Only advice.
    madvise(data, range.size, MADV_HUGEPAGE);
    data_ = static_cast<const uint8_t *>(data);
    size_ = range.size;
    file_offset_ = range.offset;
  } catch (...) {
    close(file);
    throw;
  }
  file_ = file;
  owned_ = true;
}

mapping::mapping(const void *data, uint64_t size) : name_("image in memory"), data_(static_cast<const uint8_t *>(data)), size_(size) {
  if (!data)
    fail(status::invalid_argument, "the image in memory is null");
  if (reinterpret_cast<uintptr_t>(data) % 64 != 0)
    fail(status::invalid_argument, "the image in memory must start at a multiple of 64 bytes");
  if (size < sizeof(xf_abi_image))
    fail(status::bad_image, "image in memory: cut short: %llu bytes are less than a header", static_cast<unsigned long long>(size));
}

mapping::~mapping() {
  if (code_copy_)
    munmap(code_copy_, code_copy_size_);
  if (owned_)
    munmap(const_cast<uint8_t *>(data_), size_);
  if (file_ >= 0)
    close(file_);
}

const uint8_t *mapping::map_code(uint64_t offset, uint64_t size) {
  if (size == 0)
    return data_ + offset;
  if (file_ >= 0) {
    // At its address in the image's mapping, but private. A file system mounted without execution refuses:
    // then the code is copied.
    uint8_t *address = const_cast<uint8_t *>(data_) + offset;
    void *code = mmap(address, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file_, static_cast<off_t>(file_offset_ + offset));
    int problem = errno;
    close(file_);
    file_ = -1;
    if (code != MAP_FAILED)
      return address;
    if (problem != EPERM && problem != EACCES)
      fail(status::io, "%s: cannot map the code: %s", name_.c_str(), std::strerror(problem));
  }
  return copy_code(offset, size);
}

const uint8_t *mapping::copy_code(uint64_t offset, uint64_t size) {
  void *copy = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED)
    fail(status::out_of_memory, "%s: no memory for the code", name_.c_str());
  code_copy_ = copy;
  code_copy_size_ = size;
  std::memcpy(copy, data_ + offset, size);
  if (mprotect(copy, size, PROT_READ | PROT_EXEC) != 0)
    fail(status::unsupported, "%s: this system does not let programs make code executable: %s", name_.c_str(), std::strerror(errno));
  return static_cast<const uint8_t *>(copy);
}

// A name from the memory map, which writes newlines as \012.
static std::string with_newlines(std::string name) {
  constexpr std::string_view kNewline = "\\012";
  for (size_t at = 0; (at = name.find(kNewline, at)) != std::string::npos; ++at)
    name.replace(at, kNewline.size(), "\n");
  return name;
}

std::string file_of_address(const void *address) {
  // The memory map has absolute names, right even after the working directory has changed.
  if (owned_file maps(std::fopen("/proc/self/maps", "re")); maps) {
    char line[5000];
    unsigned long long inode = 0;
    std::string found;
    while (found.empty() && std::fgets(line, sizeof(line), maps.get())) {
      unsigned long long begin, end;
      int path = 0;
      if (std::sscanf(line, "%llx-%llx %*s %*s %*s %llu %n", &begin, &end, &inode, &path) == 3 && path > 0 &&
          reinterpret_cast<uintptr_t>(address) - begin < end - begin && line[path] == '/') {
        line[path + std::strcspn(line + path, "\n")] = '\0';
        found = line + path;
      }
    }
    struct stat there, self;
    if (!found.empty() && stat(found.c_str(), &there) != 0) {
      std::string name = with_newlines(found);
      if (stat(name.c_str(), &there) == 0)
        return name;
      // A deleted file's name is no longer its own. The link works all the same.
      if (stat("/proc/self/exe", &self) == 0 && self.st_ino == inode)
        return "/proc/self/exe";
    }
    if (!found.empty())
      return found;
  }
  // Without the map: dladdr knows the program itself only by the name that it was called by.
  Dl_info info, program;
  if (dladdr(address, &info) && info.dli_fname) {
    bool is_program = dladdr(reinterpret_cast<const void *>(getauxval(AT_PHDR)), &program) && program.dli_fbase == info.dli_fbase;
    return is_program ? reinterpret_cast<const char *>(getauxval(AT_EXECFN)) : info.dli_fname;
  }
  fail(status::io, "cannot find the file of this program");
}

} // namespace xf::rt
