// The kernel of xf.choose: logits are looked at while their block is in the first-level cache, and forgotten.
//
// Threads split rows and columns as for a matrix product. Of each row and each block of columns the maximum and the sum
// of exponentials are kept, and of each row and thread a list of the best candidates: a block is searched only if its
// maximum beats the worst of the list. When all threads have arrived they share the rows, add the blocks' sums in order
// and join the lists, whose outcome does not depend on who had which columns.
//
// With a screen, and if nobody asks for sums, products of bytes bound the logits of each panel first. The panel with the highest
// bound is computed; all others whose bound reaches its logits are, too. That is a few panels of thousands, or so many (where
// logits are all alike) that the block's way is taken after all. Either way the result is the same to the last bit.
#include "compiler/Target/CPU/CandidateList.h"
#include "compiler/Target/CPU/ChooseScreen.h"
#include "compiler/Target/CPU/Chunks.h"
#include "compiler/Target/CPU/VectorMath.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using mlir::xf::ChooseOp;
using mlir::xf::ReduceKind;

namespace xf::cpu {

/// Beyond one panel of so many, rows one by one cost about as much as all together.
static constexpr int64_t kFewPanels = 16;

int64_t chooseScratchBytes(ChooseOp op) {
  int64_t rows = largestTileRows(op, WeightPanels(op.getX(), op.getWeight()).factor);
  if (!op.getScreen().empty())
    rows = std::max(rows, largestTileRows(op, Factor::i8));
  return rows * ChooseOp::kBlock * 4;
}

namespace {

class Choose {
public:
  Choose(KernelBuilder &b, ChooseOp op, const KernelRequest &request)
      : b(b), op(op), result(request.resultView()), blocks(ChooseOp::countBlocks(op.getColumns())), paddedBlocks(llvm::alignTo(blocks, kLanes)),
        most(op.getMost()), logits(b, op, request), rows(logits.rowCount()) {
    if (!op.getScreen().empty() && hasVnni(b.isa()))
      screen.emplace(b, op, b.at(partsOf(b.i64(0)), ChooseOp::countParts(op.getColumns(), most), f32()), b.stride(result + 3, 0));
  }

  void emit();

private:
  void splitWork();
  void clearRow(Value row);
  /// Calls `body` for each of the thread's blocks, and for those that nobody may choose from `skip`.
  void forBlocks(llvm::function_ref<void()> body, llvm::function_ref<void(Value row)> skip);
  /// Multiplies the block's panels, and calls each of `steps` for all rows of the last products, with a row's number and its place among
  /// them. A step ends in a reduction, a long chain; in a loop of its own the next rows' begin meanwhile.
  using RowStep = llvm::function_ref<void(Value row, Value place)>;
  void forRows(const ChooseFactors &factors, ArrayRef<RowStep> steps);

  // All logits.
  void lookAtAll();
  void findMaximum(Value row, Value place);
  void addPowers(Value row, Value place);
  void offerBlock(Value row, Value place);
  void offerPanel(Value panel, Value place, const CandidateList &list);

  // Those that the screen leaves.
  Value lookAtFew();
  void bound(Value row, Value place);
  Value panelOfHighestBound(Value row);
  Value boundsFrom(Value row, Value first);
  Value reaching(Value bounds, Value least);
  Value countPanels(Value row, Value least);
  void lookAtPanels(Value row, Value least);
  void lookAtPanel(Value row, Value panel);

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
  /// Lanes, as the bits of an integer.
  Value bitsOf(Value mask) { return b.create<arith::ExtUIOp>(b.i64Type(), b.create<LLVM::BitcastOp>(b.getI16Type(), mask)); }
  Value anyLane(Value mask) { return b.less(b.i64(0), bitsOf(mask)); }
  Value noLane() { return b.splat(b.create<arith::ConstantIntOp>(b.getI1Type(), 0)); }
  Value difference(Value x, Value y) { return b.create<arith::SubFOp>(x, y); }
  /// A logit that makes the largest of them no number: +inf, or none itself.
  Value isOdd(Value x) {
    return b.create<arith::CmpFOp>(arith::CmpFPredicate::UGT, x, b.splatF32(std::numeric_limits<float>::max()));
  }
  /// The largest logit, or NaN if one of the lanes `odd` is set.
  Value unlessOdd(Value largest, Value odd) { return b.create<arith::SelectOp>(anyLane(odd), notANumber(), largest); }

