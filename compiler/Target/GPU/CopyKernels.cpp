// Kernels that bring a tensor into another physical order or make positions: a thread moves one element.
//
// Keys lie as [T/16][d/g][16][g], values as [T/g][e][g] with rows of whole vectors, as on the CPU. Slots after the last position in a block of keys
// are not written: kernels read only keys that exist.
#include "compiler/Target/GPU/KernelEmitters.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {
namespace {

constexpr int64_t kThreads = 256, kPanel = codegen::kLanes;

/// Adds a launch with a thread for each element of view `view`, which has `rank` dimensions.
void addLaunch(Kernel &kernel, StringRef function, unsigned view, unsigned rank) {
  Launch launch{function.str(), kThreads, {}, kThreads, 1, std::nullopt};
  for (unsigned d = 0; d < rank; ++d)
    launch.factors.push_back({view, d, 1});
  kernel.launches.push_back(launch);
}

/// Runs `body` with the indices of the thread's element of view `view`, if there is one.
void forElement(GpuBuilder &b, unsigned view, unsigned rank, function_ref<void(ArrayRef<Value>)> body) {
  SmallVector<Value> sizes;
  Value count = b.i64(1);
  for (unsigned d = 0; d < rank; ++d) {
    sizes.push_back(b.size(view, d));
    count = b.mul(count, sizes.back());
  }
  Value index = b.add(b.mul(b.block(), kThreads), b.thread());
  b.ifThen(b.less(index, count), [&] { body(b.delinearize(index, sizes)); });
}

} // namespace

/// The address of the element at `indices` of a strided tensor.
static Value plainAddress(GpuBuilder &b, unsigned view, ArrayRef<Value> indices, Type element) {
  Value offset = b.i64(0);
  for (auto [d, index] : llvm::enumerate(indices))
    offset = b.add(offset, b.mul(index, b.stride(view, d)));
  return b.at(b.data(view), offset, element);
}

Value addressIn(GpuBuilder &b, Layout layout, unsigned view, ArrayRef<Value> indices, Type element, int64_t width) {
  if (layout == Layout::plain)
    return plainAddress(b, view, indices, element);
  Value position = indices[2], column = indices[3];
  Value offset = b.add(b.mul(indices[0], b.stride(view, 0)), b.mul(indices[1], b.stride(view, 1)));
  // A word has two elements of 16 bits: of one key, or of the values of two positions.
  int64_t group = panelGroup(element);
  auto inWord = [&](Value index) { return group == 1 ? b.i64(0) : b.rem(index, b.i64(group)); };
  if (layout == Layout::keys) {
    Value lane = b.rem(position, b.i64(kPanel)), half = inWord(column);
    offset = b.add(offset, b.add(b.mul(b.sub(position, lane), width), b.mul(b.sub(column, half), kPanel)));
    offset = b.add(offset, b.add(b.mul(lane, group), half));
  } else {
    Value half = inWord(position);
    offset = b.add(offset, b.mul(b.sub(position, half), b.stride(view, 2)));
    offset = b.add(offset, b.add(b.mul(column, group), half));
  }
  return b.at(b.data(view), offset, element);
}

namespace {

/// The indices in the target of an element with these indices in the source.
using Target = function_ref<SmallVector<Value>(GpuBuilder &, ArrayRef<Value>)>;

/// Copies the tensor of operand 0 to the result's view.
LogicalResult emitCopy(Operation *op, Value source, Layout layout, const KernelRequest &request, Kernel &kernel, Target moved) {
  auto type = cast<RankedTensorType>(source.getType());
  unsigned rank = type.getRank(), from = request.viewOf(source), to = request.resultView();
  if (layout != Layout::plain && (layout == Layout::panels || rank != 4 || type.isDynamicDim(3)))
    return op->emitError("layout ") << stringifyLayout(layout) << " is not for a tensor " << describeShape(type);
  Type element = type.getElementType();
  GpuBuilder b = request.start(request.name, kThreads, op->getLoc());
  forElement(b, from, rank, [&](ArrayRef<Value> indices) {
    SmallVector<Value> origin(indices);
    if (auto slots = request.slotsOf(source))
      origin[0] = loadIndex(b, *slots, indices[0]);
    Value value = b.load(element, plainAddress(b, from, origin, element));
    b.store(value, addressIn(b, layout, to, moved(b, indices), element, rank == 4 ? type.getDimSize(3) : 0));
  });
  b.finish();
  addLaunch(kernel, request.name, from, rank);
  return success();
}

StateOp stateOf(Operation *op, StringRef name, const KernelRequest &request) {
  auto state = ModuleOp(request.root).lookupSymbol<StateOp>(name);
  if (!state)
    op->emitError("names no state: ") << name;
  return state;
}

} // namespace

