// A module's parameters, taken from files of tensors.
#ifndef XF_COMPILER_IMPORT_CHECKPOINT_H
#define XF_COMPILER_IMPORT_CHECKPOINT_H

#include "compiler/Import/ParameterSource.h"
#include "compiler/Import/TensorFile.h"

namespace xf {

/// The files of a checkpoint: an index (JSON, whose `weight_map` gives each tensor's file) stands for those that
/// it names, beside it; any other path for itself.
llvm::Expected<std::vector<std::string>> listShards(llvm::ArrayRef<std::string> paths);

class Checkpoint : public ParameterSource {
public:
  /// Opens files and checks that their tensors are the module's: none missing, unreadable, of another shape, in two files, unused
  /// (unless its name matches one of the patterns in `ignore`, with * and ?) or with values that are not finite. The error lists the
  /// problems.
  static llvm::Expected<std::unique_ptr<Checkpoint>> open(llvm::ArrayRef<std::string> paths, mlir::ModuleOp module,
                                                          llvm::ArrayRef<std::string> ignore = {});
  /// The same for a file that is open already.
  static llvm::Expected<std::unique_ptr<Checkpoint>> bind(std::unique_ptr<TensorFile> file, mlir::ModuleOp module,
                                                          llvm::ArrayRef<std::string> ignore = {});

  llvm::Error read(mlir::xf::ParameterOp parameter, llvm::ArrayRef<int64_t> indices, int64_t first,
                   llvm::MutableArrayRef<float> out) override;
  bool readsInOrder() const override;

private:
  struct Entry {
    const TensorFile *file = nullptr;
    const TensorInfo *tensor = nullptr;
  };
  static llvm::Expected<std::unique_ptr<Checkpoint>> bind(std::vector<std::unique_ptr<TensorFile>> files, mlir::ModuleOp module,
                                                          llvm::ArrayRef<std::string> ignore);
  llvm::Error check(mlir::ModuleOp module, llvm::ArrayRef<std::string> ignore) const;
  /// Null if no file has a tensor of that name.
  Entry find(llvm::StringRef name) const;
  std::string describe() const;
  std::string commonPrefix(llvm::ArrayRef<std::string> missing) const;
  std::vector<std::unique_ptr<TensorFile>> files;
};

} // namespace xf

#endif // XF_COMPILER_IMPORT_CHECKPOINT_H
