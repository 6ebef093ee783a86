// NumPy's .npz files: zip archives with an array (.npy) for each tensor, stored or compressed.
#ifndef XF_COMPILER_IMPORT_NPZ_H
#define XF_COMPILER_IMPORT_NPZ_H

#include "compiler/Import/TensorFile.h"

namespace xf {

class ZipArchive;

class NpzFile : public TensorFile {
public:
  /// Headers are checked at once, whether members keep their promises when numbers are read. A member that is no array of numbers
  /// is a tensor with a problem.
  static llvm::Expected<std::unique_ptr<NpzFile>> open(std::unique_ptr<ZipArchive> archive);
  ~NpzFile() override;

  bool readsInOrder() const override { return true; }

private:
  explicit NpzFile(std::unique_ptr<ZipArchive> archive);
  llvm::Error readHeaders();
  llvm::Error readStorage(size_t member, uint64_t first, llvm::MutableArrayRef<char> out) const override;

  std::unique_ptr<ZipArchive> archive;
};

} // namespace xf

#endif // XF_COMPILER_IMPORT_NPZ_H
