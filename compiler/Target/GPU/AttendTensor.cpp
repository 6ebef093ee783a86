#include "compiler/Target/GPU/AttendTensor.h"

#include "compiler/Target/GPU/AttendFew.h"
#include "compiler/Target/GPU/TensorCore.h"
#include "compiler/Target/VectorMath.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {

static constexpr int64_t kPanel = codegen::kLanes, kPanels = kTileKeys / kPanel;
static constexpr int64_t kPerLane = 4; // keys of a panel, and columns of 16, that a lane has

TensorTile::TensorTile(AttendKernel &kernel, Value keys, Value values, Value firstRow, Value rowEnd, int64_t halves)
    : a(kernel), b(kernel.b), word(b.getI32Type()), keys(keys), values(values), group(b.div(b.lane(), b.i64(4))), inGroup(b.rem(b.lane(), b.i64(4))) {
  Value last = b.i32(0), first, keyEnd = a.keysOfSentence();
  for (int64_t half = 0; half < halves; ++half) {
    Value row = b.add(firstRow, b.add(group, half * 8)), position = b.inHalf(b.min(row, b.sub(rowEnd, 1)));
    AttendScore score(b, a.op, a.request, a.batch, a.head, position);
    Value end = b.inHalf(score.end(keyEnd));
    last = b.create<arith::MaxSIOp>(last, b.create<arith::TruncIOp>(word, end));
    first = half == 0 ? score.beginOfTiles() : b.min(first, score.beginOfTiles());
    rows.push_back({score, position, b.less(row, rowEnd), end});
  }
  firstBegin = a.firstOf(first), lastEnd = b.inHalf(b.reduceOver(ReduceKind::max, last, kWarp));
  Value none = b.i32(0);
  if (sharedSteps())
    sharedQueries = b.at(b.shared(word, kAttendThreads * kQueryWords * sharedSteps()), b.mul(b.thread(), kQueryWords), word);
  for (int64_t step = 0; step < steps(); ++step) {
    SmallVector<Value> words;
    for (int64_t part : {0, 8})
      for (int64_t half : {0, 1})
        words.push_back(half < halves ? queryWord(half, step * kDepth + part) : none);
    if (step < sharedSteps())
      b.storeMany(words, sharedQuery(step));
    else
      llvm::append_range(queries, words);
  }
}

/// The query's elements column + 2t and column + 2t + 1; zeros where there are none.
Value TensorTile::queryWord(int64_t half, int64_t column) {
  Value first = b.add(b.mul(inGroup, 2), column), inside = b.min(first, b.i64(a.width - 2));
  auto load = [&](int64_t i) { return b.load(a.factorType, a.element(a.q, rows[half].position, b.add(inside, i), a.factorType)); };
  Value low = load(0), found = joinPair(b, low, load(1));
  return zeroUnless(b, b.both(rows[half].exists, b.less(first, b.i64(a.width))), found);
}

int64_t TensorTile::sharedSteps() {
  constexpr int64_t kWidestInRegisters = 64, kStepBytes = kAttendThreads * kQueryWords * 4;
  return halves() == 1 || a.width <= kWidestInRegisters ? 0 : std::min(steps(), kSharedBytes / kStepBytes);
}

SmallVector<Value> TensorTile::readQueries(int64_t step) {
  if (step < sharedSteps())
    return b.loadMany(sharedQuery(step), kQueryWords, word);
  return llvm::to_vector(ArrayRef(queries).slice((step - sharedSteps()) * kQueryWords, kQueryWords));
}

/// The lane's words of a panel of keys for a step over the width: at k 2t and then at k 2t + 8, those of keys 2g and 2g + 1.
SmallVector<Value> TensorTile::readKeys(Value panel, int64_t step) {
  Value column = b.at(keys, b.add(b.mul(panel, a.width * kPanel), b.mul(group, 4)), a.factorType);
  SmallVector<Value> all;
  int64_t pairs = a.width / 2, begin = step * kDepth / 2;
  for (int64_t first = begin; first < std::min(pairs, begin + kDepth / 2); first += 4) {
    Value pair = b.add(inGroup, first);
    auto words = b.loadMany(b.at(column, b.mul(b.min(pair, b.i64(pairs - 1)), 2 * kPanel), a.factorType), 2, word);
    for (Value one : words)
      all.push_back(first + 4 > pairs ? zeroUnless(b, b.less(pair, b.i64(pairs)), one) : one);
  }
  all.resize(4, b.i32(0));
  return all;
}

