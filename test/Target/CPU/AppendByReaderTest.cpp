// Attention that appends a step's key and value itself leaves what the append's own kernels leave, and gives the same bits.
#include "test/Target/CPU/FactorData.h"

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

constexpr int64_t kCapacity = 48; // positions
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Case {
  int64_t heads, width, valueWidth;
  bool narrow;
};

std::string text(const Case &c, bool byReader) {
  auto tensor = [&](const char *positions, int64_t width, bool narrow) {
    return "tensor<?x" + std::to_string(c.heads) + "x?x" + std::to_string(width) + (narrow ? "xbf16" : "xf32") + ", #xf.dims<\"B\", \"\", \"" +
           positions + "\", \"\">>";
  };
  std::string q = tensor("N", c.width, c.narrow), y = tensor("N", c.valueWidth, c.narrow), o = tensor("N", c.valueWidth, false);
  std::string k = tensor("T", c.width, c.narrow), v = tensor("T", c.valueWidth, c.narrow), past = "tensor<?xi32, #xf.dims<\"B\">>";
  std::string how = std::string(" axis 2 past %p") + (byReader ? " by_reader : " : " : ");
  return "module attributes {xf.bounds = {B = 8 : i64, N = 8 : i64, T = 48 : i64}} {\n"
         "xf.state @ks : " +
         k + " layers 1 layout keys\nxf.state @vs : " + v +
         " layers 1 layout values\n"
         "xf.entry step @run(%q: " +
         q + " {xf.name = \"q\"}, %x: " + q + " {xf.name = \"x\"}, %y: " + y + " {xf.name = \"y\"}, %p: " + past + " {xf.name = \"xf.past\"}) -> (" +
         o +
         " {xf.name = \"o\"}) {\n%layer = arith.constant 0 : index\n"
         "%k = xf.append %x to @ks[%layer]" +
         how + q + ", " + past + " -> " + k +
         "\n"
         "%v = xf.append %y to @vs[%layer]" +
         how + y + ", " + past + " -> " + v +
         "\n"
         "%o = xf.attend %q, %k, %v scale 0.3 fill 0xFFF0000000000000 mask {\n^bb0(%b: index, %h: index, %i: index, %j: index):\n"
         "%p0 = xf.at %p[%b] : " +
         past +
         "\n%p1 = arith.index_cast %p0 : i32 to index\n%last = arith.addi %p1, %i : index\n"
         "%ok = arith.cmpi sle, %j, %last : index\nxf.yield %ok : i1\n} : " +
         q + ", " + k + ", " + v + " -> (" + o +
         ")\n"
         "xf.return %o : " +
         o + "\n}\n}\n";
}

/// Tensors as a projection leaves them, [B, N, H, width], and the states of rows with a past; in floats or in bf16.
class Step {
public:
  Step(const Case &c, int64_t positions) : c(c), positions(positions), past{0, 15, 6, 16, 31} {
    rows = past.size();
    q = randomElements(rows * positions * c.heads * c.width, 1), x = randomElements(q.size() / size(), 2);
    y = randomElements(rows * positions * c.heads * c.valueWidth, 3);
    keys = randomElements(rows * keyRow(), 4), values = randomElements(rows * valueRow(), 5);
    context.assign(rows * positions * c.heads * c.valueWidth, -77.0f);
    forgetFuture();
  }

  std::vector<xf_abi_view> append(bool ofKeys) {
    return ofKeys ? std::vector{projected(x, c.width), pastView(), keyView()} : std::vector{projected(y, c.valueWidth), pastView(), valueView()};
  }
  std::vector<xf_abi_view> attend(bool byReader) {
    std::vector<xf_abi_view> views = {projected(q, c.width), keyView()};
    if (byReader)
      views.insert(views.end(), {projected(x, c.width), pastView()});
    views.push_back(valueView());
    if (byReader)
      views.insert(views.end(), {projected(y, c.valueWidth), pastView()});
    views.push_back(pastView());
    int64_t row = c.heads * c.valueWidth;
    views.push_back(view(context, {rows, c.heads, positions, c.valueWidth}, {positions * row, c.valueWidth, row, 1}));
    return views;
  }
  /// What was appended is no longer there.
  void forgetNew() {
    for (Bytes *bytes : {&x, &y})
      for (size_t i = 0; i < bytes->size() / size(); ++i)
        set(*bytes, i, kNaN);
  }
  bool operator==(const Step &other) const {
    return keys == other.keys && values == other.values && std::memcmp(context.data(), other.context.data(), 4 * context.size()) == 0;
  }

private:
  using Bytes = std::vector<uint8_t>;
  int64_t size() const { return c.narrow ? 2 : 4; }
  int64_t panels() const { return (c.valueWidth + 15) / 16; }
  int64_t keyRow() const { return c.heads * kCapacity * c.width; }
  int64_t valueRow() const { return c.heads * kCapacity * panels() * 16; }

