// What a device's sessions keep on the host.
#include "runtime/device/emulator/emulator.h"
#include "runtime/device/executor.h"
#include "test/runtime/allocations.h"
#include "test/runtime/sample_model.h"

#include <gtest/gtest.h>

using namespace xf::rt;

namespace {

// Small inputs are kept to be compared with those of the next call; large ones go to the device, and nowhere else.
TEST(Executor, KeepsNoCopyOfLargeInputs) {
  sample::aligned_bytes image(sample::build({}));
  auto model = open_model(image.data(), image.size());
  const entry_info &entry = model->entries()[static_cast<size_t>(model->find_entry("which"))]; // i32 [B] to i32 [B]
  std::vector<int64_t> dims(model->dims().size(), 1 << 20);
  std::vector<int32_t> in(1 << 20), out(1 << 20);
  void *io[] = {in.data(), out.data()};
  xf_test_peak();
  {
    device_executor executor(model, make_emulator());
    executor.upload(entry, dims.data(), io);
  }
  long bytes = static_cast<long>(in.size() * sizeof(int32_t));
  EXPECT_LT(xf_test_peak(), 2 * bytes + bytes / 2) << "more than the device's memory for the two";
}

} // namespace
