// Entries called by name: shapes and values are checked, threads and instruction sets chosen, the caller's
// floating-point setting kept, and nothing is allocated while running.
#include "runtime/api/handles.h"
#include "runtime/core/cpu.h"
#include "runtime/include/xf/xf.h"
#include "test/runtime/allocations.h"
#include "test/runtime/sample_math.h"
#include "test/runtime/sample_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <immintrin.h>
#include <unistd.h>

namespace {

class session : public testing::Test {
protected:
  void open(const sample::options &o, int threads, int isa = XF_ISA_BEST) {
    image_ = std::make_unique<sample::aligned_bytes>(sample::build(o));
    ASSERT_EQ(xf_open_memory(image_->data(), image_->size(), &model), XF_OK) << xf_message();
    xf_session_options options;
    xf_session_options_init(&options, sizeof(options));
    options.threads = threads;
    options.isa = isa;
    ASSERT_EQ(xf_session_create(model, &options, &handle), XF_OK) << xf_message();
  }
  void TearDown() override {
    xf_session_free(handle);
    xf_model_free(model);
  }
  std::string run_message(const char *entry, std::vector<xf_tensor> in, std::vector<xf_tensor> out) {
    EXPECT_NE(xf_run(handle, entry, in.data(), static_cast<int32_t>(in.size()), out.data(), static_cast<int32_t>(out.size())), XF_OK);
    return xf_message();
  }

  xf_model *model = nullptr;
  xf_session *handle = nullptr;

private:
  std::unique_ptr<sample::aligned_bytes> image_;
};

TEST_F(session, runs_an_entry) {
  for (int threads : {1, 2, 3}) {
    open({}, threads);
    std::vector<int32_t> src = {5, 6, 7, 0, 9, 4};
    std::vector<float> memory(12, -1);
    xf_tensor in = {"src", XF_I32, 2, {2, 3}, src.data()};
    xf_tensor out = {};
    ASSERT_EQ(xf_output_shapes(handle, "encode", &in, 1, &out, 1), XF_OK) << xf_message();
    EXPECT_STREQ(out.name, "memory");
    EXPECT_EQ(out.rank, 3);
    EXPECT_EQ(out.shape[0] * 100 + out.shape[1] * 10 + out.shape[2], 232);
    out.data = memory.data();
    ASSERT_EQ(xf_run(handle, "encode", &in, 1, &out, 1), XF_OK) << xf_message();
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(memory[2 * i], static_cast<float>(sample_feature(src[i], i % 3)));
      EXPECT_EQ(memory[2 * i + 1], src[i] != 0);
    }
    TearDown();
    handle = nullptr, model = nullptr;
  }
}

TEST_F(session, refuses_fewer_outputs_than_none) {
  open({}, 1);
  int32_t src[2] = {5, 6};
  xf_tensor in = {"src", XF_I32, 2, {1, 2}, src}, out = {};
  EXPECT_EQ(xf_output_shapes(handle, "encode", &in, 1, &out, 0), XF_OK) << xf_message();
  EXPECT_EQ(xf_output_shapes(handle, "encode", &in, 1, &out, -1), XF_INVALID_ARGUMENT);
  EXPECT_STREQ(xf_message(), "the outputs are null, or fewer than none");
}

TEST_F(session, says_which_tensors_and_sizes_are_at_odds) {
  open({}, 1);
  int32_t src[13] = {};
  float memory[26];
  xf_tensor in = {"src", XF_I32, 2, {1, 13}, src}, out = {"memory", XF_F32, 3, {1, 3, 2}, memory};
  EXPECT_EQ(run_message("encode", {in}, {out}), "input 'src' has size 13 in dimension S; the limit is 12");
  in.shape[1] = 0;
  EXPECT_EQ(run_message("encode", {in}, {out}), "input 'src' has size 0 in dimension S; at least 1 is needed");
  in.shape[1] = 3;
  EXPECT_EQ(run_message("encode", {in}, {}), "entry 'encode' gives output 'memory', f32[B, S, 2]: it needs a place");
  EXPECT_EQ(run_message("encode", {}, {out}), "entry 'encode' needs input 'src', i32[B, S]");
  EXPECT_EQ(run_message("encode", {in, in}, {out}), "input 'src' is given twice");
  EXPECT_EQ(run_message("decode", {in}, {out}), "model 'sample' has no entry 'decode'");
  EXPECT_EQ(run_message("step", {in}, {out}), "model 'sample' has no entry 'step'");
  in.rank = 1;
  EXPECT_EQ(run_message("encode", {in}, {out}), "input 'src' has shape [1]; i32[B, S] is needed");
  in.rank = 2;
  in.dtype = XF_F32;
  EXPECT_EQ(run_message("encode", {in}, {out}), "input 'src' has another data type than i32[B, S]");
  in.dtype = XF_I32;
  src[2] = 30;
  EXPECT_EQ(run_message("encode", {in}, {out}), "input 'src' holds 30 at position 2; values go from 0 to 29");
  src[2] = 0;
  out.shape[1] = 4;
  EXPECT_EQ(run_message("encode", {in}, {out}), "output 'memory' has another data type or shape than f32[B, S, 2], which is [1, 3, 2] here");
}

