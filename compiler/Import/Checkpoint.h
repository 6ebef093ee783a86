// A module's parameters, taken from files of tensors.
#ifndef XF_COMPILER_IMPORT_CHECKPOINT_H
#define XF_COMPILER_IMPORT_CHECKPOINT_H

#include "compiler/Import/ParameterSource.h"
#include "compiler/Import/TensorFile.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

namespace xf {

/// The files of a checkpoint, each once: an index (JSON, whose `weight_map` gives each tensor's file) stands for those that
/// it names, beside it; any other path for itself.
llvm::Expected<std::vector<std::string>> listShards(llvm::ArrayRef<std::string> paths);

class Checkpoint : public ParameterSource {
public:
  /// Opens files, also those of an index, and checks that their tensors are the module's: none missing, unreadable, of another shape, in two
  /// files (unless an index says which counts), or unused (unless its name matches one of the patterns in `ignore`, with * and ?); then that
  /// their values are finite. The error lists the problems.
  static llvm::Expected<std::unique_ptr<Checkpoint>> open(llvm::ArrayRef<std::string> paths, mlir::ModuleOp module,
                                                          llvm::ArrayRef<std::string> ignore = {});
  /// The same for a file that is open already.
  static llvm::Expected<std::unique_ptr<Checkpoint>> bind(std::unique_ptr<TensorFile> file, mlir::ModuleOp module,
                                                          llvm::ArrayRef<std::string> ignore = {});

  llvm::Error read(mlir::xf::ParameterOp parameter, llvm::ArrayRef<int64_t> indices, int64_t first, llvm::MutableArrayRef<float> out) override;
  bool readsInOrder() const override;

private:
  struct Entry {
    const TensorFile *file = nullptr;
    const TensorInfo *tensor = nullptr;
  };
  /// Adds a file; its tensors that `accepts` returns true for become the checkpoint's.
  llvm::Error add(std::unique_ptr<TensorFile> file, llvm::function_ref<bool(llvm::StringRef name)> accepts);
  llvm::Error check(mlir::ModuleOp module, llvm::ArrayRef<std::string> ignore) const;
  llvm::Error findUnused(const llvm::StringSet<> &used, llvm::ArrayRef<std::string> ignore, std::vector<std::string> &problems) const;
  llvm::Error describeProblems(std::vector<std::string> problems) const;
  /// Null if no file has a tensor of that name.
  Entry find(llvm::StringRef name) const;
  std::string describe() const;
  std::string commonPrefix(llvm::ArrayRef<std::string> missing) const;

  std::vector<std::unique_ptr<TensorFile>> files;
  llvm::StringMap<Entry> tensors;           // by name
  llvm::DenseSet<const TensorInfo *> superseded; // others, for which an index has another file
};

} // namespace xf

#endif // XF_COMPILER_IMPORT_CHECKPOINT_H
