// What every device must do, by the emulator and by `cuda` on the fake driver.
#include "runtime/core/error.h"
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/device_memory.h"
#include "test/runtime/emulated_ptx.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <thread>

using namespace xf::rt;

namespace {

constexpr uint32_t kThreads = 64;

// k(in, out): out[t] = 2 * in[t] + 1.
std::string twice_and_one() {
  return around("\tld.global.b32 %r2, [%rd4];\n\tfma.rn.f32 %r3, %r2, 0f40000000, 0f3F800000;\n\tst.global.b32 [%rd3], %r3;\n");
}

class Device : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    where = std::string_view(GetParam()) == "cuda" ? make_cuda(80) : make_emulator();
    where->use(where->load(twice_and_one(), {"k"}, 0));
    buffer = {*where, kThreads * sizeof(float)};
    staging = {*where, kThreads * sizeof(float)};
  }
  void put(float value) {
    std::fill_n(host(), kThreads, value);
    where->upload(buffer.get(), staging.get(), buffer.bytes());
    where->wait(where->mark());
  }
  void launch(uint8_t *memory) {
    uint64_t parameters[2] = {reinterpret_cast<uint64_t>(memory), reinterpret_cast<uint64_t>(memory)};
    where->launch(0, 1, kThreads, parameters, sizeof(parameters));
    parameters[0] = parameters[1] = 0; // they have been copied
  }
  void launch() { launch(buffer.get()); }
  float get() {
    where->download(staging.get(), buffer.get(), buffer.bytes());
    where->wait(where->mark());
    for (uint32_t t = 1; t < kThreads; ++t)
      EXPECT_EQ(host()[t], host()[0]);
    return host()[0];
  }
  float *host() { return reinterpret_cast<float *>(staging.get()); }

  std::unique_ptr<device> where;
  device_memory buffer;
  host_memory staging;
};

TEST_P(Device, WorksInOrder) {
  put(1);
  launch();
  launch();
  EXPECT_EQ(get(), 7);
  where->clear(buffer.get(), buffer.bytes());
  launch();
  EXPECT_EQ(get(), 1);
}

// As of a model without states.
TEST_P(Device, NoBytesAreNoWork) {
  put(1);
  where->clear(buffer.get(), 0);
  where->upload(buffer.get(), staging.get(), 0);
  where->download(staging.get(), buffer.get(), 0);
  EXPECT_EQ(get(), 1);
}

// Nobody but its kernels can follow a device's address.
TEST_P(Device, MemoryIsNotTheHosts) {
  put(1);
  EXPECT_DEATH(*static_cast<volatile uint8_t *>(buffer.get()) = 0, "");
  EXPECT_DEATH(EXPECT_EQ(*static_cast<volatile uint8_t *>(buffer.get()), 0), "");
  EXPECT_EQ(get(), 1);
}

TEST_P(Device, MarksAreInOrder) {
  put(0);
  launch();
  where->download(staging.get(), buffer.get(), buffer.bytes());
  uint64_t first = where->mark();
  for (int i = 0; i < 40; ++i) {
    launch();
    EXPECT_GT(where->mark(), first);
  }
  where->wait(first);
  EXPECT_EQ(host()[0], 1);
  where->wait(first); // it has passed
}

// As where a search is given up in the middle.
TEST_P(Device, ReleasingTheHostsMemoryWaits) {
  host_memory own(*where, 64 << 20); // so much that none of it stays when it is given back
  std::fill_n(reinterpret_cast<float *>(own.get()), kThreads, 3.0f);
  where->upload(buffer.get(), own.get(), buffer.bytes());
  launch();
  where->download(own.get(), buffer.get(), buffer.bytes());
  own = {};
  where->wait(where->mark());
  EXPECT_EQ(get(), 7);
}

// A device may be unable to record, as old drivers are; then nothing has begun.
TEST_P(Device, RecordsLaunches) {
  put(0);
  if (!where->begin_recording()) {
    launch();
    EXPECT_EQ(get(), 1);
    GTEST_SKIP() << "the device does not record";
  }
  launch();
  launch();
  auto recorded = where->end_recording();
  ASSERT_TRUE(recorded);
  EXPECT_EQ(get(), 0) << "what is recorded is not done";
  where->replay(*recorded);
  EXPECT_EQ(get(), 3);
  launch();
  where->replay(*recorded);
  where->replay(*recorded);
  EXPECT_EQ(get(), 127);
}