// Kernels may write an output before they have read all of what lies there.
TEST_F(session, refuses_outputs_in_memory_of_others) {
  open({}, 1);
  alignas(float) unsigned char bytes[15 * sizeof(float)] = {};
  // The output has 6 numbers, and the input's 3 lie behind the sixth.
  for (int first : {0, 1, 6, 8, 9}) {
    xf_tensor in = {"src", XF_I32, 2, {1, 3}, bytes + 6 * sizeof(float)}, out = {"memory", XF_F32, 3, {1, 3, 2}, bytes + first * sizeof(float)};
    if (first == 0 || first == 9)
      EXPECT_EQ(xf_run(handle, "encode", &in, 1, &out, 1), XF_OK) << xf_message();
    else
      EXPECT_EQ(run_message("encode", {in}, {out}), "output 'memory' lies in memory of input 'src'") << first;
    std::fill(std::begin(bytes), std::end(bytes), 0);
  }
}

TEST_F(session, describes_the_model) {
  open({}, 2);
  EXPECT_EQ(xf_entry_count(model), 2);
  EXPECT_EQ(xf_dim_count(model), 4);
  EXPECT_EQ(xf_input_count(model, 1) * 10 + xf_output_count(model, 1), 11);
  EXPECT_STREQ(xf_session_device(handle), "cpu");
  EXPECT_STREQ(xf_entry_name(model, 1), "encode");
  EXPECT_EQ(xf_entry_name(model, 2), nullptr);
  EXPECT_STREQ(xf_dim_name(model, 1), "S");
  EXPECT_EQ(xf_dim_limit(model, 1), sample::kSource);
  EXPECT_EQ(xf_dim_name(model, 4), nullptr);
  xf_tensor_info info;
  ASSERT_EQ(xf_input_info(model, 1, 0, &info), XF_OK);
  EXPECT_STREQ(info.name, "src");
  EXPECT_EQ(info.shape[1], -2);
  EXPECT_EQ(info.bound, sample::kSourceBound);
  EXPECT_EQ(xf_output_info(model, 1, 1, &info), XF_INVALID_ARGUMENT);
  EXPECT_STREQ(xf_message(), "there is no tensor 1: they are numbered from 0, and there are 1");
  EXPECT_EQ(xf_output_info(model, 2, 0, &info), XF_INVALID_ARGUMENT);
  EXPECT_STREQ(xf_message(), "there is no such entry, or the model is null");
  xf_limits limits = {};
  limits.size = sizeof(limits);
  ASSERT_EQ(xf_get_limits(model, &limits), XF_OK);
  EXPECT_EQ(limits.batch, sample::kBatch);
  EXPECT_EQ(limits.vocabulary, SAMPLE_VOCABULARY);
  // Nothing that a session reserves is left out.
  EXPECT_EQ(handle->impl.reserved(), limits.state_bytes + limits.search_bytes + 2 * (limits.workspace_bytes + limits.scratch_bytes));
  EXPECT_EQ(xf_session_threads(handle), 2);
  xf_search_info search = {};
  search.size = sizeof(search);
  ASSERT_EQ(xf_get_search_info(model, &search), XF_OK);
  EXPECT_EQ(search.generates * 1000 + search.start * 100 + search.end * 10 + search.pad, 1120);
  ASSERT_EQ(search.source_inputs, 1);
  ASSERT_EQ(xf_source_info(model, 0, &info), XF_OK);
  EXPECT_STREQ(info.name, "src");
  EXPECT_EQ(xf_source_info(model, 1, &info), XF_INVALID_ARGUMENT);
}

