// The logits of xf.choose, a block of columns at a time.
#ifndef XF_COMPILER_TARGET_CPU_CHOOSELOGITS_H
#define XF_COMPILER_TARGET_CPU_CHOOSELOGITS_H

#include "compiler/Target/CPU/BlockProduct.h"
#include "compiler/Target/CPU/KernelEmitters.h"

namespace xf::cpu {

/// A product that is walked over in blocks: rows with the panels of a view.
struct ChooseFactors {
  WeightPanels weight;
  unsigned view;
  mlir::Value x, rowStride; // row 0, and elements from one row to the next
};

/// The current block, ChooseOp::kBlock columns or what is left of them. Its products go to scratch, row after row.
class ChooseLogits {
public:
  using Value = mlir::Value;
  enum Operand : unsigned { rowsView, weightView, forbiddenView, classesView, optionsView, firstExtra };

  ChooseLogits(KernelBuilder &b, mlir::xf::ChooseOp op, const KernelRequest &request);

  static constexpr int64_t kPanels = mlir::xf::ChooseOp::kBlock / kLanes;
  /// The op's own factors, rows being those of the last position.
  const ChooseFactors &factors() const { return factors_; }
  Value rowCount() const { return rows_; }

  /// Goes to block `block`; from `end` on there is none that the thread needs.
  void begin(Value block, Value end);
  /// The same, but only to multiply single panels.
  void goTo(Value block) { block_ = block; }
  Value block() const { return block_; }
  Value panelCount() const { return panelCount_; }
  /// Whether the block has all its panels, and these all their columns.
  Value isWhole() { return b.less(b.mul(block_, mlir::xf::ChooseOp::kBlock), b.i64(factors_.weight.columns - mlir::xf::ChooseOp::kBlock + 1)); }
  /// Whether any column may be chosen by any row.
  Value isNeeded();

  /// Multiplies `rowCount` rows (a tile at most) with the panels that are needed. It is the thread's turn `turn` of `turns`
  /// with this block.
  void multiply(const ChooseFactors &factors, Value firstRow, Value rowCount, Value turn, Value turns);
  /// Multiplies one row with the weight's panel `first` and, if `count` is 2, `second`, by the op's own factors. Their products go to the
  /// slots of panels 0 and 1.
  void multiplyPanels(Value row, Value first, Value second, Value count);

  /// Where row `i` of the last product has panel `panel`.
  Value sumsOf(Value i, Value panel) { return b.at(b.scratch(), b.add(b.mul(i, mlir::xf::ChooseOp::kBlock), b.mul(panel, kLanes)), b.getI32Type()); }
  /// A row, and the address of its bits for the block's forbidden columns.
  struct Row {
    Value index, forbidden;
  };
  Row rowAt(Value row);
  /// A row's logits of a panel from its products: what is forbidden, and lanes that are no columns, are -inf. `lanes`: how many are
  /// (null: all).
  Value logitsOf(const Row &row, Value panel, Value lanes, Value products);
  /// The same of products' upper bounds: upper bounds of the logits.
  Value boundsOf(const Row &row, Value panel, Value lanes, Value bounds);
  /// Calls `body` for each panel of the block with its index and lanes; it takes and returns what it carries.
  llvm::SmallVector<Value> forPanels(mlir::ValueRange carried, llvm::function_ref<llvm::SmallVector<Value>(Value, Value, mlir::ValueRange)> body);
  /// How many of a panel's lanes are columns; null if all panels are whole.
  Value lanesOf(Value panel);
  mlir::Type sumType() const { return sumType_; }

private:
  Value panelIsNeeded(Value panel);
  Value computeLogits(const Row &row, Value panel, Value lanes, Value products);
  Value withoutForbidden(const Row &row, Value panel, Value lanes, Value logits);
  Value loadExtra(unsigned index, Value row, Value column, Value lanes);
  ProductOperands operands(const ChooseFactors &factors, Value firstRow, Value rowCount, Value panel, Value count);
  Value panelAddress(const ChooseFactors &factors, Value panel);

  KernelBuilder &b;
  mlir::xf::ChooseOp op;
  const KernelAccess &access;
  unsigned axis;
  mlir::Type sumType_;
  Value rows_, last;
  ChooseFactors factors_;
  Value block_, end_, panelCount_, neededCount;
  Value barred; // a bit for each column of the block that no class may choose
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_CHOOSELOGITS_H
