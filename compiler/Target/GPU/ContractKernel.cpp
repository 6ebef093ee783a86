// The kernels of xf.contract in f32; those of 16-bit factors are in TensorContract.cpp. Weights are read in the panels
// [N/16][K][16] that the CPU reads. Weights of bytes (ByteWeights.h) are widened on their way.
//
// An element is one chain of fused multiply-adds over ascending k from +0, in both kernels, so that which of them runs
// (many rows or few) changes no bit, and the CPU's AVX code computes the same bits.
//
// Many rows: a block computes 64 x 64 elements, 4 x 4 a thread, from parts of 16 columns of k in shared memory.
// Few rows, as in a decoder's step: a thread computes 4 rows of one column; the rows' x lie in shared memory, and each
// weight is read once from memory, neighbouring threads reading neighbouring weights.
#include "compiler/Target/CPU/VectorMath.h"
#include "compiler/Target/GPU/ByteWeights.h"
#include "compiler/Target/GPU/ContractEpilogue.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {
namespace {

constexpr int64_t kPanel = cpu::kLanes;
// Many rows.
constexpr int64_t kTile = 64, kTilePanels = kTile / kPanel, kPart = 16, kOwn = 4, kTileThreads = 256;
constexpr int64_t kTileStride = kTile + 4; // of x in shared memory: off the banks' period, and a multiple of 16 bytes
// Few rows.
constexpr int64_t kFewRows = 16, kRows = 4, kColumns = 64, kChunk = 512, kUnroll = 16;

class Contract {
public:
  Contract(GpuBuilder builder, ContractOp op, const KernelRequest &request)
      : b(std::move(builder)), epilogue(b, op, request), f32(b.getF32Type()) {
    auto weight = cast<RankedTensorType>(op.getWeight().getType());
    columns = weight.getDimSize(0);
    depth = weight.getDimSize(1);
    ofBytes = weight.getElementType().isInteger(8);
    panels = llvm::divideCeil(columns, kPanel);
    rows = b.size(request.resultView(), 0);
  }

  void emitMany();
  void emitFew();

private:
  void stageWeights(Value k0, int64_t count);
  void stageBytes(Value k0, int64_t count);
  void multiplyPart(Value k0, int64_t count);
  void stageX(Value firstRow, Value k0, Value count);
  /// The address of x[row, k], rows behind the last one being the last one: their products are not stored.
  Value xAt(Value row, Value k) {
    Value offset = b.add(b.mul(b.min(row, b.sub(rows, 1)), b.stride(0, 0)), k);
    return b.at(b.data(0), offset, b.getF32Type());
  }
  Value panelAt(Value panel, Value offset) {
    Value start = b.mul(b.min(panel, b.i64(panels - 1)), depth * kPanel);
    return b.at(b.data(1), b.add(start, offset), b.getF32Type());
  }