// No input makes the library crash: null stands for nothing, and is an error where something is needed.
TEST_F(session, takes_null) {
  open({}, 1);
  xf_model *other = nullptr;
  xf_session *none = nullptr;
  xf_shortlist *list = nullptr;
  xf_lines *lines = nullptr;
  xf_tensor_info info;
  int32_t ids[] = {5};
  int64_t offsets[] = {0, 1};
  xf_hypotheses results = {};
  const char *line = "a", *entry = "encode";
  for (xf_status status : {xf_open(nullptr, &other),
                           xf_open("model", nullptr),
                           xf_open_memory(nullptr, 4096, &other),
                           xf_open_memory(ids, 4, nullptr),
                           xf_open_self(nullptr),
                           xf_open_linked(nullptr, &other),
                           xf_open_linked("model", nullptr),
                           xf_get_limits(nullptr, nullptr),
                           xf_get_limits(model, nullptr),
                           xf_get_search_info(model, nullptr),
                           xf_input_info(nullptr, 0, 0, &info),
                           xf_input_info(model, 0, 0, nullptr),
                           xf_output_info(model, 0, 0, nullptr),
                           xf_source_info(nullptr, 0, &info),
                           xf_source_info(model, 0, nullptr),
                           xf_session_create(nullptr, nullptr, &none),
                           xf_session_create(model, nullptr, nullptr),
                           xf_output_shapes(nullptr, entry, nullptr, 0, nullptr, 0),
                           xf_output_shapes(handle, nullptr, nullptr, 0, nullptr, 0),
                           xf_output_shapes(handle, entry, nullptr, 1, nullptr, 0),
                           xf_run(nullptr, entry, nullptr, 0, nullptr, 0),
                           xf_run(handle, nullptr, nullptr, 0, nullptr, 0),
                           xf_run(handle, entry, nullptr, 1, nullptr, 1),
                           xf_shortlist_open(nullptr, "list", 0, &list),
                           xf_shortlist_open(model, nullptr, 0, &list),
                           xf_shortlist_open(model, "list", 0, nullptr),
                           xf_generate(nullptr, ids, offsets, 1, nullptr, &results),
                           xf_generate(handle, nullptr, offsets, 1, nullptr, &results),
                           xf_generate(handle, ids, nullptr, 1, nullptr, &results),
                           xf_generate(handle, ids, offsets, 1, nullptr, nullptr),
                           xf_generate_from(nullptr, nullptr, 0, nullptr, &results),
                           xf_generate_from(handle, nullptr, 1, nullptr, &results),
                           xf_get_encoding_info(nullptr, nullptr),
                           xf_get_encoding_info(handle, nullptr),
                           xf_encode(handle, nullptr, nullptr, 1, nullptr, 0),
                           xf_encode(handle, ids, offsets, 1, nullptr, 2),
                           xf_process_lines(nullptr, &line, 1, 0, nullptr, &lines),
                           xf_process_lines(handle, nullptr, 1, 0, nullptr, &lines),
                           xf_process_lines(handle, &line, 1, 0, nullptr, nullptr)}) {
    EXPECT_EQ(status, XF_INVALID_ARGUMENT);
    EXPECT_STRNE(xf_message(), "");
  }
  EXPECT_FALSE(other || none || list || lines);
  EXPECT_FALSE(xf_model_name(nullptr) || xf_dim_name(nullptr, 0) || xf_entry_name(nullptr, 0) || xf_session_isa(nullptr) ||
               xf_session_device(nullptr) || xf_line_text(nullptr, 0, 0) || xf_line_error(nullptr, 0));
  EXPECT_FALSE(xf_dim_count(nullptr) || xf_entry_count(nullptr) || xf_session_threads(nullptr) || xf_line_results(nullptr, 0) ||
               xf_line_alignment(nullptr, 0, 0, nullptr, 0));
  EXPECT_EQ(xf_line_score(nullptr, 0, 0), 0);
  xf_model_free(nullptr), xf_session_free(nullptr), xf_shortlist_free(nullptr), xf_lines_free(nullptr);
  xf_session_options_init(nullptr, sizeof(xf_session_options)), xf_generate_options_init(nullptr, sizeof(xf_generate_options));
}