/// Products of queries and keys: for each panel and half, the lane's four keys.
SmallVector<Value> TensorTile::products(Value first) {
  // What is behind the last panel is not read.
  Value lastPanel = b.div(b.sub(lastEnd, 1), b.i64(kPanel)), firstPanel = b.div(first, b.i64(kPanel));
  auto panelAt = [&](int64_t panel) { return b.min(b.add(firstPanel, panel), lastPanel); };
  SmallVector<SmallVector<Value>> sums(kPanels, SmallVector<Value>(8, b.f32(0)));
  if (sharedSteps()) {
    // A step's queries serve all panels. They are read anew for each tile.
    b.holdReads();
    for (int64_t step = 0; step < steps(); ++step) {
      SmallVector<Value> words = readQueries(step);
      for (int64_t panel = 0; panel < kPanels; ++panel)
        multiply(words, readKeys(panelAt(panel), step), sums[panel]);
    }
    b.syncWarp(); // ptxas moves no later read before this, and so spills nothing
  } else {
    SmallVector<SmallVector<Value>> read;
    for (int64_t panel = 0; panel < kPanels; ++panel) {
      for (int64_t next = read.size(); next < std::min(panel + panelsUnderWay(), kPanels); ++next) {
        read.emplace_back();
        for (int64_t step = 0; step < steps(); ++step)
          llvm::append_range(read.back(), readKeys(panelAt(next), step));
      }
      for (int64_t step = 0; step < steps(); ++step)
        multiply(readQueries(step), ArrayRef(read[panel]).slice(step * 4, 4), sums[panel]);
    }
  }
  SmallVector<Value> all;
  for (ArrayRef<Value> ofPanel : sums)
    llvm::append_range(all, inOrder(ofPanel));
  return all;
}

TensorTile::Exponentials TensorTile::multiplyKeys(Value first) {
  SmallVector<Value> found = products(first);
  Exponentials result;
  SmallVector<SmallVector<Value>> words(halves());
  for (auto [half, row] : llvm::enumerate(rows)) {
    SmallVector<Value> scores, exponentials;
    Value max = a.lowest;
    for (int64_t panel = 0; panel < kPanels; ++panel)
      for (int64_t i = 0; i < kPerLane; ++i) {
        Value key = b.add(b.add(first, panel * kPanel + i), b.mul(inGroup, kPerLane));
        Value product = found[(panel * halves() + static_cast<int64_t>(half)) * kPerLane + i];
        Value score = row.score.score(product, b.min(key, b.sub(a.keyCount, 1)));
        scores.push_back(b.create<arith::SelectOp>(b.less(key, row.end), score, a.lowest));
        max = codegen::combine(b, ReduceKind::max, scores.back(), max);
      }
    max = b.reduceOver(ReduceKind::max, max, kWarp / 8);
    for (Value score : scores)
      exponentials.push_back(a.exponential(score, max));
    result.softmax.push_back({max, a.sumOfTile(exponentials, kWarp / 8)});
    for (size_t i = 0; i < exponentials.size(); i += 2)
      words[half].push_back(narrowPair(b, a.factorType, exponentials[i], exponentials[i + 1]));
  }
  for (size_t i = 0; i < words[0].size(); ++i)
    for (auto &ofHalf : words)
      result.words.push_back(ofHalf[i]);
  return result;
}

SmallVector<Value> TensorTile::readValues(Value first, int64_t column) {
  Value last = b.sub(lastEnd, 1), even = b.sub(last, b.rem(last, b.i64(2)));
  Value lower = b.i32(0xffff), whole = b.i32(-1);
  SmallVector<Value> all;
  for (int64_t panel = 0; panel < kPanels; ++panel)
    for (int64_t pair = 0; pair < kPerLane; pair += 2) {
      Value key = b.add(b.add(first, panel * kPanel + pair), b.mul(inGroup, kPerLane));
      Value row = b.at(values, b.mul(b.min(key, even), b.stride(a.v, 2)), a.factorType);
      // Anything may lie after the last key, even in the upper half of its word.
      Value mask = zeroUnless(b, b.less(key, lastEnd), b.create<arith::SelectOp>(b.less(key, last), whole, lower));
      for (Value one : b.loadMany(b.at(row, b.add(b.mul(group, 4), 2 * column), a.factorType), 2, word))
        all.push_back(b.create<arith::AndIOp>(one, mask));
    }
  return all;
}

