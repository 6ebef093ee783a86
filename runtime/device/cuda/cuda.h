// A GPU, through NVIDIA's driver, which is opened when it is asked for.
#ifndef RUNTIME_DEVICE_CUDA_CUDA_H
#define RUNTIME_DEVICE_CUDA_CUDA_H

#include "runtime/device/device.h"

#include <memory>

namespace xf::rt {

// The first GPU. Throws when there is no driver, no GPU, or one below `capability` (10 * major + minor).
std::unique_ptr<device> make_cuda(int capability);

} // namespace xf::rt

#endif
