// Few rows in f32, as in a decoder's step: a block computes a panel's columns of 4 rows, a thread an element. Its cost is reading the
// weights, of f32 or of bytes. They come to shared memory by asynchronous copies of 16 bytes, some parts ahead: enough are under way to keep
// memory busy, however few registers there are.
//
// A panel is a sequence of lines of 16 words, one for each column; a word is one k of f32, or four of bytes.
#include "compiler/Target/GPU/FewRowsContract.h"

#include "compiler/Target/GPU/ByteWeights.h"
#include "compiler/Target/GPU/ContractEpilogue.h"
#include "compiler/Target/GPU/RowEmitter.h"
#include "compiler/Target/GPU/TensorCore.h"
#include "compiler/Target/VectorMath.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {
namespace {

constexpr int64_t kPanel = codegen::kLanes, kRows = kFewRowsTile, kThreads = kFewRowsThreads;
static_assert(kThreads == kRows * kPanel);
// A part is what is copied at once, a chunk what one copy moves.
constexpr int64_t kPartLines = 64, kLineBytes = 4 * kPanel, kPartBytes = kPartLines * kLineBytes, kChunk = 16, kStages = 7;
// The k of x in shared memory; the stride of its rows, two of which a warp reads from different banks; and a thread's reads of x under way.
constexpr int64_t kMaxX = 1024, kRowStride = kMaxX + 4, kReads = 32;
// k that are multiplied together, and how many of these are unrolled.
constexpr int64_t kQuad = 4, kUnroll = 8;
static_assert(kMaxX >= RowEmitter::kMaxUnrolled); // what a prologue makes
static_assert(kMaxX % (kPartLines * kWordDepth) == 0 && kStages * kPartBytes + kRows * kRowStride * 4 <= kSharedBytes);

class FewRows {
public:
  FewRows(GpuBuilder builder, ContractOp op, const KernelRequest &request)
      : b(builder), epilogue(b, op, request), f32(b.getF32Type()), rows(b.size(request.resultView(), 0)) {
    auto weight = cast<RankedTensorType>(op.getWeight().getType());
    columns = weight.getDimSize(0);
    depth = weight.getDimSize(1);
    wordDepth = weight.getElementType().isInteger(8) ? kWordDepth : 1;
    lines = llvm::divideCeil(depth, wordDepth);
  }

  void emit(const Prologue *prologue);

private:
  Value stage(Value part) { return atByte(weights, b.mul(b.rem(part, b.i64(kStages)), kPartBytes)); }
  void fill(Value part);
  void stageX(Value firstK);
  Value multiply(Value part, int64_t count, Value sum);
  Value atByte(Value base, Value offset) { return b.at(base, offset, b.getI8Type()); }