SmallVector<Value> TensorTile::multiplyValues(ArrayRef<Value> exponentials, ArrayRef<Value> values) {
  Value none = b.i32(0);
  SmallVector<Value> sums(8, b.f32(0));
  for (int64_t panel = 0; panel < kPanels; ++panel) {
    SmallVector<Value> rows;
    for (int64_t part : {0, 1})
      for (int64_t half : {0, 1})
        rows.push_back(half < halves() ? exponentials[(panel * 2 + part) * halves() + half] : none);
    multiply(rows, values.slice(panel * 4, 4), sums);
  }
  return inOrder(sums);
}

void TensorTile::multiply(ArrayRef<Value> rows, ArrayRef<Value> columns, MutableArrayRef<Value> sums) {
  for (int64_t i : {0, 1}) {
    auto own = sums.slice(i * 4, 4);
    llvm::copy(multiplyTiles(b, a.factorType, rows, {columns[i], columns[2 + i]}, own), own.begin());
  }
}

SmallVector<Value> TensorTile::inOrder(ArrayRef<Value> sums) const {
  SmallVector<Value> own;
  for (int64_t half = 0; half < halves(); ++half)
    for (int64_t i = 0; i < kPerLane; ++i)
      own.push_back(sums[i % 2 * 4 + half * 2 + i / 2]);
  return own;
}

Value TensorTile::column(int64_t column, int64_t i) { return b.add(b.mul(inGroup, kPerLane), column + i); }

namespace {

/// One query is the first of 16 rows.
class TensorAttendFew final : public AttendFew {
public:
  using AttendFew::AttendFew;

private:
  void stageQuery() override {
    tile.emplace(*this, keys, values, position, b.add(position, 1), /*halves=*/1);
    begin = tile->begin(), end = tile->end();
  }
  int64_t tileWords() override { return TensorTile::countWords(1); }
  Tile emitTile(Value first) override {
    auto exponentials = tile->multiplyKeys(first);
    return {exponentials.softmax[0], exponentials.words};
  }
  // Columns that are read together are stored together, after their products. Only some lanes store, and the warp diverges there.
  void emitContext(Value first, ArrayRef<Value> words) override {
    constexpr int64_t kColumnsUnderWay = 64;
    for (int64_t start = 0; start < valueWidth; start += kColumnsUnderWay) {
      if (start)
        b.syncWarp();
      SmallVector<SmallVector<Value>> read;
      for (int64_t column = start; column < std::min(valueWidth, start + kColumnsUnderWay); column += kPanel)
        read.push_back(tile->readValues(first, column));
      SmallVector<Value> found;
      for (const auto &values : read)
        llvm::append_range(found, tile->multiplyValues(words, values));
      b.ifThen(b.less(b.lane(), b.i64(kPerLane)), [&] {
        for (auto [i, sum] : llvm::enumerate(found)) {
          int64_t panel = static_cast<int64_t>(i) / kPerLane;
          Value own = tile->column(start + panel * kPanel, static_cast<int64_t>(i) % kPerLane);
          b.ifThen(b.less(own, b.i64(valueWidth)), [&, sum = sum] { b.store(sum, contextAt(b.warp(), own)); });
        }
      });
    }
  }

  std::optional<TensorTile> tile;
};

/// Many queries: a warp takes 16 rows and waits for no other.
class TensorAttendMany : public AttendKernel {
public:
  using AttendKernel::AttendKernel;