LogicalResult emitPack(PackOp op, const KernelRequest &request, Kernel &kernel) {
  return emitCopy(op, op.getX(), op.getLayout(), request, kernel, [](GpuBuilder &, ArrayRef<Value> indices) { return SmallVector<Value>(indices); });
}

LogicalResult emitAppend(AppendOp op, const KernelRequest &request, Kernel &kernel) {
  StateOp state = stateOf(op, op.getName(), request);
  if (!state)
    return failure();
  int64_t axis = op.getAxis();
  if (state.getLayout() != Layout::plain && axis != 2)
    return op.emitError("packed states grow along dimension 2, not ") << axis;
  return emitCopy(op, op.getX(), state.getLayout(), request, kernel, [&](GpuBuilder &b, ArrayRef<Value> indices) {
    SmallVector<Value> moved(indices);
    moved[axis] = b.add(moved[axis], loadIndex(b, request.viewOf(op.getPast()), indices[0]));
    return moved;
  });
}

LogicalResult emitSpread(SpreadOp op, const KernelRequest &request, Kernel &kernel) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  unsigned from = request.viewOf(op.getX()), to = request.resultView(), rank = type.getRank(), axis = op.getAxis();
  Type element = type.getElementType();
  GpuBuilder b = request.start(request.name, kThreads, op.getLoc());
  forElement(b, to, rank, [&](ArrayRef<Value> indices) {
    auto [first, length] = loadSpan(b, request.viewOf(op.getSpans()), indices[0]);
    SmallVector<Value> origin(indices);
    origin[0] = b.i64(0), origin[axis] = b.add(first, indices[axis]);
    Value target = addressIn(b, op.getLayout(), to, indices, element, type.getDimSize(rank - 1));
    b.ifElse(
        b.less(indices[axis], length), [&] { b.store(b.load(element, plainAddress(b, from, origin, element)), target); },
        [&] { b.store(b.create<arith::ConstantOp>(b.getZeroAttr(element)), target); });
  });
  b.finish();
  addLaunch(kernel, request.name, to, rank);
  return success();
}

/// Stores sentences that follow each other in [1, H, P, d]. A block takes some positions of a head, and first finds their sentences.
static LogicalResult emitSpansStore(StoreOp op, Layout layout, const KernelRequest &request, Kernel &kernel) {
  constexpr int64_t kPositions = 16;
  auto type = cast<RankedTensorType>(op.getX().getType());
  unsigned from = request.viewOf(op.getX()), spans = request.viewOf(op.getSpans()), to = request.resultView();
  int64_t width = type.getDimSize(3);
  Type element = type.getElementType();
  GpuBuilder b = request.start(request.name, kThreads, op.getLoc());
  Type i32 = b.getI32Type();
  SmallVector<Value> task = b.delinearize(b.block(), {b.size(from, 1), b.divide(b.add(b.size(from, 2), kPositions - 1), b.i64(kPositions))});
  Value head = task[0], begin = b.mul(task[1], kPositions), behind = b.add(begin, kPositions);
  Value slots = b.shared(i32, kPositions), targetPositions = b.shared(i32, kPositions);
  Value none = b.i32(-1);
  b.ifThen(b.less(b.thread(), b.i64(kPositions)), [&] { b.store(none, b.at(slots, b.thread(), i32)); });
  b.barrier();
  b.loop(b.thread(), b.size(spans, 0), kThreads, [&](Value sentence) {
    auto [first, length] = loadSpan(b, spans, sentence);
    Value slot = b.narrow(loadIndex(b, request.viewOf(op.getSlots()), sentence));
    b.loop(b.max(first, begin), b.min(b.add(first, length), behind), 1, [&](Value position) {
      b.store(slot, b.at(slots, b.sub(position, begin), i32));
      b.store(b.narrow(b.sub(position, first)), b.at(targetPositions, b.sub(position, begin), i32));
    });
  });
  b.barrier();
  b.loop(b.thread(), b.i64(kPositions * width), kThreads, [&](Value index) {
    Value position = b.div(index, b.i64(width)), column = b.rem(index, b.i64(width));
    Value slot = b.toI64(b.load(i32, b.at(slots, position, i32)));
    b.ifThen(b.less(b.i64(-1), slot), [&] {
      Value targetPosition = b.toI64(b.load(i32, b.at(targetPositions, position, i32)));
      Value value = b.load(element, plainAddress(b, from, {b.i64(0), head, b.add(begin, position), column}, element));
      b.store(value, addressIn(b, layout, to, {slot, head, targetPosition, column}, element, width));
    });
  });
  b.finish();
  kernel.launches.push_back({request.name.str(), kThreads, {{from, 1, 1}, {from, 2, kPositions}}, 1, 1, std::nullopt});
  return success();
}

