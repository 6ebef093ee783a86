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
#include "compiler/Target/CPU/Choose.h"

#include "compiler/Target/CPU/Chunks.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using mlir::xf::ChooseOp;
using mlir::xf::ReduceKind;

namespace xf::cpu {

int64_t chooseScratchBytes(ChooseOp op) {
  int64_t rows = largestTileRows(op, WeightPanels(op.getX(), op.getWeight()).factor);
  if (!op.getScreen().empty())
    rows = std::max(rows, largestTileRows(op, Factor::i8));
  if (!op.getWords().empty())
    rows = std::max(rows, largestTileRows(op, Factor::i16));
  return rows * ChooseOp::kBlock * 4;
}

Choose::Choose(KernelBuilder &b, ChooseOp op, const KernelRequest &request)
    : b(b), op(op), result(request.resultView()), blocks(ChooseOp::countBlocks(op.getColumns())), paddedBlocks(llvm::alignTo(blocks, kLanes)),
      most(op.getMost()), logits(b, op, request), rows(logits.rowCount()) {
  auto emplace = [&](std::optional<ChooseScreen> &screen, Factor factor) {
    screen.emplace(b, op, factor, b.at(partsOf(b.i64(0)), ChooseOp::countParts(op.getColumns(), most), f32()), b.stride(result + 3, 0));
  };
  // Elsewhere products of bytes take as long as others.
  if (!op.getScreen().empty() && hasVnni(b.isa()))
    emplace(screen, Factor::i8);
  // Sums of f32 are the same everywhere, and so are products of words. Bytes do beside bf16, which differs anyway.
  if (!op.getWords().empty())
    emplace(ofSums, Factor::i16);
  else if (screen && logits.factors().weight.factor == Factor::bf16)
    emplace(ofSums, Factor::i8);
}

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
  auto lookForBest = [&] {
    auto everyRow = [](Value, llvm::function_ref<void()> body) { body(); };
    if (screen) {
      SmallVector<Value> needsAll = b.choose(
          sums, [&] { return SmallVector<Value>{sums}; }, [&] { return SmallVector<Value>{lookAtFew()}; });
      b.ifThen(needsAll[0], [&] { lookAtAll(everyRow); });
    } else {
      lookAtAll(everyRow);
    }
    b.waitForOthers();
    auto [first, end] = b.share(rows);
    b.loop(first, end, 1, [&](Value row) { join(row); });
  };
  if (ofSums)
    b.ifElse(sums, [&] { lookAtFewWithSums(); }, lookForBest);
  else
    lookForBest();
}

void Choose::join(Value row) {
  joinLists(row, parts);
  joinNorms(row);
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

void Choose::lookAtAll(llvm::function_ref<void(Value, llvm::function_ref<void()>)> only) {
  b.loop(rowBegin, rowEnd, 1, [&](Value row) { only(row, [&] { clearList(b, listOf(row, part), wanted); }); });
  auto skip = [&](Value row) {
    only(row, [&] {
      b.store(noLogit(), maximumAt(row, logits.number()));
      b.store(b.f32(0), sumAt(row, logits.number()));
    });
  };
  auto look = [&] {
    forRows(logits.factors(), {[&](Value row, Value place) { only(row, [&] { findMaximum(row, place); }); },
                               [&](Value row, Value place) { only(row, [&] { b.ifThen(sums, [&] { addPowers(row, place); }); }); },
                               [&](Value row, Value place) { only(row, [&] { offerBlock(row, place); }); }});
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
  Value shift = b.splat(shiftOf(b.load(f32(), maximumAt(row, logits.number()))));
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
  b.ifThen(compare(arith::CmpFPredicate::UGT, largest, worstOf(b, list)), [&] {
    b.loop(b.i64(0), logits.panelCount(), 1, [&](Value panel) { offerPanel(panel, logits.sumsOf(place, panel), list, Order::ascending); });
  });
}

/// Offers the logits of a panel of the block, which are at `start`.
void Choose::offerPanel(Value panel, Value start, const CandidateList &list, Order order) {
  Value largest = reduceLanes(b, ReduceKind::max, b.loadVector(f32(), start));
  auto predicate = order == Order::ascending ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OGE;
  b.ifThen(compare(predicate, largest, worstOf(b, list)), [&] {
    Value first = b.add(b.mul(logits.number(), ChooseOp::kBlock), b.mul(panel, kLanes));
    b.loop(b.i64(0), b.i64(kLanes), 1, [&](Value lane) {
      Value token = b.create<arith::TruncIOp>(b.getI32Type(), b.add(first, lane));
      offer(b, list, b.load(f32(), b.at(start, lane, f32())), token);
    });
  });
}

void Choose::joinLists(Value row, Value lists) {
  CandidateList best{b.at(b.data(result), b.mul(row, b.stride(result, 0)), f32()),
                     b.at(b.data(result + 1), b.mul(row, b.stride(result + 1, 0)), f32()), wanted};
  clearList(b, best, b.i64(most));
  // Ascending columns, so that the lower of equals comes first.
  b.loop(b.i64(0), lists, 1, [&](Value i) {
    CandidateList list = listOf(row, i);
    b.loop(b.i64(0), wanted, 1, [&](Value place) {
      offer(b, best, b.load(f32(), b.at(list.values, place, f32())), b.load(b.getI32Type(), b.at(list.tokens, place, f32())));
    });
  });
}

void Choose::joinNorms(Value row) {
  Value maxima = maximumAt(row, b.i64(0)), powers = sumAt(row, b.i64(0)), none = b.splat(noLogit());
  auto load = [&](Value i, Value lanes) {
    Value x = b.loadVector(f32(), b.at(maxima, i, f32()), lanes);
    return lanes ? b.create<arith::SelectOp>(b.firstLanes(lanes), x, none).getResult() : x;
  };
  auto seen = forChunks(b, b.i64(blocks), {none, noLane()}, [&](Value i, Value lanes, ValueRange carried) {
    Value x = load(i, lanes);
    Value isNumberless = compare(arith::CmpFPredicate::UNO, x, x);
    return SmallVector<Value>{maximum(b, x, carried[0]), b.create<arith::OrIOp>(carried[1], isNumberless)};
  });
  Value largest = reduceLanes(b, ReduceKind::max, seen[0]);
  b.store(unlessOdd(largest, seen[1]), normsOf(row));
  b.ifThen(sums, [&] {
    Value shift = b.splat(shiftOf(largest));
    Value sum = forChunks(b, b.i64(blocks), b.splatF32(0), [&](Value i, Value lanes, ValueRange carried) {
      Value factor = expOfNegative(b, difference(load(i, lanes), shift));
      return SmallVector<Value>{fusedMultiplyAdd(b, b.loadVector(f32(), b.at(powers, i, f32()), lanes), factor, carried[0])};
    })[0];
    b.store(reduceLanes(b, ReduceKind::sum, sum), b.at(normsOf(row), 1, f32()));
  });
}

LogicalResult emitChoose(KernelBuilder &b, ChooseOp op, const KernelRequest &request) {
  if (request.operands.size() != op->getNumOperands())
    return op.emitError("a matrix product reads per-sentence states through a copy only");
  Choose(b, op, request).emit();
  return success();
}

} // namespace xf::cpu
