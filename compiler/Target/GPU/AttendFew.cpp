// Attention for few queries, as in a decoder's step: reading keys and values is all that it costs.
//
// A block computes one query of one head. Its warps take the tiles of keys in turn, each by itself, and then join what they
// found, every thread for columns of its own; so any number of keys needs the same shared memory. How many warps there are
// follows from how many keys there may be, and changes no bit.
//
// Scores: a lane takes two keys of the tile. Context: a lane takes every 32nd column, and adds over ascending keys.
#include "compiler/Target/CPU/VectorMath.h"
#include "compiler/Target/GPU/AttendKernel.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {
namespace {

constexpr int64_t kPanel = cpu::kLanes, kOwnKeys = kTileKeys / kWarp, kKeysAtOnce = 8;

class AttendFew : public AttendKernel {
public:
  AttendFew(GpuBuilder builder, AttendOp op, const KernelRequest &request, int64_t warps)
      : AttendKernel(std::move(builder), op, request), warps(warps), threads(warps * kWarp) {}

  void emit();

private:
  void stageQuery();
  SmallVector<Value> products(ArrayRef<Value> columns);
  Softmax emitTile(AttendScore &score, Value first);
  void emitContext(Value first);
  void storeProbabilities(const Softmax &all);
  void storeContext(ValueRange contexts, const Softmax &all);
  void forOwnKeys(Value first, function_ref<void(Value)> body) {
    for (int64_t i = 0; i < kOwnKeys; ++i)
      body(b.add(b.add(first, b.lane()), i * kWarp));
  }

