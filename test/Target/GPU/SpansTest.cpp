// Sentences behind each other, copied to rows and slots of their own in the layouts of attention, as these are defined: spread with zeros
// up to the longest sentence, stored with nothing written beside the sentences.
#include "test/Target/CPU/SpanHeads.h"

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

constexpr int64_t kDynamic = mlir::ShapedType::kDynamic;

class SpansTest : public SpanHeads {
protected:
  /// Sentence b in row rows[b], with zeros up to position `zerosTo`.
  Elements expected(const Sentences &s, const std::vector<int32_t> &rows, const Elements &x, int64_t zerosTo) const {
    return laidOut(s, rows, x, [=](int64_t length) { return std::max(length, zerosTo); }, c.width);
  }
};

TEST_P(SpansTest, AreSpreadAndStored) {
  KernelHarness spreading(spread()), storing(store(true));
  Kernel spreads = spreading.compile(spreading.find<mlir::xf::SpreadOp>(), Isa::avx2, {{c.constantStep, 1, 1}});
  Kernel stores = storing.compile(storing.find<mlir::xf::StoreOp>(), Isa::avx2, {{c.constantStep, 1, 1, 1}});
  std::vector<Sentences> batches = sentenceBatches();
  batches.emplace_back(std::vector<int64_t>(300, 1)); // more than a block has threads
  for (Sentences &s : batches) {
    std::string what = std::to_string(s.count()) + " sentences";
    Elements x = tokens(s);
    if (s.count() <= 8) {
      Elements result = nothing();
      spreads({viewOf(x, 0, s.tokens), s.view(), rowsOf(result, 0, s.count(), s.longest)});
      EXPECT_EQ(result.difference(expected(s, {0, 1, 2, 3, 4, 5}, x, s.longest)), -1) << "spread, " << what;
    }
    // Of many sentences all but the last few are stored nowhere: they are empty.
    for (size_t b = 0; b + 8 < s.lengths.size(); ++b)
      s.spans[2 * s.step * b + s.step] = 0, s.lengths[b] = 0;
    std::vector<int32_t> slots(s.count());
    for (size_t b = 0; b < slots.size(); ++b)
      slots[b] = int32_t((b * 3 + 6) % 8);
    Elements result = nothing();
    stores({viewOf(x, 0, s.tokens), view(slots, {s.count()}), s.view(), rowsOf(result, 0, 8, kCapacity)});
    EXPECT_EQ(result.difference(expected(s, slots, x, 0)), -1) << "stored, " << what;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SpansTest,
                         testing::Values(SpanCase{true, false, 16, 1, 1}, SpanCase{true, false, 5, 1, 1}, SpanCase{true, false, 24, 2, kDynamic},
                                         SpanCase{false, false, 32, 1, 1}, SpanCase{false, false, 20, 3, kDynamic}, SpanCase{true, true, 64, 1, 1},
                                         SpanCase{true, true, 6, 2, 2}, SpanCase{false, true, 32, 1, 1}, SpanCase{false, true, 5, 2, kDynamic}),
                         nameOfCase);

} // namespace
