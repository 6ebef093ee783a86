#include "runtime/device/cuda/driver.h"

#include "runtime/core/error.h"

#include <dlfcn.h>

namespace xf::rt::cuda {

const driver &open_driver() {
  static const driver opened = [] {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      fail(status::unsupported, "there is no NVIDIA driver: %s", dlerror());
    driver d;
    auto look_for = [&](auto &pointer, const char *name) {
      pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(dlsym(library, name));
    };
    auto find = [&](auto &pointer, const char *name) {
      look_for(pointer, name);
      if (!pointer)
        fail(status::unsupported, "the NVIDIA driver is too old: it has no %s", name);
    };
    find(d.init, "cuInit");
    find(d.error_text, "cuGetErrorString");
    find(d.device_count, "cuDeviceGetCount");
    find(d.device_get, "cuDeviceGet");
    find(d.device_name, "cuDeviceGetName");
    find(d.device_attribute, "cuDeviceGetAttribute");
    find(d.context_retain, "cuDevicePrimaryCtxRetain");
    find(d.context_release, "cuDevicePrimaryCtxRelease_v2");
    find(d.context_push, "cuCtxPushCurrent_v2");
    find(d.context_pop, "cuCtxPopCurrent_v2");
    find(d.memory_info, "cuMemGetInfo_v2");
    find(d.memory_allocate, "cuMemAlloc_v2");
    find(d.memory_free, "cuMemFree_v2");
    find(d.host_allocate, "cuMemAllocHost_v2");
    find(d.host_free, "cuMemFreeHost");
    find(d.memory_set, "cuMemsetD8Async");
    find(d.copy_in, "cuMemcpyHtoDAsync_v2");
    find(d.copy_out, "cuMemcpyDtoHAsync_v2");
    find(d.module_load, "cuModuleLoadDataEx");
    find(d.module_unload, "cuModuleUnload");
    find(d.module_function, "cuModuleGetFunction");
    find(d.stream_create, "cuStreamCreate");
    find(d.stream_destroy, "cuStreamDestroy_v2");
    find(d.stream_wait, "cuStreamSynchronize");
    find(d.event_create, "cuEventCreate");
    find(d.event_destroy, "cuEventDestroy_v2");
    find(d.event_record, "cuEventRecord");
    find(d.event_wait, "cuEventSynchronize");
    find(d.launch, "cuLaunchKernel");
    look_for(d.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
    look_for(d.graph_create, "cuGraphCreate");
    look_for(d.graph_add_kernel, "cuGraphAddKernelNode");
    look_for(d.graph_add_edges, "cuGraphAddDependencies_v2");
    look_for(d.graph_instantiate, "cuGraphInstantiateWithFlags");
    look_for(d.graph_launch, "cuGraphLaunch");
    look_for(d.graph_destroy, "cuGraphDestroy");
    look_for(d.graph_exec_destroy, "cuGraphExecDestroy");
    return d;
  }();
  return opened;
}

} // namespace xf::rt::cuda
