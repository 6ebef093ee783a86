// Attention of sentences behind each other: each must have the bits that it has alone, and nothing else may be written.
#include "test/Target/CPU/SoftmaxReference.h"
#include "test/Target/CPU/SpanData.h"

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kUntouched = -77.0f;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kDynamic = mlir::ShapedType::kDynamic;
constexpr int64_t kCapacity = 48; // positions that packed tensors have room for

/// Masks by tokens t [B, S] and position, biases by additive values a [B, S, S].
struct Regions {
  const char *name, *mask;
  bool tokens, causal, bias;
};
const char *const kBefore = "%before = arith.cmpi sle, %j, %i : index\n";
const char *const kUsed = "%zero = arith.constant 0 : i32\n%t0 = xf.at %t[%b, %j] : tensor<?x?xi32, #xf.dims<\"B\", \"S\">>\n"
                          "%used = arith.cmpi ne, %t0, %zero : i32\n";
const Regions kNone{"none", "", false, false, false}, kCausal{"causal", "xf.yield %before : i1\n", false, true, false};
const Regions kTokens{"tokens", "xf.yield %used : i1\n", true, false, false};
const Regions kBoth{"both", "%ok = arith.andi %used, %before : i1\nxf.yield %ok : i1\n", true, true, false};
const Regions kAll{"all", kBoth.mask, true, true, true};

struct Case {
  int64_t heads, groups, width, valueWidth;
  Regions regions;
  double fill;
  bool slots = false, narrow = false, narrowContext = false;
  // How far elements of queries and contexts are apart, and what is known of it when compiling.
  int64_t queryStep = 1, constantQueryStep = 1, contextStep = 1, constantContextStep = 1;
  bool int16 = false; // whether it may be multiplied so
};
void PrintTo(const Case &c, std::ostream *out) {
  *out << c.heads << " heads, " << c.groups << " groups, " << c.width << "/" << c.valueWidth << " wide, fill " << c.fill;
}

/// One attention over @ks and @vs, with spans or of whole sentences.
std::string text(const Case &c, bool spans) {
  auto tensor = [](const std::string &batch, int64_t heads, const std::string &length, int64_t width, bool narrow) {
    return "tensor<" + std::string(batch.empty() ? "1" : "?") + "x" + std::to_string(heads) + "x?x" + std::to_string(width) +
           (narrow ? "xbf16" : "xf32") + ", #xf.dims<\"" + batch + "\", \"\", \"" + length + "\", \"\">>";
  };
  std::string batch = spans ? "" : "B", length = spans ? "P" : "S";
  std::string q = tensor(batch, c.heads, length, c.width, c.narrow), o = tensor(batch, c.heads, length, c.valueWidth, c.narrowContext);
  std::string k = tensor("B", c.groups, "S", c.width, c.narrow), v = tensor("B", c.groups, "S", c.valueWidth, c.narrow);
  std::string slots = "tensor<?xi32, #xf.dims<\"B\">>", spansType = "tensor<?x2xi32, #xf.dims<\"B\", \"\">>";
  std::string a = "tensor<?x?x?xf32, #xf.dims<\"B\", \"S\", \"S\">>", args = "^bb0(%b: index, %h: index, %i: index, %j: index):\n";
  char fill[32];
  std::snprintf(fill, sizeof(fill), "0x%016lX", static_cast<unsigned long>(llvm::bit_cast<uint64_t>(c.fill)));
  std::string s = "module attributes {xf.bounds = {B = 8 : i64, S = 40 : i64, P = 320 : i64}} {\n";
  s += "xf.state @ks : " + k + " layers 1 sentences layout keys\nxf.state @vs : " + v + " layers 1 sentences layout values\n";
  s += "xf.entry @run(%q: " + q + " {xf.name = \"q\"}, %k0: " + k + " {xf.name = \"k\"}, %v0: " + v + " {xf.name = \"v\"}, %slots: " + slots +
       " {xf.name = \"s\"}, %t: tensor<?x?xi32, #xf.dims<\"B\", \"S\">> {xf.name = \"t\"}, %a: " + a + " {xf.name = \"a\"}, %spans: " + spansType +
       " {xf.name = \"x\"}) -> (" + o + " {xf.name = \"o\"}) {\n%layer = arith.constant 0 : index\n";
  if (c.slots)
    s += "%k1 = xf.load @ks[%layer] slots %slots : " + slots + " -> " + k + "\n%v1 = xf.load @vs[%layer] slots %slots : " + slots + " -> " + v + "\n";
  s += std::string("%o = xf.attend %q, ") + (c.slots ? "%k1, %v1" : "%k0, %v0") + (spans ? " spans %spans" : "") + " scale 0.3 fill " + fill;
  if (*c.regions.mask)
    s += " mask {\n" + args + (c.regions.tokens ? kUsed : "") + (c.regions.causal ? kBefore : "") + c.regions.mask + "}";
  if (c.regions.bias)
    s += " bias {\n" + args + "%s = xf.at %a[%b, %i, %j] : " + a + "\nxf.yield %s : f32\n}";
  return s + (c.int16 ? " {words} : " : " : ") + q + ", " + k + ", " + v + (spans ? ", " + spansType : "") + " -> (" + o + ")\nxf.return %o : " + o +
         "\n}\n}\n";
}