  GpuBuilder b;
  ContractEpilogue epilogue;
  Type f32;
  int64_t columns, depth, panels;
  bool ofBytes; // the weights
  Value rows;
  // Of the block that is being emitted.
  Value firstRow, firstPanel, sharedX, sharedW, ownRow, ownColumn;
  SmallVector<Value> sums;
};

/// A panel's part is 256 neighbours, 4 for each of 64 threads.
void Contract::stageWeights(Value k0, int64_t count) {
  constexpr int64_t kPerPanel = kTileThreads / kTilePanels;
  Value panel = b.div(b.thread(), b.i64(kPerPanel)), place = b.mul(b.rem(b.thread(), b.i64(kPerPanel)), 4);
  Value k = b.div(place, b.i64(kPanel)), lane = b.rem(place, b.i64(kPanel));
  auto stage = [&] {
    auto loaded = b.loadMany(panelAt(b.add(firstPanel, panel), b.add(b.mul(k0, kPanel), place)), 4);
    b.storeMany(loaded, b.at(sharedW, b.add(b.add(b.mul(k, kTile), b.mul(panel, kPanel)), lane), f32));
  };
  count == kPart ? stage() : b.ifThen(b.less(k, b.i64(count)), stage);
}

/// The same of bytes: a word, 4 k of a column, for each thread. The last one may have less.
void Contract::stageBytes(Value k0, int64_t count) {
  static_assert(kTile * kPart == kTileThreads * kWordDepth);
  Type word = b.getI32Type();
  int64_t groups = llvm::divideCeil(depth, kWordDepth);
  Value column = b.rem(b.thread(), b.i64(kTile)), group = b.div(b.thread(), b.i64(kTile));
  Value panel = b.min(b.add(firstPanel, b.div(column, b.i64(kPanel))), b.i64(panels - 1));
  auto stage = [&] {
    Value line = b.add(b.mul(panel, groups), b.add(b.div(k0, b.i64(kWordDepth)), group));
    Value bytes = b.load(word, b.at(b.data(1), b.add(b.mul(line, kPanel), b.rem(column, b.i64(kPanel))), word));
    for (auto [i, w] : llvm::enumerate(widenBytes(b, bytes)))
      b.store(w, b.at(sharedW, b.add(b.mul(b.add(b.mul(group, kWordDepth), i), kTile), column), f32));
  };
  count == kPart ? stage() : b.ifThen(b.less(group, b.i64(llvm::divideCeil(count, kWordDepth))), stage);
}

/// Adds the products of k0 … k0 + count - 1 to the thread's sums.
void Contract::multiplyPart(Value k0, int64_t count) {
  Value thread = b.thread();
  // x: neighbouring threads read neighbouring k; each thread reads 4 rows.
  auto readX = [&] {
    Value k = b.rem(thread, b.i64(kPart)), row = b.div(thread, b.i64(kPart));
    for (int64_t i = 0; i < kTile; i += kTileThreads / kPart) {
      Value r = b.add(row, i);
      Value element = b.load(f32, xAt(b.add(firstRow, r), b.add(k0, k)));
      b.store(element, b.at(sharedX, b.add(b.mul(k, kTileStride), r), f32));
    }
  };
  b.barrier(); // the part before is no longer read
  if (count == kPart)
    readX();
  else
    b.ifThen(b.less(b.rem(thread, b.i64(kPart)), b.i64(count)), readX);
  ofBytes ? stageBytes(k0, count) : stageWeights(k0, count);
  b.barrier();
  for (int64_t k = 0; k < count; ++k) {
    auto x = b.loadMany(b.at(sharedX, b.add(ownRow, k * kTileStride), f32), kOwn);
    auto w = b.loadMany(b.at(sharedW, b.add(ownColumn, k * kTile), f32), kOwn);
    for (int64_t i = 0; i < kOwn; ++i)
      for (int64_t j = 0; j < kOwn; ++j)
        sums[i * kOwn + j] = cpu::fusedMultiplyAdd(b, x[i], w[j], sums[i * kOwn + j]);
  }
}

void Contract::emitMany() {
  int64_t tiles = llvm::divideCeil(panels, kTilePanels);
  firstRow = b.mul(b.divide(b.block(), b.i64(tiles)), kTile);
  firstPanel = b.mul(b.remainder(b.block(), b.i64(tiles)), kTilePanels);
  sharedX = b.shared(b.getF32Type(), kPart * kTileStride);
  sharedW = b.shared(b.getF32Type(), kPart * kTile);
  ownRow = b.mul(b.div(b.thread(), b.i64(kTile / kOwn)), kOwn);
  ownColumn = b.mul(b.rem(b.thread(), b.i64(kTile / kOwn)), kOwn);
  sums.assign(kOwn * kOwn, b.f32(0));
  int64_t whole = depth / kPart * kPart;
  sums = b.loop(b.i64(0), b.i64(whole), kPart, sums, [&](Value k0, ValueRange carried) {
    sums = llvm::to_vector(carried);
    multiplyPart(k0, kPart);
    return sums;
  });
  if (whole < depth)
    multiplyPart(b.i64(whole), depth - whole);

  Value firstColumn = b.add(b.mul(firstPanel, kPanel), ownColumn);
  for (int64_t i = 0; i < kOwn; ++i) {
    Value row = b.add(b.add(firstRow, ownRow), i);
    b.ifThen(b.less(row, rows), [&] {
      for (int64_t j = 0; j < kOwn; ++j) {
        Value column = b.add(firstColumn, j);
        auto store = [&] { epilogue.storeElement(sums[i * kOwn + j], row, column); };
        if (columns % kTile == 0)
          store();
        else
          b.ifThen(b.less(column, b.i64(columns)), store);
      }
    });
  }
  b.finish();
}

/// Copies x[firstRow … + 3, k0 … k0 + count - 1] to shared memory, the rows of one k side by side.
void Contract::stageX(Value firstRow, Value k0, Value count) {
  b.barrier();
  b.loop(b.thread(), count, kColumns, [&](Value k) {
    SmallVector<Value> values;
    for (int64_t i = 0; i < kRows; ++i)
      values.push_back(b.load(f32, xAt(b.add(firstRow, i), b.add(k0, k))));
    b.storeMany(values, b.at(sharedX, b.mul(k, kRows), f32));
  });
  b.barrier();
}

void Contract::emitFew() {
  int64_t parts = llvm::divideCeil(panels * kPanel, kColumns);
  firstRow = b.mul(b.divide(b.block(), b.i64(parts)), kRows);
  Value column = b.add(b.mul(b.remainder(b.block(), b.i64(parts)), kColumns), b.thread());
  sharedX = b.shared(f32, std::min(depth, kChunk) * kRows);
  Value weights = panelAt(b.div(column, b.i64(kPanel)), b.rem(column, b.i64(kPanel)));
  sums.assign(kRows, b.f32(0));
  // Several weights are under way at once.
  auto step = [&](Value k0, Value k, int64_t unroll) {
    SmallVector<Value> w;
    for (int64_t u = 0; u < unroll; ++u)
      w.push_back(b.load(f32, b.at(weights, b.mul(b.add(b.add(k0, k), u), kPanel), f32)));
    for (int64_t u = 0; u < unroll; ++u) {
      auto x = b.loadMany(b.at(sharedX, b.mul(b.add(k, u), kRows), f32), kRows);
      for (int64_t i = 0; i < kRows; ++i)
        sums[i] = cpu::fusedMultiplyAdd(b, x[i], w[u], sums[i]);
    }
    return sums;
  };
  auto chunk = [&](Value k0, int64_t count) {
    stageX(firstRow, k0, b.i64(count));
    int64_t whole = count / kUnroll * kUnroll;
    sums = b.writtenOutLoop(b.i64(0), b.i64(whole), kUnroll, sums, [&](Value k, ValueRange carried) {
      sums = llvm::to_vector(carried);
      return step(k0, k, kUnroll);
    });
    if (whole < count)
      step(k0, b.i64(whole), count - whole);
    return sums;
  };
  int64_t whole = depth / kChunk * kChunk;
  if (whole)
    sums = b.loop(b.i64(0), b.i64(whole), kChunk, sums, [&](Value k0, ValueRange carried) {
      sums = llvm::to_vector(carried);
      return chunk(k0, kChunk);
    });
  if (whole < depth)
    chunk(b.i64(whole), depth - whole);

  epilogue.storeColumn(sums, firstRow, column);
  b.finish();
}

} // namespace

