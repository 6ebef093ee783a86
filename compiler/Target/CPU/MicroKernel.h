// Micro-kernels: the innermost loops of products, for a tile of rows and panels whose sums stay in registers.
#ifndef XF_COMPILER_TARGET_CPU_MICROKERNEL_H
#define XF_COMPILER_TARGET_CPU_MICROKERNEL_H

#include "compiler/Target/CPU/ProductOperands.h"
#include "compiler/Target/CPU/Tiles.h"

namespace xf::cpu {

/// The function that computes the product that its operands describe (ProductOperands.h), for `rows` rows and `panels` panels. Where rows are
/// widened, A is of f32, whole groups. Defined in `module` on first use.
mlir::LLVM::LLVMFuncOp getMicroKernel(mlir::ModuleOp module, Isa isa, const PanelKind &kind, int64_t rows, int64_t panels);

/// What names of products' functions begin with.
std::string productName(const PanelKind &kind);

/// Prefetches what is multiplied next, in the loop over k of a micro-kernel, before which it is constructed: what the caller says, or, of
/// a few rows, their own next panels (prefetchesOwnPanels, streamsPanels); otherwise nothing where the tile has too few rows.
///
/// A first-level cache has room for so few misses (24 on Zen 3 and 4) that with all of them waiting for memory it would reach half of memory's
/// speed; runs of lines trigger the second level's own prefetching, which has room for more. So it prefetches a run for each panel that is read,
/// or of own panels four (prefetchesInRuns): while one block of 16 KB is multiplied, the last quarter of the next one, the third quarter of that
/// behind it, and so on. Each run goes on from block to block.
class Prefetcher {
public:
  Prefetcher(CodeBuilder &b, const ProductOperands &operands, const PanelKind &kind, int64_t rows, int64_t panels);
  /// Prefetches what belongs to position k + u, in a pass over the `unroll` positions from k on.
  void prefetch(mlir::Value k, int64_t u, int64_t unroll);
  /// If panels stream in a single run, prefetches the lines so far behind the one at `address` that memory delivers them in time; else nothing.
  void prefetchBehind(mlir::Value address);
  /// Whether panels that stream have been prefetched when they are read.
  bool followsStream() const { return streams; }

private:
  void prefetchRuns(mlir::Value k, int64_t u, int64_t unroll);

  CodeBuilder &b;
  bool inRuns, streams;
  CodeBuilder::Cache cache; // a line that is prefetched again and again is to be found in the first one
  int64_t count; // of lines at each k
  mlir::Value start, step, next; // the first line of all; bytes from one k to the next, and from one line of it to the next
};

/// The body of a micro-kernel for i8_weights, whose pitch is 1.
void emitByteWeightMicroKernel(CodeBuilder &b, const ProductOperands &operands, int64_t tail, int64_t rows, int64_t panels);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_MICROKERNEL_H
