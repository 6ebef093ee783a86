#include "compiler/Target/GPU/AttendFew.h"

#include "compiler/Target/VectorMath.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {
namespace {

constexpr int64_t kPanel = codegen::kLanes, kKeysPerLane = kTileKeys / kWarp, kKeysAtOnce = 8;

/// Factors of f32. Scores: a lane takes two keys of the tile. Context: a lane takes every 32nd column, and adds over ascending keys.
class WideAttendFew final : public AttendFew {
public:
  using AttendFew::AttendFew;

private:
  void stageQuery() override;
  Tile emitTile(Value first) override;
  void emitContext(Value first, ArrayRef<Value>) override;
  void storeProbabilities(const Softmax &all) override;
  SmallVector<Value> products(ArrayRef<Value> columns);
  void forLaneKeys(Value first, function_ref<void(Value)> body) {
    for (int64_t i = 0; i < kKeysPerLane; ++i)
      body(b.add(b.add(first, b.lane()), i * kWarp));
  }

  std::optional<AttendScore> score;
  Value query, exponentials; // shared: the query; of each warp the tile's exponentials
};

void WideAttendFew::stageQuery() {
  score.emplace(b, op, request, batch, head, position);
  begin = score->beginOfTiles(), end = score->end(keysOfSentence());
  exponentials = b.shared(f32, warps * kTileKeys);
  query = b.shared(f32, llvm::alignTo(width, 4));
  b.loop(b.thread(), b.i64(width), threads, [&](Value column) { b.store(b.load(f32, element(q, position, column, f32)), b.at(query, column, f32)); });
  b.barrier();
}

/// The products of the query with several keys, each a chain over the width.
SmallVector<Value> WideAttendFew::products(ArrayRef<Value> columns) {
  int64_t unroll = width % 8 == 0 ? 8 : width % 4 == 0 ? 4 : 1;
  return b.loop(b.i64(0), b.i64(width), unroll, SmallVector<Value>(columns.size(), b.f32(0)), [&](Value c, ValueRange carried) {
    SmallVector<Value> sums = llvm::to_vector(carried), x;
    for (int64_t u = 0; u < unroll; u += std::min<int64_t>(unroll, 4))
      llvm::append_range(x, b.loadMany(b.at(query, b.add(c, u), f32), std::min<int64_t>(unroll, 4)));
    for (int64_t u = 0; u < unroll; ++u)
      for (auto [column, sum] : llvm::zip(columns, sums))
        sum = codegen::fusedMultiplyAdd(b, x[u], b.load(f32, b.at(column, b.mul(b.add(c, u), kPanel), f32)), sum);
    return sums;
  });
}

/// The warp's tile: leaves its exponentials in shared memory.
AttendFew::Tile WideAttendFew::emitTile(Value first) {
  SmallVector<Value> existing, columns, scores, tileExponentials;
  forLaneKeys(first, [&](Value key) {
    existing.push_back(b.min(key, b.sub(end, 1)));
    Value lane = b.rem(existing.back(), b.i64(kPanel));
    columns.push_back(b.at(keys, b.add(b.mul(b.sub(existing.back(), lane), width), lane), f32));
  });
  SmallVector<Value> found = products(columns);
  Value max = lowest;
  forLaneKeys(first, [&](Value key) {
    size_t i = scores.size();
    Value inside = b.less(key, end);
    scores.push_back(b.create<arith::SelectOp>(inside, score->score(found[i], existing[i]), lowest));
    max = codegen::combine(b, ReduceKind::max, scores.back(), max);
    if (op.getProbabilities())
      b.ifThen(inside, [&] { b.store(scores.back(), probabilityAt(position, key)); });
  });
  max = b.reduceOver(ReduceKind::max, max, kWarp);
  for (auto [i, own] : llvm::enumerate(scores)) {
    tileExponentials.push_back(exponential(own, max));
    Value index = b.add(b.mul(b.warp(), kTileKeys), b.add(b.lane(), i * kWarp));
    b.store(tileExponentials.back(), b.at(exponentials, index, f32));
  }
  return {{max, sumOfTile(tileExponentials, kWarp)}, {}};
}

/// The context of the warp's tile.
void WideAttendFew::emitContext(Value first, ArrayRef<Value>) {
  int64_t groups = llvm::divideCeil(valueWidth, kWarp);
  SmallVector<Value> columns;
  for (int64_t i = 0; i < groups; ++i)
    columns.push_back(b.add(b.lane(), i * kWarp));
  Value own = b.at(exponentials, b.mul(b.warp(), kTileKeys), f32), count = b.min(b.sub(end, first), b.i64(kTileKeys));
  auto found = b.loop(b.i64(0), count, kKeysAtOnce, SmallVector<Value>(groups, b.f32(0)), [&](Value start, ValueRange carried) {
    SmallVector<Value> next = llvm::to_vector(carried);
    SmallVector<Value> weights;
    for (int64_t u = 0; u < kKeysAtOnce; u += 4)
      llvm::append_range(weights, b.loadMany(b.at(own, b.add(start, u), f32), 4));
    for (int64_t u = 0; u < kKeysAtOnce; ++u) {
      // Past the last key the exponentials are 0, but there may be no values.
      Value key = b.min(b.add(b.add(first, start), u), b.sub(end, 1));
      for (auto [column, sum] : llvm::zip(columns, next)) {
        Value value = loadValue(values, key, b.min(column, b.i64(valueWidth - 1)));
        sum = codegen::fusedMultiplyAdd(b, weights[u], value, sum);
      }
    }
    return next;
  });
  for (auto [column, sum] : llvm::zip(columns, found))
    b.ifThen(b.less(column, b.i64(valueWidth)), [&, column = column, sum = sum] { b.store(sum, contextAt(b.warp(), column)); });
}

void WideAttendFew::storeProbabilities(const Softmax &all) {
  Value factor = factorOf(all), any = isAny(all);
  Value warpFirst = b.mul(b.warp(), kTileKeys);
  // In the order of the scores: a lane reads what it has written.
  b.loop(b.i64(0), keyCount, warps * kTileKeys, [&](Value start) {
    forLaneKeys(b.add(start, warpFirst),
                [&](Value key) { b.ifThen(b.less(key, keyCount), [&] { storeProbability(position, key, end, all, factor, any); }); });
  });
}

} // namespace

