#include "runtime/core/cpu.h"

#include "runtime/abi/xf_abi.h"
#include "runtime/core/error.h"
#include "runtime/core/owned_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include <cpuid.h>
#include <sched.h>

namespace xf::rt {

namespace {

struct registers {
  uint32_t a = 0, b = 0, c = 0, d = 0;
};

registers cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  registers r;
  __get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d);
  return r;
}

bool has(uint32_t value, std::initializer_list<int> bits) {
  return std::all_of(bits.begin(), bits.end(), [&](int bit) { return (value >> bit) & 1; });
}

// The register states that the operating system saves (XCR0).
uint64_t enabled_states() {
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

constexpr size_t kMaxCpuSets = 1024; // of cpu_set_t
constexpr const char *kNames[XF_ABI_ISA_COUNT] = {"baseline", "avx2", "avx2_vnni", "avx512", "avx512_vnni", "avx512_bf16"};

// A file of one line with at most two numbers, "max" standing for -1.
bool read_quota(const std::string &path, long long &quota, long long &period) {
  owned_file file(std::fopen(path.c_str(), "re"));
  char text[64] = {};
  if (!file || std::fread(text, 1, sizeof(text) - 1, file.get()) == 0)
    return false;
  if (std::strncmp(text, "max", 3) == 0) {
    quota = -1;
    return true;
  }
  return std::sscanf(text, "%lld %lld", &quota, &period) >= 1;
}

// CPUs by quota of the control group at `path` and its parents; `limit` where none is set. Rounded to the nearest: with 1.1 CPUs two threads do
// what one does, but both are stopped until each period ends, and one call in twenty takes three times as long.
int limit_by_quota(std::string path, const std::string &root, bool unified, int limit) {
  while (true) {
    std::string directory = root + path;
    long long quota = -1, period = 100000, unused = 0;
    bool found = unified ? read_quota(directory + "/cpu.max", quota, period)
                         : read_quota(directory + "/cpu.cfs_quota_us", quota, unused) && read_quota(directory + "/cpu.cfs_period_us", period, unused);
    if (found && quota > 0 && period > 0)
      limit = static_cast<int>(std::min<long long>(limit, std::max(1LL, (quota + period / 2) / period)));
    size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos)
      return limit;
    path.resize(slash);
  }
}

int limit_by_control_group(int limit) {
  owned_file file(std::fopen("/proc/self/cgroup", "re"));
  char line[4096];
  while (file && std::fgets(line, sizeof(line), file.get())) {
    // hierarchy:controllers:path
    char *controllers = std::strchr(line, ':');
    char *path = controllers ? std::strchr(controllers + 1, ':') : nullptr;
    if (!path)
      continue;
    *controllers++ = *path++ = '\0';
    path[std::strcspn(path, "\n")] = '\0';
    std::string group = std::strcmp(path, "/") == 0 ? "" : path;
    if (*controllers == '\0')
      limit = limit_by_quota(group, "/sys/fs/cgroup", true, limit);
    else if (std::strstr((std::string(",") + controllers + ",").c_str(), ",cpu,"))
      limit = limit_by_quota(group, "/sys/fs/cgroup/cpu", false, limit);
  }
  return limit;
}

} // namespace

bool isa_support::has(int isa) const { return isa <= best && (isa != XF_ABI_AVX2_VNNI || avx_vnni); }