/// How the kernel's views lie in memory.
KernelAccess accessOf(const Case &c, bool spans) {
  size_t inputs = 3 + 2 * c.slots + spans + c.regions.tokens + c.regions.bias;
  KernelAccess access{llvm::SmallVector<int64_t>(inputs + 1, 1)};
  access.lastStride.front() = c.constantQueryStep, access.lastStride.back() = c.constantContextStep;
  return access;
}

struct Problem {
  /// Rows of keys have `longest` positions, or more.
  Problem(const Case &c, Sentences s, int64_t longest)
      : c(c), s(s), longest(longest), panels((c.valueWidth + 15) / 16), queryRow(c.heads * c.width * c.queryStep + 5),
        contextRow(c.heads * c.valueWidth * c.contextStep + 7), keyHead(kCapacity * c.width), valueHead(panels * kCapacity * 16),
        q(c.narrow, s.tokens * queryRow, kNaN), keys(c.narrow, s.count() * c.groups * keyHead, kNaN),
        values(c.narrow, s.count() * c.groups * valueHead, kNaN) {
    std::vector<float> dice = randomValues(s.tokens * c.heads * c.width, 1);
    for (int64_t token = 0; token < s.tokens; ++token)
      for (int64_t x = 0; x < c.heads * c.width && s.hasToken(token); ++x)
        q.set(token * queryRow + x * c.queryStep, 3 * dice[token * c.heads * c.width + x]);
    additive.assign(s.count() * longest * longest, kNaN), tokens.assign(s.count() * longest, 3);
    for (int64_t b = 0; b < s.count(); ++b) {
      slots.push_back(int32_t(c.slots ? s.count() - 1 - b : b));
      fillSentence(b);
    }
  }

  /// [j/16][x/g][j%16][x%g]
  int64_t keyOffset(int64_t b, int64_t group, int64_t j, int64_t x) const {
    int64_t g = c.narrow ? 2 : 1;
    return (slots[b] * c.groups + group) * keyHead + (j / 16 * (c.width / g) + x / g) * 16 * g + j % 16 * g + x % g;
  }
  /// [j/g][x][j%g]
  int64_t valueOffset(int64_t b, int64_t group, int64_t j, int64_t x) const {
    int64_t g = c.narrow ? 2 : 1;
    return (slots[b] * c.groups + group) * valueHead + (j / g * panels * 16 + x) * g + j % g;
  }

  Elements nothing() const { return Elements(c.narrowContext, s.tokens * contextRow, kUntouched); }

  /// All sentences at once.
  Elements run(const Kernel &kernel, int threads) {
    Elements context = nothing();
    kernel(views(0, s.count(), 0, s.tokens, longest, true, context), threads);
    return context;
  }
  /// A sentence after the other, by the kernel that knows no spans.
  Elements runAlone(const Kernel &kernel) {
    Elements context = nothing();
    for (int64_t b = 0; b < s.count(); ++b)
      if (s.lengths[b])
        kernel(views(b, 1, s.firsts[b], s.lengths[b], s.lengths[b], false, context), 1);
    return context;
  }

