// NumPy's .npz files: zip archives with an array (.npy) for each tensor, stored or compressed.
#ifndef XF_COMPILER_IMPORT_NPZ_H
#define XF_COMPILER_IMPORT_NPZ_H

#include "compiler/Import/RowOrder.h"

namespace xf {

class ZipArchive;

class NpzFile : public TensorFile {
public:
  /// Headers are checked; what they promise is checked when numbers are read. A member that is no array of numbers is a tensor
  /// with a problem.
  static llvm::Expected<std::unique_ptr<NpzFile>> open(std::unique_ptr<ZipArchive> archive);
  ~NpzFile() override;

  void release(const TensorInfo &tensor) const override { rowOrder.release(tensor); }
  bool readsInOrder() const override { return true; }

private:
  explicit NpzFile(std::unique_ptr<ZipArchive> archive);
  llvm::Error readHeaders();
  llvm::Error readBytes(const TensorInfo &tensor, uint64_t first, llvm::MutableArrayRef<char> out) const override;

  /// Where a tensor is, and how.
  struct Place {
    size_t member;
    bool byColumns;
  };
  const Place &placeOf(const TensorInfo &tensor) const { return places[&tensor - getTensors().data()]; }

  std::unique_ptr<ZipArchive> archive;
  std::vector<Place> places; // a tensor's has its number
  mutable RowOrder rowOrder; // of those stored by columns
};

} // namespace xf

#endif // XF_COMPILER_IMPORT_NPZ_H
