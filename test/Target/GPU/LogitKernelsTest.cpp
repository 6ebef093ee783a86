// Rules and choices of a search's logits on the device against those of the host: the same logits to the bit, and the same candidates.
#include "compiler/Target/GPU/GpuKernels.h"
#include "dialect/IR/Xf.h"
#include "runtime/core/gpu_table.h"
#include "runtime/core/logit_rules.h"
#include "runtime/core/row_sample.h"
#include "runtime/device/emulator/emulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

using namespace xf;

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

/// A search's kernel on the test's memory.
class SearchKernel {
public:
  explicit SearchKernel(llvm::function_ref<gpu::Kernel(mlir::gpu::GPUModuleOp)> emit) {
    mlir::MLIRContext context;
    auto module = gpu::makeKernelModule(&context);
    kernel = emit(*module->getOps<mlir::gpu::GPUModuleOp>().begin());
    std::string error;
    auto ptx = gpu::emitPtx(*module, error);
    EXPECT_TRUE(mlir::succeeded(ptx)) << error;
    program = rt::emulator::parse_ptx(*ptx);
  }

  template <typename T> void add(std::vector<T> &data, std::initializer_list<int64_t> sizes) {
    auto begin = reinterpret_cast<uint64_t>(data.data());
    memory.adopt(begin, begin + data.size() * sizeof(T));
    xf_abi_view view{};
    view.data = data.data();
    std::copy(sizes.begin(), sizes.end(), view.size);
    view.stride[sizes.size() - 1] = 1;
    if (sizes.size() == 2)
      view.stride[0] = view.size[1];
    views.push_back(view);
  }

  /// Gives up the memory and views that were added.
  void forget() {
    memory = {};
    views.clear();
  }

  void run() {
    for (const gpu::Launch &launch : kernel.launches)
      rt::emulator::run_kernel(
          program.functions.find(launch.function)->second, memory,
          {views.data(), views.size() * sizeof(xf_abi_view), rt::blocks_of(gpu::toAbi(launch), views.data()), static_cast<uint32_t>(launch.threads)});
  }

private:
  gpu::Kernel kernel;
  rt::emulator::program program;
  rt::emulator::global_memory memory;
  std::vector<xf_abi_view> views;
};

struct Rules {
  double penalty;
  int64_t ngram;
};

void confirmRules(const Rules &rules, int64_t rows, int64_t vocabulary, int64_t maxLength, int32_t tokensRead, unsigned seed) {
  SCOPED_TRACE(testing::Message() << "penalty " << rules.penalty << ", n-grams of " << rules.ngram << ", " << tokensRead << " tokens, seed " << seed);
  std::mt19937 random(seed);
  std::vector<float> logits(rows * vocabulary);
  for (float &logit : logits)
    logit = std::uniform_real_distribution<float>(-3, 3)(random);
  logits[0] = std::numeric_limits<float>::quiet_NaN();
  std::vector<int32_t> tokens(rows), past(rows), read(rows * maxLength, std::numeric_limits<int32_t>::max());
  std::vector<float> want = logits;
  std::vector<std::vector<int32_t>> histories(rows);
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<int32_t> &history = histories[row];
    // Some are no logits' tokens.
    int32_t length = 1 + std::uniform_int_distribution<int32_t>(0, maxLength - 1)(random);
    for (int32_t i = 0; i < length; ++i)
      history.push_back(std::uniform_int_distribution<int32_t>(0, tokensRead - 1)(random));
    std::vector<float> scratch(length);
    std::span<float> own(&want[row * vocabulary], vocabulary);
    if (rules.penalty != 1)
      rt::penalise_repetition(own, history, rules.penalty, scratch.data());
    if (rules.ngram > 0)
      rt::forbid_repeated_ngrams(own, history, static_cast<int32_t>(rules.ngram));
    past[row] = length - 1;
    tokens[row] = history.back();
    for (int32_t i = 0; i + 1 < length; ++i) {
      bool isKnown = std::find(history.begin(), history.begin() + i, history[i]) != history.begin() + i;
      read[row * maxLength + i] = isKnown ? -1 - history[i] : history[i];
    }
  }
  std::vector<uint64_t> words(2);
  std::memcpy(words.data(), &rules, sizeof(rules));
  SearchKernel kernel([](mlir::gpu::GPUModuleOp module) { return gpu::emitApplyRules(module, "rules"); });
  kernel.add(logits, {rows, vocabulary});
  kernel.add(tokens, {rows});
  kernel.add(past, {rows});
  kernel.add(read, {rows, maxLength});
  kernel.add(words, {2});
  kernel.run();
  for (int64_t i = 0; i < rows * vocabulary; ++i)
    EXPECT_TRUE(logits[i] == want[i] || (std::isnan(logits[i]) && std::isnan(want[i])))
        << "logit " << i << " is " << logits[i] << ", not " << want[i];
  for (int64_t row = 0; row < rows; ++row) {
    const std::vector<int32_t> &history = histories[row];
    int32_t last = past[row], word = read[row * maxLength + last];
    bool isKnown = std::find(history.begin(), history.end() - 1, history.back()) != history.end() - 1;
    EXPECT_EQ(word, isKnown ? -1 - history.back() : history.back());
  }
}