TEST_F(session, is_created_within_limits) {
  open({}, 1);
  auto message = [&](int32_t threads, int32_t isa, int32_t device) {
    xf_session_options options;
    xf_session_options_init(&options, sizeof(options));
    options.threads = threads, options.isa = isa, options.device = device;
    xf_session *none = nullptr;
    EXPECT_EQ(xf_session_create(model, &options, &none), XF_INVALID_ARGUMENT);
    EXPECT_EQ(none, nullptr);
    return std::string(xf_message());
  };
  EXPECT_EQ(message(1025, XF_ISA_BEST, XF_DEVICE_CPU), "the number of threads must be between 1 and 1024, not 1025");
  EXPECT_EQ(message(1, 77, XF_DEVICE_CPU), "there is no instruction set 77: they have the numbers -1 to 5");
  EXPECT_EQ(message(1, XF_ISA_BEST, 9), "there is no device 9: they have the numbers 0 to 3");
}

// As a library of a later version serves a caller of this one: it knows a field more.
TEST(versions, callers_of_older_ones_are_served) {
  struct later {
    size_t size;
    int64_t first, second;
  };
  struct {
    size_t size;
    int64_t first, behind;
  } caller = {16, 5, 77};
  auto *seen = reinterpret_cast<later *>(&caller);
  EXPECT_EQ(XF_FIRST_SIZE(later, first), 16u);
  EXPECT_NO_THROW(xf::rt::require_size(seen, XF_FIRST_SIZE(later, first), ""));
  later read = xf::rt::read_struct(seen, {0, 1, 2});
  EXPECT_EQ(read.first, 5);
  EXPECT_EQ(read.second, 2);
  xf::rt::write_struct(seen, {0, 8, 9});
  EXPECT_EQ(caller.size, 16u);
  EXPECT_EQ(caller.first, 8);
  EXPECT_EQ(caller.behind, 77);
  for (size_t wrong : {0, 15, 20, 1 << 20}) {
    caller.size = wrong;
    EXPECT_THROW(xf::rt::require_size(seen, XF_FIRST_SIZE(later, first), ""), xf::rt::error) << wrong;
  }
}

// No struct ends within a field: of a pointer there would be half.
TEST_F(session, refuses_sizes_that_no_struct_has) {
  open({}, 1);
  for (size_t size : {offsetof(xf_session_options, run_threads) + 4, sizeof(xf_session_options) - 1}) {
    xf_session_options options;
    xf_session_options_init(&options, sizeof(options));
    options.size = size;
    xf_session *none = nullptr;
    EXPECT_EQ(xf_session_create(model, &options, &none), XF_INVALID_ARGUMENT) << size;
    EXPECT_STREQ(xf_message(), "the options' size is not set");
    EXPECT_EQ(none, nullptr);
  }
  const int32_t ids[] = {5};
  const int64_t offsets[] = {0, 1};
  int32_t tokens[8], length;
  float alignments[8];
  for (size_t size : {offsetof(xf_hypotheses, alignments) + 4, sizeof(xf_hypotheses) - 1}) {
    xf_hypotheses results = {size, tokens, 8, &length, nullptr, alignments, 1};
    EXPECT_EQ(xf_generate(handle, ids, offsets, 1, nullptr, &results), XF_INVALID_ARGUMENT) << size;
    EXPECT_STREQ(xf_message(), "the results' arrays are null or their size is not set");
  }
}

// A caller that was built with a later version's header has fields behind those that are known here.
TEST_F(session, leaves_alone_what_it_does_not_know) {
  open({}, 1);
  auto expect_kept = [&](auto known, auto &&get) {
    struct {
      decltype(known) info;
      int64_t later;
    } given = {{}, 77};
    given.info.size = sizeof(given);
    ASSERT_EQ(get(&given.info), XF_OK) << xf_message();
    EXPECT_EQ(given.info.size, sizeof(given));
    EXPECT_EQ(given.later, 77);
    given.info.size = 0;
    EXPECT_EQ(get(&given.info), XF_INVALID_ARGUMENT);
  };
  expect_kept(xf_limits(), [&](auto *limits) { return xf_get_limits(model, limits); });
  expect_kept(xf_search_info(), [&](auto *info) { return xf_get_search_info(model, info); });
  expect_kept(xf_encoding_info(), [&](auto *info) { return xf_get_encoding_info(handle, info); });
}

