// What the innermost loops of products do with the elements of each type of factors.
#ifndef XF_COMPILER_TARGET_CPU_FACTORARITHMETIC_H
#define XF_COMPILER_TARGET_CPU_FACTORARITHMETIC_H

#include "compiler/Target/CPU/Tiles.h"
#include "compiler/Target/CodeBuilder.h"

namespace xf::cpu {

/// Products are made of words of four bytes: one f32, two bf16 or i16, or four bytes, which stand together along k. A step multiplies a
/// row's word with a panel's 16 words and adds the 16 groups' products to 16 sums.
///
/// Bytes: sums are exact, so any order gives the same bits. VNNI has the step as one instruction. Elsewhere bytes become
/// 16-bit integers, even ones and odd ones apart, whose products are added in pairs; no intermediate can overflow. Split bytes lie in memory that
/// way (SplitBytes.h). Products of i16 are
/// added in pairs, too, and do not overflow as long as rows are short enough (QuantizeOp).
/// bf16: a chain of f32 multiply-adds, k ascending, where the processor has nothing better: a bf16 is the upper half of an
/// f32. Splitting words takes the units that multiply; rows that many panels are multiplied by are therefore widened once, in memory.
/// BF16 instructions round in an order of their own, which is the same for all tiles.
class FactorArithmetic {
public:
  /// `factor`: any but i8_weights; `wideRows`: whether rows of bf16 lie as f32 in memory.
  FactorArithmetic(CodeBuilder &b, Factor factor, bool wideRows = false);

  /// The type of elements of rows and panels in memory.
  mlir::Type element() const { return element_; }
  mlir::Type rowElement() const { return wideRows ? mlir::Type(b.getF32Type()) : element_; }
  /// Elements in a word.
  int64_t group() const { return group_; }
  mlir::Type sumType() const { return isBytes() || factor == Factor::i8_split || factor == Factor::i16 ? word : b.getF32Type(); }

  /// A word as its multiplication needs it: itself, or its even and its odd elements; in all lanes, or a lane each.
  using Parts = llvm::SmallVector<mlir::Value, 2>;
  /// The row's word at `address`, of which there are the first `count` elements; nothing behind them is read.
  Parts loadRow(mlir::Value address, int64_t count);
  Parts loadRow(mlir::Value address) { return loadRow(address, group_); }
  /// The panel's 16 words at `address`; of their elements the first `count`, with zeros in the place of the others.
  Parts loadPanel(mlir::Value address, int64_t count);
  Parts loadPanel(mlir::Value address) { return loadPanel(address, group_); }
  mlir::Value multiplyAdd(const Parts &row, const Parts &panel, mlir::Value sum);
  /// Of 16 lanes with two 16-bit integers each: the sums of their products.
  mlir::Value pairProducts(mlir::Value x, mlir::Value w);

private:
  bool isBytes() const { return factor == Factor::i8; }
  bool isNative() const;
  mlir::Value loadWord(mlir::Value address, int64_t count);
  template <typename ShiftRight> Parts widened(mlir::Value words);
  Parts halves(mlir::Value words);
  mlir::Value addPairs(mlir::Value x, mlir::Value y);
  mlir::Value callInstruction(llvm::StringRef name, llvm::ArrayRef<std::pair<mlir::Value, mlir::Type>> operands);

  CodeBuilder &b;
  Factor factor;
  bool wideRows;
  mlir::Type element_, word;
  int64_t group_;
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_FACTORARITHMETIC_H
