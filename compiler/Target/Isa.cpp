#include "compiler/Target/Isa.h"

#include "llvm/Support/ErrorHandling.h"

namespace xf::codegen {

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

Isa isaOfFunction(llvm::StringRef name) {
  llvm::StringRef suffix = name.rsplit('.').second;
  for (Isa isa : kAllIsas)
    if (suffix == isaName(isa))
      return isa;
  return Isa::baseline;
}

} // namespace xf::codegen
