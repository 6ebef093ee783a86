// Reading of NumPy's .npz files.
#include "compiler/Import/Npz.h"

#include "compiler/Import/Error.h"
#include "compiler/Import/NpyHeader.h"
#include "compiler/Import/ZipArchive.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace xf;

NpzFile::NpzFile(std::unique_ptr<ZipArchive> from) : TensorFile(from->getPath().str()), archive(std::move(from)) {}
NpzFile::~NpzFile() = default;

llvm::Expected<std::unique_ptr<NpzFile>> NpzFile::open(std::unique_ptr<ZipArchive> archive) {
  std::unique_ptr<NpzFile> file(new NpzFile(std::move(archive)));
  if (llvm::Error error = file->readHeaders())
    return error;
  return file;
}

/// Takes a member's header, of which `bytes` are the beginning, and compares it with the member's size.
static llvm::Error parseHeader(llvm::ArrayRef<char> bytes, uint64_t memberSize, NpyHeader &header) {
  if (llvm::Error error = parseNpyHeader(bytes, header))
    return error;
  auto size = byteSize(header.dtype, *header.shape);
  if (!size)
    return makeError("of shape {} is larger than any memory", formatShape(*header.shape));
  if (memberSize - header.size != *size)
    return makeError("of dtype {} and shape {} needs {} bytes, but its member holds {}", dtypeName(header.dtype).str(),
                     formatShape(*header.shape), *size, memberSize - header.size);
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
    }
    places.push_back({i, header.byColumns});
    if (!add(std::move(tensor)))
      return makeError("{}: tensor '{}' is there twice", path, name.str());
  }
  return llvm::Error::success();
}

/// Moves elements from their places by columns to those by rows; `shape` has two dimensions or more.
template <typename T>
static void moveToRows(llvm::ArrayRef<int64_t> shape, const char *columns, char *rows) {
  // In tiles of the first and the last dimension: the one is contiguous by columns, the other by rows.
  constexpr int64_t tile = 32;
  int64_t first = shape.front(), last = shape.back(), middle = 1;
  for (int64_t d : shape.drop_front().drop_back())
    middle *= d;
  for (int64_t m = 0; m < middle; ++m) { // the dimensions between them, counted by rows
    int64_t byColumns = 0, rest = m, stride = middle;
    for (int64_t d : llvm::reverse(shape.drop_front().drop_back())) {
      stride /= d;
      byColumns += rest % d * stride;
      rest /= d;
    }
    for (int64_t i0 = 0; i0 < first; i0 += tile)
      for (int64_t j0 = 0; j0 < last; j0 += tile)
        for (int64_t i = i0; i < std::min(first, i0 + tile); ++i)
          for (int64_t j = j0; j < std::min(last, j0 + tile); ++j)
            std::memcpy(rows + ((i * middle + m) * last + j) * sizeof(T),
                        columns + ((j * middle + byColumns) * first + i) * sizeof(T), sizeof(T));
  }
}

llvm::Error NpzFile::transpose(const TensorInfo &tensor) const {
  transposed = nullptr;
  rows = std::vector<char>();
  std::vector<char> columns;
  uint64_t size = tensor.end - tensor.begin;
  // They grow as bytes come: an archive may promise more than it holds.
  for (uint64_t done = 0; done < size; done = columns.size()) {
    columns.resize(std::min<uint64_t>(size, done + (1 << 20)));
    llvm::MutableArrayRef<char> piece = llvm::MutableArrayRef(columns).drop_front(done);
    if (llvm::Error error = archive->read(placeOf(tensor).member, tensor.begin + done, piece))
      return error;
  }
  rows.resize(size);
  // Without dimensions of 1, which change no place, tiles are full.
  llvm::SmallVector<int64_t> shape;
  llvm::copy_if(tensor.shape, std::back_inserter(shape), [](int64_t d) { return d != 1; });
  switch (dtypeSize(tensor.dtype)) {
  case 1:
    moveToRows<uint8_t>(shape, columns.data(), rows.data());
    break;
  case 2:
    moveToRows<uint16_t>(shape, columns.data(), rows.data());
    break;
  case 4:
    moveToRows<uint32_t>(shape, columns.data(), rows.data());
    break;
  default:
    moveToRows<uint64_t>(shape, columns.data(), rows.data());
  }
  transposed = &tensor;
  return llvm::Error::success();
}

llvm::Error NpzFile::readBytes(const TensorInfo &tensor, uint64_t first, llvm::MutableArrayRef<char> out) const {
  Place place = placeOf(tensor);
  if (!place.byColumns)
    return archive->read(place.member, tensor.begin + first, out);
  std::lock_guard lock(mutex);
  if (transposed != &tensor)
    if (llvm::Error error = transpose(tensor))
      return error;
  llvm::copy(llvm::ArrayRef(rows).slice(first, out.size()), out.begin());
  return llvm::Error::success();
}

void NpzFile::release(const TensorInfo &tensor) const {
  std::lock_guard lock(mutex);
  if (transposed != &tensor)
    return;
  transposed = nullptr;
  rows = std::vector<char>();
}