// For callers that were built with an older header, whose struct ends after its first `first_size` bytes, and with a newer one;
// the fields of this one end after `fields` bytes.
template <typename T, typename F> void expect_initialised(F &&init, size_t first_size, size_t fields) {
  T whole;
  init(&whole, sizeof(T));
  EXPECT_EQ(whole.size, sizeof(T));
  for (size_t size : {first_size, sizeof(T), sizeof(T) + 8}) {
    alignas(T) uint8_t caller[sizeof(T) + 16];
    std::memset(caller, 0x55, sizeof(caller));
    whole.size = size;
    init(reinterpret_cast<T *>(caller), size);
    EXPECT_EQ(std::memcmp(caller, &whole, std::min(size, fields)), 0) << size << " bytes";
    for (size_t i = sizeof(T); i < size; ++i)
      EXPECT_EQ(caller[i], 0) << i << " of " << size << " bytes";
    for (size_t i = size; i < sizeof(caller); ++i)
      EXPECT_EQ(caller[i], 0x55) << i << " of " << size << " bytes";
  }
}

TEST(options, are_initialised_as_far_as_the_caller_has_them) {
  expect_initialised<xf_session_options>(xf_session_options_init, XF_FIRST_SIZE(xf_session_options, isa),
                                         XF_FIRST_SIZE(xf_session_options, threads_context));
  expect_initialised<xf_generate_options>(xf_generate_options_init, XF_FIRST_SIZE(xf_generate_options, length_penalty),
                                          XF_FIRST_SIZE(xf_generate_options, shortlist));
}

TEST_F(session, runs_the_kernels_of_the_chosen_instruction_set) {
  constexpr int isas[] = {XF_ABI_BASELINE, XF_ABI_AVX2, XF_ABI_AVX512}; // which the sample has
  for (int index = 0; index < 3 && xf::rt::detect_isa().has(isas[index]); ++index) {
    open({}, 1, isas[index]);
    EXPECT_STREQ(xf_session_isa(handle), xf::rt::isa_name(isas[index]));
    int32_t x[2] = {0, 0}, which[2] = {-1, -1};
    xf_tensor in = {"x", XF_I32, 1, {2}, x}, out = {"isa", XF_I32, 1, {2}, which};
    ASSERT_EQ(xf_run(handle, "which", &in, 1, &out, 1), XF_OK) << xf_message();
    EXPECT_EQ(which[1], index);
    TearDown();
    handle = nullptr, model = nullptr;
  }
}

TEST_F(session, keeps_the_callers_floating_point_setting) {
  open({}, 2);
  unsigned before = _mm_getcsr(), strange = before | 0x8040 | 0x2000; // flush and zero denormals, round down
  _mm_setcsr(strange);
  int32_t x = 0, which = -1;
  xf_tensor in = {"x", XF_I32, 1, {1}, &x}, out = {"isa", XF_I32, 1, {1}, &which};
  xf_status status = xf_run(handle, "which", &in, 1, &out, 1);
  unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(status, XF_OK);
  EXPECT_EQ(after, strange);
}

// Whatever a search is asked for, and whether its step chooses tokens or gives logits.
class allocations : public session, public testing::WithParamInterface<bool> {};

