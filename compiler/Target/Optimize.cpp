#include "compiler/Target/Optimize.h"

#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/Error.h"

namespace xf::codegen {

/// Kernels are vectorised, unrolled and inlined as they are to be: what is left is the arithmetic of addresses and the control flow. LLVM's
/// own pipelines take two to four times as long, and make nothing faster on CPUs.
static constexpr llvm::StringLiteral kPasses = "function(early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>),"
    // Arguments of functions that kernels share: the same in all calls, or not read.
                                               "ipsccp,globalopt,deadargelim,"
                                               "function(loop-mssa(loop-rotate,licm),simplifycfg,instcombine<no-verify-fixpoint>,"
                                               "loop(indvars),instcombine<no-verify-fixpoint>,adce,"
    // The branches of a choice among micro-kernels end in calls that are alike.
                                               "simplifycfg<switch-to-lookup;no-keep-loops;hoist-common-insts;sink-common-insts>),"
                                               "globaldce";

void optimize(llvm::Module &module, llvm::TargetMachine &machine, Passes which) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = false;
  tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::ModulePassManager passes;
  if (which == Passes::few)
    llvm::cantFail(builder.parsePassPipeline(passes, kPasses));
  else
    passes = builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O1);
  passes.run(module, modules);
}

} // namespace xf::codegen
