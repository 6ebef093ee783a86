#include "compiler/Import/RowMajorReader.h"

#include "compiler/Import/Error.h"
#include "compiler/Import/TensorFile.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

#include <sys/mman.h>

using namespace xf;

Strides xf::rowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  Strides strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

Strides xf::columnMajorStrides(llvm::ArrayRef<int64_t> shape) {
  Strides strides(shape.size(), 1);
  for (size_t d = 1; d < shape.size(); ++d)
    strides[d] = strides[d - 1] * shape[d - 1];
  return strides;
}

bool xf::isRowMajor(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides) {
  return llvm::all_of(llvm::zip_equal(shape, strides, rowMajorStrides(shape)), [](const auto &each) {
    auto [size, stride, rowMajor] = each;
    return size == 1 || stride == rowMajor;
  });
}

std::optional<int64_t> xf::countSpan(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides) {
  if (llvm::is_contained(shape, 0))
    return 0;
  int64_t span = 1;
  for (auto [size, stride] : llvm::zip_equal(shape, strides)) {
    int64_t distance;
    if (stride < 0 || __builtin_mul_overflow(size - 1, stride, &distance) || __builtin_add_overflow(span, distance, &span))
      return std::nullopt;
  }
  return span;
}

char *Scratch::get(uint64_t size) {
  if (size <= capacity)
    return bytes;
  release();
  void *mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    return nullptr;
  bytes = static_cast<char *>(mapped);
  capacity = size;
  return bytes;
}

void Scratch::release() {
  if (bytes)
    munmap(bytes, capacity);
  bytes = nullptr;
  capacity = 0;
}

namespace {

struct Dimension {
  int64_t size, srcStride, dstStride; // strides in the file and in the rows
};
using Dimensions = llvm::SmallVector<Dimension>;

/// A tensor's dimensions, outermost first. Neighbours that are contiguous in both orders are joined; dimensions of size 1 are left out.
Dimensions findDimensions(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides) {
  Dimensions dimensions;
  for (auto [size, srcStride, dstStride] : llvm::zip_equal(shape, strides, rowMajorStrides(shape))) {
    if (size == 1)
      continue;
    bool isContiguous = !dimensions.empty() && dimensions.back().srcStride == srcStride * size;
    Dimension joined = isContiguous ? Dimension{dimensions.pop_back_val().size * size, srcStride, dstStride} : Dimension{size, srcStride, dstStride};
    dimensions.push_back(joined);
  }
  return dimensions;
}

/// The number of elements in the file from the first one to the last.
int64_t spanOf(llvm::ArrayRef<Dimension> dimensions) {
  int64_t span = 1;
  for (const Dimension &d : dimensions)
    span += (d.size - 1) * d.srcStride;
  return span;
}

template <typename T>
void moveToRows(Dimensions others, const char *source, char *rows) {
  // Moves tiles of two dimensions: the innermost one in the rows, and the innermost one in the file.
  auto takeSmallest = [&](int64_t Dimension::*stride) {
    if (others.empty())
      return Dimension{1, 0, 0};
    auto *smallest = llvm::min_element(others, [&](const Dimension &a, const Dimension &b) { return a.*stride < b.*stride; });
    Dimension taken = *smallest;
    others.erase(smallest);
    return taken;
  };
  Dimension dstInner = takeSmallest(&Dimension::dstStride), srcInner = takeSmallest(&Dimension::srcStride);
  int64_t count = 1;
  for (const Dimension &d : others)
    count *= d.size;
  constexpr int64_t tile = 32;
  for (int64_t index = 0; index < count; ++index) {
    int64_t srcOffset = 0, dstOffset = 0, remaining = index;
    for (const Dimension &d : others) {
      srcOffset += remaining % d.size * d.srcStride;
      dstOffset += remaining % d.size * d.dstStride;
      remaining /= d.size;
    }
    for (int64_t i0 = 0; i0 < srcInner.size; i0 += tile)
      for (int64_t j0 = 0; j0 < dstInner.size; j0 += tile)
        for (int64_t i = i0; i < std::min(srcInner.size, i0 + tile); ++i)
          for (int64_t j = j0; j < std::min(dstInner.size, j0 + tile); ++j)
            std::memcpy(rows + (dstOffset + i * srcInner.dstStride + j * dstInner.dstStride) * sizeof(T),
                        source + (srcOffset + i * srcInner.srcStride + j * dstInner.srcStride) * sizeof(T), sizeof(T));
  }
}

/// Reads a tensor in its file's order, and puts it into its rows.
class Collector {
public:
  Collector(size_t elementSize, RowMajorReader::Read read, Scratch &strip, char *rows)
      : elementSize(elementSize), read(read), strip(strip), rows(rows) {}