  int64_t warps, threads;
  Value position, end; // of the query, and of its keys
  Value keys, values;
  Value query, powers, contexts, mosts, sums; // shared: the query; of each warp the tile's powers and what came of it
};

void AttendFew::stageQuery() {
  query = b.shared(f32, llvm::alignTo(width, 4));
  b.loop(b.thread(), b.i64(width), threads, [&](Value column) {
    b.store(b.load(f32, element(q, position, column)), b.at(query, column, f32));
  });
  b.barrier();
}

/// Of the query with several keys, each a chain over the width.
SmallVector<Value> AttendFew::products(ArrayRef<Value> columns) {
  int64_t unroll = width % 8 == 0 ? 8 : width % 4 == 0 ? 4 : 1;
  return b.loop(b.i64(0), b.i64(width), unroll, SmallVector<Value>(columns.size(), b.f32(0)), [&](Value c, ValueRange carried) {
    SmallVector<Value> sums = llvm::to_vector(carried), x;
    for (int64_t u = 0; u < unroll; u += std::min<int64_t>(unroll, 4))
      llvm::append_range(x, b.loadMany(b.at(query, b.add(c, u), f32), std::min<int64_t>(unroll, 4)));
    for (int64_t u = 0; u < unroll; ++u)
      for (auto [column, sum] : llvm::zip(columns, sums))
        sum = cpu::fusedMultiplyAdd(b, x[u], b.load(f32, b.at(column, b.mul(b.add(c, u), kPanel), f32)), sum);
    return sums;
  });
}

/// The warp's tile: leaves its powers in shared memory.
AttendKernel::Softmax AttendFew::emitTile(AttendScore &score, Value first) {
  SmallVector<Value> existing, columns, scores, tilePowers;
  forOwnKeys(first, [&](Value key) {
    existing.push_back(b.min(key, b.sub(end, 1)));
    Value lane = b.rem(existing.back(), b.i64(kPanel));
    columns.push_back(b.at(keys, b.add(b.mul(b.sub(existing.back(), lane), width), lane), f32));
  });
  SmallVector<Value> found = products(columns);
  Value most = lowest;
  forOwnKeys(first, [&](Value key) {
    size_t i = scores.size();
    Value inside = b.less(key, end);
    scores.push_back(b.create<arith::SelectOp>(inside, score.score(found[i], existing[i]), lowest));
    most = cpu::combine(b, ReduceKind::max, scores.back(), most);
    if (op.getProbabilities())
      b.ifThen(inside, [&] { b.store(scores.back(), element(out + 1, position, key)); });
  });
  most = b.reduceOver(ReduceKind::max, most, kWarp);
  for (auto [i, own] : llvm::enumerate(scores)) {
    tilePowers.push_back(power(own, most));
    Value place = b.add(b.mul(b.warp(), kTileKeys), b.add(b.lane(), i * kWarp));
    b.store(tilePowers.back(), b.at(powers, place, f32));
  }
  return {most, sumOfTile(tilePowers, kWarp)};
}

/// The context of the warp's tile.
void AttendFew::emitContext(Value first) {
  int64_t groups = llvm::divideCeil(valueWidth, kWarp);
  SmallVector<Value> columns;
  for (int64_t i = 0; i < groups; ++i)
    columns.push_back(b.add(b.lane(), i * kWarp));
  Value own = b.at(powers, b.mul(b.warp(), kTileKeys), f32), count = b.min(b.sub(end, first), b.i64(kTileKeys));
  auto found = b.loop(b.i64(0), count, kKeysAtOnce, SmallVector<Value>(groups, b.f32(0)), [&](Value start, ValueRange carried) {
    SmallVector<Value> next = llvm::to_vector(carried);
    SmallVector<Value> weights;
    for (int64_t u = 0; u < kKeysAtOnce; u += 4)
      llvm::append_range(weights, b.loadMany(b.at(own, b.add(start, u), f32), 4));
    for (int64_t u = 0; u < kKeysAtOnce; ++u) {
      // Behind the last key there are powers, 0, but perhaps no values.
      Value key = b.min(b.add(b.add(first, start), u), b.sub(end, 1));
      for (auto [column, sum] : llvm::zip(columns, next)) {
        Value value = b.load(f32, elementOf(values, key, b.min(column, b.i64(valueWidth - 1))));
        sum = cpu::fusedMultiplyAdd(b, weights[u], value, sum);
      }
    }
    return next;
  });
  for (auto [column, sum] : llvm::zip(columns, found))
    b.ifThen(b.less(column, b.i64(valueWidth)), [&, column = column, sum = sum] {
      b.store(sum, b.at(contexts, b.add(b.mul(b.warp(), valueWidth), column), f32));
    });
}

void AttendFew::storeProbabilities(const Softmax &all) {
  Value factor = factorOf(all), any = isAny(all.most);
  Value warpFirst = b.mul(b.warp(), kTileKeys);
  // In the order of the scores: a lane reads what it has written.
  b.loop(b.i64(0), keyCount, warps * kTileKeys, [&](Value start) {
    forOwnKeys(b.add(start, warpFirst), [&](Value key) {
      b.ifThen(b.less(key, keyCount), [&] {
        Value place = element(out + 1, position, key);
        Value found = b.choose(
            b.less(key, end), [&] { return SmallVector<Value>{probability(b.load(f32, place), all, factor)}; },
            [&] { return SmallVector<Value>{b.f32(0)}; })[0];
        b.store(mayLackKeys() ? b.create<arith::SelectOp>(any, found, probabilityWithoutKeys()).getResult() : found, place);
      });
    });
  });
}

void AttendFew::storeContext(ValueRange found, const Softmax &all) {
  Value factor = factorOf(all);
  for (auto [i, sum] : llvm::enumerate(found)) {
    Value column = b.add(b.thread(), static_cast<int64_t>(i) * threads);
    b.ifThen(b.less(column, b.i64(valueWidth)), [&, sum = sum] {
      auto regular = [&] { return SmallVector<Value>{b.create<arith::MulFOp>(sum, factor)}; };
      auto lacking = [&] { return SmallVector<Value>{contextWithoutKeys(values, column)}; };
      Value context = mayLackKeys() ? b.choose(isAny(all.most), regular, lacking)[0] : regular()[0];
      b.store(context, element(out, position, column));
    });
  }
}

void AttendFew::emit() {
  SmallVector<Value> task = b.split(b.block(), {b.size(q, 0), b.i64(heads), b.size(q, 2)});
  batch = task[0], head = task[1], position = task[2];
  AttendScore score(b, op, request, batch, head, position);
  end = score.end(keyCount);
  keys = headStart(k, op.getK()), values = headStart(v, op.getV());
  powers = b.shared(f32, warps * kTileKeys), contexts = b.shared(f32, warps * valueWidth);
  mosts = b.shared(f32, warps), sums = b.shared(f32, warps);
  stageQuery();

  int64_t groups = llvm::divideCeil(valueWidth, threads);
  SmallVector<Value> carried(groups, b.f32(0));
  carried.append({nothing().most, nothing().sum});
  carried = b.loop(b.i64(0), end, warps * kTileKeys, carried, [&](Value start, ValueRange before) {
    Value first = b.add(start, b.mul(b.warp(), kTileKeys)), exists = b.less(first, end);
    auto some = [&] {
      Softmax tile = emitTile(score, first);
      return SmallVector<Value>{tile.most, tile.sum};
    };
    auto none = [&] { return SmallVector<Value>{nothing().most, nothing().sum}; };
    SmallVector<Value> tile = b.choose(exists, some, none);
    b.barrier();
    b.ifThen(exists, [&] { emitContext(first); });
    b.ifThen(b.equal(b.lane(), b.i64(0)), [&] {
      b.store(tile[0], b.at(mosts, b.warp(), f32));
      b.store(tile[1], b.at(sums, b.warp(), f32));
    });
    b.barrier();
    Value found = b.min(b.ceilDiv(b.sub(end, start), kTileKeys), b.i64(warps));
    return b.loop(b.i64(0), found, 1, before, [&](Value warp, ValueRange all) {
      Softmax softmax{all[groups], all[groups + 1]};
      Joined joined = join(softmax, {b.load(f32, b.at(mosts, warp, f32)), b.load(f32, b.at(sums, warp, f32))});
      SmallVector<Value> next;
      for (int64_t i = 0; i < groups; ++i) {
        Value column = b.min(b.add(b.thread(), i * threads), b.i64(valueWidth - 1));
        Value context = b.load(f32, b.at(contexts, b.add(b.mul(warp, valueWidth), column), f32));
        next.push_back(joinContext(all[i], joined.before, context, joined.tile));
      }
      next.append({joined.all.most, joined.all.sum});
      return next;
    });
  });
  Softmax all{carried[groups], carried[groups + 1]};
  if (op.getProbabilities())
    storeProbabilities(all);
  storeContext(ArrayRef<Value>(carried).take_front(groups), all);
  b.finish();
}

} // namespace

int64_t emitAttendFew(AttendOp op, const KernelRequest &request, StringRef name) {
  auto keys = cast<RankedTensorType>(op.getK().getType());
  int64_t most = keys.isDynamicDim(2) ? getBound(request.root, getDimName(keys, 2)).value_or(1) : keys.getDimSize(2);
  int64_t warps = most <= 1024 ? 4 : most <= 4096 ? 8 : 16;
  // What the warps leave each other, beside the query, is in shared memory.
  int64_t width = cast<RankedTensorType>(op.getQ().getType()).getDimSize(3);
  int64_t valueWidth = cast<RankedTensorType>(op.getV().getType()).getDimSize(3);
  while (warps > 1 && (warps * (valueWidth + kTileKeys + 2) + width) * 4 > kSharedBytes)
    warps /= 2;
  AttendFew(request.start(name, warps * kWarp, op.getLoc()), op, request, warps).emit();
  return warps * kWarp;
}

} // namespace xf::gpu