TEST(LogitKernels, RulesAreTheHosts) {
  unsigned seed = 0;
  for (Rules rules : {Rules{1, 0}, Rules{1.3, 0}, Rules{0.7, 1}, Rules{1, 2}, Rules{1.7, 3}, Rules{1, 40}})
    for (int32_t tokens : {3, 12, 200})
      confirmRules(rules, 5, 70, tokens == 200 ? 300 : 24, tokens, ++seed);
}

/// Columns of which few are different, some forbidden, and some NaN.
void confirmChoice(int64_t rows, int64_t columns, int64_t maxCandidates, int32_t wanted, bool sums, unsigned seed) {
  SCOPED_TRACE(testing::Message() << rows << " rows of " << columns << ", " << wanted << " of " << maxCandidates << " candidates, seed " << seed);
  std::mt19937 random(seed);
  int64_t words = mlir::xf::ChooseOp::countWords(columns), kinds = 3, partWords = mlir::xf::ChooseOp::countParts(columns, maxCandidates);
  std::vector<float> logits(rows * columns), values(rows * maxCandidates), norms(rows * 2), parts(rows * partWords);
  for (float &logit : logits)
    logit = std::floor(std::uniform_real_distribution<float>(-20, 20)(random)) / 4;
  std::vector<int32_t> classes(rows), tokens(rows * maxCandidates), options = {wanted, sums};
  std::vector<uint32_t> forbidden(kinds * words);
  for (int64_t i = 0; i < kinds * words; ++i)
    forbidden[i] = i < words ? ~0u : i < 2 * words ? 0u : static_cast<uint32_t>(random() | random() | random());
  for (int64_t row = 0; row < rows; ++row)
    classes[row] = row % 5 == 4 ? 0 : 1 + row % 2;
  logits[(rows > 1 ? columns : 0) + columns / 2] = kNever;
  if (rows > 6)
    logits[6 * columns + columns / 2] = std::numeric_limits<float>::quiet_NaN(); // of class 1, as the next
  SearchKernel kernel([&](mlir::gpu::GPUModuleOp module) { return gpu::emitChooseLogits(module, "choose", columns, maxCandidates); });
  kernel.add(logits, {rows, columns});
  kernel.add(forbidden, {kinds, words});
  kernel.add(classes, {rows});
  kernel.add(options, {2});
  kernel.add(values, {rows, maxCandidates});
  kernel.add(tokens, {rows, maxCandidates});
  kernel.add(norms, {rows, 2});
  kernel.add(parts, {rows, partWords});
  kernel.run();
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<float> own(&logits[row * columns], &logits[row * columns] + columns);
    rt::leave_out(own, &forbidden[classes[row] * words]);
    bool hasNaN = std::any_of(own.begin(), own.end(), [](float x) { return std::isnan(x); });
    EXPECT_EQ(std::isnan(norms[2 * row]), hasNaN) << "row " << row;
    std::replace_if(own.begin(), own.end(), [](float x) { return std::isnan(x); }, kNever);
    std::vector<int32_t> order(columns);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t x, int32_t y) { return own[x] > own[y]; });
    for (int64_t i = 0; i < maxCandidates; ++i) {
      bool exists = i < wanted && i < columns && own[order[i]] > kNever;
      EXPECT_EQ(tokens[row * maxCandidates + i], exists ? order[i] : -1) << "row " << row << ", place " << i;
      EXPECT_EQ(values[row * maxCandidates + i], exists ? own[order[i]] : kNever) << "row " << row << ", place " << i;
    }
    if (hasNaN)
      continue;
    EXPECT_EQ(norms[2 * row], own[order[0]]);
    double sum = 0;
    for (float x : own)
      sum += own[order[0]] > kNever ? std::exp(double(x) - own[order[0]]) : 0.0;
    if (sums)
      EXPECT_NEAR(norms[2 * row + 1], sum, 1e-6 * sum);
  }
}

