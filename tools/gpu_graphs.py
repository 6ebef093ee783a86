"""Whether a driver records launches as the runtime asks it to (runtime/device/README.md): where it does not, steps are launched kernel
by kernel, which shows in nothing but their times. The standard library alone."""
import ctypes as c

# Adds 1 to a number.
PTX = b""".version 7.0
.target sm_80
.address_size 64

.visible .entry count(
	.param .u64 count_param_0
)
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<2>;

	ld.param.b64 %rd1, [count_param_0];
	ld.global.b32 %r1, [%rd1];
	add.s32 %r2, %r1, 1;
	st.global.b32 [%rd1], %r2;
	ret;
}
"""
STREAM_OF_ITS_OWN, RELAXED_CAPTURES = 1, 2
PARAMETER_POINTER, PARAMETER_SIZE = 1, 2  # in a kernel's `extra`, which a null ends


class KernelNode(c.Structure):
    _fields_ = [("function", c.c_void_p), ("sizes", c.c_uint * 7), ("parameters", c.c_void_p), ("extra", c.c_void_p)]


def record(cuda, call_driver):
    """Records two launches, replays them twice, and says what became of it. `call_driver(NAME, ...)` calls the driver and raises what fails."""
    if not hasattr(cuda, "cuGraphInstantiateWithFlags"):
        return "the driver has no graphs of launches"
    context, module, function, stream = c.c_void_p(), c.c_void_p(), c.c_void_p(), c.c_void_p()
    graph, program, memory, counter = c.c_void_p(), c.c_void_p(), c.c_uint64(), c.c_int32(-1)
    call_driver("cuDevicePrimaryCtxRetain", c.byref(context), 0)
    call_driver("cuCtxPushCurrent_v2", context)
    call_driver("cuThreadExchangeStreamCaptureMode", c.byref(c.c_int(RELAXED_CAPTURES)))
    call_driver("cuStreamCreate", c.byref(stream), STREAM_OF_ITS_OWN)
    call_driver("cuModuleLoadDataEx", c.byref(module), PTX, 0, None, None)
    call_driver("cuModuleGetFunction", c.byref(function), module, b"count")
    call_driver("cuMemAlloc_v2", c.byref(memory), c.c_size_t(4))
    call_driver("cuMemsetD8Async", memory, c.c_ubyte(0), c.c_size_t(4), stream)
    size = c.c_size_t(8)
    extra = (c.c_void_p * 5)(PARAMETER_POINTER, c.addressof(memory), PARAMETER_SIZE, c.addressof(size), None)

    # A plain launch, as of a step before the next one of its sizes is recorded.
    call_driver("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, stream, None, extra)
    call_driver("cuGraphCreate", c.byref(graph), 0)
    kernel = KernelNode(function, (c.c_uint * 7)(1, 1, 1, 1, 1, 1, 0), None, c.addressof(extra))
    first, second = c.c_void_p(), c.c_void_p()
    call_driver("cuGraphAddKernelNode", c.byref(first), graph, None, c.c_size_t(0), c.byref(kernel))
    call_driver("cuGraphAddKernelNode", c.byref(second), graph, c.byref(first), c.c_size_t(1), c.byref(kernel))
    call_driver("cuGraphInstantiateWithFlags", c.byref(program), graph, c.c_uint64(0))
    call_driver("cuGraphDestroy", graph)
    for _ in range(2):
        call_driver("cuGraphLaunch", program, stream)
    call_driver("cuMemcpyDtoHAsync_v2", c.byref(counter), memory, c.c_size_t(4), stream)
    call_driver("cuStreamSynchronize", stream)
    return "launches are recorded" if counter.value == 5 else f"launches are recorded wrongly: {counter.value} of 5 are done"
