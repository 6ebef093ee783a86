// The plan of an entry: code that every thread runs, straight-line but for the loops over layers and appends of several positions.
//
// For each kernel op it describes operands and results as strided views, calls the kernel through the context's table,
// and waits for the other threads. Rearranges and slices cost nothing: they are strides. A stack of layers is a loop
// that carries pointers: a layer reads its input where the previous layer has written it, and writes to the other of two buffers.
#include "compiler/Conversion/XfToLLVM/CheckModule.h"
#include "compiler/Conversion/XfToLLVM/KernelTable.h"
#include "compiler/Conversion/XfToLLVM/MemoryPlan.h"
#include "compiler/Conversion/XfToLLVM/Plan.h"
#include "compiler/Conversion/XfToLLVM/PlanBuilder.h"
#include "compiler/Conversion/XfToLLVM/WeightPointers.h"
#include "dialect/IR/ModuleRoles.h"
#include "runtime/abi/xf_abi.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {
namespace {

/// A view as a kernel gets it; sizes and strides as monomials.
struct KernelView {
  Value data;
  SmallVector<Monomial> sizes, strides;
};

/// The function with which plans wait for the call's other threads, if there are any. Lowering a branch after each kernel instead, in a plan of
/// hundreds, would take memory that grows with the square of their number.
LLVM::LLVMFuncOp getWait(ModuleOp code, const DataLayout &layout, Location loc) {
  constexpr StringLiteral name = "xf.wait";
  if (auto existing = code.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return existing;
  OpBuilder builder = OpBuilder::atBlockEnd(code.getBody());
  PlanBuilder plan(builder, loc, Value(), layout);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), {plan.ptr()});
  auto function = LLVM::LLVMFuncOp::create(builder, loc, name, type, LLVM::Linkage::Internal);
  Block *start = function.addEntryBlock(builder), *wait = builder.createBlock(&function.getBody()), *end = builder.createBlock(&function.getBody());
  plan.context = start->getArgument(0);
  builder.setInsertionPointToStart(start);
  Value threads = plan.load(builder.getI32Type(), plan.context, offsetof(xf_abi_context, threads));
  Value one = LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(1));
  Value isMultithreaded = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::sgt, threads, one);
  LLVM::CondBrOp::create(builder, loc, isMultithreaded, wait, end);
  builder.setInsertionPointToStart(wait);
  LLVM::CallOp::create(builder, loc, type, ValueRange{plan.contextField(offsetof(xf_abi_context, barrier)), plan.context});
  LLVM::BrOp::create(builder, loc, end);
  builder.setInsertionPointToStart(end);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return function;
}

class PlanEmitter {
public:
  PlanEmitter(EntryOp entry, const DataLayout &layout, KernelTable &kernels, ModuleOp code)
      : entry(entry), root(entry->getParentOfType<ModuleOp>()), kernels(kernels),
        pairs(kernels.isForGpus() ? findPrologues(entry) : SmallVector<ProloguePair>()), memory(planMemory(entry, pairs)),
        wait(getWait(code, layout, entry.getLoc())), builder(code.getBodyRegion()), plan(builder, entry.getLoc(), Value(), layout),
        weights(plan, root), streams(weightsStream(entry)) {}

