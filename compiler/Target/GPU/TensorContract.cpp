// The kernels of xf.contract with 16-bit factors, which apply an op's region to the sums of tensor products: for few rows straight from
// registers, for many from shared memory, whole rows at a time.
#include "compiler/Target/GPU/ContractEpilogue.h"
#include "compiler/Target/GPU/FewRowsContract.h"
#include "compiler/Target/GPU/TensorProduct.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {
namespace {

constexpr ManyRowsProduct::Shape kMany{4};

class TensorContract {
public:
  TensorContract(GpuBuilder builder, ContractOp op, const KernelRequest &request)
      : b(std::move(builder)), epilogue(b, op, request) {
    auto weight = cast<RankedTensorType>(op.getWeight().getType());
    operands = {weight.getElementType(), weight.getDimSize(0), weight.getDimSize(1), b.data(0), b.stride(0, 0),
                b.size(request.resultView(), 0), b.data(1)};
  }

  void emitFew(const Prologue *prologue = nullptr);
  void emitMany();

private:
  GpuBuilder b;
  ContractEpilogue epilogue;
  TensorOperands operands;
};

/// With a prologue x is not in memory.
void TensorContract::emitFew(const Prologue *prologue) {
  int64_t panels = llvm::divideCeil(operands.columns, kPanelColumns), threads = FewRowsProduct::warpsFor(operands.depth) * kWarp;
  Value firstRow = b.mul(b.divide(b.block(), b.i64(panels)), kTileRows), panel = b.remainder(b.block(), b.i64(panels));
  // Else ptxas would have as many blocks as there can be, and read what a product waits for one after the other.
  b.setBlocksTogether(std::max<int64_t>((prologue ? 256 : 512) / threads, 1));
  // What the epilogue reads is under way with what the product reads.
  SmallVector<Value> rows, columns;
  SmallVector<codegen::RegionVectorizer> regions;
  for (int64_t first = 0; first < FewRowsProduct::kElements; first += threads) {
    Value element = b.add(b.thread(), first);
    rows.push_back(b.add(firstRow, b.div(element, b.i64(kPanelColumns))));
    columns.push_back(b.add(b.mul(panel, kPanelColumns), b.rem(element, b.i64(kPanelColumns))));
    regions.push_back(epilogue.read(rows.back(), columns.back()));
  }
  b.holdReads();
  FewRowsProduct product(b, operands);
  SmallVector<Value> sums;
  if (prologue) {
    // 16 bytes more than a row: lanes that read a k of 8 rows share no bank.
    int64_t stride = operands.depth + 8;
    sums = product.multiplyMade(panel, stride, [&] {
      Value made = b.shared(operands.factor, kTileRows * stride);
      emitPrologue(b, *prologue, threads, firstRow, b.equal(panel, b.i64(0)), {made, kTileRows, stride});
      b.barrier();
      return made;
    });
  } else {
    sums = product.multiplyTogether(firstRow, panel);
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    Value exists = epilogue.exists(rows[i], columns[i]);
    if (int64_t(i + 1) * threads > FewRowsProduct::kElements)
      exists = b.create<arith::AndIOp>(exists, b.less(b.thread(), b.i64(FewRowsProduct::kElements - int64_t(i) * threads)));
    b.ifThen(exists, [&] { epilogue.store(regions[i], sums[i], rows[i], columns[i]); });
  }
  b.finish();
}

void TensorContract::emitMany() {
  int64_t tiles = llvm::divideCeil(operands.columns, kMany.columns());
  Value firstRow = b.mul(b.divide(b.block(), b.i64(tiles)), kMany.kRows);
  Value firstPanel = b.mul(b.remainder(b.block(), b.i64(tiles)), kMany.panels);
  Value sums = ManyRowsProduct(b, operands, kMany).multiply(firstRow, firstPanel);
  b.barrier();

  // Neighbouring threads have neighbouring columns of a row; a thread's rows are some apart.
  constexpr int64_t kApart = kMany.threads() / kMany.columns(), kBatch = 8;
  Type f32 = b.getF32Type();
  Value own = b.rem(b.thread(), b.i64(kMany.columns())), first = b.div(b.thread(), b.i64(kMany.columns()));
  Value column = b.add(b.mul(firstPanel, kPanelColumns), own);
  b.ifThen(b.less(column, b.i64(operands.columns)), [&] {
    b.loop(b.i64(0), b.i64(kMany.kRows), kApart * kBatch, [&](Value start) {
      SmallVector<Value> row;
      SmallVector<codegen::RegionVectorizer> regions;
      for (int64_t i = 0; i < kBatch; ++i) {
        row.push_back(b.add(b.add(start, first), i * kApart));
        regions.push_back(epilogue.read(b.add(firstRow, row[i]), column));
      }
      b.holdReads();
      for (int64_t i = 0; i < kBatch; ++i) {
        Value target = b.add(firstRow, row[i]);
        b.ifThen(b.less(target, operands.rows), [&] {
          Value sum = b.load(f32, b.at(sums, b.add(b.mul(row[i], kMany.stride()), own), f32));
          epilogue.store(regions[i], sum, target, column);
        });
      }
    });
  });
  b.finish();
}

} // namespace

/// How the kernel for few rows is launched.
static Launch launchOfFew(ContractOp op, const KernelRequest &request, StringRef name) {
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  int64_t panels = llvm::divideCeil(weight.getDimSize(0), kPanelColumns);
  return {name.str(), FewRowsProduct::warpsFor(weight.getDimSize(1)) * kWarp, {{request.resultView(), 0, kTileRows}}, 1, panels,
          Launch::Limit{request.resultView(), 0, mostFewRows(weight.getDimSize(0))}};
}

std::optional<Launch> emitTensorContractWith(const Prologue &prologue, ContractOp op, const KernelRequest &request) {
  if (!FewRowsProduct::canMakeRows(cast<RankedTensorType>(op.getWeight().getType()).getDimSize(1)))
    return std::nullopt;
  Launch launch = launchOfFew(op, request, request.name);
  TensorContract(prologue.start(request, launch.threads, op.getLoc()), op, request).emitFew(&prologue);
  return launch;
}

LogicalResult emitTensorContract(ContractOp op, const KernelRequest &request, Kernel &kernel) {
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  if (!weight.getElementType().isBF16() && !weight.getElementType().isF16())
    return op.emitError("the GPU back end does not multiply ") << weight.getElementType();
  std::string few = (request.name + "_few").str(), many = (request.name + "_many").str();
  kernel.launches.push_back(launchOfFew(op, request, few));
  TensorContract(request.start(few, kernel.launches.back().threads, op.getLoc()), op, request).emitFew();
  TensorContract(request.start(many, kMany.threads(), op.getLoc()), op, request).emitMany();
  auto tiles = static_cast<int64_t>(llvm::divideCeil(weight.getDimSize(0), kMany.columns()));
  kernel.launches.push_back({many, kMany.threads(), {{request.resultView(), 0, kMany.kRows}}, 1, tiles, std::nullopt});
  return success();
}

} // namespace xf::gpu
