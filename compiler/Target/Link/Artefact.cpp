#include "compiler/Target/Link/Artefact.h"

#include "compiler/Import/Error.h"
#include "compiler/Import/WriteFile.h"
#include "compiler/Target/Link/ObjectFile.h"
#include "compiler/Target/Link/Packing.h"

#include "llvm/Support/Path.h"

using namespace mlir;

namespace xf {

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
  llvm::Error error = writeFile(path, executable, [&](llvm::raw_fd_ostream &out) {
    out << before;
    out.write(head.data(), head.size());
    llvm::Error error = writeWeights(contents.kernelModule, contents.codeModule.layout, parameters, weightBytes, source, out,
                                     [&] { return out.error(); });
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
