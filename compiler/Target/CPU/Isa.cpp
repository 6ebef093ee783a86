// Instruction sets: their names, what they are for, and the register tiles that suit them.
#include "compiler/Target/CPU/AttendWords.h"

namespace xf::cpu {

llvm::StringRef isaName(Isa isa) {
  switch (isa) {
  case Isa::baseline:
    return "baseline";
  case Isa::avx2:
    return "avx2";
  case Isa::avx2_vnni:
    return "avx2_vnni";
  case Isa::avx512:
    return "avx512";
  case Isa::avx512_vnni:
    return "avx512_vnni";
  case Isa::avx512_bf16:
    return "avx512_bf16";
  }
  llvm_unreachable("unknown instruction set");
}

Factor factorOf(mlir::Type x, mlir::Type weight) {
  if (weight.isInteger(8))
    return x.isF32() ? Factor::i8_weights : Factor::i8;
  return weight.isInteger(16) ? Factor::i16 : weight.isBF16() ? Factor::bf16 : Factor::f32;
}

/// Whether `isa` multiplies what the product's loop has in registers in one instruction; words are in two where it must be.
static bool isNative(Isa isa, Factor factor) {
  return factor == Factor::f32 || factor == Factor::i8_weights || factor == Factor::i16 || (factor == Factor::i8 && hasVnni(isa)) ||
         (factor == Factor::bf16 && isa == Isa::avx512_bf16);
}

Isa productIsa(Isa isa, Factor factor) {
  if (factor == Factor::bf16)
    return isa == Isa::avx2_vnni ? Isa::avx2 : isa == Isa::avx512_vnni ? Isa::avx512 : isa;
  if (factor == Factor::i8 || factor == Factor::i16)
    return std::min(isa, Isa::avx512_vnni);
  return hasAvx512(isa) ? Isa::avx512 : std::min(isa, Isa::avx2);
}

/// Those for the factors that the kernel multiplies.
static llvm::SmallVector<Isa> factorIsas(mlir::Operation *op) {
  llvm::SmallVector<Isa> isas{Isa::baseline, Isa::avx2, Isa::avx512};
  if (!llvm::isa<mlir::xf::ContractOp, mlir::xf::ChooseOp, mlir::xf::AttendOp>(op))
    return isas;
  // All have the factors first.
  auto elementOf = [&](unsigned i) { return llvm::cast<mlir::RankedTensorType>(op->getOperand(i).getType()).getElementType(); };
  Factor factor = factorOf(elementOf(0), elementOf(1));
  auto choose = llvm::dyn_cast<mlir::xf::ChooseOp>(op);
  auto attend = llvm::dyn_cast<mlir::xf::AttendOp>(op);
  if (factor == Factor::i8 || (choose && !(choose.getScreen().empty() && choose.getWords().empty())) || (attend && suitsWords(attend)))
    isas = {Isa::baseline, Isa::avx2, Isa::avx2_vnni, Isa::avx512, Isa::avx512_vnni};
  if (factor == Factor::bf16)
    isas.push_back(Isa::avx512_bf16);
  return isas;
}

/// Whether a region rounds numbers to bf16.
static bool narrowsToBF16(mlir::Operation *op) {
  return op->walk([](mlir::arith::TruncFOp narrow) { return narrow.getType().isBF16() ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance(); })
      .wasInterrupted();
}

llvm::SmallVector<Isa> kernelIsas(mlir::Operation *op) {
  llvm::SmallVector<Isa> isas = factorIsas(op);
  if (isas.back() != Isa::avx512_bf16 && narrowsToBF16(op))
    isas.push_back(Isa::avx512_bf16);
  return isas;
}

bool widensRows(Isa isa, Factor factor) { return factor == Factor::bf16 && !isNative(isa, factor); }

Tile largestTile(Isa isa, Factor factor) {
  // A panel's words need registers beside their halves.
  if (widensRows(isa, factor))
    return !hasAvx2(isa) ? Tile{2, 1} : !hasAvx512(isa) ? Tile{5, 1} : Tile{12, 2};
  // The words that the columns are made of need registers, too.
  if (factor == Factor::i8_weights && !hasAvx512(isa))
    return hasAvx2(isa) ? Tile{5, 1} : Tile{2, 1};
  if (!isNative(isa, factor))
    // Two registers a column and a row, of which each has the half of a group.
    return !hasAvx2(isa) ? Tile{1, 1} : !hasAvx512(isa) ? Tile{4, 1} : Tile{10, 2};
  switch (isa) {
  case Isa::baseline:
    return {3, 1}; // 12 accumulators of 4 lanes, 16 registers
  case Isa::avx2:
  case Isa::avx2_vnni:
    return {6, 1}; // 12 of 8 lanes, 16 registers
  case Isa::avx512:
  case Isa::avx512_vnni:
  case Isa::avx512_bf16:
    return {12, 2}; // 24 of 16 lanes, 32 registers
  }
  llvm_unreachable("unknown instruction set");
}

int64_t fetchingRows(Isa isa, Factor factor) {
  // What several rows read next, the processor's own prefetching takes a while to find. Widening bytes bounds few rows.
  if (!hasAvx512(isa))
    return 4;
  return factor == Factor::i8_weights ? 5 : 2;
}

bool streamsPanels(Isa isa, int64_t rows, const PanelKind &kind) {
  // Two to four panels at once are as many runs of lines: prefetching, the processor's own or ours, then gives 30 to 38 GB/s where a single run gives
  // 42 (Zen 5). A single row's loads are so close together that they keep memory busy by themselves. From nine rows on arithmetic takes longer.
  return kind.streams && hasAvx2(isa) && isNative(isa, kind.factor) && kind.factor != Factor::i8_weights && rows >= 2 && rows <= 8;
}

int64_t panelsFor(Isa isa, int64_t rows, const PanelKind &kind) {
  Factor factor = kind.factor;
  if (streamsPanels(isa, rows, kind))
    return 1;
  // A chain is a register's worth of one panel. FMAs need 8 of them to be always busy; what is left of the registers is
  // for the columns and the broadcast rows. A single row needs fewer: memory takes longer than four chains do, and of
  // eight panels, which are as many short runs of lines, the processor finds only 85 % in time (Zen 5). Weights of bytes beside rows of
  // f32 have to be widened first: arithmetic bounds these.
  if (!isNative(isa, factor))
    return hasAvx512(isa) ? (rows <= 3 ? 4 : 2) : hasAvx2(isa) && rows == 1 ? 2 : 1;
  switch (isa) {
  case Isa::baseline:
  case Isa::avx2:
  case Isa::avx2_vnni:
    return rows == 1 ? 4 : rows == 2 ? 2 : 1;
  case Isa::avx512:
  case Isa::avx512_vnni:
  case Isa::avx512_bf16:
    if (rows == 1 && factor == Factor::i8_weights)
      return 8;
    return rows < (factor == Factor::f32 || factor == Factor::i8_weights ? 5 : 2) ? 4 : 2;
  }
  llvm_unreachable("unknown instruction set");
}

} // namespace xf::cpu
