// Tensors whose elements are not row-major in their file: stored column-major, or parts of larger ones.
#ifndef XF_COMPILER_IMPORT_ROWMAJORREADER_H
#define XF_COMPILER_IMPORT_ROWMAJORREADER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace xf {

struct TensorInfo;

/// The distance from one element to the next along each dimension, in elements.
using Strides = std::vector<int64_t>;

// For a tensor that has elements; without any, its dimensions may be larger than any memory.
Strides rowMajorStrides(llvm::ArrayRef<int64_t> shape);
Strides columnMajorStrides(llvm::ArrayRef<int64_t> shape);
/// Whether elements lie as rowMajorStrides says; the stride of a dimension of size 1 does not matter.
bool isRowMajor(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides);
/// The number of elements from the first one to the last, both included; nothing if a stride is negative or no memory has as many.
std::optional<int64_t> countSpan(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides);

/// Bytes that take memory only where they are written to, and that the next user may reuse.
class Scratch {
public:
  /// `size` bytes; null if there is no memory for them.
  char *get(uint64_t size);
  const char *data() const { return bytes; }
  void release();
  uint64_t getCapacity() const { return capacity; }

  Scratch() = default;
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  ~Scratch() { release(); }

private:
  char *bytes = nullptr;
  uint64_t capacity = 0;
};

/// Reads pieces, in row-major order, of such tensors, which must have elements. The tensor read last stays in memory, in that order, until
/// it is released. Bytes between its elements are read only where this is worth while, and a few megabytes at a time.
class RowMajorReader {
public:
  using Read = llvm::function_ref<llvm::Error(uint64_t first, llvm::MutableArrayRef<char> out)>;
  /// Bytes [first, first + out.size()) of the tensor's rows. Its elements lie as its strides say in what `read` reads, which reaches as far as
  /// the last of them. May be called from several threads.
  llvm::Error read(const TensorInfo &tensor, Read read, uint64_t first, llvm::MutableArrayRef<char> out);
  void release(const TensorInfo &tensor);

private:
  llvm::Error collect(const TensorInfo &tensor, Read read);

  std::mutex mutex;
  const TensorInfo *collected = nullptr;
  Scratch rows, strip;
};

} // namespace xf

#endif // XF_COMPILER_IMPORT_ROWMAJORREADER_H
