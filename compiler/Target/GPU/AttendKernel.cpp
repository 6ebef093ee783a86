// The kernel of xf.attend, in f32: a warp computes one query of one head. Its scores lie in shared memory.
//
// Scores: a lane takes every 32nd key. Context: a lane takes every 32nd column, and adds over ascending keys. Orders are
// the CPU's (one chain over the width, key j's partial sum being j mod 16, one chain over the keys), so that neither the
// rows beside a query nor keys behind its end change its bits.
#include "compiler/Target/GPU/AttendKernel.h"

#include "compiler/Target/CPU/VectorMath.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {
namespace {

constexpr int64_t kPanel = cpu::kLanes, kMostWarps = 4;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

int64_t mostKeys(AttendOp op, ModuleOp root) {
  auto type = typeOf(op.getK());
  return type.isDynamicDim(2) ? getBound(root, getDimName(type, 2)).value_or(1) : type.getDimSize(2);
}

class AttendEmitter {
public:
  AttendEmitter(GpuBuilder b, AttendOp op, const KernelRequest &request, int64_t warps)
      : b(std::move(b)), op(op), request(request), warps(warps), stripLength(mostKeys(op, request.root)),
        q(request.viewOf(op.getQ())), k(request.viewOf(op.getK())), v(request.viewOf(op.getV())), out(request.resultView()),
        heads(typeOf(op.getQ()).getDimSize(1)), ratio(heads / typeOf(op.getK()).getDimSize(1)),
        width(typeOf(op.getQ()).getDimSize(3)), valueWidth(typeOf(op.getV()).getDimSize(3)) {}

  void emit();

private:
  Value headStart(unsigned view, Value tensor);
  Value lastStride(unsigned view) {
    int64_t stride = request.access.lastStride[view];
    return ShapedType::isDynamic(stride) ? b.stride(view, 3) : b.i64(stride);
  }
  /// The query's row of a tensor [B, H, Q, ...].
  Value rowOf(unsigned view) {
    Value offset = b.add(b.mul(batch, b.stride(view, 0)), b.mul(head, b.stride(view, 1)));
    return b.at(b.data(view), b.add(offset, b.mul(position, b.stride(view, 2))), b.getF32Type());
  }
  Value strip(Value key) { return b.at(row, key, b.getF32Type()); }
  Value product(Value keys, Value key);
  void forKeys(Value end, function_ref<void(Value)> body) { b.loop(b.lane(), end, kWarp, body); }
  void softmax(AttendScore &score);
  void storeProbabilities();
  void storeContext(Value values);

  GpuBuilder b;
  AttendOp op;
  const KernelRequest &request;
  int64_t warps, stripLength;
  unsigned q, k, v, out;
  int64_t heads, ratio, width, valueWidth;
  Value batch, head, position, exists; // of the warp's query
  Value row;                           // its strip of scores
  Value keyCount, end;                 // keys there are, and how many of them have a probability
  Value factor;                        // makes probabilities of what is in the strip
};

/// The panels of keys or values of the query's head.
Value AttendEmitter::headStart(unsigned view, Value tensor) {
  Value sentence = batch;
  if (auto slots = request.slotsOf(tensor))
    sentence = loadIndex(b, *slots, batch);
  Value offset = b.add(b.mul(sentence, b.stride(view, 0)), b.mul(b.div(head, b.i64(ratio)), b.stride(view, 1)));
  return b.at(b.data(view), offset, b.getF32Type());
}

Value AttendEmitter::product(Value keys, Value key) {
  Type f32 = b.getF32Type();
  Value query = rowOf(q), step = lastStride(q);
  Value lane = b.rem(key, b.i64(kPanel));
  Value column = b.at(keys, b.add(b.mul(b.sub(key, lane), width), lane), f32);
  int64_t unroll = width % 4 == 0 ? 4 : 1;
  return b.loop(b.i64(0), b.i64(width), unroll, b.f32(0), [&](Value c, ValueRange carried) -> SmallVector<Value> {
    Value sum = carried[0];
    for (int64_t u = 0; u < unroll; ++u) {
      Value i = b.add(c, u);
      Value x = b.load(f32, b.at(query, b.mul(i, step), f32)), y = b.load(f32, b.at(column, b.mul(i, kPanel), f32));
      sum = cpu::fusedMultiplyAdd(b, x, y, sum);
    }
    return {sum};
  })[0];
}

void AttendEmitter::emit() {
  row = b.shared(b.getF32Type(), warps * stripLength);
  row = b.at(row, b.mul(b.warp(), stripLength), b.getF32Type());
  Value queries = b.size(q, 2), blocks = b.divide(b.add(queries, warps - 1), b.i64(warps));
  SmallVector<Value> task = b.split(b.block(), {b.size(q, 0), b.i64(heads), blocks});
  batch = task[0], head = task[1];
  // Warps without a query compute the last one and store nothing, since barriers are for all.
  Value wanted = b.add(b.mul(task[2], warps), b.warp());
  exists = b.less(wanted, queries);
  position = b.min(wanted, b.sub(queries, 1));
  keyCount = b.size(k, 2);
  AttendScore score(b, op, request, batch, head, position);
  end = score.end(keyCount);

  Value keys = headStart(k, op.getK());
  forKeys(end, [&](Value key) { b.store(score.score(product(keys, key), key), strip(key)); });
  softmax(score);
  storeProbabilities();
  storeContext(headStart(v, op.getV()));
  b.finish();
}

/// Makes of the scores their powers, and the factor that makes probabilities of these.
void AttendEmitter::softmax(AttendScore &score) {
  Type f32 = b.getF32Type();
  Value lowest = cpu::identity(b, ReduceKind::max, f32);
  // A lane's own scores need no barrier.
  Value most = b.loop(b.lane(), end, kWarp, lowest, [&](Value key, ValueRange carried) -> SmallVector<Value> {
    return {cpu::combine(b, ReduceKind::max, b.load(f32, strip(key)), carried[0])};
  })[0];
  most = b.reduceOver(ReduceKind::max, most, kWarp);
  Value any = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, most, lowest);
  Value shift = b.create<arith::SelectOp>(any, most, b.f32(0));
  forKeys(end, [&](Value key) {
    Value difference = b.create<arith::SubFOp>(b.load(f32, strip(key)), shift);
    b.store(cpu::expOfNegative(b, difference), strip(key));
  });
  if (score.mayLackKeys()) {
    // The same for all keys, with the factor 1.
    Value none = b.create<arith::XOrIOp>(any, b.create<arith::ConstantOp>(b.getBoolAttr(true)));
    Value probability = score.rowWithoutKeys(keyCount);
    b.ifThen(none, [&] { forKeys(keyCount, [&](Value key) { b.store(probability, strip(key)); }); });
    end = b.create<arith::SelectOp>(any, end, keyCount);
  }
  b.barrier();
  Value first = b.rem(b.thread(), b.i64(kPanel));
  Value sum = b.loop(first, end, kPanel, b.f32(0), [&](Value key, ValueRange carried) -> SmallVector<Value> {
    return {cpu::combine(b, ReduceKind::sum, b.load(f32, strip(key)), carried[0])};
  })[0];
  sum = b.reduceOver(ReduceKind::sum, sum, kPanel);
  factor = b.create<arith::DivFOp>(b.f32(1), b.create<arith::SelectOp>(any, sum, b.f32(1)));
}

