// A compiled model, run through the public C API.
#ifndef XF_TOOLS_XFRUN_COMPILEDENGINE_H
#define XF_TOOLS_XFRUN_COMPILEDENGINE_H

#include "compiler/Import/Golden.h"

#include "runtime/include/xf/xf.h"

namespace xf {

class CompiledEngine : public Engine {
public:
  /// `isa` and `device` as in xf_session_options; `threads` 0 takes what the process may use.
  static llvm::Expected<std::unique_ptr<CompiledEngine>> open(llvm::StringRef path, int threads, int isa, int device);
  ~CompiledEngine() override;

  std::vector<Entry> entries() override;
  llvm::Expected<TensorMap> run(llvm::StringRef entry, const TensorMap &inputs) override;
  llvm::Expected<Tensor> greedy(const TensorMap &inputs, int64_t rows, int64_t length) override;

private:
  CompiledEngine() = default;
  int findEntry(llvm::StringRef name) const;

  xf_model *model = nullptr;
  xf_session *session = nullptr;
};

} // namespace xf

#endif // XF_TOOLS_XFRUN_COMPILEDENGINE_H
