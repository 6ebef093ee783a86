// Attentions as modules, with masks, biases and functions of scores of all kinds; their inputs, and the expected results.
#ifndef XF_TEST_TARGET_CPU_ATTENDDATA_H
#define XF_TEST_TARGET_CPU_ATTENDDATA_H

#include "test/Target/CPU/SoftmaxReference.h"

namespace xf::cpu::test {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The tensors that masks and biases read: tokens t [B, K], past p [B], given g [B, Q, K] (i1), additive a [B, Q, K], a table r [81] of
/// relative positions, and tables m [4, 20] and n [12, 4] that registers hold.
struct Tensors {
  std::vector<int32_t> tokens, past;
  std::vector<uint8_t> given;
  std::vector<float> additive, relative, byHead, byDistance;
  int64_t queries, keys;
};
struct Region {
  const char *name, *text;
  std::function<double(const Tensors &, int64_t, int64_t, int64_t, int64_t)> at;
  std::string captures; // letters of the tensors in order of first use
};

inline const Region kNone{"none", "", nullptr, ""};
inline const Region kCausal{"causal", "%ok = arith.cmpi sle, %j, %i : index\nxf.yield %ok : i1\n",
                            [](const Tensors &, int64_t, int64_t, int64_t i, int64_t j) { return j <= i; }, ""};
inline const Region kTokens{"tokens",
                            "%zero = arith.constant 0 : i32\n%t0 = xf.at %t[%b, %j] : tensor<?x?xi32, #xf.dims<\"B\", \"K\">>\n"
                            "%ok = arith.cmpi ne, %t0, %zero : i32\nxf.yield %ok : i1\n",
                            [](const Tensors &t, int64_t b, int64_t, int64_t, int64_t j) { return t.tokens[b * t.keys + j] != 0; }, "t"};
inline const Region kBoth{"both",
                          "%zero = arith.constant 0 : i32\n%t0 = xf.at %t[%b, %j] : tensor<?x?xi32, #xf.dims<\"B\", \"K\">>\n"
                          "%used = arith.cmpi ne, %t0, %zero : i32\n%past = arith.cmpi sle, %j, %i : index\n"
                          "%ok = arith.andi %used, %past : i1\nxf.yield %ok : i1\n",
                          [](const Tensors &t, int64_t b, int64_t, int64_t i, int64_t j) { return t.tokens[b * t.keys + j] != 0 && j <= i; }, "t"};
inline const Region kPast{"past",
                          "%p0 = xf.at %p[%b] : tensor<?xi32, #xf.dims<\"B\">>\n%p1 = arith.index_cast %p0 : i32 to index\n"
                          "%last = arith.addi %p1, %i : index\n%ok = arith.cmpi sge, %last, %j : index\nxf.yield %ok : i1\n",
                          [](const Tensors &t, int64_t b, int64_t, int64_t i, int64_t j) { return j <= t.past[b] + i; }, "p"};
inline const Region kWindow{"window",
                            "%three = arith.constant 3 : index\n%past = arith.cmpi sle, %j, %i : index\n%low = arith.addi %j, %three : index\n"
                            "%near = arith.cmpi sge, %low, %i : index\n%ok = arith.andi %past, %near : i1\nxf.yield %ok : i1\n",
                            [](const Tensors &, int64_t, int64_t, int64_t i, int64_t j) { return j <= i && j + 3 >= i; }, ""};
inline const Region kRecent{"recent",
                            "%p0 = xf.at %p[%b] : tensor<?xi32, #xf.dims<\"B\">>\n%p1 = arith.index_cast %p0 : i32 to index\n"
                            "%three = arith.constant 3 : index\n%own = arith.addi %p1, %i : index\n%past = arith.cmpi sle, %j, %own : index\n"
                            "%first = arith.subi %own, %three : index\n%near = arith.cmpi slt, %first, %j : index\n"
                            "%ok = arith.andi %past, %near : i1\nxf.yield %ok : i1\n",
                            [](const Tensors &t, int64_t b, int64_t, int64_t i, int64_t j) { return j <= t.past[b] + i && j > t.past[b] + i - 3; },
                            "p"};
// Each of the two bounds decides for some queries. The last queries see no key, and neither does query 5; even ones do not see key 3.
inline const Region kBounds{
    "bounds",
    "%one = arith.constant 1 : index\n%next = arith.addi %i, %one : index\n%past = arith.cmpi slt, %j, %next : index\n"
    "%twenty = arith.constant 20 : index\n%rest = arith.subi %twenty, %i : index\n%few = arith.cmpi sgt, %rest, %j : index\n"
    "%five = arith.constant 5 : index\n%seeing = arith.cmpi ne, %i, %five : index\n%false = arith.constant false\n"
    "%both = arith.andi %past, %few : i1\n%some = arith.select %seeing, %both, %false : i1\n"
    "%bit = arith.andi %i, %one : index\n%odd = arith.cmpi eq, %bit, %one : index\n%true = arith.constant true\n"
    "%three = arith.constant 3 : index\n%kept = arith.cmpi ne, %j, %three : index\n%most = arith.select %odd, %true, %kept : i1\n"
    "%ok = arith.andi %some, %most : i1\nxf.yield %ok : i1\n",
    [](const Tensors &, int64_t, int64_t, int64_t i, int64_t j) { return j < i + 1 && j < 20 - i && i != 5 && (i % 2 == 1 || j != 3); }, ""};
inline const Region kGiven{"given", "%ok = xf.at %g[%b, %i, %j] : tensor<?x?x?xi1, #xf.dims<\"B\", \"Q\", \"K\">>\nxf.yield %ok : i1\n",
                           [](const Tensors &t, int64_t b, int64_t, int64_t i, int64_t j) { return t.given[(b * t.queries + i) * t.keys + j]; }, "g"};
inline const Region kAdditive{"additive", "%s = xf.at %a[%b, %i, %j] : tensor<?x?x?xf32, #xf.dims<\"B\", \"Q\", \"K\">>\nxf.yield %s : f32\n",
                              [](const Tensors &t, int64_t b, int64_t, int64_t i, int64_t j) { return t.additive[(b * t.queries + i) * t.keys + j]; },
                              "a"};
inline const Region kRelative{"relative",
                              "%c = arith.constant 40 : index\n%x = arith.subi %i, %j : index\n%y = arith.addi %x, %c : index\n"
                              "%s = xf.at %r[%y] : tensor<81xf32>\nxf.yield %s : f32\n",
                              [](const Tensors &t, int64_t, int64_t, int64_t i, int64_t j) { return t.relative[i - j + 40]; }, "r"};
inline const Region kTables{
    "tables",
    "%zero = arith.constant 0 : index\n%last = arith.constant 19 : index\n%most = arith.constant 11 : index\n"
    "%x = arith.subi %i, %j : index\n%y = arith.maxsi %x, %zero : index\n%m0 = arith.minsi %y, %last : index\n"
    "%n0 = arith.minsi %y, %most : index\n%m1 = xf.at %heads[%h, %m0] : tensor<4x20xf32>\n%n1 = xf.at %distances[%n0, %h] : tensor<12x4xf32>\n"
    "%s = arith.addf %m1, %n1 : f32\nxf.yield %s : f32\n",
    [](const Tensors &t, int64_t, int64_t h, int64_t i, int64_t j) {
      int64_t distance = std::max<int64_t>(i - j, 0);
      return t.byHead[h * 20 + std::min<int64_t>(distance, 19)] + t.byDistance[std::min<int64_t>(distance, 11) * 4 + h];
    },
    "mn"};

/// A function of the score: its text, and its value at h, i, j and a score.
struct Function {
  const char *text = "";
  double (*at)(int64_t, int64_t, int64_t, double) = nullptr;
};
inline const Function kIdentity,
    kCap{"%c = arith.constant 2.0 : f32\n%x = arith.divf %s, %c : f32\n%u = math.tanh %x : f32\n%y = arith.mulf %u, %c : f32\nxf.yield %y : f32\n",
         [](int64_t, int64_t, int64_t, double s) { return 2 * std::tanh(s / 2); }};
// One part depends on the head and query only. Another depends on query and key, and is NaN for some scores, masked ones among them.
inline const Function kRoots{
    "%h1 = arith.addi %h, %i : index\n%h2 = arith.index_cast %h1 : index to i32\n%h3 = arith.sitofp %h2 : i32 to f32\n"
    "%h4 = math.exp %h3 : f32\n%h5 = arith.divf %h3, %h4 : f32\n%d = arith.subi %i, %j : index\n%d1 = arith.index_cast %d : index to i32\n"
    "%d2 = arith.sitofp %d1 : i32 to f32\n%root = math.sqrt %d2 : f32\n%m = arith.mulf %s, %h5 : f32\n%y = arith.subf %m, %root : f32\nxf.yield %y : "
    "f32\n",
    [](int64_t h, int64_t i, int64_t j, double s) { return s * ((h + i) / std::exp(double(h + i))) - std::sqrt(double(i - j)); }};

struct Case {
  int64_t heads, groups, width, valueWidth;
  Region mask, bias;
  double fill;
  bool probabilities, slots;
  bool narrow = false, narrowContext = false; // whether factors and context are bf16
  Function score = kIdentity;
  bool int16 = false; // whether factors may be multiplied as int16
};

inline void PrintTo(const Case &c, std::ostream *out) {
  *out << c.heads << " heads, " << c.groups << " groups, " << c.width << "/" << c.valueWidth << " wide, fill " << c.fill;
}

inline std::string text(const Case &c) {
  auto tensorOf = [](int64_t heads, const char *length, int64_t width, bool narrow) {
    return "tensor<?x" + std::to_string(heads) + "x?x" + std::to_string(width) + (narrow ? "xbf16" : "xf32") + ", #xf.dims<\"B\", \"\", \"" + length +
           "\", \"\">>";
  };
  auto tensor = [&](int64_t heads, const char *length, int64_t width) { return tensorOf(heads, length, width, c.narrow); };
  std::string q = tensor(c.heads, "Q", c.width), k = tensor(c.groups, "K", c.width), v = tensor(c.groups, "K", c.valueWidth);
  std::string o = tensorOf(c.heads, "Q", c.valueWidth, c.narrowContext);
  std::string p = "tensor<?x" + std::to_string(c.heads) + "x?x?xf32, #xf.dims<\"B\", \"\", \"Q\", \"K\">>";
  std::string slots = "tensor<?xi32, #xf.dims<\"B\">>";
  char fill[32];
  uint64_t bits;
  std::memcpy(&bits, &c.fill, 8);
  std::snprintf(fill, sizeof(fill), "0x%016lX", static_cast<unsigned long>(bits));
  std::string args = "^bb0(%b: index, %h: index, %i: index, %j: index):\n";
  std::string s = "module attributes {xf.bounds = {B = 32 : i64, Q = 40 : i64, K = 80 : i64}} {\n";
  s += "xf.state @ks : " + k + " layers 1 sentences layout keys\nxf.state @vs : " + v + " layers 1 sentences layout values\n";
  s += "xf.entry @run(%q: " + q + " {xf.name = \"q\"}, %k0: " + k + " {xf.name = \"k\"}, %v0: " + v + " {xf.name = \"v\"}, %slots: " + slots +
       " {xf.name = \"s\"}, %t: tensor<?x?xi32, #xf.dims<\"B\", \"K\">> {xf.name = \"t\"}, %p: " + slots +
       " {xf.name = \"p\"}, %g: tensor<?x?x?xi1, #xf.dims<\"B\", \"Q\", \"K\">> {xf.name = \"g\"}, "
       "%a: tensor<?x?x?xf32, #xf.dims<\"B\", \"Q\", \"K\">> {xf.name = \"a\"}, %r: tensor<81xf32> {xf.name = \"r\"}, "
       "%heads: tensor<4x20xf32> {xf.name = \"m\"}, %distances: tensor<12x4xf32> {xf.name = \"n\"}) -> (" +
       o + " {xf.name = \"o\"}) {\n";
  std::string kv = "%k0, %v0";
  if (c.slots) {
    s += "%layer = arith.constant 0 : index\n";
    s += "%k1 = xf.load @ks[%layer] slots %slots : " + slots + " -> " + k + "\n%v1 = xf.load @vs[%layer] slots %slots : " + slots + " -> " + v + "\n";
    kv = "%k1, %v1";
  }
  s += (c.probabilities ? "%o, %pr = " : "%o = ") + ("xf.attend %q, " + kv) + " scale 0.3 fill " + fill;
  if (c.mask.at)
    s += " mask {\n" + args + c.mask.text + "}";
  if (c.bias.at)
    s += " bias {\n" + args + c.bias.text + "}";
  if (c.score.at)
    s += " score {\n^bb0(%b: index, %h: index, %i: index, %j: index, %s: f32):\n" + std::string(c.score.text) + "}";
  s += (c.int16 ? " {words} : " : " : ") + q + ", " + k + ", " + v + " -> (" + o + (c.probabilities ? ", " + p : "") + ")\nxf.return %o : " + o +
       "\n}\n}\n";
  return s;
}

inline constexpr int64_t kCapacity = 80; // capacity of the packed tensors, in positions

struct Problem {
  Problem(const Case &c, int64_t batch, int64_t queries, int64_t keys) : c(c), batch(batch) {
    t.queries = queries, t.keys = keys;
    q = randomValues(batch * queries * c.heads * c.width, 1);
    k = randomValues(batch * c.groups * keys * c.width, 2), v = randomValues(batch * c.groups * keys * c.valueWidth, 3);
    for (float &x : q)
      x *= 3;
    for (auto *factors : {&q, &k, &v})
      for (float &x : *factors)
        x = c.narrow ? toFloat(toBF16(x)) : x;
    t.relative = randomValues(81, 4), t.byHead = randomValues(80, 7), t.byDistance = randomValues(48, 8);
    t.additive = randomValues(batch * queries * keys, 5);
    for (size_t i = 0; i < t.additive.size(); i += 7)
      t.additive[i] = i % 2 ? -kInfinity : -1e9f;
    std::vector<float> dice = randomValues(batch * queries * keys, 6);
    for (float x : dice)
      t.given.push_back(x > -0.2f);
    for (int64_t b = 0; b < batch; ++b) {
      t.past.push_back(static_cast<int32_t>((b * 5) % keys));
      // Sentence b ends some tokens early; sentence 1 has no token at all.
      for (int64_t j = 0; j < keys; ++j)
        t.tokens.push_back(b == 1 ? 0 : j < keys - 3 * b || j == 0 ? 5 + int(j) : 0);
    }
    for (int64_t b = 0; b < batch; ++b)
      slots.push_back(c.slots ? (b * 2 + 1) % batch : b);
    int64_t panels = (c.valueWidth + 15) / 16;
    packedKeys.assign(batch * c.groups * kCapacity * c.width, kNaN), packedValues.assign(batch * c.groups * panels * kCapacity * 16, kNaN);
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t g = 0; g < c.groups; ++g)
        for (int64_t j = 0; j < keys; ++j) {
          int64_t from = (b * c.groups + g) * keys + j, head = slots[b] * c.groups + g;
          for (int64_t x = 0; x < c.width; ++x)
            packedKeys[head * kCapacity * c.width + keyOffset(j, x)] = k[from * c.width + x];
          for (int64_t x = 0; x < panels * 16; ++x) {
            float *all = &packedValues[head * panels * kCapacity * 16];
            all[valueOffset(j, x)] = x < c.valueWidth ? v[from * c.valueWidth + x] : 0.0f;
          }
        }
    for (auto [wide, narrow] : {std::pair{&q, &q16}, {&packedKeys, &keys16}, {&packedValues, &values16}})
      for (float x : *wide)
        narrow->push_back(toBF16(x));
  }