/// Joins the first `found` warps' tiles with what there was: the thread's columns of the context, the largest score, the sum.
SmallVector<Value> AttendFew::joinTiles(Value found, ValueRange before) {
  size_t groups = before.size() - 2;
  return b.loop(b.i64(0), found, 1, before, [&](Value warp, ValueRange all) {
    Joined joined = join({all[groups], all[groups + 1]}, {b.load(f32, b.at(maxima, warp, f32)), b.load(f32, b.at(sums, warp, f32))});
    SmallVector<Value> next;
    for (size_t i = 0; i < groups; ++i) {
      Value column = b.min(b.add(b.thread(), static_cast<int64_t>(i) * threads), b.i64(valueWidth - 1));
      next.push_back(joinContext(all[i], joined.before, b.load(f32, contextAt(warp, column)), joined.tile));
    }
    next.append({joined.all.max, joined.all.sum});
    return next;
  });
}

void AttendFew::storeContext(ArrayRef<Value> found, const Softmax &all) {
  Value factor = factorOf(all);
  for (auto [i, sum] : llvm::enumerate(found)) {
    Value column = b.add(b.thread(), static_cast<int64_t>(i) * threads);
    b.ifThen(b.less(column, b.i64(valueWidth)), [&, sum = sum] {
      auto regular = [&] { return SmallVector<Value>{b.create<arith::MulFOp>(sum, factor)}; };
      auto lacking = [&] { return SmallVector<Value>{contextWithoutKeys(values, column)}; };
      storeContextAt(mayLackKeys() ? b.choose(isAny(all), regular, lacking)[0] : regular()[0], position, column);
    });
  }
}

/// Writes the only new position of the block's head to the states, where that was left to this kernel. No other block reads it: each
/// query head then has keys of its own.
void AttendFew::appendOne() {
  struct Appended {
    unsigned view;
    Layout layout;
    int64_t columns;
    Value past;
  };
  SmallVector<Appended> all;
  int64_t maxColumns = 0;
  auto add = [&](Value tensor, unsigned view, Layout layout) {
    AppendOp append = codegen::appendedBy(op, tensor);
    if (!append)
      return;
    int64_t columns = cast<RankedTensorType>(append.getX().getType()).getDimSize(3);
    // The state is followed by what is appended and the past.
    all.push_back({view, layout, columns, loadIndex(b, view + 2, batch)});
    maxColumns = std::max(maxColumns, columns);
  };
  add(op.getK(), k, Layout::keys);
  add(op.getV(), v, Layout::values);
  if (all.empty())
    return;
  b.ifThen(b.equal(b.size(q, 2), b.i64(1)), [&] {
    b.loop(b.thread(), b.i64(maxColumns), threads, [&](Value column) {
      SmallVector<Value> read;
      for (const Appended &a : all)
        read.push_back(b.load(factorType, addressIn(b, Layout::plain, a.view + 1, {batch, head, b.i64(0), b.min(column, b.i64(a.columns - 1))},
                                                    factorType, a.columns)));
      for (auto [a, value] : llvm::zip(all, read))
        b.ifThen(b.less(column, b.i64(a.columns)), [&, &a = a, value = value] {
          b.store(value, addressIn(b, a.layout, a.view, {batch, head, a.past, column}, factorType, a.columns));
        });
    });
    b.barrier();
  });
}

