#include "compiler/Target/GPU/GpuBuilder.h"

#include "compiler/Target/VectorMath.h"
#include "runtime/abi/xf_abi.h"
#include "runtime/abi/xf_ptx.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace xf::gpu {

static constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;
static constexpr unsigned kViewWords = sizeof(xf_abi_view) / 8;
static_assert(XF_ABI_MAX_GPU_VIEWS * sizeof(xf_abi_view) <= 4096);
static_assert(offsetof(xf_abi_view, size) == 8 && offsetof(xf_abi_view, stride) == 8 + 8 * XF_ABI_MAX_RANK);

OwningOpRef<ModuleOp> makeKernelModule(MLIRContext *context) {
  context->loadDialect<mlir::gpu::GPUDialect, NVVM::NVVMDialect>();
  codegen::loadCodeDialects(context);
  Location loc = UnknownLoc::get(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder(module->getBodyRegion());
  mlir::gpu::GPUModuleOp::create(builder, loc, "kernels");
  return module;
}

// The instruction set tells the available arithmetic: like AVX2, a GPU has fused multiply-add.
GpuBuilder::GpuBuilder(mlir::gpu::GPUModuleOp module, StringRef name, unsigned views, int64_t threads, Location location)
    : CodeBuilder(module->getParentOfType<ModuleOp>(), codegen::Isa::avx2, location), kernels(module) {
  setInsertionPointToEnd(module.getBody());
  SmallVector<Type> parameters;
  Type pointer = LLVM::LLVMPointerType::get(getContext(), kGlobalSpace);
  for (unsigned view = 0; view < views; ++view) {
    parameters.push_back(pointer);
    parameters.append(kViewWords - 1, getI64Type());
  }
  kernel = create<mlir::gpu::GPUFuncOp>(name, getFunctionType(parameters, {}));
  kernel->setAttr(mlir::gpu::GPUDialect::getKernelFuncAttrName(), getUnitAttr());
  kernel.setKnownBlockSizeAttr(getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
  setInsertionPointToStart(&kernel.getBody().front());
  // The next launch starts as soon as there is room for it, and waits for the end of this one where it needs its results.
  assembly(XF_PTX_MARK "griddepcontrol.launch_dependents;");
  launchesAwaited = assembly(XF_PTX_MARK "griddepcontrol.wait;");
}

void GpuBuilder::awaitLaunches() { launchesAwaited->moveBefore(getInsertionBlock(), getInsertionPoint()); }

void GpuBuilder::prefetch(Value start, int64_t bytes, int64_t threads) {
  constexpr int64_t kLine = 128;
  for (int64_t first = 0; first < bytes; first += threads * kLine) {
    auto prefetchLine = [&] {
      Value address = at(start, add(mul(thread(), kLine), first), getI8Type());
      assembly("prefetch.global.L2 [$0];", create<LLVM::PtrToIntOp>(getI64Type(), address).getResult());
    };
    int64_t lines = llvm::divideCeil(bytes - first, kLine);
    lines < threads ? ifThen(less(thread(), i64(lines)), prefetchLine) : prefetchLine();
  }
}

void GpuBuilder::setBlocksPerMultiprocessor(int64_t blocks) {
  kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), getI32IntegerAttr(static_cast<int32_t>(blocks)));
}

Value GpuBuilder::parameter(unsigned view, unsigned word) { return kernel.getArgument((firstView + view) * kViewWords + word); }
Value GpuBuilder::size(unsigned i, unsigned dim) { return parameter(i, 1 + dim); }
Value GpuBuilder::stride(unsigned i, unsigned dim) { return parameter(i, 1 + XF_ABI_MAX_RANK + dim); }

Value GpuBuilder::block() {
  if (!blockIndex) {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(&kernel.getBody().front());
    blockIndex = toI64(create<mlir::gpu::BlockIdOp>(mlir::gpu::Dimension::x));
  }
  return blockIndex;
}

Value GpuBuilder::thread() {
  if (!threadIndex) {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(&kernel.getBody().front());
    threadIndex = toI64(create<mlir::gpu::ThreadIdOp>(mlir::gpu::Dimension::x));
  }
  return threadIndex;
}

void GpuBuilder::barrier() { create<mlir::gpu::BarrierOp>(); }

void GpuBuilder::syncWarp() { create<NVVM::SyncWarpOp>(i32(-1)); }

