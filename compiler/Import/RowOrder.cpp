#include "compiler/Import/RowOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace xf;

Strides xf::rowStrides(llvm::ArrayRef<int64_t> shape) {
  Strides strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

Strides xf::columnStrides(llvm::ArrayRef<int64_t> shape) {
  Strides strides(shape.size(), 1);
  for (size_t d = 1; d < shape.size(); ++d)
    strides[d] = strides[d - 1] * shape[d - 1];
  return strides;
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

namespace {
struct Dimension {
  int64_t size, from, to; // strides in the file and in the rows
};
} // namespace

template <typename T>
static void moveToRows(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides, const char *source, char *rows) {
  llvm::SmallVector<Dimension> others;
  for (auto [size, from, to] : llvm::zip_equal(shape, strides, rowStrides(shape)))
    if (size != 1)
      others.push_back({size, from, to});
  // In tiles of two dimensions: neighbours of the one lie next to each other in the rows, of the other in the file.
  Dimension last = {1, 0, 0}, nearest = {1, 0, 0};
  if (!others.empty())
    last = others.pop_back_val();
  if (!others.empty()) {
    auto *least = std::min_element(others.begin(), others.end(), [](const Dimension &a, const Dimension &b) { return a.from < b.from; });
    nearest = *least;
    others.erase(least);
  }
  int64_t count = 1;
  for (const Dimension &d : others)
    count *= d.size;
  constexpr int64_t tile = 32;
  for (int64_t number = 0; number < count; ++number) {
    int64_t from = 0, to = 0, rest = number;
    for (const Dimension &d : others) {
      from += rest % d.size * d.from;
      to += rest % d.size * d.to;
      rest /= d.size;
    }
    for (int64_t i0 = 0; i0 < nearest.size; i0 += tile)
      for (int64_t j0 = 0; j0 < last.size; j0 += tile)
        for (int64_t i = i0; i < std::min(nearest.size, i0 + tile); ++i)
          for (int64_t j = j0; j < std::min(last.size, j0 + tile); ++j)
            std::memcpy(rows + (to + i * nearest.to + j * last.to) * sizeof(T), source + (from + i * nearest.from + j * last.from) * sizeof(T),
                        sizeof(T));
  }
}

llvm::Error RowOrder::collect(const TensorInfo &tensor, llvm::ArrayRef<int64_t> strides, Read read) {
  collected = nullptr;
  rows = std::vector<char>();
  std::vector<char> source;
  uint64_t size = *countSpan(tensor.shape, strides) * dtypeSize(tensor.dtype);
  // They grow as bytes come: an archive may promise more than it holds.
  for (uint64_t done = 0; done < size; done = source.size()) {
    source.resize(std::min<uint64_t>(size, done + (1 << 20)));
    if (llvm::Error error = read(done, llvm::MutableArrayRef(source).drop_front(done)))
      return error;
  }
  rows.resize(tensor.end - tensor.begin);
  switch (dtypeSize(tensor.dtype)) {
  case 1:
    moveToRows<uint8_t>(tensor.shape, strides, source.data(), rows.data());
    break;
  case 2:
    moveToRows<uint16_t>(tensor.shape, strides, source.data(), rows.data());
    break;
  case 4:
    moveToRows<uint32_t>(tensor.shape, strides, source.data(), rows.data());
    break;
  default:
    moveToRows<uint64_t>(tensor.shape, strides, source.data(), rows.data());
  }
  collected = &tensor;
  return llvm::Error::success();
}

llvm::Error RowOrder::read(const TensorInfo &tensor, llvm::ArrayRef<int64_t> strides, Read read, uint64_t first, llvm::MutableArrayRef<char> out) {
  std::lock_guard lock(mutex);
  if (collected != &tensor)
    if (llvm::Error error = collect(tensor, strides, read))
      return error;
  llvm::copy(llvm::ArrayRef(rows).slice(first, out.size()), out.begin());
  return llvm::Error::success();
}

void RowOrder::release(const TensorInfo &tensor) {
  std::lock_guard lock(mutex);
  if (collected != &tensor)
    return;
  collected = nullptr;
  rows = std::vector<char>();
}
