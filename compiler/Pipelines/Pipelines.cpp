#include "compiler/Pipelines/Pipelines.h"

#include "compiler/Transforms/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace xf {

/// Folds, removes what is dead, and shares what is computed twice.
static void addCleanup(OpPassManager &passes) {
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

void buildStepPipeline(OpPassManager &passes) {
  // Shared subexpressions first: q, k and v of one norm are then one value for the proof and for the state.
  addCleanup(passes);
  passes.addPass(createXfDeriveStep());
  // The step drops results that a search does not use.
  addCleanup(passes);
  // What the step reads of a sentence is known now, and its masks are still apart.
  passes.addPass(createXfRaggedSource());
}

void buildKernelPipeline(OpPassManager &passes) {
  // Before maps are fused: a linear with a map behind it is left to its epilogue, and chains are still apart.
  passes.addPass(createXfFuseMaps());
  // Needs fused maps, to see which linears have an epilogue of their own.
  passes.addPass(createXfMergeLinears());
  // Epilogues are taken before rows are formed, or rows would take the maps.
  passes.addPass(createXfFormContracts());
  passes.addPass(createXfFormRows());
  // Dead maps and shared rows would otherwise become kernels.
  addCleanup(passes);
  passes.addPass(createXfPackAttention());
  // Contracts and rows are final: what they read of parameters can be named.
  passes.addPass(createXfHoistWeights());
  addCleanup(passes);
  // Copies depend on who reads a view, so all readers must be there.
  passes.addPass(createXfMaterializeViews());
  // Last: any cleanup would move them out again.
  passes.addPass(createXfSinkConstants());
}

void registerPipelines() {
  registerXfPasses();
  PassPipelineRegistration<>("xf-step-pipeline", "derive the decoder's step", buildStepPipeline);
  PassPipelineRegistration<>("xf-kernel-pipeline", "fuse model IR into kernel IR", buildKernelPipeline);
}

} // namespace xf
