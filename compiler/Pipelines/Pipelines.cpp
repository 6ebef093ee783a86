#include "compiler/Pipelines/Pipelines.h"

#include "compiler/Transforms/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace xf {

/// The type's name in options of passes.
static llvm::StringRef nameOf(FactorType type) {
  switch (type) {
  case FactorType::f32:
    return "f32";
  case FactorType::bf16:
    return "bf16";
  case FactorType::f16:
    return "f16";
  case FactorType::int8:
    return "int8";
  case FactorType::int8Weights:
    return "int8-weights";
  }
  llvm_unreachable("unknown type");
}

/// Folds, removes what is dead, and shares what is computed twice.
static void addCleanup(OpPassManager &passes) {
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

void buildRoundingPipeline(OpPassManager &passes, FactorType type) {
  passes.addPass(createXfQuantizeLinears({nameOf(type).str(), /*roundOnly=*/true}));
}

void buildStepPipeline(OpPassManager &passes) {
  // Shared subexpressions first: q, k and v of one norm are then one value for the proof and for the state.
  addCleanup(passes);
  passes.addPass(createXfCheckSentences());
  // Before the step is derived, in which queries' positions are no longer the region's argument.
  passes.addPass(createXfTabulateBiases());
  passes.addPass(createXfDeriveStep());
  // The step drops results that a search does not use.
  addCleanup(passes);
  // What the step reads of a sentence is known now, and its masks are still apart.
  passes.addPass(createXfRaggedSource());
}

static void addKernelPasses(OpPassManager &passes, StringRef type, bool forCpu) {
  bool narrowAttention = llvm::is_contained({"bf16", "f16", "int8"}, type);
  // After the step, whose derivation proves what is a state op by op, each where it stands.
  passes.addPass(createXfHoistInvariants());
  // Before linears are merged: a bias is still the keys' alone.
  if (narrowAttention)
    passes.addPass(createXfDropKeyBias());
  // Chains of maps become one op each, which a linear can take as its epilogue.
  passes.addPass(createXfFuseMaps());
  // Needs fused maps, to see which linears have an epilogue of their own.
  passes.addPass(createXfMergeLinears());
  if (type != "f32") {
    // The number of linears is final; what this adds is fused by the same passes as the model's own ops.
    passes.addPass(createXfQuantizeLinears({type.str()}));
    // After it, as this finds contexts that are rounded for the next product.
    if (narrowAttention)
      passes.addPass(createXfNarrowAttention({type == "f16" ? "f16" : "bf16"}));
    // Copies in the types of products exist, and are not yet parts of rows.
    passes.addPass(createXfRotateLayers());
    passes.addPass(createXfFuseMaps());
  }
  // Epilogues are taken before rows are formed, or rows would take the maps.
  passes.addPass(createXfFormContracts());
  passes.addPass(createXfFormRows());
  // Dead maps and shared rows would otherwise become kernels.
  addCleanup(passes);
  passes.addPass(createXfPackAttention());
  // Contracts and rows are final: what they read that depends only on parameters can be named.
  passes.addPass(createXfHoistWeights());
  addCleanup(passes);
  // Copies depend on the readers of a view, so all readers must exist.
  passes.addPass(createXfMaterializeViews());
  // After those before it, so that the copy of the step uses the step's own kernels.
  passes.addPass(createXfChooseTokens());
  if (forCpu)
    passes.addPass(createXfScreenTokens());
  // Twins are made of the entries' final ops.
  passes.addPass(createXfPackSentences());
  // Copies of the step exist, and layouts of states are known.
  passes.addPass(createXfAppendByReader());
  // Last: any cleanup would move them out again.
  passes.addPass(createXfSinkConstants());
}

void buildKernelPipeline(OpPassManager &passes, FactorType type, bool forCpu) { addKernelPasses(passes, nameOf(type), forCpu); }

void registerPipelines() {
  registerXfPasses();
  PassPipelineRegistration<>("xf-step-pipeline", "derive the decoder's step", buildStepPipeline);
  struct KernelOptions : PassPipelineOptions<KernelOptions> {
    // xf-quantize-linears reports other types.
    Option<std::string> type{*this, "type", llvm::cl::desc("What products with weights multiply: f32, bf16, f16, int8 or int8-weights"),
                             llvm::cl::init("f32")};
  };
  PassPipelineRegistration<KernelOptions>(
      "xf-kernel-pipeline", "fuse model IR into kernel IR",
      [](OpPassManager &passes, const KernelOptions &options) { addKernelPasses(passes, options.type.getValue(), /*forCpu=*/true); });
}

} // namespace xf
