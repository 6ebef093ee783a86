// NumPy's .npz files: zip archives with an array (.npy) for each tensor, stored or compressed.
#ifndef XF_COMPILER_IMPORT_NPZ_H
#define XF_COMPILER_IMPORT_NPZ_H

#include "compiler/Import/TensorFile.h"

namespace xf {

class ZipArchive;

class NpzFile : public TensorFile {
public:
  /// Every member must be an array, whose header is checked; its numbers are checked when they are read.
  static llvm::Expected<std::unique_ptr<NpzFile>> open(std::unique_ptr<ZipArchive> archive);
  ~NpzFile() override;

private:
  explicit NpzFile(std::unique_ptr<ZipArchive> archive);
  llvm::Error readHeaders();
  llvm::Error readBytes(const TensorInfo &tensor, uint64_t first, llvm::MutableArrayRef<char> out) const override;

  std::unique_ptr<ZipArchive> archive;
};

} // namespace xf

#endif // XF_COMPILER_IMPORT_NPZ_H
