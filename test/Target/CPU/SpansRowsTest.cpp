// Sentences behind each other, copied to rows of their own: plain ones, with zeros behind each.
#include "test/Target/CPU/SpanData.h"

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

constexpr int64_t kDynamic = mlir::ShapedType::kDynamic;

/// Rows [B, S, D] of `width` columns, which are `from` apart in x and `to` apart in the result.
template <typename T> void checkRows(const std::string &element, int64_t width, int64_t from, int64_t constantFrom, int64_t to, int64_t constantTo) {
  std::string w = std::to_string(width), all = "tensor<1x?x" + w + "x" + element + ", #xf.dims<\"\", \"P\", \"\">>";
  std::string rows = "tensor<?x?x" + w + "x" + element + ", #xf.dims<\"B\", \"S\", \"\">>";
  std::string spans = "tensor<?x2xi32, #xf.dims<\"B\", \"\">>";
  KernelHarness harness("module attributes {xf.bounds = {B = 8 : i64, S = 64 : i64, P = 320 : i64}} {\nxf.entry packed @run(%x: " + all +
                        " {xf.name = \"x\"}, %spans: " + spans + " {xf.name = \"s\"}) -> (" + rows +
                        " {xf.name = \"y\"}) {\n%y = xf.spread plain %x spans %spans : " + all + ", " + spans + " -> " + rows +
                        "\nxf.return %y : " + rows + "\n}\n}\n");
  for (Isa isa : machineIsas()) {
    Kernel kernel = harness.compile(harness.find<mlir::xf::SpreadOp>(), isa, {{constantFrom, 1, constantTo}});
    for (Sentences &s : sentenceBatches())
      for (int64_t longest : {s.longest, int64_t(37)})
        for (int threads : {1, 2, 5}) {
          int64_t tokenRow = width * from + 2, resultRow = width * to + 1;
          std::vector<T> x(s.tokens * tokenRow), y(s.count() * longest * resultRow + 32, T(9)), expected = y;
          for (size_t i = 0; i < x.size(); ++i)
            x[i] = element == "i1" ? T(i % 3 == 0) : T(i + 1);
          for (int64_t b = 0; b < s.count(); ++b)
            for (int64_t position = 0; position < longest; ++position)
              for (int64_t column = 0; column < width; ++column)
                expected[(b * longest + position) * resultRow + column * to] = position < s.lengths[b]
                                                                                   ? x[(s.firsts[b] + position) * tokenRow + column * from]
                                                                                   : T(0);
          kernel({view(x, {1, s.tokens, width}, {int64_t(1) << 40, tokenRow, from}), s.view(),
                  view(y, {s.count(), longest, width}, {longest * resultRow, resultRow, to})},
                 threads);
          ASSERT_EQ(y, expected) << element << " " << isaName(isa).str() << ", " << s.count() << " sentences in rows of " << longest;
        }
  }
}

TEST(SpansRowsTest, ZerosStandBehindEachSentence) {
  for (int64_t width : {1, 16, 37}) {
    checkRows<float>("f32", width, 1, 1, 1, 1);
    checkRows<float>("f32", width, 2, 2, 3, kDynamic);
    checkRows<int32_t>("i32", width, 3, kDynamic, 2, 2);
    checkRows<uint16_t>("bf16", width, 1, 1, 1, 1);
    checkRows<uint8_t>("i1", width, 1, 1, 1, 1);
  }
}

} // namespace
