// Launches that start before those before them have ended: what the emulator asks of kernels for it.
#include "test/runtime/emulated_ptx.h"

using namespace xf::rt;

namespace {

const std::string kStart = "\t//@sm_90 griddepcontrol.launch_dependents;\n", kWait = "\t//@sm_90 griddepcontrol.wait;\n";

// What is wrong with the second launch of kernel k(in, out), which the first one has written `out` for.
std::string problem_of_second(const std::string &body) {
  auto device = make_emulator();
  std::vector<float> in(32, 1.0f);
  uint8_t *from = device->allocate(128), *to = device->allocate(128);
  device->upload(from, in.data(), 128);
  device->upload(to, in.data(), 128);
  uint64_t parameters[2] = {reinterpret_cast<uint64_t>(from), reinterpret_cast<uint64_t>(to)};
  try {
    device->use(device->load(around(body), {"k"}, 0));
    for (int launch = 0; launch < 2; ++launch)
      device->launch(0, 1, 32, parameters, sizeof(parameters));
    device->wait(device->mark());
    return "";
  } catch (const error &problem) {
    return problem.what();
  }
}

TEST(EmulatedLaunches, WaitBeforeTheyReadWhatOthersWrite) {
  const std::string constant = "\tld.global.b32 %r2, [%rd4];\n", changed = "\tld.global.b32 %r3, [%rd3];\n", write = "\tst.global.b32 [%rd3], %r2;\n";
  EXPECT_EQ(problem_of_second(kStart + constant + kWait + changed + write), "");
  EXPECT_HAS(problem_of_second(kStart + constant + changed + kWait + write),
             "reads memory that a launch before has written, and has not waited for it");
  EXPECT_HAS(problem_of_second(kStart + constant + write + kWait), "writes memory before it has waited for the launches before");
  // Whoever waits for this launch is to know that those before it have ended, too.
  EXPECT_HAS(problem_of_second(kStart + "\tsetp.eq.u32 %p1, %r1, 5;\n\t@%p1 bra $L1;\n" + kWait + constant + write + "$L1:\n"),
             "ends without having waited for the launches before");
}

TEST(EmulatedLaunches, AskForMemoryAhead) {
  EXPECT_EQ(problem_of_second(kStart + "\tprefetch.global.L2 [%rd3+128];\n" + kWait), "");
  EXPECT_HAS(problem_of_second("\tprefetch.global.L1 [%rd3];\n"), "does not understand");
}

// Whatever function it is of, a launch of such a module starts before the one before it has ended.
TEST(EmulatedLaunches, WaitInEachFunctionOfAModule) {
  auto module = [](const std::string &body, const std::string &other) {
    std::string text = around(other);
    text.replace(text.find(" k("), 3, " other(");
    return around(body) + text.substr(text.find(".visible"));
  };
  const std::string problem = "kernel other does not wait for the launches before";
  EXPECT_EQ(problem_of(module(kWait, kStart + kWait), 1), "");
  EXPECT_EQ(problem_of(module("", ""), 1), "");
  EXPECT_HAS(problem_of(module(kStart + kWait, ""), 1), problem);
  EXPECT_HAS(problem_of(module(kWait, kStart), 1), problem);
}

TEST(EmulatedLaunches, MarkedTextAloneIsRead) {
  EXPECT_EQ(problem_of_second("\t// griddepcontrol.nothing;\n"), "");
  EXPECT_HAS(problem_of_second("\t//@sm_90 griddepcontrol.nothing;\n"), "does not understand");
}

} // namespace
