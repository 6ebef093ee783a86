// Few rows, as in a decoder's step: a thread computes 4 rows of a column, and what that costs is to read the weights. They come
// to shared memory by asynchronous copies of 16 bytes, whole lines of a panel side by side, some parts ahead: as much is
// under way as memory needs to be busy, whatever registers there are.
#include "compiler/Target/GPU/ByteWeights.h"

#include "compiler/Target/CPU/VectorMath.h"
#include "compiler/Target/GPU/ContractEpilogue.h"
#include "compiler/Target/GPU/TensorCore.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {

/// A byte, made unsigned, in the lowest place of the f32 2^23: two instructions, where conversions are slow.
SmallVector<Value> widenBytes(GpuBuilder &b, Value word) {
  constexpr int64_t kExponent = 0x4b000000; // of 2^23
  Type i32 = b.getI32Type();
  auto constant = [&](int64_t value) { return b.create<arith::ConstantIntOp>(static_cast<int32_t>(value), 32); };
  Value shifted = b.create<arith::XOrIOp>(word, constant(0x80808080));
  SmallVector<Value> widened;
  for (int64_t i = 0; i < kWordDepth; ++i) {
    // The bytes of the result, highest first: 7, 5 and 4 of the exponent's word, i of the other.
    Value operands[] = {shifted, constant(kExponent), constant(0x7540 + i)};
    Value bits = b.create<LLVM::CallIntrinsicOp>(i32, b.getStringAttr("llvm.nvvm.prmt"), operands).getResults();
    Value number = b.create<arith::BitcastOp>(b.getF32Type(), bits);
    widened.push_back(b.create<arith::SubFOp>(number, b.f32(0x1p23 + 128)));
  }
  return widened;
}

namespace {

constexpr int64_t kPanel = cpu::kLanes, kPanels = kByteColumns / kPanel, kUnroll = 4;
// A part is what is copied at once: this many k, of panels that begin every so many bytes. A chunk is what one copy moves.
constexpr int64_t kPart = 64, kGroupBytes = kPanel * kWordDepth, kPanelBytes = kPart / kWordDepth * kGroupBytes;
constexpr int64_t kStages = 4, kStageBytes = kPanels * kPanelBytes, kChunk = 16;
// Of x as many k are in shared memory; a thread reads several at a time.
constexpr int64_t kMostX = 1024, kOwnX = 4;
static_assert(kPanelBytes == kByteThreads * kChunk && kMostX % kPart == 0 && kMostX % (kOwnX * kByteThreads) == 0);
static_assert(kStages * kStageBytes + kByteRows * kMostX * 4 <= kSharedBytes);

class FewRowsOfBytes {
public:
  FewRowsOfBytes(GpuBuilder builder, ContractOp op, const KernelRequest &request)
      : b(std::move(builder)), epilogue(b, op, request), f32(b.getF32Type()) {
    auto weight = cast<RankedTensorType>(op.getWeight().getType());
    columns = weight.getDimSize(0);
    depth = weight.getDimSize(1);
    panels = llvm::divideCeil(columns, kPanel);
    groups = llvm::divideCeil(depth, kWordDepth);
    rowLength = std::min<int64_t>(llvm::alignTo(depth, kOwnX * kByteThreads), kMostX);
    rows = b.size(request.resultView(), 0);
  }

  void emit();

private:
  void fill(Value part);
  void stageX(Value firstK);
  SmallVector<Value> multiply(Value part, int64_t count, ValueRange sums);
  /// Where group `group` of a part lies in its panel: the panels of a warp begin at the same bank, so one's neighbours are swapped.
  Value placeOf(Value panel, Value group) {
    return b.mul(b.create<arith::XOrIOp>(group, b.rem(panel, b.i64(2))), kGroupBytes);
  }
  Value atByte(Value base, Value offset) { return b.at(base, offset, b.getI8Type()); }

