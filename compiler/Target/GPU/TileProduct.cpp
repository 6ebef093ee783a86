// Operands pass through shared memory in a ring of stages, which asynchronous copies fill some parts of k ahead; one barrier a part both shows what
// has arrived and frees the stage that is filled next. Weights of bytes are widened on their way: their words are read to registers one part
// before they are stored.
//
// A thread also reads its operands ahead from shared memory, even across parts: four k of each of its rows while it multiplies the previous four,
// one k of its columns while it multiplies the previous one. With few rows a processor has a single warp, and nothing else to do while that waits.
//
// A warp's 32 x 16 bytes take two passes, the least possible: the hardware takes half a warp at once if lanes that differ in bit 0, or all that
// differ in bit 1, read the same address. Rows of threads differ in bits 0 and 4 of the lane, columns in bits 1, 2 and 3.
#include "compiler/Target/GPU/TileProduct.h"

#include "compiler/Target/GPU/ByteWeights.h"
#include "compiler/Target/GPU/TensorCore.h"
#include "compiler/Target/VectorMath.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace xf::gpu {
namespace {

constexpr int64_t kPanel = codegen::kLanes, kQuad = 4; // elements of 16 bytes, which are what one copy moves
constexpr int64_t kChunk = 4 * kQuad, kLineBytes = 4 * kPanel;
static_assert(kQuad == kWordDepth);

class TileProduct {
public:
  TileProduct(GpuBuilder &b, const TileShape &shape, const TileOperands &operands, Value firstRow, Value firstPanel)
      : b(b), shape(shape), operands(operands), f32(b.getF32Type()), depth(operands.depth), parts(llvm::divideCeil(depth, shape.part)),
        firstRow(firstRow), firstPanel(firstPanel) {}

  Value run();

private:
  /// What the thread brings to each part, 16 bytes or a word: where part 0's is, its k and its offset, in bytes, in a part.
  struct Source {
    Value from, k, offset;
    Value isNeeded; // null: it is
  };

  void locateThread();
  Value panelAt(Value panel);
  void findWeights();
  void findX();
  void copyWeights(Value part, Value target);
  SmallVector<Value> readWords(Value part);
  void storeWords(ValueRange ofPart, Value target);
  void fillX(Value part, Value target);
  void fillFirst();
  void fillNext(Value part);
  void loadRows(Value stage, int64_t quad);
  void loadColumns(Value stage, int64_t k);
  void multiply(Value part, int64_t count);
  void storeSums();

  bool hasTail() const { return depth % shape.part; }
  Value atByte(Value base, Value offset) { return b.at(base, offset, b.getI8Type()); }
  Value stage(Value part) { return atByte(shared, b.mul(b.rem(part, b.i64(shape.stages())), shape.stageBytes())); }
  Value atWeights(Value stage) { return b.atByte(stage, 4 * shape.rows * shape.strideOfX()); }

