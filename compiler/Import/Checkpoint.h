// A module's parameters, taken from a safetensors file.
#ifndef XF_COMPILER_IMPORT_CHECKPOINT_H
#define XF_COMPILER_IMPORT_CHECKPOINT_H

#include "compiler/Import/ParameterSource.h"
#include "compiler/Import/Safetensors.h"

namespace xf {

class Checkpoint : public ParameterSource {
public:
  /// Opens `path` and checks that its tensors are the module's: none missing, of another shape, unused (unless its name
  /// matches one of the glob patterns in `ignore`) or with values that are not finite. The error lists every problem.
  static llvm::Expected<std::unique_ptr<Checkpoint>> open(llvm::StringRef path, mlir::ModuleOp module,
                                                          llvm::ArrayRef<std::string> ignore = {});
  /// The same for a file that is open already.
  static llvm::Expected<std::unique_ptr<Checkpoint>> bind(std::unique_ptr<SafetensorsFile> file, mlir::ModuleOp module,
                                                          llvm::ArrayRef<std::string> ignore = {});

  llvm::Error read(mlir::xf::ParameterOp parameter, llvm::ArrayRef<int64_t> indices,
                   llvm::MutableArrayRef<float> out) override;

private:
  explicit Checkpoint(std::unique_ptr<SafetensorsFile> file) : file(std::move(file)) {}
  llvm::Error check(mlir::ModuleOp module, llvm::ArrayRef<std::string> ignore) const;
  std::unique_ptr<SafetensorsFile> file;
};

} // namespace xf

#endif // XF_COMPILER_IMPORT_CHECKPOINT_H
