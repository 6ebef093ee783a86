// Attention for many queries: a block computes 32 of one head, and walks over the keys tile by tile. Both products of a tile are
// tiles of matrix products, 4 x 4 elements a thread from parts in shared memory: queries with keys, and exponentials with values, of
// which 64 columns at a time are read. Between the two, 16 lanes take a row of scores at a time.
//
// In shared memory an operand's rows run along k, so that a thread reads its 4 at once: [k][rows] and [k][columns].
#include "compiler/Target/GPU/AttendKernel.h"
#include "compiler/Target/VectorMath.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {
namespace {

constexpr int64_t kPanel = codegen::kLanes, kRows = kAttendRows, kPerThread = 4, kColumns = kTileKeys, kPanels = kColumns / kPanel;
constexpr int64_t kPart = 32, kUnroll = 8; // of k: in shared memory at once, and in a piece of straight code
// Multiples of 16 bytes: one is off the banks' period, the other puts neighbouring rows in different halves of the banks.
constexpr int64_t kRowStride = kRows + 4, kColumnStride = kColumns + 16;
// Wider queries come to shared memory in parts, again for each tile of keys.
constexpr int64_t kWidestQuery = 128;
constexpr int64_t kGroups = kAttendThreads / kPanel; // of lanes that take a row
static_assert(kRows * kColumns == kAttendThreads * kPerThread * kPerThread);
static_assert((kWidestQuery * kRowStride + kPart * kColumnStride + kColumns * kRowStride + 5 * kRows) * 4 <= kSharedBytes);

class AttendMany : public AttendKernel {
public:
  using AttendKernel::AttendKernel;

  void emit();

private:
  void emitRows(int64_t groups);
  void findEnds();
  void stageQueries(Value firstK, int64_t count);
  void stagePanels(function_ref<Value(int64_t panel)> start, Value step, Value firstK, int64_t count, Value end);
  SmallVector<Value> multiply(ArrayRef<Value> sums, Value x, int64_t count);
  void storeScores(Value firstKey);
  void emitExponentials(Value firstKey);
  void addContext(Value firstKey, MutableArrayRef<Value> contexts);
  void storeContext(ArrayRef<Value> contexts);
  void storeProbabilities();
  void storeWithoutKeys();

  bool keepsQueries() { return width <= kWidestQuery; }
  Value existing(Value row) { return b.min(b.add(firstRow, row), b.sub(queries, 1)); }
  Value exists(Value row) { return b.less(b.add(firstRow, row), queries); }
  Value scoreAt(Value key, Value row) { return b.at(scores, b.add(b.mul(key, kRowStride), row), f32); }
  Softmax softmaxOf(Value row) { return {b.load(f32, b.at(maxima, row, f32)), b.load(f32, b.at(sums, row, f32))}; }
  void forRows(function_ref<void(Value)> body) { b.loop(b.div(b.thread(), b.i64(kPanel)), b.i64(kRows), kGroups, body); }

