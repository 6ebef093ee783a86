#include "runtime/device/logit_choice.h"

#include "runtime/core/arena.h"
#include "runtime/core/row_choices.h"
#include "runtime/core/search_options.h"
#include "runtime/core/search_slots.h"
#include "runtime/core/step_layout.h"

#include <cstring>
#include <limits>

namespace xf::rt {

namespace {

// Positions that are moved together.
constexpr int64_t kUnitPositions = 4;
// The elements of `how`, which draws are told (xf_abi.h).
constexpr int64_t kDrawWords = 4;

} // namespace

logit_choice::memory_layout::memory_layout(const logit_choice &c) {
  arena_plan plan;
  auto add = [&](int64_t count, uint64_t size) { return plan.add(static_cast<uint64_t>(count), size, device::kAlignment); };
  int64_t changed = c.has(kChanges) ? c.rows_ : 0, scored = c.has(kScores) ? c.rows_ : 0, drawn = c.has(kDraws) ? c.rows_ : 0;
  rules = add(2, sizeof(double));
  how = add(kDrawWords, sizeof(double));
  options = add(4, sizeof(int32_t));
  classes = add(c.rows_, sizeof(int32_t));
  targets = add(scored, sizeof(int32_t));
  draws = add(drawn, sizeof(uint64_t));
  forbidden = add(c.classes_ * c.layout_.words, sizeof(uint32_t));
  read = add(changed * c.positions_, sizeof(int32_t));
  norms = add(c.rows_ * 2, sizeof(float));
  logits = add(scored, sizeof(float));
  values = add(c.rows_ * XF_ABI_MAX_CHOSEN, sizeof(float));
  tokens = add(c.rows_ * XF_ABI_MAX_CHOSEN, sizeof(int32_t));
  parts = add(c.rows_ * c.parts_, sizeof(float));
  end = plan.bytes();
}

logit_choice::logit_choice(device_executor &executor, const step_layout &layout)
    : executor_(executor), layout_(layout), parts_(static_cast<int64_t>(executor.get_model().header().gpu.choose_parts)),
      positions_((executor.get_model().header().generate.target + kUnitPositions - 1) / kUnitPositions * kUnitPositions), offsets_(*this),
      is_read_(static_cast<size_t>((layout.vocabulary + 31) / 32)) {}

bool logit_choice::draws_of_all(const sampling &params) const { return params.top_k == 0 || params.top_k >= layout_.vocabulary; }

bool logit_choice::can_draw(const sampling &params) const { return draws_of_all(params) ? params.top_p >= 1.0 : params.top_k <= XF_ABI_MAX_CHOSEN; }

void logit_choice::reserve(uint32_t uses, int64_t rows, const search_slots &slots) {
  use_ = uses;
  rows_ = rows;
  classes_ = slots.classes().count(slots.count());
  offsets_ = memory_layout(*this);
  memory_.grow(executor_.get_device(), offsets_.end);
  staging_.grow(executor_.get_device(), offsets_.values);
}

// Uploads all that the host writes.
void logit_choice::upload(const search_slots &slots) {
  std::memcpy(staged(offsets_.forbidden), slots.classes().forbidden(0), static_cast<size_t>(classes_ * layout_.words) * sizeof(uint32_t));
  executor_.get_device().upload(memory_.get(), staging_.get(), offsets_.norms);
}

// How many candidates are found, and how many of them advance takes; and whether there are sums of exponentials.
void logit_choice::write_options(int32_t found, int32_t taken, bool sums) {
  const int32_t words[] = {found, sums, taken, sums};
  std::memcpy(staged(offsets_.options), words, sizeof(words));
}

void logit_choice::begin(const search_slots &slots, const search_options &options) {
  bool changes = options.changes_logits();
  reserve((changes ? kChanges : 0u) | (options.samples ? kDraws : 0u), slots.rows().count(), slots);
  *staged<double>(offsets_.rules) = options.repetition_penalty;
  staged<int64_t>(offsets_.rules)[1] = options.no_repeat_ngram;
  for (int32_t row = 0; row < rows_; ++row) {
    staged(offsets_.classes)[row] = slots.class_of(row);
    if (changes)
      write_read_tokens(slots, row);
  }
  int32_t taken = options.independent_beams() ? 1 : options.candidates();
  write_options(options.samples && !draws_of_all(options.sample) ? options.sample.top_k : taken, taken, options.wants_scores());
  if (options.samples)
    write_draws(slots, options);
  upload(slots);
}

void logit_choice::write_draws(const search_slots &slots, const search_options &options) {
  auto *how = staged<double>(offsets_.how);
  how[0] = options.sample.temperature;
  how[1] = options.sample.top_p;
  *staged<int64_t>(offsets_.how + 2 * sizeof(double)) = draws_of_all(options.sample) ? 0 : options.sample.top_k;
  how[3] = options.sample.min_distance();
  slots.for_each([draws = staged<uint64_t>(offsets_.draws)](int32_t, const slot &s) mutable { *draws++ = s.draws; });
}

// Writes all tokens that the row has read, repeated ones marked.
void logit_choice::write_read_tokens(const search_slots &slots, int32_t row) {
  int32_t *tokens = staged(offsets_.read) + row * positions_;
  std::span<const int32_t> read = slots.tokens_read(row, tokens);
  auto for_known = [&](auto visit) {
    for (size_t i = 0; i < read.size(); ++i)
      if (int32_t token = tokens[i] < 0 ? -1 - tokens[i] : tokens[i]; token < layout_.vocabulary)
        visit(tokens[i], is_read_[static_cast<size_t>(token / 32)], 1u << (token % 32));
  };
  for_known([](int32_t &token, uint32_t &word, uint32_t bit) {
    if (word & bit)
      token = -1 - token;
    word |= bit;
  });
  for_known([](int32_t, uint32_t &word, uint32_t bit) { word &= ~bit; });
}

candidate_buffers logit_choice::candidates() const {
  uint8_t *memory = memory_.get();
  return {memory + offsets_.values,  memory + offsets_.tokens, memory + offsets_.norms, memory + offsets_.options + 2 * sizeof(int32_t),
          memory + offsets_.classes, XF_ABI_MAX_CHOSEN};
}

// A tensor of `width` elements of each row.
xf_abi_view logit_choice::row_view(uint64_t offset, int64_t width) const {
  return width == 1 ? make_view(memory_.get() + offset, {rows_}, {1}) : make_view(memory_.get() + offset, {rows_, width}, {width, 1});
}

xf_abi_view logit_choice::forbidden() const { return make_view(memory_.get() + offsets_.forbidden, {classes_, layout_.words}, {layout_.words, 1}); }

// What the step gives.
xf_abi_view logit_choice::logits() const {
  size_t index = layout_.plain->inputs.size() + static_cast<size_t>(layout_.logits_output);
  return make_view(executor_.tensor(index), {rows_, layout_.vocabulary}, {layout_.vocabulary, 1});
}

void logit_choice::choose(const xf_abi_view &sentences, int64_t beams) {
  uint8_t *memory = memory_.get();
  if (has(kChanges)) {
    auto input = [&](int index) { return make_view(executor_.tensor(static_cast<size_t>(index)), {rows_}, {1}); };
    const xf_abi_view views[] = {logits(), input(layout_.tokens), input(layout_.past), row_view(offsets_.read, positions_),
                                 make_view(memory + offsets_.rules, {2}, {1})};
    executor_.launch(executor_.get_model().gpu().apply_rules, views);
  }
  find_candidates();
  if (has(kDraws)) {
    const xf_abi_view views[] = {logits(),
                                 forbidden(),
                                 row_view(offsets_.classes),
                                 row_view(offsets_.values, XF_ABI_MAX_CHOSEN),
                                 row_view(offsets_.tokens, XF_ABI_MAX_CHOSEN),
                                 row_view(offsets_.norms, 2),
                                 sentences,
                                 make_view(memory + offsets_.draws, {sentences.size[0], beams}, {1, 0}),
                                 make_view(memory + offsets_.how, {kDrawWords}, {1})};
    executor_.launch(executor_.get_model().gpu().draw, views);
  }
}

void logit_choice::find_candidates() {
  uint8_t *memory = memory_.get();
  const xf_abi_view views[] = {logits(),
                               forbidden(),
                               row_view(offsets_.classes),
                               make_view(memory + offsets_.options, {2}, {1}),
                               row_view(offsets_.values, XF_ABI_MAX_CHOSEN),
                               row_view(offsets_.tokens, XF_ABI_MAX_CHOSEN),
                               row_view(offsets_.norms, 2),
                               row_view(offsets_.parts, parts_)};
  executor_.launch(executor_.get_model().gpu().choose_logits, views);
}

void logit_choice::move_rows(const uint8_t *moves, int64_t count) {
  if (!has(kChanges))
    return;
  const xf_abi_view views[] = {make_view(memory_.get() + offsets_.read, {1, 1, kUnitPositions, kUnitPositions * int64_t{sizeof(int32_t)}},
                                         {0, 0, positions_ * int64_t{sizeof(int32_t)}}),
                               make_view(moves, {count, 3}, {3, 1})};
  executor_.launch(executor_.get_model().gpu().move_rows, views);
}

// The row of logits of a position among those that a step has read.
int64_t logit_choice::logits_row(int64_t row, int64_t position, int64_t positions) const {
  return executor_.get_model().header().generate.sequence_first ? position * (rows_ / positions) + row : row * positions + position;
}

void logit_choice::write_targets(const search_slots &slots, const search_options &options, int64_t positions) {
  for (int32_t row = 0; row < slots.rows().count(); ++row)
    for (int64_t position = 0; position < positions; ++position) {
      scored_target target = slots.target_of(row, position, positions, options.targets).value_or(scored_target{token_classes::kNone, 0});
      int64_t index = logits_row(row, position, positions);
      staged(offsets_.classes)[index] = target.row_class;
      staged(offsets_.targets)[index] = target.token;
    }
}

void logit_choice::score(const int64_t *dims, void *const *io, int64_t positions, const search_slots &slots, const search_options &options,
                         row_choices &choices) {
  executor_.submit([&] {
    device &target = executor_.get_device();
    target.wait(target.mark()); // a search that has stopped in the middle may have left something
    reserve(kScores, slots.rows().count() * positions, slots);
    write_targets(slots, options, positions);
    executor_.upload(*layout_.plain, dims, io);
    write_options(/*found=*/1, /*taken=*/1, /*sums=*/true);
    upload(slots);
    executor_.run(*layout_.plain, dims);
    find_candidates();
    uint8_t *memory = memory_.get();
    const xf_abi_view views[] = {logits(), forbidden(), row_view(offsets_.classes), row_view(offsets_.targets), row_view(offsets_.logits)};
    executor_.launch(executor_.get_model().gpu().take_logits, views);
    target.download(staging_.get() + offsets_.norms, memory + offsets_.norms, offsets_.values - offsets_.norms);
    target.wait(target.mark());
  });
  for (int64_t row = 0; row < slots.rows().count(); ++row)
    for (int64_t position = 0; position < positions; ++position) {
      int64_t index = logits_row(row, position, positions), result = row * positions + position;
      const float *norms = staged<float>(offsets_.norms) + 2 * index;
      bool exists = norms[0] > -std::numeric_limits<float>::infinity();
      choices.summary(result) = summary_of(exists, norms, exists);
      *choices.candidates(result) = {staged<float>(offsets_.logits)[index], staged(offsets_.targets)[index]};
    }
}

} // namespace xf::rt
