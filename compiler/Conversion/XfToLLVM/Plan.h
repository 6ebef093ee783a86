// From kernel IR to one module of LLVM-level code: a plan for each entry, and the kernels that they call.
#ifndef XF_COMPILER_CONVERSION_XFTOLLVM_PLAN_H
#define XF_COMPILER_CONVERSION_XFTOLLVM_PLAN_H

#include "compiler/Conversion/XfToLLVM/DataLayout.h"
#include "compiler/Target/GPU/GpuKernels.h"

namespace xf {

/// What kernels are made for.
struct Targets {
  bool cpu = true, cuda = false;
  llvm::SmallVector<codegen::Isa> isas{std::begin(codegen::kAllIsas), std::end(codegen::kAllIsas)}; // of the CPU, ascending
};

/// Kernel ops that an entry's plan calls, and the indices of their kernels.
using EntryCalls = std::vector<std::pair<mlir::Operation *, unsigned>>;

struct CodeModule {
  Targets targets;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  DataLayout layout;
  std::vector<std::string> kernels; // names without the instruction set's suffix, by index
  std::vector<std::string> plans;   // names of the entries' plans, in the entries' order
  std::vector<EntryCalls> calls;    // of each plan
  std::vector<int64_t> workspaces;  // of each plan, in bytes
  /// With the target cuda: a gpu.module with the kernels, and how each is launched.
  mlir::OwningOpRef<mlir::ModuleOp> gpuModule;
  std::vector<gpu::Kernel> gpuKernels;
  /// Kernels that one launch computes together where rows are few.
  struct GpuPair {
    unsigned row, product; // their indices
    unsigned view, rank;   // of the tensor that `row` makes and `product` multiplies: its index among the views of `row`
    gpu::Launch launch;
  };
  std::vector<GpuPair> gpuPairs;
  /// Kernels for searches, of modules with xf.generate.
  gpu::Kernel gpuMoveRows, gpuAdvance, gpuApplyRules, gpuChooseLogits, gpuTakeLogits, gpuDraw;
  int64_t gpuChooseParts = 0; // elements of a row of what gpuChooseLogits keeps between its stages
  int64_t workspaceBytes = 0; // the largest
  int64_t scratchBytes = 0;
};

/// Emits plans and kernels for all entries of `module`, whose views are materialised.
mlir::FailureOr<CodeModule> convertToCode(mlir::ModuleOp module, Targets targets = {});

} // namespace xf

#endif // XF_COMPILER_CONVERSION_XFTOLLVM_PLAN_H
