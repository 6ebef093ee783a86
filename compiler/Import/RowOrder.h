// Tensors whose elements do not lie row by row in their file: stored by columns, or parts of larger ones.
#ifndef XF_COMPILER_IMPORT_ROWORDER_H
#define XF_COMPILER_IMPORT_ROWORDER_H

#include "compiler/Import/TensorFile.h"

#include <mutex>

namespace xf {

/// From one element to the next along each dimension, in elements.
using Strides = std::vector<int64_t>;

// Those of a tensor that has elements; without any, its dimensions may be larger than any memory.
Strides rowStrides(llvm::ArrayRef<int64_t> shape);
Strides columnStrides(llvm::ArrayRef<int64_t> shape);
/// Elements from the first one to the last, both included; nothing if a stride is negative or no memory has as many.
std::optional<int64_t> countSpan(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides);

/// Such a tensor, if it has elements, is asked for in pieces by rows: the one read last stays in memory, in that order, until it is released.
class RowOrder {
public:
  using Read = llvm::function_ref<llvm::Error(uint64_t first, llvm::MutableArrayRef<char> out)>;
  /// Bytes [first, first + out.size()) of the tensor's rows. Its elements lie as `strides` say in what `read` reads, which reaches as far as the
  /// last of them. May be called from several threads.
  llvm::Error read(const TensorInfo &tensor, llvm::ArrayRef<int64_t> strides, Read read, uint64_t first, llvm::MutableArrayRef<char> out);
  void release(const TensorInfo &tensor);

private:
  llvm::Error collect(const TensorInfo &tensor, llvm::ArrayRef<int64_t> strides, Read read);

  std::mutex mutex;
  const TensorInfo *collected = nullptr;
  std::vector<char> rows;
};

} // namespace xf

#endif // XF_COMPILER_IMPORT_ROWORDER_H
