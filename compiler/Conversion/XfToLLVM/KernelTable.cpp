#include "compiler/Conversion/XfToLLVM/KernelTable.h"

#include "compiler/Target/CPU/Kernels.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {

/// The layout that a tensor is known to have from its definition, beside its strides.
static Layout layoutOf(Value value, ModuleOp root) {
  Operation *op = value.getDefiningOp();
  if (auto param = dyn_cast_or_null<ParamOp>(op))
    if (auto weight = root.lookupSymbol<WeightOp>(param.getNameAttr()))
      return weight.getLayout();
  return Layout::plain;
}

/// `type` with unknown sizes of the dimensions that are rows; unchanged if others are dynamic.
static RankedTensorType forgetRows(RankedTensorType type, function_ref<bool(int64_t)> isRows) {
  SmallVector<int64_t> shape(type.getShape());
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (isRows(d))
      shape[d] = ShapedType::kDynamic;
    else if (type.isDynamicDim(d))
      return type;
  }
  return RankedTensorType::get(shape, type.getElementType());
}

/// Kernels of products and row ops get the number and the dimensions of rows from their views: makes `copy`, which is never executed,
/// the same for all of these. Its operands become `arguments`.
static void forgetRows(Operation *copy, Block &arguments) {
  auto maps = copy->getAttrOfType<ArrayAttr>("maps");
  auto typeOf = [](Value value) { return cast<RankedTensorType>(value.getType()); };
  int64_t columns = typeOf(copy->getResult(0)).getRank() - 1;
  auto isLeading = [&](int64_t d) { return d >= 0 && d < columns; };
  auto set = [&](unsigned i, function_ref<bool(int64_t)> isRows) {
    copy->setOperand(i, arguments.addArgument(forgetRows(typeOf(copy->getOperand(i)), isRows), copy->getLoc()));
  };
  unsigned first = copy->getNumOperands() - maps.size();
  if (isa<ContractOp>(copy))
    set(0, isLeading);
  for (auto [i, map] : llvm::enumerate(maps.getAsRange<DenseI64ArrayAttr>()))
    set(first + i, [&](int64_t d) { return isLeading(map[d]); });
  for (Value result : copy->getResults())
    result.setType(forgetRows(typeOf(result), isLeading));
}

/// What decides a kernel's code: the op as text without the names of what it reads, which captured tensor is read
/// where, layouts and strides.
static std::string fingerprint(Operation *op, const codegen::KernelAccess &access, ModuleOp root) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto operands = codegen::kernelOperands(op);
  llvm::MapVector<Value, unsigned> operandIndices;
  for (auto &operand : operands) {
    operandIndices.insert({operand.value, operandIndices.size()});
    if (!llvm::is_contained(op->getOperands(), operand.value)) // the op's text has the types of others
      os << operand.value.getType();
    os << stringifyLayout(layoutOf(operand.value, root)) << operand.isCompanion << ';';
  }
  for (int64_t stride : access.lastStride)
    os << stride << ',';
  os << access.weightsStream;
  // A state's name does not matter, its shape and layout do.
  Operation *copy = op->clone();
  for (StringRef name : {"name", "states"}) {
    Attribute attr = copy->getAttr(name);
    auto note = [&](FlatSymbolRefAttr symbol) {
      if (auto state = root.lookupSymbol<StateOp>(symbol))
        os << state.getType() << stringifyLayout(state.getLayout());
    };
    if (auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(attr))
      note(symbol);
    if (auto symbols = dyn_cast_or_null<ArrayAttr>(attr))
      for (auto symbol : symbols.getAsRange<FlatSymbolRefAttr>())
        note(symbol);
    if (isa_and_nonnull<FlatSymbolRefAttr>(attr))
      copy->setAttr(name, FlatSymbolRefAttr::get(op->getContext(), "s"));
    if (auto symbols = dyn_cast_or_null<ArrayAttr>(attr))
      copy->setAttr(name, ArrayAttr::get(op->getContext(), SmallVector<Attribute>(symbols.size(), FlatSymbolRefAttr::get(op->getContext(), "s"))));
  }
  Block arguments;
  if (isa<ContractOp, RowOp>(op))
    forgetRows(copy, arguments);
  copy->print(os, OpPrintingFlags().useLocalScope().printGenericOpForm());
  copy->destroy();
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      Attribute constant;
      if (auto found = operandIndices.find(operand); found != operandIndices.end())
        os << '#' << found->second;
      else if (!op->isAncestor(operand.getParentBlock()->getParentOp()) && matchPattern(operand, m_Constant(&constant)))
        os << '=' << constant; // the text has only the names of values outside
    }
  });
  return text;
}

LogicalResult KernelTable::emit(StringRef name, Operation *op, const codegen::KernelAccess &access) {
  if (code.targets.cpu) {
    for (codegen::Isa isa : cpu::kernelIsas(op, code.targets.isas)) {
      if (failed(cpu::emitKernel(*code.module, (name + "." + codegen::isaName(isa)).str(), op, access, isa, root)))
        return failure();
      code.scratchBytes = std::max(code.scratchBytes, cpu::kernelScratchBytes(op, isa, root));
    }
  }
  if (code.targets.cuda) {
    auto kernels = *code.gpuModule->getOps<mlir::gpu::GPUModuleOp>().begin();
    auto kernel = gpu::emitKernel(kernels, name, op, access, root);
    if (failed(kernel))
      return failure();
    code.gpuKernels.push_back(std::move(*kernel));
  }
  return success();
}

FailureOr<unsigned> KernelTable::get(Operation *op, const codegen::KernelAccess &access) {
  auto [found, isNew] = indices.try_emplace(fingerprint(op, access, root), code.kernels.size());
  if (!isNew)
    return found->second;
  unsigned index = found->second;
  code.kernels.push_back("k" + std::to_string(index) + "_" + op->getName().stripDialect().str());
  if (failed(emit(code.kernels.back(), op, access)))
    return failure();
  return index;
}

void KernelTable::addPair(const ProloguePair &pair, const EmittedKernel &row, const EmittedKernel &product) {
  if (!pairs.insert({row.index, product.index, pair.result}).second)
    return;
  auto kernels = *code.gpuModule->getOps<mlir::gpu::GPUModuleOp>().begin();
  std::string name = code.kernels[product.index] + "_after_" + code.kernels[row.index];
  if (auto launch = gpu::emitWithPrologue(kernels, name, pair.product, product.access, pair.row, row.access, pair.result, root))
    code.gpuPairs.push_back({row.index, product.index, static_cast<unsigned>(codegen::kernelOperands(pair.row).size()) + pair.result,
                             static_cast<unsigned>(cast<RankedTensorType>(ContractOp(pair.product).getX().getType()).getRank()), std::move(*launch)});
}

} // namespace xf