  LogicalResult run(StringRef name) {
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), {plan.ptr()});
    builder.setInsertionPointToEnd(builder.getBlock());
    auto function = LLVM::LLVMFuncOp::create(builder, entry.getLoc(), name, type);
    Block *body = function.addEntryBlock(builder);
    builder.setInsertionPointToStart(body);
    plan.context = body->getArgument(0);
    plan.loadDims();
    io = plan.contextField(offsetof(xf_abi_context, io));
    weights.loadBase();
    states = plan.contextField(offsetof(xf_abi_context, states));
    workspace = plan.contextField(offsetof(xf_abi_context, workspace));
    table = plan.contextField(offsetof(xf_abi_context, kernels));
    locateSlots();
    firstRow = plan.load(builder.getI64Type(), plan.context, offsetof(xf_abi_context, first_row));
    views = LLVM::AllocaOp::create(builder, entry.getLoc(), plan.ptr(), builder.getI8Type(), plan.constant(viewBytes()), 8);

    for (auto [i, arg] : llvm::enumerate(entry.getBody().getArguments()))
      pointers[arg] = plan.load(plan.ptr(), io, 8 * i);
    auto *terminator = entry.getBody().front().getTerminator();
    for (OpOperand &result : terminator->getOpOperands())
      pointers[result.get()] = plan.load(plan.ptr(), io, 8 * (entry.getBody().getNumArguments() + result.getOperandNumber()));
    if (failed(emitBlock(entry.getBody().front())))
      return failure();
    LLVM::ReturnOp::create(builder, entry.getLoc(), ValueRange());
    for (const ProloguePair &pair : pairs)
      kernels.addPair(pair, emitted.at(pair.row), emitted.at(pair.product));
    return success();
  }

  int64_t workspaceBytes() const { return memory.bytes; }
  EntryCalls takeCalls() { return std::move(calls); }

