// What an array of NumPy's (.npy) begins with: magic bytes, a version, and a Python dict with its type and shape.
#ifndef XF_COMPILER_IMPORT_NPYHEADER_H
#define XF_COMPILER_IMPORT_NPYHEADER_H

#include "compiler/Import/TensorFile.h"

namespace xf {

struct NpyHeader {
  DType dtype;
  std::vector<int64_t> shape;
  size_t size; // of all that stands before the numbers
};

/// Longer headers are refused. NumPy's own have 128 bytes, but for arrays with fields.
constexpr size_t maxNpyHeader = 4096;

/// From the first maxNpyHeader bytes of an array, or all if it has fewer. An error is what follows on "tensor 'NAME' ".
llvm::Expected<NpyHeader> parseNpyHeader(llvm::ArrayRef<char> bytes);

} // namespace xf

#endif // XF_COMPILER_IMPORT_NPYHEADER_H