TEST_P(allocations, are_none_while_running) {
  if (!xf_test_counts_allocations())
    GTEST_SKIP() << "allocations are not counted in this build";
  sample::options o;
  o.aligns = true, o.chooses = GetParam();
  open(o, 3);
  constexpr int kSentences = 100, kCapacity = sample::kTarget;
  std::vector<int32_t> ids, given;
  std::vector<int64_t> offsets = {0}, given_offsets = {0};
  for (int i = 0; i < kSentences; ++i) {
    for (int k = 0; k <= i % sample::kSource; ++k)
      ids.push_back(3 + (i * 7 + k * 5) % 27);
    for (int k = 0; k <= i % 3; ++k)
      given.push_back(3 + (i * 5 + k * 7) % 8);
    offsets.push_back(static_cast<int64_t>(ids.size()));
    given_offsets.push_back(static_cast<int64_t>(given.size()));
  }
  std::string path = testing::TempDir() + "allocations-" + std::to_string(getpid());
  std::ofstream(path) << "\t4 5 6 7 8\n5\t9 10\n8\t3\n";
  xf_shortlist *list = nullptr;
  ASSERT_EQ(xf_shortlist_open(model, path.c_str(), 1, &list), XF_OK) << xf_message();
  unlink(path.c_str());

  const int32_t prefix[] = {4, 5}, tokens[] = {7, 9};
  int64_t received = 0;
  xf_generate_options plain;
  xf_generate_options_init(&plain, sizeof(plain));
  std::vector<std::pair<const char *, xf_generate_options>> searches;
  auto add = [&](const char *name, auto &&change) {
    searches.emplace_back(name, plain);
    change(searches.back().second);
  };
  add("greedy, no scores", [](auto &s) { s.scores = 0; });
  add("beams", [](auto &s) { s.beam = s.n_best = 4, s.length_penalty = 0.7; });
  add("drawn", [&](auto &s) {
    s.beam = s.n_best = 4, s.sample = 1, s.top_k = 5, s.top_p = 0.9, s.temperature = 1.5;
    s.repetition_penalty = 1.5, s.no_repeat_ngram = 3, s.prefix = prefix, s.prefix_count = 2;
  });
  add("no repetitions", [](auto &s) { s.beam = s.n_best = 3, s.no_repeat_ngram = 2, s.repetition_penalty = 1.2; });
  add("alternatives", [](auto &s) { s.beam = s.n_best = 3, s.alternatives = 1; });
  add("lengths and tokens", [&](auto &s) {
    s.beam = 2, s.min_length = 3, s.max_length = 9, s.batch = 2;
    s.suppress = tokens, s.suppress_count = 1, s.ends = tokens + 1, s.ends_count = 1;
  });
  add("a prefix for each", [&](auto &s) { s.beam = 2, s.prefix = given.data(), s.prefix_offsets = given_offsets.data(), s.prefix_counts = 1; });
  add("a shortlist", [&](auto &s) { s.beam = s.n_best = 2, s.shortlist = list; });
  add("coverage", [](auto &s) { s.beam = s.n_best = 4, s.coverage_penalty = 0.5; });
  add("told of tokens", [&](auto &s) {
    s.on_token = [](void *context, int64_t, int32_t) { ++*static_cast<int64_t *>(context); };
    s.token_context = &received;
  });
  add("scores of results", [&](auto &s) {
    s.targets = given.data(), s.target_offsets = given_offsets.data(), s.prefix = prefix, s.prefix_count = 2, s.coverage_penalty = 0.5;
  });

  std::vector<int32_t> out(kSentences * 4 * kCapacity), lengths(kSentences * 4), src(48, 5);
  std::vector<double> scores(kSentences * 4);
  std::vector<float> weights(out.size() * sample::kSource), memory(96), rows(ids.size() * 2);
  xf_hypotheses plainly = {sizeof(plainly), out.data(), kCapacity, lengths.data(), scores.data()}, aligned = plainly;
  aligned.alignments = weights.data(), aligned.alignment_width = sample::kSource;
  xf_tensor in = {"src", XF_I32, 2, {4, 12}, src.data()}, result = {"memory", XF_F32, 3, {4, 12, 2}, memory.data()};
  for (const auto &[name, search] : searches)
    for (const xf_hypotheses *results : {&plainly, &aligned}) {
      long before = xf_test_allocations();
      xf_status many = xf_generate(handle, ids.data(), offsets.data(), kSentences, &search, results);
      xf_status few = xf_generate_from(handle, &in, 1, &search, results);
      xf_status encoded = xf_encode(handle, ids.data(), offsets.data(), kSentences, rows.data(), static_cast<int64_t>(rows.size()));
      xf_status entry = xf_run(handle, "encode", &in, 1, &result, 1);
      EXPECT_EQ(xf_test_allocations(), before) << name;
      EXPECT_EQ(std::max({many, few, encoded, entry}), XF_OK) << name << ": " << many << few << encoded << entry << " " << xf_message();
    }
  EXPECT_GT(received, kSentences);
  xf_shortlist_free(list);
}

INSTANTIATE_TEST_SUITE_P(steps, allocations, testing::Values(false, true));

TEST_F(session, reads_vocabularies_once) {
  if (!xf_test_counts_allocations())
    GTEST_SKIP() << "allocations are not counted in this build";
  open({}, 1);
  const char *line = "a b";
  auto allocations = [&] {
    long before = xf_test_allocations();
    xf_lines *results = nullptr;
    EXPECT_EQ(xf_process_lines(handle, &line, 1, 0, nullptr, &results), XF_OK) << xf_message();
    EXPECT_EQ(xf_line_results(results, 0), 1);
    xf_lines_free(results);
    return xf_test_allocations() - before;
  };
  long first = allocations(), second = allocations();
  EXPECT_GT(first, second);
  EXPECT_EQ(allocations(), second);
}

} // namespace
