// The kernels of xf.contract in f32, whose weights may be bytes (ByteWeights.h); those of 16-bit factors are in TensorContract.cpp.
// Weights are read in the panels that the CPU reads.
//
// An element is one chain of fused multiply-adds over ascending k from +0, in both kernels, so that which of them runs
// (many rows or few) changes no bit, and the CPU's AVX code computes the same bits.
#include "compiler/Target/GPU/ByteWeights.h"
#include "compiler/Target/GPU/ContractEpilogue.h"
#include "compiler/Target/GPU/FewRowsContract.h"
#include "compiler/Target/GPU/TileChoice.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {

static constexpr int64_t kPanel = codegen::kLanes;

static void emitManyRows(GpuBuilder b, const TileShape &shape, ContractOp op, const KernelRequest &request) {
  ContractEpilogue epilogue(b, op, request);
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  int64_t columns = weight.getDimSize(0), tiles = llvm::divideCeil(columns, shape.columns);
  Value firstRow = b.mul(b.divide(b.block(), b.i64(tiles)), shape.rows);
  Value firstColumn = b.mul(b.remainder(b.block(), b.i64(tiles)), shape.columns);
  auto beforeX = [&] { b.awaitLaunches(); };
  TileOperands operands{columns,
                        weight.getDimSize(1),
                        weight.getElementType().isInteger(8),
                        b.data(0),
                        b.stride(0, 0),
                        b.size(request.resultView(), 0),
                        b.data(1),
                        nullptr,
                        beforeX};
  Value sums = multiplyTile(b, shape, operands, firstRow, b.div(firstColumn, b.i64(kPanel)));
  b.barrier();
  epilogue.storeTile({sums, shape.rows, shape.columns, shape.stride(), firstRow, firstColumn}, shape.threads());
  b.finish();
}

static Launch launchOfFew(ContractOp op, const KernelRequest &request, StringRef name) {
  int64_t columns = cast<RankedTensorType>(op.getWeight().getType()).getDimSize(0);
  auto panels = static_cast<int64_t>(llvm::divideCeil(columns, kPanel));
  return {name.str(), kFewRowsThreads, {{request.resultView(), 0, kFewRowsTile}},
          1,          panels,          Launch::Limit{request.resultView(), 0, maxFewRows(columns)}};
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
  int64_t columns = weight.getDimSize(0);
  std::string few = (request.name + "_few").str();
  kernel.launches.push_back(launchOfFew(op, request, few));
  emitFewRows(request.start(few, kFewRowsThreads, op.getLoc()), op, request);
  llvm::StringSet<> emitted;
  for (const TileRange &range : tilesFor(columns, maxFewRows(columns))) {
    const TileShape &shape = range.shape;
    std::string many = (request.name + "_many_" + Twine(shape.rows) + "x" + Twine(shape.columns)).str();
    if (emitted.insert(many).second)
      emitManyRows(request.start(many, shape.threads(), op.getLoc()), shape, op, request);
    auto tiles = static_cast<int64_t>(llvm::divideCeil(columns, shape.columns));
    std::optional<Launch::Limit> limit;
    if (range.maxRows)
      limit = {request.resultView(), 0, *range.maxRows};
    kernel.launches.push_back({many, shape.threads(), {{request.resultView(), 0, shape.rows}}, 1, tiles, limit});
  }
  return success();
}

} // namespace xf::gpu
