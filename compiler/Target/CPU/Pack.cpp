// Kernels that bring a tensor into another physical order: pack, spread, append, store, concat.
#include "compiler/Target/CPU/Chunks.h"
#include "compiler/Target/CPU/HeadCopy.h"
#include "compiler/Target/CPU/StridedCopy.h"

using namespace mlir;
using mlir::xf::Layout;

namespace xf::cpu {

/// Sets what lies behind the last position of each stored row, up to the state's bound.
static void fillBehind(KernelBuilder &b, const TensorAccess &from, const TensorAccess &to, TypedAttr padding) {
  Type element = padding.getType();
  Value filling = b.create<arith::ConstantOp>(padding), positions = b.size(from.view, 1), bound = b.size(to.view, 1);
  auto [begin, end] = b.share(b.size(from.view, 0));
  b.loop(begin, end, 1, [&](Value row) {
    Value start = to.address(b, {row, positions}, element), step = to.elementStride(b, 2);
    b.loop(b.i64(0), b.sub(bound, positions), kLanes, [&](Value i) {
      Value lanes = b.min(b.i64(kLanes), b.sub(b.sub(bound, positions), i));
      b.storeStrided(b.splat(filling), b.at(start, b.mul(i, step), element), to.lastStride, step, lanes);
    });
  });
}

/// Where a kernel's operand lies, and its result.
static TensorAccess accessOf(Value value, const KernelRequest &request) {
  unsigned view = request.viewOf(value);
  return {view, request.access.lastStride[view], request.slotsOf(value)};
}
static TensorAccess accessOfResult(const KernelRequest &request) {
  unsigned view = request.resultView();
  return {view, request.access.lastStride[view]};
}

static LogicalResult copyTo(KernelBuilder &b, Operation *op, RankedTensorType type, Layout layout, const TensorAccess &from, const TensorAccess &to) {
  if (layout == Layout::plain) {
    copyTensor(b, type, from, to);
    return success();
  }
  bool isPossible = type.getRank() == 4 && !type.isDynamicDim(3) && (type.getElementType().isF32() || type.getElementType().isBF16()) &&
                    (layout == Layout::values || (layout == Layout::keys && type.getDimSize(3) % mlir::xf::panelGroup(type.getElementType()) == 0));
  if (!isPossible)
    return op->emitError("layout ") << stringifyLayout(layout) << " is not for a tensor " << mlir::xf::describeShape(type);
  copyHeads(b, type, from, to, layout);
  return success();
}

LogicalResult emitPack(KernelBuilder &b, mlir::xf::PackOp op, const KernelRequest &request) {
  return copyTo(b, op, cast<RankedTensorType>(op.getX().getType()), op.getLayout(), accessOf(op.getX(), request), accessOfResult(request));
}

/// Copies [1, P, width] to rows [B, S, width], with zeros behind the sentences.
static void spreadRows(KernelBuilder &b, RankedTensorType type, const TensorAccess &from, const TensorAccess &to) {
  Type element = type.getElementType();
  Value longest = b.size(to.view, 1), zero = b.create<arith::ConstantOp>(b.getZeroAttr(element)), width = b.i64(type.getDimSize(2));
  auto [begin, end] = b.share(b.mul(b.size(to.view, 0), longest));
  b.loop(begin, end, 1, [&](Value task) {
    Value row = b.div(task, longest), position = b.rem(task, longest);
    auto [first, length] = b.loadSpan(*from.spans, row);
    Elements target = to.elements(b, {row, position, b.i64(0)}, element);
    auto copy = [&] { copyElements(b, element, from.elements(b, {b.i64(0), b.add(first, position), b.i64(0)}, element), target, width); };
    auto clear = [&] {
      forChunks(b, width, [&](Value column, Value lanes) {
        b.storeStrided(b.splat(zero), b.at(target.start, b.mul(column, target.step), element), target.lastStride, target.step, lanes);
      });
    };
    b.ifElse(b.less(position, length), copy, clear);
  });
}

LogicalResult emitSpread(KernelBuilder &b, mlir::xf::SpreadOp op, const KernelRequest &request) {
  TensorAccess from = accessOf(op.getX(), request), to = accessOfResult(request);
  from.spans = request.viewOf(op.getSpans());
  auto type = cast<RankedTensorType>(op.getX().getType());
  if (op.getLayout() != Layout::plain)
    return copyTo(b, op, type, op.getLayout(), from, to);
  spreadRows(b, type, from, to);
  return success();
}

static mlir::xf::StateOp stateOf(Operation *op, StringRef name, const KernelRequest &request) {
  auto state = mlir::ModuleOp(request.root).lookupSymbol<mlir::xf::StateOp>(name);
  if (!state)
    op->emitError("names no state: ") << name;
  return state;
}

LogicalResult emitAppend(KernelBuilder &b, mlir::xf::AppendOp op, const KernelRequest &request) {
  mlir::xf::StateOp state = stateOf(op, op.getName(), request);
  if (!state)
    return failure();
  int64_t axis = op.getAxis();
  if (state.getLayout() != Layout::plain && axis != 2)
    return op.emitError("packed states grow along dimension 2, not ") << axis;
  TensorAccess to = accessOfResult(request);
  to.axis = axis;
  to.past = request.viewOf(op.getPast());
  return copyTo(b, op, cast<RankedTensorType>(op.getX().getType()), state.getLayout(), accessOf(op.getX(), request), to);
}

LogicalResult emitStore(KernelBuilder &b, mlir::xf::StoreOp op, const KernelRequest &request) {
  mlir::xf::StateOp state = stateOf(op, op.getName(), request);
  if (!state)
    return failure();
  TensorAccess from = accessOf(op.getX(), request), to = accessOfResult(request);
  to.rows = request.viewOf(op.getSlots());
  if (op.getSpans())
    from.spans = request.viewOf(op.getSpans());
  if (op.getPadding())
    fillBehind(b, from, to, *op.getPadding());
  return copyTo(b, op, cast<RankedTensorType>(op.getX().getType()), state.getLayout(), from, to);
}

LogicalResult emitConcat(KernelBuilder &b, mlir::xf::ConcatOp op, const KernelRequest &request) {
  int64_t axis = op.getAxis();
  TensorAccess to = accessOfResult(request);
  to.axis = axis;
  to.offset = b.i64(0);
  for (Value input : op.getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    copyTensor(b, type, accessOf(input, request), to);
    to.offset = b.add(to.offset, type.isDynamicDim(axis) ? b.size(request.viewOf(input), axis) : b.i64(type.getDimSize(axis)));
  }
  return success();
}

} // namespace xf::cpu
