// Attention over more keys than a tile, a block's warps or shared memory would hold: right, and with the same bits for any
// number of queries and whatever lies behind a sentence's end.
#include "test/Target/CPU/FactorData.h"

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Shape {
  int64_t heads, groups, width, valueWidth;
  bool probabilities = false;
  bool byRow = false; // the first token alone says whether a sentence's keys are seen
  int64_t maxKeys = 1000000;
  std::string type = "f32"; // of queries, keys and values

  int64_t group() const { return type == "f32" ? 1 : 2; }
};

/// The bits of a value in a type of 16 bits, and what they stand for.
uint16_t narrow(float x, const std::string &type) { return type == "bf16" ? toBF16(x) : llvm::bit_cast<uint16_t>(static_cast<_Float16>(x)); }
float widen(uint16_t bits, const std::string &type) { return type == "bf16" ? toFloat(bits) : static_cast<float>(llvm::bit_cast<_Float16>(bits)); }

/// Keys whose token is not 0; the masked ones' scores are -1e9, so that a sentence without tokens sees all keys alike.
std::string text(const Shape &s) {
  auto tensorOf = [](int64_t heads, const char *length, int64_t width, const std::string &type) {
    return "tensor<?x" + std::to_string(heads) + "x?x" + std::to_string(width) + "x" + type + ", #xf.dims<\"B\", \"\", \"" + length + "\", \"\">>";
  };
  auto tensor = [&](int64_t heads, const char *length, int64_t width) { return tensorOf(heads, length, width, s.type); };
  std::string q = tensor(s.heads, "Q", s.width), k = tensor(s.groups, "K", s.width), v = tensor(s.groups, "K", s.valueWidth);
  std::string o = tensorOf(s.heads, "Q", s.valueWidth, "f32"), t = "tensor<?x?xi32, #xf.dims<\"B\", \"K\">>";
  std::string p = "tensor<?x" + std::to_string(s.heads) + "x?x?xf32, #xf.dims<\"B\", \"\", \"Q\", \"K\">>";
  return "module attributes {xf.bounds = {B = 8 : i64, Q = 4096 : i64, K = " + std::to_string(s.maxKeys) +
         " : i64}} {\n"
         "xf.entry @run(%q: " +
         q + " {xf.name = \"q\"}, %k: " + k + " {xf.name = \"k\"}, %v: " + v + " {xf.name = \"v\"}, %t: " + t + " {xf.name = \"t\"}) -> (" + o +
         " {xf.name = \"o\"}) {\n" + (s.probabilities ? "%o, %p = " : "%o = ") +
         "xf.attend %q, %k, %v scale 0.3 fill -1.0e9 mask {\n^bb0(%b: index, %h: index, %i: index, %j: index):\n"
         "%zero = arith.constant 0 : i32\n%first = arith.constant 0 : index\n%t0 = xf.at %t[%b, " +
         (s.byRow ? "%first" : "%j") + "] : " + t + "\n%ok = arith.cmpi ne, %t0, %zero : i32\nxf.yield %ok : i1\n} : " + q + ", " + k + ", " + v +
         " -> (" + o + (s.probabilities ? ", " + p : "") + ")\nxf.return %o : " + o + "\n}\n}\n";
}

struct Problem {
  Problem(const Shape &shape, int64_t batch, int64_t queries, int64_t keys)
      : s(shape), batch(batch), queries(queries), keys(keys), room((keys + 15) / 16 * 16), panels((s.valueWidth + 15) / 16),
        q(randomValues(batch * s.heads * queries * s.width, 1)), k(batch * s.groups * room * s.width, kNaN),
        v(batch * s.groups * panels * room * 16, kNaN), tokens(batch * keys, 1) {
    for (float &x : q)
      x *= 12 / std::sqrt(static_cast<float>(s.width));
    round(q);
    std::vector<float> keyData = randomValues(batch * s.groups * keys * s.width, 2);
    std::vector<float> valueData = randomValues(batch * s.groups * keys * panels * 16, 3);
    round(keyData), round(valueData);
    // By key first, so that fewer keys are the first of more keys.
    for (int64_t j = 0, i = 0; j < keys; ++j)
      for (int64_t head = 0; head < batch * s.groups; ++head) {
        for (int64_t x = 0; x < s.width; ++x)
          key(head, j, x) = keyData[(j * batch * s.groups + head) * s.width + x];
        for (int64_t x = 0; x < panels * 16; ++x)
          value(head, j, x) = valueData[i++];
      }
  }
  void round(std::vector<float> &values) {
    if (s.type != "f32")
      for (float &x : values)
        x = widen(narrow(x, s.type), s.type);
  }
  /// Panels of keys [j/16][x/g][16][g], rows of values [j/g][x][g].
  float &key(int64_t head, int64_t j, int64_t x) {
    int64_t g = s.group();
    return k[(head * room / 16 + j / 16) * 16 * s.width + (x / g * 16 + j % 16) * g + x % g];
  }
  float &value(int64_t head, int64_t j, int64_t x) {
    int64_t g = s.group();
    return v[head * room * panels * 16 + (j / g * panels * 16 + x) * g + j % g];
  }

