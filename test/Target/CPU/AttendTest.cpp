#include "test/Target/CPU/AttendData.h"

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

class AttendTest : public testing::TestWithParam<Case> {};

TEST_P(AttendTest, IsRightAndInvariant) {
  Case c = GetParam();
  KernelHarness harness(text(c));
  auto op = harness.find<mlir::xf::AttendOp>();
  std::map<Isa, std::vector<Problem::Output>> byIsa;
  for (Isa isa : runnableIsas(op)) {
    Kernel kernel = harness.compile(op, isa, {llvm::SmallVector<int64_t>(12, 1)});
    for (auto [queries, keys] : {std::pair{1, 1}, {1, 17}, {2, 40}, {5, 5}, {13, 16}, {16, 16}, {17, 33}, {40, 40}}) {
      Problem problem(c, 3, queries, keys);
      std::string what = isaName(isa).str() + " Q " + std::to_string(queries) + " K " + std::to_string(keys);
      Problem::Output o = problem.run(kernel, 1);
      problem.check(o, what, takesInt16(isa, op));
      if (HasFatalFailure())
        return;
      for (int threads : {2, 3, 7})
        ASSERT_TRUE(problem.run(kernel, threads) == o) << what << " threads " << threads;
      Problem::Output alone = problem.run(kernel, 1, 2, 3);
      ASSERT_TRUE(std::memcmp(alone.context.data(), o.context.data() + 2 * alone.context.size(), 4 * alone.context.size()) == 0)
          << what << ": a sentence depends on its neighbours";
      byIsa[isa].push_back(o);
    }
  }
  for (const auto &[isa, outputs] : byIsa)
    if (isa != Isa::baseline && isa != Isa::avx512_bf16)
      EXPECT_TRUE(outputs == byIsa[Isa::avx2]) << isaName(isa).str() << " and AVX2 differ";
}

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  return std::string(info.param.mask.name) + "_" + info.param.bias.name + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(
    Attentions, AttendTest,
    testing::Values(Case{2, 2, 4, 4, kNone, kNone, -1e9, true, false}, Case{1, 1, 64, 64, kCausal, kNone, -1e9, false, false},
                    Case{2, 1, 8, 17, kTokens, kNone, -1e9, true, false}, Case{4, 2, 16, 16, kBoth, kNone, -kInfinity, false, true},
                    Case{4, 2, 3, 5, kBoth, kNone, -1e9, true, true}, Case{2, 2, 8, 8, kPast, kNone, -kInfinity, true, false},
                    Case{2, 2, 8, 32, kWindow, kNone, -1e9, true, false}, Case{4, 2, 8, 24, kWindow, kNone, -1e9, false, true},
                    Case{8, 8, 16, 16, kRecent, kNone, -kInfinity, false, true}, Case{2, 2, 8, 8, kBounds, kNone, -1e9, true, false},
                    Case{2, 2, 8, 8, kGiven, kNone, -1e9, true, false}, Case{2, 2, 8, 8, kGiven, kNone, -kInfinity, true, false},
                    Case{2, 2, 8, 8, kGiven, kNone, -2.5, true, false}, Case{2, 2, 8, 8, kNone, kAdditive, -1e9, true, false},
                    Case{3, 1, 20, 8, kCausal, kRelative, -1e9, true, true}, Case{4, 4, 8, 8, kTokens, kTables, -1e9, true, false}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(Functions, AttendTest,
                         testing::Values(Case{2, 2, 4, 4, kNone, kNone, -1e9, true, false, false, false, kCap},
                                         Case{2, 1, 8, 17, kTokens, kNone, -1e9, true, true, false, false, kCap},
                                         Case{3, 1, 20, 8, kCausal, kRelative, -1e9, true, true, false, false, kRoots},
                                         Case{2, 2, 8, 8, kGiven, kNone, -2.5, true, false, false, false, kCap},
                                         Case{4, 2, 16, 16, kBoth, kNone, -kInfinity, false, true, true, true, kCap},
                                         Case{8, 8, 34, 48, kNone, kAdditive, -1e9, false, false, true, false, kCap},
                                         Case{3, 1, 20, 8, kCausal, kRelative, -1e9, false, true, true, true, kRoots}),
                         nameOf);

INSTANTIATE_TEST_SUITE_P(
    Narrow, AttendTest,
    testing::Values(Case{2, 2, 4, 4, kNone, kNone, -1e9, false, false, true}, Case{1, 1, 64, 64, kCausal, kNone, -1e9, false, false, true, true},
                    Case{2, 1, 8, 17, kTokens, kNone, -1e9, false, false, true},
                    Case{4, 2, 16, 16, kBoth, kNone, -kInfinity, false, true, true, true},
                    Case{2, 2, 8, 8, kPast, kNone, -kInfinity, false, false, true}, Case{2, 2, 8, 8, kGiven, kNone, -2.5, false, false, true, true},
                    Case{4, 2, 8, 24, kWindow, kNone, -1e9, false, true, true},
                    Case{8, 8, 16, 16, kRecent, kNone, -kInfinity, false, false, true, true},
                    Case{8, 8, 34, 48, kNone, kAdditive, -1e9, false, false, true}, Case{3, 1, 20, 8, kCausal, kRelative, -1e9, false, true, true}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(Words, AttendTest,
                         testing::Values(Case{1, 1, 64, 64, kCausal, kNone, -1e9, false, false, true, true, kIdentity, true},
                                         Case{2, 1, 8, 17, kTokens, kNone, -1e9, false, false, true, false, kIdentity, true},
                                         Case{4, 2, 16, 16, kBoth, kNone, -kInfinity, false, false, true, true, kIdentity, true},
                                         Case{2, 2, 8, 8, kGiven, kNone, -2.5, false, false, true, true, kIdentity, true},
                                         Case{4, 2, 8, 24, kWindow, kNone, -1e9, false, false, true, false, kIdentity, true},
                                         Case{8, 8, 34, 48, kNone, kAdditive, -1e9, false, false, true, false, kIdentity, true},
                                         Case{3, 1, 20, 8, kCausal, kRelative, -1e9, false, false, true, true, kRoots, true}),
                         nameOf);

/// Rows of the same keys and values are taken together, wherever they are, whatever each may see of them.
TEST(AttendTest, RowsShareKeysAndValues) {
  for (Case c : {Case{4, 2, 8, 24, kTokens, kNone, -1e9, true, true}, Case{1, 1, 20, 8, kNone, kNone, -1e9, false, true},
                 Case{2, 2, 8, 8, kGiven, kNone, -2.5, true, true}, Case{4, 2, 16, 16, kBoth, kNone, -kInfinity, false, true, true, true},
                 Case{8, 8, 34, 48, kTokens, kAdditive, -1e9, false, true, true}}) {
    KernelHarness harness(text(c));
    auto op = harness.find<mlir::xf::AttendOp>();
    Problem problem(c, 30, 1, 37);
    // More of one than a tile has rows, and a sentence that is not there.
    for (size_t row = 0; row < 30; ++row)
      problem.slots[row] = row % 2 ? 5 : static_cast<int32_t>(row % 3);
    for (Isa isa : runnableIsas(op)) {
      Kernel kernel = harness.compile(op, isa, {llvm::SmallVector<int64_t>(12, 1)});
      Problem::Output together = problem.run(kernel, 1);
      for (int threads : {2, 5})
        EXPECT_TRUE(problem.run(kernel, threads) == together) << isaName(isa).str() << " threads " << threads;
      for (int64_t row = 0; row < 30; ++row) {
        Problem::Output alone = problem.run(kernel, 1, row, row + 1);
        auto isPart = [&](const std::vector<float> &all, const std::vector<float> &part) {
          return std::memcmp(all.data() + row * part.size(), part.data(), 4 * part.size()) == 0;
        };
        EXPECT_TRUE(isPart(together.context, alone.context) && isPart(together.probabilities, alone.probabilities))
            << isaName(isa).str() << " row " << row;
      }
    }
  }
}

/// Queries and contexts whose elements are apart.
TEST(AttendTest, StridedQueries) {
  Case c{2, 2, 20, 32, kCausal, kNone, -1e9, false, false};
  KernelHarness harness(text(c));
  Problem problem(c, 1, 7, 7);
  std::vector<float> spaced(2 * problem.q.size()), context(7 * 2 * 32 * 3, -77.0f);
  for (size_t i = 0; i < problem.q.size(); ++i)
    spaced[2 * i] = problem.q[i];
  for (Isa isa : machineIsas()) {
    auto op = harness.find<mlir::xf::AttendOp>();
    Problem::Output expected = problem.run(harness.compile(op, isa, {llvm::SmallVector<int64_t>(12, 1)}), 1);
    Kernel strided = harness.compile(op, isa, {{2, 1, 1, mlir::ShapedType::kDynamic}});
    strided({view(spaced, {1, 2, 7, 20}, {0, 40, 80, 2}), view(problem.packedKeys, {1, 2, 7, 20}, {0, kCapacity * 20, 0, 1}),
             view(problem.packedValues, {1, 2, 7, 32}, {0, 2 * kCapacity * 16, 32, 1}), view(context, {1, 2, 7, 32}, {0, 96, 192, 3})});
    for (size_t i = 0; i < expected.context.size(); ++i)
      ASSERT_EQ(context[3 * i], expected.context[i]) << isaName(isa).str() << " element " << i;
    EXPECT_EQ(context[1], -77.0f);
  }
}

/// Keys behind a sentence's end change nothing, whether they are masked, bounded away or not there.
TEST(AttendTest, PaddingChangesNothing) {
  Case c{2, 2, 8, 24, kTokens, kNone, -1e9, false, false};
  KernelHarness harness(text(c));
  for (Isa isa : machineIsas()) {
    Kernel kernel = harness.compile(harness.find<mlir::xf::AttendOp>(), isa, {llvm::SmallVector<int64_t>(12, 1)});
    Problem padded(c, 1, 9, 37), cut(c, 1, 9, 21);
    for (int64_t j = 0; j < 37; ++j)
      padded.t.tokens[j] = j < 21;
    // Same values: the longer problem's first keys and values.
    for (int64_t head = 0; head < 2; ++head) {
      std::memcpy(cut.packedKeys.data() + head * kCapacity * 8, padded.packedKeys.data() + head * kCapacity * 8, 4 * kCapacity * 8);
      std::memcpy(cut.packedValues.data() + head * kCapacity * 32, padded.packedValues.data() + head * kCapacity * 32, 4 * kCapacity * 32);
    }
    cut.q = padded.q;
    EXPECT_TRUE(padded.run(kernel, 1) == cut.run(kernel, 1) || padded.run(kernel, 1).context == cut.run(kernel, 1).context);
  }
}

/// Nor are they read, if it is a mask that hides them: what stands there may be NaN.
TEST(AttendTest, PaddingIsNotRead) {
  auto confirm = [](const Case &c) {
    KernelHarness harness(text(c));
    auto op = harness.find<mlir::xf::AttendOp>();
    for (Isa isa : runnableIsas(op)) {
      Kernel kernel = harness.compile(op, isa, {llvm::SmallVector<int64_t>(12, 1)});
      for (int64_t queries : {1, 9})
        for (int64_t end : {1, 16, 21, 32, 37}) {
          Problem clean(c, 3, queries, 37);
          for (int64_t j = 0; j < 37; ++j)
            clean.t.tokens[37 + j] = j < end;
          Problem padded = clean;
          for (int64_t head = padded.slots[1] * 2; head < padded.slots[1] * 2 + 2; ++head)
            padded.loseValues(head, end, 37);
          EXPECT_TRUE(padded.run(kernel, 2) == clean.run(kernel, 1)) << isaName(isa).str() << " end " << end << " queries " << queries;
        }
    }
  };
  for (const Region &mask : {kTokens, kBoth}) {
    for (bool narrow : {false, true})
      confirm({4, 2, 8, 24, mask, kNone, -1e9, false, true, narrow});
    confirm({4, 2, 8, 24, mask, kNone, -1e9, false, false, true, false, kIdentity, true});
  }
}

/// Nor is what lies before a window, but for keys of a panel, or a GPU's tile, with some inside it. One query and few, beams that share states,
/// int16.
TEST(AttendTest, KeysBeforeWindowsAreNotRead) {
  for (const Case &c : {Case{4, 2, 8, 24, kRecent, kNone, -1e9, false, true}, Case{4, 2, 8, 24, kRecent, kNone, -kInfinity, false, false, true},
                        Case{4, 2, 8, 24, kRecent, kNone, -1e9, false, false, true, false, kIdentity, true}}) {
    KernelHarness harness(text(c));
    auto op = harness.find<mlir::xf::AttendOp>();
    for (Isa isa : runnableIsas(op)) {
      Kernel kernel = harness.compile(op, isa, {llvm::SmallVector<int64_t>(12, 1)});
      for (int64_t queries : {1, 3}) {
        Problem clean(c, 3, queries, 72);
        clean.t.past.assign(3, 68); // the first query sees the keys from 66 on
        if (c.slots)
          clean.slots.assign(3, 1);
        Problem far = clean;
        for (int64_t head = 0; head < 3 * 2; ++head)
          far.loseValues(head, 0, 64);
        Problem::Output expected = clean.run(kernel, 1);
        EXPECT_TRUE(far.run(kernel, 2) == expected) << isaName(isa).str() << " queries " << queries;
        EXPECT_EQ(expected.context[0], expected.context[0]);
      }
    }
  }
}

} // namespace
