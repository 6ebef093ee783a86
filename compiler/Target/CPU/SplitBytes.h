// Bytes to be multiplied without VNNI, made 16-bit integers once for several tiles.
#ifndef XF_COMPILER_TARGET_CPU_SPLITBYTES_H
#define XF_COMPILER_TARGET_CPU_SPLITBYTES_H

#include "compiler/Target/CodeBuilder.h"

namespace xf::cpu {

/// A group of four elements is multiplied by half as many multiplications as it has elements (S. Winograd, "A New Algorithm for Inner Product",
/// 1968):
///
///   a0 w0 + a1 w1 + a2 w2 + a3 w3 = (a0 + w1) (a1 + w0) + (a2 + w3) (a3 + w2) - (a0 a1 + a2 a3) - (w0 w1 + w2 w3)
///
/// The first term is two additions of pairs and one instruction that multiplies pairs and adds them up; the others belong to a row or to a column
/// alone. Integers are exact, so the sums are those of any other way, even if intermediate ones overflow. A processor adds in more places than it
/// multiplies in: on a Zen 3 this is as fast as two multiplications that saturate, and 1.24 times as fast as two that do not.
///
/// A row holds for each group the pair a0 a2, then the pair a1 a3, and behind all groups (i32) the sum of a0 a1 + a2 a3. A panel holds for each
/// group the pairs w0 w2 of its 16 columns, then their pairs w1 w3, and behind all groups 16 sums.
class SplitBytes {
public:
  using Value = mlir::Value;
  static constexpr int64_t kGroup = 4;

  /// For parts of at most `maxGroups` groups.
  explicit SplitBytes(int64_t maxGroups) : maxGroups(maxGroups) {}

  mlir::Type element(mlir::Builder &b) const { return b.getI16Type(); }
  /// Elements from one row to the next: off powers of two, which would share cache sets.
  int64_t rowStride() const { return maxGroups * kGroup + 2 * kLanes; }
  int64_t panelElements() const { return (maxGroups * kGroup + 2) * kLanes; }

  /// Stores `groups` groups at `target`; of the row's bytes at `source` there are `length`, behind which it has zeros.
  void splitRow(CodeBuilder &b, Value source, Value length, Value groups, Value target) const;
  void splitPanel(CodeBuilder &b, Value source, Value groups, Value target) const;

private:
  int64_t maxGroups;
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_SPLITBYTES_H
