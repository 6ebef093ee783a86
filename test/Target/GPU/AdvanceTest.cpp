// Beams on the device against those of the host: the same pairs, sums and ends, with ties, rows without candidates and numbers
// that are none; and rows that hold, after the moves, what their beams have said so far.
#include "compiler/Target/GPU/GpuKernels.h"
#include "runtime/abi/xf_log.h"
#include "runtime/core/arena.h"
#include "runtime/core/beam.h"
#include "runtime/device/emulator/emulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <tuple>

using namespace xf;

namespace {

/// The kernel's function, compiled once.
const rt::emulator::function &advance() {
  static const rt::emulator::program program = [] {
    mlir::MLIRContext context;
    auto module = gpu::makeKernelModule(&context);
    gpu::Kernel kernel = gpu::emitAdvance(*module->getOps<mlir::gpu::GPUModuleOp>().begin(), "advance");
    EXPECT_EQ(kernel.launches.size(), 1u);
    std::string error;
    auto ptx = gpu::emitPtx(*module, error);
    EXPECT_TRUE(mlir::succeeded(ptx)) << error;
    return rt::emulator::parse_ptx(*ptx);
  }();
  return program.functions.find("advance")->second;
}

struct Setting {
  int32_t sentences, beams, vocabulary, maxLength, minLength;
  float logits;     // different ones
  int32_t more = 2; // ends a result as 2 does
  bool apart = false; // beams go on by themselves, each with one candidate
};

class Search {
public:
  Search(const Setting &s, unsigned seed)
      : s(s), random(seed), maxCandidates(2 * s.beams + 1), wanted(s.beams == 1 || s.apart ? 1 : 2 * s.beams), rows(s.sentences * s.beams),
        values(rows * maxCandidates), chosen(rows * maxCandidates), norms(rows * 2), sums(rows), sentences(s.sentences * width()), tokens(rows),
        past(rows, -1), classes(rows, -1), moves(rows * 3), pairSums(2 * rows), decided(s.sentences * (2 + 5 * s.beams)), said(rows) {
    options[0] = wanted;
    options[1] = 1;
    for (int32_t token : {kEnd, s.more})
      ends[token / 32] |= 1u << token % 32;
    rt::arena_plan plan;
    hosts.resize(s.sentences);
    for (rt::beam_search &host : hosts)
      host.plan(plan, s.beams, s.maxLength);
    memory.reserve(plan.bytes());
    for (int32_t g = 0; g < s.sentences; ++g) {
      hosts[g].bind(memory);
      hosts[g].start(s.beams, s.maxLength, {kEnd, {&this->s.more, 1}, {}});
      int32_t *words = &sentences[g * width()];
      words[XF_ABI_OPEN] = 1;
      words[XF_ABI_MAX_LENGTH] = s.maxLength;
      words[XF_ABI_MIN_LENGTH] = s.minLength;
      words[XF_ABI_CLASS] = 1 + 2 * g;
      words[XF_ABI_POSITIONS] = 1;
      // Rows of a sentence may lie anywhere.
      for (int32_t b = 0; b < s.beams; ++b)
        words[XF_ABI_SENTENCE_WORDS + b] = b * s.sentences + g;
    }
    if (s.apart)
      openAll();
    open.assign(s.sentences, true);
  }

  bool isOpen() const { return std::find(open.begin(), open.end(), true) != open.end(); }

  void step(bool fails) {
    fill(fails);
    std::vector<xf_abi_view> views = {view(values, {rows, wanted}, maxCandidates),
                                      view(chosen, {rows, wanted}, maxCandidates),
                                      view(norms, {rows, 2}, 2),
                                      view(options, {2}, 1),
                                      view(sums, {s.sentences, s.beams}, s.beams),
                                      view(sentences, {s.sentences, width()}, width()),
                                      view(tokens, {rows}, 1),
                                      view(past, {rows}, 1),
                                      view(classes, {rows}, 1),
                                      view(moves, {rows, 3}, 3),
                                      view(pairSums, {s.sentences, 2 * s.beams}, 2 * s.beams),
                                      view(decided, {s.sentences, 2 + 5 * s.beams}, 2 + 5 * s.beams),
                                      view(ends, {4}, 1)};
    std::vector<int32_t> pastBefore = past;
    rt::emulator::run_kernel(advance(), memoryOfDevice, {views.data(), views.size() * sizeof(xf_abi_view), static_cast<uint32_t>(s.sentences), 128});
    moveRows();
    for (int32_t g = 0; g < s.sentences; ++g)
      if (open[g])
        compare(g, pastBefore);
  }

private:
  static constexpr int32_t kEnd = 2;
  int64_t width() const { return XF_ABI_SENTENCE_WORDS + s.beams; }

