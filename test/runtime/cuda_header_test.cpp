// What driver.h says of the driver's functions is what NVIDIA's header says. Built where there is one.
#include "runtime/device/cuda/driver.h"

#include <cuda.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

namespace {

// Values that calls pass alike: handles as pointers, enumerations as numbers.
template <typename A, typename B>
constexpr bool kAlike = std::is_pointer_v<A> == std::is_pointer_v<B> && std::is_floating_point_v<A> == std::is_floating_point_v<B> &&
                        sizeof(A) == sizeof(B);

template <typename A, typename B> struct same_call : std::false_type {};
template <typename R, typename... A, typename S, typename... B> struct same_call<R (*)(A...), S (*)(B...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(A) != sizeof...(B))
      return false;
    else
      return kAlike<R, S> && (kAlike<A, B> && ...);
  }();
};

using xf::rt::cuda::driver;
#define EXPECT_SAME(member, function) static_assert(same_call<decltype(driver::member), decltype(&function)>::value)
EXPECT_SAME(init, cuInit);
EXPECT_SAME(error_text, cuGetErrorString);
EXPECT_SAME(device_count, cuDeviceGetCount);
EXPECT_SAME(device_get, cuDeviceGet);
EXPECT_SAME(device_name, cuDeviceGetName);
EXPECT_SAME(device_attribute, cuDeviceGetAttribute);
EXPECT_SAME(context_retain, cuDevicePrimaryCtxRetain);
EXPECT_SAME(context_release, cuDevicePrimaryCtxRelease);
EXPECT_SAME(context_push, cuCtxPushCurrent);
EXPECT_SAME(context_pop, cuCtxPopCurrent);
EXPECT_SAME(memory_info, cuMemGetInfo);
EXPECT_SAME(memory_allocate, cuMemAlloc);
EXPECT_SAME(memory_free, cuMemFree);
EXPECT_SAME(host_allocate, cuMemAllocHost);
EXPECT_SAME(host_free, cuMemFreeHost);
EXPECT_SAME(memory_set, cuMemsetD8Async);
EXPECT_SAME(copy_in, cuMemcpyHtoDAsync);
EXPECT_SAME(copy_out, cuMemcpyDtoHAsync);
EXPECT_SAME(module_load, cuModuleLoadDataEx);
EXPECT_SAME(module_unload, cuModuleUnload);
EXPECT_SAME(module_function, cuModuleGetFunction);
EXPECT_SAME(stream_create, cuStreamCreate);
EXPECT_SAME(stream_destroy, cuStreamDestroy);
EXPECT_SAME(stream_wait, cuStreamSynchronize);
EXPECT_SAME(event_create, cuEventCreate);
EXPECT_SAME(event_destroy, cuEventDestroy);
EXPECT_SAME(event_record, cuEventRecord);
EXPECT_SAME(event_wait, cuEventSynchronize);
EXPECT_SAME(launch, cuLaunchKernel);
EXPECT_SAME(exchange_capture_mode, cuThreadExchangeStreamCaptureMode);
EXPECT_SAME(graph_create, cuGraphCreate);
// The name stands for a later version, with a longer struct, where the header is of CUDA 12; the parameters are the same.
EXPECT_SAME(graph_add_kernel, cuGraphAddKernelNode);
EXPECT_SAME(graph_launch, cuGraphLaunch);
EXPECT_SAME(graph_destroy, cuGraphDestroy);
EXPECT_SAME(graph_exec_destroy, cuGraphExecDestroy);
#if CUDA_VERSION >= 13000 // where the name has come to mean this one
TEST(CudaHeader, HasTheSameEdges) {
  using ours = xf::rt::cuda::graph_edge;
  EXPECT_EQ(sizeof(ours), sizeof(CUgraphEdgeData));
  EXPECT_EQ(offsetof(ours, from_port), offsetof(CUgraphEdgeData, from_port));
  EXPECT_EQ(offsetof(ours, to_port), offsetof(CUgraphEdgeData, to_port));
  EXPECT_EQ(offsetof(ours, type), offsetof(CUgraphEdgeData, type));
  EXPECT_EQ(xf::rt::cuda::kEarlyStart.from_port, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
  EXPECT_EQ(xf::rt::cuda::kEarlyStart.type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
}
EXPECT_SAME(graph_add_edges, cuGraphAddDependencies);
#endif
#if CUDA_VERSION >= 12000 // where the name has come to mean this one
EXPECT_SAME(graph_instantiate, cuGraphInstantiate);
#endif

TEST(CudaHeader, HasTheSameKernelNode) {
  using ours = xf::rt::cuda::kernel_node;
  using theirs = CUDA_KERNEL_NODE_PARAMS_v1;
  EXPECT_EQ(sizeof(ours), sizeof(theirs));
  EXPECT_EQ(offsetof(ours, function), offsetof(theirs, func));
  EXPECT_EQ(offsetof(ours, x), offsetof(theirs, gridDimX));
  EXPECT_EQ(offsetof(ours, threads_x), offsetof(theirs, blockDimX));
  EXPECT_EQ(offsetof(ours, shared_bytes), offsetof(theirs, sharedMemBytes));
  EXPECT_EQ(offsetof(ours, parameters), offsetof(theirs, kernelParams));
  EXPECT_EQ(offsetof(ours, extra), offsetof(theirs, extra));
}

TEST(CudaHeader, HasTheSameNumbers) {
  using namespace xf::rt::cuda;
  EXPECT_EQ(kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(kCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(kCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(kNoDevice, CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(kNoBinary, CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(kNoCompiler, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
  EXPECT_EQ(kUnknownPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(kCompilerOff, CUDA_ERROR_JIT_COMPILATION_DISABLED);
  EXPECT_EQ(kEventWithoutTime, CU_EVENT_DISABLE_TIMING);
  EXPECT_EQ(kStreamOfItsOwn, CU_STREAM_NON_BLOCKING);
  EXPECT_EQ(kRelaxedCaptures, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(kErrorLog, CU_JIT_ERROR_LOG_BUFFER);
  EXPECT_EQ(kErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  EXPECT_EQ(kParameterPointer, CU_LAUNCH_PARAM_BUFFER_POINTER);
  EXPECT_EQ(kParameterSize, CU_LAUNCH_PARAM_BUFFER_SIZE);
  EXPECT_EQ(kParameterEnd, CU_LAUNCH_PARAM_END);
}

} // namespace