  // Places in `parts`: the blocks' maxima, their sums, for each part of the columns a list, and what the screen has.
  Value partsOf(Value row) { return b.at(b.data(result + 3), b.mul(row, b.stride(result + 3, 0)), f32()); }
  Value maximumAt(Value row, Value number) { return b.at(partsOf(row), number, f32()); }
  Value sumAt(Value row, Value number) { return b.at(maximumAt(row, number), paddedBlocks, f32()); }
  CandidateList listOf(Value row, Value number) {
    Value values = b.at(b.at(partsOf(row), b.mul(number, 2 * most), f32()), 2 * paddedBlocks, f32());
    return {values, b.at(values, most, f32()), wanted};
  }

  KernelBuilder &b;
  ChooseOp op;
  unsigned result;
  int64_t blocks, paddedBlocks, most;
  ChooseLogits logits;
  std::optional<ChooseScreen> screen;
  Value rows, wanted, sums;
  Value rowBegin, rowEnd, blockBegin, blockEnd, part, parts; // this thread's share, and in how many parts columns are split
  Value panelBegin, panelEnd;                                // the blocks' panels
};

void Choose::splitWork() {
  KernelBuilder::Grid grid = b.grid(rows, std::min(blocks, ChooseOp::kLists));
  rowBegin = grid.rowBegin, rowEnd = grid.rowEnd;
  part = grid.column, parts = grid.columns;
  blockBegin = b.div(b.mul(part, blocks), parts);
  blockEnd = b.div(b.mul(b.add(part, 1), blocks), parts);
  panelBegin = b.mul(blockBegin, ChooseLogits::kPanels);
  panelEnd = b.min(b.mul(blockEnd, ChooseLogits::kPanels), b.i64(logits.factors().weight.panels));
}

void Choose::emit() {
  Type i32 = b.getI32Type();
  wanted = b.min(b.toI64(b.load(i32, b.data(ChooseLogits::optionsView))), b.i64(most));
  sums = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, b.load(i32, b.at(b.data(ChooseLogits::optionsView), 1, i32)),
                                 b.create<arith::ConstantIntOp>(i32, 0));
  splitWork();
  if (screen) {
    SmallVector<Value> needsAll = b.choose(
        sums, [&] { return SmallVector<Value>{sums}; }, [&] { return SmallVector<Value>{lookAtFew()}; });
    b.ifThen(needsAll[0], [&] { lookAtAll(); });
  } else {
    lookAtAll();
  }
  b.waitForOthers();
  auto [first, end] = b.share(rows);
  b.loop(first, end, 1, [&](Value row) { join(row); });
}

void Choose::forBlocks(llvm::function_ref<void()> body, llvm::function_ref<void(Value)> skip) {
  b.loop(blockBegin, blockEnd, 1, [&](Value number) {
    logits.begin(number, blockEnd);
    b.ifElse(logits.isNeeded(), body, [&] { b.loop(rowBegin, rowEnd, 1, skip); });
  });
}

void Choose::forRows(const ChooseFactors &factors, ArrayRef<RowStep> steps) {
  // Blocks of rows as equal as can be.
  Value tile = b.i64(largestTile(b.isa(), factors.weight.factor).rows), count = b.sub(rowEnd, rowBegin);
  Value turns = b.div(b.add(count, b.sub(tile, 1)), tile);
  b.loop(b.i64(0), turns, 1, [&](Value turn) {
    Value first = b.div(b.mul(count, turn), turns), end = b.div(b.mul(count, b.add(turn, 1)), turns);
    logits.multiply(factors, b.add(rowBegin, first), b.sub(end, first), turn, turns);
    for (RowStep step : steps)
      b.loop(first, end, 1, [&](Value row) { step(b.add(rowBegin, row), b.sub(row, first)); });
  });
}

void Choose::lookAtAll() {
  b.loop(rowBegin, rowEnd, 1, [&](Value row) { clearList(b, listOf(row, part), wanted); });
  auto skip = [&](Value row) {
    b.store(noLogit(), maximumAt(row, logits.number()));
    b.store(b.f32(0), sumAt(row, logits.number()));
  };
  auto look = [&] {
    forRows(logits.factors(), {[&](Value row, Value place) { findMaximum(row, place); },
                               [&](Value row, Value place) { b.ifThen(sums, [&] { addPowers(row, place); }); },
                               [&](Value row, Value place) { offerBlock(row, place); }});
  };
  forBlocks(look, skip);
}

void Choose::findMaximum(Value row, Value place) {
  ChooseLogits::Row own = logits.rowAt(row);
  auto seen = logits.forPanels({b.splat(noLogit()), noLane()}, [&](Value panel, Value lanes, ValueRange carried) {
    Value products = logits.sumsOf(place, panel);
    Value x = logits.logitsOf(own, panel, lanes, b.loadVector(logits.sumType(), products));
    b.storeVector(x, products);
    return SmallVector<Value>{maximum(b, x, carried[0]), b.create<arith::OrIOp>(carried[1], isOdd(x))};
  });
  b.store(unlessOdd(reduceLanes(b, ReduceKind::max, seen[0]), seen[1]), maximumAt(row, logits.number()));
}

void Choose::addPowers(Value row, Value place) {
  Value shift = shiftOf(b.load(f32(), maximumAt(row, logits.number())));
  Value sum = b.loop(b.i64(0), logits.panelCount(), 1, b.splatF32(0), [&](Value panel, ValueRange carried) {
                 Value x = b.loadVector(f32(), logits.sumsOf(place, panel));
                 Value power = expOfNegative(b, difference(x, shift));
                 return SmallVector<Value>{b.create<arith::AddFOp>(carried[0], power)};
               })[0];
  b.store(reduceLanes(b, ReduceKind::sum, sum), sumAt(row, logits.number()));
}

void Choose::offerBlock(Value row, Value place) {
  // Where the maximum is no number, some logits may be.
  Value largest = b.load(f32(), maximumAt(row, logits.number()));
  CandidateList list = listOf(row, part);
  Value beats = b.create<arith::CmpFOp>(arith::CmpFPredicate::UGT, largest, worstOf(b, list));
  b.ifThen(beats, [&] {
    b.loop(b.i64(0), logits.panelCount(), 1, [&](Value panel) { offerPanel(panel, place, list); });
  });
}

/// Offers the logits of a panel, which are where its products were.
void Choose::offerPanel(Value panel, Value place, const CandidateList &list) {
  Value start = logits.sumsOf(place, panel);
  Value largest = reduceLanes(b, ReduceKind::max, b.loadVector(f32(), start));
  Value beats = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, largest, worstOf(b, list));
  b.ifThen(beats, [&] {
    Value first = b.add(b.mul(logits.number(), ChooseOp::kBlock), b.mul(panel, kLanes));
    b.loop(b.i64(0), b.i64(kLanes), 1, [&](Value lane) {
      Value token = b.create<arith::TruncIOp>(b.getI32Type(), b.add(first, lane));
      offer(b, list, b.load(f32(), b.at(start, lane, f32())), token);
    });
  });
}

