// The state of the kernel of xf.choose: its share of the work, and where it keeps what it has seen.
#ifndef XF_COMPILER_TARGET_CPU_CHOOSE_H
#define XF_COMPILER_TARGET_CPU_CHOOSE_H

#include "compiler/Target/CPU/CandidateList.h"
#include "compiler/Target/CPU/ChooseScreen.h"
#include "compiler/Target/CPU/VectorMath.h"

#include <limits>
#include <optional>

namespace xf::cpu {

class Choose {
public:
  using Value = mlir::Value;

  Choose(KernelBuilder &b, mlir::xf::ChooseOp op, const KernelRequest &request);

  void emit();

private:
  void splitWork();
  void clearRow(Value row);
  /// Calls `body` for each of the thread's blocks, and for those that nobody may choose from `skip`.
  void forBlocks(llvm::function_ref<void()> body, llvm::function_ref<void(Value row)> skip);
  /// Multiplies the block's panels, and calls each of `steps` for all rows of the last products, with a row's number and its place among
  /// them. A step ends in a reduction, a long chain; in a loop of its own the next rows' begin meanwhile.
  using RowStep = llvm::function_ref<void(Value row, Value place)>;
  void forRows(const ChooseFactors &factors, llvm::ArrayRef<RowStep> steps);

  // All logits.
  /// Of the rows for which `only` calls its second argument.
  void lookAtAll(llvm::function_ref<void(Value row, llvm::function_ref<void()>)> only);
  void join(Value row);
  void findMaximum(Value row, Value place);
  void addPowers(Value row, Value place);
  void offerBlock(Value row, Value place);
  /// In which order panels are offered: one that only equals the worst of the list is of no use behind all lower ones.
  enum class Order { ascending, any };
  void offerPanel(Value panel, Value start, const CandidateList &list, Order order);

  // Those that bytes leave.
  Value lookAtFew();
  void bound(Value row, Value place);
  Value boundOrNone(Value bounds);
  Value highestBound(Value row);
  Value panelOfBound(Value row, Value bound);
  Value boundsOf(Value row) { return (screen ? screen : ofSums)->boundAt(row, b.i64(0)); } // of both they lie there
  Value firstPanel() { return b.mul(logits.number(), ChooseLogits::kPanels); }            // of the block
  Value columnOf(Value panel) { return b.mul(b.add(firstPanel(), panel), kLanes); }
  Value placeOf(Value number, Value begin, Value end, llvm::function_ref<Value(Value first)> numbersFrom);
  Value boundsFrom(Value row, Value first);
  Value reaching(Value bounds, Value least);
  Value countPanels(Value row, Value least);
  void forLanes(Value lanes, llvm::function_ref<void(Value lane)> body);
  void lookAtPanels(Value row, Value least);
  void lookAtPanel(Value row, Value panel, Order order);
  Value takePanel(Value row, Value panel, Value place, Order order, Value largest);

  // The same with sums.
  void lookAtFewWithSums();
  Value isUnsettled(Value row);
  Value anyIsUnsettled(Value first, Value end);
  void estimate(Value row, Value place);
  void addEstimates(Value row, Value place);
  void reduceTogether(mlir::xf::ReduceKind kind, Value target, llvm::function_ref<Value(Value panel)> vectorOf);
  Value errorOf(Value row);
  void settle(Value row);
  /// The panels of a row by the numbers that stand where their bounds do, with the maximum, and if it `addsUp` the sum, of each 16.
  struct Ranking {
    Value row, none; // what has been taken out has `none`
    bool addsUp;
  };
  Value numbersFrom(const Ranking &ranking, Value first);
  void rankGroup(const Ranking &ranking, Value group);
  void rank(const Ranking &ranking);
  Value overGroups(mlir::xf::ReduceKind kind, llvm::function_ref<Value(Value group)> at);
  Value takeOut(const Ranking &ranking, Value number);
  Value groupCount() { return b.i64((panelCount() + kLanes - 1) / kLanes); }
  void forTwo(const Ranking &ranking, Value count, Value number, llvm::function_ref<std::pair<Value, Value>()> next,
              llvm::function_ref<void(Value panel, Value place)> body);
  void settlePanel(Value row, Value panel, Value place);
  void addRareColumns(Value row);
  void replaceEstimate(Value row, Value panel, Value place);

  void joinLists(Value row, Value lists);
  void joinNorms(Value row);
  int64_t panelCount() const { return logits.factors().weight.panels; }
  Value normsOf(Value row) { return b.at(b.data(result + 2), b.mul(row, b.stride(result + 2, 0)), f32()); }

  mlir::Type f32() { return b.getF32Type(); }
  Value noLogit() { return b.f32(-std::numeric_limits<double>::infinity()); }
  Value notANumber() { return b.f32(std::numeric_limits<double>::quiet_NaN()); }
  /// What exponentials are shifted by: the largest logit, but 0 where there is none.
  Value shiftOf(Value largest) {
    Value none = compare(mlir::arith::CmpFPredicate::OEQ, largest, noLogit());
    return b.create<mlir::arith::SelectOp>(none, b.f32(0), largest);
  }
  Value compare(mlir::arith::CmpFPredicate predicate, Value x, Value y) { return b.create<mlir::arith::CmpFOp>(predicate, x, y); }
  /// Lanes, as the bits of an integer.
  Value bitsOf(Value mask) { return b.create<mlir::arith::ExtUIOp>(b.i64Type(), b.create<mlir::LLVM::BitcastOp>(b.getI16Type(), mask)); }
  Value anyLane(Value mask) { return b.less(b.i64(0), bitsOf(mask)); }
  Value noLane() { return b.splat(b.create<mlir::arith::ConstantIntOp>(b.getI1Type(), 0)); }
  Value difference(Value x, Value y) { return b.create<mlir::arith::SubFOp>(x, y); }
  /// A logit that makes the largest of them no number: +inf, or none itself.
  Value isOdd(Value x) {
    return compare(mlir::arith::CmpFPredicate::UGT, x, b.splatF32(std::numeric_limits<float>::max()));
  }
  /// The largest logit, or NaN if one of the lanes `odd` is set.
  Value unlessOdd(Value largest, Value odd) { return b.create<mlir::arith::SelectOp>(anyLane(odd), notANumber(), largest); }

  // Places in `parts`: the blocks' maxima, their sums, for each part of the columns a list, and what a screen has.
  Value partsOf(Value row) { return b.at(b.data(result + 3), b.mul(row, b.stride(result + 3, 0)), f32()); }
  Value maximumAt(Value row, Value number) { return b.at(partsOf(row), number, f32()); }
  Value sumAt(Value row, Value number) { return b.at(maximumAt(row, number), paddedBlocks, f32()); }
  CandidateList listOf(Value row, Value number) {
    Value values = b.at(b.at(partsOf(row), b.mul(number, 2 * most), f32()), 2 * paddedBlocks, f32());
    return {values, b.at(values, most, f32()), wanted};
  }

  KernelBuilder &b;
  mlir::xf::ChooseOp op;
  unsigned result;
  int64_t blocks, paddedBlocks, most;
  ChooseLogits logits;
  std::optional<ChooseScreen> screen, ofSums; // where nobody asks for sums, and where somebody does
  Value rows, wanted, sums;
  Value rowBegin, rowEnd, blockBegin, blockEnd, part, parts; // this thread's share, and in how many parts columns are split
  Value panelBegin, panelEnd;                                // the blocks' panels
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_CHOOSE_H
