// The kernels of xf.scan and xf.scan_step: a thread walks along the axis with one element, its states in registers.
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
  }
  Block *body;
  unsigned axis;
  ArrayRef<double> init;
  SmallVector<unsigned> inputs;
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

} // namespace

LogicalResult emitScan(Operation *op, const KernelRequest &request, Kernel &kernel) {
  Scan scan(op, request);
  unsigned rank = cast<RankedTensorType>(op->getResult(0).getType()).getRank();
  unsigned result = request.resultView(), states = scan.init.size(), firstState = result + op->getNumResults();
  GpuBuilder b = request.start(request.name, kThreads, op->getLoc());
  Type f32 = b.getF32Type();
  SmallVector<Value> sizes;
  Value walks = b.i64(1);
  for (unsigned d = 0; d < rank; ++d) {
    sizes.push_back(d == scan.axis ? b.i64(1) : b.size(result, d));
    walks = b.mul(walks, sizes.back());
  }
  Value number = b.add(b.mul(b.block(), kThreads), b.thread());
  b.ifThen(b.less(number, walks), [&] {
    SmallVector<Value> indices = b.split(number, sizes), carried;
    indices[scan.axis] = b.i64(0);
    for (unsigned i = 0; i < states; ++i) {
      Value fresh = b.f32(scan.init[i]);
      if (scan.past) {
        Value length = loadIndex(b, *scan.past, indices[scan.axis == 0 ? 1 : 0]);
        fresh = b.choose(
            b.equal(length, b.i64(0)), [&] { return SmallVector<Value>{fresh}; },
            [&] { return SmallVector<Value>{b.load(f32, addressOf(b, firstState + i, indices, scan.axis, f32))}; })[0];
      }
      carried.push_back(fresh);
    }
    Value last = b.sub(b.size(result, scan.axis), b.i64(1));
    carried = b.loop(b.i64(0), b.size(result, scan.axis), 1, carried, [&](Value done, ValueRange current) {
      codegen::RegionVectorizer region(b);
      indices[scan.axis] = scan.isReversed ? b.sub(last, done) : done;
      for (unsigned i = 0; i < states; ++i)
        region.bind(scan.body->getArgument(i), current[i]);
      for (auto [i, view] : llvm::enumerate(scan.inputs)) {
        Value argument = scan.body->getArgument(states + i);
        region.bind(argument, b.load(argument.getType(), addressOf(b, view, indices, std::nullopt, argument.getType())));
      }
      SmallVector<Value> yields = region.emitYields(*scan.body);
      for (unsigned i = 0; i < op->getNumResults(); ++i) {
        Type element = cast<RankedTensorType>(op->getResult(i).getType()).getElementType();
        b.store(yields[states + i], addressOf(b, result + i, indices, std::nullopt, element));
      }
      return SmallVector<Value>(yields.begin(), yields.begin() + states);
    });
    if (scan.past)
      for (unsigned i = 0; i < states; ++i)
        b.store(carried[i], addressOf(b, firstState + i, indices, scan.axis, f32));
  });
  b.finish();
  Launch launch{request.name.str(), kThreads, {}, kThreads, 1, std::nullopt};
  for (unsigned d = 0; d < rank; ++d)
    if (d != scan.axis)
      launch.factors.push_back({result, d, 1});
  kernel.launches.push_back(launch);
  return success();
}

} // namespace xf::gpu
