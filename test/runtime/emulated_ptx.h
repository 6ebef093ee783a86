// Runs PTX written by hand in the emulator.
#ifndef XF_TEST_RUNTIME_EMULATED_PTX_H
#define XF_TEST_RUNTIME_EMULATED_PTX_H

#include "runtime/core/error.h"
#include "runtime/device/emulator/emulator.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace xf::rt {

// A kernel `k(in, out)` with this body; %rd1 and %rd2 are the parameters, %r1 is the thread, and %rd3 and %rd4 are the addresses of the thread's
// elements of out and in.
inline std::string around(const std::string &body, const std::string &declarations = "") {
  return ".version 7.0\n.target sm_80\n.address_size 64\n.shared .align 16 .b8 buffer[512];\n" + declarations +
         ".visible .entry k(\n\t.param .u64 .ptr .global .align 1 k_param_0,\n\t.param .u64 k_param_1\n)\n.maxntid 128, 1, 1\n{\n"
         "\t.reg .pred %p<20>;\n\t.reg .b16 %rs<20>;\n\t.reg .b32 %r<40>;\n\t.reg .b64 %rd<40>;\n\n// %bb.0:\n"
         "\tld.param.b64 %rd1, [k_param_0];\n\tld.param.b64 %rd2, [k_param_1];\n\tmov.u32 %r1, %tid.x;\n"
         "\tmad.wide.u32 %rd3, %r1, 4, %rd2;\n\tmad.wide.u32 %rd4, %r1, 4, %rd1;\n" +
         body + "\tret;\n}\n";
}

inline std::vector<float> run(const std::string &ptx, std::vector<float> in, uint32_t threads, size_t results = 0) {
  auto device = make_emulator();
  device->use(device->load(ptx, {"k"}, 0));
  results = results ? results : threads;
  uint8_t *from = device->allocate(in.size() * 4), *to = device->allocate(results * 4);
  device->upload(from, in.data(), in.size() * 4);
  uint64_t parameters[2] = {reinterpret_cast<uint64_t>(from), reinterpret_cast<uint64_t>(to)};
  device->launch(0, 1, threads, parameters, sizeof(parameters));
  std::vector<float> out(results);
  device->download(out.data(), to, results * 4);
  device->wait(device->mark());
  return out;
}

inline std::string problem_of(const std::string &ptx, uint32_t threads, size_t elements = 64) {
  try {
    run(ptx, std::vector<float>(elements, 1.0f), threads, elements);
    return "";
  } catch (const error &problem) {
    return problem.what();
  }
}

inline std::vector<float> ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(i) + 1;
  return values;
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

} // namespace xf::rt

#endif
