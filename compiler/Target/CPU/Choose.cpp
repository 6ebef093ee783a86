// The kernel of xf.choose: logits are looked at while their block is in the first-level cache, and forgotten.
//
// Threads split rows and columns as for a matrix product. Of each row and each block of columns the maximum and the sum
// of exponentials are kept, and of each row and thread a list of the best candidates: a block is searched only if its
// maximum beats the worst of the list. When all threads have arrived they share the rows, add the blocks' sums in order
// and join the lists, whose outcome does not depend on who had which columns.
#include "compiler/Target/CPU/BlockProduct.h"
#include "compiler/Target/CPU/CandidateList.h"
#include "compiler/Target/CPU/Chunks.h"
#include "compiler/Target/CPU/KernelEmitters.h"
#include "compiler/Target/CPU/RegionVectorizer.h"
#include "compiler/Target/CPU/VectorMath.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using mlir::xf::ChooseOp;
using mlir::xf::ReduceKind;

namespace xf::cpu {

static constexpr int64_t kBlockPanels = ChooseOp::kBlock / kLanes;
int64_t chooseScratchBytes(ChooseOp op) {
  return largestTileRows(op, WeightPanels(op.getX(), op.getWeight()).factor) * ChooseOp::kBlock * 4;
}

namespace {

class Choose {
public:
  Choose(KernelBuilder &b, ChooseOp op, const KernelRequest &request)
      : b(b), op(op), access(request.access), result(request.resultView()), axis(op.getAxis()), weight(op.getX(), op.getWeight()),
        sumType(op.getBody().getArgument(0).getType()), blocks(ChooseOp::countBlocks(weight.columns)),
        paddedBlocks(llvm::alignTo(blocks, kLanes)), most(op.getMost()) {}

  void emit();

private:
  enum Operand : unsigned { rowsView, weightView, forbiddenView, classesView, optionsView, firstExtra };

  void splitWork();
  void findNeeded();
  void block();
  void product(Value firstRow, Value rowCount, Value turn, Value turns);
  void lookAt(Value row, Value logits);
  Value logitsOf(Value row, Value logits, Value panel, Value lanes);
  Value loadExtra(unsigned number, Value row, Value column, Value lanes);
  void search(Value logits, const CandidateList &list);
  void join(Value row);
  void joinNorms(Value row);

  Type f32() { return b.getF32Type(); }
  Value noLogit() { return b.f32(-std::numeric_limits<double>::infinity()); }
  Value notANumber() { return b.f32(std::numeric_limits<double>::quiet_NaN()); }
  /// What exponentials are shifted by: the largest logit, but 0 where there is none.
  Value shiftOf(Value largest) {
    Value none = b.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, largest, noLogit());
    return b.splat(b.create<arith::SelectOp>(none, b.f32(0), largest));
  }
  Value anyLane(Value mask) {
    Value bits = b.create<LLVM::BitcastOp>(b.getI16Type(), mask);
    return b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, bits, b.create<arith::ConstantIntOp>(b.getI16Type(), 0));
  }
  Value difference(Value x, Value y) { return b.create<arith::SubFOp>(x, y); }

  // The block's panels.
  Value panelIsNeeded(Value panel) {
    Value bits = b.create<LLVM::LoadOp>(b.getI16Type(), b.at(barred, panel, b.getI16Type()));
    return b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, bits, b.create<arith::ConstantIntOp>(b.getI16Type(), -1));
  }
  Value panelOf(Value logits, Value panel) { return b.at(logits, b.mul(panel, kLanes), f32()); }

  // Places in `parts`: the blocks' maxima, their sums, and for each part of the columns a list.
  Value partsOf(Value row) { return b.at(b.data(result + 3), b.mul(row, b.stride(result + 3, 0)), f32()); }
  Value maximumAt(Value row, Value number) { return b.at(partsOf(row), number, f32()); }
  Value sumAt(Value row, Value number) { return b.at(maximumAt(row, number), paddedBlocks, f32()); }
  CandidateList listOf(Value row, Value number) {
    Value values = b.at(b.at(partsOf(row), b.mul(number, 2 * most), f32()), 2 * paddedBlocks, f32());
    return {values, b.at(values, most, f32()), wanted};
  }

  KernelBuilder &b;
  ChooseOp op;
  const KernelAccess &access;
  unsigned result, axis;
  WeightPanels weight;
  Type sumType;
  int64_t blocks, paddedBlocks, most;
  Value rows, last, wanted, sums;
  Value rowBegin, rowEnd, blockBegin, blockEnd, part, parts; // this thread's share, and in how many parts columns are split
  // The block at hand; `barred` has a bit for each column that no class may choose.
  Value number, panelCount, neededCount, barred;
};