// The highest instruction set that this processor and the operating system support; -1: not even the baseline.
static int best_isa(bool avx_vnni) {
  registers one = cpuid(1), seven = cpuid(7), extended = cpuid(0x80000001);
  // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF.
  if (!has(one.c, {0, 9, 13, 19, 20, 23}) || !has(extended.c, {0}))
    return -1;
  // FMA, MOVBE, XSAVE, OSXSAVE, AVX, F16C; LZCNT; BMI1, AVX2, BMI2.
  if (!has(one.c, {12, 22, 26, 27, 28, 29}) || !has(extended.c, {5}) || !has(seven.b, {3, 5, 8}))
    return XF_ABI_BASELINE;
  uint64_t states = enabled_states();
  if ((states & 0x6) != 0x6)
    return XF_ABI_BASELINE;
  // AVX-512 F, DQ, CD, BW, VL; opmask and both halves of the registers are saved.
  if (!has(seven.b, {16, 17, 28, 30, 31}) || (states & 0xe6) != 0xe6)
    return avx_vnni ? XF_ABI_AVX2_VNNI : XF_ABI_AVX2;
  if (!has(seven.c, {11}))
    return XF_ABI_AVX512;
  // All CPUs with AVX512_BF16 have AVX512_VNNI.
  return has(cpuid(7, 1).a, {5}) ? XF_ABI_AVX512_BF16 : XF_ABI_AVX512_VNNI;
}

// Intel's cores that have AVX512_FP16 (Sapphire Rapids and those behind it) start a VDPBF16PS every other cycle, and four FMAs in that time:
// products of 16 bits are left to AMX there.
static bool has_slow_bf16() {
  registers vendor = cpuid(0);
  bool intel = vendor.b == signature_INTEL_ebx && vendor.d == signature_INTEL_edx && vendor.c == signature_INTEL_ecx;
  return intel && has(cpuid(7).d, {23});
}

isa_support detect_isa() {
  bool avx_vnni = has(cpuid(7, 1).a, {4});
  return {best_isa(avx_vnni), avx_vnni, has_slow_bf16()};
}

std::span<const char *const> isa_names() { return kNames; }

const char *isa_name(int isa) { return isa >= 0 && isa < XF_ABI_ISA_COUNT ? kNames[isa] : "unknown"; }

int choose_isa(const std::vector<int> &available, isa_support supported, int requested) {
  if (supported.best < 0)
    fail(status::unsupported, "this CPU is too old: an x86-64 CPU with SSE4.2 and POPCNT (x86-64-v2) is needed");
  if (!supported.has(requested))
    fail(status::unsupported, "this CPU does not support %s; its best is %s", isa_name(requested), isa_name(supported.best));
  int chosen = -1;
  for (size_t i = 0; i < available.size(); ++i) {
    bool is_slow = chosen >= 0 && available[i] == XF_ABI_AVX512_BF16 && supported.slow_bf16;
    if (requested >= 0 ? available[i] == requested : supported.has(available[i]) && !is_slow)
      chosen = static_cast<int>(i);
  }
  if (chosen < 0 && requested >= 0)
    fail(status::unsupported, "the model was compiled without code for %s", isa_name(requested));
  if (chosen < 0)
    fail(status::unsupported, "the model was compiled for %s and better; this CPU's best is %s",
         available.empty() ? "nothing" : isa_name(available.front()), isa_name(supported.best));
  return chosen;
}

std::vector<int> allowed_cpus() {
  std::vector<int> allowed;
  // A set holds 1024 CPUs; the kernel refuses one that is smaller than what it was built or booted for.
  for (std::vector<cpu_set_t> sets(1); sets.size() <= kMaxCpuSets; sets.resize(2 * sets.size())) {
    size_t size = sets.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, size, sets.data()) == 0) {
      for (size_t cpu = 0; cpu < 8 * size; ++cpu)
        if (CPU_ISSET_S(cpu, size, sets.data()))
          allowed.push_back(static_cast<int>(cpu));
      break;
    }
    if (errno != EINVAL)
      break;
  }
  return allowed;
}

bool bind_to_cpu(pthread_t thread, int cpu) {
  cpu_set_t sets[64] = {}; // of 65,536 CPUs; nothing is allocated, as threads are bound while a job runs
  CPU_SET_S(cpu, sizeof(sets), sets); // beyond them: none is set, which the kernel refuses
  return pthread_setaffinity_np(thread, sizeof(sets), sets) == 0;
}

int available_cpus() { return limit_by_control_group(std::max(1, static_cast<int>(allowed_cpus().size()))); }

} // namespace xf::rt