  /// `inInt16`: whether factors were int16, and exponentials not rounded to bf16.
  void check(const Elements &context, const std::string &what, bool inInt16) const {
    for (int64_t b = 0; b < s.count(); ++b)
      for (int64_t h = 0; h < c.heads; ++h)
        for (int64_t i = 0; i < s.lengths[b]; ++i)
          ASSERT_NO_FATAL_FAILURE(checkRow(context, b, h, i, what, inInt16));
    for (size_t index = 0; index < context.size(); ++index) {
      int64_t column = index % contextRow;
      if (!s.hasToken(index / contextRow) || column % c.contextStep || column >= c.heads * c.valueWidth * c.contextStep)
        ASSERT_EQ(context.get(index), Elements(c.narrowContext, 1, kUntouched).get(0))
            << what << ": written beside the result, token " << index / contextRow;
    }
  }

private:
  void fillSentence(int64_t b) {
    std::vector<float> dice = randomValues(kCapacity * kCapacity, 10 + b),
                       moreDice = randomValues(c.groups * kCapacity * (c.width + c.valueWidth), 20 + b);
    const float *next = moreDice.data();
    int64_t length = s.lengths[b];
    for (int64_t g = 0; g < c.groups; ++g)
      for (int64_t j = 0; j < length; ++j) {
        for (int64_t x = 0; x < c.width; ++x)
          keys.set(keyOffset(b, g, j, x), *next++);
        for (int64_t x = 0; x < panels * 16; ++x)
          values.set(valueOffset(b, g, j, x), x < c.valueWidth ? *next++ : 0);
      }
    for (int64_t i = 0; i < length; ++i)
      for (int64_t j = 0; j < length; ++j)
        additive[(b * longest + i) * longest + j] = dice[i * kCapacity + j] > 0.8f ? float(-kInfinity) : dice[i * kCapacity + j];
    // Sentence 1 has no token at all, others begin with padding or have some in between.
    for (int64_t j = 0; j < length; ++j)
      tokens[b * longest + j] = b == 1 || (b + j) % 5 == 3 ? 0 : 9;
  }

  /// Of sentences [b, b + count), whose tokens are [first, first + all).
  std::vector<xf_abi_view> views(int64_t b, int64_t count, int64_t first, int64_t all, int64_t keyCount, bool withSpans, Elements &context) {
    int64_t far = int64_t(1) << 40; // of one row of tokens, so that nobody may use it
    int64_t row = c.slots ? 0 : b;
    std::vector<xf_abi_view> views{view(q.at(first * queryRow), {1, c.heads, all, c.width}, {far, c.width * c.queryStep, queryRow, c.queryStep})};
    auto addSlots = [&] {
      if (c.slots)
        views.push_back(view(slots.data() + b, {count}));
    };
    views.push_back(view(keys.at(row * c.groups * keyHead), {count, c.groups, keyCount, c.width}, {c.groups * keyHead, keyHead, 0, 1}));
    addSlots();
    views.push_back(
        view(values.at(row * c.groups * valueHead), {count, c.groups, keyCount, c.valueWidth}, {c.groups * valueHead, valueHead, panels * 16, 1}));
    addSlots();
    if (withSpans)
      views.push_back(s.view());
    if (c.regions.tokens)
      views.push_back(view(tokens.data() + b * longest, {count, keyCount}, {longest, 1}));
    if (c.regions.bias)
      views.push_back(view(additive.data() + b * longest * longest, {count, keyCount, keyCount}, {longest * longest, longest, 1}));
    views.push_back(
        view(context.at(first * contextRow), {1, c.heads, all, c.valueWidth}, {far, c.valueWidth * c.contextStep, contextRow, c.contextStep}));
    return views;
  }

  void checkRow(const Elements &context, int64_t b, int64_t h, int64_t i, const std::string &what, bool inInt16) const {
    int64_t length = s.lengths[b], group = h / (c.heads / c.groups), token = s.firsts[b] + i;
    std::vector<double> scores(length);
    for (int64_t j = 0; j < length; ++j) {
      for (int64_t x = 0; x < c.width; ++x)
        scores[j] += 0.3 * q.get(token * queryRow + (h * c.width + x) * c.queryStep) * keys.get(keyOffset(b, group, j, x));
      if (c.regions.bias)
        scores[j] += additive[(b * longest + i) * longest + j];
      if ((c.regions.tokens && !tokens[b * longest + j]) || (c.regions.causal && j > i))
        scores[j] = c.fill;
    }
    SoftmaxReference softmax(scores);
    for (int64_t x = 0; x < c.valueWidth; ++x) {
      double expected = softmax.context(c.narrow && !inInt16, [&](int64_t j) { return values.get(valueOffset(b, group, j, x)); });
      float got = context.get(token * contextRow + (h * c.valueWidth + x) * c.contextStep);
      ASSERT_TRUE(softmax.isNear(got, expected, allowedError(c.narrow, c.narrowContext)))
          << what << " b " << b << " h " << h << " i " << i << " x " << x;
    }
  }

