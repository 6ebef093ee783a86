// What micro-kernels have in common, whatever they multiply.
#ifndef XF_COMPILER_TARGET_CPU_MICROKERNEL_H
#define XF_COMPILER_TARGET_CPU_MICROKERNEL_H

#include "compiler/Target/CPU/CodeBuilder.h"

namespace xf::cpu {

/// Asks the second-level cache for what is multiplied next, in the loop over k of a micro-kernel, which it is made in front of;
/// for nothing where the tile has too few rows.
///
/// A first-level cache has room for so few misses (24 on Zen 4) that with all of them waiting for memory it would reach half of
/// memory's speed. The second level's own prefetching has room for more, for each ascending run of lines that it sees: so each
/// panel is a run of its own. More runs would gain a little, but for the instructions that their addresses take.
class AheadFetcher {
public:
  /// `element` is a panel's.
  AheadFetcher(CodeBuilder &b, Factor factor, mlir::Type element, int64_t rows, int64_t panels);
  /// What belongs to position k.
  void fetch(mlir::Value k);

private:
  CodeBuilder &b;
  llvm::SmallVector<mlir::Value> starts; // of panels
};

/// What names of products' functions begin with.
std::string productName(const PanelKind &kind);

/// The bodies of getMicroKernel for f32, for bf16 and i8, and for i8_weights, whose pitch is 1.
void emitMicroKernel(CodeBuilder &b, int64_t pitch, int64_t rows, int64_t panels);
void emitGroupedMicroKernel(CodeBuilder &b, const PanelKind &kind, int64_t rows, int64_t panels);
void emitByteWeightMicroKernel(CodeBuilder &b, int64_t tail, int64_t rows, int64_t panels);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_MICROKERNEL_H
