// A stand-in for NVIDIA's driver, libcuda.so.1, whose one GPU is the emulator: the runtime's device `cuda` is tested with
// it on machines without a GPU. What a test wants it to be is said by environment variables: FAKE_CUDA_GPUS (how many),
// FAKE_CUDA_CAPABILITY (80: 8.0), FAKE_CUDA_MEMORY (bytes), FAKE_CUDA_COUNTS (a file for how much was done), FAKE_CUDA_GRAPHS (0: it
// makes none; 2: it takes no kernels into them), FAKE_CUDA_COMPILER (0: it has none for PTX; 2: it finds a fault in it), FAKE_CUDA_START
// (with what error it begins), FAKE_CUDA_CONTEXT (0: no memory is left for one), FAKE_CUDA_EAGER (1: work is done as it is asked for, not as
// late as may be), FAKE_CUDA_REFUSES (the launch of that number, from 1, finds no memory), FAKE_CUDA_PINNED (0: there is no memory that can
// be pinned). Without XF_FAKE_GRAPHS it is a driver from before there were any.
#include "runtime/core/error.h"
#include "runtime/device/cuda/driver.h"
#include "runtime/device/emulator/emulator.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace xf::rt;
using cuda::address, cuda::result;

namespace {

constexpr result kOk = 0, kInvalid = 1, kNotStarted = 3, kNoContext = 201, kBadPtx = 218, kNotFound = 500, kLaunchFailed = 719, kNotSupported = 801,
                 kStillRecording = 900;

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

// Whether the bytes are the device's. That a driver takes none at all is said nowhere.
bool holds(address begin, size_t bytes) {
  auto after = blocks.upper_bound(begin);
  if (bytes == 0 || after == blocks.begin())
    return false;
  auto [first, size] = *std::prev(after);
  return begin + bytes <= first + size;
}
// Where the emulator has these, if it holds them.
uint8_t *pointer(address begin, size_t bytes) { return memory.check_range(begin, bytes, "copies"); }

// The one stream: work is done when it is waited for. Memory of the host that is not the driver's is copied before a copy
// returns, as by the real one.
using task = std::function<result()>;
std::deque<task> work;
uint64_t done = 0;
// What went wrong with a kernel: all that is asked for thereafter gives that error, as long as anybody has the context.
result broken = kOk;
long contexts_retained = 0;
// Kernels behind each other. Until a graph that is made is given up, nothing is asked of the stream: device.h wants that.
struct graph {
  std::vector<task> kernels;
  bool has_gap = false; // the last kernel does not wait for the one before it yet
};
long graphs_made = 0;
// A thread's stream capture mode: CUDA's own.
thread_local int capture_mode = 0;
// What each thread has entered, the last one being current.
thread_local std::vector<void *> contexts;
// With the mode that a program's own captures must be met with.
bool is_inside() { return !contexts.empty() && contexts.back() == &memory && capture_mode == cuda::kRelaxedCaptures; }
// Of what needs a context, and is none of a graph's.
#define REFUSE_UNLESS_ALLOWED                                                                                                                        \
  if (!is_inside())                                                                                                                                  \
    return kNoContext;                                                                                                                               \
  if (broken)                                                                                                                                        \
    return broken;                                                                                                                                   \
  if (graphs_made > 0)                                                                                                                               \
  return kStillRecording
// Given back with the program where a broken driver did not take it, as the system does.
struct host_block {
  std::unique_ptr<uint8_t[]> memory;
  size_t bytes;
};
std::map<const void *, host_block> host_blocks;

// Copies from and to pinned memory only, as the weights and large results are not.
struct counted {
  long launches = 0, uploads = 0, uploaded = 0, downloads = 0, downloaded = 0, waits = 0;
  long ahead = 0; // waits behind which there was more work
  long graphs = 0, replays = 0, early = 0, modules = 0;
  void write() const {
    const char *name = std::getenv("FAKE_CUDA_COUNTS");
    if (std::FILE *file = name ? std::fopen(name, "w") : nullptr) {
      std::fprintf(file,
                   "launches %ld\nuploads %ld\nuploaded %ld\ndownloads %ld\ndownloaded %ld\nwaits %ld\nahead %ld\n"
                   "graphs %ld\nreplays %ld\nearly %ld\nmodules %ld\n",
                   launches, uploads, uploaded, downloads, downloaded, waits, ahead, graphs, replays, early, modules);
      std::fclose(file);
    }
  }
} counts;

result work_until(uint64_t end) {
  while (done < end && broken == kOk) {
    broken = work.front()();
    work.pop_front();
    ++done;
  }
  return broken;
}
result work_off() { return work_until(done + work.size()); }
void enqueue(task next) {
  work.push_back(std::move(next));
  if (setting("FAKE_CUDA_EAGER", 0) == 1)
    work_off();
}

bool is_pinned(const void *memory) {
  auto after = host_blocks.upper_bound(memory);
  if (after == host_blocks.begin())
    return false;
  const auto &[first, block] = *std::prev(after);
  return static_cast<const char *>(memory) < static_cast<const char *>(first) + block.bytes;
}

} // namespace

