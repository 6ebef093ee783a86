// Safetensors files: a mapped, fully checked reader, and a writer.
//
// A file is 8 bytes header length, a JSON header (name -> dtype, shape, data_offsets) and the data. Nothing in it is
// believed before it is checked, so a damaged file gives a sentence and never a wild read.
#ifndef XF_COMPILER_IMPORT_SAFETENSORS_H
#define XF_COMPILER_IMPORT_SAFETENSORS_H

#include "compiler/Import/Tensor.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace xf {

enum class DType { Bool, U8, I8, I16, U16, I32, U32, I64, U64, F16, BF16, F32, F64 };

llvm::StringRef dtypeName(DType type);
size_t dtypeSize(DType type);
bool isFloat(DType type);

/// A tensor of a file: where its bytes are.
struct TensorInfo {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  uint64_t begin, end; // within the data section
  int64_t count() const { return (end - begin) / dtypeSize(dtype); }
};

class SafetensorsFile {
public:
  static llvm::Expected<std::unique_ptr<SafetensorsFile>> open(llvm::StringRef path);
  /// Reads from memory that outlives the result; `path` is what messages call it.
  static llvm::Expected<std::unique_ptr<SafetensorsFile>> parse(llvm::StringRef path, llvm::ArrayRef<char> bytes);
  ~SafetensorsFile();

  llvm::StringRef getPath() const { return path; }
  /// In the order of their data.
  llvm::ArrayRef<TensorInfo> getTensors() const { return tensors; }
  const TensorInfo *find(llvm::StringRef name) const;
  llvm::ArrayRef<char> getBytes(const TensorInfo &tensor) const;

  /// Elements [first, first + out.size()) of a float tensor, widened to f32 (F64 is rounded).
  void readFloats(const TensorInfo &tensor, int64_t first, llvm::MutableArrayRef<float> out) const;
  /// The whole tensor, whatever its type.
  Tensor read(const TensorInfo &tensor) const;
  /// Tells the system that the tensor's pages are not needed now: mapped weights shall not pile up in memory.
  void release(const TensorInfo &tensor) const;

private:
  SafetensorsFile() = default;
  llvm::Error parseHeader();

  std::string path;
  llvm::ArrayRef<char> bytes;
  void *mapping = nullptr;
  llvm::ArrayRef<char> data;
  std::vector<TensorInfo> tensors;
  llvm::StringMap<unsigned> index;
};

/// Writes tensors by name: Float as F32, Int as I64, Bool as BOOL.
llvm::Error writeSafetensors(llvm::StringRef path, const TensorMap &tensors);

} // namespace xf

#endif // XF_COMPILER_IMPORT_SAFETENSORS_H
