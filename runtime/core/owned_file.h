// A stream of the C library that is closed by itself, whatever is thrown while it is read.
#ifndef RUNTIME_CORE_OWNED_FILE_H
#define RUNTIME_CORE_OWNED_FILE_H

#include <cstdio>
#include <memory>

namespace xf::rt {

struct file_closer {
  void operator()(std::FILE *file) const { std::fclose(file); }
};
// Null where it could not be opened.
using owned_file = std::unique_ptr<std::FILE, file_closer>;

} // namespace xf::rt

#endif
