// What torch.save writes: a pickle of a state dictionary, and the storages that its tensors are parts of.
//
// Since PyTorch 1.6 a file is a zip archive: NAME/data.pkl is the pickle, NAME/data/KEY a storage. Before, pickles followed one another (a magic
// number, a version, facts about the machine, the dictionary, the storages' keys), and after them the storages with their sizes. In the
// pickle a tensor is a call of torch._utils._rebuild_tensor_v2 with the persistent id of its storage, an offset there, a shape and strides; of
// all functions only this one and its relatives mean something here, and none is called (Pickle.h).
#ifndef XF_COMPILER_IMPORT_TORCHFILE_H
#define XF_COMPILER_IMPORT_TORCHFILE_H

#include "compiler/Import/ByteFile.h"
#include "compiler/Import/TorchPickle.h"
#include "compiler/Import/ZipArchive.h"

namespace xf {

class TorchFile : public TensorFile {
public:
  /// The archive's member with the pickle, if it is such an archive.
  static std::optional<size_t> findPickle(const ZipArchive &archive);
  static llvm::Expected<std::unique_ptr<TorchFile>> open(std::unique_ptr<ZipArchive> archive, size_t pickle);
  /// A file of several pickles.
  static llvm::Expected<std::unique_ptr<TorchFile>> open(std::unique_ptr<ByteFile> bytes);

  bool readsInOrder() const override { return archive != nullptr; }

private:
  explicit TorchFile(llvm::StringRef path) : TensorFile(path.str()) {}

  /// `index`: of the archive's member, or in `storageOffsets`.
  struct Storage {
    size_t index = 0;
    uint64_t size = 0; // in bytes
  };
  using Storages = llvm::StringMap<Storage>; // by key
  llvm::Error readArchive(size_t pickle);
  llvm::Error readPickles();
  /// Finds the storages after the pickles, the first one at `begin`.
  llvm::Expected<Storages> listStorages(const Pickle &dictionary, const PickleValue &keys, uint64_t begin);
  llvm::Error addTensors(const PickleValue &root, const Storages &storages);
  llvm::Error readStorage(size_t storage, uint64_t first, llvm::MutableArrayRef<char> out) const override;

  std::unique_ptr<ZipArchive> archive; // or
  std::unique_ptr<ByteFile> bytes;
  std::vector<uint64_t> storageOffsets; // where storages begin in `bytes`
};

} // namespace xf

#endif // XF_COMPILER_IMPORT_TORCHFILE_H
