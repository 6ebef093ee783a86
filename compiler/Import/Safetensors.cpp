// Reading of safetensors files.
#include "compiler/Import/Safetensors.h"

#include "compiler/Import/Error.h"
#include "compiler/Import/SafetensorsHeader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

using namespace xf;

/// The format's own limit on the header.
static constexpr uint64_t maxHeader = 100'000'000;

llvm::Expected<std::unique_ptr<SafetensorsFile>> SafetensorsFile::parse(llvm::StringRef path, llvm::ArrayRef<char> bytes) {
  return open(ByteFile::ofMemory(path, bytes));
}

llvm::Expected<std::unique_ptr<SafetensorsFile>> SafetensorsFile::open(std::unique_ptr<ByteFile> bytes) {
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile(std::move(bytes)));
  if (llvm::Error error = file->parseHeader())
    return error;
  return file;
}

llvm::Error SafetensorsFile::parseHeader() {
  uint64_t size = bytes->getSize();
  if (size < 8)
    return makeError("{}: not a safetensors file: it has only {} bytes", path, size);
  char length[8];
  if (llvm::Error error = bytes->read(0, length))
    return error;
  uint64_t header = llvm::support::endian::read64le(length);
  if (header > maxHeader || header > size - 8)
    return makeError("{}: not a safetensors file, or cut short: its header should have {} bytes, the file has {}", path, header, size);
  data = 8 + header;

  std::vector<char> text(header);
  if (llvm::Error error = bytes->read(8, text))
    return error;
  auto tensors = parseSafetensorsHeader(text, size - data);
  if (!tensors)
    return makeError("{}: {}", path, llvm::toString(tensors.takeError()));
  llvm::sort(*tensors, [](const TensorInfo &a, const TensorInfo &b) { return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name); });
  uint64_t end = 0;
  for (TensorInfo &tensor : *tensors) {
    if (tensor.begin < end)
      return makeError("{}: tensors '{}' and '{}' overlap", path, getTensors().back().name, tensor.name);
    if (tensor.begin > end)
      return makeError("{}: bytes {} to {} of the data belong to no tensor", path, end, tensor.begin);
    end = tensor.end;
    add(std::move(tensor));
  }
  if (end != size - data)
    return makeError("{}: bytes {} to {} of the data belong to no tensor", path, end, size - data);
  return llvm::Error::success();
}

llvm::Error SafetensorsFile::readStorage(size_t, uint64_t first, llvm::MutableArrayRef<char> out) const { return bytes->read(data + first, out); }