  GpuBuilder &b;
  const TileShape &shape;
  const TileOperands &operands;
  Type f32;
  int64_t depth, parts;
  Value firstRow, firstPanel; // of the tile
  Value shared, copiesX;
  Value ownRow, ownColumn; // of the thread's first element, in the tile
  SmallVector<Source> weights, rows;
  Value current, free; // stages: of the part that is multiplied, and of the one before
  SmallVector<Value> sums;
  // What is multiplied next: four k of each row, and a k of each column.
  SmallVector<Value> x, w;
  SmallVector<Value> words; // of bytes, of the part that is stored next
};

void TileProduct::locateThread() {
  Value row = b.i64(0), column = b.lane();
  if (shape.laneRows() > 1) {
    row = b.add(b.rem(b.lane(), b.i64(2)), b.mul(b.div(b.lane(), b.i64(16)), 2));
    column = b.mul(b.rem(b.div(b.lane(), b.i64(2)), b.i64(8)), kQuad);
  }
  int64_t warps = shape.columns / shape.warpColumns();
  ownRow = b.add(row, b.mul(b.div(b.warp(), b.i64(warps)), shape.warpRows()));
  ownColumn = b.add(column, b.mul(b.rem(b.warp(), b.i64(warps)), shape.warpColumns()));
}

/// The address of a panel, counted from the tile's first.
Value TileProduct::panelAt(Value panel) {
  int64_t lines = operands.ofBytes ? llvm::divideCeil(depth, kWordDepth) : depth;
  panel = b.add(firstPanel, panel);
  if (operands.columns % shape.columns)
    panel = b.min(panel, b.i64(llvm::divideCeil(operands.columns, kPanel) - 1));
  return atByte(operands.weights, b.mul(panel, lines * kLineBytes));
}

/// The distance from one of a thread's sources to the next is added as a constant, which takes no register.
void TileProduct::findWeights() {
  for (int64_t first = 0; first < shape.part * shape.columns / kQuad; first += shape.threads()) {
    Value panel, k, inLine;
    if (operands.ofBytes) {
      // Neighbouring threads have the words of neighbouring columns.
      Value index = b.add(b.thread(), first), column = b.rem(index, b.i64(shape.columns));
      panel = b.div(column, b.i64(kPanel)), inLine = b.mul(b.rem(column, b.i64(kPanel)), 4);
      k = b.mul(b.div(index, b.i64(shape.columns)), kWordDepth);
    } else {
      // Eight threads have one k of two panels, so that they write to all banks at once; a warp reads 256 bytes of a panel.
      constexpr int64_t kPerPanel = kPanel / kQuad;
      Value line = b.div(b.thread(), b.i64(2 * kPerPanel));
      int64_t moreLines = first / (2 * kPerPanel);
      panel = b.add(b.rem(b.div(b.thread(), b.i64(kPerPanel)), b.i64(2)), b.mul(b.div(line, b.i64(shape.part)), 2));
      panel = b.add(panel, moreLines / shape.part * 2);
      inLine = b.mul(b.rem(b.thread(), b.i64(kPerPanel)), kChunk);
      k = b.add(b.rem(line, b.i64(shape.part)), moreLines % shape.part);
    }
    Value offset = b.add(b.mul(k, 4 * shape.columns), b.add(b.mul(panel, kLineBytes), inLine));
    Value inPanel = b.mul(operands.ofBytes ? b.div(k, b.i64(kWordDepth)) : k, kLineBytes);
    weights.push_back({atByte(panelAt(panel), b.add(inPanel, inLine)), k, offset, operands.isNeeded ? operands.isNeeded(panel) : Value()});
  }
}

void TileProduct::findX() {
  int64_t chunks = shape.part / kQuad;
  for (int64_t first = 0; first < shape.rows * chunks; first += shape.threads()) {
    Value index = b.add(b.thread(), first), row = b.div(index, b.i64(chunks)), k = b.mul(b.rem(index, b.i64(chunks)), kQuad);
    Value offset = b.mul(b.min(b.add(firstRow, row), b.sub(operands.rows, 1)), operands.rowStride);
    bool areAll = first + shape.threads() <= shape.rows * chunks;
    rows.push_back({b.at(operands.x, b.add(offset, k), f32), k, b.mul(b.add(b.mul(row, shape.strideOfX()), k), 4),
                    areAll ? Value() : b.less(index, b.i64(shape.rows * chunks))});
  }
  Value start = b.create<LLVM::PtrToIntOp>(b.getI64Type(), operands.x);
  Value either = b.create<arith::OrIOp>(start, b.mul(operands.rowStride, 4));
  copiesX = b.equal(b.create<arith::AndIOp>(either, b.i64(kChunk - 1)), b.i64(0));
}

/// Starts to bring a part's weights to its stage; behind the last k there are zeros.
void TileProduct::copyWeights(Value part, Value target) {
  for (const Source &source : weights) {
    Value reads = source.isNeeded;
    if (hasTail())
      reads = b.both(reads, b.less(b.add(b.mul(part, shape.part), source.k), b.i64(depth)));
    copyAsyncIf(b, reads, atByte(atWeights(target), source.offset), atByte(source.from, b.mul(part, shape.part * kLineBytes)));
  }
}

/// The thread's words of a part. Past the last k, which nobody multiplies, the last word is read again.
SmallVector<Value> TileProduct::readWords(Value part) {
  Type word = b.getI32Type();
  int64_t groups = llvm::divideCeil(depth, kWordDepth);
  SmallVector<Value> read;
  for (const Source &source : weights) {
    Value group = b.mul(part, shape.part / kWordDepth);
    if (hasTail())
      group = b.min(group, b.sub(b.i64(groups - 1), b.div(source.k, b.i64(kWordDepth))));
    auto load = [&] { return b.load(word, atByte(source.from, b.mul(group, kLineBytes))); };
    auto zero = [&] { return b.integer(word, 0); };
    read.push_back(source.isNeeded ? b.chooseOne(source.isNeeded, load, zero) : load());
  }
  b.holdReads();
  return read;
}

void TileProduct::storeWords(ValueRange ofPart, Value target) {
  for (auto [source, word] : llvm::zip_equal(weights, ofPart))
    for (auto [i, weight] : llvm::enumerate(widenBytes(b, word)))
      b.store(weight, b.atByte(atByte(atWeights(target), source.offset), i * 4 * shape.columns));
}

/// Brings a part of x to its stage, by asynchronous copies if all rows start at multiples of 16 bytes.
void TileProduct::fillX(Value part, Value target) {
  Value firstK = b.mul(part, shape.part);
  auto forSources = [&](function_ref<void(Value to, Value from, Value left)> body) {
    for (const Source &source : rows) {
      auto bring = [&] { body(atByte(target, source.offset), b.at(source.from, firstK, f32), b.sub(b.i64(depth), b.add(firstK, source.k))); };
      source.isNeeded ? b.ifThen(source.isNeeded, bring) : bring();
    }
  };
  auto copy = [&] {
    forSources([&](Value to, Value from, Value left) {
      Value bytes;
      if (hasTail())
        bytes = b.narrow(b.mul(b.min(b.max(left, b.i64(0)), b.i64(kQuad)), 4));
      copyAsync(b, to, from, bytes);
    });
  };
  // Past the last k, that one's element is read again: nobody multiplies it.
  auto gather = [&] {
    forSources([&](Value to, Value from, Value left) {
      SmallVector<Value> elements;
      for (int64_t i = 0; i < kQuad; ++i)
        elements.push_back(b.load(f32, b.at(from, hasTail() ? b.min(b.i64(i), b.sub(left, 1)) : b.i64(i), f32)));
      b.storeMany(elements, to);
    });
  };
  b.ifElse(copiesX, copy, gather);
}

/// A group of copies for each part, and an empty one where there is no part, so that the number of open groups tells what has arrived.
void TileProduct::fillFirst() {
  int64_t ahead = shape.stages() - 1, existing = std::min(ahead, parts);
  SmallVector<SmallVector<Value>> first;
  for (int64_t part = 0; part < existing; ++part)
    operands.ofBytes ? first.push_back(readWords(b.i64(part))) : copyWeights(b.i64(part), stage(b.i64(part)));
  if (operands.ofBytes)
    words = readWords(b.i64(std::min(ahead, parts - 1)));
  if (operands.beforeX)
    operands.beforeX();
  for (int64_t part = 0; part < ahead; ++part) {
    if (part < existing) {
      fillX(b.i64(part), stage(b.i64(part)));
      if (operands.ofBytes)
        storeWords(first[part], stage(b.i64(part)));
    }
    commitCopies(b);
  }
}

void TileProduct::fillNext(Value part) {
  Value next = b.add(part, shape.stages() - 1);
  b.ifThen(b.less(next, b.i64(parts)), [&] {
    operands.ofBytes ? storeWords(words, free) : copyWeights(next, free);
    fillX(next, free);
  });
  commitCopies(b);
  if (operands.ofBytes)
    words = readWords(b.min(b.add(next, 1), b.i64(parts - 1)));
}

/// Four k of the thread's rows.
void TileProduct::loadRows(Value stage, int64_t quad) {
  Value start = b.at(stage, b.mul(ownRow, shape.strideOfX()), f32);
  x.clear();
  for (int64_t row = 0; row < shape.threadRows; ++row)
    llvm::append_range(x, b.loadMany(b.at(start, row * shape.laneRows() * shape.strideOfX() + quad * kQuad, f32), kQuad));
}

/// A k of its columns.
void TileProduct::loadColumns(Value stage, int64_t k) {
  Value start = b.at(atWeights(stage), ownColumn, f32);
  w.clear();
  for (int64_t group = 0; group < shape.groups(); ++group)
    llvm::append_range(w, b.loadMany(b.at(start, k * shape.columns + group * kWarp, f32), shape.together()));
}

/// Adds the products of a part's first `count` k. After a whole part, the operands that have been read ahead are the next part's, or what its stage
/// happens to hold if there is none.
void TileProduct::multiply(Value part, int64_t count) {
  bool isWhole = count == shape.part;
  Value own = current, next;
  if (isWhole) // a stage that has been filled, even if there is no next part
    next = stage(parts < shape.stages() ? b.min(b.add(part, 1), b.i64(parts - 1)) : b.add(part, 1));
  SmallVector<Value> xNow, wNow;
  for (int64_t k = 0; k < count; ++k) {
    if (isWhole && k == count - kQuad) {
      awaitCopies(b, shape.stages() - 3);
      b.barrier(); // the next part is there, and the one before is no longer read
      fillNext(part);
    }
    if (k % kQuad == 0) {
      xNow = x;
      if (k + kQuad < count)
        loadRows(own, k / kQuad + 1);
      else if (isWhole)
        loadRows(next, 0);
    }
    wNow = w;
    if (k + 1 < count)
      loadColumns(own, k + 1);
    else if (isWhole)
      loadColumns(next, 0);
    for (int64_t row = 0; row < shape.threadRows; ++row)
      for (int64_t column = 0; column < shape.threadColumns; ++column) {
        Value &sum = sums[row * shape.threadColumns + column];
        sum = codegen::fusedMultiplyAdd(b, xNow[row * kQuad + k % kQuad], wNow[column], sum);
      }
  }
  free = own, current = next;
  b.holdReads();
}

void TileProduct::storeSums() {
  for (int64_t row = 0; row < shape.threadRows; ++row)
    for (int64_t group = 0; group < shape.groups(); ++group) {
      Value offset = b.add(b.mul(b.add(ownRow, row * shape.laneRows()), shape.stride()), b.add(ownColumn, group * kWarp));
      b.storeMany(ArrayRef(sums).slice(row * shape.threadColumns + group * shape.together(), shape.together()), b.at(shared, offset, f32));
    }
}

Value TileProduct::run() {
  assert(shape.isPossible());
  b.setBlocksPerMultiprocessor(shape.blocks - operands.ofBytes); // the words that wait for their stage are in registers
  shared = b.shared(b.getI8Type(), shape.sharedBytes());
  locateThread();
  findWeights();
  findX();
  fillFirst();
  awaitCopies(b, shape.stages() - 2);
  b.barrier();
  loadRows(shared, 0);
  loadColumns(shared, 0);
  b.holdReads();
  sums.assign(shape.threadRows * shape.threadColumns, b.f32(0));
  current = shared, free = stage(b.i64(shape.stages() - 1));
  int64_t whole = depth / shape.part;
  if (whole) {
    auto carried = [&] {
      SmallVector<Value> values = llvm::to_vector(llvm::concat<Value>(sums, x, w, words));
      values.append({current, free});
      return values;
    };
    auto take = [&](ValueRange values) {
      for (SmallVector<Value> *kept : {&sums, &x, &w, &words}) {
        llvm::copy(values.take_front(kept->size()), kept->begin());
        values = values.drop_front(kept->size());
      }
      current = values[0], free = values[1];
    };
    take(b.loopWithoutUnrolling(b.i64(0), b.i64(whole), 1, carried(), [&](Value part, ValueRange values) {
      take(values);
      multiply(part, shape.part);
      return carried();
    }));
  }
  if (hasTail())
    multiply(b.i64(whole), depth - whole * shape.part);
  b.barrier(); // nobody reads the ring any more
  storeSums();
  return shared;
}

} // namespace

Value multiplyTile(GpuBuilder &b, const TileShape &shape, const TileOperands &operands, Value firstRow, Value firstPanel) {
  return TileProduct(b, shape, operands, firstRow, firstPanel).run();
}

} // namespace xf::gpu
