// The kernels of xf.choose: logits stay in shared memory and registers.
//
// A block of the first one computes some rows of 128 columns, whose exponentials are one sum (ChooseOp::kBlock), as the kernels of
// xf.contract do: in f32, also with weights of bytes, by multiply-adds, in 16 bits on tensor cores. What blocks find in them
// (ChooseRows.cpp), the second one joins (ChooseMerge.cpp). Few rows, as of one sentence, get smaller tiles.
#include "compiler/Target/GPU/ChooseKernel.h"

#include "compiler/Target/GPU/ByteWeights.h"
#include "compiler/Target/GPU/TensorTiles.h"
#include "compiler/Target/GPU/TileProduct.h"
#include "compiler/Target/RegionVectorizer.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {

namespace {

using enum ChooseOperands::View;
constexpr int64_t kLanes = codegen::kLanes, kPanels = ChooseOp::kBlock / kLanes, kWords = ChooseOp::kBlock / 32;
// Weights are read once for all rows of a tile; the more elements a thread has, the less it reads of shared memory for each of them.
constexpr TileShape kFew{4, ChooseOp::kBlock, 4, 1, 16, 4}, kSome{32, ChooseOp::kBlock, 8, 4, 16, 4}, kMany{64, ChooseOp::kBlock, 8, 8, 8, 3};
static_assert(kFew.isPossible() && kSome.isPossible() && kMany.isPossible());
constexpr int64_t kFewRows = 8;
// On tensor cores: of few rows a warp takes a panel.
constexpr ManyRowsProduct::Shape kTensorMany{64, kPanels, 32};
constexpr int64_t kTensorThreads = kPanels * kWarp;
static_assert(kFewRows == kTileRows && kTensorThreads == kTensorMany.threads());

class ChooseBlock {
public:
  ChooseBlock(GpuBuilder b, ChooseOp op, const KernelRequest &request, int64_t rows, int64_t threads)
      : b(b), op(op), request(request), rows(rows), threads(threads), views(this->b, shapeOf(op, request)), axis(op.getAxis()) {
    auto weight = cast<RankedTensorType>(op.getWeight().getType());
    factor = cast<RankedTensorType>(op.getX().getType()).getElementType();
    columns = weight.getDimSize(0);
    depth = weight.getDimSize(1);
  }
  virtual ~ChooseBlock() = default;

  void emit();

protected:
  /// Leaves the tile's products in shared memory, `logits`, and finds memory for `found`.
  virtual void multiply() = 0;
  int64_t foundBytes() const { return rows * ChooseTile::foundPerRow(views.maxCandidates); }
  Value panelIsNeeded(Value panel);
  /// The logit of the block's column `own`, whose bit is in `word`.
  Value logit(Value product, Value word, Value row, Value own);
  /// The last row is computed in place of rows after it, which are not stored.
  Value existing(Value row) { return b.min(row, b.sub(views.rows, 1)); }
  Value rowStride() { return b.stride(rowsView, 1 - axis); }
  /// Where row 0 of x is, at the last position.
  Value firstX() { return b.at(b.data(rowsView), b.mul(last, b.stride(rowsView, axis)), factor); }

  GpuBuilder b;
  ChooseOp op;
  const KernelRequest &request;
  int64_t rows, threads; // of the tile, of the block
  ChooseViews views;
  unsigned axis;
  Type factor;
  int64_t columns, depth;
  Value last;                  // position
  Value columnBlock, firstRow; // index of the block of columns; of the tile's rows
  SmallVector<Value> barred;   // words of columns that none of the rows may choose
  Value logits, found;         // see ChooseTile
  int64_t stride = 0;

private:
  void applyRegion();
  void prefetchWeights();
  void findBarred();
  void skip();
  void work();
  Value extra(unsigned index, Value row, Value column);
};

/// Logits of f32 factors, or of weights that are bytes, by multiply-adds.
class PlainChoose : public ChooseBlock {
public:
  PlainChoose(GpuBuilder b, ChooseOp op, const KernelRequest &request, const TileShape &shape)
      : ChooseBlock(b, op, request, shape.rows, shape.threads()), shape(shape) {}

private:
  void multiply() override;

