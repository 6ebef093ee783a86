// A stand-in for NVIDIA's driver, libcuda.so.1, whose one GPU is the emulator: the runtime's device `cuda` is tested with
// it on machines without a GPU. What a test wants it to be is said by environment variables: FAKE_CUDA_GPUS (how many),
// FAKE_CUDA_CAPABILITY (80: 8.0), FAKE_CUDA_MEMORY (bytes).
#include "runtime/core/error.h"
#include "runtime/device/cuda/driver.h"
#include "runtime/device/emulator/emulator.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

using namespace xf::rt;
using cuda::address, cuda::result;

namespace {

constexpr result kOk = 0, kInvalid = 1, kNotStarted = 3, kNoDevice = 100, kBadPtx = 218, kNotFound = 500, kLaunchFailed = 719;

long setting(const char *name, long otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

bool started = false;
std::string last_problem;
emulator::global_memory memory;
std::map<address, size_t> blocks;
size_t used = 0;
emulator::program program;

size_t total_memory() { return static_cast<size_t>(setting("FAKE_CUDA_MEMORY", 1L << 32)); }

uint8_t *pointer(address a) { return reinterpret_cast<uint8_t *>(a); }

// Whether the bytes are the device's.
bool holds(address begin, size_t bytes) {
  auto after = blocks.upper_bound(begin);
  if (after == blocks.begin())
    return false;
  auto [first, size] = *std::prev(after);
  return begin + bytes <= first + size;
}

} // namespace

#define FAKE extern "C" __attribute__((visibility("default"))) result

FAKE cuInit(unsigned flags) {
  started = flags == 0;
  return started ? kOk : kInvalid;
}
FAKE cuGetErrorString(result r, const char **text) {
  *text = r == cuda::kOutOfMemory ? "out of memory" : last_problem.empty() ? "an error of the fake driver" : last_problem.c_str();
  return kOk;
}
FAKE cuDeviceGetCount(int *count) {
  *count = static_cast<int>(setting("FAKE_CUDA_GPUS", 1));
  return started ? kOk : kNotStarted;
}
FAKE cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return ordinal < setting("FAKE_CUDA_GPUS", 1) ? kOk : kNoDevice;
}
FAKE cuDeviceGetName(char *name, int bytes, int) {
  std::snprintf(name, static_cast<size_t>(bytes), "Fake GPU");
  return kOk;
}
FAKE cuDeviceGetAttribute(int *value, int attribute, int) {
  long capability = setting("FAKE_CUDA_CAPABILITY", 80);
  if (attribute != cuda::kCapabilityMajor && attribute != cuda::kCapabilityMinor)
    return kInvalid;
  *value = static_cast<int>(attribute == cuda::kCapabilityMajor ? capability / 10 : capability % 10);
  return kOk;
}
FAKE cuDevicePrimaryCtxRetain(void **context, int) {
  *context = &memory;
  return kOk;
}
FAKE cuDevicePrimaryCtxRelease_v2(int) { return kOk; }
FAKE cuCtxSetCurrent(void *context) { return context == &memory ? kOk : kInvalid; }
FAKE cuMemGetInfo_v2(size_t *free, size_t *total) {
  *total = total_memory();
  *free = *total - used;
  return kOk;
}
FAKE cuMemAlloc_v2(address *out, size_t bytes) {
  if (bytes == 0)
    return kInvalid;
  if (bytes > total_memory() - used)
    return cuda::kOutOfMemory;
  *out = reinterpret_cast<address>(memory.allocate(bytes));
  blocks[*out] = bytes;
  used += bytes;
  return kOk;
}
FAKE cuMemFree_v2(address a) {
  auto found = blocks.find(a);
  if (found == blocks.end())
    return kInvalid;
  used -= found->second;
  blocks.erase(found);
  memory.release(pointer(a));
  return kOk;
}
FAKE cuMemsetD8Async(address to, unsigned char value, size_t bytes, void *) {
  if (!holds(to, bytes))
    return kInvalid;
  std::memset(pointer(to), value, bytes);
  return kOk;
}
FAKE cuMemcpyHtoDAsync_v2(address to, const void *from, size_t bytes, void *) {
  if (!holds(to, bytes))
    return kInvalid;
  std::memcpy(pointer(to), from, bytes);
  return kOk;
}
FAKE cuMemcpyDtoHAsync_v2(void *to, address from, size_t bytes, void *) {
  if (!holds(from, bytes))
    return kInvalid;
  std::memcpy(to, pointer(from), bytes);
  return kOk;
}
FAKE cuMemcpy2DAsync_v2(const cuda::copy_2d *c, void *) {
  if (c->from_kind != 2 || c->to_kind != 2 || c->bytes > c->from_pitch || c->bytes > c->to_pitch)
    return kInvalid;
  for (size_t row = 0; row < c->rows; ++row) {
    address from = c->from_device + row * c->from_pitch, to = c->to_device + row * c->to_pitch;
    if (!holds(from, c->bytes) || !holds(to, c->bytes))
      return kInvalid;
    std::memcpy(pointer(to), pointer(from), c->bytes);
  }
  return kOk;
}
FAKE cuModuleLoadDataEx(void **module, const void *image, unsigned, int *, void **) {
  try {
    program = emulator::parse_ptx(static_cast<const char *>(image));
  } catch (const error &problem) {
    last_problem = problem.what();
    return kBadPtx;
  }
  *module = &program;
  return kOk;
}
FAKE cuModuleUnload(void *) { return kOk; }
FAKE cuModuleGetFunction(void **function, void *, const char *name) {
  auto found = program.functions.find(name);
  if (found == program.functions.end())
    return kNotFound;
  *function = &found->second;
  return kOk;
}
FAKE cuStreamCreate(void **stream, unsigned) {
  *stream = &used;
  return kOk;
}
FAKE cuStreamDestroy_v2(void *) { return kOk; }
FAKE cuStreamSynchronize(void *) { return kOk; }
FAKE cuLaunchKernel(void *function, unsigned x, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned, void *,
                    void **parameters, void **extra) {
  if (parameters || !extra || extra[0] != cuda::kParameterPointer || extra[2] != cuda::kParameterSize || extra[4])
    return kInvalid;
  try {
    emulator::run_kernel(*static_cast<const emulator::function *>(function), memory,
                         {extra[1], *static_cast<size_t *>(extra[3]), x, threads});
  } catch (const error &problem) {
    last_problem = problem.what();
    return kLaunchFailed;
  }
  return kOk;
}
