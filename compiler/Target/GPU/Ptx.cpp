// From kernels in the gpu dialect to PTX.
//
// No library takes part: mathematical functions without an instruction are polynomials by now, and those that have one
// become LLVM's intrinsics here, before the conversion to NVVM would turn them into calls of NVIDIA's device library.
#include "compiler/Support/OnAllCores.h"
#include "compiler/Target/ExpandMath.h"
#include "compiler/Target/GPU/GpuBuilder.h"
#include "compiler/Target/Optimize.h"
#include "compiler/Target/SplitModule.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;

namespace xf::gpu {

static constexpr llvm::StringLiteral kTriple = "nvptx64-nvidia-cuda";
/// The oldest version of PTX that knows the compute capability: drivers since CUDA 11.0 read it.
static constexpr llvm::StringLiteral kPtxVersion = "+ptx70";

/// The intrinsic that an op of the math dialect is, without the suffix of its type.
static StringRef intrinsicOf(Operation *op) {
  return llvm::StringSwitch<StringRef>(op->getName().getStringRef())
      .Case("math.fma", "llvm.fma")
      .Case("math.sqrt", "llvm.sqrt")
      .Case("math.absf", "llvm.fabs")
      .Case("math.copysign", "llvm.copysign")
      .Case("math.floor", "llvm.floor")
      .Case("math.ceil", "llvm.ceil")
      .Case("math.trunc", "llvm.trunc")
      .Case("math.roundeven", "llvm.rint") // the default rounding is to even
      .Default("");
}

/// Turns tests for NaN, infinity and finiteness into comparisons.
static Value classify(OpBuilder &builder, Operation *op) {
  Location loc = op->getLoc();
  Value x = op->getOperand(0);
  if (isa<math::IsNaNOp>(op))
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, x, x);
  auto type = cast<FloatType>(x.getType());
  Value infinity = arith::ConstantOp::create(builder, loc, FloatAttr::get(type, APFloat::getInf(type.getFloatSemantics())));
  Value size = LLVM::CallIntrinsicOp::create(builder, loc, type, builder.getStringAttr(type.isF64() ? "llvm.fabs.f64" : "llvm.fabs.f32"),
                                             ValueRange(x))
                   .getResults();
  auto predicate = isa<math::IsInfOp>(op) ? arith::CmpFPredicate::OEQ : arith::CmpFPredicate::OLT;
  return arith::CmpFOp::create(builder, loc, predicate, size, infinity);
}

static LogicalResult lowerMath(ModuleOp module, std::string &error) {
  if (failed(codegen::expandMathOps(module, error)))
    return failure();
  SmallVector<Operation *> work;
  module.walk([&](Operation *op) {
    if (isa_and_nonnull<math::MathDialect>(op->getDialect()))
      work.push_back(op);
  });
  for (Operation *op : work) {
    OpBuilder builder(op);
    Value result;
    if (isa<math::IsNaNOp, math::IsInfOp, math::IsFiniteOp>(op)) {
      result = classify(builder, op);
    } else if (isa<math::AbsIOp>(op)) {
      Value x = op->getOperand(0);
      Value zero = arith::ConstantOp::create(builder, op->getLoc(), builder.getZeroAttr(x.getType()));
      Value negative = arith::SubIOp::create(builder, op->getLoc(), zero, x);
      result = arith::MaxSIOp::create(builder, op->getLoc(), x, negative);
    } else if (StringRef name = intrinsicOf(op); !name.empty()) {
      Type type = op->getResult(0).getType();
      auto full = builder.getStringAttr(name + (type.isF64() ? ".f64" : ".f32"));
      result = LLVM::CallIntrinsicOp::create(builder, op->getLoc(), type, full, op->getOperands()).getResults();
    } else {
      error = ("the GPU back end has no code for " + op->getName().getStringRef()).str();
      return failure();
    }
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
  return success();
}

static LogicalResult lowerToNVVM(ModuleOp module, std::string &error) {
  // The conversion to NVVM also converts the dialects that register how they become LLVM's.
  DialectRegistry registry;
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
  module.getContext()->appendDialectRegistry(registry);
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && error.empty())
      error = diagnostic.str();
    return success();
  });
  if (failed(verify(module)) || failed(lowerMath(module, error)))
    return failure();
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  passes.enableVerifier(false);
  OpPassManager &kernels = passes.nest<mlir::gpu::GPUModuleOp>();
  kernels.addPass(createSCFToControlFlowPass());
  ConvertGpuOpsToNVVMOpsOptions conversion;
  conversion.allowPatternRollback = false; // no pattern that applies here fails halfway
  kernels.addPass(createConvertGpuOpsToNVVMOps(conversion));
  kernels.addPass(createReconcileUnrealizedCastsPass());
  if (failed(passes.run(module)) || failed(verify(module))) {
    if (error.empty())
      error = "lowering to NVVM failed";
    return failure();
  }
  // The conversions keep a loop's annotation, but not where the translation to LLVM looks for it.
  module.walk([](LLVM::BrOp branch) {
    if (auto annotation = branch->getAttrOfType<LLVM::LoopAnnotationAttr>(GpuBuilder::kLoopAnnotation))
      branch.setLoopAnnotationAttr(annotation);
  });
  return success();
}