  GpuBuilder b;
  ContractEpilogue epilogue;
  Type f32;
  int64_t columns, depth, panels, groups, rowLength;
  Value rows;
  Value firstRow, firstPanel, weights, sharedX;
};

/// Starts to bring a part to its stage; groups behind the last one are zeros.
void FewRowsOfBytes::fill(Value part) {
  constexpr int64_t kChunks = kGroupBytes / kChunk;
  Value stage = atByte(weights, b.mul(b.rem(part, b.i64(kStages)), kStageBytes));
  Value group = b.div(b.thread(), b.i64(kChunks)), chunk = b.mul(b.rem(b.thread(), b.i64(kChunks)), kChunk);
  Value source = b.add(b.mul(part, kPart / kWordDepth), group);
  Value bytes;
  if (depth % kPart)
    bytes = b.create<arith::SelectOp>(b.less(source, b.i64(groups)), b.create<arith::ConstantIntOp>(kChunk, 32),
                                      b.create<arith::ConstantIntOp>(0, 32));
  for (int64_t i = 0; i < kPanels; ++i) {
    Value panel = b.min(b.add(firstPanel, i), b.i64(panels - 1));
    Value from = b.add(b.mul(b.add(b.mul(panel, groups), b.min(source, b.i64(groups - 1))), kGroupBytes), chunk);
    Value to = b.add(b.add(placeOf(b.i64(i), group), chunk), i * kPanelBytes);
    copyAsync(b, atByte(stage, to), atByte(b.data(1), from), bytes);
  }
}

/// Copies x[firstRow … + 3, firstK …] to shared memory. Rows and columns behind the last ones are the last ones: nobody
/// stores what comes of these rows, or reads these columns.
void FewRowsOfBytes::stageX(Value firstK) {
  Value last = b.i64(depth - 1);
  b.loop(b.thread(), b.i64(rowLength), kOwnX * kByteThreads, [&](Value first) {
    SmallVector<Value> values;
    for (int64_t u = 0; u < kOwnX; ++u)
      for (int64_t i = 0; i < kByteRows; ++i) {
        Value row = b.min(b.add(firstRow, i), b.sub(rows, 1)), k = b.min(b.add(b.add(firstK, first), u * kByteThreads), last);
        values.push_back(b.load(f32, b.at(b.data(0), b.add(b.mul(row, b.stride(0, 0)), k), f32)));
      }
    for (int64_t u = 0; u < kOwnX; ++u)
      for (int64_t i = 0; i < kByteRows; ++i)
        b.store(values[u * kByteRows + i], b.at(sharedX, b.add(first, u * kByteThreads + i * rowLength), f32));
  });
}

/// Adds the products of a part's first `count` k.
SmallVector<Value> FewRowsOfBytes::multiply(Value part, int64_t count, ValueRange sums) {
  Value panel = b.div(b.thread(), b.i64(kPanel)), lane = b.rem(b.thread(), b.i64(kPanel));
  Value stage = atByte(weights, b.add(b.mul(b.rem(part, b.i64(kStages)), kStageBytes), b.mul(panel, kPanelBytes)));
  Value own = b.at(stage, lane, b.getI32Type());
  Value x = b.at(sharedX, b.rem(b.mul(part, kPart), b.i64(kMostX)), f32);
  auto addGroup = [&](Value group, int64_t depth, SmallVector<Value> &next) {
    SmallVector<Value> w = widenBytes(b, b.load(b.getI32Type(), atByte(own, placeOf(panel, group))));
    for (int64_t i = 0; i < kByteRows; ++i) {
      auto elements = b.loadMany(b.at(x, b.add(b.mul(group, kWordDepth), i * rowLength), f32), kWordDepth);
      for (int64_t k = 0; k < depth; ++k)
        next[i] = cpu::fusedMultiplyAdd(b, elements[k], w[k], next[i]);
    }
  };
  int64_t whole = count / kWordDepth, looped = whole / kUnroll * kUnroll;
  SmallVector<Value> all = b.loop(b.i64(0), b.i64(looped), kUnroll, sums, [&](Value group, ValueRange carried) {
    SmallVector<Value> next = llvm::to_vector(carried);
    for (int64_t u = 0; u < kUnroll; ++u)
      addGroup(b.add(group, u), kWordDepth, next);
    return next;
  });
  for (int64_t group = looped; group < whole; ++group)
    addGroup(b.i64(group), kWordDepth, all);
  if (count % kWordDepth)
    addGroup(b.i64(whole), count % kWordDepth, all);
  return all;
}

void FewRowsOfBytes::emit() {
  int64_t tiles = llvm::divideCeil(panels, kPanels), whole = depth / kPart, parts = llvm::divideCeil(depth, kPart);
  firstRow = b.mul(b.divide(b.block(), b.i64(tiles)), kByteRows);
  firstPanel = b.mul(b.remainder(b.block(), b.i64(tiles)), kPanels);
  weights = b.shared(b.getI8Type(), kStages * kStageBytes);
  sharedX = b.shared(f32, kByteRows * rowLength);
  // A group of copies for each part, and an empty one where there is no part, so that numbers tell what has arrived.
  for (int64_t part = 0; part < kStages - 1; ++part) {
    if (part < parts)
      fill(b.i64(part));
    closeCopies(b);
  }
  auto step = [&](Value part, int64_t count, ValueRange sums) {
    awaitCopies(b, kStages - 2);
    Value firstK = b.mul(part, kPart);
    b.ifThen(b.equal(b.rem(firstK, b.i64(kMostX)), b.i64(0)), [&] {
      b.barrier(); // what was there is no longer read
      stageX(firstK);
    });
    // Shows what has arrived, and that nobody reads the stage that is filled next.
    b.barrier();
    Value next = b.add(part, kStages - 1);
    b.ifThen(b.less(next, b.i64(parts)), [&] { fill(next); });
    closeCopies(b);
    return multiply(part, count, sums);
  };
  SmallVector<Value> sums(kByteRows, b.f32(0));
  sums = b.loop(b.i64(0), b.i64(whole), 1, sums, [&](Value part, ValueRange carried) { return step(part, kPart, carried); });
  if (whole < parts)
    sums = step(b.i64(whole), depth - whole * kPart, sums);

  epilogue.storeColumn(sums, firstRow, b.add(b.mul(firstPanel, kPanel), b.thread()));
  b.finish();
}

} // namespace

void emitFewRowsOfBytes(GpuBuilder b, ContractOp op, const KernelRequest &request) {
  FewRowsOfBytes(std::move(b), op, request).emit();
}

} // namespace xf::gpu