TEST(LogitKernels, TakeLogits) {
  constexpr int64_t kRows = 200, kColumns = 70, kWords = 4;
  std::mt19937 random(1);
  std::vector<float> logits(kRows * kColumns), values(kRows);
  std::iota(logits.begin(), logits.end(), 0.5f);
  std::vector<uint32_t> forbidden(2 * kWords);
  std::generate(forbidden.begin(), forbidden.end(), std::ref(random));
  std::vector<int32_t> classes(kRows), tokens(kRows);
  for (int64_t row = 0; row < kRows; ++row)
    classes[row] = random() % 2, tokens[row] = random() % kColumns;
  SearchKernel kernel([](mlir::gpu::GPUModuleOp module) { return gpu::emitTakeLogits(module, "take"); });
  kernel.add(logits, {kRows, kColumns});
  kernel.add(forbidden, {2, kWords});
  kernel.add(classes, {kRows});
  kernel.add(tokens, {kRows});
  kernel.add(values, {kRows});
  kernel.run();
  for (int64_t row = 0; row < kRows; ++row) {
    bool isForbidden = forbidden[classes[row] * kWords + tokens[row] / 32] >> (tokens[row] % 32) & 1;
    EXPECT_EQ(values[row], isForbidden ? kNever : logits[row * kColumns + tokens[row]]) << "row " << row;
  }
}

TEST(LogitKernels, ChooseFromLogits) {
  confirmChoice(1, 70, 2, 1, true, 1);
  confirmChoice(9, 128, 8, 8, true, 2);
  confirmChoice(7, 401, 8, 3, true, 3);
  confirmChoice(4, 2500, 4, 4, false, 4);
  confirmChoice(2, 5, 64, 64, true, 5);
}