void Choose::splitWork() {
  KernelBuilder::Grid grid = b.grid(rows, std::min(blocks, ChooseOp::kLists));
  rowBegin = grid.rowBegin, rowEnd = grid.rowEnd;
  part = grid.column, parts = grid.columns;
  blockBegin = b.div(b.mul(part, blocks), parts);
  blockEnd = b.div(b.mul(b.add(part, 1), blocks), parts);
}

void Choose::emit() {
  Type i32 = b.getI32Type();
  rows = b.size(rowsView, 1 - axis);
  last = b.sub(b.size(rowsView, axis), 1);
  wanted = b.min(b.toI64(b.load(i32, b.data(optionsView))), b.i64(most));
  sums = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, b.load(i32, b.at(b.data(optionsView), 1, i32)),
                                 b.create<arith::ConstantIntOp>(i32, 0));
  barred = b.stack(b.i64Type(), 2);
  splitWork();
  b.loop(rowBegin, rowEnd, 1, [&](Value row) { clearList(b, listOf(row, part), wanted); });
  b.loop(blockBegin, blockEnd, 1, [&](Value i) {
    number = i;
    panelCount = b.min(b.i64(kBlockPanels), b.sub(b.i64(weight.panels), b.mul(i, kBlockPanels)));
    findNeeded();
    block();
  });
  b.waitForOthers();
  auto [first, end] = b.share(rows);
  b.loop(first, end, 1, [&](Value row) { join(row); });
}

void Choose::findNeeded() {
  Type i64 = b.i64Type();
  Value stride = b.mul(b.stride(forbiddenView, 0), 4), start = b.mul(number, ChooseOp::kBlock / 8);
  auto bits = b.loop(b.i64(0), b.size(forbiddenView, 0), 1, {b.i64(-1), b.i64(-1)}, [&](Value i, ValueRange before) {
    Value words = b.at(b.data(forbiddenView), b.add(b.mul(i, stride), start), b.getI8Type());
    SmallVector<Value> both;
    for (int64_t half : {0, 1})
      both.push_back(b.create<arith::AndIOp>(before[half], b.create<LLVM::LoadOp>(i64, b.at(words, half, i64), 4)));
    return both;
  });
  for (int64_t half : {0, 1})
    b.store(bits[half], b.at(barred, half, i64));
  neededCount = b.loop(b.i64(0), panelCount, 1, b.i64(0), [&](Value panel, ValueRange count) {
                   Value one = b.create<arith::ExtUIOp>(i64, panelIsNeeded(panel));
                   return SmallVector<Value>{b.add(count[0], one)};
                 })[0];
}

void Choose::block() {
  auto skip = [&] {
    b.loop(rowBegin, rowEnd, 1, [&](Value row) {
      b.store(noLogit(), maximumAt(row, number));
      b.store(b.f32(0), sumAt(row, number));
    });
  };
  auto work = [&] {
    // Blocks of rows as equal as can be.
    Value tile = b.i64(largestTile(b.isa(), weight.factor).rows), count = b.sub(rowEnd, rowBegin);
    Value turns = b.div(b.add(count, b.sub(tile, 1)), tile);
    b.loop(b.i64(0), turns, 1, [&](Value turn) {
      Value first = b.div(b.mul(count, turn), turns), end = b.div(b.mul(count, b.add(turn, 1)), turns);
      product(b.add(rowBegin, first), b.sub(end, first), turn, turns);
      b.loop(first, end, 1, [&](Value row) {
        lookAt(b.add(rowBegin, row), b.at(b.scratch(), b.mul(b.sub(row, first), ChooseOp::kBlock), f32()));
      });
    });
  };
  b.ifElse(b.equal(neededCount, b.i64(0)), skip, work);
}