/// Returns whether there are too many.
Value Choose::lookAtFew() {
  auto [first, end] = b.share(rows);
  b.loop(first, end, 1, [&](Value row) { screen->quantize(logits.factors(), row); });
  b.waitForOthers();
  auto skip = [&](Value row) {
    Value start = b.mul(logits.number(), ChooseLogits::kPanels);
    b.storeVector(b.splat(noLogit()), screen->boundAt(row, start), logits.panelCount());
  };
  forBlocks([&] { forRows(screen->factors(), {[&](Value row, Value place) { bound(row, place); }}); }, skip);

  // The list holds what a row reaches in any case: a panel that does not is of no use.
  Value count = b.loop(rowBegin, rowEnd, 1, b.i64(0), [&](Value row, ValueRange carried) {
                   clearRow(row);
                   lookAtPanel(row, panelOfHighestBound(row));
                   return SmallVector<Value>{b.add(carried[0], countPanels(row, worstOf(b, listOf(row, part))))};
                 })[0];
  Value all = b.mul(b.sub(rowEnd, rowBegin), b.sub(panelEnd, panelBegin));
  Value areMany = b.less(all, b.mul(count, kFewPanels));
  auto few = [&] {
    b.loop(rowBegin, rowEnd, 1, [&](Value row) {
      Value least = worstOf(b, listOf(row, part));
      clearRow(row);
      lookAtPanels(row, least);
    });
  };
  b.ifElse(areMany, [] {}, few);
  return areMany;
}

void Choose::clearRow(Value row) {
  clearList(b, listOf(row, part), wanted);
  b.loop(blockBegin, blockEnd, 1, [&](Value number) { b.store(noLogit(), maximumAt(row, number)); });
}

void Choose::bound(Value row, Value place) {
  ChooseLogits::Row own = logits.rowAt(row);
  ChooseScreen::Row ofScreen = screen->rowAt(row);
  logits.forPanels({}, [&](Value panel, Value lanes, ValueRange) {
    Value first = b.mul(logits.number(), ChooseLogits::kPanels), column = b.mul(b.add(first, panel), kLanes);
    Value products = b.loadVector(b.getI32Type(), logits.sumsOf(place, panel));
    Value x = logits.logitsOf(own, panel, lanes, screen->boundOf(ofScreen, column, lanes, products));
    // No bound at all where it is no number.
    x = b.create<arith::SelectOp>(isOdd(x), b.splatF32(std::numeric_limits<double>::infinity()), x);
    b.store(reduceLanes(b, ReduceKind::max, x), screen->boundAt(row, b.add(first, panel)));
    return SmallVector<Value>{};
  });
}