  /// Queries [from, to) of all heads of all sentences: contexts [B, H, to - from, e]; probabilities likewise. There is no memory
  /// around the operands.
  std::vector<float> run(const Kernel &kernel, int64_t from, int64_t to, std::vector<float> *probabilities = nullptr) {
    int64_t n = to - from;
    std::vector<float> o(batch * s.heads * n * s.valueWidth), p(s.probabilities ? batch * s.heads * n * keys : 0);
    std::vector<uint16_t> narrowed[3];
    auto range = [](auto &data) { return Kernel::Range{data.data(), data.data() + data.size()}; };
    std::vector<Kernel::Range> ranges;
    std::vector<void *> starts;
    for (auto [values, bits] : llvm::zip(std::array{&q, &k, &v}, narrowed)) {
      for (float x : *values)
        if (s.type != "f32")
          bits.push_back(narrow(x, s.type));
      ranges.push_back(s.type == "f32" ? range(*values) : range(bits));
      starts.push_back(s.type == "f32" ? static_cast<void *>(values->data()) : bits.data());
    }
    for (const Kernel::Range &more : {range(tokens), range(o), range(p)})
      ranges.push_back(more);
    void *queryStart = static_cast<char *>(starts[0]) + from * s.width * 4 / s.group();
    kernel({view(queryStart, {batch, s.heads, n, s.width}, {s.heads * queries * s.width, queries * s.width, s.width, 1}),
            view(starts[1], {batch, s.groups, keys, s.width}, {s.groups * room * s.width, room * s.width, 0, 1}),
            view(starts[2], {batch, s.groups, keys, s.valueWidth}, {s.groups * panels * room * 16, panels * room * 16, panels * 16, 1}),
            view(tokens, {batch, keys}), view(o, {batch, s.heads, n, s.valueWidth}), view(p, {batch, s.heads, n, keys})},
           1, ranges);
    if (probabilities)
      *probabilities = p;
    return o;
  }

  void check(const std::vector<float> &o, const std::vector<float> &probabilities, const std::string &what) {
    // Exponentials are rounded, too.
    double allowed = s.type == "bf16" ? 4e-3 : s.type == "f16" ? 5e-4 : 3e-6;
    for (int64_t b = 0, at = 0; b < batch; ++b)
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t i = 0; i < queries; ++i) {
          int64_t head = b * s.groups + h / (s.heads / s.groups);
          std::vector<double> p(keys), wanted(s.valueWidth);
          double max = -1e300, sum = 0;
          for (int64_t j = 0; j < keys; ++j) {
            double score = 0;
            for (int64_t x = 0; x < s.width; ++x)
              score += double(q[((b * s.heads + h) * queries + i) * s.width + x]) * key(head, j, x);
            p[j] = tokens[b * keys + (s.byRow ? 0 : j)] ? score * 0.3 : -1e9;
            max = std::max(max, p[j]);
          }
          for (double &x : p)
            sum += x = std::exp(x - max);
          for (int64_t j = 0; j < keys; ++j)
            for (int64_t x = 0; x < s.valueWidth; ++x)
              wanted[x] += p[j] / sum * value(head, j, x);
          for (int64_t x = 0; x < s.valueWidth; ++x, ++at)
            ASSERT_NEAR(o[at], wanted[x], allowed) << what << ", query " << i << " of head " << h << ", column " << x;
          for (int64_t j = 0; j < keys && !probabilities.empty(); ++j)
            ASSERT_NEAR(probabilities[((b * s.heads + h) * queries + i) * keys + j], p[j] / sum, 2e-6) << what << ", key " << j;
        }
  }

  Shape s;
  int64_t batch, queries, keys, room, panels;
  std::vector<float> q, k, v;
  std::vector<int32_t> tokens;
};

Kernel compile(KernelHarness &harness) { return harness.compile(harness.find<mlir::xf::AttendOp>(), Isa::avx2, {llvm::SmallVector<int64_t>(6, 1)}); }

bool same(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), 4 * a.size()) == 0;
}

Shape narrowed(Shape shape, const std::string &type) {
  shape.type = type;
  return shape;
}

class AttendTilesOfType : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Types, AttendTilesOfType, testing::Values("f32", "bf16", "f16"), [](auto &info) { return info.param; });

