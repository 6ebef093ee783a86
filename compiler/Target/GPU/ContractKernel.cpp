// The kernels of xf.contract in f32, whose weights may be bytes (ByteWeights.h); those of 16-bit factors are in TensorContract.cpp.
// Weights are read in the panels that the CPU reads.
//
// An element is one chain of fused multiply-adds over ascending k from +0, in both kernels, so that which of them runs
// (many rows or few) changes no bit, and the CPU's AVX code computes the same bits.
#include "compiler/Target/GPU/ByteWeights.h"
#include "compiler/Target/GPU/ContractEpilogue.h"
#include "compiler/Target/GPU/FewRowsContract.h"
#include "compiler/Target/GPU/TileProduct.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {

static constexpr int64_t kPanel = codegen::kLanes;
static constexpr TileShape kMany{64, 64, 4, 4, 16};

static void emitManyRows(GpuBuilder b, ContractOp op, const KernelRequest &request) {
  ContractEpilogue epilogue(b, op, request);
  Type f32 = b.getF32Type();
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  bool ofBytes = weight.getElementType().isInteger(8);
  int64_t columns = weight.getDimSize(0), depth = weight.getDimSize(1), tiles = llvm::divideCeil(columns, kMany.columns);
  Value lastRow = b.sub(b.size(request.resultView(), 0), 1);
  Value firstRow = b.mul(b.divide(b.block(), b.i64(tiles)), kMany.rows);
  Value firstColumn = b.mul(b.remainder(b.block(), b.i64(tiles)), kMany.columns);
  // Rows and panels behind the last one are the last one: their sums are not stored.
  auto x = [&](Value row, Value k) {
    return b.at(b.data(0), b.add(b.mul(b.min(b.add(firstRow, row), lastRow), b.stride(0, 0)), k), f32);
  };
  auto weights = [&](Value panel) {
    Value existing = b.min(b.add(b.div(firstColumn, b.i64(kPanel)), panel), b.i64(llvm::divideCeil(columns, kPanel) - 1));
    // A word of bytes is as large as an f32.
    return b.at(b.data(1), b.mul(existing, (ofBytes ? llvm::divideCeil(depth, kWordDepth) : depth) * kPanel), f32);
  };
  SmallVector<Value> sums = multiplyTile(b, kMany, {depth, x, ofBytes, weights});

  SmallVector<codegen::RegionVectorizer> regions;
  auto rowOf = [&](int64_t i) { return b.add(b.add(firstRow, kMany.ownRow(b)), i / kMany.ownColumns); };
  auto columnOf = [&](int64_t i) { return b.add(b.add(firstColumn, kMany.ownColumn(b)), i % kMany.ownColumns); };
  for (size_t i = 0; i < sums.size(); ++i)
    regions.push_back(epilogue.read(rowOf(i), columnOf(i)));
  b.holdReads();
  for (size_t i = 0; i < sums.size(); ++i) {
    Value row = rowOf(i), column = columnOf(i);
    b.ifThen(epilogue.exists(row, column), [&] { epilogue.store(regions[i], sums[i], row, column); });
  }
  b.finish();
}

static Launch launchOfFew(ContractOp op, const KernelRequest &request, StringRef name) {
  int64_t columns = cast<RankedTensorType>(op.getWeight().getType()).getDimSize(0);
  auto panels = static_cast<int64_t>(llvm::divideCeil(columns, kPanel));
  return {name.str(), kFewRowsThreads, {{request.resultView(), 0, kFewRowsTile}}, 1, panels,
          Launch::Limit{request.resultView(), 0, mostFewRows(columns)}};
}

std::optional<Launch> emitContractWith(const Prologue &prologue, ContractOp op, const KernelRequest &request) {
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  if (!weight.getElementType().isF32() && !weight.getElementType().isInteger(8))
    return emitTensorContractWith(prologue, op, request);
  Launch launch = launchOfFew(op, request, request.name);
  emitFewRows(prologue.start(request, launch.threads, op.getLoc()), op, request, &prologue);
  return launch;
}

LogicalResult emitContract(ContractOp op, const KernelRequest &request, Kernel &kernel) {
  if (request.operands.size() != 2 + op.getExtras().size())
    return op.emitError("a matrix product reads per-sentence states through a copy only");
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  bool ofBytes = weight.getElementType().isInteger(8);
  if (ofBytes && !cast<RankedTensorType>(op.getX().getType()).getElementType().isF32())
    return op.emitError("the GPU back end does not multiply bytes with bytes");
  if (!ofBytes && !weight.getElementType().isF32())
    return emitTensorContract(op, request, kernel);
  std::string few = (request.name + "_few").str(), many = (request.name + "_many").str();
  kernel.launches.push_back(launchOfFew(op, request, few));
  emitFewRows(request.start(few, kFewRowsThreads, op.getLoc()), op, request);
  emitManyRows(request.start(many, kMany.threads(), op.getLoc()), op, request);
  auto tiles = static_cast<int64_t>(llvm::divideCeil(weight.getDimSize(0), kMany.columns));
  kernel.launches.push_back({many, kMany.threads(), {{request.resultView(), 0, kMany.rows}}, 1, tiles, std::nullopt});
  return success();
}

} // namespace xf::gpu