  /// [j/16][x/g][j%16][x%g]
  int64_t keyOffset(int64_t j, int64_t x) const {
    int64_t g = c.narrow ? 2 : 1;
    return (j / 16 * (c.width / g) + x / g) * 16 * g + j % 16 * g + x % g;
  }
  /// [j/g][x][j%g]
  int64_t valueOffset(int64_t j, int64_t x) const {
    int64_t g = c.narrow ? 2 : 1;
    return (j / g * ((c.valueWidth + 15) / 16 * 16) + x) * g + j % g;
  }
  /// Overwrites a head's values at positions begin … end - 1 with NaN.
  void loseValues(int64_t head, int64_t begin, int64_t end) {
    int64_t row = (c.valueWidth + 15) / 16 * 16;
    for (int64_t j = begin; j < end; ++j)
      for (int64_t x = 0; x < row; ++x) {
        int64_t offset = head * kCapacity * row + valueOffset(j, x);
        c.narrow ? void(values16[offset] = toBF16(kNaN)) : void(packedValues[offset] = kNaN);
      }
  }

  struct Output {
    std::vector<float> context, probabilities;
    bool operator==(const Output &other) const {
      auto same = [](const std::vector<float> &a, const std::vector<float> &b) {
        return a.size() == b.size() && std::memcmp(a.data(), b.data(), 4 * a.size()) == 0;
      };
      return same(context, other.context) && same(probabilities, other.probabilities);
    }
  };

