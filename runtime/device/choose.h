// Which device a session runs on.
#ifndef RUNTIME_DEVICE_CHOOSE_H
#define RUNTIME_DEVICE_CHOOSE_H

#include "runtime/core/model.h"
#include "runtime/device/device.h"

#include <memory>
#include <span>

namespace xf::rt {

enum class device_kind { best = 0, cpu = 1, cuda = 2, emulator = 3 };

// The names of the kinds.
std::span<const char *const> device_names();

// The device of that kind for the model, null for the CPU. The best is a GPU where there is one that can run it and the model has code
// for it, else the CPU. Throws what is missing, also where that GPU has no memory left.
std::unique_ptr<device> make_device(const model &m, device_kind kind);

} // namespace xf::rt

#endif