Operation *GpuBuilder::assembly(StringRef text, ValueRange operands) {
  return create<LLVM::InlineAsmOp>(TypeRange(), operands, text, operands.empty() ? "~{memory}" : "l,~{memory}", /*has_side_effects=*/true,
                                   /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

void GpuBuilder::holdReads() { assembly(""); }

Value GpuBuilder::shuffleXor(Value value, int64_t distance) {
  return create<mlir::gpu::ShuffleOp>(value, static_cast<int32_t>(distance), static_cast<int32_t>(kWarp), mlir::gpu::ShuffleMode::XOR)
      .getShuffleResult();
}

Value GpuBuilder::fromLane(Value value, int64_t lane) {
  return create<mlir::gpu::ShuffleOp>(value, static_cast<int32_t>(lane), static_cast<int32_t>(kWarp), mlir::gpu::ShuffleMode::IDX).getShuffleResult();
}

Value GpuBuilder::warpMax(Value value) { return create<NVVM::ReduxOp>(getI32Type(), value, NVVM::ReduxKind::MAX, i32(-1)); }

Value GpuBuilder::ballot(Value condition) { return create<NVVM::VoteSyncOp>(getI32Type(), i32(-1), condition, NVVM::VoteSyncKind::ballot); }

Value GpuBuilder::reduceOver(Value value, int64_t lanes, llvm::function_ref<Value(Value, Value)> combine) {
  for (int64_t distance = lanes / 2; distance >= 1; distance /= 2)
    value = combine(shuffleXor(value, distance), value);
  return value;
}

Value GpuBuilder::reduceOver(mlir::xf::ReduceKind kind, Value value, int64_t lanes) {
  return reduceOver(value, lanes, [&](Value other, Value own) { return codegen::combine(*this, kind, other, own); });
}

Value GpuBuilder::shared(Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPoint(kernel);
  std::string name = (kernel.getName() + "_shared" + Twine(sharedBuffers++)).str();
  auto type = LLVM::LLVMArrayType::get(element, count);
  auto global = create<LLVM::GlobalOp>(type, /*isConstant=*/false, LLVM::Linkage::Internal, name, Attribute(),
                                       /*alignment=*/16, kSharedSpace);
  setInsertionPointToStart(&kernel.getBody().front());
  return create<LLVM::AddressOfOp>(global);
}

Value GpuBuilder::hasBit(Value words, Value index) {
  Value word = load(getI32Type(), at(words, div(index, i64(32)), getI32Type()));
  Value bit = create<arith::AndIOp>(word, create<arith::ShLIOp>(i32(1), narrow(rem(index, 32))));
  return create<arith::CmpIOp>(arith::CmpIPredicate::ne, bit, i32(0));
}

SmallVector<Value> GpuBuilder::loadMany(Value address, int64_t count, Type element) {
  auto type = VectorType::get({count}, element ? element : getF32Type());
  Value vector = create<LLVM::LoadOp>(type, address, static_cast<unsigned>(4 * count));
  SmallVector<Value> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(create<LLVM::ExtractElementOp>(vector, i64(i)));
  return values;
}

void GpuBuilder::storeMany(ArrayRef<Value> values, Value address) {
  auto type = VectorType::get({static_cast<int64_t>(values.size())}, values.front().getType());
  Value vector = create<LLVM::PoisonOp>(type);
  for (auto [i, value] : llvm::enumerate(values))
    vector = create<LLVM::InsertElementOp>(vector, value, i64(i));
  create<LLVM::StoreOp>(vector, address, static_cast<unsigned>(4 * values.size()));
}

SmallVector<Value> GpuBuilder::loopWithoutUnrolling(Value from, Value to, int64_t step, ValueRange carried, CarryingBody body) {
  SmallVector<Value> results = loop(from, to, step, carried, body);
  auto unroll = LLVM::LoopUnrollAttr::get(getContext(), /*disable=*/getBoolAttr(true), {}, {}, {}, {}, {}, {});
  auto annotation = LLVM::LoopAnnotationAttr::get(getContext(), {}, {}, {}, unroll, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {});
  results.front().getDefiningOp()->setAttr(kLoopAnnotation, annotation);
  return results;
}

Value GpuBuilder::narrow(Value value) { return createOrFold<arith::TruncIOp>(getI32Type(), value); }

Value GpuBuilder::inHalf(Value value) { return createOrFold<arith::ExtUIOp>(getI64Type(), value.getType().isInteger(32) ? value : narrow(value)); }

Value GpuBuilder::divide(Value a, Value b) { return inHalf(createOrFold<arith::DivUIOp>(narrow(a), narrow(b))); }
Value GpuBuilder::remainder(Value a, Value b) { return inHalf(createOrFold<arith::RemUIOp>(narrow(a), narrow(b))); }

SmallVector<Value> GpuBuilder::delinearize(Value index, ArrayRef<Value> sizes) {
  SmallVector<Value> indices(sizes.size());
  Value left = narrow(index);
  for (size_t d = sizes.size(); d-- > 1;) {
    Value size = narrow(sizes[d]), rest = createOrFold<arith::DivUIOp>(left, size);
    indices[d] = inHalf(createOrFold<arith::SubIOp>(left, createOrFold<arith::MulIOp>(rest, size)));
    left = rest;
  }
  if (!indices.empty())
    indices[0] = inHalf(left);
  return indices;
}

} // namespace xf::gpu