  template <typename T> xf_abi_view view(T &data, std::initializer_list<int64_t> sizes, int64_t stride) {
    auto begin = reinterpret_cast<uint64_t>(std::data(data));
    memoryOfDevice.adopt(begin, begin + std::size(data) * sizeof(*std::data(data)));
    xf_abi_view v{};
    v.data = std::data(data);
    std::copy(sizes.begin(), sizes.end(), v.size);
    v.stride[0] = stride;
    v.stride[1] = 1;
    return v;
  }

  /// The host has taken a first step, from which all beams come.
  void openAll() {
    std::vector<rt::candidate> first;
    for (int32_t b = 0; b < s.beams; ++b)
      first.push_back({1.0f - 0.1f * b, 3 + b});
    const rt::row_summary summary{s.beams, true, 2.0}, *summaries = &summary;
    const rt::candidate *best = first.data();
    for (int32_t g = 0; g < s.sentences; ++g) {
      EXPECT_TRUE(hosts[g].follow(&summaries, &best));
      int32_t *words = &sentences[g * width()];
      words[XF_ABI_INDEPENDENT] = words[XF_ABI_PRODUCED] = 1;
      words[XF_ABI_OPEN] = s.beams;
      words[XF_ABI_POSITIONS] = 2;
      for (int32_t b = 0; b < s.beams; ++b) {
        sums[g * s.beams + b] = hosts[g].beam(b).sum;
        said[words[XF_ABI_SENTENCE_WORDS + b]] = histories[{g, 1, b}] = {3 + b};
      }
    }
  }

  /// Candidates as a step gives them: different tokens, best first, ties to the lower token, and perhaps too few.
  void fill(bool fails) {
    for (int32_t row = 0; row < rows; ++row) {
      std::vector<std::pair<float, int32_t>> all(s.vocabulary);
      for (int32_t v = 0; v < s.vocabulary; ++v)
        all[v] = {-std::floor(std::uniform_real_distribution<float>(0, s.logits)(random)) / 4, v};
      std::sort(all.begin(), all.end());
      float largest = 3.0f;
      norms[2 * row] = fails && row % 3 == 1 ? std::numeric_limits<float>::quiet_NaN() : largest;
      norms[2 * row + 1] = 1 + std::uniform_real_distribution<float>(0, 2)(random);
      for (int32_t i = 0; i < maxCandidates; ++i) {
        bool exists = i < wanted && i < s.vocabulary;
        chosen[row * maxCandidates + i] = exists ? all[i].second : -1;
        values[row * maxCandidates + i] = exists ? -all[i].first : -std::numeric_limits<float>::infinity();
      }
    }
  }

  void moveRows() {
    auto before = said;
    std::vector<int> writes(rows);
    for (int32_t i = 0; i < rows; ++i) {
      int32_t from = moves[3 * i], to = moves[3 * i + 1];
      ++writes[to];
      for (int32_t j = 0; from != to && j < rows; ++j)
        EXPECT_TRUE(moves[3 * j + 1] == moves[3 * j] || moves[3 * j + 1] != from) << "a move reads row " << from << ", another writes it";
      said[to] = before[from];
    }
    for (int count : writes)
      EXPECT_EQ(count, 1);
  }

