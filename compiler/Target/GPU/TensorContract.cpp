// The kernels of xf.contract with 16-bit factors, which apply an op's region to the sums of tensor products: for few rows straight from
// registers, for many from shared memory, whole rows at a time.
#include "compiler/Target/GPU/ContractEpilogue.h"
#include "compiler/Target/GPU/TensorProduct.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {
namespace {

constexpr int64_t kFewRows = 16, kWarps = 2; // of few rows: up to how many, and the warps of a block, which take a panel each
constexpr ManyRowsProduct::Shape kMany{4};

class TensorContract {
public:
  TensorContract(GpuBuilder builder, ContractOp op, const KernelRequest &request)
      : b(std::move(builder)), epilogue(b, op, request) {
    auto weight = cast<RankedTensorType>(op.getWeight().getType());
    operands = {weight.getElementType(), weight.getDimSize(0), weight.getDimSize(1), b.data(0), b.stride(0, 0),
                b.size(request.resultView(), 0), b.data(1)};
  }

  void emitFew();
  void emitMany();

private:
  Value inside(Value column) { return b.less(column, b.i64(operands.columns)); }

  GpuBuilder b;
  ContractEpilogue epilogue;
  TensorOperands operands;
};

void TensorContract::emitFew() {
  int64_t parts = llvm::divideCeil(operands.columns, kWarps * kPanelColumns);
  Value firstRow = b.mul(b.divide(b.block(), b.i64(parts)), kTileRows);
  Value panel = b.add(b.mul(b.remainder(b.block(), b.i64(parts)), kWarps), b.warp());
  SmallVector<Value> sums = FewRowsProduct(b, operands).multiply(firstRow, panel);
  Value firstColumn = b.mul(panel, kPanelColumns);
  for (int64_t i = 0; i < FewRowsProduct::kSums; ++i) {
    Value row = b.add(firstRow, FewRowsProduct::rowOf(b, i)), column = b.add(firstColumn, FewRowsProduct::columnOf(b, i));
    Value exists = b.create<arith::AndIOp>(b.less(row, operands.rows), inside(column));
    b.ifThen(exists, [&] { epilogue.storeElement(sums[i], row, column); });
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
  Value column = b.add(b.mul(firstPanel, kPanelColumns), own), lastRow = b.sub(operands.rows, 1);
  b.ifThen(inside(column), [&] {
    b.loop(b.i64(0), b.i64(kMany.kRows), kApart * kBatch, [&](Value start) {
      SmallVector<Value> row;
      SmallVector<cpu::RegionVectorizer> regions;
      for (int64_t i = 0; i < kBatch; ++i) {
        row.push_back(b.add(b.add(start, first), i * kApart));
        regions.push_back(epilogue.read(b.min(b.add(firstRow, row[i]), lastRow), column));
      }
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

LogicalResult emitTensorContract(ContractOp op, const KernelRequest &request, Kernel &kernel) {
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  if (!weight.getElementType().isBF16() && !weight.getElementType().isF16())
    return op.emitError("the GPU back end does not multiply ") << weight.getElementType();
  int64_t columns = weight.getDimSize(0);
  unsigned result = request.resultView();
  std::string few = (request.name + "_few").str(), many = (request.name + "_many").str();
  TensorContract(request.start(few, kWarps * kWarp, op.getLoc()), op, request).emitFew();
  TensorContract(request.start(many, kMany.threads(), op.getLoc()), op, request).emitMany();
  auto blocks = [&](int64_t own) { return static_cast<int64_t>(llvm::divideCeil(columns, own)); };
  kernel.launches.push_back({few, kWarps * kWarp, {{result, 0, kTileRows}}, 1, blocks(kWarps * kPanelColumns),
                             Launch::Limit{result, 0, kFewRows}});
  kernel.launches.push_back({many, kMany.threads(), {{result, 0, kMany.kRows}}, 1, blocks(kMany.columns()), std::nullopt});
  return success();
}

} // namespace xf::gpu
