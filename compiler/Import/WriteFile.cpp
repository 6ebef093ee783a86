#include "compiler/Import/WriteFile.h"

#include "compiler/Import/Error.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
namespace fs = llvm::sys::fs;

namespace xf {

// LLVM's temporary files do not do: they replace each % of a path by some letter, also in the folders' names.
TemporaryFile::TemporaryFile(StringRef prefix, StringRef suffix, std::error_code &code) : name((prefix + "XXXXXX" + suffix).str()) {
  fd = mkostemps(name.data(), static_cast<int>(suffix.size()), O_CLOEXEC);
  if (fd < 0) {
    code = std::error_code(errno, std::generic_category());
    name.clear();
  } else {
    sys::RemoveFileOnSignal(name);
  }
}

TemporaryFile::~TemporaryFile() {
  if (fd >= 0)
    close(fd);
  if (name.empty())
    return;
  fs::remove(name);
  sys::DontRemoveFileOnSignal(name);
}

std::error_code TemporaryFile::keep(StringRef path) {
  std::error_code code = fs::rename(name, path);
  // A mount point, as a container's files may be, cannot be replaced: it gets the contents.
  if (code == std::errc::device_or_resource_busy)
    return fs::copy_file(name, path);
  if (!code) {
    sys::DontRemoveFileOnSignal(name);
    name.clear();
  }
  return code;
}

/// The size of a write. The page cache keeps the bytes of one write in pieces as large, and a program that maps the file takes a
/// page fault for each piece: the 230 MB of a model in f32 cost 25 ms if written by 4 KiB, and 2 ms by this.
static constexpr size_t writeBufferSize = size_t(4) << 20;

static Error describe(StringRef path, std::error_code code) { return makeError("{}: {}", path.str(), code.message()); }

/// Lets `write` fill an open file, and adds what went wrong with the file itself.
static Error fill(int descriptor, StringRef path, Writer write) {
  raw_fd_ostream out(descriptor, /*shouldClose=*/false);
  out.SetBufferSize(writeBufferSize);
  Error error = write(out);
  out.flush();
  if (out.has_error()) { // another error may be its consequence
    consumeError(std::move(error));
    error = describe(path, out.error());
  }
  out.clear_error();
  return error;
}

Error writeStdout(Writer write) { return fill(STDOUT_FILENO, "standard output", write); }

/// Writes to what is no file, without replacing it.
static Error writeDevice(StringRef path, Writer write) {
  int descriptor;
  if (auto code = fs::openFileForWrite(path, descriptor, fs::CD_OpenExisting))
    return describe(path, code);
  Error error = fill(descriptor, path, write);
  if (auto code = fs::closeFile(descriptor); code && !error)
    error = describe(path, code);
  return error;
}

/// The file to write for `path`: for a link what it names, whether that exists or not. Empty for what is no file (a device, a pipe).
static Expected<std::string> resolveTarget(StringRef path) {
  fs::file_status status;
  std::error_code missing = fs::status(path, status);
  if (missing && missing != std::errc::no_such_file_or_directory)
    return describe(path, missing);
  if (!missing && fs::is_directory(status))
    return makeError("{}: is a folder", path.str());
  if (!missing && !fs::is_regular_file(status))
    return "";
  SmallString<128> target(path);
  if (!missing) {
    if (auto code = fs::real_path(path, target))
      return describe(path, code);
  } else if (std::error_code code; std::filesystem::is_symlink(path.str(), code)) {
    std::filesystem::path link(path.str()), named = std::filesystem::read_symlink(link, code);
    return code ? Expected<std::string>(describe(path, code)) : resolveTarget((link.parent_path() / named).string());
  }
  return target.str().str();
}

/// The folder of `path`; "." if it names none.
static StringRef folderOf(StringRef path) {
  StringRef folder = sys::path::parent_path(path);
  return folder.empty() ? "." : folder;
}

Error checkWritable(StringRef path) {
  auto target = resolveTarget(path);
  if (!target)
    return target.takeError();
  std::error_code code = fs::access(target->empty() ? path : folderOf(*target), fs::AccessMode::Write);
  return code ? describe(path, code) : Error::success();
}

Error writeFile(StringRef path, bool executable, Writer write) {
  auto target = resolveTarget(path);
  if (!target)
    return target.takeError();
  if (target->empty())
    return writeDevice(path, write);
  // A temporary file beside the target: half-written contents never have the target's name. Its own is short, however long the target's.
  std::error_code code;
  SmallString<128> temporaryPrefix(folderOf(*target));
  sys::path::append(temporaryPrefix, ".xf-");
  TemporaryFile file(temporaryPrefix, ".tmp", code);
  if (code)
    return describe(path, code);
  if (Error error = fill(file.descriptor(), path, write))
    return error;
  unsigned mode = fs::all_read | fs::owner_write | (executable ? fs::all_exe : 0);
  if ((code = fs::setPermissions(file.descriptor(), fs::perms(mode & ~fs::getUmask()))) || (code = file.keep(*target)))
    return describe(path, code);
  return Error::success();
}

} // namespace xf