  TileShape shape;
};

/// Logits of 16-bit factors, on tensor cores.
class TensorChoose : public ChooseBlock {
public:
  TensorChoose(GpuBuilder b, ChooseOp op, const KernelRequest &request, bool isMany)
      : ChooseBlock(b, op, request, isMany ? kTensorMany.rows : kFewRows, kTensorThreads), isMany(isMany) {}

private:
  void multiply() override;
  void multiplyFew(const TensorOperands &operands);

  bool isMany;
};

void ChooseBlock::emit() {
  last = b.sub(b.size(rowsView, axis), 1);
  // Blocks that run together read the same weights.
  Value tiles = b.ceilDiv(views.rows, rows);
  columnBlock = b.divide(b.block(), tiles);
  firstRow = b.mul(b.remainder(b.block(), tiles), rows);
  if (rows <= kFewRows)
    prefetchWeights();
  b.awaitLaunches();
  views.readOptions();
  findBarred();
  Value all = barred[0];
  for (Value word : ArrayRef<Value>(barred).drop_front())
    all = b.create<arith::AndIOp>(all, word);
  Value none = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, all, b.i32(-1));
  b.ifElse(none, [&] { skip(); }, [&] { work(); });
  b.finish();
}

/// Few rows leave the GPU nothing else to read than the weights of the columns.
void ChooseBlock::prefetchWeights() {
  constexpr int64_t kMaxBytes = 64 << 10; // of a block: all of them would be more than the cache holds
  int64_t words = llvm::divideCeil(depth * cast<RankedTensorType>(op.getWeight().getType()).getElementTypeBitWidth(), 32);
  int64_t panelBytes = words * kLanes * 4;
  int64_t all = llvm::divideCeil(columns, kLanes) * panelBytes, own = std::min(kPanels * panelBytes, all);
  Value start = b.min(b.mul(columnBlock, kPanels * panelBytes), b.i64(all - own));
  b.prefetch(b.at(b.data(weightView), start, b.getI8Type()), std::min(own, kMaxBytes), threads);
}

/// Finds the barred columns: each warp by itself, a lane for a row or more.
void ChooseBlock::findBarred() {
  Type i32 = b.getI32Type();
  int64_t lanes = std::min(rows, kWarp);
  SmallVector<Value> words;
  for (int64_t first = 0; first < rows; first += lanes)
    words.push_back(views.wordsOf(existing(b.add(firstRow, b.add(b.rem(b.lane(), b.i64(lanes)), first))), columnBlock));
  for (int64_t i = 0; i < kWords; ++i) {
    Value bits;
    for (Value own : words) {
      Value read = b.load(i32, b.at(own, i, i32));
      bits = bits ? b.create<arith::AndIOp>(bits, read) : read;
    }
    for (int64_t distance = lanes / 2; distance >= 1; distance /= 2)
      bits = b.create<arith::AndIOp>(bits, b.shuffleXor(bits, distance));
    barred.push_back(bits);
  }
}

Value ChooseBlock::panelIsNeeded(Value panel) {
  Type i32 = b.getI32Type();
  Value word = b.div(panel, b.i64(2)), bits = barred[0];
  for (int64_t i = 1; i < kWords; ++i)
    bits = select(b, b.equal(word, b.i64(i)), barred[i], bits);
  Value half = b.narrow(b.mul(b.rem(panel, b.i64(2)), kLanes));
  Value own = b.create<arith::TruncIOp>(b.getI16Type(), b.create<arith::ShRUIOp>(i32, bits, half));
  Value wanted = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, own, b.create<arith::ConstantIntOp>(b.getI16Type(), -1));
  // Bits behind the last column say nothing.
  Value exists = b.less(b.add(b.mul(columnBlock, kPanels), panel), b.i64(llvm::divideCeil(columns, kLanes)));
  return b.both(wanted, exists);
}

/// The block's results if no row may choose any of its columns.
void ChooseBlock::skip() {
  Value row = b.add(firstRow, b.thread());
  Value exists = b.both(b.less(b.thread(), b.i64(rows)), b.less(row, views.rows));
  b.ifThen(exists, [&] {
    b.store(noLogit(b), views.maximumAt(row, columnBlock));
    b.store(b.f32(0), views.sumAt(row, columnBlock));
    b.loop(b.i64(0), views.wanted, 1, [&](Value index) { views.store(noCandidate(b), row, columnBlock, index); });
  });
}

