#include "compiler/Target/GPU/ContractEpilogue.h"

using namespace mlir;

namespace xf::gpu {

Value ContractEpilogue::extra(unsigned i, Value row, Value column) {
  unsigned view = 2 + i;
  auto type = cast<RankedTensorType>(op.getExtras()[i].getType());
  int64_t last = cast<RankedTensorType>(op.getResult().getType()).getRank() - 1;
  bool byRow = false, byColumn = false;
  for (int64_t dim : op.getMap(i)) {
    byColumn |= dim == last;
    byRow |= dim >= 0 && dim != last;
  }
  Value offset = b.i64(0);
  if (byRow)
    offset = b.mul(row, b.stride(view, 0));
  if (byColumn) {
    int64_t stride = access.lastStride[view];
    Value step = ShapedType::isDynamic(stride) ? b.stride(view, byRow ? 1 : 0) : b.i64(stride);
    offset = b.add(offset, b.mul(column, step));
  }
  return b.load(type.getElementType(), b.at(b.data(view), offset, type.getElementType()));
}

Value ContractEpilogue::exists(Value row, Value column) { return b.both(b.less(row, rows()), b.less(column, columns())); }

codegen::RegionVectorizer ContractEpilogue::read(Value row, Value column) {
  row = b.min(row, b.sub(rows(), 1)), column = b.min(column, b.sub(columns(), 1));
  Block &body = op.getBody().front();
  codegen::RegionVectorizer region(b);
  int64_t last = cast<RankedTensorType>(op.getResult().getType()).getRank() - 1;
  for (unsigned i = 0; i < op.getExtras().size(); ++i)
    region.bind(body.getArgument(1 + i), extra(i, row, column), /*isElement=*/llvm::is_contained(op.getMap(i), last));
  return region;
}

void ContractEpilogue::store(codegen::RegionVectorizer region, Value sum, Value row, Value column) {
  Block &body = op.getBody().front();
  region.bind(body.getArgument(0), sum, /*isElement=*/true);
  Value value = region.emit(body.getTerminator()->getOperand(0));
  Type element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  int64_t stride = access.lastStride[result];
  Value step = ShapedType::isDynamic(stride) ? b.stride(result, 1) : b.i64(stride);
  Value offset = b.add(b.mul(row, b.stride(result, 0)), b.mul(column, step));
  b.store(value, b.at(b.data(result), offset, element));
}

void ContractEpilogue::storeTile(const Tile &tile, int64_t threads) {
  // A thread's rows are some apart.
  const int64_t rowStep = threads / tile.columns, batch = std::min(tile.together, tile.rows / rowStep);
  Value own = b.rem(b.thread(), b.i64(tile.columns)), first = b.div(b.thread(), b.i64(tile.columns)), column = b.add(tile.firstColumn, own);
  b.ifThen(b.less(column, columns()), [&] {
    b.loop(b.i64(0), b.i64(tile.rows), rowStep * batch, [&](Value start) {
      SmallVector<Value> row;
      SmallVector<codegen::RegionVectorizer> regions;
      for (int64_t i = 0; i < batch; ++i) {
        row.push_back(b.add(b.add(start, first), i * rowStep));
        regions.push_back(read(b.add(tile.firstRow, row[i]), column));
      }
      b.holdReads();
      for (int64_t i = 0; i < batch; ++i) {
        Value target = b.add(tile.firstRow, row[i]);
        b.ifThen(b.less(target, rows()), [&] {
          Value sum = b.load(b.getF32Type(), b.at(tile.sums, b.add(b.mul(row[i], tile.stride), own), b.getF32Type()));
          store(regions[i], sum, target, column);
        });
      }
    });
  });
}

} // namespace xf::gpu
