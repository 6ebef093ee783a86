// The phases of a compilation, and the only place with the order of passes.
#ifndef XF_COMPILER_PIPELINES_PIPELINES_H
#define XF_COMPILER_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"

namespace xf {

/// What products of activations and parameters multiply.
enum class FactorType { f32, bf16, f16, int8, int8Weights };

/// Model IR to model IR whose products still compute in f32, but with weights rounded as `type` rounds them.
void buildRoundingPipeline(mlir::OpPassManager &passes, FactorType type);
/// Model IR to model IR with the derived step.
void buildStepPipeline(mlir::OpPassManager &passes);
/// Model IR (with the step) to kernel IR whose views are materialised, and whose step chooses tokens where it can. Where products
/// with weights have factors of bf16, f16 or int8, attention multiplies 16 bits. `forCpu`: also the screen of choices, which only CPU
/// kernels make use of.
void buildKernelPipeline(mlir::OpPassManager &passes, FactorType type = FactorType::f32, bool forCpu = true);

/// Registers the passes and, as xf-step-pipeline and xf-kernel-pipeline, the above.
void registerPipelines();

} // namespace xf

#endif // XF_COMPILER_PIPELINES_PIPELINES_H