  /// Runs the kernel on sentences [from, to) only; contexts are [B, Q, H, e], probabilities [B, H, Q, K].
  Output run(const Kernel &kernel, int threads, int64_t from = 0, int64_t to = -1) {
    to = to < 0 ? batch : to;
    int64_t n = to - from, panels = (c.valueWidth + 15) / 16, Q = t.queries, K = t.keys;
    int64_t qRow = c.heads * c.width, oRow = c.heads * c.valueWidth;
    Output o;
    o.context.assign(n * Q * oRow + 16, -77.0f), o.probabilities.assign(n * c.heads * Q * K + 16, -77.0f);
    auto keyRow = c.groups * kCapacity * c.width, valueRow = c.groups * panels * kCapacity * 16;
    auto dataAt = [&](std::vector<float> &wide, std::vector<uint16_t> &narrow, int64_t offset) {
      return c.narrow ? static_cast<void *>(narrow.data() + offset) : wide.data() + offset;
    };
    std::vector<xf_abi_view> views{view(dataAt(q, q16, from * Q * qRow), {n, c.heads, Q, c.width}, {Q * qRow, c.width, qRow, 1})};
    void *keys = dataAt(packedKeys, keys16, c.slots ? 0 : from * keyRow), *values = dataAt(packedValues, values16, c.slots ? 0 : from * valueRow);
    views.push_back(view(keys, {n, c.groups, K, c.width}, {keyRow, kCapacity * c.width, 0, 1}));
    if (c.slots)
      views.push_back(view(slots.data() + from, {n}));
    views.push_back(view(values, {n, c.groups, K, c.valueWidth}, {valueRow, panels * kCapacity * 16, panels * 16, 1}));
    if (c.slots)
      views.push_back(view(slots.data() + from, {n}));
    std::vector<uint8_t> &given = t.given;
    for (char letter : c.mask.captures + c.bias.captures) {
      if (letter == 't')
        views.push_back(view(t.tokens.data() + from * K, {n, K}));
      else if (letter == 'p')
        views.push_back(view(t.past.data() + from, {n}));
      else if (letter == 'g')
        views.push_back(view(given.data() + from * Q * K, {n, Q, K}));
      else if (letter == 'a')
        views.push_back(view(t.additive.data() + from * Q * K, {n, Q, K}));
      else if (letter == 'm')
        views.push_back(view(t.byHead, {4, 20}));
      else if (letter == 'n')
        views.push_back(view(t.byDistance, {12, 4}));
      else
        views.push_back(view(t.relative, {81}));
    }
    std::vector<uint16_t> context16(o.context.size(), toBF16(-77.0f));
    views.push_back(view(c.narrowContext ? static_cast<void *>(context16.data()) : o.context.data(), {n, c.heads, Q, c.valueWidth},
                         {Q * oRow, c.valueWidth, oRow, 1}));
    views.push_back(view(o.probabilities, {n, c.heads, Q, K}));
    kernel(views, threads);
    if (c.narrowContext)
      llvm::transform(context16, o.context.begin(), toFloat);
    for (int i = 0; i < 16; ++i)
      EXPECT_TRUE(o.context[n * Q * oRow + i] == -77.0f && o.probabilities[n * c.heads * Q * K + i] == -77.0f) << "written behind the result";
    o.context.resize(n * Q * oRow), o.probabilities.resize(n * c.heads * Q * K);
    return o;
  }