/// One query is computed by other blocks than many are, and so are the queries beside it.
TEST(AttendTilesTest, QueriesAreAlone) {
  for (Shape shape : {Shape{2, 1, 8, 20, true}, Shape{1, 1, 40, 72}, Shape{1, 1, 144, 130}, Shape{1, 1, 4, 800}, narrowed({2, 1, 8, 20}, "bf16"),
                      narrowed({1, 1, 40, 72}, "f16"), narrowed({1, 1, 144, 130}, "bf16"), narrowed({1, 1, 64, 300}, "f16"),
                      narrowed({1, 1, 400, 8}, "bf16")}) { // the widest queries have no room in shared memory
    KernelHarness harness(text(shape));
    Kernel kernel = compile(harness);
    for (int64_t keys : {1, 63, 64, 65, 200, 257, 600}) {
      Problem problem(shape, 2, 35, keys);
      for (int64_t j = 0; j < keys; ++j)
        problem.tokens[keys + j] = j % 3 != 1 && !(j >= 64 && j < 128); // a tile without any
      std::string what = std::to_string(keys) + " keys of width " + std::to_string(shape.width);
      std::vector<float> probabilities, all = problem.run(kernel, 0, 35, &probabilities);
      problem.check(all, probabilities, what);
      if (HasFatalFailure())
        return;
      for (auto [from, to] : {std::pair<int64_t, int64_t>{0, 1}, {34, 35}, {3, 7}, {10, 20}}) {
        std::vector<float> someProbabilities, some = problem.run(kernel, from, to, &someProbabilities);
        for (int64_t head = 0; head < 2 * shape.heads; ++head)
          for (int64_t i = from; i < to; ++i) {
            auto row = [&](std::vector<float> &data, int64_t index, int64_t size) {
              return std::vector<float>(data.begin() + index * size, data.begin() + (index + 1) * size);
            };
            int64_t own = head * (to - from) + i - from, allRow = head * 35 + i;
            ASSERT_TRUE(same(row(some, own, shape.valueWidth), row(all, allRow, shape.valueWidth))) << what << ", query " << i;
            if (shape.probabilities)
              ASSERT_TRUE(same(row(someProbabilities, own, keys), row(probabilities, allRow, keys))) << what << ", query " << i;
          }
      }
    }
  }
}

/// A query's block has as many warps as there may be tiles for.
TEST_P(AttendTilesOfType, LimitsChangeNothing) {
  std::vector<std::vector<float>> found;
  for (int64_t maxKeys : {600, 2000, 100000}) {
    Shape shape{2, 1, 8, 20, false, false, maxKeys, GetParam()};
    KernelHarness harness(text(shape));
    Kernel kernel = compile(harness);
    found.emplace_back();
    for (int64_t keys : {1, 64, 65, 600}) {
      std::vector<float> some = Problem(shape, 2, 1, keys).run(kernel, 0, 1);
      found.back().insert(found.back().end(), some.begin(), some.end());
    }
    ASSERT_TRUE(same(found.back(), found.front())) << maxKeys;
  }
}

TEST_P(AttendTilesOfType, PaddingChangesNothing) {
  Shape shape = narrowed({1, 1, 8, 16}, GetParam());
  KernelHarness harness(text(shape));
  Kernel kernel = compile(harness);
  for (int64_t queries : {1, 35})
    for (int64_t keys : {5, 64, 70}) {
      std::vector<float> exact = Problem(shape, 1, queries, keys).run(kernel, 0, queries);
      for (int64_t padded : {71, 128, 129, 700}) {
        Problem problem(shape, 1, queries, padded);
        std::fill(problem.tokens.begin() + keys, problem.tokens.end(), 0);
        ASSERT_TRUE(same(problem.run(kernel, 0, queries), exact)) << queries << " queries, " << keys << " keys padded to " << padded;
      }
    }
}

/// Where a row sees no key, none is visited, and all count alike.
TEST(AttendTilesTest, RowsWithoutKeys) {
  for (Shape shape : {Shape{2, 1, 8, 20, true, true}, Shape{2, 1, 8, 20, true, false}, narrowed({2, 1, 8, 20, false, true}, "bf16"),
                      narrowed({2, 1, 8, 148, false, false}, "f16")}) {
    KernelHarness harness(text(shape));
    Kernel kernel = compile(harness);
    for (int64_t queries : {1, 35})
      for (int64_t keys : {3, 100}) {
        Problem problem(shape, 3, queries, keys);
        std::fill_n(problem.tokens.begin() + keys, keys, 0);
        std::vector<float> probabilities, all = problem.run(kernel, 0, queries, &probabilities);
        problem.check(all, probabilities, std::to_string(queries) + " queries, " + std::to_string(keys) + " keys");
        if (HasFatalFailure())
          return;
      }
  }
}

/// Far more keys than have their scores in shared memory.
TEST(AttendTilesTest, AnyNumberOfKeys) {
  Shape shape{1, 1, 4, 8, true};
  KernelHarness harness(text(shape));
  Kernel kernel = compile(harness);
  for (int64_t queries : {1, 5}) {
    Problem problem(shape, 1, queries, 20011);
    std::vector<float> probabilities, all = problem.run(kernel, 0, queries, &probabilities);
    problem.check(all, probabilities, std::to_string(queries) + " queries");
    if (HasFatalFailure())
      return;
    std::fill(problem.tokens.begin(), problem.tokens.end(), 0);
    all = problem.run(kernel, 0, queries, &probabilities);
    problem.check(all, probabilities, std::to_string(queries) + " queries without keys");
  }
}

} // namespace
