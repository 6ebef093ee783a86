// Reading of NumPy's .npz files.
#include "compiler/Import/Npz.h"

#include "compiler/Import/Error.h"
#include "compiler/Import/NpyHeader.h"
#include "compiler/Import/ZipArchive.h"

#include "llvm/ADT/STLExtras.h"

using namespace xf;

NpzFile::NpzFile(std::unique_ptr<ZipArchive> from) : TensorFile(from->getPath().str()), archive(std::move(from)) {}
NpzFile::~NpzFile() = default;

llvm::Expected<std::unique_ptr<NpzFile>> NpzFile::open(std::unique_ptr<ZipArchive> archive) {
  std::unique_ptr<NpzFile> file(new NpzFile(std::move(archive)));
  if (llvm::Error error = file->readHeaders())
    return error;
  return file;
}

/// The array's type, shape and place in a member whose bytes begin with `bytes`.
static llvm::Expected<TensorInfo> describe(llvm::ArrayRef<char> bytes, uint64_t memberSize) {
  auto header = parseNpyHeader(bytes);
  if (!header)
    return header.takeError();
  auto size = byteSize(header->dtype, header->shape);
  if (!size)
    return makeError("of shape {} is larger than any memory", formatShape(header->shape));
  if (memberSize - header->size != *size)
    return makeError("of dtype {} and shape {} needs {} bytes, but its member holds {}", dtypeName(header->dtype).str(),
                     formatShape(header->shape), *size, memberSize - header->size);
  return TensorInfo{{}, header->dtype, header->shape, header->size, memberSize};
}

llvm::Error NpzFile::readHeaders() {
  for (auto [i, member] : llvm::enumerate(archive->getMembers())) {
    llvm::StringRef name = member.name;
    if (!name.consume_back(".npy"))
      return makeError("{}: member '{}' is no array: its name does not end in .npy", path, member.name);
    std::vector<char> beginning(std::min<uint64_t>(member.size, maxNpyHeader));
    if (llvm::Error error = archive->read(i, 0, beginning))
      return error;
    auto tensor = describe(beginning, member.size);
    if (!tensor)
      return makeError("{}: tensor '{}' {}", path, name.str(), llvm::toString(tensor.takeError()));
    tensor->name = name.str();
    if (!add(std::move(*tensor)))
      return makeError("{}: tensor '{}' is there twice", path, name.str());
  }
  return llvm::Error::success();
}

llvm::Error NpzFile::readBytes(const TensorInfo &tensor, uint64_t first, llvm::MutableArrayRef<char> out) const {
  size_t member = &tensor - getTensors().data(); // each is a tensor
  return archive->read(member, tensor.begin + first, out);
}
