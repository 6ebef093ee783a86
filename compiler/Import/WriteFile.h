// Files that appear whole or not at all.
#ifndef XF_COMPILER_IMPORT_WRITEFILE_H
#define XF_COMPILER_IMPORT_WRITEFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <system_error>

namespace llvm {
class raw_fd_ostream;
}

namespace xf {

using Writer = llvm::function_ref<llvm::Error(llvm::raw_fd_ostream &)>;
/// Calls `write` with a stream to the file at `path`. A file appears whole or not at all; what is none (a device, a pipe), or is a mount
/// point, is written in place.
llvm::Error writeFile(llvm::StringRef path, bool executable, Writer write);
llvm::Error writeStdout(Writer write);
/// An error that writing a file there is bound to have: it is a folder, or lies in none that can be written in.
llvm::Error checkWritable(llvm::StringRef path);

/// A new file whose name no other has: `prefix`, some letters, and `suffix`. It is removed by the destructor, or when a signal ends the program.
class TemporaryFile {
public:
  TemporaryFile(llvm::StringRef prefix, llvm::StringRef suffix, std::error_code &code);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  const std::string &path() const { return name; }
  int descriptor() const { return fd; }
  /// Renames it to `path`, in the same folder, for good; a file there is replaced.
  std::error_code keep(llvm::StringRef path);

private:
  std::string name; // empty: it is not there, or not temporary any more
  int fd = -1;
};

} // namespace xf

#endif // XF_COMPILER_IMPORT_WRITEFILE_H