  void compare(int32_t g, const std::vector<int32_t> &pastBefore) {
    rt::beam_search &host = hosts[g];
    const int32_t *words = &sentences[g * width()], *record = &decided[g * (2 + 5 * s.beams)];
    std::vector<rt::row_summary> summaries(s.beams);
    std::vector<std::vector<rt::candidate>> lists(s.beams);
    std::vector<const rt::row_summary *> rowsOfHost;
    std::vector<const rt::candidate *> best;
    bool failed = false;
    std::vector<int32_t> &rowsOf = rowsBefore(g);
    for (int32_t b = 0; b < host.open(); ++b) {
      int32_t row = rowsOf[b];
      for (int32_t i = 0; i < wanted && chosen[row * maxCandidates + i] >= 0; ++i)
        lists[b].push_back({values[row * maxCandidates + i], chosen[row * maxCandidates + i]});
      summaries[b] = {static_cast<int32_t>(lists[b].size()), !std::isnan(norms[2 * row]),
                      double(norms[2 * row]) + xf_log(double(norms[2 * row + 1]))};
      failed |= !summaries[b].finite;
      rowsOfHost.push_back(&summaries[b]);
      best.push_back(lists[b].data());
    }
    EXPECT_EQ(record[1] != 0, failed);
    rowsOf.assign(record + 2, record + 2 + s.beams);
    if (failed) {
      EXPECT_EQ(words[XF_ABI_DONE], 1);
      open[g] = false;
      return;
    }
    bool goesOn = s.apart ? host.follow(rowsOfHost.data(), best.data()) : host.advance(rowsOfHost.data(), best.data());
    EXPECT_EQ(words[XF_ABI_DONE], goesOn ? 0 : 1);
    EXPECT_EQ(words[XF_ABI_PRODUCED], host.produced());
    for (int32_t b = 0; b < host.open(); ++b) {
      int32_t row = words[XF_ABI_SENTENCE_WORDS + b];
      EXPECT_EQ(row, rowsOf[b]);
      EXPECT_EQ(sums[g * s.beams + b], host.beam(b).sum);
      EXPECT_EQ(tokens[row], host.beam(b).token);
      EXPECT_EQ(past[row], host.produced());
      EXPECT_EQ(classes[row], 1 + 2 * g + (host.produced() < s.minLength));
      std::vector<int32_t> spoken = histories[{g, host.produced() - 1, host.beam(b).parent}];
      EXPECT_EQ(said[row], spoken) << "sentence " << g << ", beam " << b;
      spoken.push_back(host.beam(b).token);
      said[row] = histories[{g, host.produced(), b}] = spoken;
    }
    if (goesOn) {
      EXPECT_EQ(words[XF_ABI_OPEN], host.open());
      EXPECT_EQ(words[XF_ABI_FINISHED], host.finished());
    } else {
      for (int32_t row : rowsOf)
        EXPECT_EQ(past[row], pastBefore[row]);
    }
    open[g] = goesOn;
  }

  std::vector<int32_t> &rowsBefore(int32_t g) {
    std::vector<int32_t> &held = rowsOfSentence[g];
    for (int32_t b = 0; held.empty() && b < s.beams; ++b)
      for (int32_t c = 0; c < s.beams; ++c)
        held.push_back(c * s.sentences + g);
    return held;
  }

  Setting s;
  std::mt19937 random;
  int64_t maxCandidates;
  int32_t wanted, rows;
  std::vector<float> values;
  std::vector<int32_t> chosen;
  std::vector<float> norms;
  int32_t options[2];
  uint32_t ends[4] = {}; // bits of tokens
  std::vector<double> sums;
  std::vector<int32_t> sentences, tokens, past, classes, moves;
  std::vector<double> pairSums;
  std::vector<int32_t> decided;
  std::vector<std::vector<int32_t>> said; // by rows
  std::map<std::tuple<int32_t, int32_t, int32_t>, std::vector<int32_t>> histories;
  std::map<int32_t, std::vector<int32_t>> rowsOfSentence;
  rt::arena memory;
  std::vector<rt::beam_search> hosts;
  std::vector<bool> open;
  rt::emulator::global_memory memoryOfDevice;
};

TEST(Advance, DecidesAsTheHost) {
  // Few different logits make ties, few tokens make too few candidates, and short sentences all kinds of ends.
  const Setting kSettings[] = {{3, 1, 9, 7, 0, 12},        {1, 2, 9, 12, 0, 3},     {4, 3, 40, 9, 4, 40},   {5, 4, 50, 20, 0, 6},
                               {2, 4, 3, 6, 2, 3},         {2, 7, 30, 10, 3, 9},    {3, 5, 4, 5, 0, 100},   {1, 16, 60, 6, 0, 8},
                               {1, 32, 70, 4, 2, 20},      {4, 3, 40, 9, 4, 40, 7}, {2, 4, 50, 9, 0, 8, 1}, {3, 4, 12, 14, 0, 40, 2, true},
                               {2, 7, 9, 9, 3, 9, 1, true}};
  unsigned seed = 0;
  for (const Setting &setting : kSettings)
    for (int repeat = 0; repeat < (setting.beams > 8 ? 1 : 4); ++repeat) {
      SCOPED_TRACE(testing::Message() << setting.sentences << " sentences, " << setting.beams << " beams, seed " << seed);
      Search search(setting, ++seed);
      for (int32_t step = 0; step < setting.maxLength && search.isOpen(); ++step)
        search.step(repeat == 3 && step == 2);
      EXPECT_FALSE(search.isOpen());
    }
}

TEST(Advance, TheLogarithm) {
  std::mt19937 random(5);
  for (int i = 0; i < 100000; ++i) {
    double x = std::exp2(std::uniform_real_distribution<double>(-20, 40)(random)), expected = std::log(x);
    EXPECT_LE(std::fabs(xf_log(x) - expected), std::fabs(expected) * 2.3e-16) << x;
  }
  EXPECT_EQ(xf_log(1), 0);
}

} // namespace
