// The kernels of xf.contract with 16-bit factors, which apply an op's region to the sums of tensor products: for few and for some rows straight from
// registers, for many from shared memory, whole rows at a time.
#include "compiler/Target/GPU/ContractEpilogue.h"
#include "compiler/Target/GPU/FewRowsContract.h"
#include "compiler/Target/GPU/TensorTileChoice.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {
namespace {

class TensorContract {
public:
  TensorContract(GpuBuilder builder, ContractOp op, const KernelRequest &request) : b(builder), epilogue(b, op, request) {
    auto weight = cast<RankedTensorType>(op.getWeight().getType());
    operands = {
        weight.getElementType(), weight.getDimSize(0), weight.getDimSize(1), b.data(0), b.stride(0, 0), b.size(request.resultView(), 0), b.data(1)};
  }

  void emitFew(const Prologue *prologue = nullptr);
  void emitSome();
  void emitMany(const ManyRowsProduct::Shape &shape);

private:
  GpuBuilder b;
  ContractEpilogue epilogue;
  TensorOperands operands;
};

/// With a prologue x is not in memory.
void TensorContract::emitFew(const Prologue *prologue) {
  int64_t panels = llvm::divideCeil(operands.columns, kPanelColumns), threads = FewRowsProduct::warpsFor(operands.depth) * kWarp;
  Value firstRow = b.mul(b.divide(b.block(), b.i64(panels)), kTileRows), panel = b.remainder(b.block(), b.i64(panels));
  // Otherwise ptxas would spare registers for as many blocks as possible, and read a product's operands one after the other.
  b.setBlocksPerMultiprocessor(std::max<int64_t>((prologue ? 256 : 512) / threads, 1));
  // What the epilogue reads is under way with what the product reads.
  SmallVector<Value> rows, columns;
  SmallVector<codegen::RegionVectorizer> regions;
  auto readExtras = [&] {
    b.awaitLaunches();
    for (int64_t first = 0; first < FewRowsProduct::kElements; first += threads) {
      Value element = b.add(b.thread(), first);
      rows.push_back(b.add(firstRow, b.div(element, b.i64(kPanelColumns))));
      columns.push_back(b.add(b.mul(panel, kPanelColumns), b.rem(element, b.i64(kPanelColumns))));
      regions.push_back(epilogue.read(rows.back(), columns.back()));
    }
    b.holdReads();
  };
  Value groupRow = b.div(b.lane(), b.i64(4));
  FewRowsProduct product(b, operands);
  SmallVector<Value> sums;
  if (prologue) {
    // 16 bytes more than a row: lanes that read a k of 8 rows share no bank.
    int64_t stride = operands.depth + 8;
    sums = product.multiplyBehind(panel, [&]() -> FewRowsProduct::Row {
      readExtras();
      Value made = b.shared(operands.factor, kTileRows * stride);
      emitPrologue(b, *prologue, threads, firstRow, b.equal(panel, b.i64(0)), {made, kTileRows, stride});
      b.barrier();
      return {b.at(made, b.mul(groupRow, stride), operands.factor), Value()};
    });
  } else if (FewRowsProduct::canReadAhead(operands.depth)) {
    sums = product.multiplyBehind(panel, [&]() -> FewRowsProduct::Row {
      readExtras();
      return {product.xRow(b.add(firstRow, groupRow)), product.rowsAligned(4)};
    });
  } else {
    readExtras();
    sums = product.multiplyTogether(firstRow, panel);
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    Value exists = epilogue.exists(rows[i], columns[i]);
    if (int64_t(i + 1) * threads > FewRowsProduct::kElements)
      exists = b.both(exists, b.less(b.thread(), b.i64(FewRowsProduct::kElements - int64_t(i) * threads)));
    b.ifThen(exists, [&] { epilogue.store(regions[i], sums[i], rows[i], columns[i]); });
  }
  b.finish();
}

void TensorContract::emitSome() {
  int64_t tiles = llvm::divideCeil(operands.columns, SomeRowsProduct::kWarpColumns);
  Value firstRow = b.mul(b.divide(b.block(), b.i64(tiles)), SomeRowsProduct::kRows);
  Value firstPanel = b.mul(b.remainder(b.block(), b.i64(tiles)), SomeRowsProduct::kWarpPanels);
  b.setBlocksPerMultiprocessor(SomeRowsProduct::blocksPerMultiprocessor(operands.depth));
  SomeRowsProduct product(b, operands);
  Value column = b.add(b.mul(firstPanel, kPanelColumns), b.lane());
  SmallVector<codegen::RegionVectorizer> regions;
  auto rowOf = [&](int64_t i) { return b.add(firstRow, product.rowOf(i)); };
  auto readExtras = [&] {
    for (int64_t i = 0; i < SomeRowsProduct::sumsFor(operands.depth); ++i)
      regions.push_back(epilogue.read(rowOf(i), column));
    b.holdReads();
  };
  SmallVector<Value> sums = product.multiply(firstRow, firstPanel, [&] { b.awaitLaunches(); }, readExtras);
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value exists = epilogue.exists(rowOf(i), column);
    exists = b.both(exists, b.less(product.rowOf(i), b.i64(SomeRowsProduct::kRows)));
    b.ifThen(exists, [&] { epilogue.store(regions[i], sum, rowOf(i), column); });
  }
  b.finish();
}

