// The emulator on asynchronous copies, matrices that a warp holds, and numbers of 16 bits.
#include "test/runtime/emulated_ptx.h"

#include <cmath>
#include <cstring>

using namespace xf::rt;

namespace {

// Each thread's 16 bytes of `in` go to its 16 bytes of shared memory; %rd5 and %rd6 are their addresses.
const std::string kAddresses = "\tmov.b64 %rd7, buffer;\n\tmad.wide.u32 %rd6, %r1, 16, %rd7;\n\tmad.wide.u32 %rd5, %r1, 16, %rd1;\n";
const std::string kCopy = "\tcp.async.cg.shared.global [%rd6], [%rd5], 16;\n";
const std::string kClose = "\tcp.async.commit_group;\n", kBarrier = "\tbar.sync 0;\n";
std::string await(int open) { return "\tcp.async.wait_group " + std::to_string(open) + ";\n"; }
// Each thread stores the first word of its neighbour's place.
const std::string kReadNeighbour = "\txor.b32 %r3, %r1, 1;\n\tmad.wide.u32 %rd8, %r3, 16, %rd7;\n\tld.shared.b32 %r4, [%rd8];\n"
                                   "\tst.global.b32 [%rd3], %r4;\n";
const std::string kReadOwn = "\tld.shared.b32 %r4, [%rd6];\n\tst.global.b32 [%rd3], %r4;\n";

TEST(EmulatorCopies, ArriveBehindAWaitAndABarrier) {
  auto out = run(around(kAddresses + kCopy + kClose + await(0) + kBarrier + kReadNeighbour), ramp(128), 32);
  for (size_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out[i], static_cast<float>(4 * (i ^ 1) + 1));
  EXPECT_EQ(problem_of(around(kAddresses + kCopy + "\tcp.async.wait_all;\n" + kReadOwn), 16), "");
}

TEST(EmulatorCopies, AreNotThereBeforeTheWait) {
  const char *wanted = "reads shared memory at 0, where a copy of thread 0 arrives that has not been waited for";
  EXPECT_HAS(problem_of(around(kAddresses + kCopy + kReadOwn), 16), wanted);
  EXPECT_HAS(problem_of(around(kAddresses + kCopy + kClose + kReadOwn), 16), wanted);
  EXPECT_HAS(problem_of(around(kAddresses + kCopy + kClose + kBarrier + kReadNeighbour), 16), "has not been waited for");
  // A wait for groups does not see what is in none.
  EXPECT_HAS(problem_of(around(kAddresses + kCopy + await(0) + kReadOwn), 16), wanted);
  // The newest group may be under way; the one before is not.
  EXPECT_HAS(problem_of(around(kAddresses + kCopy + kClose + await(1) + kReadOwn), 16), wanted);
  EXPECT_EQ(problem_of(around(kAddresses + kCopy + kClose + kClose + await(1) + kReadOwn), 16), "");
  EXPECT_HAS(problem_of(around(kAddresses + kCopy + "\tst.shared.b32 [%rd6], %r1;\n"), 16), "writes shared memory at 0, where a copy");
  EXPECT_HAS(problem_of(around(kAddresses + kCopy + kCopy), 16), "writes shared memory at 0, where a copy");
}

TEST(EmulatorCopies, NeedABarrierForOtherThreads) {
  EXPECT_HAS(problem_of(around(kAddresses + kCopy + kClose + await(0) + kReadNeighbour), 16), "has written with no barrier between");
  // A barrier before the wait is none behind it.
  EXPECT_HAS(problem_of(around(kAddresses + kCopy + kClose + kBarrier + await(0) + kReadNeighbour), 16), "has written with no barrier between");
  // Nor may a copy start to where others have just read.
  std::string reads = kAddresses + kCopy + kClose + await(0) + kBarrier + kReadNeighbour;
  EXPECT_HAS(problem_of(around(reads + kCopy), 16), "has read with no barrier between");
  EXPECT_EQ(problem_of(around(reads + kBarrier + kCopy), 16), "");
}

TEST(EmulatorCopies, FillWithZeros) {
  std::string part = "\tcp.async.cg.shared.global [%rd6], [%rd5], 16, %r5;\n";
  std::string words = "\tld.shared.v4.b32 {%r6, %r7, %r8, %r9}, [%rd6];\n\tst.global.v4.b32 [%rd2], {%r6, %r7, %r8, %r9};\n";
  auto out = run(around(kAddresses + "\tmov.b32 %r5, 8;\n" + part + kClose + await(0) + words), {1, 2}, 1, 4);
  EXPECT_EQ(out, (std::vector<float>{1, 2, 0, 0}));
  EXPECT_HAS(problem_of(around(kAddresses + "\tmov.b32 %r5, 17;\n" + part), 1), "copies more bytes than it has room for");
}

TEST(EmulatorCopies, CheckTheirPlaces) {
  EXPECT_HAS(problem_of(around(kAddresses + kCopy), 32, 64), "copies outside of memory");
  EXPECT_HAS(problem_of(around(kAddresses + "\tcp.async.cg.shared.global [%rd6], [%rd5+4], 16;\n"), 1), "no multiple of the copy's size");
  EXPECT_HAS(problem_of(around(kAddresses + "\tcp.async.cg.shared.global [%rd6+8], [%rd5], 16;\n"), 1), "no multiple of it");
  EXPECT_HAS(problem_of(around(kAddresses + "\tcp.async.cg.shared.global [%rd6+512], [%rd5], 16;\n"), 1), "outside of its 512 bytes");
  EXPECT_HAS(problem_of(around(kAddresses + "\tcp.async.cg.shared.global [%rd6], [%rd5], 8;\n"), 1), "does not understand PTX line");
}

// 8 rows of 16 bytes, four matrices one behind the other; lane l gives row l.
const std::string kLoadMatrices = "\tldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%rd6];\n";

TEST(EmulatorMatrices, AreLoadedByRows) {
  std::string fill = kAddresses + kCopy + kClose + await(0) + kBarrier;
  for (int matrix = 0; matrix < 4; ++matrix) {
    auto out = run(around(fill + kLoadMatrices + "\tst.global.b32 [%rd3], %r1" + std::to_string(matrix) + ";\n"), ramp(128), 32);
    for (size_t lane = 0; lane < 32; ++lane)
      EXPECT_EQ(out[lane], static_cast<float>(32 * matrix + lane + 1));
  }
  std::string load = kLoadMatrices;
  EXPECT_HAS(problem_of(around(kAddresses + kCopy + kClose + await(0) + kLoadMatrices), 32, 128), "has written with no barrier between");
  EXPECT_HAS(problem_of(around(kAddresses + kCopy + kClose + kBarrier + kLoadMatrices), 32, 128), "has not been waited for");
  EXPECT_HAS(problem_of(around(kAddresses + kLoadMatrices), 32, 128), "nobody has written");
  load.replace(load.find("[%rd6]"), 6, "[%rd6+4]");
  EXPECT_HAS(problem_of(around(fill + load), 32, 128), "at an address that is no multiple of 16");
  EXPECT_HAS(problem_of(around(fill + "\tsetp.eq.u32 %p1, %r1, 7;\n\t@%p1 bra $L1;\n" + kLoadMatrices + "$L1:\n"), 32, 128), "thread 7");
  EXPECT_HAS(problem_of(around(fill + "\tsetp.eq.u32 %p1, %r1, 7;\n\t@%p1 bra $L1;\n" + kLoadMatrices + "$L1:\n"), 32, 128),
             "does not take part in a load of matrices");
}

// Lane l = 4 g + t: A[i, k] = i + 1 where k = i, B[k, j] = k + 16 j, C = 1000, as the registers want them: so the result is
// (i + 1) (i + 16 j) + 1000.
TEST(EmulatorMatrices, AreMultiplied) {
  for (std::string type : {"bf16", "f16"}) {
    auto bits = [&](float value) -> uint32_t {
      uint32_t single;
      std::memcpy(&single, &value, 4);
      if (type == "bf16")
        return single >> 16;
      return value == 0 ? 0 : ((single >> 13) - (112 << 10)) & 0x7fff;
    };
    auto a = [](int row, int k) { return row == k ? static_cast<float>(row + 1) : 0.0f; };
    auto x = [](int k, int column) { return static_cast<float>(k + 16 * column); };
    std::vector<float> in;
    auto put = [&](float low, float high) {
      uint32_t word = bits(low) | bits(high) << 16;
      in.push_back(0);
      std::memcpy(&in.back(), &word, 4);
    };
    for (int lane = 0; lane < 32; ++lane) {
      int g = lane / 4, k = lane % 4 * 2;
      put(a(g, k), a(g, k + 1)), put(a(g + 8, k), a(g + 8, k + 1));
      put(a(g, k + 8), a(g, k + 9)), put(a(g + 8, k + 8), a(g + 8, k + 9));
      put(x(k, g), x(k + 1, g)), put(x(k + 8, g), x(k + 9, g));
      put(0, 0), put(0, 0); // 8 words a lane
    }
    std::string load = "\tmad.wide.u32 %rd5, %r1, 32, %rd1;\n\tld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd5];\n"
                       "\tld.global.v2.b32 {%r14, %r15}, [%rd5+16];\n\tmov.b32 %r16, 0f447A0000;\n";
    std::string product = "\tmma.sync.aligned.m16n8k16.row.col.f32." + type + "." + type +
                          ".f32\n\t\t{%r20, %r21, %r22, %r23},\n\t\t{%r10, %r11, %r12, %r13},\n\t\t{%r14, %r15},\n\t\t{%r16, %r16, %r16, %r16};\n";
    std::string store = "\tmad.wide.u32 %rd6, %r1, 16, %rd2;\n\tst.global.v4.b32 [%rd6], {%r20, %r21, %r22, %r23};\n";
    auto out = run(around(load + product + store), in, 32, 128);
    for (int lane = 0; lane < 32; ++lane)
      for (int n = 0; n < 4; ++n) {
        int row = lane / 4 + n / 2 * 8, column = lane % 4 * 2 + n % 2;
        EXPECT_EQ(out[4 * lane + n], a(row, row) * x(row, column) + 1000) << type << " row " << row << " column " << column;
      }
    std::string skipped = "\tsetp.eq.u32 %p1, %r1, 9;\n\t@%p1 bra $L1;\n" + product + "$L1:\n";
    EXPECT_HAS(problem_of(around(load + skipped), 32, 256), "thread 9");
    EXPECT_HAS(problem_of(around(load + skipped), 32, 256), "does not take part in a product");
    // Lanes that part and meet again need not do so in time.
    std::string parted = load + "\tsetp.eq.u32 %p1, %r1, 9;\n\t@%p1 bra $L1;\n\tadd.s32 %r2, %r1, 1;\n$L1:\n";
    EXPECT_HAS(problem_of(around(parted + product), 32, 256), "behind a branch that has parted it");
    for (const char *meeting : {"bar.sync 0", "bar.warp.sync -1", "shfl.sync.bfly.b32 %r5, %r1, 1, 31, -1"})
      EXPECT_EQ(problem_of(around(parted + "\t" + meeting + ";\n" + product), 32, 256), "") << meeting;
    EXPECT_EQ(problem_of(around(load + "\tsetp.lt.u32 %p1, %r1, 32;\n\t@%p1 bra $L1;\n\tret;\n$L1:\n" + product), 32, 256), "");
    EXPECT_HAS(problem_of(around(load + product), 16, 256), "does not take part in a product");
  }
  EXPECT_HAS(problem_of(around("\tmma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%r20, %r21, %r22, %r23}, {%r10, %r11}, {%r14}, "
                               "{%r16, %r16, %r16, %r16};\n"),
                        32),
             "does not understand PTX line");
}

TEST(EmulatorMatrices, NumbersThatAreNone) {
  auto out = run(
      around("\tmov.b32 %r2, 0x7f807f80;\n\tmov.b32 %r3, 0;\n"
             "\tmma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r4, %r5, %r6, %r7}, {%r2, %r2, %r2, %r2}, {%r3, %r3}, {%r3, %r3, %r3, %r3};\n"
             "\tst.global.b32 [%rd3], %r4;\n"),
      {0}, 32);
  uint32_t bits;
  std::memcpy(&bits, &out[5], 4);
  EXPECT_EQ(bits, 0x7fffffffu);
}

TEST(EmulatorHalves, AreConverted) {
  // f32 in, the 16 bits as an integer, and back.
  struct {
    const char *type;
    float value, back;
    uint32_t bits;
  } const cases[] = {{"bf16", 1.0f, 1.0f, 0x3f80},
                     {"bf16", 1.00390625f, 1.0f, 0x3f80}, // a tie: to even
                     {"bf16", 1.01171875f, 1.015625f, 0x3f82},
                     {"bf16", -3.0e38f, -3.0039e38f, 0xff62},
                     {"bf16", 3.4e38f, INFINITY, 0x7f80},
                     {"bf16", 1e-40f, 0x1p-133f, 0x0001},
                     {"f16", 1.0f, 1.0f, 0x3c00},
                     {"f16", 1.00048828125f, 1.0f, 0x3c00},
                     {"f16", 1.00146484375f, 1.001953125f, 0x3c02},
                     {"f16", -65504.0f, -65504.0f, 0xfbff},
                     {"f16", 65519.0f, 65504.0f, 0x7bff},
                     {"f16", 65520.0f, INFINITY, 0x7c00},
                     {"f16", 0x1p-14f, 0x1p-14f, 0x0400},
                     {"f16", 0x1.ff8p-15f, 0x1.ff8p-15f, 0x03ff},
                     {"f16", 0x1.fffp-15f, 0x1p-14f, 0x0400},
                     {"f16", 0x1p-24f, 0x1p-24f, 0x0001},
                     {"f16", 0x1p-25f, 0.0f, 0x0000},
                     {"f16", -0.0f, -0.0f, 0x8000}};
  for (const auto &c : cases) {
    std::string type = c.type;
    std::string code = "\tld.global.b32 %r2, [%rd4];\n\tcvt.rn." + type +
                       ".f32 %rs1, %r2;\n\tcvt.u32.u16 %r3, %rs1;\n"
                       "\tst.global.b32 [%rd2], %r3;\n\t" +
                       (type == "bf16" ? "shl.b32 %r4, %r3, 16" : "cvt.f32.f16 %r4, %rs1") + ";\n\tst.global.b32 [%rd2+4], %r4;\n";
    auto out = run(around(code), {c.value}, 1, 2);
    uint32_t bits;
    std::memcpy(&bits, &out[0], 4);
    EXPECT_EQ(bits, c.bits) << type << " of " << c.value;
    if (std::isinf(c.back))
      EXPECT_EQ(out[1], c.back);
    else
      EXPECT_NEAR(out[1], c.back, std::fabs(c.back) * 1e-2) << type << " of " << c.value;
  }
  // Two at once: the first operand is the upper half.
  for (auto [type, expected] : {std::pair{"bf16x2", 0x40003f80u}, {"f16x2", 0x40003c00u}}) {
    std::string code = "\tld.global.b32 %r2, [%rd4];\n\tmov.b32 %r3, 0f40000000;\n\tcvt.rn." + std::string(type) +
                       ".f32 %r4, %r3, %r2;\n\tst.global.b32 [%rd2], %r4;\n";
    auto out = run(around(code), {1.0f}, 1, 1);
    uint32_t bits;
    std::memcpy(&bits, &out[0], 4);
    EXPECT_EQ(bits, expected) << type;
  }
  EXPECT_HAS(problem_of(around("\tcvt.rz.bf16x2.f32 %r4, %r3, %r2;\n"), 1), "does not understand PTX line");
  EXPECT_HAS(problem_of(around("\tadd.rn.f16x2 %r4, %r3, %r2;\n"), 1), "does not understand PTX line");
  EXPECT_HAS(problem_of(around("\tcvt.rz.bf16.f32 %rs1, %r2;\n"), 1), "does not understand PTX line");
  EXPECT_HAS(problem_of(around("\tcvt.rn.f16.f64 %rs1, %rd2;\n"), 1), "does not understand PTX line");
  EXPECT_HAS(problem_of(around("\tadd.rn.f16 %rs1, %rs2, %rs3;\n"), 1), "does not understand PTX line");
}

TEST(EmulatorHalves, AreLoadedAndStored) {
  // Thread t moves 16 bits, and nothing beside them.
  std::string code = "\tmad.wide.u32 %rd5, %r1, 2, %rd1;\n\tmad.wide.u32 %rd6, %r1, 2, %rd2;\n\tld.global.b16 %rs1, [%rd5];\n"
                     "\tst.global.b16 [%rd6], %rs1;\n";
  EXPECT_EQ(run(around(code), ramp(4), 8, 4), ramp(4));
  EXPECT_HAS(problem_of(around("\tld.global.b16 %rs1, [%rd1+1];\n"), 1), "no multiple of it");
  EXPECT_HAS(problem_of(around("\tld.global.b16 %rs1, [%rd1+256];\n"), 1), "reads outside of memory");
}

} // namespace