  /// Compares with f64; `inInt16`: factors were int16, and exponentials were not rounded to bf16.
  void check(const Output &o, const std::string &what, bool inInt16 = false) {
    int64_t Q = t.queries, K = t.keys;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < c.heads; ++h)
        for (int64_t i = 0; i < Q; ++i) {
          int64_t head = b * c.groups + h / (c.heads / c.groups);
          std::vector<double> scores(K);
          for (int64_t j = 0; j < K; ++j) {
            double s = 0;
            for (int64_t x = 0; x < c.width; ++x)
              s += double(q[((b * Q + i) * c.heads + h) * c.width + x]) * k[(head * K + j) * c.width + x];
            scores[j] = (c.score.at ? c.score.at(h, i, j, s * 0.3) : s * 0.3) + (c.bias.at ? c.bias.at(t, b, h, i, j) : 0);
            if (c.mask.at && !c.mask.at(t, b, h, i, j))
              scores[j] = c.fill;
          }
          SoftmaxReference softmax(scores);
          auto where = [&] { return what + " b " + std::to_string(b) + " h " + std::to_string(h) + " i " + std::to_string(i); };
          for (int64_t j = 0; j < K && c.probabilities; ++j) {
            float got = o.probabilities[((b * c.heads + h) * Q + i) * K + j];
            ASSERT_TRUE(softmax.isNear(got, softmax.probability(j), 2e-6)) << where() << " j " << j;
            if (softmax.exponentials[j] == 0)
              ASSERT_EQ(got, 0.0f) << what;
          }
          for (int64_t x = 0; x < c.valueWidth; ++x) {
            double expected = softmax.context(c.narrow && !inInt16, [&](int64_t j) { return v[(head * K + j) * c.valueWidth + x]; });
            float got = o.context[((b * Q + i) * c.heads + h) * c.valueWidth + x];
            ASSERT_TRUE(softmax.isNear(got, expected, allowedError(c.narrow, c.narrowContext))) << where() << " x " << x;
          }
        }
  }

  Case c;
  int64_t batch;
  Tensors t;
  std::vector<float> q, k, v, packedKeys, packedValues;
  std::vector<uint16_t> q16, keys16, values16;
  std::vector<int32_t> slots;
};

} // namespace xf::cpu::test

#endif // XF_TEST_TARGET_CPU_ATTENDDATA_H
