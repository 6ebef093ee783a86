// The kernels of xf.scan and xf.scan_step: 16 neighbours of the last dimension walk along the axis together, their
// states in registers. Where the axis is the last dimension each row is walked over alone. Threads share out the walks.
#include "compiler/Target/CPU/KernelEmitters.h"
#include "compiler/Target/RegionVectorizer.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::cpu {
namespace {

class ScanEmitter {
public:
  ScanEmitter(KernelBuilder &b, Operation *op, Region &body, int64_t axis, ArrayRef<double> init, bool isReversed, const KernelRequest &request)
      : b(b), request(request), body(body.front()), axis(axis), init(init), isReversed(isReversed), inputs(op->getNumOperands()),
        results(op->getNumResults()), type(cast<RankedTensorType>(op->getResult(0).getType())) {
    for (unsigned i = 0; i < results; ++i)
      resultElements.push_back(cast<RankedTensorType>(op->getResult(i).getType()).getElementType());
    if (auto step = dyn_cast<ScanStepOp>(op)) {
      past = request.viewOf(step.getPast());
      inputs = step.getInputs().size();
    }
    for (unsigned i = 0; i < inputs; ++i)
      inputViews.push_back(request.viewOf(op->getOperand(i)));
  }

  void emit();

private:
  unsigned rank() { return type.getRank(); }
  bool hasLanes() { return axis != rank() - 1; }
  Value firstState(unsigned i, ArrayRef<Value> indices, Value count);
  void emitWalk(ArrayRef<Value> indices, Value count);
  /// The view of a state that is kept: behind those of the results.
  unsigned stateView(unsigned i) { return request.resultView() + results + i; }
  Value start(unsigned view, ArrayRef<Value> indices, bool isState, Type element);
  Value load(unsigned view, unsigned dims, Type element, Value address, Value count);
  void store(unsigned view, unsigned dims, Value value, Value address, Value count);
  Value full(Value value) { return hasLanes() && !RegionVectorizer::isVector(value) ? b.splat(value) : value; }

  KernelBuilder &b;
  const KernelRequest &request;
  mlir::Block &body;
  unsigned axis;
  ArrayRef<double> init;
  bool isReversed;
  unsigned inputs, results;
  RankedTensorType type;
  SmallVector<Type> resultElements;
  SmallVector<unsigned> inputViews;
  std::optional<unsigned> past; // the view that says how long each row's past is, if states are kept
};

void ScanEmitter::emit() {
  unsigned view = request.resultView(), last = rank() - 1;
  // The last dimension counts in chunks.
  SmallVector<Value> sizes;
  Value walks = b.i64(1);
  for (unsigned d = 0; d < rank(); ++d) {
    sizes.push_back(d == axis ? b.i64(1) : d == last ? b.ceilDiv(b.size(view, d), kLanes) : b.size(view, d));
    walks = b.mul(walks, sizes.back());
  }
  auto [first, end] = b.share(walks);
  b.loop(first, end, 1, [&](Value walk) {
    SmallVector<Value> indices(rank());
    Value rest = walk;
    for (unsigned d = rank(); d-- > 0;) {
      indices[d] = b.rem(rest, sizes[d]);
      rest = b.div(rest, sizes[d]);
    }
    if (!hasLanes())
      return emitWalk(indices, Value());
    indices[last] = b.mul(indices[last], kLanes);
    Value left = b.sub(b.size(view, last), indices[last]);
    b.ifElse(b.less(left, b.i64(kLanes)), [&] { emitWalk(indices, left); }, [&] { emitWalk(indices, Value()); });
  });
}

/// The address of the elements at `indices`; states lack the axis.
Value ScanEmitter::start(unsigned view, ArrayRef<Value> indices, bool isState, Type element) {
  Value offset = b.i64(0);
  for (unsigned d = 0, dim = 0; d < rank(); ++d) {
    if (d == axis && isState)
      continue;
    if (d != axis)
      offset = b.add(offset, b.mul(indices[d], b.stride(view, dim)));
    ++dim;
  }
  return b.at(b.data(view), offset, element);
}

Value ScanEmitter::load(unsigned view, unsigned dims, Type element, Value address, Value count) {
  if (!hasLanes())
    return b.load(element, address);
  return b.loadStrided(element, address, request.access.lastStride[view], b.stride(view, dims - 1), count);
}

void ScanEmitter::store(unsigned view, unsigned dims, Value value, Value address, Value count) {
  if (!hasLanes())
    return b.store(value, address);
  b.storeStrided(full(value), address, request.access.lastStride[view], b.stride(view, dims - 1), count);
}

/// State `i` before the first position: its start, or what a row's past has left of it.
Value ScanEmitter::firstState(unsigned i, ArrayRef<Value> indices, Value count) {
  Type f32 = b.getF32Type();
  Value fresh = full(b.f32(init[i]));
  if (!past)
    return fresh;
  Value length = b.loadIndex(*past, indices[axis == 0 ? 1 : 0]);
  auto kept = [&] { return load(stateView(i), rank() - 1, f32, start(stateView(i), indices, true, f32), count); };
  return b.chooseOne(b.equal(length, b.i64(0)), [&] { return fresh; }, kept);
}

/// All positions of up to 16 elements, of which `count` are there (null: all).
void ScanEmitter::emitWalk(ArrayRef<Value> indices, Value count) {
  unsigned states = init.size(), resultView = request.resultView();
  Type f32 = b.getF32Type();
  SmallVector<Value> carried, from, to;
  for (unsigned i = 0; i < states; ++i)
    carried.push_back(firstState(i, indices, count));
  for (unsigned i = 0; i < inputs; ++i)
    from.push_back(start(inputViews[i], indices, false, body.getArgument(states + i).getType()));
  for (unsigned i = 0; i < results; ++i)
    to.push_back(start(resultView + i, indices, false, resultElements[i]));

  Value last = b.sub(b.size(resultView, axis), b.i64(1));
  carried = b.loop(b.i64(0), b.size(resultView, axis), 1, carried, [&](Value done, ValueRange current) {
    Value position = isReversed ? b.sub(last, done) : done;
    RegionVectorizer region(b);
    for (unsigned i = 0; i < states; ++i)
      region.bind(body.getArgument(i), current[i]);
    for (unsigned i = 0; i < inputs; ++i) {
      Type element = body.getArgument(states + i).getType();
      Value address = b.at(from[i], b.mul(position, b.stride(inputViews[i], axis)), element);
      region.bind(body.getArgument(states + i), load(inputViews[i], rank(), element, address, count));
    }
    SmallVector<Value> yields = region.emitYields(body), next;
    for (unsigned i = 0; i < results; ++i)
      store(resultView + i, rank(), yields[states + i], b.at(to[i], b.mul(position, b.stride(resultView + i, axis)), resultElements[i]), count);
    for (unsigned i = 0; i < states; ++i)
      next.push_back(full(yields[i]));
    return next;
  });
  if (past)
    for (unsigned i = 0; i < states; ++i)
      store(stateView(i), rank() - 1, carried[i], start(stateView(i), indices, true, f32), count);
}

} // namespace

LogicalResult emitScan(KernelBuilder &b, ScanOp op, const KernelRequest &request) {
  ScanEmitter(b, op, op.getBody(), op.getAxis(), op.getInit(), op.getReverse(), request).emit();
  return success();
}

LogicalResult emitScanStep(KernelBuilder &b, ScanStepOp op, const KernelRequest &request) {
  ScanEmitter(b, op, op.getBody(), op.getAxis(), op.getInit(), /*isReversed=*/false, request).emit();
  return success();
}

} // namespace xf::cpu
