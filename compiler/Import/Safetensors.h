// Safetensors files: a fully checked reader, and a writer.
//
// A file is 8 bytes header length, a JSON header (name -> dtype, shape, data_offsets) and the data. Nothing in it is
// believed before it is checked, so a damaged file gives a sentence and never a wild read.
#ifndef XF_COMPILER_IMPORT_SAFETENSORS_H
#define XF_COMPILER_IMPORT_SAFETENSORS_H

#include "compiler/Import/TensorFile.h"

namespace xf {

class SafetensorsFile : public TensorFile {
public:
  static llvm::Expected<std::unique_ptr<SafetensorsFile>> open(llvm::StringRef path);
  /// Reads from memory that outlives the result; `path` is what messages call it.
  static llvm::Expected<std::unique_ptr<SafetensorsFile>> parse(llvm::StringRef path, llvm::ArrayRef<char> bytes);
  ~SafetensorsFile() override;

private:
  using TensorFile::TensorFile;
  llvm::Error parseHeader();
  /// Bytes [first, first + out.size()) of the file. It is not mapped: what becomes of it meanwhile shall end with a message.
  llvm::Error fetch(uint64_t first, llvm::MutableArrayRef<char> out) const;
  llvm::Error readBytes(const TensorInfo &tensor, uint64_t first, llvm::MutableArrayRef<char> out) const override;

  llvm::ArrayRef<char> memory; // where it is no file
  int descriptor = -1;
  uint64_t size = 0, data = 0; // of the whole, and where its tensors begin
};

/// Writes tensors by name: Float as F32, Int as I64, Bool as BOOL.
llvm::Error writeSafetensors(llvm::StringRef path, const TensorMap &tensors);

} // namespace xf

#endif // XF_COMPILER_IMPORT_SAFETENSORS_H