void AttendFew::emit() {
  SmallVector<Value> task = b.delinearize(b.block(), {sentences(), b.i64(heads), maxQueries()});
  takeSentence(task[0]);
  head = task[1], position = task[2];
  keys = headStart(k, op.getK()), values = headStart(v, op.getV());
  contexts = b.shared(f32, warps * valueWidth), maxima = b.shared(f32, warps), sums = b.shared(f32, warps);
  stageQuery();
  appendOne();

  size_t groups = llvm::divideCeil(valueWidth, threads);
  SmallVector<Value> carried(groups, b.f32(0));
  carried.append({nothing().max, nothing().sum});
  carried = b.loop(begin, end, warps * kTileKeys, carried, [&](Value start, ValueRange before) {
    Value first = b.add(start, b.mul(b.warp(), kTileKeys)), exists = b.less(first, end);
    auto some = [&] {
      Tile tile = emitTile(first);
      tile.words.append({tile.softmax.max, tile.softmax.sum});
      return tile.words;
    };
    auto none = [&] {
      SmallVector<Value> words(tileWords(), b.i32(0));
      words.append({nothing().max, nothing().sum});
      return words;
    };
    SmallVector<Value> tile = b.choose(exists, some, none);
    Value sum = tile.pop_back_val(), max = tile.pop_back_val();
    b.barrier();
    b.ifThen(exists, [&] { emitContext(first, tile); });
    b.ifThen(b.equal(b.lane(), b.i64(0)), [&] {
      b.store(max, b.at(maxima, b.warp(), f32));
      b.store(sum, b.at(sums, b.warp(), f32));
    });
    b.barrier();
    return joinTiles(b.min(b.ceilDiv(b.sub(end, start), kTileKeys), b.i64(warps)), before);
  });
  Softmax all{carried[groups], carried[groups + 1]};
  if (op.getProbabilities())
    storeProbabilities(all);
  storeContext(ArrayRef<Value>(carried).take_front(groups), all);
  b.finish();
}

FailureOr<int64_t> emitAttendFew(AttendOp op, const KernelRequest &request, StringRef name, int64_t maxWarps) {
  auto keys = cast<RankedTensorType>(op.getK().getType());
  int64_t maxKeys = keys.isDynamicDim(2) ? getBound(request.root, getDimName(keys, 2)).value_or(1) : keys.getDimSize(2);
  int64_t warps = std::min<int64_t>(maxKeys <= 1024 ? 4 : maxKeys <= 4096 ? 8 : 16, maxWarps);
  // Shared memory holds the query, and what the warps leave for each other.
  int64_t width = cast<RankedTensorType>(op.getQ().getType()).getDimSize(3);
  int64_t valueWidth = cast<RankedTensorType>(op.getV().getType()).getDimSize(3);
  auto fits = [&] { return (warps * (valueWidth + kTileKeys + 2) + width) * 4 <= kSharedBytes; };
  while (warps > 1 && !fits())
    warps /= 2;
  if (!fits())
    return op.emitError("heads of ") << width << " and " << valueWidth << " elements need more shared memory than a GPU's kernel has, "
                                     << kSharedBytes << " bytes";
  GpuBuilder b = request.start(name, warps * kWarp, op.getLoc());
  bool isTensor = !cast<RankedTensorType>(op.getQ().getType()).getElementType().isF32();
  // Otherwise ptxas would favour more blocks over the registers of a tile under way, and with narrow heads of 16 bits spill.
  if (!isTensor || width <= 32)
    b.setBlocksPerMultiprocessor(std::max<int64_t>((isTensor ? 512 : 256) / (warps * kWarp), 1));
  if (isTensor)
    makeTensorAttendFew(b, op, request, warps)->emit();
  else
    WideAttendFew(b, op, request, warps).emit();
  return warps * kWarp;
}

} // namespace xf::gpu
