#include "compiler/Target/CPU/Lower.h"

#include "compiler/Target/ExpandMath.h"
#include "compiler/Target/Isa.h"
#include "compiler/Target/Optimize.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;

namespace xf::cpu {

static constexpr llvm::StringLiteral kTriple = "x86_64-unknown-linux-gnu";

/// One conversion for all dialects visits each operation once; the dialects' own passes would each visit all.
static LogicalResult convertToLLVMDialect(ModuleOp module) {
  MLIRContext &context = *module.getContext();
  PassManager passes(&context, ModuleOp::getOperationName());
  passes.enableVerifier(false);
  passes.addPass(createSCFToControlFlowPass());
  if (failed(passes.run(module)))
    return failure();
  LLVMTypeConverter types(&context);
  RewritePatternSet patterns(&context);
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  populateVectorToLLVMConversionPatterns(types, patterns);
  ub::populateUBToLLVMConversionPatterns(types, patterns);
  LLVMConversionTarget target(context);
  target.addLegalOp<ModuleOp>();
  ConversionConfig config;
  config.allowPatternRollback = false;
  return applyFullConversion(module, target, std::move(patterns), config);
}

LogicalResult lowerToLLVMDialect(ModuleOp module, std::string &error) {
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && error.empty())
      error = diagnostic.str();
    return success();
  });
  if (failed(verify(module)) || failed(expandMathOps(module, error)))
    return failure();
  if (failed(convertToLLVMDialect(module)) || failed(verify(module))) {
    if (error.empty())
      error = "lowering to LLVM failed";
    return failure();
  }
  return success();
}

std::unique_ptr<llvm::TargetMachine> makeTargetMachine(std::string &error) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  llvm::Triple triple(kTriple);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  // Multiplications and additions are fused where the IR says so and nowhere else: all instruction sets with FMA agree
  // on every bit.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.FunctionSections = false;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, "x86-64-v2", "", options, llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

/// With fast-dpwssd a product of int16 stays one instruction: otherwise LLVM makes two of it, for the sake of latency.
static constexpr llvm::StringRef kVnni512 = ",+avx512vnni,+fast-dpwssd", kVnni256 = "+avxvnni,+fast-dpwssd";

/// Gives each function the attributes of its instruction set.
static void setAttributes(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    Isa isa = isaOfFunction(function.getName());
    function.setDSOLocal(true);
    function.addFnAttr(llvm::Attribute::NoUnwind);
    // Loops stay loops: no call of memcpy or memset is made from them.
    function.addFnAttr("no-builtins");
    function.addFnAttr("target-cpu", byRegisters(isa, "x86-64-v2", "x86-64-v3", "x86-64-v4"));
    if (hasAvx512(isa)) {
      bool hasBF16 = isa == Isa::avx512_bf16;
      function.addFnAttr("target-features", ("-prefer-256-bit" + (hasVnni(isa) ? kVnni512 : "")).str() + (hasBF16 ? ",+avx512bf16" : ""));
      function.addFnAttr("prefer-vector-width", "512");
      function.addFnAttr("min-legal-vector-width", "512");
    } else if (hasVnni(isa)) {
      function.addFnAttr("target-features", kVnni256);
    }
  }
}

/// The only lane that a constant mask lets through.
static std::optional<unsigned> onlyLane(llvm::Value *mask) {
  auto *constant = llvm::dyn_cast<llvm::Constant>(mask);
  auto *type = llvm::dyn_cast<llvm::FixedVectorType>(mask->getType());
  std::optional<unsigned> found;
  for (unsigned lane = 0; constant && type && lane < type->getNumElements(); ++lane) {
    llvm::Constant *bit = constant->getAggregateElement(lane);
    if (!bit || (!bit->isNullValue() && (found || !bit->isOneValue())))
      return std::nullopt;
    if (bit->isOneValue())
      found = lane;
  }
  return found;
}

/// Makes masked stores of one lane plain ones. LLVM 22 does so itself, but writes all bytes of an element that was truncated for
/// the store (llvm/llvm-project#179489).
static void storeSingleLanes(llvm::Module &module) {
  SmallVector<llvm::IntrinsicInst *> stores;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction); call && call->getIntrinsicID() == llvm::Intrinsic::masked_store)
        stores.push_back(call);
  for (llvm::IntrinsicInst *store : stores) {
    std::optional<unsigned> lane = onlyLane(store->getArgOperand(2));
    if (!lane)
      continue;
    llvm::IRBuilder<> builder(store);
    llvm::Value *element = builder.CreateExtractElement(store->getArgOperand(0), *lane);
    llvm::Value *address = builder.CreateConstInBoundsGEP1_64(element->getType(), store->getArgOperand(1), *lane);
    builder.CreateAlignedStore(element, address, llvm::Align(1));
    store->eraseFromParent();
  }
}

void optimizeKernels(llvm::Module &module, llvm::TargetMachine &machine) {
  codegen::optimize(module, machine, codegen::Passes::few);
  storeSingleLanes(module);
}

std::unique_ptr<llvm::Module> translateToLLVM(ModuleOp module, llvm::LLVMContext &context, llvm::TargetMachine &machine, std::string &error) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  std::unique_ptr<llvm::Module> result = translateModuleToLLVMIR(module, context, "xfc");
  if (!result) {
    error = "translation to LLVM IR failed";
    return nullptr;
  }
  result->setTargetTriple(machine.getTargetTriple());
  result->setDataLayout(machine.createDataLayout());
  setAttributes(*result);
  return result;
}

std::unique_ptr<llvm::Module> lowerToLLVM(ModuleOp module, llvm::LLVMContext &context, llvm::TargetMachine &machine, std::string &error) {
  OwningOpRef<ModuleOp> copy = module.clone();
  if (failed(lowerToLLVMDialect(*copy, error)))
    return nullptr;
  std::unique_ptr<llvm::Module> result = translateToLLVM(*copy, context, machine, error);
  if (result)
    optimizeKernels(*result, machine);
  return result;
}

} // namespace xf::cpu