void ChooseBlock::work() {
  multiply();
  b.barrier();
  applyRegion();
  b.barrier();
  emitChooseRows(b, views, {rows, threads, firstRow, columnBlock, logits, stride, found});
}

Value ChooseBlock::extra(unsigned index, Value row, Value column) {
  unsigned view = firstExtra + index;
  Type element = cast<RankedTensorType>(op.getExtras()[index].getType()).getElementType();
  Value offset = b.i64(0);
  for (auto [d, target] : llvm::enumerate(op.getMap(index))) {
    if (target < 0)
      continue;
    Value coordinate = target == 2 ? column : target == axis ? last : row;
    bool constant = target == 2 && !ShapedType::isDynamic(request.access.lastStride[view]);
    Value stride = constant ? b.i64(request.access.lastStride[view]) : b.stride(view, d);
    offset = b.add(offset, b.mul(coordinate, stride));
  }
  return b.load(element, b.at(b.data(view), offset, element));
}

Value ChooseBlock::logit(Value product, Value word, Value row, Value own) {
  Value column = b.add(b.mul(columnBlock, ChooseOp::kBlock), own), existingColumn = b.min(column, b.i64(columns - 1));
  Value mask = b.create<arith::ShLIOp>(b.i32(1), b.narrow(b.rem(own, b.i64(32))));
  Value bit = b.create<arith::AndIOp>(word, mask);
  Value allowed = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, bit, b.i32(0));
  allowed = b.both(allowed, b.less(column, b.i64(columns)));
  Block &body = op.getBody().front();
  codegen::RegionVectorizer region(b);
  region.bind(body.getArgument(0), product, /*isElement=*/true);
  for (unsigned i = 0; i < op.getExtras().size(); ++i)
    region.bind(body.getArgument(1 + i), extra(i, row, existingColumn), /*isElement=*/llvm::is_contained(op.getMap(i), 2));
  return select(b, allowed, region.emit(body.getTerminator()->getOperand(0)), noLogit(b));
}

/// Turns the products into logits, -inf where the row may not choose. Neighbouring threads have neighbouring columns of a row, a warp those of
/// one word; a thread's rows are `rowStep` apart, and each lane reads the word of one of them for its warp.
void ChooseBlock::applyRegion() {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  static_assert(ChooseOp::kBlock / kWords == kWarp);
  int64_t rowStep = threads / ChooseOp::kBlock, batch = std::min(kWarp, rows / rowStep);
  Value own = b.rem(b.thread(), b.i64(ChooseOp::kBlock)), first = b.div(b.thread(), b.i64(ChooseOp::kBlock));
  b.loop(b.i64(0), b.i64(rows), rowStep * batch, [&](Value start) {
    auto rowAt = [&](Value i) { return b.add(b.add(start, first), b.mul(i, rowStep)); };
    Value read = existing(b.add(firstRow, rowAt(b.rem(b.lane(), batch))));
    Value words = b.load(i32, b.at(views.wordsOf(read, columnBlock), b.div(own, b.i64(kWarp)), i32));
    for (int64_t i = 0; i < batch; ++i) {
      Value local = rowAt(b.i64(i)), address = b.at(logits, b.add(b.mul(local, stride), own), f32);
      b.store(logit(b.load(f32, address), b.fromLane(words, i), existing(b.add(firstRow, local)), own), address);
    }
  });
}

void PlainChoose::multiply() {
  bool ofBytes = cast<RankedTensorType>(op.getWeight().getType()).getElementType().isInteger(8);
  auto isNeeded = [&](Value panel) { return panelIsNeeded(panel); };
  TileOperands operands{columns, depth, ofBytes, firstX(), rowStride(), views.rows, b.data(weightView), isNeeded};
  stride = shape.stride();
  logits = multiplyTile(b, shape, operands, firstRow, b.mul(columnBlock, kPanels));
  found = b.shared(b.getI8Type(), foundBytes());
}

