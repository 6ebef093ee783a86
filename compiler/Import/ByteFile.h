// A regular file that is read at any position, never mapped: if it changes meanwhile, that must end with a message.
#ifndef XF_COMPILER_IMPORT_BYTEFILE_H
#define XF_COMPILER_IMPORT_BYTEFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <string>

namespace xf {

class ByteFile {
public:
  /// A pipe is an error, and is not waited for.
  static llvm::Expected<std::unique_ptr<ByteFile>> open(llvm::StringRef path);
  /// Reads from memory that outlives the result; `path` is what messages call it.
  static std::unique_ptr<ByteFile> ofMemory(llvm::StringRef path, llvm::ArrayRef<char> bytes);
  ~ByteFile();

  llvm::StringRef getPath() const { return path; }
  /// Its size in bytes when it was opened.
  uint64_t getSize() const { return size; }
  /// Bytes [first, first + out.size()), which must not reach beyond its size. May be called from several threads.
  llvm::Error read(uint64_t first, llvm::MutableArrayRef<char> out) const;

private:
  ByteFile(llvm::StringRef path, uint64_t size) : path(path), size(size) {}

  std::string path;
  uint64_t size;
  llvm::ArrayRef<char> memory; // of ofMemory()
  int descriptor = -1;
};

} // namespace xf

#endif // XF_COMPILER_IMPORT_BYTEFILE_H
