// The instruction sets that code is made for.
#ifndef XF_COMPILER_TARGET_ISA_H
#define XF_COMPILER_TARGET_ISA_H

#include "runtime/abi/xf_abi.h"

#include "llvm/ADT/StringRef.h"

namespace xf::codegen {

enum class Isa {
  baseline = XF_ABI_BASELINE,
  avx2 = XF_ABI_AVX2,
  avx2_vnni = XF_ABI_AVX2_VNNI,
  avx512 = XF_ABI_AVX512,
  avx512_vnni = XF_ABI_AVX512_VNNI,
  avx512_bf16 = XF_ABI_AVX512_BF16
};
inline constexpr Isa kAllIsas[] = {Isa::baseline, Isa::avx2, Isa::avx2_vnni, Isa::avx512, Isa::avx512_vnni, Isa::avx512_bf16};
llvm::StringRef isaName(Isa isa);
/// The instruction set of function `name`: its suffix (NAME.avx2, NAME.avx512 …), or the baseline.
Isa isaOfFunction(llvm::StringRef name);

inline bool hasAvx2(Isa isa) { return isa >= Isa::avx2; }
inline bool hasAvx512(Isa isa) { return isa >= Isa::avx512; }
/// Products of bytes in one instruction.
inline bool hasVnni(Isa isa) { return isa == Isa::avx2_vnni || isa >= Isa::avx512_vnni; }

/// What suits registers of 4 lanes (16 of them), of 8 (16), or of 16 (32).
template <typename T> T byRegisters(Isa isa, T of4, T of8, T of16) { return hasAvx512(isa) ? of16 : hasAvx2(isa) ? of8 : of4; }

} // namespace xf::codegen

/// The kernels of the CPU are written in these names.
namespace xf::cpu {
using namespace codegen;
}

#endif // XF_COMPILER_TARGET_ISA_H
