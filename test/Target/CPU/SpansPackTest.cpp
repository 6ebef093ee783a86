// Sentences behind each other, copied to rows and slots of their own: as the layouts' definitions have it, with the bits of a copy of
// each sentence alone, and with nothing else written.
#include "test/Target/CPU/SpanHeads.h"

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

constexpr int64_t kDynamic = mlir::ShapedType::kDynamic;

class SpansLayoutTest : public SpanHeads {
protected:
  std::string pack() const {
    return moduleOf("xf.entry @run(%x: " + type(false) + " {xf.name = \"x\"}) -> (" + type(false) + " {xf.name = \"y\"}) {\n%y = xf.pack " + layout +
                    " %x : " + type(false) + "\nxf.return %y : " + type(false) + "\n}\n");
  }
  /// What the layout is by definition: whole panels of keys are written, and whole words of values.
  Elements expected(const Sentences &s, const std::vector<int32_t> &rows, const Elements &x) const {
    int64_t unit = c.keys ? 16 : c.narrow ? 2 : 1;
    return laidOut(s, rows, x, [=](int64_t length) { return int64_t(llvm::alignTo(length, unit)); }, columns());
  }
};

TEST_P(SpansLayoutTest, SpreadEqualsPackingEachSentenceAlone) {
  KernelHarness harness(spread()), aloneHarness(pack());
  for (Isa isa : machineIsas()) {
    Kernel kernel = harness.compile(harness.find<mlir::xf::SpreadOp>(), isa, {{c.constantStep, 1, 1}});
    Kernel alone = aloneHarness.compile(aloneHarness.find<mlir::xf::PackOp>(), isa, {{c.constantStep, 1}});
    for (Sentences &s : sentenceBatches()) {
      Elements x = tokens(s), packed = nothing();
      std::vector<int32_t> rows = {0, 1, 2, 3, 4, 5};
      std::string what = isaName(isa).str() + ", " + std::to_string(s.count()) + " sentences";
      for (int64_t b = 0; b < s.count(); ++b)
        if (s.lengths[b])
          alone({viewOf(x, s.firsts[b], s.lengths[b]), rowsOf(packed, b, 1, s.lengths[b])});
      ASSERT_EQ(packed.difference(expected(s, rows, x)), -1) << what << " alone";
      for (int threads : {1, 2, 5}) {
        Elements result = nothing();
        kernel({viewOf(x, 0, s.tokens), s.view(), rowsOf(result, 0, s.count(), s.longest)}, threads);
        ASSERT_EQ(result.difference(packed), -1) << what << ", " << threads << " threads";
      }
    }
  }
}

TEST_P(SpansLayoutTest, StoreEqualsStoringEachSentenceAlone) {
  KernelHarness harness(store(true)), aloneHarness(store(false));
  for (Isa isa : machineIsas()) {
    Kernel kernel = harness.compile(harness.find<mlir::xf::StoreOp>(), isa, {{c.constantStep, 1, 1, 1}});
    Kernel alone = aloneHarness.compile(aloneHarness.find<mlir::xf::StoreOp>(), isa, {{c.constantStep, 1, 1}});
    for (Sentences &s : sentenceBatches()) {
      Elements x = tokens(s), packed = nothing();
      std::vector<int32_t> slots = {6, 1, 0, 4, 7, 2};
      std::string what = isaName(isa).str() + ", " + std::to_string(s.count()) + " sentences";
      for (int64_t b = 0; b < s.count(); ++b)
        if (s.lengths[b])
          alone({viewOf(x, s.firsts[b], s.lengths[b]), view(&slots[b], {1}), rowsOf(packed, 0, 8, kCapacity)});
      ASSERT_EQ(packed.difference(expected(s, slots, x)), -1) << what << " alone";
      for (int threads : {1, 2, 5}) {
        Elements result = nothing();
        kernel({viewOf(x, 0, s.tokens), view(slots, {s.count()}), s.view(), rowsOf(result, 0, 8, kCapacity)}, threads);
        ASSERT_EQ(result.difference(packed), -1) << what << ", " << threads << " threads";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SpansLayoutTest,
                         testing::Values(SpanCase{true, false, 16, 1, 1}, SpanCase{true, false, 5, 1, 1}, SpanCase{true, false, 24, 2, 2},
                                         SpanCase{false, false, 32, 1, 1}, SpanCase{false, false, 5, 1, 1}, SpanCase{false, false, 20, 3, kDynamic},
                                         SpanCase{true, true, 64, 1, 1}, SpanCase{true, true, 6, 1, 1}, SpanCase{true, true, 40, 3, kDynamic},
                                         SpanCase{false, true, 32, 1, 1}, SpanCase{false, true, 5, 2, 2}, SpanCase{false, true, 20, 3, kDynamic}),
                         nameOfCase);

} // namespace
