#include "compiler/Target/CPU/Tiles.h"

#include <algorithm>

namespace xf::cpu {

Factor factorOf(mlir::Type x, mlir::Type weight) {
  if (weight.isInteger(8))
    return x.isF32() ? Factor::i8_weights : Factor::i8;
  return weight.isInteger(16) ? Factor::i16 : weight.isBF16() ? Factor::bf16 : Factor::f32;
}

/// Whether `isa` multiplies what the product's loop has in registers in one instruction, or in two for int16 without VNNI.
static bool isNative(Isa isa, Factor factor) {
  return factor == Factor::f32 || factor == Factor::i8_weights || factor == Factor::i16 || factor == Factor::i8_split ||
         (factor == Factor::i8 && hasVnni(isa)) || (factor == Factor::bf16 && isa == Isa::avx512_bf16);
}

Isa productIsa(Isa isa, Factor factor) {
  if (factor == Factor::bf16)
    return isa == Isa::avx2_vnni ? Isa::avx2 : isa == Isa::avx512_vnni ? Isa::avx512 : isa;
  if (factor == Factor::i8 || factor == Factor::i16)
    return std::min(isa, Isa::avx512_vnni);
  return hasAvx512(isa) ? Isa::avx512 : std::min(isa, Isa::avx2);
}

bool widensRows(Isa isa, Factor factor) { return factor == Factor::bf16 && !isNative(isa, factor); }

Tile largestTile(Isa isa, Factor factor) {
  // The words that columns are widened from need registers, too.
  if (widensRows(isa, factor) || factor == Factor::i8_weights)
    return byRegisters<Tile>(isa, {2, 1}, {5, 1}, {12, 2});
  // A column and a row take two registers each, each with half of a group.
  if (!isNative(isa, factor) || factor == Factor::i8_split)
    return byRegisters<Tile>(isa, {1, 1}, {4, 1}, {10, 2});
  // Sums take 12 of 16 registers (4 or 2 a panel's row), or 24 of 32.
  return byRegisters<Tile>(isa, {3, 1}, {6, 1}, {12, 2});
}

bool splitsBytes(Isa isa, Factor factor) {
  // With AVX-512 multiplications and additions share two units: to have more of one and fewer of the other gains nothing.
  return factor == Factor::i8 && isa == Isa::avx2;
}

int64_t blockRows(Isa isa, Factor factor) {
  // Splitting a panel takes half as long as multiplying a tile's four rows by it. Their words are to leave most of the second-level cache to others.
  return splitsBytes(isa, factor) ? 64 : largestTile(isa, factor).rows;
}

bool takesInterleaved(Isa isa, int64_t rows, Factor factor) {
  // Rows of other types are shorter, and all of them stay in the first-level cache. Of several blocks none has fewer rows than half a tile.
  return factor == Factor::f32 && hasAvx512(isa) && rows >= largestTile(isa, factor).rows / 2;
}

bool prefetchesRarely(Isa isa, int64_t rows, const PanelKind &kind) {
  // What the loop of the largest tiles consists of besides its multiply-adds fills the front end of Intel's Cascade Lake.
  return kind.isShared && hasAvx512(isa) && isNative(isa, kind.factor) && kind.factor != Factor::i8_weights &&
         rows + 1 >= largestTile(isa, kind.factor).rows;
}

int64_t prefetchingRows(Isa isa, Factor factor) {
  // Hardware prefetching takes a while to find what several rows read next. With few rows, widening bytes takes as long as memory does.
  if (!hasAvx512(isa))
    return factor == Factor::i8_split ? 2 : 4; // a tile of several
  return factor == Factor::i8_weights ? 5 : 2;
}

bool streamsPanels(Isa isa, int64_t rows, const PanelKind &kind) {
  // Two to four panels at once are as many runs of lines: prefetching, the processor's own or ours, then gives 30 to 38 GB/s where a single run gives
  // 42 (Zen 5). A single row's loads are so close together that they keep memory busy by themselves, and those of two rows with two panels in
  // AVX2. From nine rows on arithmetic takes longer.
  return kind.streams && hasAvx2(isa) && isNative(isa, kind.factor) && kind.factor != Factor::i8_weights && rows >= (hasAvx512(isa) ? 2 : 3) &&
         rows <= 8;
}

bool prefetchesOwnPanels(Isa isa, int64_t rows, const PanelKind &kind) {
  // Bytes that are widened take so many instructions a line that a few dozen lines fill the out-of-order window, too few to keep memory
  // busy; and panels that are read at once are as many runs of lines. (bf16 as f32 gains nothing.)
  if (kind.pitch > 1)
    return false;
  return kind.factor == Factor::i8_weights ? rows < prefetchingRows(isa, kind.factor)
                                           : kind.factor == Factor::i8 && !isNative(isa, kind.factor) && rows <= 3;
}

bool prefetchesInRuns(Isa isa, int64_t rows, const PanelKind &kind) {
  // A Zen 3 reads a single run at 55 to 65 % of memory's speed, and four at 90 to 100. From caches runs are slower, and so are several rows of bytes,
  // which take longer than memory.
  bool suits = kind.factor == Factor::i8 && !isNative(isa, kind.factor) ? rows <= 2 : streamsPanels(isa, rows, kind);
  return kind.streams && hasAvx2(isa) && !hasAvx512(isa) && suits;
}

int64_t panelsFor(Isa isa, int64_t rows, const PanelKind &kind) {
  Factor factor = kind.factor;
  if (streamsPanels(isa, rows, kind) || factor == Factor::i8_split)
    return 1;
  // A chain is a register's worth of one panel. FMAs need 8 of them to be always busy; what is left of the registers is
  // for the columns and the broadcast rows. A single row needs fewer: memory takes longer than four chains do, and of
  // eight panels, which are as many short runs of lines, the processor finds only 85 % in time (Zen 5).
  if (!isNative(isa, factor))
    return hasAvx512(isa) ? (rows <= 3 ? 4 : 2) : hasAvx2(isa) && rows == 1 ? 2 : 1;
  if (!hasAvx512(isa))
    return rows == 1 ? 4 : rows == 2 ? 2 : 1;
  return rows < (factor == Factor::f32 || factor == Factor::i8_weights ? 5 : 2) ? 4 : 2;
}

} // namespace xf::cpu
