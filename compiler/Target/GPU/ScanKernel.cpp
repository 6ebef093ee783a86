// The kernels of xf.scan and xf.scan_step: a thread walks along the axis with one element, its states in registers. Where states depend on
// the previous position alone (a shift), each position has a thread of its own, which also computes the previous one.
#include "compiler/Target/AttendMask.h"
#include "compiler/Target/GPU/KernelEmitters.h"
#include "compiler/Target/RegionVectorizer.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {
namespace {

constexpr int64_t kThreads = 128;

/// What the two ops share.
struct Scan {
  Scan(Operation *op, const KernelRequest &request) {
    if (auto scan = dyn_cast<ScanOp>(op)) {
      body = &scan.getBody().front(), axis = scan.getAxis(), init = scan.getInit(), isReversed = scan.getReverse();
      for (Value input : scan.getInputs())
        inputs.push_back(request.viewOf(input));
    } else {
      auto step = cast<ScanStepOp>(op);
      body = &step.getBody().front(), axis = step.getAxis(), init = step.getInit();
      for (Value input : step.getInputs())
        inputs.push_back(request.viewOf(input));
      past = request.viewOf(step.getPast());
    }
    for (Type type : op->getResultTypes())
      results.push_back(cast<RankedTensorType>(type));
  }

  ArrayRef<BlockArgument> states() const { return body->getArguments().take_front(init.size()); }
  /// Whether all positions can be computed at once. States that are kept would be written while others still read them.
  bool isShift() const {
    return !past && llvm::none_of(body->getTerminator()->getOperands().take_front(init.size()),
                                  [&](Value next) { return llvm::any_of(states(), [&](Value state) { return codegen::dependsOn(next, state); }); });
  }

  Block *body;
  unsigned axis;
  ArrayRef<double> init;
  SmallVector<unsigned> inputs;
  SmallVector<RankedTensorType> results;
  std::optional<unsigned> past;
  bool isReversed = false;
};

/// The address of the element at `indices`; a state has no axis.
Value addressOf(GpuBuilder &b, unsigned view, ArrayRef<Value> indices, std::optional<unsigned> skipped, Type element) {
  Value offset = b.i64(0);
  unsigned dim = 0;
  for (auto [d, index] : llvm::enumerate(indices))
    if (!skipped || d != *skipped)
      offset = b.add(offset, b.mul(index, b.stride(view, dim++)));
  return b.at(b.data(view), offset, element);
}

/// What the region yields at `indices`, from these states.
SmallVector<Value> yieldsAt(GpuBuilder &b, const Scan &scan, ArrayRef<Value> indices, ValueRange states) {
  codegen::RegionVectorizer region(b);
  for (auto [argument, state] : llvm::zip(scan.states(), states))
    region.bind(argument, state);
  for (auto [argument, view] : llvm::zip(scan.body->getArguments().drop_front(states.size()), scan.inputs))
    region.bind(argument, b.load(argument.getType(), addressOf(b, view, indices, std::nullopt, argument.getType())));
  return region.emitYields(*scan.body);
}

/// Writes the results at `indices`, and gives the next states.
SmallVector<Value> emitPosition(GpuBuilder &b, const Scan &scan, unsigned resultView, ArrayRef<Value> indices, ValueRange states) {
  SmallVector<Value> yields = yieldsAt(b, scan, indices, states);
  for (auto [i, type] : llvm::enumerate(scan.results))
    b.store(yields[states.size() + i], addressOf(b, resultView + i, indices, std::nullopt, type.getElementType()));
  yields.truncate(states.size());
  return yields;
}

/// The state before the first position: its initial value, or what a row's past has left.
Value firstState(GpuBuilder &b, const Scan &scan, unsigned i, unsigned stateView, ArrayRef<Value> indices) {
  Value fresh = b.f32(scan.init[i]);
  if (!scan.past)
    return fresh;
  Value length = loadIndex(b, *scan.past, indices[scan.axis == 0 ? 1 : 0]);
  return b.choose(
      b.equal(length, b.i64(0)), [&] { return SmallVector<Value>{fresh}; },
      [&] { return SmallVector<Value>{b.load(b.getF32Type(), addressOf(b, stateView, indices, scan.axis, b.getF32Type()))}; })[0];
}

/// All positions of one element.
void emitWalk(GpuBuilder &b, const Scan &scan, unsigned resultView, SmallVector<Value> indices, ValueRange first) {
  Value size = b.size(resultView, scan.axis), last = b.sub(size, b.i64(1));
  SmallVector<Value> carried = b.loop(b.i64(0), size, 1, first, [&](Value done, ValueRange current) {
    indices[scan.axis] = scan.isReversed ? b.sub(last, done) : done;
    return emitPosition(b, scan, resultView, indices, current);
  });
  if (!scan.past)
    return;
  unsigned stateView = resultView + scan.results.size();
  for (auto [i, state] : llvm::enumerate(carried))
    b.store(state, addressOf(b, stateView + i, indices, scan.axis, b.getF32Type()));
}

/// One position of a shift.
void emitShift(GpuBuilder &b, const Scan &scan, unsigned resultView, ArrayRef<Value> indices, SmallVector<Value> first) {
  Value position = indices[scan.axis];
  Value start = scan.isReversed ? b.sub(b.size(resultView, scan.axis), b.i64(1)) : b.i64(0);
  SmallVector<Value> states = b.choose(
      b.equal(position, start), [&] { return first; },
      [&] {
        SmallVector<Value> before(indices);
        before[scan.axis] = scan.isReversed ? b.add(position, b.i64(1)) : b.sub(position, b.i64(1));
        SmallVector<Value> yields = yieldsAt(b, scan, before, first);
        yields.truncate(first.size());
        return yields;
      });
  emitPosition(b, scan, resultView, indices, states);
}

} // namespace

LogicalResult emitScan(Operation *op, const KernelRequest &request, Kernel &kernel) {
  Scan scan(op, request);
  unsigned rank = scan.results[0].getRank(), result = request.resultView();
  bool isShift = scan.isShift();
  GpuBuilder b = request.start(request.name, kThreads, op->getLoc());
  Launch launch{request.name.str(), kThreads, {}, kThreads, 1, std::nullopt};
  SmallVector<Value> sizes;
  Value elements = b.i64(1);
  for (unsigned d = 0; d < rank; ++d) {
    bool isWalked = d == scan.axis && !isShift;
    sizes.push_back(isWalked ? b.i64(1) : b.size(result, d));
    elements = b.mul(elements, sizes.back());
    if (!isWalked)
      launch.factors.push_back({result, d, 1});
  }
  Value index = b.add(b.mul(b.block(), kThreads), b.thread());
  b.ifThen(b.less(index, elements), [&] {
    SmallVector<Value> indices = b.delinearize(index, sizes), first;
    for (unsigned i = 0; i < scan.init.size(); ++i)
      first.push_back(firstState(b, scan, i, result + scan.results.size() + i, indices));
    if (isShift)
      emitShift(b, scan, result, indices, first);
    else
      emitWalk(b, scan, result, indices, first);
  });
  b.finish();
  kernel.launches.push_back(launch);
  return success();
}

} // namespace xf::gpu