/// Draws of sentences' beams, whose rows lie anywhere, of which some are not open.
void confirmDraws(SearchKernel &choose, SearchKernel &draw, const rt::sampling &how, int64_t columns, bool ties, unsigned seed) {
  SCOPED_TRACE(testing::Message() << columns << " columns, k " << how.top_k << ", p " << how.top_p << ", min p " << how.min_p << ", seed " << seed);
  constexpr int32_t kSentences = 3, kBeams = 4, kRows = kSentences * kBeams, kMaxCandidates = XF_ABI_MAX_CHOSEN,
                    kWidth = XF_ABI_SENTENCE_WORDS + kBeams;
  std::mt19937_64 random(seed);
  int64_t words = mlir::xf::ChooseOp::countWords(columns), partWords = mlir::xf::ChooseOp::countParts(columns, kMaxCandidates);
  bool all = how.top_k == 0 || how.top_k >= columns;
  std::vector<float> logits(kRows * columns), values(kRows * kMaxCandidates), norms(kRows * 2), parts(kRows * partWords);
  for (float &logit : logits)
    logit = ties ? static_cast<float>(random() % 7) : std::normal_distribution<float>(0, 4)(random);
  std::vector<int32_t> classes(kRows), tokens(kRows * kMaxCandidates), options = {all ? 1 : how.top_k, 0}, sentences(kSentences * kWidth);
  std::vector<uint32_t> forbidden(2 * words);
  for (int64_t i = words; i < 2 * words; ++i)
    forbidden[i] = static_cast<uint32_t>(random() & random());
  forbidden[words] &= ~1u;
  std::vector<uint64_t> draws(kRows), setting(4);
  std::memcpy(setting.data(), &how.temperature, sizeof(double));
  std::memcpy(setting.data() + 1, &how.top_p, sizeof(double));
  setting[2] = all ? 0 : how.top_k;
  double leastDistance = how.min_distance();
  std::memcpy(setting.data() + 3, &leastDistance, sizeof(double));
  for (int32_t g = 0; g < kSentences; ++g) {
    std::fill_n(&draws[g * kBeams], kBeams, random());
    int32_t *own = &sentences[g * kWidth];
    own[XF_ABI_OPEN] = kBeams - g;
    own[XF_ABI_PRODUCED] = 5 * g;
    for (int32_t beam = 0; beam < kBeams; ++beam)
      own[XF_ABI_SENTENCE_WORDS + beam] = beam * kSentences + g;
  }
  for (int32_t row = 0; row < kRows; ++row)
    classes[row] = row % 2;
  for (SearchKernel *kernel : {&choose, &draw}) {
    kernel->forget();
    kernel->add(logits, {kRows, columns});
    kernel->add(forbidden, {2, words});
    kernel->add(classes, {kRows});
    if (kernel == &choose)
      kernel->add(options, {2});
    kernel->add(values, {kRows, kMaxCandidates});
    kernel->add(tokens, {kRows, kMaxCandidates});
    kernel->add(norms, {kRows, 2});
  }
  choose.add(parts, {kRows, partWords});
  draw.add(sentences, {kSentences, kWidth});
  draw.add(draws, {kSentences, kBeams});
  draw.add(setting, {4});
  choose.run();
  std::vector<int32_t> chosen = tokens;
  draw.run();
  for (int32_t g = 0; g < kSentences; ++g)
    for (int32_t beam = 0; beam < kBeams; ++beam) {
      int64_t row = beam * kSentences + g;
      std::vector<float> own(&logits[row * columns], &logits[row * columns] + columns);
      rt::leave_out(own, &forbidden[classes[row] * words]);
      std::vector<rt::candidate> scratch(columns);
      uint64_t bits = rt::mix(rt::mix(draws[g * kBeams], 5 * g), beam);
      rt::candidate want = rt::row_sampler_for(0)(own.data(), columns, how, rt::uniform(bits), scratch.data());
      if (beam >= kBeams - g)
        want.token = chosen[row * kMaxCandidates], want.logit = own[want.token];
      EXPECT_EQ(tokens[row * kMaxCandidates], want.token) << "sentence " << g << ", beam " << beam;
      EXPECT_EQ(values[row * kMaxCandidates], want.logit) << "sentence " << g << ", beam " << beam;
    }
}

TEST(LogitKernels, DrawAsTheHost) {
  unsigned seed = 0;
  for (int64_t columns : {1, 70, 513, 2500}) {
    SearchKernel choose([&](mlir::gpu::GPUModuleOp module) { return gpu::emitChooseLogits(module, "choose", columns, XF_ABI_MAX_CHOSEN); });
    SearchKernel draw([&](mlir::gpu::GPUModuleOp module) { return gpu::emitDraw(module, "draw", columns); });
    for (const rt::sampling &how : {rt::sampling{1, 0, 1},
                                    {0.3, 0, 1},
                                    {100, 0, 1},
                                    {1, 1, 1},
                                    {1.5, 64, 1},
                                    {0.7, 20, 0.6},
                                    {0.01, 9, 0.9},
                                    {3, 40, 0.95},
                                    {1, 0, 1, 0.1},
                                    {3, 0, 1, 0.9},
                                    {1, 0, 1, 1},
                                    {2, 20, 1, 0.2},
                                    {3, 40, 0.95, 0.3}})
      if (how.top_p == 1 || how.top_k < columns)
        for (bool ties : {false, true})
          confirmDraws(choose, draw, how, columns, ties, ++seed);
  }
}

} // namespace
