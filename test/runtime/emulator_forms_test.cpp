// What the emulator refuses when it reads PTX: what ptxas refuses, but for little.
#include "test/runtime/emulated_ptx.h"

#include <cstring>

using namespace xf::rt;

namespace {

// With registers of every kind that have a value.
std::string problem_with(const std::string &statement) {
  return problem_of(around("\tmov.b16 %rs1, 1;\n\tmov.b32 %r3, 1;\n\tmov.b64 %rd5, 1;\n\tsetp.eq.u32 %p1, %r1, 0;\n\t" + statement + ";\n"), 1);
}

TEST(EmulatorForms, RegistersAreAsWideAsWhatIsDoneWithThem) {
  for (auto [statement, problem] : {
           std::pair{"add.s64 %rd6, %r3, 1", "%r3 is not of 64 bits"},
           {"add.s64 %r2, %rd5, 1", "%r2 is not of 64 bits"},
           {"add.s32 %r2, %rd5, 1", "%rd5 is not of 32 bits"},
           {"add.s16 %rs2, %r3, 1", "%r3 is not of 16 bits"},
           {"mov.b64 %rd6, %r3", "%r3 is not of 64 bits"},
           {"mov.b64 %rd6, %tid.x", "%tid.x is not of 64 bits"},
           {"mov.b32 %r2, %rs1", "%rs1 is not of 32 bits"},
           {"mov.b32 {%r2, %rs2}, %r3", "%r2 is not of 16 bits"},
           {"mov.b64 %rd6, {%r3, %rd5}", "%rd5 is not of 32 bits"},
           {"setp.eq.s64 %p2, %r3, %r3", "%r3 is not of 64 bits"},
           {"setp.eq.s32 %r2, %r3, 1", "%r2 is no predicate"},
           {"selp.b64 %rd6, %r3, %rd5, %p1", "%r3 is not of 64 bits"},
           {"selp.b32 %r2, %r3, %r3, %r3", "%r3 is no predicate"},
           {"and.pred %p2, %p1, %r3", "%r3 is no predicate"},
           {"@%r3 mov.b32 %r2, 1", "%r3 is no predicate"},
           {"mul.wide.s32 %r2, %r3, 3", "%r2 is not of 64 bits"},
           {"mad.wide.u32 %rd6, %r3, 4, %r3", "%r3 is not of 64 bits"},
           {"shl.b64 %rd6, %rd5, %rd5", "%rd5 is not of 32 bits"},
           {"bfe.u64 %rd6, %rd5, %rd5, 1", "%rd5 is not of 32 bits"},
           {"popc.b32 %rd6, %r3", "%rd6 is not of 32 bits"},
           {"popc.b64 %rd6, %rd5", "%rd6 is not of 32 bits"},
           {"shfl.sync.bfly.b32 %r2, %rd5, 1, 31, -1", "%rd5 is not of 32 bits"},
           {"shfl.sync.bfly.b32 %r2|%r4, %r3, 1, 31, -1", "%r4 is no predicate"},
           {"vote.sync.ballot.b32 %r2, %r3, -1", "%r3 is no predicate"},
           {"ld.global.b64 %r2, [%rd1]", "%r2 is not of 64 bits"},
           {"ld.global.b32 %rs2, [%rd1]", "%rs2 is not of 32 bits"},
           {"ld.global.b8 %p2, [%rd1]", "%p2 is not of 8 bits"},
           {"ld.global.b32 %r2, [%r3]", "%r3 is not of 64 bits"},
           {"ld.global.v2.b32 {%r2, %rd9}, [%rd1]", "registers of different widths"},
           {"st.global.b64 [%rd2], %r3", "%r3 is not of 64 bits"},
           {"cp.async.ca.shared.global [buffer], [%rd1], 4, %rd5", "%rd5 is not of 32 bits"},
           {"cvt.u64.u32 %r2, %r3", "%r2 is not of 64 bits"},
           {"cvt.u64.u32 %rd6, %rs1", "%rs1 is not of 32 bits"},
           // what ptxas takes, and no kernel has
           {"cvt.u32.u64 %rd6, %rd5", "%rd6 is not of 32 bits"},
           {"cvt.f64.f32 %rd6, %rd5", "%rd5 is not of 32 bits"},
       })
    EXPECT_HAS(problem_with(statement), problem + std::string(": ") + (statement[0] == '@' ? "" : statement));
  // What PTX ISA allows: what is loaded, stored or converted may have registers that are wider.
  for (const char *statement : {
           "ld.global.b32 %rd6, [%rd1]",
           "ld.global.s8 %rs2, [%rd1]",
           "ld.global.v2.b16 {%r2, %r4}, [%rd1]",
           "st.global.b8 [%rd2], %rd5",
           "st.global.b16 [%rd2], %r3",
           "cvt.u64.u32 %rd6, %rd5",
           "cvt.u32.u8 %r2, %rs1",
           "cvt.s8.s32 %r2, %r3",
       })
    EXPECT_EQ(problem_with(statement), "");
}

TEST(EmulatorForms, NamesOfRegisters) {
  EXPECT_HAS(problem_with("ld.global.b32 %r2, [%rd4-4]"), "does not understand");
  EXPECT_HAS(problem_with("mov.b32 %tid.x, 1"), "does not understand");
  // Blocks have names of their own, of which the emulator has one.
  EXPECT_EQ(problem_with("{ .reg .b16 tmp; mov.b32 {tmp, %rs2}, %r3; }\n\t{ .reg .b16 tmp; mov.b32 {%rs2, tmp}, %r3; }\n\tmov.b32 %r2, 1"), "");
  EXPECT_HAS(problem_with("{ .reg .b16 tmp; mov.b32 {tmp, %rs2}, %r3; }\n\t{ .reg .b32 tmp; mov.b32 tmp, %r3; }\n\tmov.b32 %r2, 1"),
             ": .reg .b32 tmp");
}

TEST(EmulatorForms, WhatNamesSay) {
  for (const char *refused : {
           // roundings
           "fma.f32 %r2, %r3, %r3, %r3",
           "fma.rn.s32 %r2, %r3, %r3, %r3",
           "div.f32 %r2, %r3, %r3",
           "div.rn.s32 %r2, %r3, %r3",
           "div.f64 %rd6, %rd5, %rd5",
           "sqrt.f32 %r2, %r3",
           "rcp.f32 %r2, %r3",
           "ex2.rn.f32 %r2, %r3",
           "ex2.approx.f64 %rd6, %rd5",
           "min.rn.f32 %r2, %r3, %r3",
           "cvt.f32.s32 %r2, %r3",
           "cvt.s32.f32 %r2, %r3",
           "cvt.rn.s64.s32 %rd6, %r3",
           "cvt.f32.f64 %r2, %rd5",
           "cvt.rn.f64.f32 %rd6, %r3",
           "cvt.u32.pred %r2, %p1",
           "cvt.u32.b16 %r2, %rs1",
           // halves of products
           "mul.s32 %r2, %r3, %r3",
           "mul.lo.b32 %r2, %r3, %r3",
           "mul.lo.f32 %r2, %r3, %r3",
           "mul.wide.s64 %rd6, %rd5, %rd5",
           "mad.s32 %r2, %r3, %r3, %r3",
           // comparisons
           "setp.lo.s32 %p2, %r3, 1",
           "setp.hi.f32 %p2, %r3, %r3",
           "setp.ltu.s32 %p2, %r3, 1",
           "setp.nan.u32 %p2, %r3, 1",
           "setp.lt.b32 %p2, %r3, 1",
           "setp.eq.pred %p2, %p1, %p1",
           "setp.s32 %p2, %r3, 1",
           // lists
           "ld.global.v4.b32 {%r2, %r4}, [%rd1]",
           "ld.global.v2.b32 {%r2, %r4, %r5, %r6}, [%rd1]",
           "ld.global.b32 {%r2, %r4}, [%rd1]",
           "ld.global.v2.b32 %r2, [%rd1]",
           "st.global.b32 [%rd2], {%r3, %r3}",
           "st.global.v2.b32 [%rd2], {%r3}",
           "st.param.b32 [k_param_0], %r3",
           "ld.global.pred %p2, [%rd1]",
           // parameters
           "ld.param.b32 %r2, k_param_0",
           "ld.param.b32 %r2, [k_param_9]",
           "ld.param.b32 %r2, [k_param_0+-4]",
           "ld.param.b32 %r2, [k_param_0+4096]",
           "ld.param.b32 %r2, [k_param_1+9223372036854775807]",
           // types
           "shf.l.wrap.b64 %rd6, %rd5, %rd5, 3",
           "prmt.b64 %rd6, %rd5, %rd5, 3",
           "add.b32 %r2, %r3, 1",
           "add.s8 %rs2, %rs1, 1",
           "abs.u32 %r2, %r3",
           "neg.u32 %r2, %r3",
           "and.u32 %r2, %r3, 1",
           "not.f32 %r2, %r3",
           "shl.s32 %r2, %r3, 1",
           "popc.u32 %r2, %r3",
           "bfe.b32 %r2, %r3, 1, 1",
           "mov.b8 %rs2, %rs1",
           "mov.s32 {%rs2, %rs3}, %r3",
           "selp.pred %p2, %p1, %p1, %p1",
           "shfl.sync.bfly.s32 %r2, %r3, 1, 31, -1",
           // what ptxas takes, and no kernel has
           "cvt.rz.f32.s32 %r2, %r3",
           "cvt.rz.f32.f64 %r2, %rd5",
           "setp.eq.and.s32 %p2, %r3, 1, %p1",
           "ld.b32 %r2, [%rd1]",
           "shf.l.clamp.b32 %r2, %r3, %r3, 3",
       })
    EXPECT_HAS(problem_with(refused), std::string("does not understand PTX line 26: ") + refused);
  for (const char *taken : {
           "fma.rn.f32 %r2, %r3, %r3, %r3",
           "div.rn.f64 %rd6, %rd5, %rd5",
           "rcp.rn.f32 %r2, %r3",
           "ex2.approx.f32 %r2, %r3",
           "mul.hi.s64 %rd6, %rd5, %rd5",
           "mad.lo.u32 %r2, %r3, %r3, %r3",
           "mul.wide.u16 %r2, %rs1, %rs1",
           "setp.hs.u16 %p2, %rs1, 1",
           "setp.geu.f64 %p2, %rd5, %rd5",
           "setp.ne.b16 %p2, %rs1, 1",
           "st.global.v2.b32 [%rd2], {%r3, 5}",
           "cvt.rn.f32.u16 %r2, %rs1",
           "cvt.rpi.f64.f64 %rd6, %rd5",
           "shr.b64 %rd6, %rd5, 3",
           "bfi.b64 %rd6, %rd5, %rd5, 1, 2",
       })
    EXPECT_EQ(problem_with(taken), "") << taken;
}

// What thread 5 of a warp, or every one, has in %r2 behind a load of a parameter.
std::vector<uint32_t> loaded(const std::string &body) {
  auto device = make_emulator();
  device->use(device->load(around("\tmov.b32 %r2, 7;\n\tsetp.eq.u32 %p1, %r1, 5;\n" + body + "\tst.global.b32 [%rd3], %r2;\n"), {"k"}, 0));
  std::vector<uint32_t> out(8);
  uint8_t *to = device->allocate(4 * out.size());
  uint64_t parameters[2] = {0x112233448566fe88, reinterpret_cast<uint64_t>(to)};
  device->launch(0, 1, static_cast<uint32_t>(out.size()), parameters, sizeof(parameters));
  device->download(out.data(), to, 4 * out.size());
  device->wait(device->mark());
  return out;
}

TEST(EmulatorForms, ParametersAreLoadedByThreadsThatDo) {
  std::vector<uint32_t> fifth{7, 7, 7, 7, 7, 0x8566fe88, 7, 7};
  EXPECT_EQ(loaded("\t@%p1 ld.param.b32 %r2, [k_param_0];\n"), fifth);
  EXPECT_EQ(loaded("\t@!%p1 bra $L1;\n\tld.param.b32 %r2, [k_param_0];\n$L1:\n"), fifth);
}

TEST(EmulatorForms, ParametersHaveTypes) {
  for (auto [type, wanted] : {std::pair{"u8", 0x88u}, {"s8", 0xffffff88u}, {"b16", 0xfe88u}, {"s16", 0xfffffe88u}, {"u32", 0x8566fe88u}})
    EXPECT_EQ(loaded("\tld.param." + std::string(type) + " %r2, [k_param_0];\n")[0], wanted) << type;
  EXPECT_EQ(loaded("\tld.param.v2.b16 {%r4, %r2}, [k_param_0+4];\n")[0], 0x1122u);
  for (auto [type, upper] : {std::pair{"s32", 0xffffffffu}, {"u32", 0u}, {"b64", 0x11223344u}})
    EXPECT_EQ(loaded("\tld.param." + std::string(type) + " %rd5, [k_param_0];\n\tshr.u64 %rd5, %rd5, 32;\n\tcvt.u32.u64 %r2, %rd5;\n")[0], upper)
        << type;
}

} // namespace