  Case c;
  Sentences s;
  int64_t longest, panels, queryRow, contextRow, keyHead, valueHead;
  Elements q, keys, values;
  std::vector<float> additive;
  std::vector<int32_t> tokens, slots;
};

class SpansAttendTest : public testing::TestWithParam<Case> {};

TEST_P(SpansAttendTest, EqualsEachSentenceAlone) {
  Case c = GetParam();
  KernelHarness harness(text(c, true)), aloneHarness(text(c, false));
  auto op = harness.find<mlir::xf::AttendOp>(), aloneOp = aloneHarness.find<mlir::xf::AttendOp>();
  std::map<Isa, std::vector<Elements>> byIsa;
  for (Isa isa : runnableIsas(op)) {
    Kernel kernel = harness.compile(op, isa, accessOf(c, true)), alone = aloneHarness.compile(aloneOp, isa, accessOf(c, false));
    for (const Sentences &s : sentenceBatches()) {
      Problem problem(c, s, s.step > 1 ? 40 : s.longest); // rows may be longer than any sentence
      std::string what = isaName(isa).str() + ", " + std::to_string(s.count()) + " sentences";
      Elements expected = problem.runAlone(alone);
      ASSERT_NO_FATAL_FAILURE(problem.check(expected, what + " alone", takesInt16(isa, op)));
      for (int threads : {1, 2, 5}) {
        Elements context = problem.run(kernel, threads);
        ASSERT_EQ(context.difference(expected), -1) << what << ", " << threads << " threads";
      }
      byIsa[isa].push_back(expected);
    }
  }
  for (const auto &[isa, contexts] : byIsa)
    for (size_t i = 0; i < contexts.size() && isa != Isa::baseline && isa != Isa::avx512_bf16; ++i)
      EXPECT_EQ(contexts[i].difference(byIsa[Isa::avx2][i]), -1) << isaName(isa).str() << " and AVX2 differ";
}

std::string nameOf(const testing::TestParamInfo<Case> &info) { return std::string(info.param.regions.name) + "_" + std::to_string(info.index); }

INSTANTIATE_TEST_SUITE_P(Plain, SpansAttendTest,
                         testing::Values(Case{1, 1, 64, 64, kNone, -1e9}, Case{4, 2, 16, 16, kCausal, -1e9, true}, Case{2, 1, 8, 17, kTokens, -1e9},
                                         Case{4, 2, 3, 5, kBoth, -kInfinity, true}, Case{2, 2, 8, 8, kBoth, -2.5},
                                         Case{4, 2, 8, 32, kAll, -1e9, true}),
                         nameOf);

INSTANTIATE_TEST_SUITE_P(Narrow, SpansAttendTest,
                         testing::Values(Case{8, 8, 34, 48, kNone, -1e9, false, true, true}, Case{2, 1, 8, 17, kTokens, -1e9, false, true},
                                         Case{4, 2, 6, 5, kBoth, -kInfinity, true, true}, Case{2, 2, 8, 8, kBoth, -2.5, false, true, true},
                                         Case{4, 2, 8, 32, kAll, -1e9, true, true, true}),
                         nameOf);

INSTANTIATE_TEST_SUITE_P(Words, SpansAttendTest,
                         testing::Values(Case{8, 8, 34, 48, kNone, -1e9, false, true, true, 1, 1, 1, 1, true},
                                         Case{2, 1, 18, 24, kBoth, -1e9, false, true, true, 2, kDynamic, 2, 2, true}),
                         nameOf);

/// Queries and contexts whose elements are apart.
INSTANTIATE_TEST_SUITE_P(Strided, SpansAttendTest,
                         testing::Values(Case{2, 2, 20, 32, kCausal, -1e9, false, false, false, 2, 2, 3, kDynamic},
                                         Case{4, 2, 8, 16, kTokens, -1e9, true, false, false, 3, kDynamic, 1, 1},
                                         Case{2, 1, 18, 24, kBoth, -1e9, false, true, true, 2, kDynamic, 2, 2}),
                         nameOf);

} // namespace