  Bytes randomElements(int64_t count, uint32_t seed) const {
    Bytes bytes(count * size());
    for (auto [i, value] : llvm::enumerate(randomValues(count, seed)))
      set(bytes, i, value);
    return bytes;
  }
  void set(Bytes &bytes, int64_t i, float value) const {
    uint16_t narrow = toBF16(value);
    std::memcpy(&bytes[i * size()], c.narrow ? static_cast<void *>(&narrow) : &value, size());
  }
  /// What lies behind a row's past is NaN.
  void forgetFuture() {
    int64_t g = c.narrow ? 2 : 1, lines = panels() * 16;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t head = 0; head < c.heads; ++head)
        for (int64_t j = past[row]; j < kCapacity; ++j) {
          for (int64_t column = 0; column < c.width; ++column)
            set(keys, row * keyRow() + head * kCapacity * c.width + (j / 16 * (c.width / g) + column / g) * 16 * g + j % 16 * g + column % g, kNaN);
          for (int64_t column = 0; column < lines; ++column)
            set(values, row * valueRow() + head * kCapacity * lines + (j / g * lines + column) * g + j % g, kNaN);
        }
  }
  xf_abi_view projected(Bytes &data, int64_t width) {
    return view(data.data(), {rows, c.heads, positions, width}, {positions * c.heads * width, width, c.heads * width, 1});
  }
  xf_abi_view pastView() { return view(past.data(), {rows}); }
  int64_t longest() const { return *llvm::max_element(past) + positions; }
  xf_abi_view keyView() { return view(keys.data(), {rows, c.heads, longest(), c.width}, {keyRow(), kCapacity * c.width, c.width, 1}); }
  xf_abi_view valueView() {
    return view(values.data(), {rows, c.heads, longest(), c.valueWidth}, {valueRow(), kCapacity * panels() * 16, panels() * 16, 1});
  }

  Case c;
  int64_t positions, rows;
  std::vector<int32_t> past;
  Bytes q, x, y, keys, values;
  std::vector<float> context;
};

class AppendByReaderTest : public testing::TestWithParam<Case> {};

TEST_P(AppendByReaderTest, SameAsOnItsOwn) {
  Case c = GetParam();
  KernelHarness separate(text(c, false)), together(text(c, true));
  std::vector<mlir::xf::AppendOp> appends;
  separate.root->walk([&](mlir::xf::AppendOp op) { appends.push_back(op); });
  auto attend = separate.find<mlir::xf::AttendOp>(), appending = together.find<mlir::xf::AttendOp>();
  for (Isa isa : runnableIsas(attend)) {
    KernelAccess dense{llvm::SmallVector<int64_t>(12, 1)};
    Isa general = std::min(isa, machineIsas().back());
    Kernel appendKeys = separate.compile(appends[0], general, dense), appendValues = separate.compile(appends[1], general, dense);
    Kernel plain = separate.compile(attend, isa, dense), kernel = together.compile(appending, isa, dense);
    for (int64_t positions : {1, 3}) {
      Step expected(c, positions);
      appendKeys(expected.append(true)), appendValues(expected.append(false));
      Step appended = expected;
      plain(expected.attend(false));
      for (int threads : {1, 2, 5}) {
        // Several positions are appended before; nothing must be appended twice then.
        Step step = positions == 1 ? Step(c, positions) : appended;
        if (positions > 1)
          step.forgetNew();
        kernel(step.attend(true), threads);
        EXPECT_TRUE(step == expected) << isaName(isa).str() << " positions " << positions << " threads " << threads;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Attentions, AppendByReaderTest,
                         testing::Values(Case{8, 64, 64, false}, Case{3, 20, 8, false}, Case{8, 64, 64, true}, Case{1, 8, 17, true}), [](auto &info) {
                           const Case &c = info.param;
                           return std::to_string(c.heads) + "x" + std::to_string(c.width) + "x" + std::to_string(c.valueWidth) +
                                  (c.narrow ? "_bf16" : "_f32");
                         });

} // namespace
