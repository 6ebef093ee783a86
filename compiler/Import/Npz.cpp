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

/// Parses the header of a member that begins with `bytes`, and compares it with the member's size.
static llvm::Error parseHeader(llvm::ArrayRef<char> bytes, uint64_t memberSize, NpyHeader &header) {
  if (llvm::Error error = parseNpyHeader(bytes, header))
    return error;
  auto size = byteSize(header.dtype, *header.shape);
  if (!size)
    return makeError("of shape {} is larger than any memory", formatShape(*header.shape));
  if (memberSize - header.size != *size)
    return makeError("of dtype {} and shape {} needs {} bytes, but its member holds {}", dtypeName(header.dtype).str(), formatShape(*header.shape),
                     *size, memberSize - header.size);
  return llvm::Error::success();
}

llvm::Error NpzFile::readHeaders() {
  for (auto [i, member] : llvm::enumerate(archive->getMembers())) {
    llvm::StringRef name = member.name;
    if (name.ends_with("/") && member.size == 0) // a folder
      continue;
    NpyHeader header;
    std::string problem = "is no array: its member's name does not end in .npy";
    if (name.consume_back(".npy")) {
      std::vector<char> beginning(std::min<uint64_t>(member.size, maxNpyHeader));
      if (llvm::Error error = archive->read(i, 0, beginning))
        return error;
      problem = llvm::toString(parseHeader(beginning, member.size, header));
    }
    TensorInfo tensor;
    tensor.name = name.str();
    tensor.problem = problem;
    tensor.shapeKnown = header.shape.has_value();
    tensor.shape = header.shape.value_or(std::vector<int64_t>());
    if (problem.empty()) {
      tensor.dtype = header.dtype;
      tensor.begin = header.size;
      tensor.end = member.size;
      tensor.storage = i;
      if (header.isColumnMajor)
        tensor.strides = columnMajorStrides(tensor.shape);
    }
    if (!add(std::move(tensor)))
      return makeError("{}: tensor '{}' is there twice", path, name.str());
  }
  return llvm::Error::success();
}

llvm::Error NpzFile::readStorage(size_t member, uint64_t first, llvm::MutableArrayRef<char> out) const { return archive->read(member, first, out); }
