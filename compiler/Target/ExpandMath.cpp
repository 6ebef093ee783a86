// Functions of the math dialect as arithmetic. Generated code calls no library: its bits must not depend on the
// machine's libm, and the image has no undefined symbols.
#include "compiler/Target/ExpandMath.h"

#include "compiler/Target/Isa.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace xf::codegen {

/// Whether every instruction set of ours has an instruction for it.
static bool isInstruction(Operation *op) {
  return isa<math::FmaOp, math::SqrtOp, math::AbsFOp, math::CopySignOp, math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp, math::AbsIOp,
             math::IsNaNOp, math::IsInfOp, math::IsFiniteOp>(op);
}

/// a * b + c in two roundings, for processors without fused multiply-add.
template <typename FmaOp> static void splitFma(FmaOp op, Value a, Value b, Value c) {
  OpBuilder builder(op);
  Value product = arith::MulFOp::create(builder, op.getLoc(), a, b);
  op.getResult().replaceAllUsesWith(arith::AddFOp::create(builder, op.getLoc(), product, c).getResult());
  op.erase();
}

/// Replaces functions by polynomials.
static LogicalResult expandFunctions(ModuleOp module, std::string &error) {
  RewritePatternSet patterns(module.getContext());
  math::populateExpansionPatterns(patterns, {"sinh", "cosh", "tan", "asinh", "acosh", "atanh", "powf", "fpowi", "exp2", "round", "rsqrt", "clampf"});
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return llvm::is_contained({"math.exp", "math.expm1", "math.log", "math.log2", "math.log1p", "math.tanh", "math.erf", "math.erfc", "math.sin",
                               "math.cos", "math.atan", "math.atan2", "math.asin", "math.acos", "math.cbrt"},
                              name);
  });
  SmallVector<Operation *> work;
  module.walk([&](Operation *op) {
    if (isa<math::MathDialect>(op->getDialect()) && !isInstruction(op))
      work.push_back(op);
  });
  if (work.empty())
    return success();
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  config.enableFolding(true);
  if (failed(applyOpPatternsGreedily(work, std::move(patterns), config))) {
    error = "expanding mathematical functions does not end";
    return failure();
  }
  return success();
}

/// Replaces fused multiply-adds by two operations in functions for processors without them.
static void splitFmas(ModuleOp module) {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (hasAvx2(isaOfFunction(function.getSymName())))
      continue;
    SmallVector<Operation *> fused;
    function.walk([&](Operation *op) {
      if (isa<math::FmaOp, vector::FMAOp>(op))
        fused.push_back(op);
    });
    for (Operation *op : fused) {
      if (auto fma = dyn_cast<math::FmaOp>(op))
        splitFma(fma, fma.getA(), fma.getB(), fma.getC());
      else if (auto fma = dyn_cast<vector::FMAOp>(op))
        splitFma(fma, fma.getLhs(), fma.getRhs(), fma.getAcc());
    }
  }
}

LogicalResult expandMathOps(ModuleOp module, std::string &error) {
  if (failed(expandFunctions(module, error)))
    return failure();
  splitFmas(module);
  WalkResult result = module.walk([&](Operation *op) {
    if (!isa<math::MathDialect>(op->getDialect()) || isInstruction(op))
      return WalkResult::advance();
    llvm::raw_string_ostream(error) << "no code can be made for " << op->getName() << " giving " << op->getResultTypes().front();
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

} // namespace xf::codegen