/// All lanes of a warp come to a multiplication of tiles together (PTX: mma.sync.aligned), which LLVM does not know: it would move one
/// into the branch of those lanes that use the result.
static void keepWarpsTogether(llvm::Module &code) {
  for (llvm::Function &intrinsic : code)
    if (intrinsic.getName().starts_with("llvm.nvvm.mma."))
      for (llvm::User *user : intrinsic.users())
        if (auto *call = dyn_cast<llvm::CallInst>(user))
          call->setConvergent();
}

static std::unique_ptr<llvm::TargetMachine> makeTargetMachine(std::string &error) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::Triple triple(kTriple);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  // As on the CPU: fused where the IR says so and nowhere else.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::string processor = "sm_" + std::to_string(kComputeCapability);
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, processor, kPtxVersion, options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

namespace {

/// A part of the kernels on its way to PTX. LLVM's contexts are for one thread each.
struct Translation {
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> code;
  SmallVector<char, 0> text;
  bool failed = false;

  void finish() {
    codegen::optimize(*code, *machine, codegen::Passes::all);
    llvm::raw_svector_ostream stream(text);
    llvm::legacy::PassManager passes;
    failed = machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile);
    if (!failed)
      passes.run(*code);
    code.reset();
  }
};

/// The kernels' functions and what they refer to, in parts.
struct Translations {
  std::vector<Translation> parts;
  SmallVector<size_t> sizes;

  FailureOr<std::string> finish(std::string &error) {
    onAllCores(sizes, [&](size_t part) { parts[part].finish(); });
    if (llvm::any_of(parts, [](const Translation &part) { return part.failed; })) {
      error = "the code generator cannot write PTX";
      return failure();
    }
    // Each text begins with the version and the target, which a file says once.
    static constexpr llvm::StringLiteral kLastOfHead = ".address_size 64\n";
    std::string all;
    for (const Translation &part : parts) {
      StringRef text(part.text.data(), part.text.size());
      all += all.empty() ? text : text.substr(text.find(kLastOfHead) + kLastOfHead.size());
    }
    return all;
  }
};

} // namespace

/// LLVM IR of the lowered `kernels`; null on failure.
static std::unique_ptr<llvm::Module> translate(ModuleOp kernels, llvm::LLVMContext &context, llvm::TargetMachine &machine) {
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(kernels, context, "xfc");
  if (!code)
    return nullptr;
  code->setTargetTriple(machine.getTargetTriple());
  code->setDataLayout(machine.createDataLayout());
  keepWarpsTogether(*code);
  return code;
}

FailureOr<PtxWriter> preparePtx(ModuleOp module, std::string &error) {
  OwningOpRef<ModuleOp> copy = module.clone();
  if (failed(lowerToNVVM(*copy, error)))
    return failure();
  MLIRContext &context = *module.getContext();
  registerBuiltinDialectTranslation(context);
  registerGPUDialectTranslation(context);
  registerLLVMDialectTranslation(context);
  registerNVVMDialectTranslation(context);
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  auto lowered = *copy->getOps<mlir::gpu::GPUModuleOp>().begin();
  kernels->getBody()->getOperations().splice(kernels->getBody()->end(), lowered.getBody()->getOperations());
  auto translations = std::make_shared<Translations>();
  for (codegen::ModulePart &part : codegen::splitModule(*kernels)) {
    Translation &translation = translations->parts.emplace_back();
    translations->sizes.push_back(part.operations);
    translation.machine = makeTargetMachine(error);
    if (!translation.machine)
      return failure();
    translation.code = translate(*part.module, *translation.context, *translation.machine);
    if (!translation.code) {
      error = "translation of GPU kernels to LLVM IR failed";
      return failure();
    }
  }
  return PtxWriter([translations](std::string &error) { return translations->finish(error); });
}

FailureOr<std::string> emitPtx(ModuleOp module, std::string &error) {
  auto write = preparePtx(module, error);
  if (failed(write))
    return failure();
  return (*write)(error);
}

} // namespace xf::gpu
