// The greatest of many numbers, of which some are taken out.
#ifndef XF_COMPILER_TARGET_CPU_PANELRANKING_H
#define XF_COMPILER_TARGET_CPU_PANELRANKING_H

#include "compiler/Target/CodeBuilder.h"
#include "dialect/IR/Xf.h"

namespace xf::cpu {

/// 16 numbers (f32) from `first` on, `none` in the place of those from `end` on.
mlir::Value loadUntil(CodeBuilder &b, mlir::Value numbers, mlir::Value first, mlir::Value end, mlir::Value none);
/// The lanes that are set, as the bits of an i64.
mlir::Value bitsOf(CodeBuilder &b, mlir::Value lanes);
/// The first place from `begin` to `end` that has `number`; there must be one. `numbersFrom`: those of 16 places from one on, with
/// other numbers behind the end.
mlir::Value placeOf(CodeBuilder &b, mlir::Value number, mlir::Value begin, mlir::Value end,
                    llvm::function_ref<mlir::Value(mlir::Value first)> numbersFrom);

/// `count` numbers (f32) of panels. The maximum of each 16 is kept, and if `sums` is not null the sum, so that finding the greatest,
/// and taking it out, looks at a 16th of them.
class PanelRanking {
public:
  using Value = mlir::Value;
  /// What is taken out, and what stands behind the last number, counts as `none`. `numbers` has room for a multiple of 16, `maxima`
  /// and `sums` for one of each 16, and for a multiple of 16 of these.
  PanelRanking(CodeBuilder &b, Value numbers, int64_t count, Value none, Value maxima, Value sums = nullptr)
      : b(b), numbers(numbers), maxima(maxima), sums(sums), none(none), count(count), groups((count + kLanes - 1) / kLanes) {}

  /// Ranks the numbers as they are.
  void rank();
  Value greatest() { return overGroups(mlir::xf::ReduceKind::max, maxima); }
  Value sum() { return overGroups(mlir::xf::ReduceKind::sum, sums); }
  /// Takes out the first panel that has `number`, which one must have, and returns it.
  Value takeOut(Value number);

private:
  Value numbersFrom(Value first);
  void rankGroup(Value group);
  Value overGroups(mlir::xf::ReduceKind kind, Value ofGroups);

  CodeBuilder &b;
  Value numbers, maxima, sums, none;
  int64_t count, groups;
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_PANELRANKING_H
