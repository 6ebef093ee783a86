#include "runtime/device/device_search.h"

#include "runtime/core/arena.h"
#include "runtime/core/error.h"
#include "runtime/core/search_options.h"
#include "runtime/core/search_slots.h"
#include "runtime/core/step_layout.h"

#include <algorithm>
#include <cstring>

namespace xf::rt {

namespace {

// Sizes of steps whose launches are kept: a graph of a large model's step takes some MiB.
constexpr size_t kMaxCachedSteps = 32;

} // namespace

device_search::memory_layout::memory_layout(int64_t sentences, int64_t beams, int64_t end_words)
    : words(XF_ABI_SENTENCE_WORDS + beams), decided_words(2 + 5 * beams) {
  arena_plan plan;
  auto add = [&](int64_t count, uint64_t size) { return plan.add(static_cast<uint64_t>(count), size, device::kAlignment); };
  sums = add(sentences * beams, sizeof(double));
  this->sentences = add(sentences * words, sizeof(int32_t));
  ends = add(end_words, sizeof(uint32_t));
  moves = add(sentences * beams * 3, sizeof(int32_t));
  pair_sums = add(sentences * beams * 2, sizeof(double));
  decided = add(sentences * decided_words, sizeof(int32_t));
  end = add(0, 1); // where another may begin
}

device_search::device_search(device_executor &executor, const step_layout &layout, logit_choice &logits)
    : executor_(executor), layout_(layout), logits_(logits) {
  const xf_abi_generate &limits = executor.get_model().header().generate;
  slot_ = memory_layout(limits.batch, std::min<int64_t>(limits.beam, XF_ABI_MAX_ADVANCED_BEAMS), layout.words).end;
  memory_ = {executor.get_device(), slot_};
  staging_ = {executor.get_device(), (1 + kMaxAhead) * slot_};
  pairs_.resize(2 * limits.beam);
}

void device_search::begin(const int64_t *dims, void *const *io, bool by_logits, const search_slots &slots, const search_options &options) {
  executor_.submit([&] {
    if (started_ != finished_) // the last search has stopped in the middle
      executor_.get_device().wait(executor_.get_device().mark());
    started_ = finished_ = 0;
    rows_ = slots.rows().count();
    sentences_ = slots.taken();
    beams_ = options.beam;
    offsets_ = memory_layout(sentences_, beams_, layout_.words);
    by_logits_ = by_logits;
    entry_ = by_logits ? layout_.plain : layout_.entry;
    executor_.upload(*entry_, dims, io);
    // The device changes them.
    for (int index : {layout_.tokens, layout_.past})
      executor_.invalidate(static_cast<size_t>(index));
    if (by_logits)
      logits_.begin(slots, options);
    else
      executor_.invalidate(static_cast<size_t>(layout_.choice.classes));
    upload_sentences(slots, options.independent_beams());
  });
}

void device_search::upload_sentences(const search_slots &slots, bool independent) {
  auto *sums = reinterpret_cast<double *>(staging_.get() + offsets_.sums);
  auto *words = reinterpret_cast<int32_t *>(staging_.get() + offsets_.sentences);
  slots.for_each([&](int32_t index, const slot &s) {
    const beam_search &search = s.beams;
    for (int32_t b = 0; b < beams_; ++b) {
      sums[b] = b < search.open() ? search.beam(b).sum : 0.0;
      words[XF_ABI_SENTENCE_WORDS + b] = slots.rows().of(index)[b < search.open() ? b : 0];
    }
    words[XF_ABI_OPEN] = search.open();
    words[XF_ABI_PRODUCED] = search.produced();
    words[XF_ABI_MAX_LENGTH] = search.max_length();
    words[XF_ABI_MIN_LENGTH] = s.min_length;
    words[XF_ABI_FINISHED] = search.finished();
    words[XF_ABI_CLASS] = slots.classes().of(index, /*may_end=*/true);
    words[XF_ABI_POSITIONS] = static_cast<int32_t>(s.past);
    words[XF_ABI_DONE] = 0;
    words[XF_ABI_INDEPENDENT] = independent;
    sums += beams_;
    words += offsets_.words;
  });
  write_ends(slots.ends());
  executor_.get_device().upload(memory_.get(), staging_.get(), offsets_.moves);
}

void device_search::write_ends(const end_tokens &ends) {
  auto *bits = reinterpret_cast<uint32_t *>(staging_.get() + offsets_.ends);
  std::fill_n(bits, layout_.words, 0u);
  ends.for_each([&](int32_t token) { bits[token / 32] |= 1u << (token % 32); });
}

void device_search::start(const int64_t *dims) {
  if (started_ - finished_ == kMaxAhead)
    fail(status::internal, "too many steps are under way");
  executor_.submit([&] {
    cached_step *step = find(dims);
    if (step && !step->launches && records_)
      record(*step, dims);
    if (step && step->launches)
      executor_.get_device().replay(*step->launches);
    else
      launch(dims);
    executor_.get_device().download(downloaded(started_), memory_.get() + offsets_.pair_sums, offsets_.end - offsets_.pair_sums);
    marks_[started_ % kMaxAhead] = executor_.get_device().mark();
  });
  ++started_;
}

void device_search::launch(const int64_t *dims) {
  executor_.run(*entry_, dims);
  if (by_logits_)
    logits_.choose(sentences(), beams_);
  advance();
}

// What a step launches follows from its sizes and from where its arguments lie. Of sizes that are new, nothing is known: they may
// not come again.
device_search::cached_step *device_search::find(const int64_t *dims) {
  sizes_.assign(dims, dims + executor_.get_model().dims().size());
  sizes_.insert(sizes_.end(), {beams_, sentences_, reinterpret_cast<int64_t>(executor_.tensor(0))});
  if (by_logits_)
    for (int64_t word : logits_.kind())
      sizes_.push_back(word);
  ++clock_;
  for (cached_step &step : cache_)
    if (step.sizes == sizes_) {
      step.used = clock_;
      return &step;
    }
  if (cache_.size() == kMaxCachedSteps)
    cache_.erase(std::min_element(cache_.begin(), cache_.end(), [](const auto &x, const auto &y) { return x.used < y.used; }));
  cache_.push_back({sizes_, clock_, nullptr});
  return nullptr;
}

void device_search::record(cached_step &step, const int64_t *dims) {
  device &target = executor_.get_device();
  records_ = target.begin_recording();
  if (!records_)
    return;
  // What is wrong with the launches themselves is said when they are asked for without a recording.
  try {
    launch(dims);
  } catch (...) {
    target.end_recording();
    records_ = false;
    return;
  }
  step.launches = target.end_recording();
  records_ = step.launches != nullptr;
}

xf_abi_view device_search::sentences() const {
  return make_view(memory_.get() + offsets_.sentences, {sentences_, offsets_.words}, {offsets_.words, 1});
}

candidate_buffers device_search::candidates() const {
  if (by_logits_)
    return logits_.candidates();
  const choice_indices &at = layout_.choice;
  auto input = [&](int index) { return executor_.tensor(static_cast<size_t>(index)); };
  auto output = [&](int index) { return executor_.tensor(entry_->inputs.size() + static_cast<size_t>(index)); };
  return {output(at.values), output(at.tokens), output(at.norms), input(at.options), input(at.classes), layout_.max_candidates};
}

// Lets the device decide as the host would, move rows of states, and set what the next step is told.
void device_search::advance() {
  int64_t moves = sentences_ * beams_;
  candidate_buffers found = candidates();
  auto input = [&](int index) { return executor_.tensor(static_cast<size_t>(index)); };
  auto address = [&](uint64_t offset) { return memory_.get() + offset; };
  const xf_abi_view views[] = {make_view(found.values, {rows_, found.row_stride}, {found.row_stride, 1}),
                               make_view(found.tokens, {rows_, found.row_stride}, {found.row_stride, 1}),
                               make_view(found.norms, {rows_, 2}, {2, 1}),
                               make_view(found.options, {2}, {1}),
                               make_view(address(offsets_.sums), {sentences_, beams_}, {beams_, 1}),
                               sentences(),
                               make_view(input(layout_.tokens), {rows_}, {1}),
                               make_view(input(layout_.past), {rows_}, {1}),
                               make_view(found.classes, {rows_}, {1}),
                               make_view(address(offsets_.moves), {moves, 3}, {3, 1}),
                               make_view(address(offsets_.pair_sums), {sentences_, 2 * beams_}, {2 * beams_, 1}),
                               make_view(address(offsets_.decided), {sentences_, offsets_.decided_words}, {offsets_.decided_words, 1}),
                               make_view(address(offsets_.ends), {layout_.words}, {1})};
  executor_.launch(executor_.get_model().gpu().advance, views);
  // A single beam's row stays where it is.
  if (beams_ == 1)
    return;
  executor_.move_rows(address(offsets_.moves), moves);
  if (by_logits_)
    logits_.move_rows(address(offsets_.moves), moves);
}

void device_search::finish() {
  uint64_t mark = marks_[finished_ % kMaxAhead];
  ++finished_;
  executor_.submit([&] { executor_.get_device().wait(mark); });
}

device_decision device_search::decision(size_t sentence) {
  const uint8_t *slot = downloaded(finished_ - 1) - offsets_.pair_sums;
  auto *sums = reinterpret_cast<const double *>(slot + offsets_.pair_sums) + static_cast<int64_t>(sentence) * 2 * beams_;
  auto *words = reinterpret_cast<const int32_t *>(slot + offsets_.decided) + static_cast<int64_t>(sentence) * offsets_.decided_words;
  auto count = static_cast<size_t>(words[0]);
  for (size_t i = 0; i < count; ++i) {
    const int32_t *pair = words + 2 + beams_ + 2 * i;
    pairs_[i] = {sums[i], pair[0], pair[1]};
  }
  return {{pairs_.data(), count}, words[1] != 0, words + 2};
}

} // namespace xf::rt
