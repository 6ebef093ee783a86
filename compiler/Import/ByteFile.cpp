#include "compiler/Import/ByteFile.h"

#include "compiler/Import/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace xf;

llvm::Expected<std::unique_ptr<ByteFile>> ByteFile::open(llvm::StringRef path) {
  std::string name = path.str();
  int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return makeError("{}: {}", name, std::strerror(errno));
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return makeError("{}: not a regular file", name);
  }
  std::unique_ptr<ByteFile> file(new ByteFile(path, info.st_size));
  file->descriptor = fd;
  return file;
}

std::unique_ptr<ByteFile> ByteFile::ofMemory(llvm::StringRef path, llvm::ArrayRef<char> bytes) {
  std::unique_ptr<ByteFile> file(new ByteFile(path, bytes.size()));
  file->memory = bytes;
  return file;
}

ByteFile::~ByteFile() {
  if (descriptor >= 0)
    close(descriptor);
}

llvm::Error ByteFile::read(uint64_t first, llvm::MutableArrayRef<char> out) const {
  if (descriptor < 0) {
    llvm::copy(memory.slice(first, out.size()), out.begin());
    return llvm::Error::success();
  }
  while (!out.empty()) {
    auto got = llvm::sys::fs::readNativeFileSlice(descriptor, out, first);
    if (!got)
      return makeError("{}: {}", path, llvm::toString(got.takeError()));
    if (*got == 0)
      return makeError("{}: was cut short while it was read", path);
    out = out.drop_front(*got);
    first += *got;
  }
  return llvm::Error::success();
}