void AttendEmitter::storeProbabilities() {
  if (!op.getProbabilities())
    return;
  Type f32 = b.getF32Type();
  Value target = rowOf(out + 1), step = lastStride(out + 1);
  b.ifThen(exists, [&] {
    forKeys(keyCount, [&](Value key) {
      Value probability = b.choose(
          b.less(key, end), [&] { return SmallVector<Value>{b.create<arith::MulFOp>(b.load(f32, strip(key)), factor)}; },
          [&] { return SmallVector<Value>{b.f32(0)}; })[0];
      b.store(probability, b.at(target, b.mul(key, step), f32));
    });
  });
}

void AttendEmitter::storeContext(Value values) {
  Type f32 = b.getF32Type();
  int64_t groups = llvm::divideCeil(valueWidth, kWarp);
  SmallVector<Value> columns, addresses;
  for (int64_t i = 0; i < groups; ++i) {
    Value column = b.add(b.lane(), i * kWarp);
    columns.push_back(column);
    Value read = b.min(column, b.i64(valueWidth - 1)); // lanes behind the last column compute it too
    Value offset = b.add(b.mul(b.div(read, b.i64(kPanel)), b.stride(v, 2)), b.rem(read, b.i64(kPanel)));
    addresses.push_back(b.at(values, offset, f32));
  }
  SmallVector<Value> sums(groups, b.f32(0));
  sums = b.loop(b.i64(0), end, 1, sums, [&](Value key, ValueRange carried) {
    Value probability = b.create<arith::MulFOp>(b.load(f32, strip(key)), factor);
    SmallVector<Value> next;
    for (auto [address, sum] : llvm::zip(addresses, carried)) {
      Value value = b.load(f32, b.at(address, b.mul(key, kPanel), f32));
      next.push_back(cpu::fusedMultiplyAdd(b, probability, value, sum));
    }
    return next;
  });
  Value target = rowOf(out), step = lastStride(out);
  for (auto [column, sum] : llvm::zip(columns, sums)) {
    Value inside = b.create<arith::AndIOp>(exists, b.less(column, b.i64(valueWidth)));
    b.ifThen(inside, [&, column = column, sum = sum] { b.store(sum, b.at(target, b.mul(column, step), f32)); });
  }
}

} // namespace

LogicalResult emitAttend(AttendOp op, const KernelRequest &request, Kernel &kernel) {
  // As many queries a block as have their scores in shared memory.
  int64_t stripBytes = mostKeys(op, request.root) * 4;
  int64_t fitting = kSharedBytes / stripBytes;
  if (fitting < 1)
    return op.emitError("the GPU back end attends to at most ")
           << kSharedBytes / 4 << " keys; the limits allow " << stripBytes / 4;
  unsigned q = request.viewOf(op.getQ());
  int64_t heads = typeOf(op.getQ()).getDimSize(1);
  auto add = [&](StringRef suffix, int64_t warps, std::optional<Launch::Limit> limit) {
    std::string name = (request.name + suffix).str();
    AttendEmitter(request.start(name, warps * kWarp, op.getLoc()), op, request, warps).emit();
    kernel.launches.push_back({name, warps * kWarp, {{q, 0, 1}, {q, 2, warps}}, 1, heads, limit});
  };
  // A decoder's step has one query a sentence.
  add("_one", 1, Launch::Limit{q, 2, 1});
  if (fitting > 1)
    add("_many", std::min(fitting, kMostWarps), std::nullopt);
  else
    kernel.launches.back().limit = std::nullopt;
  return success();
}

} // namespace xf::gpu
