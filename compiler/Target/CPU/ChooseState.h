// What the parts of xf.choose's kernel share: the thread's part of the work, and where a row keeps what was seen of it.
#ifndef XF_COMPILER_TARGET_CPU_CHOOSESTATE_H
#define XF_COMPILER_TARGET_CPU_CHOOSESTATE_H

#include "compiler/Target/CPU/CandidateList.h"
#include "compiler/Target/CPU/ChooseLogits.h"
#include "compiler/Target/CPU/PanelRanking.h"
#include "compiler/Target/VectorMath.h"

#include <limits>

namespace xf::cpu {

struct ChooseState {
  using Value = mlir::Value;

  ChooseState(KernelBuilder &b, mlir::xf::ChooseOp op, const KernelRequest &request);

  KernelBuilder &b;
  mlir::xf::ChooseOp op;
  unsigned valuesView, tokensView, normsView, keptView; // of the results
  int64_t blocks, paddedBlocks, maxCandidates;
  ChooseLogits logits;
  Value rows, wanted, sums;
  Value rowBegin, rowEnd, blockBegin, blockEnd, part, parts; // this thread's share, and in how many parts columns are split
  Value panelBegin, panelEnd;                                // the blocks' panels

  /// Calls `body` for each of the thread's blocks, or `skip`, for each row, where nobody may choose from the block.
  void forBlocks(llvm::function_ref<void()> body, llvm::function_ref<void(Value row)> skip);
  /// Multiplies one tile of rows after the other with the block's panels, and calls `body` for each tile.
  void forTiles(const ChooseFactors &factors, llvm::function_ref<void(Value first, Value count)> body);
  /// Calls `body` with the index of each of `count` rows from `first` on, and its row in the tile. A body that ends in a reduction, a long
  /// dependency chain, overlaps with the next row's; what needs the result belongs into a loop of its own.
  void forRows(Value first, Value count, llvm::function_ref<void(Value row, Value tileRow)> body);
  /// Of a panel, by its index in the block and its lanes (ChooseLogits::forPanels), 16 lanes to be reduced; changes what is carried.
  using PanelBody = llvm::function_ref<Value(Value panel, Value lanes, llvm::SmallVector<Value> &carried)>;
  /// Reduces the vectors of the block's panels, stores each result where `addressOf` says, by the panel's index among all, and returns what is
  /// carried.
  llvm::SmallVector<Value> reducePanels(mlir::xf::ReduceKind kind, llvm::function_ref<Value(Value panel)> addressOf, mlir::ValueRange carried,
                                        PanelBody vectorOf);
  /// Reduces each of eight vectors (reduceLanesOfEight), and stores the results at `target`.
  void storeReduced(mlir::xf::ReduceKind kind, llvm::ArrayRef<Value> vectors, Value target);

  /// In which order panels are offered. In ascending order, a logit that only equals the worst of the list is of no use.
  enum class Order { ascending, any };
  /// Offers the logits of a panel of the block, which are at `start`.
  void offerPanel(Value panel, Value start, const CandidateList &list, Order order);
  /// Offers a panel of a row's logits, whose products are in slot `slot` of those of two panels (ChooseLogits::multiplyPanels), and returns
  /// them; `largest` is where the largest known logit is kept.
  Value takePanel(Value row, Value panel, Value slot, Order order, Value largest);
  /// Joins the first `lists` lists of a row to its result.
  void joinLists(Value row, Value lists);

  int64_t panelCount() const { return logits.factors().weight.panels; }
  Value firstPanel() { return b.mul(logits.block(), ChooseLogits::kPanels); } // of the block
  Value columnOf(Value panel) { return b.mul(b.add(firstPanel(), panel), kLanes); }

  mlir::Type f32() { return b.getF32Type(); }
  Value noLogit() { return b.f32(-std::numeric_limits<double>::infinity()); }
  Value nan() { return b.f32(std::numeric_limits<double>::quiet_NaN()); }
  /// What exponentials are shifted by: the largest logit, but 0 where there is none.
  Value shiftOf(Value largest) {
    Value none = compare(mlir::arith::CmpFPredicate::OEQ, largest, noLogit());
    return b.create<mlir::arith::SelectOp>(none, b.f32(0), largest);
  }
  Value compare(mlir::arith::CmpFPredicate predicate, Value x, Value y) { return b.create<mlir::arith::CmpFOp>(predicate, x, y); }
  Value anyLane(Value mask) { return b.less(b.i64(0), bitsOf(b, mask)); }
  Value noLane() { return b.splat(b.create<mlir::arith::ConstantIntOp>(b.getI1Type(), 0)); }
  Value difference(Value x, Value y) { return b.create<mlir::arith::SubFOp>(x, y); }
  /// Whether a logit makes the largest count as NaN: it is +inf or NaN.
  Value isNonFinite(Value x) { return compare(mlir::arith::CmpFPredicate::UGT, x, b.splatF32(std::numeric_limits<float>::max())); }
  /// The bounds, +inf where one is NaN: nothing is known there.
  Value boundOrNone(Value bounds) {
    return b.create<mlir::arith::SelectOp>(isNonFinite(bounds), b.splatF32(std::numeric_limits<double>::infinity()), bounds);
  }
  /// The largest logit, or NaN if one of the lanes `nonFinite` is set.
  Value nanIfAny(Value largest, Value nonFinite) { return b.create<mlir::arith::SelectOp>(anyLane(nonFinite), nan(), largest); }

  // Addresses in what is kept of a row: the blocks' maxima, their sums, for each part of the columns a list, and what a screen has.
  Value keptOf(Value row) { return rowOf(keptView, row); }
  Value maximumAt(Value row, Value block) { return b.at(keptOf(row), block, f32()); }
  Value sumAt(Value row, Value block) { return b.at(maximumAt(row, block), paddedBlocks, f32()); }
  CandidateList listOf(Value row, Value index) {
    Value values = b.at(b.at(keptOf(row), b.mul(index, 2 * maxCandidates), f32()), 2 * paddedBlocks, f32());
    return {values, b.at(values, maxCandidates, f32()), wanted};
  }
  /// Where the row's result norms are.
  Value normsOf(Value row) { return rowOf(normsView, row); }
  Value totalOf(Value row) { return b.at(normsOf(row), 1, f32()); }

  /// A row of a result.
  Value rowOf(unsigned view, Value row) { return b.at(b.data(view), b.mul(row, b.stride(view, 0)), f32()); }

private:
  void splitWork();
  /// reducePanels of a whole block, whose eight results go to `target`.
  llvm::SmallVector<Value> reduceTogether(mlir::xf::ReduceKind kind, Value target, mlir::ValueRange carried, PanelBody vectorOf);
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_CHOOSESTATE_H
