// Attention of bf16 that is multiplied in int16: what becomes of large and small rows, of rows that are NaN, and of many keys.
#include "test/Target/CPU/SoftmaxReference.h"

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

constexpr int64_t kWidth = 64, kValueWidth = 16;

/// One head without mask, or where queries see keys up to their own.
std::string text(int64_t keys, bool causal) {
  auto type = [](const char *length, int64_t width) {
    return "tensor<?x1x?x" + std::to_string(width) + "xbf16, #xf.dims<\"B\", \"\", \"" + length + "\", \"\">>";
  };
  std::string q = type("Q", kWidth), k = type("K", kWidth), v = type("K", kValueWidth),
              o = "tensor<?x1x?x16xf32, #xf.dims<\"B\", \"\", \"Q\", \"\">>";
  return "module attributes {xf.bounds = {B = 1 : i64, Q = 64 : i64, K = " + std::to_string(keys) + " : i64}} {\nxf.entry full @run(%q: " + q +
         " {xf.name = \"q\"}, %k: " + k + " {xf.name = \"k\"}, %v: " + v + " {xf.name = \"v\"}) -> (" + o +
         " {xf.name = \"o\"}) {\n%o = xf.attend %q, %k, %v scale 0.125 fill -1.0e9" +
         (causal ? " mask {\n^bb0(%b: index, %h: index, %i: index, %j: index):\n%ok = arith.cmpi sle, %j, %i : index\nxf.yield %ok : i1\n}" : "") +
         " {words} : " + q + ", " + k + ", " + v + " -> (" + o + ")\nxf.return %o : " + o + "\n}\n}\n";
}

struct Factors {
  Factors(int64_t queries, int64_t keys)
      : queries(queries), keys(keys), q(randomValues(queries * kWidth, 1)), k(randomValues(keys * kWidth, 2)),
        v(randomValues(keys * kValueWidth, 3)) {
    for (auto *values : {&q, &k, &v})
      for (float &x : *values)
        x = toFloat(toBF16(x));
  }

  std::vector<float> run(const Kernel &kernel) const {
    int64_t room = (keys + 15) / 16 * 16;
    std::vector<uint16_t> rows, packedKeys(room * kWidth, 0x7fc0), packedValues(room * kValueWidth, 0x7fc0);
    for (float x : q)
      rows.push_back(toBF16(x));
    for (int64_t j = 0; j < keys; ++j) {
      for (int64_t x = 0; x < kWidth; ++x)
        packedKeys[(j / 16 * (kWidth / 2) + x / 2) * 32 + j % 16 * 2 + x % 2] = toBF16(k[j * kWidth + x]);
      for (int64_t x = 0; x < kValueWidth; ++x)
        packedValues[(j / 2 * kValueWidth + x) * 2 + j % 2] = toBF16(v[j * kValueWidth + x]);
    }
    std::vector<float> context(queries * kValueWidth);
    kernel({view(rows, {1, 1, queries, kWidth}), view(packedKeys, {1, 1, keys, kWidth}), view(packedValues, {1, 1, keys, kValueWidth}),
            view(context, {1, 1, queries, kValueWidth})});
    return context;
  }

  double expected(int64_t query, int64_t column) const {
    std::vector<double> scores(keys);
    for (int64_t j = 0; j < keys; ++j)
      for (int64_t x = 0; x < kWidth; ++x)
        scores[j] += 0.125 * q[query * kWidth + x] * k[j * kWidth + x];
    return SoftmaxReference(scores).context(/*rounds=*/false, [&](int64_t j) { return v[j * kValueWidth + column]; });
  }

  int64_t queries, keys;
  std::vector<float> q, k, v;
};

void scale(std::vector<float> &values, float factor) {
  for (float &x : values)
    x *= factor;
}

/// The kernels that take int16, each compiled from `text`.
std::map<Isa, Kernel> kernels(int64_t keys, bool causal) {
  KernelHarness harness(text(keys, causal));
  auto op = harness.find<mlir::xf::AttendOp>();
  std::map<Isa, Kernel> all;
  for (Isa isa : runnableIsas(op))
    if (takesInt16(isa, op))
      all.emplace(isa, harness.compile(op, isa, {llvm::SmallVector<int64_t>(4, 1)}));
  EXPECT_FALSE(all.empty());
  return all;
}

