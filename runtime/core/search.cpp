// Which sentences are searched when: windows, batches, slots. The steps themselves are in search_step.cpp.
#include "runtime/core/search.h"

#include "runtime/core/cpu.h"
#include "runtime/core/error.h"
#include "runtime/core/session.h"

#include <algorithm>
#include <cstdio>

namespace xf::rt {

searcher::searcher(session &owner, const model &m, arena_plan &plan)
    : session_(owner), model_(m), g_(m.header().generate), layout_(m, plan) {}

void searcher::bind(const arena &memory) {
  reduce_ = row_reducer_for(session_.isa());
  memory_ = memory.at(0);
  order_ = memory.as<int32_t>(layout_.order);
  slots_argument_ = memory.as<int32_t>(layout_.slots);
  beam_rows_ = memory.as<int32_t>(layout_.beam_rows);
  next_rows_ = memory.as<int32_t>(layout_.next_rows);
  row_slot_ = memory.as<int32_t>(layout_.row_slot);
  row_beam_ = memory.as<int32_t>(layout_.row_beam);
  kept_ = memory.as<uint8_t>(layout_.kept);
  moves_ = memory.as<row_move>(layout_.moves);
  prefix_ = memory.as<int32_t>(layout_.prefix);
  candidates_ = memory.as<candidate>(layout_.candidates);
  summaries_ = memory.as<row_summary>(layout_.summaries);
  tokens_ = memory.as<int32_t>(layout_.tokens);
  for (beam_search &search : layout_.beams)
    search.bind(memory);

  const entry_info &step = *layout_.step;
  for (uint64_t offset : layout_.step_tensors)
    step_io_.push_back(memory.at(offset));
  step_tokens_ = static_cast<int32_t *>(step_io_[g_.tokens_input]);
  step_past_ = static_cast<int32_t *>(step_io_[step.find_input("xf.past")]);
  if (int at = step.find_input("xf.slots"); at >= 0)
    step_slots_ = static_cast<int32_t *>(step_io_[at]);
  logits_ = static_cast<float *>(step_io_[step.inputs.size() + g_.logits_output]);
  for (const source_tensor &tensor : layout_.source_tensors)
    source_pointers_.push_back(memory.at(tensor.offset));
  given_inputs_.resize(layout_.source.inputs.size() + 1);
  given_pointers_.resize(layout_.source_tensors.size());
  encode_io_.resize(layout_.encode.arguments.size());
  begin_io_.resize(layout_.begin.arguments.size());
  source_dims_.resize(model_.dims().size());
  step_dims_.resize(model_.dims().size());
  slots_.resize(layout_.batch);
  beam_summaries_.resize(layout_.beam);
  beam_candidates_.resize(layout_.beam);
}

void searcher::check(const search_options &o) const {
  auto refuse = [](const char *what, long long value, long long low, long long high) {
    fail(status::invalid_argument, "%s must be between %lld and %lld, not %lld", what, low, high, value);
  };
  if (o.beam < 1 || o.beam > layout_.beam)
    refuse("the number of beams", o.beam, 1, layout_.beam);
  if (o.best < 1 || o.best > o.beam)
    refuse("the number of results of a line (at most the number of beams)", o.best, 1, o.beam);
  if (o.batch < 0 || o.batch > layout_.batch)
    refuse("the batch", o.batch, 1, layout_.batch);
  if (o.max_length == 0 || o.max_length < -1 || o.max_length > g_.target)
    refuse("the maximum length", o.max_length, 1, g_.target);
  if (o.min_length < -1 || o.min_length > g_.target)
    refuse("the minimum length", o.min_length, 0, g_.target);
  if (o.min_length > 0 && o.max_length > 0 && o.min_length > o.max_length)
    fail(status::invalid_argument, "the minimum length %d is above the maximum length %d", o.min_length,
         o.max_length);
  if (!(o.length_penalty >= -100.0 && o.length_penalty <= 100.0))
    fail(status::invalid_argument, "the length penalty must be between -100 and 100, not %g", o.length_penalty);
  for (int32_t token : o.suppress)
    if (token < 0 || token >= layout_.vocabulary)
      refuse("a suppressed token", token, 0, layout_.vocabulary - 1);
}

int64_t searcher::own_length(std::span<const int32_t> ids) const {
  size_t length = ids.size();
  while (length > 0 && g_.pad >= 0 && ids[length - 1] == g_.pad)
    --length;
  return static_cast<int64_t>(length);
}

// Why the sentence cannot be searched, or null.
const char *searcher::refuse(std::span<const int32_t> ids) {
  if (ids.empty())
    return "it has no tokens";
  if (own_length(ids) == 0)
    return "it has nothing but padding";
  bool source = layout_.source_tokens >= 0;
  auto length = static_cast<long long>(ids.size());
  if (source && length > g_.source) {
    std::snprintf(message_, sizeof(message_), "it has %lld tokens; at most %lld are possible", length,
                  static_cast<long long>(g_.source));
    return message_;
  }
  if (!source) {
    long long most = g_.target - (g_.start >= 0 && ids[0] != g_.start ? 1 : 0);
    if (length > most) {
      std::snprintf(message_, sizeof(message_), "it has %lld tokens; at most %lld are possible", length, most);
      return message_;
    }
  }
  const tensor_info &tokens =
      source ? *layout_.source_tensors[layout_.source_tokens].info : layout_.step->inputs[g_.tokens_input];
  for (int32_t id : ids)
    if (id < 0 || (tokens.bound > 0 && id >= tokens.bound)) {
      std::snprintf(message_, sizeof(message_), "there is no token %d; the last is %lld", id,
                    static_cast<long long>(tokens.bound) - 1);
      return message_;
    }
  return nullptr;
}

void searcher::generate(const token_rows &rows, const search_options &options, search_sink &sink) {
  check(options);
  if (!layout_.other_input.empty())
    fail(status::unsupported, "the model takes '%s' beside its tokens: it cannot be searched from tokens alone",
         layout_.other_input.c_str());
  if (layout_.source_tokens < 0 && (layout_.encode.entry || layout_.begin.entry))
    fail(status::unsupported, "the model's source is not made of tokens");
  fp_scope control_word;
  options_ = &options;
  sink_ = &sink;
  batch_ = options.batch ? options.batch : static_cast<int32_t>(layout_.batch);
  for (int64_t first = 0; first < rows.count; first += layout_.window) {
    begin_window(rows, first, std::min(layout_.window, rows.count - first));
    run_to_the_end(&rows);
  }
}

void searcher::begin_window(const token_rows &rows, int64_t first, int64_t count) {
  waiting_ = next_waiting_ = 0;
  rows_ = active_ = 0;
  for (slot &s : slots_)
    s.sentence = -1;
  auto length = [&](int64_t sentence) { return rows.offsets[sentence + 1] - rows.offsets[sentence]; };
  window_first_ = first;
  for (int64_t i = first; i < first + count; ++i) {
    std::span<const int32_t> ids(rows.ids + rows.offsets[i], static_cast<size_t>(length(i)));
    if (const char *problem = refuse(ids))
      sink_->sentence_failed(i, problem);
    else
      order_[waiting_++] = static_cast<int32_t>(i - first);
  }
  std::sort(order_, order_ + waiting_, [&](int32_t x, int32_t y) {
    int64_t a = length(first + x), b = length(first + y);
    return a != b ? a > b : x < y;
  });
}

// Sentences in the slots share one padded source length. The first of an empty batch sets it; later ones must
// not be so much shorter that padding them costs more than waiting.
bool searcher::may_join(int64_t length) const {
  if (layout_.source_tokens < 0 || length == source_length_)
    return true;
  if (g_.pad < 0)
    return false;
  return length * 4 >= source_length_ * 3 || source_length_ - length <= 4;
}

void searcher::start_waiting(const token_rows &rows) {
  int32_t free = batch_ - active_;
  // Starting a sentence costs a call: wait until some slots are free.
  if (next_waiting_ == waiting_ || free == 0 || (active_ > 0 && free * 4 < batch_))
    return;
  bool source = layout_.source_tokens >= 0;
  auto sentence_at = [&](int64_t place) { return window_first_ + order_[place]; };
  auto ids_of = [&](int64_t sentence) {
    return std::span<const int32_t>(rows.ids + rows.offsets[sentence],
                                    static_cast<size_t>(rows.offsets[sentence + 1] - rows.offsets[sentence]));
  };
  if (active_ == 0)
    source_length_ = static_cast<int64_t>(ids_of(sentence_at(next_waiting_)).size());
  bool fresh = active_ == 0;
  int32_t count = 0;
  auto *tokens = source ? static_cast<int32_t *>(source_pointers_[layout_.source_tokens]) : nullptr;
  // Without other sentences to keep company, any shorter one may come along.
  int64_t last = next_waiting_;
  while (last < waiting_ && last - next_waiting_ < free) {
    auto length = static_cast<int64_t>(ids_of(sentence_at(last)).size());
    if (source && !(fresh && g_.pad >= 0) && !may_join(length))
      break;
    ++last;
  }
  int64_t sentences = last - next_waiting_;
  for (int32_t number = 0; number < batch_ && count < sentences; ++number) {
    if (slots_[number].sentence >= 0)
      continue;
    int64_t sentence = sentence_at(next_waiting_ + count);
    std::span<const int32_t> ids = ids_of(sentence);
    for (int64_t i = 0; source && i < source_length_; ++i) {
      int64_t at = g_.sequence_first ? i * sentences + count : count * source_length_ + i;
      tokens[at] = i < static_cast<int64_t>(ids.size()) ? ids[i] : g_.pad;
    }
    slots_argument_[count++] = number;
    open_slot(number, sentence, source ? std::span<const int32_t>() : ids, own_length(ids));
  }
  next_waiting_ = last;
  if (source && sentences > 0)
    run_source(sentences, source_length_, false);
}

void searcher::open_slot(int32_t number, int64_t sentence, std::span<const int32_t> prompt, int64_t own_length) {
  slot &s = slots_[number];
  s = {};
  s.sentence = sentence;
  int32_t *prefix = prefix_ + number * layout_.prefix_capacity;
  if (g_.start >= 0 && (prompt.empty() || prompt[0] != g_.start))
    prefix[s.prefix_length++] = g_.start;
  for (int32_t id : prompt)
    prefix[s.prefix_length++] = id;

  // The last token chosen is never read.
  int64_t room = g_.target - s.prefix_length + 1, length = room;
  if (options_->max_length > 0)
    length = options_->max_length;
  else if (g_.max_length_per_source != 0 || g_.max_length_base != 0)
    length = g_.max_length_per_source * own_length + g_.max_length_base;
  length = std::clamp<int64_t>(length, 1, room);
  int32_t shortest = options_->min_length >= 0 ? options_->min_length : g_.min_length;
  s.min_length = static_cast<int32_t>(std::min<int64_t>(shortest, length));
  layout_.beams[number].start(options_->beam, static_cast<int32_t>(length), g_.end);

  beam_rows_[number * layout_.beam] = rows_;
  row_slot_[rows_] = number;
  row_beam_[rows_] = 0;
  ++rows_;
  ++active_;
}

void searcher::run_source(int64_t sentences, int64_t length, bool given) {
  source_dims_[g_.batch_dim] = sentences;
  if (g_.source_dim >= 0)
    source_dims_[g_.source_dim] = length;
  auto run = [&](const source_call &call, std::vector<void *> &io) {
    if (!call.entry)
      return;
    for (size_t i = 0; i < io.size(); ++i) {
      int tensor = call.arguments[i];
      void *own = tensor < 0 ? slots_argument_ : source_pointers_[tensor];
      io[i] = given && tensor >= 0 && given_pointers_[tensor] ? given_pointers_[tensor] : own;
    }
    session_.call(*call.entry, source_dims_.data(), io.data());
  };
  run(layout_.encode, encode_io_);
  run(layout_.begin, begin_io_);
}

void searcher::run_to_the_end(const token_rows *rows) {
  while (true) {
    if (rows)
      start_waiting(*rows);
    if (active_ == 0)
      return;
    step();
  }
}

int64_t searcher::bind_source(std::span<const argument> inputs) {
  if (!layout_.encode.entry && !layout_.begin.entry)
    fail(status::unsupported, "the model has no source: it is searched from tokens");
  bind_inputs(model_, layout_.source, inputs, source_dims_.data(), given_inputs_.data());
  std::fill(given_pointers_.begin(), given_pointers_.end(), nullptr);
  for (size_t i = 0; i < layout_.source_inputs.size(); ++i)
    given_pointers_[layout_.source_inputs[i]] = given_inputs_[i];
  int64_t sentences = source_dims_[g_.batch_dim], length = source_dims_[g_.source_dim];
  if (sentences < 1 || length < 1)
    fail(status::unsupported, "the source's inputs do not say how many sentences there are, or their length");
  if (sentences > layout_.batch || length > g_.source)
    fail(status::limit, "%lld sentences of %lld positions; the search's limits are %lld and %lld",
         static_cast<long long>(sentences), static_cast<long long>(length), static_cast<long long>(layout_.batch),
         static_cast<long long>(g_.source));
  return sentences;
}

void searcher::generate_bound(const search_options &options, search_sink &sink) {
  check(options);
  fp_scope control_word;
  options_ = &options;
  sink_ = &sink;
  waiting_ = next_waiting_ = 0;
  rows_ = active_ = 0;
  int64_t sentences = source_dims_[g_.batch_dim];
  batch_ = static_cast<int32_t>(sentences);
  source_length_ = source_dims_[g_.source_dim];
  for (slot &s : slots_)
    s.sentence = -1;
  for (int32_t b = 0; b < sentences; ++b) {
    int64_t own = source_length_;
    if (layout_.source_tokens >= 0 && g_.pad >= 0) {
      auto *tokens = static_cast<const int32_t *>(given_pointers_[layout_.source_tokens]);
      auto at = [&](int64_t i) { return tokens[g_.sequence_first ? i * sentences + b : b * source_length_ + i]; };
      while (own > 0 && at(own - 1) == g_.pad)
        --own;
      if (own == 0)
        fail(status::invalid_argument, "sentence %d has nothing but padding", b);
    }
    slots_argument_[b] = b;
    open_slot(b, b, {}, own);
  }
  run_source(sentences, source_length_, true);
  run_to_the_end(nullptr);
}

} // namespace xf::rt