/// 16 bounds from panel `first` on; those behind the thread's last one are -inf.
Value Choose::boundsFrom(Value row, Value first) {
  Value lanes = b.firstLanes(b.min(b.i64(kLanes), b.sub(panelEnd, first)));
  return b.create<arith::SelectOp>(lanes, b.loadVector(f32(), screen->boundAt(row, first)), b.splat(noLogit()));
}

/// The lanes of `bounds` that may hold a logit of `least` or more.
Value Choose::reaching(Value bounds, Value least) {
  Value isHigh = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGE, bounds, b.splat(least));
  Value isThere = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, bounds, b.splat(noLogit()));
  return bitsOf(b.create<arith::AndIOp>(isHigh, isThere));
}

Value Choose::panelOfHighestBound(Value row) {
  Value highest = b.loop(panelBegin, panelEnd, kLanes, b.splat(noLogit()), [&](Value first, ValueRange carried) {
                     return SmallVector<Value>{maximum(b, boundsFrom(row, first), carried[0])};
                   })[0];
  Value all = b.splat(reduceLanes(b, ReduceKind::max, highest));
  return b.loop(panelBegin, panelEnd, kLanes, panelBegin, [&](Value first, ValueRange carried) -> SmallVector<Value> {
    Value lanes = bitsOf(b.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, boundsFrom(row, first), all));
    Value panel = b.min(b.add(first, b.create<LLVM::CountTrailingZerosOp>(b.i64Type(), lanes, /*is_zero_poison=*/false)), b.sub(panelEnd, 1));
    return {b.create<arith::SelectOp>(b.less(b.i64(0), lanes), panel, carried[0])};
  })[0];
}

Value Choose::countPanels(Value row, Value least) {
  return b.loop(panelBegin, panelEnd, kLanes, b.i64(0), [&](Value first, ValueRange carried) {
    Value lanes = reaching(boundsFrom(row, first), least);
    return SmallVector<Value>{b.add(carried[0], b.create<LLVM::CtPopOp>(lanes))};
  })[0];
}

void Choose::lookAtPanels(Value row, Value least) {
  b.loop(panelBegin, panelEnd, kLanes, [&](Value first) {
    Value lanes = reaching(boundsFrom(row, first), least);
    b.ifThen(b.less(b.i64(0), lanes), [&] {
      b.loop(b.i64(0), b.i64(kLanes), 1, [&](Value lane) {
        Value bit = b.create<arith::AndIOp>(b.create<arith::ShRUIOp>(lanes, lane), b.i64(1));
        b.ifThen(b.equal(bit, b.i64(1)), [&] { lookAtPanel(row, b.add(first, lane)); });
      });
    });
  });
}

/// Computes a panel of a row's logits.
void Choose::lookAtPanel(Value row, Value panel) {
  logits.goTo(b.div(panel, ChooseLogits::kPanels));
  Value inside = b.rem(panel, ChooseLogits::kPanels), place = b.i64(0), products = logits.sumsOf(place, inside);
  logits.multiplyPanel(row, inside);
  Value x = logits.logitsOf(logits.rowAt(row), inside, logits.lanesOf(inside), b.loadVector(logits.sumType(), products));
  b.storeVector(x, products);
  Value known = maximumAt(row, logits.number()), largest = unlessOdd(reduceLanes(b, ReduceKind::max, x), isOdd(x));
  b.store(b.create<arith::MaximumFOp>(b.load(f32(), known), largest), known);
  offerPanel(inside, place, listOf(row, part));
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
  auto seen = forChunks(b, b.i64(blocks), {none, noLane()}, [&](Value i, Value lanes, ValueRange carried) {
    Value x = load(i, lanes);
    Value isNumberless = b.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x);
    return SmallVector<Value>{maximum(b, x, carried[0]), b.create<arith::OrIOp>(carried[1], isNumberless)};
  });
  Value largest = reduceLanes(b, ReduceKind::max, seen[0]);
  Value norms = b.at(b.data(result + 2), b.mul(row, b.stride(result + 2, 0)), f32());
  b.store(unlessOdd(largest, seen[1]), norms);
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