/// Leaves the products in shared memory.
void TensorChoose::multiplyFew(const TensorOperands &operands) {
  Type f32 = b.getF32Type();
  stride = ChooseOp::kBlock + 4;
  logits = b.shared(f32, rows * stride);
  found = b.shared(b.getI8Type(), foundBytes());
  b.setBlocksPerMultiprocessor(2); // leaves registers for the chains' reads
  auto chain = [&] { return FewRowsProduct(b, operands).multiply(firstRow, b.add(b.mul(columnBlock, kPanels), b.warp())); };
  auto zeros = [&] { return SmallVector<Value>(FewRowsProduct::kSums, b.f32(0)); };
  SmallVector<Value> sums = b.choose(panelIsNeeded(b.warp()), chain, zeros);
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value column = b.add(b.mul(b.warp(), kPanelColumns), FewRowsProduct::columnOf(b, i));
    b.store(sum, b.at(logits, b.add(b.mul(FewRowsProduct::rowOf(b, i), stride), column), f32));
  }
}

void TensorChoose::multiply() {
  TensorOperands operands{factor, columns, depth, firstX(), rowStride(), views.rows, b.data(weightView)};
  if (isMany) {
    auto isNeeded = [&](Value panel) { return panelIsNeeded(panel); };
    b.setBlocksPerMultiprocessor(2); // one looks for candidates while the other multiplies
    ManyRowsProduct product(b, operands, kTensorMany);
    product.multiply(firstRow, b.mul(columnBlock, kPanels), [] {}, isNeeded);
    stride = kTensorMany.stride();
    logits = product.share(0);
    assert(rows * stride * 4 + foundBytes() <= product.sharedBytes());
    found = b.at(logits, rows * stride, b.getF32Type());
  } else {
    multiplyFew(operands);
  }
}

} // namespace

LogicalResult emitChoose(ChooseOp op, const KernelRequest &request, Kernel &kernel) {
  if (request.operands.size() != op->getNumOperands())
    return op.emitError("a matrix product reads per-sentence states through a copy only");
  auto typeOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); };
  Type factor = typeOf(op.getX()), weight = typeOf(op.getWeight());
  bool ofBytes = factor.isF32() && weight.isInteger(8);
  if (!ofBytes && (weight != factor || !(factor.isF32() || factor.isBF16() || factor.isF16())))
    return op.emitError("the GPU back end does not choose by products of ") << factor << " and " << weight;
  unsigned rowDim = 1 - op.getAxis();
  int64_t blocks = ChooseOp::countBlocks(op.getColumns());
  std::string few = (request.name + "_few").str(), many = (request.name + "_many").str();
  auto add = [&](const std::string &name, int64_t rows, int64_t threads, std::optional<Launch::Limit> limit) {
    kernel.launches.push_back({name, threads, {{rowsView, rowDim, rows}}, 1, blocks, limit});
    return request.start(name, threads, op.getLoc());
  };
  Launch::Limit ofFew{rowsView, rowDim, kFewRows};
  if (factor.isF32()) {
    std::string some = (request.name + "_some").str();
    Launch::Limit ofSome{rowsView, rowDim, kSome.rows};
    PlainChoose(add(few, kFew.rows, kFew.threads(), ofFew), op, request, kFew).emit();
    PlainChoose(add(some, kSome.rows, kSome.threads(), ofSome), op, request, kSome).emit();
    PlainChoose(add(many, kMany.rows, kMany.threads(), std::nullopt), op, request, kMany).emit();
  } else {
    TensorChoose(add(few, kFewRows, kTensorThreads, ofFew), op, request, /*isMany=*/false).emit();
    TensorChoose(add(many, kTensorMany.rows, kTensorThreads, std::nullopt), op, request, /*isMany=*/true).emit();
  }
  std::string merge = (request.name + "_merge").str();
  emitChooseMerge(request.start(merge, kMergeThreads, op.getLoc()), shapeOf(op, request));
  kernel.launches.push_back({merge, kMergeThreads, {{rowsView, rowDim, 1}}, 1, 1, std::nullopt, 1});
  return success();
}

} // namespace xf::gpu
