// What the machine offers: the instruction set, the number of CPUs this process may use, and the
// floating-point control word that every computation runs under.
#ifndef RUNTIME_CORE_CPU_H
#define RUNTIME_CORE_CPU_H

#include <cstdint>
#include <span>
#include <vector>

#include <pthread.h>
#include <xmmintrin.h>

namespace xf::rt {

// The instruction sets that CPU and operating system support: the highest xf_abi_isa, or -1 below the baseline, and those below it. Of
// these AVX-VNNI alone may be lacking, as is so on most CPUs that have AVX-512.
struct isa_support {
  int best;
  bool avx_vnni;
  bool slow_bf16 = false; // BF16 instructions multiply slower than those of f32 do
  bool has(int isa) const;
};
isa_support detect_isa();

// The names of the instruction sets, by xf_abi_isa.
std::span<const char *const> isa_names();
const char *isa_name(int isa);

// The index in `available` (ascending xf_abi_isa values) of the kernels to use on a CPU with what is
// `supported`; `requested` is an xf_abi_isa or -1 for the fastest. Throws a sentence when there is none.
int choose_isa(const std::vector<int> &available, isa_support supported, int requested);

// The numbers of the CPUs that the calling thread's affinity mask has, ascending; none where the kernel does not say.
std::vector<int> allowed_cpus();
// Binds a thread to one of them. False where the kernel does not.
bool bind_to_cpu(pthread_t thread, int cpu);

// CPUs that the affinity mask and the control group's quota, rounded, leave to this process, at least 1.
int available_cpus();

// Round to nearest, denormals kept, exceptions masked; restores the caller's setting when it goes.
class fp_scope {
public:
  fp_scope() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~fp_scope() { _mm_setcsr(saved_); }
  fp_scope(const fp_scope &) = delete;
  fp_scope &operator=(const fp_scope &) = delete;

private:
  uint32_t saved_;
};

} // namespace xf::rt

#endif