TEST_P(Device, RecordingsAreApart) {
  put(0);
  if (!where->begin_recording())
    GTEST_SKIP() << "the device does not record";
  launch();
  auto one = where->end_recording();
  ASSERT_TRUE(where->begin_recording());
  for (int i = 0; i < 3; ++i)
    launch();
  auto three = where->end_recording();
  ASSERT_TRUE(where->begin_recording());
  auto none = where->end_recording();
  where->replay(*three);
  where->replay(*none);
  where->replay(*one);
  one = nullptr; // it is under way
  EXPECT_EQ(get(), 15);
}

TEST_P(Device, SaysWhatWentWrongInARecording) {
  if (!where->begin_recording())
    GTEST_SKIP() << "the device does not record";
  launch(buffer.get() + buffer.bytes());
  auto recorded = where->end_recording();
  where->replay(*recorded);
  EXPECT_THROW(where->wait(where->mark()), error);
}

TEST_P(Device, IsUsedByOneThreadAndThenAnother) {
  put(0);
  std::thread([&] {
    launch();
    device_memory own(*where, 16);
    host_memory pinned(*where, 16);
    where->wait(where->mark());
  }).join();
  EXPECT_EQ(get(), 1);
}

// The driver then refuses all that it is asked for, clearing up, too, until nobody has its context.
TEST(Cuda, NothingWorksBehindAFault) {
  {
    auto where = make_cuda(80);
    where->use(where->load(twice_and_one(), {"k"}, 0));
    device_memory memory(*where, kThreads * sizeof(float));
    host_memory staging(*where, 16);
    uint64_t behind = reinterpret_cast<uint64_t>(memory.get() + memory.bytes()), parameters[2] = {behind, behind};
    where->launch(0, 1, kThreads, parameters, sizeof(parameters));
    EXPECT_THROW(where->wait(where->mark()), error);
    EXPECT_THROW(where->mark(), error);
    EXPECT_THROW(where->allocate(16), error);
    EXPECT_THROW(where->clear(memory.get(), 16), error);
    EXPECT_THROW(make_cuda(80), error);
  }
  auto where = make_cuda(80);
  device_memory memory(*where, 16);
  where->clear(memory.get(), 16);
  where->wait(where->mark());
}

TEST(Cuda, SaysHowMuchMemoryCannotBePinned) {
  auto where = make_cuda(80);
  setenv("FAKE_CUDA_PINNED", "0", 1);
  try {
    where->allocate_host(3 << 20);
    ADD_FAILURE();
  } catch (const error &problem) {
    EXPECT_STREQ(problem.what(), "reserving 3.0 MiB of memory for the GPU's copies: out of memory");
    EXPECT_EQ(problem.code, status::out_of_memory);
  }
  unsetenv("FAKE_CUDA_PINNED");
}

// A program that uses CUDA itself, perhaps with another GPU, finds its own context where it was.
TEST(Cuda, LeavesTheThreadsContext) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  ASSERT_TRUE(driver) << dlerror();
  auto push = reinterpret_cast<int (*)(void *)>(dlsym(driver, "cuCtxPushCurrent_v2"));
  auto current = reinterpret_cast<int (*)(void **)>(dlsym(driver, "cuCtxGetCurrent"));
  auto pop = reinterpret_cast<int (*)(void **)>(dlsym(driver, "cuCtxPopCurrent_v2"));
  ASSERT_TRUE(push && current && pop);
  int other = 0;
  void *found = nullptr;
  push(&other);
  {
    auto where = make_cuda(80);
    device_memory memory(*where, 16);
    where->clear(memory.get(), 16);
    where->wait(where->mark());
    current(&found);
    EXPECT_EQ(found, &other);
  }
  current(&found);
  EXPECT_EQ(found, &other);
  pop(&found);
}

INSTANTIATE_TEST_SUITE_P(All, Device, testing::Values("emulator", "cuda"), [](const auto &info) { return std::string(info.param); });

} // namespace
