// What products multiply, and how much of it at a time suits an instruction set: types of factors, kinds of panels, tiles of rows and panels.
#ifndef XF_COMPILER_TARGET_CPU_TILES_H
#define XF_COMPILER_TARGET_CPU_TILES_H

#include "compiler/Target/Isa.h"

#include "mlir/IR/Types.h"

namespace xf::cpu {

/// What a product multiplies: i8 is unsigned bytes with signed ones, i16 signed 16-bit integers, their sums are i32; all others' are
/// f32. i8_weights is f32 with signed bytes. i8_split is i8 as SplitBytes.h stores it.
enum class Factor { f32, bf16, i8, i8_weights, i16, i8_split };
Factor factorOf(mlir::Type x, mlir::Type weight);
/// The least instruction set that multiplies as `isa` does: kernels of those above share its products.
Isa productIsa(Isa isa, Factor factor);

/// What a product multiplies rows by: panels of 16 columns, B[n/16][k/g][n%16][k%g] with g = 1 for f32, 2 for bf16 and i16, 4 for bytes.
struct PanelKind {
  Factor factor = Factor::f32;
  int64_t tail = 0;  // elements (< g) behind the whole groups of k
  int64_t pitch = 1; // panels from one group to the next; if more than 1, so many panels lie side by side: B[k/g][n/16][n%16][k%g]
  bool streams = false; // panels come from memory, not from a cache; of pitch 1
  bool isShared = false; // several blocks of rows take the panels, each of which prefetches a part of what comes next
};

/// The largest tile (rows x panels) that stays in registers.
struct Tile {
  int64_t rows, panels;
};
Tile largestTile(Isa isa, Factor factor = Factor::f32);
/// The most rows that a block product takes at once: a tile's, or where it splits bytes, several tiles'.
int64_t blockRows(Isa isa, Factor factor);
/// Whether block products of more rows than a tile's split bytes (SplitBytes.h).
bool splitsBytes(Isa isa, Factor factor);
/// Whether `isa` multiplies `factor` as f32, from rows that are made f32 before a block's products begin.
bool widensRows(Isa isa, Factor factor);
/// Whether the products of `rows` rows may read interleaved rows (InterleavedRows.h).
bool takesInterleaved(Isa isa, int64_t rows, Factor factor);
/// Whether `rows` rows prefetch what comes next at every second position only.
bool prefetchesRarely(Isa isa, int64_t rows, const PanelKind &kind);
/// The fewest rows for which micro-kernels prefetch what comes next: the arithmetic then takes long enough to hide memory behind
/// it. With fewer, whose panels are in a cache unless they stream, there is nothing to gain.
int64_t prefetchingRows(Isa isa, Factor factor);
/// Whether `rows` rows take panels that come from memory one by one, as a single run of lines, which memory gives fastest.
bool streamsPanels(Isa isa, int64_t rows, const PanelKind &kind);
/// Whether `rows` rows prefetch the panels behind those that they read, in a single run of lines.
bool prefetchesOwnPanels(Isa isa, int64_t rows, const PanelKind &kind);
/// Whether `rows` rows prefetch their own panels, which come from memory, in several runs of lines.
bool prefetchesInRuns(Isa isa, int64_t rows, const PanelKind &kind);
/// Panels to take at once for `rows` rows, so that enough independent chains hide the instruction's latency.
int64_t panelsFor(Isa isa, int64_t rows, const PanelKind &kind);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_TILES_H
