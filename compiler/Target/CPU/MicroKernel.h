// What micro-kernels have in common, whatever they multiply.
#ifndef XF_COMPILER_TARGET_CPU_MICROKERNEL_H
#define XF_COMPILER_TARGET_CPU_MICROKERNEL_H

#include "compiler/Target/CPU/CodeBuilder.h"

namespace xf::cpu {

/// Asks the second-level cache for what is multiplied next, in the loop over k of a micro-kernel, which it is made in front of;
/// for nothing where the tile has too few rows.
///
/// It asks for a run of lines for each panel that it reads. A first-level cache has room for so few misses (24 on
/// Zen 4) that with all of them waiting for memory it would reach half of memory's speed; runs set off the second level's own
/// prefetching, which has room for more.
class AheadFetcher {
public:
  AheadFetcher(CodeBuilder &b, const PanelKind &kind, int64_t rows, int64_t panels);
  /// What belongs to position k.
  void fetch(mlir::Value k);
  /// Of a panel that streams, what stands behind the line at `address` by as much as memory takes; else nothing.
  void fetchBehind(mlir::Value address);
  bool fetchesBehind() const { return streams; }

private:
  CodeBuilder &b;
  bool streams;
  int64_t count; // of lines at each k
};

/// The sums that a micro-kernel begins with: zeros, or if it goes on, what stands at `place`(i).
llvm::SmallVector<mlir::Value> firstSums(CodeBuilder &b, int64_t count, mlir::Type type, llvm::function_ref<mlir::Value(int64_t)> place);

/// What names of products' functions begin with.
std::string productName(const PanelKind &kind);

/// The bodies of getMicroKernel for f32, for bf16 and i8, and for i8_weights, whose pitch is 1.
void emitMicroKernel(CodeBuilder &b, const PanelKind &kind, int64_t rows, int64_t panels);
void emitGroupedMicroKernel(CodeBuilder &b, const PanelKind &kind, int64_t rows, int64_t panels);
void emitByteWeightMicroKernel(CodeBuilder &b, int64_t tail, int64_t rows, int64_t panels);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_MICROKERNEL_H