void Choose::product(Value firstRow, Value rowCount, Value turn, Value turns) {
  Value lda = b.stride(rowsView, 1 - axis), panelStride = b.i64(weight.panelElements);
  Value offset = b.add(b.mul(last, b.stride(rowsView, axis)), b.mul(firstRow, lda));
  Value x = b.at(b.data(rowsView), offset, weight.rowType);
  Value first = b.mul(number, kBlockPanels);
  auto weightsOf = [&](Value panel) { return b.at(b.data(weightView), b.mul(panel, panelStride), weight.type); };
  auto operands = [&](Value panel, Value count) {
    return BlockOperands{rowCount, x, lda, weightsOf(b.add(first, panel)), panelStride, panelOf(b.scratch(), panel),
                         b.i64(ChooseOp::kBlock), b.i64(weight.wholeGroups), count};
  };
  auto whole = [&] {
    // The next block's weights are fetched meanwhile, by two blocks of rows if there are two.
    BlockOperands all = operands(b.i64(0), panelCount);
    Value shares = b.min(turns, b.i64(2)), next = b.add(number, 1);
    Value busy = b.create<arith::AndIOp>(b.less(turn, shares), b.less(next, blockEnd));
    Value step = b.div(b.i64(kLanes), shares);
    Value ahead = b.at(weightsOf(b.mul(next, kBlockPanels)), b.mul(b.mul(step, weight.depth), turn), f32());
    all.ahead = b.create<arith::SelectOp>(busy, ahead, all.b);
    all.aheadStep = b.create<arith::SelectOp>(busy, step, b.i64(0));
    callBlockProduct(b, all, weight.kind());
  };
  auto some = [&] {
    b.loop(b.i64(0), panelCount, 1, [&](Value panel) {
      b.ifThen(panelIsNeeded(panel), [&] { callBlockProduct(b, operands(panel, b.i64(1)), weight.kind()); });
    });
  };
  b.ifElse(b.equal(neededCount, panelCount), whole, some);
}

Value Choose::loadExtra(unsigned number, Value row, Value column, Value lanes) {
  unsigned view = firstExtra + number;
  Type element = cast<RankedTensorType>(op.getExtras()[number].getType()).getElementType();
  Value address = b.data(view);
  bool byColumn = false;
  for (auto [d, target] : llvm::enumerate(op.getMap(number))) {
    if (target == 2)
      byColumn = true;
    else if (target >= 0)
      address = b.at(address, b.mul(target == axis ? last : row, b.stride(view, d)), element);
  }
  if (!byColumn)
    return b.load(element, address);
  int64_t known = access.lastStride[view];
  Value stride = ShapedType::isDynamic(known) ? b.stride(view, op.getMap(number).size() - 1) : b.i64(known);
  return b.loadStrided(element, b.at(address, b.mul(column, stride), element), known, stride, lanes);
}

Value Choose::logitsOf(Value row, Value logits, Value panel, Value lanes) {
  Block &body = op.getBody().front();
  Value column = b.add(b.mul(number, ChooseOp::kBlock), b.mul(panel, kLanes));
  RegionVectorizer region(b);
  region.bind(body.getArgument(0), b.loadVector(sumType, panelOf(logits, panel)));
  for (unsigned i = 0; i < op.getExtras().size(); ++i)
    region.bind(body.getArgument(1 + i), loadExtra(i, row, column, lanes));
  return region.emitVector(body.getTerminator()->getOperand(0));
}

void Choose::lookAt(Value row, Value logits) {
  Value kind = b.toI64(b.load(b.getI32Type(), b.at(b.data(classesView), row, b.getI32Type())));
  Value words = b.at(b.data(forbiddenView), b.mul(kind, b.stride(forbiddenView, 0)), b.getI32Type());
  words = b.at(words, b.mul(number, ChooseOp::kBlock / 32), b.getI32Type());
  Value none = b.splat(noLogit()), greatest = b.splatF32(std::numeric_limits<float>::max());
  auto look = [&](Value panel, Value lanes, ValueRange carried) -> SmallVector<Value> {
    Value bits = b.create<LLVM::LoadOp>(b.getI16Type(), b.at(words, panel, b.getI16Type()));
    Value mask = b.create<LLVM::BitcastOp>(b.vectorOf(b.getI1Type()), bits);
    Value x = b.create<arith::SelectOp>(mask, none, logitsOf(row, logits, panel, lanes));
    if (lanes)
      x = b.create<arith::SelectOp>(b.firstLanes(lanes), x, none);
    b.storeVector(x, panelOf(logits, panel));
    Value isOdd = b.create<arith::CmpFOp>(arith::CmpFPredicate::UGT, x, greatest);
    return {maximum(b, x, carried[0]), b.create<arith::OrIOp>(carried[1], isOdd)};
  };
  Value noLane = b.splat(b.create<arith::ConstantIntOp>(b.getI1Type(), 0)), whole = panelCount;
  if (weight.columns % kLanes)
    whole = b.min(panelCount, b.sub(b.i64(weight.columns / kLanes), b.mul(number, kBlockPanels)));
  auto seen = b.loop(b.i64(0), whole, 1, {none, noLane}, [&](Value panel, ValueRange carried) { return look(panel, nullptr, carried); });
  if (weight.columns % kLanes)
    seen = b.choose(
        b.less(whole, panelCount), [&] { return look(whole, b.i64(weight.columns % kLanes), seen); }, [&] { return seen; });

  Value largest = reduceLanes(b, ReduceKind::max, seen[0]);
  b.store(b.create<arith::SelectOp>(anyLane(seen[1]), notANumber(), largest), maximumAt(row, number));
  b.ifThen(sums, [&] {
    Value shift = shiftOf(largest);
    Value sum = b.loop(b.i64(0), panelCount, 1, b.splatF32(0), [&](Value panel, ValueRange carried) {
                   Value x = b.loadVector(f32(), panelOf(logits, panel));
                   Value power = expOfNegative(b, difference(x, shift));
                   return SmallVector<Value>{b.create<arith::AddFOp>(carried[0], power)};
                 })[0];
    b.store(reduceLanes(b, ReduceKind::sum, sum), sumAt(row, number));
  });
  CandidateList list = listOf(row, part);
  Value beats = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, largest, worstOf(b, list));
  b.ifThen(beats, [&] { search(logits, list); });
}

