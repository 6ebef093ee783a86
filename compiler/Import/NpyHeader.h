// What an array of NumPy's (.npy) begins with: magic bytes, a version, and a Python dict with its type and shape.
#ifndef XF_COMPILER_IMPORT_NPYHEADER_H
#define XF_COMPILER_IMPORT_NPYHEADER_H

#include "compiler/Import/TensorFile.h"

namespace xf {

struct NpyHeader {
  DType dtype = DType::U8;
  std::optional<std::vector<int64_t>> shape;
  bool isColumnMajor = false; // instead of row-major, where this makes a difference
  size_t size = 0;            // of all that precedes the numbers
};

/// Longer headers are refused. NumPy's own have 128 bytes, but for arrays with fields.
constexpr size_t maxNpyHeader = 4096;

/// Parses the first maxNpyHeader bytes of an array, or all if it has fewer. An error continues "tensor 'NAME' "; even then
/// `header` has the shape, if it was understood.
llvm::Error parseNpyHeader(llvm::ArrayRef<char> bytes, NpyHeader &header);

} // namespace xf

#endif // XF_COMPILER_IMPORT_NPYHEADER_H
