// From a region's ops to a flat program.
#include "compiler/Import/Error.h"
#include "compiler/Reference/Scalar.h"
#include "dialect/IR/Xf.h"

#include "mlir/IR/Matchers.h"

namespace xf {

static bool isFloatValue(mlir::Value value) { return llvm::isa<mlir::FloatType>(value.getType()); }

static bool isScalar(mlir::Type type) { return type.isF32() || type.isF64() || type.isBF16() || type.isF16() || type.isIntOrIndex(); }

static unsigned widthOf(mlir::Type type) { return llvm::isa<mlir::IndexType>(type) ? 64 : type.getIntOrFloatBitWidth(); }

static std::string typeToString(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Whether an op's result is discontinuous where its operands are f32 values.
static bool isDiscontinuous(mlir::Operation *op) {
  return op->getNumOperands() && op->getOperand(0).getType().isF32() &&
         llvm::isa<mlir::arith::FPToSIOp, mlir::arith::FPToUIOp, mlir::arith::RemFOp, mlir::math::FloorOp, mlir::math::CeilOp, mlir::math::TruncOp>(
             op);
}

/// Whether an op rounds to the nearest integer, which is quantisation, where a neighbour is as good. Nothing before it is
/// computed in f32, so that results are the same however passes have cut the code into regions.
static bool isNearest(mlir::Operation *op) { return llvm::isa<mlir::math::RoundOp, mlir::math::RoundEvenOp>(op); }

/// The f32 values of a block on which discontinuous results depend.
static llvm::DenseSet<mlir::Value> findRounded(mlir::Block &block) {
  llvm::DenseSet<mlir::Value> rounded;
  for (mlir::Operation &op : llvm::reverse(block.without_terminator()))
    if (isDiscontinuous(&op) || (!isNearest(&op) && llvm::any_of(op.getResults(), [&](mlir::Value result) { return rounded.contains(result); })))
      for (mlir::Value operand : op.getOperands())
        if (operand.getType().isF32())
          rounded.insert(operand);
  return rounded;
}

static float asF32(float value) { return value; }

struct ScalarCompiler {
  ScalarProgram program;
  llvm::DenseMap<mlir::Value, ScalarProgram::Reg> regs;
  llvm::DenseMap<mlir::Value, ScalarProgram::Reg> roundedRegs; // the same values, computed in f32; none where this changes nothing

  ScalarProgram::Reg define(mlir::Value value) {
    bool isFloat = isFloatValue(value);
    ScalarProgram::Reg reg{isFloat, isFloat ? program.floatRegs++ : program.intRegs++};
    regs[value] = reg;
    return reg;
  }

  /// The register of a value; one from outside the region becomes a constant or a capture.
  llvm::Expected<ScalarProgram::Reg> use(mlir::Value value) {
    if (auto it = regs.find(value); it != regs.end())
      return it->second;
    if (auto *op = value.getDefiningOp(); op && op->hasTrait<mlir::OpTrait::ConstantLike>()) {
      if (llvm::Error error = constant(op))
        return error;
      return regs[value];
    }
    if (!value.getType().isIntOrIndex())
      return makeError("a scalar region cannot take a {} from outside", typeToString(value.getType()));
    auto reg = define(value);
    program.captures.push_back(value);
    program.captureRegs.push_back(reg);
    return reg;
  }

  llvm::Error constant(mlir::Operation *op) {
    mlir::Attribute attr;
    if (!mlir::matchPattern(op->getResult(0), mlir::m_Constant(&attr)))
      return makeError("the constant {} has no value", op->getName().getStringRef().str());
    auto reg = define(op->getResult(0));
    if (auto value = llvm::dyn_cast<mlir::FloatAttr>(attr))
      program.floatConstants.push_back({reg.index, value.getValueAsDouble()});
    else if (auto value = llvm::dyn_cast<mlir::IntegerAttr>(attr))
      program.intConstants.push_back({reg.index, value.getType().isInteger(1) ? value.getValue().getZExtValue() : value.getValue().getSExtValue()});
    else
      return makeError("the constant {} is no scalar", op->getName().getStringRef().str());
    return llvm::Error::success();
  }

  /// As `use`, for the value that f32 arithmetic computes.
  llvm::Expected<ScalarProgram::Reg> useRounded(mlir::Value value) {
    auto it = roundedRegs.find(value);
    return it == roundedRegs.end() ? use(value) : it->second;
  }

  /// Adds a rounded value for an argument, beside its own.
  void roundArg(mlir::BlockArgument arg) {
    ScalarInst inst;
    inst.kernel = findCopyKernel();
    inst.operands[0] = regs[arg].index;
    inst.round = asF32;
    inst.result = program.floatRegs++;
    roundedRegs[arg] = {true, inst.result};
    program.roundedArgs.push_back(arg.getArgNumber());
    program.insts.push_back(std::move(inst));
  }

  /// `rounded`: adds a second instruction, which computes the same in f32.
  llvm::Error compile(mlir::Operation *op, bool rounded = false) {
    if (rounded && (op->hasTrait<mlir::OpTrait::ConstantLike>() || isDiscontinuous(op) || isNearest(op)))
      return llvm::Error::success(); // f32 in any case
    bool takesRounded = rounded || isDiscontinuous(op);
    if (op->hasTrait<mlir::OpTrait::ConstantLike>())
      return constant(op);
    ScalarInst inst;
    inst.kernel = findScalarKernel(op);
    if (!inst.kernel || op->getNumResults() != 1 || !isScalar(op->getResult(0).getType()))
      return makeError("a scalar region cannot hold {}", op->getName().getStringRef().str());
    auto operands = op->getOperands();
    if (auto at = llvm::dyn_cast<mlir::xf::AtOp>(op)) {
      auto existing = llvm::find(program.tensors, mlir::Value(at.getTensor()));
      inst.tensor = existing - program.tensors.begin();
      if (inst.tensor == static_cast<int>(program.tensors.size()))
        program.tensors.push_back(at.getTensor());
      operands = at.getIndices();
    }
    for (auto [i, operand] : llvm::enumerate(operands)) {
      if (!isScalar(operand.getType()))
        return makeError("a scalar region cannot compute on {}", typeToString(operand.getType()));
      auto reg = takesRounded ? useRounded(operand) : use(operand);
      if (!reg)
        return reg.takeError();
      if (llvm::isa<mlir::xf::AtOp>(op))
        inst.indices.push_back(reg->index);
      else
        inst.operands[i] = reg->index;
    }
    mlir::Type type = op->getResult(0).getType();
    // Comparisons give i1 and need their operands' width, as conversions from integers do.
    bool converts = llvm::isa<mlir::arith::CmpIOp, mlir::arith::SIToFPOp, mlir::arith::UIToFPOp, mlir::arith::ExtSIOp, mlir::arith::ExtUIOp,
                              mlir::arith::IndexCastOp, mlir::arith::IndexCastUIOp>(op);
    inst.bits = widthOf(converts ? op->getOperand(0).getType() : type);
    inst.f32 = type.isF32();
    inst.round = type.isBF16() ? roundToBF16 : type.isF16() ? roundToF16 : nullptr;
    if (rounded) {
      inst.round = asF32;
      inst.result = program.floatRegs++;
      roundedRegs[op->getResult(0)] = {true, inst.result};
    } else {
      inst.result = define(op->getResult(0)).index;
    }
    program.insts.push_back(std::move(inst));
    return llvm::Error::success();
  }

  llvm::Error finish(mlir::ValueRange results) {
    for (mlir::Value result : results) {
      auto reg = use(result);
      if (!reg)
        return reg.takeError();
      program.results.push_back(*reg);
    }
    return llvm::Error::success();
  }
};

llvm::Expected<ScalarProgram> ScalarProgram::compile(mlir::Block &block) {
  ScalarCompiler compiler;
  for (mlir::Value arg : block.getArguments()) {
    if (!isScalar(arg.getType()))
      return makeError("a scalar region cannot take {}", typeToString(arg.getType()));
    compiler.program.args.push_back(compiler.define(arg));
  }
  llvm::DenseSet<mlir::Value> rounded = findRounded(block);
  for (mlir::BlockArgument arg : block.getArguments())
    if (rounded.contains(arg))
      compiler.roundArg(arg);
  for (mlir::Operation &op : block.without_terminator()) {
    if (llvm::Error error = compiler.compile(&op))
      return error;
    if (op.getNumResults() == 1 && rounded.contains(op.getResult(0)))
      if (llvm::Error error = compiler.compile(&op, /*rounded=*/true))
        return error;
  }
  if (llvm::Error error = compiler.finish(block.getTerminator()->getOperands()))
    return error;
  return std::move(compiler.program);
}

llvm::Expected<ScalarProgram> ScalarProgram::compile(mlir::Operation *op) {
  ScalarCompiler compiler;
  for (mlir::Value operand : op->getOperands()) {
    if (!isScalar(operand.getType()))
      return makeError("{} cannot be interpreted", op->getName().getStringRef().str());
    auto existing = compiler.regs.find(operand);
    compiler.program.args.push_back(existing == compiler.regs.end() ? compiler.define(operand) : existing->second);
  }
  if (llvm::Error error = compiler.compile(op))
    return error;
  if (llvm::Error error = compiler.finish(op->getResults()))
    return error;
  return std::move(compiler.program);
}

} // namespace xf
