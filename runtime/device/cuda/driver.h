// The functions of the CUDA driver that are used, by their names in libcuda.so.1. No header of NVIDIA's is needed: these
// are the driver's stable binary interface.
#ifndef RUNTIME_DEVICE_CUDA_DRIVER_H
#define RUNTIME_DEVICE_CUDA_DRIVER_H

#include <cstddef>
#include <cstdint>

namespace xf::rt::cuda {

using result = int; // 0: success
using device_handle = int;
using address = unsigned long long;
using context = struct context_handle *;
using module = struct module_handle *;
using function = struct function_handle *;
using stream = struct stream_handle *;
using event = struct event_handle *;
using graph = struct graph_handle *;
using graph_node = struct graph_node_handle *;
using graph_exec = struct graph_exec_handle *; // CUgraphExec

constexpr int kMultiprocessors = 16, kCapabilityMajor = 75, kCapabilityMinor = 76; // CUdevice_attribute
constexpr int kOutOfMemory = 2, kNoDevice = 100;            // CUresult
constexpr int kNoBinary = 209, kNoCompiler = 221, kUnknownPtxVersion = 222, kCompilerOff = 223;
constexpr unsigned kEventWithoutTime = 2;                  // CUevent_flags
constexpr unsigned kStreamOfItsOwn = 1;                    // CUstream_flags: not ordered with the default stream
constexpr int kRelaxedCaptures = 2;                        // CUstreamCaptureMode
constexpr int kErrorLog = 5, kErrorLogBytes = 6;            // CUjit_option
// Marks in cuLaunchKernel's `extra`.
inline void *const kParameterPointer = reinterpret_cast<void *>(1);
inline void *const kParameterSize = reinterpret_cast<void *>(2);
inline void *const kParameterEnd = nullptr;

// CUDA_KERNEL_NODE_PARAMS_v1, as cuLaunchKernel's parameters.
struct kernel_node {
  cuda::function function;
  unsigned x, y, z, threads_x, threads_y, threads_z, shared_bytes;
  void **parameters, **extra;
};

// CUgraphEdgeData: which part of a kernel another one waits for.
struct graph_edge {
  unsigned char from_port, to_port, type, reserved[5];
};
// The next kernel may start when all blocks of this one have said so or have ended; it waits for the end itself (griddepcontrol).
constexpr graph_edge kEarlyStart = {1, 0, 1, {}};

struct driver {
  result (*init)(unsigned flags);
  result (*error_text)(result, const char **);
  result (*device_count)(int *);
  result (*device_get)(device_handle *, int ordinal);
  result (*device_name)(char *, int bytes, device_handle);
  result (*device_attribute)(int *, int attribute, device_handle);
  result (*context_retain)(context *, device_handle);
  result (*context_release)(device_handle);
  result (*context_push)(context);
  result (*context_pop)(context *);
  result (*memory_info)(size_t *free, size_t *total);
  result (*memory_allocate)(address *, size_t bytes);
  result (*memory_free)(address);
  result (*host_allocate)(void **, size_t bytes);
  result (*host_free)(void *);
  result (*memory_set)(address, unsigned char value, size_t bytes, stream);
  result (*copy_in)(address, const void *, size_t, stream);
  result (*copy_out)(void *, address, size_t, stream);
  result (*module_load)(module *, const void *image, unsigned options, int *names, void **values);
  result (*module_unload)(module);
  result (*module_function)(function *, module, const char *name);
  result (*stream_create)(stream *, unsigned flags);
  result (*stream_destroy)(stream);
  result (*stream_wait)(stream);
  result (*event_create)(event *, unsigned flags);
  result (*event_destroy)(event);
  result (*event_record)(event, stream);
  result (*event_wait)(event);
  result (*launch)(function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                   stream, void **parameters, void **extra);
  // Null in drivers from before CUDA 10.1.
  result (*exchange_capture_mode)(int *mode);
  // Null in drivers from before CUDA 11.4.
  result (*graph_create)(graph *, unsigned flags);
  result (*graph_add_kernel)(graph_node *, graph, const graph_node *before, size_t count, const kernel_node *);
  result (*graph_instantiate)(graph_exec *, graph, unsigned long long flags);
  result (*graph_launch)(graph_exec, stream);
  result (*graph_destroy)(graph);
  result (*graph_exec_destroy)(graph_exec);
  // Null in drivers from before CUDA 12.3.
  result (*graph_add_edges)(graph, const graph_node *from, const graph_node *to, const graph_edge *, size_t count);
  bool has_graphs() const { return graph_create && graph_add_kernel && graph_instantiate && graph_launch && graph_destroy && graph_exec_destroy; }
};

// Opened once for the process. Throws when the library or one of the functions is not there.
const driver &open_driver();

} // namespace xf::rt::cuda

#endif