void TensorContract::emitMany(const ManyRowsProduct::Shape &shape) {
  int64_t tiles = llvm::divideCeil(operands.columns, shape.columns()), together = ManyRowsProduct::sharedRows(shape);
  Value firstRow = b.mul(b.divide(b.block(), b.i64(tiles)), shape.rows);
  Value firstPanel = b.mul(b.remainder(b.block(), b.i64(tiles)), shape.panels);
  ManyRowsProduct product(b, operands, shape);
  product.multiply(firstRow, firstPanel, [&] { b.awaitLaunches(); });
  for (int64_t first = 0; first < shape.rows; first += together) {
    if (first)
      b.barrier();
    Value sums = product.share(first);
    b.barrier();
    epilogue.storeTile({sums, together, shape.columns(), shape.stride(), b.add(firstRow, first), b.mul(firstPanel, kPanelColumns), 16},
                       shape.threads());
  }
  b.finish();
}

} // namespace

/// How the kernel for few rows is launched.
static Launch launchOfFew(ContractOp op, const KernelRequest &request, StringRef name) {
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  int64_t panels = llvm::divideCeil(weight.getDimSize(0), kPanelColumns);
  return {name.str(),
          FewRowsProduct::warpsFor(weight.getDimSize(1)) * kWarp,
          {{request.resultView(), 0, kTileRows}},
          1,
          panels,
          Launch::Limit{request.resultView(), 0, maxFewRows(weight.getDimSize(0))}};
}

std::optional<Launch> emitTensorContractWith(const Prologue &prologue, ContractOp op, const KernelRequest &request) {
  if (!FewRowsProduct::canReadAhead(cast<RankedTensorType>(op.getWeight().getType()).getDimSize(1)))
    return std::nullopt;
  Launch launch = launchOfFew(op, request, request.name);
  TensorContract(prologue.start(request, launch.threads, op.getLoc()), op, request).emitFew(&prologue);
  return launch;
}

LogicalResult emitTensorContract(ContractOp op, const KernelRequest &request, Kernel &kernel) {
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  if (!weight.getElementType().isBF16() && !weight.getElementType().isF16())
    return op.emitError("the GPU back end does not multiply ") << weight.getElementType();
  int64_t columns = weight.getDimSize(0);
  std::string few = (request.name + "_few").str();
  kernel.launches.push_back(launchOfFew(op, request, few));
  TensorContract(request.start(few, kernel.launches.back().threads, op.getLoc()), op, request).emitFew();
  for (const TensorTileRange &range : tensorTilesFor(columns, maxFewRows(columns))) {
    auto add = [&](const Twine &suffix, int64_t rows, int64_t width, int64_t threads) {
      std::string name = (request.name + suffix).str();
      auto limit = range.maxRows ? std::optional(Launch::Limit{request.resultView(), 0, *range.maxRows}) : std::nullopt;
      auto tiles = static_cast<int64_t>(llvm::divideCeil(columns, width));
      kernel.launches.push_back({name, threads, {{request.resultView(), 0, rows}}, 1, tiles, limit});
      return TensorContract(request.start(name, threads, op.getLoc()), op, request);
    };
    if (range.shape) {
      const ManyRowsProduct::Shape &shape = *range.shape;
      add("_many_" + Twine(shape.rows) + "x" + Twine(shape.columns()), shape.rows, shape.columns(), shape.threads()).emitMany(shape);
    } else {
      add("_some", SomeRowsProduct::kRows, SomeRowsProduct::kWarpColumns, SomeRowsProduct::warpsFor(weight.getDimSize(1)) * kWarp).emitSome();
    }
  }
  return success();
}

} // namespace xf::gpu