#define FAKE extern "C" __attribute__((visibility("default"))) result

FAKE cuInit(unsigned flags) {
  if (setting("FAKE_CUDA_GPUS", 1) == 0)
    return cuda::kNoDevice;
  if (long problem = setting("FAKE_CUDA_START", 0))
    return static_cast<result>(problem);
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
  return ordinal < setting("FAKE_CUDA_GPUS", 1) ? kOk : cuda::kNoDevice;
}
FAKE cuDeviceGetName(char *name, int bytes, int) {
  std::snprintf(name, static_cast<size_t>(bytes), "Fake GPU");
  return kOk;
}
FAKE cuDeviceGetAttribute(int *value, int attribute, int) {
  long capability = setting("FAKE_CUDA_CAPABILITY", 80);
  if (attribute == cuda::kMultiprocessors) {
    *value = 100;
    return kOk;
  }
  if (attribute != cuda::kCapabilityMajor && attribute != cuda::kCapabilityMinor)
    return kInvalid;
  *value = static_cast<int>(attribute == cuda::kCapabilityMajor ? capability / 10 : capability % 10);
  return kOk;
}
FAKE cuDevicePrimaryCtxRetain(void **context, int) {
  if (setting("FAKE_CUDA_CONTEXT", 1) == 0)
    return cuda::kOutOfMemory;
  *context = &memory;
  ++contexts_retained;
  return kOk;
}
FAKE cuDevicePrimaryCtxRelease_v2(int) {
  if (contexts_retained == 0)
    return kNoContext;
  if (--contexts_retained > 0)
    return kOk;
  work.clear();
  broken = kOk;
  for (auto [begin, size] : blocks)
    memory.release(reinterpret_cast<void *>(begin));
  blocks.clear();
  used = 0;
  return kOk;
}
FAKE cuCtxPushCurrent_v2(void *context) {
  if (capture_mode != 0)
    return kInvalid; // who came before has not given the thread its own mode back
  contexts.push_back(context);
  return context ? kOk : kNoContext;
}
FAKE cuCtxPopCurrent_v2(void **context) {
  if (contexts.empty())
    return kNoContext;
  *context = contexts.back();
  contexts.pop_back();
  return kOk;
}
FAKE cuCtxGetCurrent(void **context) {
  *context = contexts.empty() ? nullptr : contexts.back();
  return kOk;
}
FAKE cuMemGetInfo_v2(size_t *free, size_t *total) {
  REFUSE_UNLESS_ALLOWED;
  *total = total_memory();
  *free = *total - used;
  return kOk;
}
FAKE cuMemAlloc_v2(address *out, size_t bytes) {
  REFUSE_UNLESS_ALLOWED;
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
  REFUSE_UNLESS_ALLOWED;
  auto found = blocks.find(a);
  if (found == blocks.end())
    return kInvalid;
  work_off();
  used -= found->second;
  blocks.erase(found);
  memory.release(reinterpret_cast<void *>(a));
  return kOk;
}
FAKE cuMemsetD8Async(address to, unsigned char value, size_t bytes, void *) {
  REFUSE_UNLESS_ALLOWED;
  if (!holds(to, bytes))
    return kInvalid;
  enqueue([=] { return std::memset(pointer(to, bytes), value, bytes), kOk; });
  return kOk;
}
FAKE cuMemAllocHost_v2(void **out, size_t bytes) {
  REFUSE_UNLESS_ALLOWED;
  if (bytes == 0)
    return kInvalid;
  if (setting("FAKE_CUDA_PINNED", 1) == 0)
    return cuda::kOutOfMemory;
  auto memory = std::make_unique_for_overwrite<uint8_t[]>(bytes);
  *out = memory.get();
  host_blocks[*out] = {std::move(memory), bytes};
  return kOk;
}
FAKE cuMemFreeHost(void *memory) {
  REFUSE_UNLESS_ALLOWED;
  work_off();
  return host_blocks.erase(memory) ? kOk : kInvalid;
}
FAKE cuMemcpyHtoDAsync_v2(address to, const void *from, size_t bytes, void *) {
  REFUSE_UNLESS_ALLOWED;
  if (!holds(to, bytes))
    return kInvalid;
  if (is_pinned(from)) {
    ++counts.uploads;
    counts.uploaded += static_cast<long>(bytes);
    enqueue([=] { return std::memcpy(pointer(to, bytes), from, bytes), kOk; });
  } else {
    std::vector<char> copy(static_cast<const char *>(from), static_cast<const char *>(from) + bytes);
    enqueue([to, copy = std::move(copy)] { return std::memcpy(pointer(to, copy.size()), copy.data(), copy.size()), kOk; });
  }
  return kOk;
}
FAKE cuMemcpyDtoHAsync_v2(void *to, address from, size_t bytes, void *) {
  REFUSE_UNLESS_ALLOWED;
  if (!holds(from, bytes))
    return kInvalid;
  enqueue([=] { return std::memcpy(to, pointer(from, bytes), bytes), kOk; });
  if (!is_pinned(to))
    return work_off();
  ++counts.downloads;
  counts.downloaded += static_cast<long>(bytes);
  return kOk;
}
FAKE cuModuleLoadDataEx(void **module, const void *image, unsigned, int *, void **) {
  REFUSE_UNLESS_ALLOWED;
  if (setting("FAKE_CUDA_COMPILER", 1) != 1)
    return setting("FAKE_CUDA_COMPILER", 1) == 0 ? cuda::kNoCompiler : kBadPtx;
  try {
    program = emulator::parse_ptx(static_cast<const char *>(image));
  } catch (const error &problem) {
    last_problem = problem.what();
    return kBadPtx;
  }
  *module = &program;
  ++counts.modules;
  return kOk;
}
FAKE cuModuleUnload(void *) { return is_inside() ? kOk : kNoContext; }
FAKE cuModuleGetFunction(void **function, void *, const char *name) {
  auto found = program.functions.find(name);
  if (found == program.functions.end())
    return kNotFound;
  *function = &found->second;
  return kOk;
}
FAKE cuStreamCreate(void **stream, unsigned) {
  REFUSE_UNLESS_ALLOWED;
  *stream = &used;
  return kOk;
}
FAKE cuStreamDestroy_v2(void *) { return is_inside() ? kOk : kNoContext; }
FAKE cuStreamSynchronize(void *) {
  REFUSE_UNLESS_ALLOWED;
  return work_off();
}
FAKE cuEventCreate(void **event, unsigned) {
  REFUSE_UNLESS_ALLOWED;
  *event = new uint64_t(0);
  return kOk;
}
FAKE cuEventDestroy_v2(void *event) {
  delete static_cast<uint64_t *>(event);
  return kOk;
}
FAKE cuEventRecord(void *event, void *) {
  REFUSE_UNLESS_ALLOWED;
  *static_cast<uint64_t *>(event) = done + work.size();
  return kOk;
}
FAKE cuEventSynchronize(void *event) {
  REFUSE_UNLESS_ALLOWED;
  result problem = work_until(*static_cast<uint64_t *>(event));
  ++counts.waits;
  counts.ahead += !work.empty();
  counts.write();
  return problem;
}
// What a kernel with these sizes and parameters does; empty where a GPU would not take them.
static task kernel_of(const cuda::kernel_node &node) {
  bool has_size = node.x > 0 && node.x <= 0x7fffffff && node.y == 1 && node.z == 1 && node.threads_x > 0 && node.threads_x <= 1024 &&
                  node.threads_y == 1 && node.threads_z == 1;
  if (!has_size || node.shared_bytes || node.parameters || !node.extra || node.extra[0] != cuda::kParameterPointer ||
      node.extra[2] != cuda::kParameterSize || node.extra[4])
    return {};
  const auto *begin = static_cast<const uint64_t *>(node.extra[1]);
  std::vector<uint64_t> words(begin, begin + *static_cast<size_t *>(node.extra[3]) / sizeof(uint64_t));
  return [node, words = std::move(words)] {
    try {
      emulator::run_kernel(*reinterpret_cast<const emulator::function *>(node.function), memory,
                           {words.data(), words.size() * sizeof(uint64_t), node.x, node.threads_x});
    } catch (const error &problem) {
      last_problem = problem.what();
      return kLaunchFailed;
    }
    return kOk;
  };
}
FAKE cuLaunchKernel(cuda::function function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned threads_y, unsigned threads_z,
                    unsigned shared_bytes, void *, void **parameters, void **extra) {
  REFUSE_UNLESS_ALLOWED;
  task kernel = kernel_of({function, x, y, z, threads, threads_y, threads_z, shared_bytes, parameters, extra});
  if (!kernel)
    return kInvalid;
  if (++counts.launches == setting("FAKE_CUDA_REFUSES", 0))
    return cuda::kOutOfMemory;
  enqueue(std::move(kernel));
  return kOk;
}
FAKE cuThreadExchangeStreamCaptureMode(int *mode) {
  if (*mode < 0 || *mode > 2)
    return kInvalid;
  std::swap(*mode, capture_mode);
  return kOk;
}

