// What the header of a safetensors file says of its tensors.
#ifndef XF_COMPILER_IMPORT_SAFETENSORSHEADER_H
#define XF_COMPILER_IMPORT_SAFETENSORSHEADER_H

#include "compiler/Import/TensorFile.h"

namespace xf {

/// A file with `dataSize` bytes of data has these tensors, in any order; their places among each other are not checked. An error does not name
/// the file.
llvm::Expected<std::vector<TensorInfo>> parseSafetensorsHeader(llvm::ArrayRef<char> text, uint64_t dataSize);

} // namespace xf

#endif // XF_COMPILER_IMPORT_SAFETENSORSHEADER_H
