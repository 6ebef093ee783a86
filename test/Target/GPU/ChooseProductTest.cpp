// Choosing by products of any type: the logits are those of the linear kernel, to the bit, for any number of rows, and what nobody
// may choose is not read.
#include "test/Target/CPU/KernelHarness.h"

#include "llvm/ADT/APFloat.h"

#include <algorithm>

using namespace xf::cpu;
using namespace xf::cpu::test;
using mlir::xf::ChooseOp;

namespace {

constexpr int64_t kMaxCandidates = 8;

/// What x and weights are made of: i8 is weights beside f32.
struct Types {
  std::string x, weight;
  int64_t group; // elements of a panel that stand together along k
};
Types typesOf(const std::string &name) {
  if (name == "i8")
    return {"f32", "i8", 4};
  return {name, name, name == "f32" ? 1 : 2};
}

/// Both kernels of y = x Wᵀ + b.
std::string text(int64_t columns, int64_t depth, const Types &types) {
  std::string n = std::to_string(columns), k = std::to_string(depth), maxCandidates = std::to_string(kMaxCandidates);
  std::string names = ", #xf.dims<\"B\", \"\">>", bias = "tensor<" + n + "xf32>", w = "tensor<" + n + "x" + k + "x" + types.weight + ">";
  std::string x = "tensor<?x" + k + "x" + types.x + names, x3 = "tensor<?x?x" + k + "x" + types.x + ", #xf.dims<\"B\", \"N\", \"\">>";
  std::string y = "tensor<?x" + n + "xf32" + names;
  std::string f = "tensor<?x" + std::to_string(ChooseOp::countWords(columns)) + "xi32, #xf.dims<\"C\", \"\">>";
  std::string classes = "tensor<?xi32, #xf.dims<\"B\">>", parts = std::to_string(ChooseOp::countParts(columns, kMaxCandidates));
  std::string region = " {\n^bb0(%acc: f32, %bias: f32):\n%s = arith.addf %acc, %bias : f32\nxf.yield %s : f32\n}\n";
  return "module attributes {xf.bounds = {B = 512 : i64, N = 8 : i64, C = 8 : i64}} {\nxf.entry @run(%x: " + x + " {xf.name = \"x\"}, %z: " + x3 +
         " {xf.name = \"z\"}, %f: " + f + " {xf.name = \"f\"}, %c: " + classes + " {xf.name = \"c\"}, %o: tensor<2xi32> {xf.name = \"o\"}, %w: " + w +
         " {xf.name = \"w\"}, %b: " + bias + " {xf.name = \"b\"}) -> (" + y +
         " {xf.name = \"y\"}) {\n"
         "%y = xf.contract %x, %w extras(%b) maps [[1]] : " +
         x + ", " + w + " extras(" + bias + ") -> " + y + region +
         "%v, %t, %m, %p = xf.choose %z, %w axis 1 forbidden %f by %c options %o extras(%b) maps [[2]] : " + x3 + ", " + w + ", " + f + ", " +
         classes + ", tensor<2xi32> extras(" + bias + ") -> tensor<?x" + maxCandidates + "xf32" + names + ", tensor<?x" + maxCandidates + "xi32" +
         names + ", tensor<?x2xf32" + names + ", tensor<?x" + parts + "xf32" + names + region + "xf.return %y : " + y + "\n}\n}\n";
}

/// Writes a number between -1 and 1 as an element of `type`.
void write(float value, const std::string &type, std::vector<uint8_t> &data, int64_t element) {
  if (type == "i8") {
    data[element] = static_cast<uint8_t>(static_cast<int8_t>(std::nearbyint(value * 127)));
    return;
  }
  llvm::APFloat converted(value);
  bool loses;
  converted.convert(type == "bf16"  ? llvm::APFloat::BFloat()
                    : type == "f16" ? llvm::APFloat::IEEEhalf()
                                    : llvm::APFloat::IEEEsingle(),
                    llvm::APFloat::rmNearestTiesToEven, &loses);
  uint64_t bits = converted.bitcastToAPInt().getZExtValue();
  int64_t bytes = type == "f32" ? 4 : 2;
  std::memcpy(data.data() + element * bytes, &bits, bytes);
}
int64_t bytesOf(const std::string &type) { return type == "i8" ? 1 : type == "f32" ? 4 : 2; }

class ChooseProductTest : public testing::TestWithParam<std::tuple<std::string, int64_t>> {};

TEST_P(ChooseProductTest, LogitsAreThoseOfTheProduct) {
  auto [name, depth] = GetParam();
  Types types = typesOf(name);
  const int64_t columns = 300, panels = (columns + 15) / 16, groups = (depth + types.group - 1) / types.group, maxRows = 70;
  KernelHarness harness(text(columns, depth, types));
  Kernel contract = harness.compile(harness.find<mlir::xf::ContractOp>(), Isa::avx2, {llvm::SmallVector<int64_t>(4, 1)});
  Kernel choose = harness.compile(harness.find<ChooseOp>(), Isa::avx2, {llvm::SmallVector<int64_t>(10, 1)});
  const int64_t panelBytes = groups * types.group * 16 * bytesOf(types.weight);
  std::vector<uint8_t> x(maxRows * depth * bytesOf(types.x)), packed(panels * panelBytes);
  std::vector<float> rowValues = randomValues(maxRows * depth, 1), weight = randomValues(columns * depth, 2), bias = randomValues(columns, 3);
  for (int64_t i = 0; i < maxRows * depth; ++i)
    write(rowValues[i], types.x, x, i);
  for (int64_t n = 0; n < columns; ++n)
    for (int64_t k = 0; k < depth; ++k)
      write(weight[n * depth + k], types.weight, packed, ((n / 16 * groups + k / types.group) * 16 + n % 16) * types.group + k % types.group);
  // Class 1 may choose from a panel and a half, apart from each other.
  std::vector<uint32_t> forbidden(2 * ChooseOp::countWords(columns));
  for (int64_t n = 0; n < 32 * ChooseOp::countWords(columns); ++n)
    if (!(n / 16 == 3 || (n / 16 == 10 && n % 2)))
      forbidden[ChooseOp::countWords(columns) + n / 32] |= 1u << n % 32;

  for (int64_t rows : {1, 8, 9, 16, 17, 70})
    for (int32_t kind : {0, 1}) {
      std::vector<float> y(rows * columns), values(rows * kMaxCandidates), norms(rows * 2),
          parts(rows * ChooseOp::countParts(columns, kMaxCandidates));
      std::vector<int32_t> tokens(rows * kMaxCandidates), classes(rows, kind);
      int32_t options[] = {kMaxCandidates, 1};
      contract({view(x, {rows, depth}), view(packed, {columns, depth}), view(bias, {columns}), view(y, {rows, columns})});
      auto range = [](auto &data) { return Kernel::Range{data.data(), data.data() + data.size()}; };
      std::vector<Kernel::Range> ranges{range(x),      range(forbidden), range(classes), {options, options + 2}, range(bias), range(values),
                                        range(tokens), range(norms),     range(parts)};
      for (int64_t panel = 0; panel < panels; ++panel)
        if (kind == 0 || panel == 3 || panel == 10) // there is no memory where the others would be
          ranges.push_back({packed.data() + panel * panelBytes, packed.data() + (panel + 1) * panelBytes});
      choose({view(x, {rows, 1, depth}), view(packed, {columns, depth}), view(forbidden, {2, ChooseOp::countWords(columns)}), view(classes, {rows}),
              view(options, {2}), view(bias, {columns}), view(values, {rows, kMaxCandidates}), view(tokens, {rows, kMaxCandidates}),
              view(norms, {rows, 2}), view(parts, {rows, ChooseOp::countParts(columns, kMaxCandidates)})},
             1, ranges);
      for (int64_t row = 0; row < rows; ++row) {
        std::vector<int32_t> order;
        for (int32_t n = 0; n < columns; ++n)
          if (!(forbidden[kind * ChooseOp::countWords(columns) + n / 32] >> n % 32 & 1))
            order.push_back(n);
        const float *logits = y.data() + row * columns;
        std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
        for (int64_t i = 0; i < kMaxCandidates; ++i) {
          ASSERT_EQ(tokens[row * kMaxCandidates + i], order[i]) << rows << " rows, row " << row << ", class " << kind;
          ASSERT_EQ(values[row * kMaxCandidates + i], logits[order[i]]) << rows << " rows, row " << row << ", class " << kind;
        }
        ASSERT_EQ(norms[2 * row], logits[order[0]]);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Types, ChooseProductTest, testing::Combine(testing::Values("f32", "bf16", "f16", "i8"), testing::Values(7, 33, 96)),
                         [](const auto &info) { return std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param)); });

} // namespace
