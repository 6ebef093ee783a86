// The greatest of many values, of which some are taken out.
#ifndef XF_COMPILER_TARGET_CPU_PANELRANKING_H
#define XF_COMPILER_TARGET_CPU_PANELRANKING_H

#include "compiler/Target/CodeBuilder.h"
#include "dialect/IR/Xf.h"

namespace xf::cpu {

/// 16 values (f32) from `first` on, `none` instead of those from `end` on.
mlir::Value loadUntil(CodeBuilder &b, mlir::Value values, mlir::Value first, mlir::Value end, mlir::Value none);
/// The lanes that are set, as the bits of an i64.
mlir::Value bitsOf(CodeBuilder &b, mlir::Value lanes);
/// The first index from `begin` to `end` that has `value`; there must be one. `valuesFrom`: the 16 values from an index on, with
/// other values behind the end.
mlir::Value indexOf(CodeBuilder &b, mlir::Value value, mlir::Value begin, mlir::Value end,
                    llvm::function_ref<mlir::Value(mlir::Value first)> valuesFrom);

/// `count` values (f32) of panels. The maximum of each 16 is kept, and if `sums` is not null the sum, so that finding the greatest,
/// and taking it out, looks at a 16th of them.
class PanelRanking {
public:
  using Value = mlir::Value;
  /// What is taken out, and what stands behind the last value, counts as `none`. `values` has room for a multiple of 16, `maxima`
  /// and `sums` for one of each 16, and for a multiple of 16 of these.
  PanelRanking(CodeBuilder &b, Value values, int64_t count, Value none, Value maxima, Value sums = nullptr)
      : b(b), values(values), maxima(maxima), sums(sums), none(none), count(count), groups((count + kLanes - 1) / kLanes) {}

  /// Ranks the values as they are.
  void rank();
  Value greatest() { return overGroups(mlir::xf::ReduceKind::max, maxima); }
  Value sum() { return overGroups(mlir::xf::ReduceKind::sum, sums); }
  /// Takes out the first panel that has `value`, which one must have, and returns it.
  Value takeOut(Value value);

private:
  Value valuesFrom(Value first);
  void rankGroup(Value group);
  Value overGroups(mlir::xf::ReduceKind kind, Value ofGroups);

  CodeBuilder &b;
  Value values, maxima, sums, none;
  int64_t count, groups;
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_PANELRANKING_H
