// Tensors whose elements do not lie row by row in their file: stored by columns, or parts of larger ones.
#ifndef XF_COMPILER_IMPORT_ROWORDER_H
#define XF_COMPILER_IMPORT_ROWORDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace xf {

struct TensorInfo;

/// From one element to the next along each dimension, in elements.
using Strides = std::vector<int64_t>;

// Those of a tensor that has elements; without any, its dimensions may be larger than any memory.
Strides rowStrides(llvm::ArrayRef<int64_t> shape);
Strides columnStrides(llvm::ArrayRef<int64_t> shape);
/// Whether elements lie as rowStrides says; along a dimension of size 1 there is nothing to say.
bool liesByRows(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides);
/// Elements from the first one to the last, both included; nothing if a stride is negative or no memory has as many.
std::optional<int64_t> countSpan(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides);

/// Bytes that take memory where they are written to only, and that the next user may have.
class Scratch {
public:
  /// So many; null if there is no memory for them.
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

/// Such a tensor, if it has elements, is asked for in pieces by rows: the one read last stays in memory, in that order, until it is released.
/// Of what lies between its elements no more is read than is worth while, and a few megabytes are in memory.
class RowOrder {
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

#endif // XF_COMPILER_IMPORT_ROWORDER_H