/// Stores [B, S], and behind each row's last position the padding up to the state's bound.
static LogicalResult emitPaddedStore(StoreOp op, const KernelRequest &request, Kernel &kernel) {
  Value source = op.getX();
  unsigned from = request.viewOf(source), to = request.resultView();
  Type element = cast<RankedTensorType>(source.getType()).getElementType();
  GpuBuilder b = request.start(request.name, kThreads, op->getLoc());
  SmallVector<Value> sizes{b.size(from, 0), b.size(to, 1)};
  Value index = b.add(b.mul(b.block(), kThreads), b.thread());
  b.ifThen(b.less(index, b.mul(sizes[0], sizes[1])), [&] {
    SmallVector<Value> indices = b.delinearize(index, sizes), target(indices);
    target[0] = loadIndex(b, request.viewOf(op.getSlots()), indices[0]);
    Value value = b.choose(
        b.less(indices[1], b.size(from, 1)), [&] { return SmallVector<Value>{b.load(element, plainAddress(b, from, indices, element))}; },
        [&] { return SmallVector<Value>{b.create<arith::ConstantOp>(cast<TypedAttr>(op.getPaddingAttr()))}; })[0];
    b.store(value, plainAddress(b, to, target, element));
  });
  b.finish();
  kernel.launches.push_back({request.name.str(), kThreads, {{from, 0, 1}, {to, 1, 1}}, kThreads, 1, std::nullopt});
  return success();
}

LogicalResult emitStore(StoreOp op, const KernelRequest &request, Kernel &kernel) {
  StateOp state = stateOf(op, op.getName(), request);
  if (!state)
    return failure();
  if (op.getPaddingAttr())
    return emitPaddedStore(op, request, kernel);
  if (op.getSpans())
    return emitSpansStore(op, state.getLayout(), request, kernel);
  return emitCopy(op, op.getX(), state.getLayout(), request, kernel, [&](GpuBuilder &b, ArrayRef<Value> indices) {
    SmallVector<Value> moved(indices);
    moved[0] = loadIndex(b, request.viewOf(op.getSlots()), indices[0]);
    return moved;
  });
}

LogicalResult emitConcat(ConcatOp op, const KernelRequest &request, Kernel &kernel) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  unsigned result = request.resultView(), axis = op.getAxis();
  Type element = type.getElementType();
  GpuBuilder b = request.start(request.name, kThreads, op.getLoc());
  forElement(b, result, type.getRank(), [&](ArrayRef<Value> indices) {
    Value begin = b.i64(0);
    for (Value input : op.getInputs()) {
      unsigned view = request.viewOf(input);
      Value end = b.add(begin, b.size(view, axis));
      SmallVector<Value> origin(indices);
      origin[axis] = b.sub(origin[axis], begin);
      Value inside = b.both(b.less(b.sub(begin, 1), indices[axis]), b.less(indices[axis], end));
      b.ifThen(inside, [&] {
        if (auto slots = request.slotsOf(input))
          origin[0] = loadIndex(b, *slots, origin[0]);
        Value value = b.load(element, plainAddress(b, view, origin, element));
        b.store(value, plainAddress(b, result, indices, element));
      });
      begin = end;
    }
  });
  b.finish();
  addLaunch(kernel, request.name, result, type.getRank());
  return success();
}

LogicalResult emitPositions(PositionsOp op, const KernelRequest &request, Kernel &kernel) {
  unsigned result = request.resultView(), rank = op.getPast() ? 2 : 1;
  GpuBuilder b = request.start(request.name, kThreads, op.getLoc());
  forElement(b, result, rank, [&](ArrayRef<Value> indices) {
    Value position = b.add(indices.back(), op.getOffset());
    if (op.getPast())
      position = b.add(position, loadIndex(b, request.viewOf(op.getPast()), indices[0]));
    Value narrow = b.create<arith::TruncIOp>(b.getI32Type(), position);
    b.store(narrow, plainAddress(b, result, indices, b.getI32Type()));
  });
  b.finish();
  addLaunch(kernel, request.name, result, rank);
  return success();
}

} // namespace xf::gpu