void Choose::search(Value logits, const CandidateList &list) {
  b.loop(b.i64(0), panelCount, 1, [&](Value panel) {
    Value start = panelOf(logits, panel);
    Value largest = reduceLanes(b, ReduceKind::max, b.loadVector(f32(), start));
    Value beats = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, largest, worstOf(b, list));
    b.ifThen(beats, [&] {
      Value first = b.add(b.mul(number, ChooseOp::kBlock), b.mul(panel, kLanes));
      b.loop(b.i64(0), b.i64(kLanes), 1, [&](Value lane) {
        Value token = b.create<arith::TruncIOp>(b.getI32Type(), b.add(first, lane));
        offer(b, list, b.load(f32(), b.at(start, lane, f32())), token);
      });
    });
  });
}

void Choose::join(Value row) {
  CandidateList best{b.at(b.data(result), b.mul(row, b.stride(result, 0)), f32()),
                     b.at(b.data(result + 1), b.mul(row, b.stride(result + 1, 0)), f32()), wanted};
  clearList(b, best, b.i64(most));
  // Ascending columns, so that the lower of equals comes first.
  b.loop(b.i64(0), parts, 1, [&](Value i) {
    CandidateList list = listOf(row, i);
    b.loop(b.i64(0), wanted, 1, [&](Value place) {
      offer(b, best, b.load(f32(), b.at(list.values, place, f32())), b.load(b.getI32Type(), b.at(list.tokens, place, f32())));
    });
  });
  joinNorms(row);
}

void Choose::joinNorms(Value row) {
  Value maxima = maximumAt(row, b.i64(0)), powers = sumAt(row, b.i64(0)), none = b.splat(noLogit());
  auto load = [&](Value i, Value lanes) {
    Value x = b.loadVector(f32(), b.at(maxima, i, f32()), lanes);
    return lanes ? b.create<arith::SelectOp>(b.firstLanes(lanes), x, none).getResult() : x;
  };
  Value noLane = b.splat(b.create<arith::ConstantIntOp>(b.getI1Type(), 0));
  auto seen = forChunks(b, b.i64(blocks), {none, noLane}, [&](Value i, Value lanes, ValueRange carried) {
    Value x = load(i, lanes);
    Value isOdd = b.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x);
    return SmallVector<Value>{maximum(b, x, carried[0]), b.create<arith::OrIOp>(carried[1], isOdd)};
  });
  Value largest = reduceLanes(b, ReduceKind::max, seen[0]);
  Value norms = b.at(b.data(result + 2), b.mul(row, b.stride(result + 2, 0)), f32());
  b.store(b.create<arith::SelectOp>(anyLane(seen[1]), notANumber(), largest), norms);
  b.ifThen(sums, [&] {
    Value shift = shiftOf(largest);
    Value sum = forChunks(b, b.i64(blocks), b.splatF32(0), [&](Value i, Value lanes, ValueRange carried) {
      Value factor = expOfNegative(b, difference(load(i, lanes), shift));
      return SmallVector<Value>{fusedMultiplyAdd(b, b.loadVector(f32(), b.at(powers, i, f32()), lanes), factor, carried[0])};
    })[0];
    b.store(reduceLanes(b, ReduceKind::sum, sum), b.at(norms, 1, f32()));
  });
}

} // namespace

LogicalResult emitChoose(KernelBuilder &b, ChooseOp op, const KernelRequest &request) {
  if (request.operands.size() != op->getNumOperands())
    return op.emitError("a matrix product reads per-sentence states through a copy only");
  Choose(b, op, request).emit();
  return success();
}

} // namespace xf::cpu
