// The emulator on PTX written by hand: that it computes, and that it finds what is wrong with a kernel.
#include "test/runtime/emulated_ptx.h"

#include <cstring>

using namespace xf::rt;

namespace {

TEST(Emulator, ComputesInEveryThread) {
  auto out = run(around("\tld.global.b32 %r2, [%rd4];\n\tfma.rn.f32 %r3, %r2, 0f40000000, 0fBF800000;\n\tst.global.b32 [%rd3], %r3;\n"), ramp(70),
                 70);
  for (size_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out[i], 2 * (static_cast<float>(i) + 1) - 1);
}

TEST(Emulator, BlocksHaveRegistersOfTheirOwn) {
  // A number's upper half twice: numbers with few bits are as they were.
  std::string half = "\t{ .reg .b16 tmp; mov.b32 {tmp, %rs1}, %r2; }\n\tcvt.u32.u16 %r2, %rs1;\n\tshl.b32 %r2, %r2, 16;\n";
  auto out = run(around("\tld.global.b32 %r2, [%rd4];\n" + half + half + "\tst.global.b32 [%rd3], %r2;\n"), ramp(70), 70);
  EXPECT_EQ(out, ramp(70));
}

TEST(Emulator, LanesPartAndMeet) {
  // Thread t adds its input t + 1 times; then all exchange with a neighbour.
  auto out = run(around("\tld.global.b32 %r2, [%rd4];\n\tmov.b32 %r3, 0f00000000;\n\tmov.b32 %r4, 0;\n"
                        "$L1:\n\tadd.rn.f32 %r3, %r3, %r2;\n\tadd.s32 %r4, %r4, 1;\n\tsetp.le.u32 %p1, %r4, %r1;\n\t@%p1 bra $L1;\n"
                        "\tshfl.sync.bfly.b32 %r5, %r3, 1, 31, -1;\n\tst.global.b32 [%rd3], %r5;\n"),
                 ramp(32), 32);
  for (size_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out[i], static_cast<float>(((i ^ 1) + 1) * ((i ^ 1) + 1)));
}

TEST(Emulator, SharedMemoryWithABarrierBetween) {
  std::string before = "\tld.global.b32 %r2, [%rd4];\n\tmov.b64 %rd5, buffer;\n\tmad.wide.u32 %rd6, %r1, 4, %rd5;\n"
                       "\tst.shared.b32 [%rd6], %r2;\n";
  std::string after = "\txor.b32 %r3, %r1, 1;\n\tmad.wide.u32 %rd7, %r3, 4, %rd5;\n\tld.shared.b32 %r4, [%rd7];\n"
                      "\tst.global.b32 [%rd3], %r4;\n";
  auto out = run(around(before + "\tbar.sync 0;\n" + after), ramp(64), 64);
  for (size_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out[i], static_cast<float>((i ^ 1) + 1));
  EXPECT_HAS(problem_of(around(before + after), 64), "with no barrier between");
  // Reading first, writing then: the other order of the same mistake.
  std::string again = "\tst.shared.b32 [%rd6], %r4;\n";
  EXPECT_HAS(problem_of(around(before + "\tbar.sync 0;\n" + after + again), 64), "has read with no barrier between");
  EXPECT_EQ(problem_of(around(before + "\tbar.sync 0;\n" + after + "\tbar.sync 0;\n" + again), 64), "");
}

TEST(Emulator, SharedMemoryThatIsOneNumber) {
  std::string number = ".shared .align 8 .u64 number;\n", write = "\tsetp.ne.u32 %p1, %r1, 3;\n\t@%p1 bra $L1;\n\tst.shared.b64 [number], 7;\n$L1:\n";
  std::string read = "\tld.shared.b64 %rd7, [number];\n\tcvt.rn.f32.u64 %r4, %rd7;\n\tst.global.b32 [%rd3], %r4;\n";
  auto out = run(around(write + "\tbar.sync 0;\n" + read, number), ramp(64), 64);
  EXPECT_EQ(out[63], 7);
  EXPECT_HAS(problem_of(around(write + read, number), 64), "with no barrier between");
  EXPECT_HAS(problem_of(around("\tst.shared.b64 [number+4096], 7;\n", number), 1), "outside of its");
}

// Variables lie next to each other on a GPU, where what is behind one may be another's, or nobody's.
TEST(Emulator, SharedMemoryBehindAVariable) {
  std::string odd = ".shared .align 16 .b8 odd[20];\n", set = "\tst.shared.b32 [odd+16], 7;\n", more = "\tst.shared.b32 [buffer], 7;\n";
  EXPECT_EQ(problem_of(around(set + more, odd), 1), "");
  EXPECT_HAS(problem_of(around(set + "\tst.shared.b32 [odd+20], 7;\n", odd), 1), "writes shared memory at 20, outside of its 20 bytes");
  EXPECT_HAS(problem_of(around(set + more + "\tld.shared.b32 %r2, [odd+32];\n", odd), 1), "reads shared memory at 32, outside of its 20 bytes");
  EXPECT_HAS(problem_of(around("\tmov.b64 %rd5, 0;\n\tst.shared.b32 [%rd5], 7;\n"), 1), "of which the kernel has none");
}

TEST(Emulator, TwoThreadsWriteOnePlace) {
  std::string body = "\tmov.b64 %rd5, buffer;\n\tst.shared.b32 [%rd5], %r1;\n";
  EXPECT_HAS(problem_of(around(body), 64), "writes shared memory at 0, which thread");
  EXPECT_EQ(problem_of(around(body), 1), "");
}

TEST(Emulator, HalvesOfAWordAreOnesOwn) {
  std::string own = "\tmov.b64 %rd5, buffer;\n\tmad.wide.u32 %rd6, %r1, 2, %rd5;\n\tcvt.u16.u32 %rs1, %r1;\n\tst.shared.b16 [%rd6], %rs1;\n";
  std::string other = "\txor.b32 %r3, %r1, 1;\n\tmad.wide.u32 %rd7, %r3, 2, %rd5;\n\tld.shared.b16 %rs2, [%rd7];\n";
  EXPECT_EQ(problem_of(around(own), 64), "");
  EXPECT_EQ(problem_of(around(own + "\tbar.sync 0;\n" + other), 64), "");
  EXPECT_HAS(problem_of(around(own + other), 64), "with no barrier between");
}

TEST(Emulator, ReadsWhatNobodyHasWritten) {
  std::string problem = problem_of(around("\tmov.b64 %rd5, buffer;\n\tld.shared.b32 %r2, [%rd5+16];\n"), 32);
  EXPECT_HAS(problem, "reads shared memory at 16, which nobody has written");
  EXPECT_HAS(problem, "kernel k, block 0, thread 0, PTX line");
}

TEST(Emulator, RegistersWithoutAValue) {
  std::string store = "\tst.global.b32 [%rd3], %r2;\n", set = "\tmov.b32 %r2, 1;\n", test = "\tsetp.lt.u32 %p1, %r1, 40;\n";
  EXPECT_HAS(problem_of(around(store), 64), "kernel k, PTX line 22: %r2 may be read before it is written");
  EXPECT_EQ(problem_of(around(set + store), 64), "");
  EXPECT_HAS(problem_of(around("\tmov.b32 %r3, 1;\n\tst.global.b32 [%rd5], %r3;\n"), 64), "%rd5");
  EXPECT_HAS(problem_of(around("\t@%p2 bra $L1;\n$L1:\n"), 64), "%p2");
  // On one way of two.
  EXPECT_HAS(problem_of(around(test + "\t@%p1 bra $L1;\n" + set + "$L1:\n" + store), 64), "%r2");
  EXPECT_EQ(problem_of(around(test + "\t@%p1 bra $L1;\n" + set + "\tbra.uni $L2;\n$L1:\n\tmov.b32 %r2, 2;\n$L2:\n" + store), 64), "");
  EXPECT_EQ(problem_of(around(test + "\t@%p1 bra $L1;\n" + set + "\tbra.uni $L2;\n$L1:\n\tret;\n$L2:\n" + store), 64), "");
  // In a loop, from its second round on.
  std::string loop = "\tmov.b32 %r3, %r1;\n$L1:\n", again = "\tadd.s32 %r3, %r3, 40;\n\tsetp.lt.u32 %p1, %r3, 100;\n\t@%p1 bra $L1;\n";
  EXPECT_HAS(problem_of(around(loop + store + set + again), 64), "%r2");
  EXPECT_EQ(problem_of(around(loop + set + store + again), 64), "");
}

TEST(Emulator, AccessesOutsideOfMemory) {
  EXPECT_HAS(problem_of(around("\tld.global.b32 %r2, [%rd4+4];\n"), 64), "thread 63");
  EXPECT_HAS(problem_of(around("\tld.global.b32 %r2, [%rd4+4];\n"), 64), "reads outside of memory, 0 bytes behind a block of 256");
  EXPECT_HAS(problem_of(around("\tst.global.b32 [%rd4+-4], %r1;\n"), 64), "writes outside of memory");
  EXPECT_HAS(problem_of(around("\tmov.b64 %rd5, buffer;\n\tst.shared.b32 [%rd5+512], %r1;\n"), 1), "outside of its 512 bytes");
  EXPECT_HAS(problem_of(around("\tld.global.b32 %r2, [%rd4+2];\n"), 64), "no multiple of it");
  EXPECT_HAS(problem_of(around("\tld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd4];\n"), 64), "no multiple of it");
}

TEST(Emulator, ABarrierThatSomeThreadsMiss) {
  std::string skip = "\tsetp.lt.u32 %p1, %r1, 40;\n\t@%p1 bra $L1;\n\tbar.sync 0;\n$L1:\n\tst.global.b32 [%rd3], %r1;\n";
  EXPECT_HAS(problem_of(around(skip), 64), "barrier");
  std::string leave = "\tsetp.lt.u32 %p1, %r1, 32;\n\t@%p1 ret;\n\tbar.sync 0;\n";
  EXPECT_HAS(problem_of(around(leave), 64), "some warps end while others wait at a barrier");
}

TEST(Emulator, AnExchangeThatALaneMisses) {
  std::string body = "\tsetp.eq.u32 %p1, %r1, 5;\n\t@%p1 bra $L1;\n\tshfl.sync.bfly.b32 %r5, %r1, 1, 31, -1;\n$L1:\n";
  EXPECT_HAS(problem_of(around(body), 32), "thread 5");
  EXPECT_HAS(problem_of(around(body), 32), "does not take part in an exchange");
}

// What all lanes get, of their inputs' bits.
TEST(Emulator, LanesTellAll) {
  auto words = [](const std::string &body, std::vector<float> in) {
    std::vector<float> out = run(around("\tld.global.b32 %r2, [%rd4];\n" + body + "\tst.global.b32 [%rd3], %r5;\n"), in, 32);
    std::vector<uint32_t> bits(out.size());
    std::memcpy(bits.data(), out.data(), out.size() * 4);
    return bits;
  };
  std::vector<float> values = ramp(32);
  values[7] = -1, values[9] = 0; // -1 is a negative integer, and a large unsigned one
  auto all = [](uint32_t word) { return std::vector<uint32_t>(32, word); };
  EXPECT_EQ(words("\tredux.sync.max.s32 %r5, %r2, -1;\n", values), all(0x42000000));
  EXPECT_EQ(words("\tredux.sync.max.u32 %r5, %r2, -1;\n", values), all(0xbf800000));
  EXPECT_EQ(words("\tredux.sync.min.s32 %r5, %r2, -1;\n", values), all(0xbf800000));
  EXPECT_EQ(words("\tredux.sync.min.u32 %r5, %r2, -1;\n", values), all(0));
  EXPECT_EQ(words("\tredux.sync.max.s32 %r2, %r2, -1;\n\tmov.b32 %r5, %r2;\n", values), all(0x42000000));
  EXPECT_EQ(words("\tsetp.lt.s32 %p1, %r2, 1;\n\tvote.sync.ballot.b32 %r5, %p1, -1;\n", values), all(1u << 7 | 1u << 9));
  // Halves of a warp that have parted, each by itself.
  auto halves = words("\tsetp.lt.u32 %p1, %r1, 16;\n\t@%p1 bra $L1;\n\tredux.sync.max.u32 %r5, %r1, 0xffff0000;\n\tbra.uni $L2;\n"
                      "$L1:\n\tredux.sync.max.u32 %r5, %r1, 0xffff;\n$L2:\n",
                      values);
  EXPECT_EQ(halves[15], 15u);
  EXPECT_EQ(halves[16], 31u);
}

TEST(Emulator, WhatALaneDoesNotTell) {
  std::string set = "\tmov.b32 %r5, 0;\n", five = "\tsetp.eq.u32 %p1, %r1, 5;\n";
  for (const std::string exchange : {"redux.sync.max.s32 %r5, %r1, ", "vote.sync.ballot.b32 %r5, %p1, "}) {
    // The lane goes another way, has ended, or has never been.
    std::string all = "\t" + exchange + "-1;\n", problem = problem_of(around(set + five + "\t@%p1 bra $L1;\n" + all + "$L1:\n"), 32);
    EXPECT_HAS(problem, "thread 5");
    EXPECT_HAS(problem, "does not take part in an exchange");
    EXPECT_HAS(problem_of(around(set + five + "\t@%p1 ret;\n" + all), 32), "takes a value from a lane that does not take part");
    EXPECT_HAS(problem_of(around(set + five + all), 20), "takes a value from a lane that does not take part");
    EXPECT_EQ(problem_of(around(set + five + all), 64), "");
    // Nor may lanes disagree on who takes part.
    EXPECT_HAS(problem_of(around(set + five + "\t" + exchange + "0xffff;\n"), 32), "takes part in an exchange that does not name it");
    std::string own = "\tmov.b32 %r6, -1;\n\t@%p1 mov.b32 %r6, 0x20;\n";
    EXPECT_HAS(problem_of(around(set + five + own + "\t" + exchange + "%r6;\n"), 32), "with a lane that names others");
  }
}

TEST(Emulator, ThreadsWaitForThoseThatComeAnotherWay) {
  std::string body = "\tsetp.lt.u32 %p1, %r1, 16;\n\t@%p1 bra $L2;\n$L1:\n\tshfl.sync.bfly.b32 %r5, %r1, 16, 31, -1;\n"
                     "\tcvt.rn.f32.u32 %r6, %r5;\n\tst.global.b32 [%rd3], %r6;\n\tbar.sync 0;\n\tret;\n$L2:\n\tadd.s32 %r7, %r1, 1;\n"
                     "\tbra.uni $L1;\n";
  auto out = run(around(body), std::vector<float>(64), 64);
  for (size_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out[i], static_cast<float>(i ^ 16)) << i;
  // Half of the warp waits at one place for an exchange with all, half at another.
  std::string apart = "\tsetp.lt.u32 %p1, %r1, 16;\n\t@%p1 bra $L2;\n\tshfl.sync.bfly.b32 %r5, %r1, 16, 31, -1;\n\tret;\n$L2:\n"
                      "\tbar.sync 0;\n";
  EXPECT_HAS(problem_of(around(apart), 32), "of its warp");
}

// Of a launch that every thread takes two blocks' part in: what is wrong with it.
std::string problem_of_blocks(const std::string &body, uint32_t blocks = 2) {
  auto device = make_emulator();
  device->use(device->load(around("\tmov.u32 %r10, %ctaid.x;\n\tsetp.eq.u32 %p1, %r10, 0;\n" + body), {"k"}, 0));
  uint8_t *memory = device->allocate(512);
  uint64_t parameters[2] = {reinterpret_cast<uint64_t>(memory), reinterpret_cast<uint64_t>(memory) + 256};
  try {
    device->clear(memory, 512);
    for (int i = 0; i < 2; ++i) // launches are ordered
      device->launch(0, blocks, 64, parameters, sizeof(parameters));
    device->wait(device->mark());
    return "";
  } catch (const error &problem) {
    return problem.what();
  }
}

// NaN is 0x7fffffff, also where x86 makes it negative or keeps the bits of an operand; of two zeros the positive one is greater.
TEST(Emulator, NumbersThatAreNone) {
  auto bits = [](const std::string &body) {
    std::vector<float> out = run(around("\tld.global.b32 %r2, [%rd4];\n" + body + "\tst.global.b32 [%rd3], %r4;\n"), {-1.0f, 0.0f}, 2);
    uint32_t words[2];
    std::memcpy(words, out.data(), sizeof(words));
    return words[0];
  };
  EXPECT_EQ(bits("\tsqrt.rn.f32 %r4, %r2;\n"), 0x7fffffffu);
  EXPECT_EQ(bits("\tadd.rn.f32 %r4, %r2, 0fFFC12345;\n"), 0x7fffffffu);
  EXPECT_EQ(bits("\tfma.rn.f32 %r4, %r2, 0f7F800000, 0f7F800000;\n"), 0x7fffffffu);
  EXPECT_EQ(bits("\tmax.f32 %r4, 0f80000000, 0f00000000;\n\tmax.f32 %r5, 0f00000000, 0f80000000;\n\tor.b32 %r4, %r4, %r5;\n"), 0u);
  EXPECT_EQ(bits("\tmin.f32 %r4, 0f80000000, 0f00000000;\n\tmin.f32 %r5, 0f00000000, 0f80000000;\n\tand.b32 %r4, %r4, %r5;\n"), 0x80000000u);
  EXPECT_EQ(bits("\tmax.f32 %r4, 0fFFC12345, %r2;\n"), 0xbf800000u);
}

TEST(Emulator, BlocksThatMeetInMemory) {
  std::string write = "\tst.global.b32 [%rd3], %r1;\n", read = "\tld.global.b32 %r2, [%rd3];\n";
  EXPECT_EQ(problem_of_blocks(read), "");
  EXPECT_HAS(problem_of_blocks(write), "block 1, thread 0");
  EXPECT_HAS(problem_of_blocks(write), "writes memory that another block of the launch has written");
  EXPECT_EQ(problem_of_blocks(write, 1), "");
  for (const char *part : {"b8", "b16"}) { // each written before the next one
    std::string bytes = "\tcvt.u16.u32 %rs1, %r1;\n";
    for (int at = 0; at < 4; at += part[1] == '8' ? 1 : 2)
      bytes += std::string("\tst.global.") + part + " [%rd3+" + std::to_string(at) + "], %rs1;\n";
    EXPECT_HAS(problem_of_blocks(bytes), "writes memory that another block of the launch has written");
  }
  EXPECT_HAS(problem_of_blocks("\t@%p1 st.global.b32 [%rd3], %r1;\n" + read), "reads memory that another block of the launch has written");
  // The blocks may run the other way round.
  EXPECT_HAS(problem_of_blocks("\t@%p1 ld.global.b32 %r2, [%rd3];\n\t@!%p1 st.global.b32 [%rd3], %r1;\n"),
             "writes memory that another block of the launch has read");
  EXPECT_HAS(problem_of_blocks(read + "\t@!%p1 st.global.b32 [%rd3], %r1;\n"), "writes memory that another block of the launch has read");
  EXPECT_HAS(problem_of_blocks("\tmov.b64 %rd5, buffer;\n\tcvt.u32.u64 %r4, %rd5;\n\t@%p1 st.global.b32 [%rd3], %r1;\n"
                               "\tand.b64 %rd6, %rd3, -16;\n\tmad.wide.u32 %rd7, %r1, 0, %rd5;\n\tsetp.gt.u32 %p2, %r1, 0;\n"
                               "\t@%p2 ret;\n\t@!%p1 cp.async.cg.shared.global [%rd7], [%rd6], 16;\n"),
             "reads memory that another block of the launch has written");
}

TEST(Emulator, ThreadsThatMeetInMemory) {
  std::string write = "\tst.global.b32 [%rd3], %r1;\n",
              neighbours = "\txor.b32 %r3, %r1, 1;\n\tmad.wide.u32 %rd7, %r3, 4, %rd2;\n"
                           "\tld.global.b32 %r4, [%rd7];\n",
              barrier = "\tbar.sync 0;\n";
  EXPECT_HAS(problem_of(around(write + neighbours), 64), "reads memory that thread 1 has written with no barrier between");
  EXPECT_EQ(problem_of(around(write + barrier + neighbours), 64), "");
  EXPECT_HAS(problem_of(around(write + barrier + neighbours + write), 64), "writes memory that another thread has read with no barrier between");
  EXPECT_EQ(problem_of(around(write + barrier + neighbours + barrier + write), 64), "");
  // Also where the rest of a word has been written since.
  std::string halves = "\tmad.wide.u32 %rd8, %r1, 2, %rd2;\n\tcvt.u16.u32 %rs1, %r1;\n\tst.global.b16 [%rd8], %rs1;\n";
  std::string other = "\txor.b32 %r3, %r1, 2;\n\tmad.wide.u32 %rd7, %r3, 2, %rd2;\n\tld.global.b16 %rs2, [%rd7];\n";
  EXPECT_HAS(problem_of(around(halves + other), 64), "reads memory that thread 2 has written with no barrier between");
  EXPECT_EQ(problem_of(around(halves + barrier + other), 64), "");
  // Bytes of a word are apart.
  EXPECT_EQ(
      problem_of(around("\tcvt.u64.u32 %rd8, %r1;\n\tadd.s64 %rd9, %rd2, %rd8;\n\tld.global.b8 %rs1, [%rd9];\n\tst.global.b8 [%rd9], %rs1;\n"), 64),
      "");
}

TEST(Emulator, LaunchesThatNoGpuTakes) {
  auto with = [](const char *bytes) { return around("\tmov.b64 %rd5, large;\n", ".shared .align 16 .b8 large[" + std::string(bytes) + "];\n"); };
  EXPECT_HAS(problem_of(with("49153"), 1), "cannot be launched");
  EXPECT_EQ(problem_of(with("49152"), 1), "");
  EXPECT_HAS(problem_of_blocks("", 0), "cannot be launched: 0 blocks");
}

TEST(Emulator, Integers) {
  // Each result is stored as an integer at its place by thread 0.
  std::string body, stores;
  std::vector<int32_t> wanted;
  int next = 10;
  auto add = [&](const std::string &code, int32_t result) {
    std::string r = "%r" + std::to_string(next++);
    body += "\t" + code.substr(0, code.find('$')) + r + code.substr(code.find('$') + 1) + ";\n";
    body += "\tst.global.b32 [%rd2+" + std::to_string(4 * wanted.size()) + "], " + r + ";\n";
    wanted.push_back(result);
  };
  add("mul.hi.u32 $, -1, -1", -2);
  add("mul.hi.s32 $, -1, 5", -1);
  add("div.s32 $, -7, 2", -3);
  add("rem.s32 $, -7, 2", -1);
  add("div.u32 $, -7, 2", 0x7ffffffc);
  add("shr.s32 $, -8, 1", -4);
  add("shr.u32 $, -8, 28", 15);
  add("shl.b32 $, 1, 40", 0);
  add("bfe.u32 $, 0x12345678, 8, 8", 0x56);
  add("bfe.s32 $, 0x1280, 0, 8", -128);
  add("bfi.b32 $, 0xff, 0, 4, 8", 0xff0);
  add("prmt.b32 $, 0x33221100, 0x77665544, 0x5140U", 0);
  wanted.back() = 0x55114400;
  add("lop3.b32 $, 0xff00, 0x0ff0, 0x00ff, 0x80", 0);
  add("shf.l.wrap.b32 $, 0x80000000, 1, 1", 3);
  add("min.s32 $, -1, 1", -1);
  add("min.u32 $, -1, 1", 1);
  add("abs.s32 $, -9", 9);
  add("cvt.rzi.s32.f32 $, 0fC0200000", -2); // -2.5
  add("cvt.rni.s32.f32 $, 0fC0200000", -2);
  add("cvt.rmi.s32.f32 $, 0fC0200000", -3);
  add("cvt.rzi.s32.f32 $, 0f7F800000", 0x7fffffff);
  add("popc.b32 $, 255", 8);
  add("clz.b32 $, 1", 31);
  auto out = run(around("\tsetp.ne.u32 %p1, %r1, 0;\n\t@%p1 ret;\n" + body), {0}, 1, wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    int32_t got;
    std::memcpy(&got, &out[i], 4);
    EXPECT_EQ(got, wanted[i]) << i;
  }
}

// Each thread has its own lower part.
TEST(Emulator, ConvertsTheLowerPartOfAWiderRegister) {
  std::string code = "\tcvt.u64.u32 %rd7, %r1;\n\tadd.s64 %rd7, %rd7, 0x1fffffffd;\n\tcvt.s64.s32 %rd8, %rd7;\n"
                     "\tcvt.rn.f32.s64 %r4, %rd8;\n\tst.global.b32 [%rd3], %r4;\n";
  auto out = run(around(code), {0}, 32, 32);
  for (int thread = 0; thread < 32; ++thread)
    EXPECT_EQ(out[thread], static_cast<float>(thread - 3)) << thread;
  EXPECT_HAS(problem_of(around("\tmov.b64 %rd7, 0;\n\tcvt.f64.f32 %rd8, %rd7;\n"), 1), "cvt");
}

// PTX ISA, cvt: 0 unless either is of 64 bits.
TEST(Emulator, IntegersOfNoNumber) {
  auto bits = [](const std::string &conversion) {
    auto out = run(around("\tmov.b32 %r5, 0f7FC00000;\n\tmov.b64 %rd8, 0d7FF8000000000000;\n\t" + conversion + ";\n\tst.global.b64 [%rd2], %rd9;\n"),
                   {0}, 1, 2);
    uint64_t value;
    std::memcpy(&value, out.data(), sizeof(value));
    return value;
  };
  const std::string widen = ";\n\tcvt.s64.s32 %rd9, %r6", widenUnsigned = ";\n\tcvt.u64.u32 %rd9, %r6";
  EXPECT_EQ(bits("cvt.rzi.s32.f32 %r6, %r5" + widen), 0u);
  EXPECT_EQ(bits("cvt.rzi.u32.f32 %r6, %r5" + widenUnsigned), 0u);
  EXPECT_EQ(bits("cvt.rzi.s64.f32 %rd9, %r5"), 0x8000000000000000u);
  EXPECT_EQ(bits("cvt.rzi.u64.f32 %rd9, %r5"), 0x8000000000000000u);
  EXPECT_EQ(bits("cvt.rzi.s64.f64 %rd9, %rd8"), 0x8000000000000000u);
  EXPECT_EQ(bits("cvt.rzi.s32.f64 %r6, %rd8" + widen), 0xffffffff80000000u);
  EXPECT_EQ(bits("cvt.rzi.u32.f64 %r6, %rd8" + widenUnsigned), 0x80000000u);
}

TEST(Emulator, LoadsThatWiden) {
  // Thread t reads the 32-bit value -t - 1 into 64 bits, and stores the upper half, then the lower one.
  std::vector<float> in(4);
  for (int32_t t = 0; t < 4; ++t) {
    int32_t value = -t - 1;
    std::memcpy(&in[t], &value, 4);
  }
  for (auto [half, wanted] : {std::pair{32, -1}, {0, -4}}) {
    auto out = run(around("\tld.global.s32 %rd5, [%rd4];\n\tshr.u64 %rd6, %rd5, " + std::to_string(half) +
                          ";\n\tcvt.u32.u64 %r2, %rd6;\n\tst.global.b32 [%rd3], %r2;\n"),
                   in, 4);
    int32_t got;
    std::memcpy(&got, &out[3], 4);
    EXPECT_EQ(got, wanted);
  }
}

TEST(Emulator, StoresThatNarrow) {
  // Thread t stores the lower half of 2^32 * t + its address' distance to the first.
  auto out = run(around("\tsub.s64 %rd5, %rd3, %rd2;\n\tshl.b64 %rd6, %rd5, 30;\n\tadd.s64 %rd7, %rd6, %rd5;\n\tst.global.b32 [%rd3], %rd7;\n"),
                 std::vector<float>(40), 40);
  for (size_t t = 0; t < out.size(); ++t) {
    int32_t got;
    std::memcpy(&got, &out[t], 4);
    EXPECT_EQ(got, static_cast<int32_t>(4 * t));
  }
}

TEST(Emulator, RefusesWhatItDoesNotKnow) {
  EXPECT_HAS(problem_of(around("\tatom.global.add.u32 %r2, [%rd3], 1;\n"), 1), "does not understand PTX line");
  EXPECT_HAS(problem_of(around("\tex2.approx.ftz.f32 %r2, %r1;\n"), 1), "does not understand PTX line");
  // What ptxas may fuse, or leaves to the driver: other bits on another GPU.
  EXPECT_HAS(problem_of(around("\tmul.f32 %r2, %r1, %r1;\n"), 1), "does not understand PTX line");
  EXPECT_HAS(problem_of(around("\tadd.f64 %rd5, %rd6, %rd7;\n"), 1), "does not understand PTX line");
  EXPECT_HAS(problem_of(around("\tadd.rn.ftz.f32 %r2, %r1, %r1;\n"), 1), "does not understand PTX line");
  EXPECT_HAS(problem_of(around("\tld.global.nc.b32 %r2, [%rd4];\n"), 1), "does not understand PTX line");
  EXPECT_HAS(problem_of(around("\tbra $nowhere;\n"), 1), "does not understand PTX line");
  // What PTX ISA 7.0 and compute capability 8.0 do not have.
  for (const char *later : {"ld.global.v4.b64 {%rd5, %rd6, %rd7, %rd8}, [%rd3]", "cvt.f32.bf16 %r2, %rs1", "min.relu.s32 %r2, %r1, %r1",
                            "min.xorsign.abs.f32 %r2, %r1, %r1", "cp.async.bulk.commit_group", "ld.acquire.gpu.global.b32 %r2, [%rd4]",
                            "redux.sync.max.f32 %r2, %r1, -1"})
    EXPECT_HAS(problem_of(around("\tmov.b16 %rs1, 0;\n\t" + std::string(later) + ";\n"), 1), ": " + std::string(later));
  // Exchanges that no kernel makes.
  for (const char *exchange : {"redux.sync.add.s32 %r2, %r1, -1", "redux.sync.max.b32 %r2, %r1, -1", "vote.sync.any.pred %p1, %p1, -1"})
    EXPECT_HAS(problem_of(around("\tsetp.eq.u32 %p1, %r1, 0;\n\t" + std::string(exchange) + ";\n"), 1), "does not understand PTX line");
  // Barriers of their own for some threads.
  EXPECT_HAS(problem_of(around("\tbar.sync 1;\n"), 1), "does not understand PTX line");
  EXPECT_HAS(problem_of(around("\tbar.warp.sync 3;\n"), 1), "does not understand PTX line");
  EXPECT_HAS(problem_of(around("\tst.shared::cta.b32 [buffer], %r1;\n"), 1), "does not understand PTX line");
  EXPECT_HAS(problem_of(around("\t;\n"), 1), "no instruction");
  EXPECT_HAS(problem_of(around("\t@%p1;\n"), 1), "no instruction");
  std::string exactly = around("");
  exactly.replace(exactly.find("maxntid"), 7, "reqntid");
  EXPECT_HAS(problem_of(exactly, 1), "exactly so many threads");
  EXPECT_HAS(problem_of("nonsense", 1), "does not understand PTX line 1");
}

} // namespace
