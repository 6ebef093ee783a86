#include "compiler/Target/Link/Artefact.h"

#include "compiler/Import/Error.h"
#include "compiler/Target/Link/Packing.h"

#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace xf {

llvm::Error writeArtefact(const ImageContents &contents, ParameterSource &source, Carrier carrier, StringRef prebuilt, StringRef path) {
  std::unique_ptr<llvm::MemoryBuffer> front;
  if (carrier != Carrier::none) {
    auto read = llvm::MemoryBuffer::getFile(prebuilt, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!read)
      return makeError("{}: {} (it comes with xfc)", prebuilt.str(), read.getError().message());
    front = std::move(*read);
  }
  int64_t weightBytes = 0;
  auto parameters = mapParameters(contents.kernelModule, contents.codeModule.layout, weightBytes);
  std::vector<char> head = buildImageHead(contents, parameters, weightBytes);

  // A temporary file beside the target: what is half-written never has the target's name.
  unsigned mode = llvm::sys::fs::all_read | llvm::sys::fs::owner_write | (carrier == Carrier::none ? 0 : llvm::sys::fs::all_exe);
  auto file = llvm::sys::fs::TempFile::create(path + ".%%%%%%.tmp", mode);
  if (!file)
    return makeError("{}: {}", path.str(), llvm::toString(file.takeError()));
  llvm::Error error = llvm::Error::success();
  {
    llvm::raw_fd_ostream out(file->FD, /*shouldClose=*/false);
    uint64_t begin = 0;
    if (front) {
      out << front->getBuffer();
      begin = llvm::alignTo(front->getBufferSize(), XF_ABI_PAGE);
      out.write_zeros(begin - front->getBufferSize());
    }
    out.write(head.data(), head.size());
    error = writeWeights(contents.kernelModule, contents.codeModule.layout, parameters, weightBytes, source, out);
    if (front) {
      xf_abi_trailer trailer{XF_ABI_TRAILER_MAGIC, begin, head.size() + uint64_t(weightBytes)};
      out.write(reinterpret_cast<const char *>(&trailer), sizeof(trailer));
    }
    out.flush();
    if (out.has_error() && !error)
      error = makeError("{}: {}", path.str(), out.error().message());
    out.clear_error();
  }
  // The mode given at creation is subject to the umask; execution is not meant to be.
  if (!error)
    if (auto code = llvm::sys::fs::setPermissions(file->FD, llvm::sys::fs::perms(mode & ~llvm::sys::fs::getUmask())))
      error = makeError("{}: {}", path.str(), code.message());
  if (!error)
    return file->keep(path);
  return llvm::joinErrors(std::move(error), file->discard());
}

} // namespace xf
