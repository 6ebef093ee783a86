#include "compiler/Target/Link/Artefact.h"

#include "compiler/Import/Error.h"
#include "compiler/Target/Link/ObjectFile.h"
#include "compiler/Target/Link/Packing.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <unistd.h>

using namespace mlir;
namespace fs = llvm::sys::fs;

namespace xf {

/// Bytes of a write. The page cache keeps what one write brings in pieces as large, and a program that maps the file takes a
/// page fault a piece: the 230 MB of a model in f32 cost 25 ms when they were written by 4 KiB, and 2 ms so.
static constexpr size_t pagesAtOnce = size_t(4) << 20;

/// Lets `write` fill an open file, and adds what went wrong with the file itself.
static llvm::Error fill(int descriptor, StringRef path, Writer write) {
  llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/false);
  out.SetBufferSize(pagesAtOnce);
  llvm::Error error = write(out);
  out.flush();
  if (out.has_error() && !error)
    error = makeError("{}: {}", path.str(), out.error().message());
  out.clear_error();
  return error;
}

llvm::Error writeStdout(Writer write) { return fill(STDOUT_FILENO, "standard output", write); }

llvm::Error writeFile(StringRef path, bool executable, Writer write) {
  fs::file_status status;
  llvm::SmallString<128> target;
  bool exists = !fs::status(path, status);
  if (exists && fs::is_directory(status))
    return makeError("{}: is a folder", path.str());
  if (exists && !fs::is_regular_file(status)) {
    int descriptor;
    if (auto code = fs::openFileForWrite(path, descriptor, fs::CD_OpenExisting))
      return makeError("{}: {}", path.str(), code.message());
    llvm::Error error = fill(descriptor, path, write);
    if (auto code = fs::closeFile(descriptor); code && !error)
      error = makeError("{}: {}", path.str(), code.message());
    return error;
  }
  // What a link names is replaced, not the link.
  if (exists && !fs::real_path(path, target))
    path = target;
  // A temporary file beside the target: what is half-written never has the target's name.
  unsigned mode = fs::all_read | fs::owner_write | (executable ? fs::all_exe : 0);
  auto file = fs::TempFile::create(path + ".%%%%%%.tmp", mode);
  if (!file)
    return makeError("{}: {}", path.str(), llvm::toString(file.takeError()));
  llvm::Error error = fill(file->FD, path, write);
  // The mode given at creation is subject to the umask; execution is not meant to be.
  if (!error)
    if (auto code = fs::setPermissions(file->FD, fs::perms(mode & ~fs::getUmask())))
      error = makeError("{}: {}", path.str(), code.message());
  if (error)
    return llvm::joinErrors(std::move(error), file->discard());
  if (llvm::Error kept = file->keep(path))
    return makeError("{}: {}", path.str(), llvm::toString(std::move(kept)));
  return llvm::Error::success();
}

std::string headerBeside(StringRef path) {
  llvm::SmallString<128> header(path);
  llvm::sys::path::replace_extension(header, "h");
  return header.str().str();
}

llvm::Error writeArtefact(const ImageContents &contents, ParameterSource &source, Carrier carrier, StringRef prebuilt, StringRef path) {
  std::string before, after;
  int64_t weightBytes = 0;
  auto parameters = mapParameters(contents.kernelModule, contents.codeModule.layout, weightBytes);
  std::vector<char> head = buildImageHead(contents, parameters, weightBytes);
  uint64_t imageSize = head.size() + uint64_t(weightBytes);
  if (carrier == Carrier::object) {
    xf_abi_image header;
    memcpy(&header, head.data(), sizeof(header));
    ObjectFrame frame = frameObject(modelIdentifier(contents.kernelModule), imageSize, contents.code, header.code.offset);
    before = std::move(frame.before);
    after = std::move(frame.after);
  } else if (carrier != Carrier::none) {
    auto program = llvm::MemoryBuffer::getFile(prebuilt, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!program)
      return makeError("{}: {} (it comes with xfc)", prebuilt.str(), program.getError().message());
    before = (*program)->getBuffer();
    before.resize(llvm::alignTo(before.size(), XF_ABI_PAGE));
    xf_abi_trailer trailer{XF_ABI_TRAILER_MAGIC, before.size(), imageSize};
    after.assign(reinterpret_cast<const char *>(&trailer), sizeof(trailer));
  }
  bool executable = carrier == Carrier::executable || carrier == Carrier::library;
  llvm::Error error = writeFile(path, executable, [&](llvm::raw_ostream &out) {
    out << before;
    out.write(head.data(), head.size());
    llvm::Error error = writeWeights(contents.kernelModule, contents.codeModule.layout, parameters, weightBytes, source, out);
    out << after;
    return error;
  });
  if (error || (carrier != Carrier::library && carrier != Carrier::object))
    return error;
  return writeFile(headerBeside(path), /*executable=*/false, [&](llvm::raw_ostream &out) {
    out << writeHeader(contents.kernelModule, carrier == Carrier::library);
    return llvm::Error::success();
  });
}

} // namespace xf
