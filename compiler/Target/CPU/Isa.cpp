// Instruction sets: their names, and the register tiles that suit them.
#include "compiler/Target/CPU/Kernels.h"

namespace xf::cpu {

llvm::StringRef isaName(Isa isa) {
  switch (isa) {
  case Isa::baseline:
    return "baseline";
  case Isa::avx2:
    return "avx2";
  case Isa::avx512:
    return "avx512";
  }
  llvm_unreachable("unknown instruction set");
}

Tile largestTile(Isa isa) {
  switch (isa) {
  case Isa::baseline:
    return {3, 1}; // 12 accumulators of 4 lanes, 16 registers
  case Isa::avx2:
    return {6, 1}; // 12 of 8 lanes, 16 registers
  case Isa::avx512:
    return {12, 2}; // 24 of 16 lanes, 32 registers
  }
  llvm_unreachable("unknown instruction set");
}

int64_t panelsFor(Isa isa, int64_t rows) {
  // A chain is a register's worth of one panel. FMAs need 8 of them to be always busy; what is left of the registers is
  // for the columns and the broadcast rows.
  switch (isa) {
  case Isa::baseline:
  case Isa::avx2:
    return rows == 1 ? 4 : rows == 2 ? 2 : 1;
  case Isa::avx512:
    return rows == 1 ? 8 : rows <= 3 ? 4 : 2;
  }
  llvm_unreachable("unknown instruction set");
}

} // namespace xf::cpu