private:
  /// Room for the views of any one kernel.
  int64_t viewBytes() {
    size_t maxViews = 1;
    entry.walk([&](Operation *op) {
      if (!isa<EntryOp>(op))
        maxViews = std::max<size_t>(maxViews, codegen::kernelOperands(op).size() + op->getNumResults() + 4);
    });
    return maxViews * sizeof(xf_abi_view);
  }

  LogicalResult emitBlock(Block &block) {
    for (Operation &op : block.without_terminator()) {
      if (auto repeat = dyn_cast<RepeatOp>(op)) {
        if (failed(emitRepeat(repeat)))
          return failure();
      } else if (auto append = dyn_cast<AppendOp>(op); append && append.getByReader()) {
        if (failed(emitAppendOfSeveral(append)))
          return failure();
      } else if (hasKernel(&op)) {
        if (failed(emitKernel(&op)))
          return failure();
      }
    }
    return success();
  }

  /// Appends, unless there is just one position, which the append's reader will write.
  LogicalResult emitAppendOfSeveral(AppendOp append) {
    Value positions = plan.evaluate(sizeOf(cast<RankedTensorType>(append.getX().getType()), append.getAxis()));
    Value several = LLVM::ICmpOp::create(builder, append.getLoc(), LLVM::ICmpPredicate::ne, positions, plan.constant(1));
    auto branch = scf::IfOp::create(builder, append.getLoc(), several, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    return emitKernel(append);
  }

  /// Computes where each slot begins in this call.
  void locateSlots() {
    SmallVector<Value> ends;
    for (const Slot &slot : memory.slots) {
      Value offset;
      for (unsigned below : slot.below)
        offset = offset ? plan.max(offset, ends[below]) : ends[below];
      if (!offset)
        offset = plan.constant(0);
      slots.push_back(plan.advance(workspace, offset));
      ends.push_back(plan.add(offset, plan.roundUp(plan.evaluate(slot.bytes), kSlotAlignment)));
    }
  }

  LogicalResult emitRepeat(RepeatOp repeat) {
    Location loc = repeat.getLoc();
    size_t carried = repeat.getInits().size();
    Block &body = repeat.getBody().front();
    auto *yield = body.getTerminator();
    // Values that only the last layer's run leaves behind have one buffer, known before the loop.
    for (size_t i = carried; i < repeat.getNumResults(); ++i)
      pointers[repeat.getResult(i)] = rootPointer(yield->getOperand(i));
    SmallVector<Value> state;
    for (Value init : repeat.getInits())
      state.push_back(rootPointer(init));
    for (auto &pair : memory.carried[repeat])
      state.push_back(slots[pair.first]);
    for (auto &pair : memory.carried[repeat])
      state.push_back(slots[pair.second]);

    auto loop = scf::ForOp::create(builder, loc, plan.constant(0), plan.constant(repeat.getCount()), plan.constant(1), state);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      weights.setLayer(repeat, loop.getInductionVar());
      auto args = loop.getRegionIterArgs();
      for (size_t i = 0; i < carried; ++i) {
        pointers[repeat.getCarried()[i]] = args[i];
        pointers[yield->getOperand(i)] = args[carried + i];
      }
      if (failed(emitBlock(body)))
        return failure();
      // input <- written, written <- the other buffer, the other buffer <- written
      SmallVector<Value> next;
      for (size_t part : {1, 2, 1})
        for (size_t i = 0; i < carried; ++i)
          next.push_back(args[part * carried + i]);
      if (carried > 0) // a loop that carries nothing has its terminator already
        scf::YieldOp::create(builder, loc, next);
    }
    for (size_t i = 0; i < carried; ++i)
      pointers[repeat.getResult(i)] = loop.getResult(i);
    return success();
  }

  /// Where the layer of a state keeps the first row of the call, or the first sentence.
  Value statePointer(StringRef name, Value layer) {
    auto op = root.lookupSymbol<StateOp>(name);
    int64_t offset = std::distance(plan.layout.states.begin(), llvm::find(plan.layout.states, op.getOperation())) * sizeof(xf_abi_state_view);
    Value start = plan.load(plan.ptr(), states, offset + offsetof(xf_abi_state_view, data));
    auto forward = [&](Value count, size_t stride) {
      start = plan.advance(start, plan.mul(count, plan.load(builder.getI64Type(), states, offset + stride)));
    };
    if (op.getLayers() > 1)
      forward(weights.indexValue(layer), offsetof(xf_abi_state_view, layer_stride));
    if (!op.getSentences())
      forward(firstRow, offsetof(xf_abi_state_view, row_stride));
    return start;
  }

  /// Where the buffer that `value` is the root of starts.
  Value rootPointer(Value value) {
    if (Value pointer = pointers.lookup(value))
      return pointer;
    Operation *op = value.getDefiningOp();
    if (auto param = dyn_cast<ParamOp>(op))
      return weights.pointer(param);
    if (auto access = dyn_cast<StateAccess>(op))
      return statePointer(access.getStateName(), access.getLayer());
    return slots[memory.values.lookup(value)];
  }

  KernelView viewOfValue(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    View view = *viewOf(value, root);
    KernelView result{rootPointer(view.root), {}, view.strides};
    int64_t bytes = elementBytes(cast<RankedTensorType>(view.root.getType()).getElementType());
    for (const Monomial &term : view.offset)
      result.data = plan.advance(result.data, plan.mul(plan.evaluate(term), plan.constant(bytes)));
    for (unsigned d = 0; d < type.getRank(); ++d)
      result.sizes.push_back(sizeOf(type, d));
    return result;
  }

  /// The view of `value` with its leading dimensions collapsed into one.
  KernelView collapsed(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    KernelView view = viewOfValue(value);
    Monomial rows;
    for (unsigned d = 0; d + 1 < type.getRank(); ++d)
      rows = rows * sizeOf(type, d);
    Monomial stride = *collapseRows(type, *viewOf(value, root));
    return {view.data, {rows, view.sizes.back()}, {stride, view.strides.back()}};
  }

  /// A state as the op that writes it sees it: all that the layer's tensor has room for.
  KernelView stateView(StringRef name, Value layer) {
    auto state = root.lookupSymbol<StateOp>(name);
    KernelView view{statePointer(name, layer), {}, stateStrides(state)};
    for (unsigned d = 0; d < state.getTensorType().getRank(); ++d)
      view.sizes.push_back(stateSize(state, d));
    return view;
  }

  LogicalResult emitKernel(Operation *op) {
    SmallVector<KernelView> list;
    bool collapse = isa<ContractOp>(op);
    for (const codegen::KernelOperand &operand : codegen::kernelOperands(op)) {
      auto type = cast<RankedTensorType>(operand.value.getType());
      bool packed = viewOf(operand.value, root)->packing != Layout::plain;
      list.push_back(collapse && type.getRank() > 1 && !packed ? collapsed(operand.value) : viewOfValue(operand.value));
    }
    if (auto access = dyn_cast<StateAccess>(op))
      list.push_back(stateView(access.getStateName(), access.getLayer()));
    else
      for (Value result : op->getResults())
        list.push_back(collapse ? collapsed(result) : viewOfValue(result));
    if (auto scan = dyn_cast<ScanStepOp>(op))
      for (auto name : scan.getStates().getAsRange<FlatSymbolRefAttr>())
        list.push_back(stateView(name.getValue(), scan.getLayer()));

    codegen::KernelAccess access;
    access.weightsStream = streams && isa<ContractOp, ChooseOp>(op);
    for (const KernelView &view : list) {
      bool isStatic = !view.strides.empty() && view.strides.back().isConstant();
      access.lastStride.push_back(view.strides.empty() ? 1 : isStatic ? view.strides.back().coefficient : ShapedType::kDynamic);
    }
    auto index = kernels.get(op, access);
    if (failed(index))
      return failure();
    emitted.try_emplace(op, KernelTable::EmittedKernel{*index, access});
    calls.push_back({op, *index});
    for (auto [i, view] : llvm::enumerate(list))
      storeView(view, i * sizeof(xf_abi_view));
    if (isa<ContractOp>(op))
      storeFollowingWeights(op, list.size() * sizeof(xf_abi_view));
    Value kernel = plan.load(plan.ptr(), table, 8 * *index);
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), {plan.ptr(), plan.ptr(), builder.getI64Type()});
    LLVM::CallOp::create(builder, op->getLoc(), type, ValueRange{kernel, plan.context, views, plan.constant(*index)});
    LLVM::CallOp::create(builder, op->getLoc(), wait, ValueRange{plan.context});
    return success();
  }

  void storeView(const KernelView &view, int64_t offset) {
    plan.store(view.data, views, offset + offsetof(xf_abi_view, data));
    for (unsigned d = 0; d < view.sizes.size(); ++d) {
      plan.store(plan.evaluate(view.sizes[d]), views, offset + offsetof(xf_abi_view, size) + 8 * d);
      plan.store(plan.evaluate(view.strides[d]), views, offset + offsetof(xf_abi_view, stride) + 8 * d);
    }
  }

  /// The view of panels, whose stride is in bytes, that a product's kernel gets last.
  void storeFollowingWeights(Operation *product, int64_t offset) {
    auto panels = weights.nextPanels(product);
    plan.store(panels ? panels->count : plan.constant(0), views, offset + offsetof(xf_abi_view, size));
    if (!panels)
      return;
    plan.store(panels->first, views, offset + offsetof(xf_abi_view, data));
    plan.store(panels->bytes, views, offset + offsetof(xf_abi_view, stride));
  }

  EntryOp entry;
  ModuleOp root;
  KernelTable &kernels;
  SmallVector<ProloguePair> pairs;
  MemoryPlan memory;
  LLVM::LLVMFuncOp wait;
  OpBuilder builder;
  PlanBuilder plan;
  WeightPointers weights;
  bool streams; // the weights, from memory
  Value io, states, workspace, table, views, firstRow;
  SmallVector<Value> slots;        // by index: where they begin
  DenseMap<Operation *, KernelTable::EmittedKernel> emitted;
  EntryCalls calls;
  DenseMap<Value, Value> pointers; // of roots that are not simply in the workspace
};

} // namespace

