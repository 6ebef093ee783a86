// A compiled kernel: its mapped code, which calls products that were compiled for earlier kernels, and its calls, thread by thread.
#ifndef XF_TEST_TARGET_CPU_COMPILEDKERNEL_H
#define XF_TEST_TARGET_CPU_COMPILEDKERNEL_H

#include "compiler/Target/CPU/Kernels.h"
#include "compiler/Target/CPU/Object.h"
#include "runtime/abi/xf_abi.h"

#include <memory>
#include <vector>

namespace xf::cpu::test {

/// Code, mapped readable and executable at an address that is not known when it is linked.
class MappedCode {
public:
  explicit MappedCode(const Code &code);
  MappedCode(const MappedCode &) = delete;
  MappedCode &operator=(const MappedCode &) = delete;
  ~MappedCode();

  template <typename Function> Function at(uint64_t offset) const { return reinterpret_cast<Function>(static_cast<char *>(memory) + offset); }

private:
  size_t size;
  void *memory;
};

/// Micro-kernels that kernels share: they are most of the code of kernels with products, and many kernels have the same ones. Each is compiled
/// for the first kernel that needs it; later kernels call it.
class SharedProducts {
public:
  static SharedProducts &instance();

  /// Replaces the bodies of the products of `module` that are compiled already by calls of their code.
  void reuse(mlir::ModuleOp module);

  /// Records the products in `code`, which is mapped at `mapped`.
  void keep(const std::shared_ptr<MappedCode> &mapped, const Code &code);

private:
  struct Product {
    std::string text;
    std::shared_ptr<MappedCode> mapped;
    const void *code;
  };

  llvm::StringMap<Product> products;
};

/// A kernel, ready to be called.
class Kernel {
public:
  Kernel(std::shared_ptr<MappedCode> code, uint64_t offset, int64_t scratchBytes)
      : mapped(std::move(code)), scratchBytes(scratchBytes), function(mapped->at<xf_abi_kernel_fn>(offset)) {}

  /// Runs the threads one after the other, each with its own scratch memory, filled with NaN.
  void operator()(const std::vector<xf_abi_view> &views, int threads = 1) const;

  /// Makes the calls one after the other on one thread, with nothing between them that a measurement would include. Views of products must
  /// include that of the following product's weights.
  void inTurn(llvm::ArrayRef<std::vector<xf_abi_view>> calls) const;

  /// Runs the threads at the same time, for kernels in which they wait for each other.
  void together(const std::vector<xf_abi_view> &views, int threads) const;

private:
  std::shared_ptr<MappedCode> mapped;
  int64_t scratchBytes;
  xf_abi_kernel_fn function;
};

} // namespace xf::cpu::test

#endif // XF_TEST_TARGET_CPU_COMPILEDKERNEL_H
