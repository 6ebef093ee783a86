// Safetensors files: a fully checked reader, and a writer.
//
// A file is 8 bytes header length, a JSON header (name -> dtype, shape, data_offsets) and the data. Nothing in it is
// trusted before it is checked, so a damaged file gives an error and never a wild read.
#ifndef XF_COMPILER_IMPORT_SAFETENSORS_H
#define XF_COMPILER_IMPORT_SAFETENSORS_H

#include "compiler/Import/ByteFile.h"
#include "compiler/Import/TensorFile.h"

namespace xf {

class SafetensorsFile : public TensorFile {
public:
  static llvm::Expected<std::unique_ptr<SafetensorsFile>> open(std::unique_ptr<ByteFile> bytes);
  /// Reads from memory that outlives the result; `path` is what messages call it.
  static llvm::Expected<std::unique_ptr<SafetensorsFile>> parse(llvm::StringRef path, llvm::ArrayRef<char> bytes);

private:
  explicit SafetensorsFile(std::unique_ptr<ByteFile> from) : TensorFile(from->getPath().str()), bytes(std::move(from)) {}
  llvm::Error parseHeader();
  llvm::Error readStorage(size_t storage, uint64_t first, llvm::MutableArrayRef<char> out) const override;

  std::unique_ptr<ByteFile> bytes;
  uint64_t data = 0; // where its tensors begin
};

/// Writes tensors by name: Float as F32, Int as I64, Bool as BOOL.
llvm::Error writeSafetensors(llvm::StringRef path, const TensorMap &tensors);

} // namespace xf

#endif // XF_COMPILER_IMPORT_SAFETENSORS_H