  void emit() {
    constexpr int64_t kRows = kTensorRows / (kAttendThreads / kWarp);
    static_assert(kRows == 16);
    // For more blocks than these ptxas would spill.
    b.setBlocksPerMultiprocessor(2);
    Value blocks = b.divide(b.add(maxQueries(), kTensorRows - 1), b.i64(kTensorRows));
    int64_t slices = llvm::divideCeil(valueWidth, tensorColumns(width));
    SmallVector<Value> task = b.delinearize(b.block(), {sentences(), b.i64(heads), blocks, b.i64(slices)});
    takeSentence(task[0]);
    head = task[1];
    Value firstRow = b.inHalf(b.add(b.mul(task[2], kTensorRows), b.mul(b.warp(), kRows)));
    // The slice's columns. The last slice also computes columns of the one before it, rather than fewer.
    Value slice = b.inHalf(b.mul(task[3], tensorColumns(width)));
    b.ifThen(b.less(firstRow, queries), [&] { emitRows(firstRow, slice); });
    b.finish();
  }

private:
  void emitRows(Value firstRow, Value slice) {
    Value keys = headStart(k, op.getK()), values = headStart(v, op.getV());
    int64_t columns = llvm::alignTo(std::min(valueWidth, tensorColumns(width)), kPanel);
    Value firstColumn = b.min(slice, b.i64(llvm::alignTo(valueWidth, kPanel) - columns));
    TensorTile tile(*this, keys, b.at(values, b.mul(firstColumn, 2), factorType), firstRow, queries, /*halves=*/2);

    size_t own = columns / kPanel * 2 * kPerLane;
    SmallVector<Value> carried(own, b.f32(0));
    for (int64_t half = 0; half < 2; ++half)
      carried.append({nothing().max, nothing().sum});
    carried = b.loop(tile.begin(), tile.end(), kTileKeys, carried, [&](Value first, ValueRange before) {
      auto exponentials = tile.multiplyKeys(first);
      SmallVector<Joined> joined;
      for (size_t half = 0; half < 2; ++half)
        joined.push_back(join({before[own + 2 * half], before[own + 2 * half + 1]}, exponentials.softmax[half]));
      SmallVector<Value> next;
      for (int64_t column = 0; column < columns; column += kPanel)
        for (auto [i, found] : llvm::enumerate(tile.multiplyValues(exponentials.words, tile.readValues(first, column)))) {
          const Joined &row = joined[i / kPerLane];
          next.push_back(joinContext(before[next.size()], row.before, found, row.tile));
        }
      for (const Joined &row : joined)
        next.append({row.all.max, row.all.sum});
      return next;
    });
    for (int64_t half = 0; half < 2; ++half)
      b.ifThen(tile.exists(half), [&] {
        Softmax all{carried[own + 2 * half], carried[own + 2 * half + 1]};
        storeRow(tile, half, slice, firstColumn, ArrayRef<Value>(carried).take_front(own), all, values);
      });
  }

  void storeRow(TensorTile &tile, int64_t half, Value slice, Value firstColumn, ArrayRef<Value> contexts, const Softmax &all, Value values) {
    Value factor = factorOf(all);
    auto store = [&](function_ref<Value(size_t, Value)> context) {
      for (size_t i = 0; i < contexts.size(); ++i)
        if (static_cast<int64_t>(i) / kPerLane % 2 == half) {
          Value column = b.add(firstColumn, tile.column(i / (2 * kPerLane) * kPanel, i % kPerLane));
          Value isOwn = b.both(b.less(b.sub(slice, 1), column), b.less(column, b.i64(valueWidth)));
          b.ifThen(isOwn, [&] { storeContextAt(context(i, column), tile.position(half), column); });
        }
    };
    auto regular = [&] { store([&](size_t i, Value) { return b.create<arith::MulFOp>(contexts[i], factor); }); };
    if (!mayLackKeys())
      return regular();
    b.ifElse(isAny(all), regular, [&] { store([&](size_t, Value column) { return contextWithoutKeys(values, column); }); });
  }
};

} // namespace

std::unique_ptr<AttendFew> makeTensorAttendFew(GpuBuilder b, AttendOp op, const KernelRequest &request, int64_t warps) {
  return std::make_unique<TensorAttendFew>(b, op, request, warps);
}

void emitTensorAttendMany(GpuBuilder b, AttendOp op, const KernelRequest &request) { TensorAttendMany(b, op, request).emit(); }

} // namespace xf::gpu