/// The location for errors that concern the whole module: its first entry.
static Location moduleLoc(ModuleOp module) {
  auto entries = module.getOps<EntryOp>();
  return entries.empty() ? module.getLoc() : (*entries.begin()).getLoc();
}

/// Checks that sizes of dimensions and what is computed from them fit their types.
static LogicalResult checkLimits(ModuleOp module) {
  Location loc = moduleLoc(module);
  if (auto bounds = module->getAttrOfType<DictionaryAttr>(kBoundsAttr))
    for (auto bound : bounds)
      if (cast<IntegerAttr>(bound.getValue()).getInt() > XF_ABI_MAX_SIZE)
        return emitError(loc, "dimension " + bound.getName().getValue() + " is too large with all beams; lower its limit (--limit)");
  for (StringRef attribute : {kGenerateAttr, kPredictAttr}) {
    ModuleRoles roles(module, attribute);
    for (StringRef role : {"batch", "source", "target"})
      if (roles.bound(role).value_or(0) > XF_ABI_MAX_LIMIT)
        return emitError(loc,
                         "dimension " + roles.name(role) + " is too large for a search or predictions; lower the limit of " + role + " (--limit)");
  }
  return success();
}

/// Checks that sizes of tensors at the dimensions' limits can be computed in 64 bits, and that memory can be that large.
static LogicalResult checkSizes(ModuleOp module) {
  auto isTooLarge = [&](RankedTensorType type, int64_t layers) {
    if (!type.getElementType().isIntOrFloat())
      return false; // checkModule() refuses it
    double bytes = double(layers) * elementBytes(type.getElementType());
    for (int64_t d = 0; d < type.getRank(); ++d)
      bytes *= type.isDynamicDim(d) ? getBound(module, getDimName(type, d)).value_or(1) : type.getDimSize(d);
    return bytes > XF_ABI_MAX_BYTES;
  };
  auto refuse = [](Operation *op, RankedTensorType type) {
    emitError(op->getLoc(), "a tensor of shape " + describeShape(type) + " is larger than any memory; lower the limits of its dimensions (--limit)");
    return WalkResult::interrupt();
  };
  WalkResult walked = module.walk([&](Operation *op) {
    if (auto state = dyn_cast<StateOp>(op); state && isTooLarge(state.getTensorType(), state.getLayers()))
      return refuse(op, state.getTensorType());
    SmallVector<Type> types;
    for (Region &region : op->getRegions())
      llvm::append_range(types, region.getArgumentTypes());
    llvm::append_range(types, op->getResultTypes());
    for (Type each : types)
      if (auto type = dyn_cast<RankedTensorType>(each); type && isTooLarge(type, 1))
        return refuse(op, type);
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

/// Emits the kernels that searches of a model call, and no plan.
static void emitSearchKernels(ModuleOp module, CodeModule &result) {
  auto functions = *result.gpuModule->getOps<mlir::gpu::GPUModuleOp>().begin();
  result.gpuMoveRows = gpu::emitMoveRows(functions, "move_rows");
  result.gpuAdvance = gpu::emitAdvance(functions, "advance");
  result.gpuApplyRules = gpu::emitApplyRules(functions, "apply_rules");
  ModuleRoles generate(module, kGenerateAttr);
  EntryOp step = generate.entry("step");
  int64_t columns = cast<RankedTensorType>(step.getResultTypes()[*step.findResult(generate.name("logits"))]).getDimSize(2);
  result.gpuChooseLogits = gpu::emitChooseLogits(functions, "choose_logits", columns, XF_ABI_MAX_CHOSEN);
  result.gpuChooseParts = ChooseOp::countParts(columns, XF_ABI_MAX_CHOSEN);
  result.gpuTakeLogits = gpu::emitTakeLogits(functions, "take_logits");
  result.gpuDraw = gpu::emitDraw(functions, "draw", columns);
}

FailureOr<CodeModule> convertToCode(ModuleOp module, Targets targets) {
  // Sizes first: the others multiply them.
  if (failed(checkLimits(module)) || failed(checkSizes(module)) || failed(checkModule(module)))
    return failure();
  CodeModule result;
  result.targets = targets;
  result.module = ModuleOp::create(module.getLoc());
  if (targets.cuda)
    result.gpuModule = gpu::makeKernelModule(module.getContext());
  result.layout = layOutData(module);
  KernelTable kernels(result, module);
  for (auto entry : module.getOps<EntryOp>()) {
    PlanEmitter emitter(entry, result.layout, kernels, *result.module);
    result.plans.push_back(("plan." + entry.getSymName()).str());
    if (failed(emitter.run(result.plans.back())))
      return failure();
    result.calls.push_back(emitter.takeCalls());
    result.workspaces.push_back(emitter.workspaceBytes());
    result.workspaceBytes = std::max(result.workspaceBytes, emitter.workspaceBytes());
  }
  if (uint64_t(std::max(result.workspaceBytes, result.layout.stateBytes)) > XF_ABI_MAX_BYTES)
    return emitError(moduleLoc(module), "the tensors together are larger than any memory; lower the limits of their dimensions (--limit)"), failure();
  if (targets.cuda && module->hasAttr(kGenerateAttr))
    emitSearchKernels(module, result);
  return result;
}

} // namespace xf