  Value firstRow;                    // of the block
  Value blockBegin, blockEnd;        // the first of its rows' tiles, and the last of their ends
  Value ownRow, ownColumn;           // of the thread, in a tile of products
  Value keys, values;
  // Shared: operands of products; scores, then exponentials, [key][row]; of each row its end, softmax, and the weights of joining.
  Value operandX, operandW, scores, ends, maxima, sums, weightsBefore, weightsTile;
};

/// Finds the rows' ends and the block's range of keys: every warp does, a lane for each row.
void AttendMany::findEnds() {
  static_assert(kRows == kWarp);
  AttendScore score(b, op, request, batch, head, existing(b.lane()));
  Value end = b.create<arith::TruncIOp>(b.getI32Type(), score.end(keysOfSentence()));
  blockBegin = firstOf(score.beginOfTiles()), blockEnd = b.toI64(b.reduceOver(ReduceKind::max, end, kWarp));
  b.ifThen(b.equal(b.warp(), b.i64(0)), [&] {
    b.store(end, b.at(ends, b.lane(), b.getI32Type()));
    b.store(nothing().max, b.at(maxima, b.lane(), f32));
    b.store(nothing().sum, b.at(sums, b.lane(), f32));
  });
}

void AttendMany::stageQueries(Value firstK, int64_t count) {
  b.loop(b.thread(), b.i64(count * kRows), kAttendThreads, [&](Value index) {
    Value row = b.div(index, b.i64(count)), column = b.rem(index, b.i64(count));
    Value x = b.load(f32, element(q, existing(row), b.add(firstK, column), f32));
    b.store(x, b.at(operandX, b.add(b.mul(column, kRowStride), row), f32));
  });
}

/// Brings rows firstK … firstK + count - 1 of four panels, `step` apart, to operandW; with `end`, rows from there on do not exist
/// and become zeros.
void AttendMany::stagePanels(function_ref<Value(int64_t panel)> start, Value step, Value firstK, int64_t count, Value end) {
  constexpr int64_t kQuad = 4, kQuads = kPanel / kQuad;
  Value thread = b.thread(), row = b.div(thread, b.i64(kQuads)), lane = b.mul(b.rem(thread, b.i64(kQuads)), kQuad);
  Value k = b.add(firstK, row);
  auto stage = [&] {
    SmallVector<SmallVector<Value>> read;
    auto load = [&] {
      SmallVector<Value> quads;
      for (int64_t panel = 0; panel < kPanels; ++panel)
        llvm::append_range(quads, b.loadMany(b.at(start(panel), b.add(b.mul(k, step), lane), f32), kQuad));
      return quads;
    };
    SmallVector<Value> quads = end ? b.choose(b.less(k, end), load, [&] { return SmallVector<Value>(kPanels * kQuad, b.f32(0)); }) : load();
    for (int64_t panel = 0; panel < kPanels; ++panel) {
      Value offset = b.add(b.mul(row, kColumnStride), b.add(lane, panel * kPanel));
      b.storeMany(ArrayRef(quads).slice(panel * kQuad, kQuad), b.at(operandW, offset, f32));
    }
  };
  static_assert(kPart * kQuads == kAttendThreads);
  if (count == kPart)
    stage();
  else
    b.ifThen(b.less(row, b.i64(count)), stage);
}

/// Adds to the thread's sums the products of `count` k of `x` [k][rows] and operandW.
SmallVector<Value> AttendMany::multiply(ArrayRef<Value> sums, Value x, int64_t count) {
  auto step = [&](Value k, int64_t unroll, ValueRange carried) {
    SmallVector<Value> next = llvm::to_vector(carried);
    for (int64_t u = 0; u < unroll; ++u) {
      Value at = b.add(k, u);
      auto rows = b.loadMany(b.at(x, b.add(b.mul(at, kRowStride), ownRow), f32), kPerThread);
      auto columns = b.loadMany(b.at(operandW, b.add(b.mul(at, kColumnStride), ownColumn), f32), kPerThread);
      for (int64_t i = 0; i < kPerThread; ++i)
        for (int64_t j = 0; j < kPerThread; ++j)
          next[i * kPerThread + j] = codegen::fusedMultiplyAdd(b, rows[i], columns[j], next[i * kPerThread + j]);
    }
    return next;
  };
  int64_t whole = count / kUnroll * kUnroll;
  SmallVector<Value> all = b.loop(b.i64(0), b.i64(whole), kUnroll, sums, [&](Value k, ValueRange carried) { return step(k, kUnroll, carried); });
  return whole < count ? step(b.i64(whole), count - whole, all) : all;
}

/// Leaves the tile's products of queries and keys in shared memory.
void AttendMany::storeScores(Value firstKey) {
  Value lastPanel = b.div(b.sub(blockEnd, 1), b.i64(kPanel)), firstPanel = b.div(firstKey, b.i64(kPanel));
  auto start = [&](int64_t panel) { return b.at(keys, b.mul(b.min(b.add(firstPanel, panel), lastPanel), width * kPanel), f32); };
  auto part = [&](Value firstK, int64_t count, ValueRange sums) {
    b.barrier(); // what was there is no longer read
    if (!keepsQueries())
      stageQueries(firstK, count);
    stagePanels(start, b.i64(kPanel), firstK, count, nullptr);
    b.barrier();
    Value x = keepsQueries() ? b.at(operandX, b.mul(firstK, kRowStride), f32) : operandX;
    return multiply(llvm::to_vector(sums), x, count);
  };
  int64_t whole = width / kPart * kPart;
  SmallVector<Value> products(kPerThread * kPerThread, b.f32(0));
  products = b.loop(b.i64(0), b.i64(whole), kPart, products, [&](Value firstK, ValueRange carried) { return part(firstK, kPart, carried); });
  if (whole < width)
    products = part(b.i64(whole), width - whole, products);
  for (int64_t j = 0; j < kPerThread; ++j) {
    SmallVector<Value> rows;
    for (int64_t i = 0; i < kPerThread; ++i)
      rows.push_back(products[i * kPerThread + j]);
    b.storeMany(rows, scoreAt(b.add(ownColumn, j), ownRow));
  }
}

/// Turns products into exponentials, and joins the rows' softmax with the tile's.
void AttendMany::emitExponentials(Value firstKey) {
  Value lane = b.rem(b.thread(), b.i64(kPanel));
  forRows([&](Value row) {
    Value position = existing(row), end = b.toI64(b.load(b.getI32Type(), b.at(ends, row, b.getI32Type())));
    AttendScore score(b, op, request, batch, head, position);
    SmallVector<Value> found, exponentials;
    Value max = lowest;
    for (int64_t i = 0; i < kPanels; ++i) {
      Value tileKey = b.add(lane, i * kPanel), key = b.add(firstKey, tileKey);
      Value own = score.score(b.load(f32, scoreAt(tileKey, row)), b.min(key, b.sub(keyCount, 1)));
      found.push_back(b.create<arith::SelectOp>(b.less(key, end), own, lowest));
      max = codegen::combine(b, ReduceKind::max, found.back(), max);
      if (op.getProbabilities())
        b.ifThen(b.both(b.less(key, end), exists(row)), [&] { b.store(found.back(), probabilityAt(position, key)); });
    }
    max = b.reduceOver(ReduceKind::max, max, kPanel);
    for (auto [i, own] : llvm::enumerate(found)) {
      exponentials.push_back(exponential(own, max));
      b.store(exponentials.back(), scoreAt(b.add(lane, i * kPanel), row));
    }
    Value sum = sumOfTile(exponentials, kPanel);
    b.ifThen(b.equal(lane, b.i64(0)), [&] {
      Joined joined = join(softmaxOf(row), {max, sum});
      b.store(joined.all.max, b.at(maxima, row, f32));
      b.store(joined.all.sum, b.at(sums, row, f32));
      b.store(joined.before, b.at(weightsBefore, row, f32));
      b.store(joined.tile, b.at(weightsTile, row, f32));
    });
  });
}

/// Joins the thread's elements of the context, [group of columns][row][column], with the tile's.
void AttendMany::addContext(Value firstKey, MutableArrayRef<Value> contexts) {
  int64_t lastPanel = llvm::divideCeil(valueWidth, kPanel) - 1;
  Value count = b.min(b.sub(blockEnd, firstKey), b.i64(kTileKeys));
  SmallVector<Value> before, tile;
  for (int64_t group = 0; group * kPerThread * kPerThread < static_cast<int64_t>(contexts.size()); ++group) {
    auto start = [&](int64_t panel) { return b.at(values, std::min(group * kPanels + panel, lastPanel) * kPanel, f32); };
    SmallVector<Value> products(kPerThread * kPerThread, b.f32(0));
    products = b.loop(b.i64(0), count, kPart, products, [&](Value firstTileKey, ValueRange carried) {
      b.barrier(); // what was there is no longer read, and the exponentials are there
      stagePanels(start, b.stride(v, 2), b.add(firstKey, firstTileKey), kPart, blockEnd);
      b.barrier();
      return multiply(llvm::to_vector(carried), b.at(scores, b.mul(firstTileKey, kRowStride), f32), kPart);
    });
    if (group == 0) {
      before = b.loadMany(b.at(weightsBefore, ownRow, f32), kPerThread);
      tile = b.loadMany(b.at(weightsTile, ownRow, f32), kPerThread);
    }
    for (int64_t i = 0; i < kPerThread; ++i)
      for (int64_t j = 0; j < kPerThread; ++j) {
        Value &own = contexts[(group * kPerThread + i) * kPerThread + j];
        own = joinContext(own, before[i], products[i * kPerThread + j], tile[i]);
      }
  }
}

void AttendMany::storeContext(ArrayRef<Value> contexts) {
  for (int64_t i = 0; i < kPerThread; ++i) {
    Value row = b.add(ownRow, i), stores = exists(row);
    Softmax all = softmaxOf(row);
    Value factor = factorOf(all);
    if (mayLackKeys())
      stores = b.both(stores, isAny(all));
    b.ifThen(stores, [&] {
      for (int64_t group = 0; group * kPerThread * kPerThread < static_cast<int64_t>(contexts.size()); ++group)
        for (int64_t j = 0; j < kPerThread; ++j) {
          Value column = b.add(ownColumn, group * kColumns + j);
          auto store = [&] {
            Value context = b.create<arith::MulFOp>(contexts[(group * kPerThread + i) * kPerThread + j], factor);
            storeContextAt(context, existing(row), column);
          };
          if (valueWidth % kColumns == 0)
            store();
          else
            b.ifThen(b.less(column, b.i64(valueWidth)), store);
        }
    });
  }
}

/// From the scores, which lie where the probabilities go: a lane reads what it has written.
void AttendMany::storeProbabilities() {
  forRows([&](Value row) {
    Softmax all = softmaxOf(row);
    Value factor = factorOf(all), any = isAny(all), position = existing(row);
    Value end = b.toI64(b.load(b.getI32Type(), b.at(ends, row, b.getI32Type())));
    b.ifThen(exists(row), [&] {
      b.loop(b.rem(b.thread(), b.i64(kPanel)), keyCount, kPanel, [&](Value key) { storeProbability(position, key, end, all, factor, any); });
    });
  });
}

void AttendMany::storeWithoutKeys() {
  forRows([&](Value row) {
    Value any = isAny(softmaxOf(row)), lacks = b.isNot(any);
    b.ifThen(b.both(lacks, exists(row)), [&] {
      b.loop(b.rem(b.thread(), b.i64(kPanel)), b.i64(valueWidth), kPanel,
             [&](Value column) { storeContextAt(contextWithoutKeys(values, column), existing(row), column); });
    });
  });
}

void AttendMany::emit() {
  // The sums of a tile and of the context stay in registers; where ptxas wants more blocks than these, it spills them.
  int64_t groups = llvm::divideCeil(valueWidth, kColumns);
  b.setBlocksPerMultiprocessor(groups == 1 ? 4 : groups == 2 ? 3 : 2);
  SmallVector<Value> task = b.delinearize(b.block(), {sentences(), b.i64(heads), b.divide(b.add(maxQueries(), kRows - 1), b.i64(kRows))});
  takeSentence(task[0]);
  head = task[1], firstRow = b.mul(task[2], kRows);
  b.ifThen(b.less(firstRow, queries), [&] { emitRows(groups); });
  b.finish();
}

/// `groups`: of columns of the context.
void AttendMany::emitRows(int64_t groups) {
  keys = headStart(k, op.getK()), values = headStart(v, op.getV());
  ownRow = b.mul(b.div(b.thread(), b.i64(kColumns / kPerThread)), kPerThread);
  ownColumn = b.mul(b.rem(b.thread(), b.i64(kColumns / kPerThread)), kPerThread);
  operandX = b.shared(f32, (keepsQueries() ? width : kPart) * kRowStride), operandW = b.shared(f32, kPart * kColumnStride);
  scores = b.shared(f32, kColumns * kRowStride), ends = b.shared(b.getI32Type(), kRows);
  for (Value *perRow : {&maxima, &sums, &weightsBefore, &weightsTile})
    *perRow = b.shared(f32, kRows);
  findEnds();
  if (keepsQueries())
    stageQueries(b.i64(0), width);

  SmallVector<Value> contexts(groups * kPerThread * kPerThread, b.f32(0));
  contexts = b.loop(blockBegin, blockEnd, kTileKeys, contexts, [&](Value firstKey, ValueRange carried) {
    SmallVector<Value> next = llvm::to_vector(carried);
    storeScores(firstKey);
    b.barrier();
    emitExponentials(firstKey);
    addContext(firstKey, next);
    return next;
  });
  b.barrier();
  storeContext(contexts);
  if (op.getProbabilities())
    storeProbabilities();
  if (mayLackKeys())
    storeWithoutKeys();
}

} // namespace

void emitAttendMany(GpuBuilder b, AttendOp op, const KernelRequest &request) { AttendMany(b, op, request).emit(); }

} // namespace xf::gpu