  GpuBuilder b;
  ContractEpilogue epilogue;
  Type f32;
  Value rows;
  int64_t columns, depth, wordDepth, lines;
  Value firstRow, panel;   // of the block
  Value ownRow, ownColumn; // of the thread, in the block
  Value weights, sharedX;
};

/// Starts to bring a part to its stage; lines behind the last one are zeros.
void FewRows::fill(Value part) {
  Value first = b.mul(part, kPartBytes), target = stage(part);
  for (int64_t i = 0; i < kPartBytes / kChunk; i += kThreads) {
    Value stageOffset = b.mul(b.add(b.thread(), i), kChunk), offset = b.add(first, stageOffset), exists;
    if (lines % kPartLines) {
      exists = b.less(offset, b.i64(lines * kLineBytes));
      offset = b.min(offset, b.i64(lines * kLineBytes - kChunk));
    }
    copyAsyncIf(b, exists, atByte(target, stageOffset), atByte(b.data(1), b.add(b.mul(panel, lines * kLineBytes), offset)));
  }
}

/// Copies x[firstRow … + 3, firstK …] to shared memory. The last row and column stand for those after them: nobody stores results
/// of such rows, or reads such columns.
void FewRows::stageX(Value firstK) {
  int64_t steps = llvm::divideCeil(std::min(depth, kMaxX), kThreads);
  for (int64_t first = 0; first < steps; first += kReads / kRows) {
    SmallVector<std::pair<Value, Value>> read;
    for (int64_t step = first; step < std::min(first + kReads / kRows, steps); ++step)
      for (int64_t i = 0; i < kRows; ++i) {
        Value own = b.add(b.thread(), step * kThreads), k = b.min(b.add(firstK, own), b.i64(depth - 1));
        Value row = b.min(b.add(firstRow, i), b.sub(rows, 1));
        Value element = b.load(f32, b.at(b.data(0), b.add(b.mul(row, b.stride(0, 0)), k), f32));
        read.push_back({element, b.at(sharedX, b.add(own, i * kRowStride), f32)});
      }
    for (auto [element, address] : read)
      b.store(element, address);
  }
}

/// Adds the products of a part's first `count` k.
Value FewRows::multiply(Value part, int64_t count, Value sum) {
  Value own = b.at(stage(part), ownColumn, f32);
  Value x = b.at(sharedX, b.add(b.rem(b.mul(part, kPartLines * wordDepth), b.i64(kMaxX)), b.mul(ownRow, kRowStride)), f32);
  auto addQuad = [&](Value quad, int64_t depth, Value sum) {
    SmallVector<Value> w, elements = b.loadMany(b.at(x, b.mul(quad, kQuad), f32), kQuad);
    if (wordDepth > 1)
      w = widenBytes(b, b.load(b.getI32Type(), b.at(own, b.mul(quad, kPanel), f32)));
    else
      for (int64_t k = 0; k < depth; ++k)
        w.push_back(b.load(f32, b.at(own, b.mul(b.add(b.mul(quad, kQuad), k), kPanel), f32)));
    for (int64_t k = 0; k < depth; ++k)
      sum = codegen::fusedMultiplyAdd(b, elements[k], w[k], sum);
    return sum;
  };
  int64_t whole = count / kQuad, looped = whole / kUnroll * kUnroll;
  if (looped)
    sum = b.loopWithoutUnrolling(b.i64(0), b.i64(looped), kUnroll, sum, [&](Value quad, ValueRange carried) {
      Value next = carried[0];
      for (int64_t u = 0; u < kUnroll; ++u)
        next = addQuad(b.add(quad, u), kQuad, next);
      return SmallVector<Value>{next};
    })[0];
  for (int64_t quad = looped; quad < whole; ++quad)
    sum = addQuad(b.i64(quad), kQuad, sum);
  return count % kQuad ? addQuad(b.i64(whole), count % kQuad, sum) : sum;
}

void FewRows::emit(const Prologue *prologue) {
  static_assert(kWordDepth == kQuad);
  int64_t panels = llvm::divideCeil(columns, kPanel), parts = llvm::divideCeil(lines, kPartLines), partDepth = kPartLines * wordDepth;
  firstRow = b.mul(b.divide(b.block(), b.i64(panels)), kRows);
  panel = b.remainder(b.block(), b.i64(panels));
  ownRow = b.div(b.thread(), b.i64(kPanel)), ownColumn = b.rem(b.thread(), b.i64(kPanel));
  // Otherwise ptxas would spare registers for as many blocks as possible, and read one element after the other.
  b.setBlocksPerMultiprocessor(prologue ? 2 : 4);
  weights = b.shared(b.getI8Type(), kStages * kPartBytes);
  sharedX = b.shared(f32, kRows * kRowStride);
  // A group of copies for each part, and an empty one where there is no part, so that the number of open groups tells what has arrived.
  for (int64_t part = 0; part < kStages - 1; ++part) {
    if (part < parts)
      fill(b.i64(part));
    commitCopies(b);
  }
  int64_t copied = std::min(parts, kStages - 1) * kPartBytes;
  if (lines * kLineBytes > copied)
    b.prefetch(atByte(b.data(1), b.add(b.mul(panel, lines * kLineBytes), copied)), lines * kLineBytes - copied, kThreads);
  b.awaitLaunches();
  Value row = b.add(firstRow, ownRow), column = b.add(b.mul(panel, kPanel), ownColumn);
  codegen::RegionVectorizer region = epilogue.read(row, column);
  b.holdReads();
  if (prologue)
    emitPrologue(b, *prologue, kThreads, firstRow, b.equal(panel, b.i64(0)), {sharedX, kRows, kRowStride});
  auto step = [&](Value part, int64_t count, Value sum) {
    Value firstK = b.mul(part, partDepth);
    if (!prologue)
      b.ifThen(b.equal(b.rem(firstK, b.i64(kMaxX)), b.i64(0)), [&] {
        b.barrier(); // what was there is no longer read
        stageX(firstK);
      });
    awaitCopies(b, kStages - 2);
    // Shows what has arrived, and that nobody reads the stage that is filled next.
    b.barrier();
    Value next = b.add(part, kStages - 1);
    b.ifThen(b.less(next, b.i64(parts)), [&] { fill(next); });
    commitCopies(b);
    return multiply(part, count, sum);
  };
  int64_t whole = depth / partDepth;
  Value sum = b.f32(0);
  if (whole)
    sum = b.loop(b.i64(0), b.i64(whole), 1, sum,
                 [&](Value part, ValueRange carried) { return SmallVector<Value>{step(part, partDepth, carried[0])}; })[0];
  if (whole * partDepth < depth)
    sum = step(b.i64(whole), depth - whole * partDepth, sum);
  b.ifThen(epilogue.exists(row, column), [&] { epilogue.store(region, sum, row, column); });
  b.finish();
}

} // namespace

void emitFewRows(GpuBuilder b, ContractOp op, const KernelRequest &request, const Prologue *prologue) { FewRows(b, op, request).emit(prologue); }

} // namespace xf::gpu