/// Powers of two change no bit but exponents, whatever their size.
TEST(AttendInt16Test, MagnitudesDoNotMatter) {
  for (auto &[isa, kernel] : kernels(64, false)) {
    Factors factors(20, 37);
    std::vector<float> context = factors.run(kernel);
    for (float power : {0x1p60f, 0x1p-60f}) {
      Factors scores = factors, values = factors;
      scale(scores.q, power), scale(scores.k, 1 / power), scale(values.v, power);
      EXPECT_EQ(scores.run(kernel), context) << isaName(isa).str();
      std::vector<float> scaled = values.run(kernel);
      scale(scaled, 1 / power);
      EXPECT_EQ(scaled, context) << isaName(isa).str();
    }
  }
}

/// A value far larger than the others is as exact as its share, and leaves the others' keys their shares; keys are apart, too.
TEST(AttendInt16Test, RowsHaveScalesOfTheirOwn) {
  for (auto &[isa, kernel] : kernels(64, false)) {
    Factors factors(20, 37);
    for (int64_t x = 0; x < kValueWidth; ++x)
      factors.v[5 * kValueWidth + x] *= 1024;
    for (int64_t x = 0; x < kWidth; ++x) {
      factors.k[5 * kWidth + x] = -2 * factors.q[3 * kWidth + x]; // query 3 hardly sees it
      factors.k[9 * kWidth + x] = 0;
      factors.q[7 * kWidth + x] = 0;
    }
    std::vector<float> context = factors.run(kernel);
    for (int64_t i = 0; i < factors.queries; ++i)
      for (int64_t x = 0; x < kValueWidth; ++x) {
        double expected = factors.expected(i, x);
        EXPECT_NEAR(context[i * kValueWidth + x], expected, 2e-3 * std::max(1.0, std::abs(expected))) << isaName(isa).str() << " query " << i;
      }
  }
}

/// What is NaN, or infinite, makes NaN of what it reaches, and of nothing else.
TEST(AttendInt16Test, WhatIsNotFiniteStaysWhereItIs) {
  for (auto &[isa, kernel] : kernels(64, true)) {
    Factors clean(30, 30);
    std::vector<float> context = clean.run(kernel);
    for (float bad : {NAN, INFINITY, -INFINITY})
      for (int what : {0, 1, 2}) {
        Factors factors = clean;
        (what == 0 ? factors.q[17 * kWidth + 3] : what == 1 ? factors.k[17 * kWidth + 3] : factors.v[17 * kValueWidth + 3]) = bad;
        std::vector<float> got = factors.run(kernel);
        for (int64_t i = 0; i < 30; ++i) {
          bool isReached = what == 0 ? i == 17 : i >= 17;
          for (int64_t x = i * kValueWidth; x < (i + 1) * kValueWidth; ++x)
            EXPECT_TRUE(isReached ? std::isnan(got[x]) : got[x] == context[x]) << isaName(isa).str() << " query " << i << ", bad " << what;
        }
      }
  }
}

/// The largest sums that there can be: all factors as large as their row's largest, all signs equal.
TEST(AttendInt16Test, ManyKeys) {
  for (auto &[isa, kernel] : kernels(4096, false)) {
    Factors same(3, 4096), other(3, 4096);
    same.q.assign(same.q.size(), 1.9921875f), same.k.assign(same.k.size(), 1.9921875f), same.v.assign(same.v.size(), -1.9921875f);
    for (float x : same.run(kernel))
      EXPECT_NEAR(x, -1.9921875f, 1e-3) << isaName(isa).str();
    std::vector<float> context = other.run(kernel);
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t x = 0; x < kValueWidth; ++x)
        EXPECT_NEAR(context[i * kValueWidth + x], other.expected(i, x), 1e-4) << isaName(isa).str();
  }
  KernelHarness harness(text(4097, false));
  EXPECT_FALSE(takesInt16(Isa::avx512_vnni, harness.find<mlir::xf::AttendOp>()));
}

} // namespace
