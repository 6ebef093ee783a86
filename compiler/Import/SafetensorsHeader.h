// What the header of a safetensors file says of its tensors.
#ifndef XF_COMPILER_IMPORT_SAFETENSORSHEADER_H
#define XF_COMPILER_IMPORT_SAFETENSORSHEADER_H

#include "compiler/Import/TensorFile.h"

namespace xf {

/// The tensors of a file with `dataSize` bytes of data, in any order; overlaps and gaps are not checked. An error does not name
/// the file.
llvm::Expected<std::vector<TensorInfo>> parseSafetensorsHeader(llvm::ArrayRef<char> text, uint64_t dataSize);

} // namespace xf

#endif // XF_COMPILER_IMPORT_SAFETENSORSHEADER_H