#ifdef XF_FAKE_GRAPHS
FAKE cuGraphCreate(graph **out, unsigned flags) {
  if (!is_inside())
    return kNoContext;
  if (setting("FAKE_CUDA_GRAPHS", 1) == 0)
    return kNotSupported;
  ++graphs_made;
  *out = new graph;
  return flags == 0 ? kOk : kInvalid;
}
// A node is known by how many there are with it.
FAKE cuGraphAddKernelNode(uintptr_t *node, graph *to, const uintptr_t *before, size_t count, const cuda::kernel_node *kernel) {
  if (setting("FAKE_CUDA_GRAPHS", 1) == 2)
    return kNotSupported;
  task own = kernel_of(*kernel);
  size_t behind = to->kernels.size();
  if (!own || to->has_gap || count > (behind ? 1 : 0) || (count == 1 && *before != behind))
    return kInvalid;
  to->has_gap = behind && count == 0;
  to->kernels.push_back(std::move(own));
  *node = to->kernels.size();
  return kOk;
}
FAKE cuGraphAddDependencies_v2(graph *to, const uintptr_t *from, const uintptr_t *node, const cuda::graph_edge *edge, size_t count) {
  bool is_early = edge->from_port == cuda::kEarlyStart.from_port && edge->to_port == 0 && edge->type == cuda::kEarlyStart.type;
  if (count != 1 || !to->has_gap || *node != to->kernels.size() || *from + 1 != *node || !is_early || setting("FAKE_CUDA_CAPABILITY", 80) < 90)
    return kInvalid;
  to->has_gap = false;
  ++counts.early;
  return kOk;
}
FAKE cuGraphInstantiateWithFlags(graph **out, const graph *from, unsigned long long flags) {
  *out = new graph(*from);
  ++counts.graphs;
  return flags == 0 && !from->has_gap ? kOk : kInvalid;
}
FAKE cuGraphLaunch(const graph *launched, void *) {
  REFUSE_UNLESS_ALLOWED;
  ++counts.replays;
  for (const task &kernel : launched->kernels)
    enqueue(kernel);
  return kOk;
}
FAKE cuGraphDestroy(graph *g) {
  --graphs_made;
  delete g;
  return kOk;
}
FAKE cuGraphExecDestroy(graph *g) {
  delete g;
  return kOk;
}
#endif