LogicalResult emitContract(ContractOp op, const KernelRequest &request, Kernel &kernel) {
  if (request.operands.size() != 2 + op.getExtras().size())
    return op.emitError("a matrix product reads per-sentence states through a copy only");
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  bool ofBytes = weight.getElementType().isInteger(8);
  if (ofBytes && !cast<RankedTensorType>(op.getX().getType()).getElementType().isF32())
    return op.emitError("the GPU back end does not multiply bytes with bytes");
  if (!ofBytes && !weight.getElementType().isF32())
    return emitTensorContract(op, request, kernel);
  unsigned result = request.resultView();
  int64_t columns = llvm::alignTo(weight.getDimSize(0), kPanel);
  std::string few = (request.name + "_few").str(), many = (request.name + "_many").str();
  static_assert(kByteThreads == kColumns && kByteColumns == kColumns && kByteRows == kRows);
  GpuBuilder ofFew = request.start(few, kColumns, op.getLoc());
  ofBytes ? emitFewRowsOfBytes(std::move(ofFew), op, request) : Contract(std::move(ofFew), op, request).emitFew();
  Contract(request.start(many, kTileThreads, op.getLoc()), op, request).emitMany();
  kernel.launches.push_back({few, kColumns, {{result, 0, kRows}}, 1, static_cast<int64_t>(llvm::divideCeil(columns, kColumns)),
                             Launch::Limit{result, 0, kFewRows}});
  kernel.launches.push_back(
      {many, kTileThreads, {{result, 0, kTile}}, 1, static_cast<int64_t>(llvm::divideCeil(columns, kTile)), std::nullopt});
  return success();
}

} // namespace xf::gpu