  llvm::Error run(Dimensions dimensions) {
    llvm::stable_sort(dimensions, [](const Dimension &a, const Dimension &b) { return a.srcStride > b.srcStride; });
    // If the elements of two dimensions interleave, as in no view of a tensor, all is read at once, so that no part of the file is read twice.
    for (size_t d = 0; d < dimensions.size(); ++d)
      if (dimensions[d].srcStride < spanOf(llvm::ArrayRef(dimensions).drop_front(d + 1)))
        return readStrip(dimensions, 0, 0);
    return readParts(dimensions, 0, 0);
  }

private:
  static constexpr int64_t stripBytes = 8 << 20;
  /// A further read costs as much as reading this many bytes.
  static constexpr int64_t readOverheadBytes = 4 << 10;

  int64_t bytesOf(int64_t elements) const { return elements * int64_t(elementSize); }
  static bool isContiguous(llvm::ArrayRef<Dimension> d) { return d.empty() || (d.size() == 1 && d[0].srcStride == 1 && d[0].dstStride == 1); }

  /// Reads the part that begins at elements `srcOffset` of the file and `dstOffset` of the rows.
  llvm::Error readParts(llvm::ArrayRef<Dimension> dimensions, int64_t srcOffset, int64_t dstOffset) {
    if (isContiguous(dimensions))
      return read(bytesOf(srcOffset), {rows + bytesOf(dstOffset), size_t(bytesOf(spanOf(dimensions)))});
    Dimension outer = dimensions.front();
    llvm::ArrayRef<Dimension> inner = dimensions.drop_front();
    int64_t span = spanOf(inner), perStrip = 0; // how many of the outer dimension a strip has
    if (bytesOf(span) <= stripBytes && bytesOf(outer.srcStride - span) <= readOverheadBytes &&
        !(isContiguous(inner) && bytesOf(span) >= readOverheadBytes))
      perStrip = std::max<int64_t>(1, (stripBytes - bytesOf(span)) / bytesOf(outer.srcStride) + 1);
    for (int64_t done = 0, count = 1; done < outer.size; done += count) {
      int64_t partSrc = srcOffset + done * outer.srcStride, partDst = dstOffset + done * outer.dstStride;
      count = std::min(std::max<int64_t>(perStrip, 1), outer.size - done);
      Dimensions part = {{count, outer.srcStride, outer.dstStride}};
      part.append(inner.begin(), inner.end());
      if (llvm::Error error = perStrip > 0 ? readStrip(part, partSrc, partDst) : readParts(inner, partSrc, partDst))
        return error;
    }
    return llvm::Error::success();
  }

  /// The same by a single read, with all that lies between.
  llvm::Error readStrip(const Dimensions &dimensions, int64_t srcOffset, int64_t dstOffset) {
    uint64_t size = bytesOf(spanOf(dimensions));
    char *source = strip.get(size), *destination = rows + bytesOf(dstOffset);
    if (!source)
      return makeError("needs {} bytes of memory, more than there are", size);
    if (llvm::Error error = read(bytesOf(srcOffset), {source, size_t(size)}))
      return error;
    switch (elementSize) {
    case 1:
      moveToRows<uint8_t>(dimensions, source, destination);
      break;
    case 2:
      moveToRows<uint16_t>(dimensions, source, destination);
      break;
    case 4:
      moveToRows<uint32_t>(dimensions, source, destination);
      break;
    default:
      moveToRows<uint64_t>(dimensions, source, destination);
    }
    return llvm::Error::success();
  }

  size_t elementSize;
  RowMajorReader::Read read;
  Scratch &strip;
  char *rows;
};

} // namespace

llvm::Error RowMajorReader::collect(const TensorInfo &tensor, Read read) {
  collected = nullptr;
  // Memory that is not written to takes none: an archive may promise more than it holds.
  char *destination = rows.get(tensor.end - tensor.begin);
  if (!destination)
    return makeError("tensor '{}' needs {} bytes of memory, more than there are", tensor.name, tensor.end - tensor.begin);
  if (llvm::Error error = Collector(dtypeSize(tensor.dtype), read, strip, destination).run(findDimensions(tensor.shape, tensor.strides)))
    return error;
  collected = &tensor;
  return llvm::Error::success();
}

llvm::Error RowMajorReader::read(const TensorInfo &tensor, Read read, uint64_t first, llvm::MutableArrayRef<char> out) {
  std::lock_guard lock(mutex);
  if (collected != &tensor)
    if (llvm::Error error = collect(tensor, read))
      return error;
  std::memcpy(out.data(), rows.data() + first, out.size());
  return llvm::Error::success();
}

void RowMajorReader::release(const TensorInfo &tensor) {
  std::lock_guard lock(mutex);
  if (collected != &tensor)
    return;
  collected = nullptr;
  // A little is kept for the next tensor: new memory would take a page fault for each page.
  constexpr uint64_t maxKept = 64 << 20;
  for (Scratch *scratch : {&rows, &strip})
    if (scratch->getCapacity() > maxKept)
      scratch->release();
}
