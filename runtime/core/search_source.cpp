// How sentences enter a search: the slots they take, and the calls of encode and begin.
#include "runtime/core/cpu.h"
#include "runtime/core/error.h"
#include "runtime/core/search.h"
#include "runtime/core/session.h"

#include <algorithm>

namespace xf::rt {

// Sentences in the slots share one padded source length. The first of an empty batch sets it; later ones must
// not be so much shorter that padding them costs more than waiting.
bool searcher::may_join(int64_t length) const {
  if (layout_.source_tokens < 0 || length == source_length_)
    return true;
  if (g_.pad < 0)
    return false;
  return length * 4 >= source_length_ * 3 || source_length_ - length <= 4;
}

// How many of the waiting sentences may start now, in `free` slots.
int64_t searcher::joining(int64_t free) const {
  bool source = layout_.source_tokens >= 0, fresh = active_ == 0;
  // At their own lengths all may; without other sentences to keep company, any shorter one may come along.
  bool any = !source || g_.ragged_source || (fresh && g_.pad >= 0);
  int64_t count = 0;
  while (count < std::min(free, window_.waiting()) && (any || may_join(window_.length(count))))
    ++count;
  return count;
}

void searcher::start_waiting() {
  int32_t free = batch_ - active_;
  // Starting a sentence costs a call: wait until some slots are free.
  if (window_.waiting() == 0 || free == 0 || (active_ > 0 && free * 4 < batch_))
    return;
  bool source = layout_.source_tokens >= 0;
  // The first sentence of a window is its longest.
  if (active_ == 0)
    source_length_ = window_.length(0);
  int64_t sentences = joining(free);
  int32_t number = 0;
  for (int64_t i = 0; i < sentences; ++i, ++number) {
    while (slots_[number].sentence >= 0)
      ++number;
    int64_t sentence = window_.sentence(i);
    std::span<const int32_t> ids = window_.rows()->row(sentence);
    started_[i] = number;
    layout_.groups.lengths()[i] = static_cast<int32_t>(g_.ragged_source ? ids.size() : source_length_);
    if (source)
      open_slot(number, sentence, ids, options_->prefix_of(sentence), own_length(ids));
    else
      open_slot(number, sentence, {}, ids, own_length(ids));
  }
  if (source && sentences > 0)
    call_groups(start_calls_, start_calls_.split(layout_.groups, sentences, true), [](const group_calls::group &) {});
  window_.take(sentences);
}

int64_t searcher::encoding_width() const {
  if (!layout_.encode.entry || layout_.source_tokens < 0 || !layout_.other_input.empty())
    fail(status::unsupported, "the model has no encoder that takes tokens alone");
  const tensor_info &result = layout_.encode.entry->outputs[0];
  int outer = g_.sequence_first ? g_.source_dim : g_.batch_dim, inner = g_.sequence_first ? g_.batch_dim : g_.source_dim;
  if (result.dtype != XF_ABI_F32 || result.dim.size() != 3 || result.dimension(0) != outer ||
      result.dimension(1) != inner || result.dim[2] < 1)
    fail(status::unsupported, "the encoder's result '%s' has no row of numbers for each token", result.name.c_str());
  return result.dim[2];
}

void searcher::encode(const token_rows &rows, predict_sink &sink) {
  int64_t width = encoding_width();
  fp_scope control_word;
  options_ = nullptr;
  auto *values = reinterpret_cast<const float *>(
      source_pointers_[layout_.encode.arguments[layout_.encode.entry->inputs.size()]]);
  auto accepts = accepting([&](int64_t sentence) { return refuse(rows, sentence); }, sink);
  window_.for_batches(rows, layout_.batch, accepts, [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      layout_.groups.lengths()[i] = window_.length(i);
    sentence_groups groups = encode_calls_.split(layout_.groups, count, g_.pad >= 0);
    call_groups(encode_calls_, groups, [&](const group_calls::group &g) {
      const sentence_pack &pack = layout_.pack;
      int64_t sentences = g.end - g.begin, longest = groups.lengths[g.begin];
      for (int64_t b = 0; b < sentences; ++b)
        sink.predicted(window_.sentence(groups.sentences[g.begin + b]), values + pack.first_row(g.front, b, longest) * width,
                       groups.lengths[g.begin + b], pack.row_step(sentences) * width, width);
    });
  });
}

void searcher::call_groups(const group_calls &calls, const sentence_groups &groups, function_ref<void(const group_calls::group &)> done) {
  auto lay_out = [&](const group_calls::group &g, int64_t *dims) {
    auto members = groups.sentences.subspan(g.begin, g.end - g.begin);
    fill_tokens(g.front, groups.lengths.subspan(g.begin, members.size()), dims, [&](int64_t b) { return window_.sentence(members[b]); });
    if (&calls == &start_calls_) // whose sentences take slots
      for (size_t b = 0; b < members.size(); ++b)
        slots_argument_[g.front.sentences + static_cast<int64_t>(b)] = started_[members[b]];
  };
  calls.run(groups, source_dims_.data(), lay_out, done);
}

// The source's inputs and dimensions for sentences of the window, of these lengths (descending).
void searcher::fill_tokens(const pack_front &front, std::span<const int32_t> lengths, int64_t *dims,
                           function_ref<int64_t(int64_t)> sentence) const {
  auto *tokens = static_cast<int32_t *>(source_pointers_[layout_.source_tokens]) + front.sentences * front.longest;
  layout_.pack.lay_out(front, static_cast<int64_t>(lengths.size()), lengths.data(), g_.pad, tokens, dims,
                       [&](int64_t b) { return window_.rows()->row(sentence(b)); });
}

int64_t searcher::longest_result(int64_t sentence, int64_t own_length, int64_t prefix_length) const {
  // The last token chosen is never read.
  int64_t room = g_.target - prefix_length + 1, length = room;
  if (options_->has_targets())
    length = static_cast<int64_t>(options_->targets.row(sentence).size());
  else if (options_->max_length > 0)
    length = options_->max_length;
  else if (g_.max_length_per_source != 0 || g_.max_length_base != 0)
    length = g_.max_length_per_source * own_length + g_.max_length_base;
  return std::clamp<int64_t>(length, 1, room);
}

void searcher::make_room(int64_t sentences, int64_t source, int64_t positions) {
  room_.sentences = sentences;
  room_.rows = sentences * options_->beam;
  if (g_.source_dim >= 0)
    room_.capacities[g_.source_dim] = source;
  if (g_.target_dim >= 0)
    room_.capacities[g_.target_dim] = std::max<int64_t>(positions, 1);
  session_.make_room(room_);
}

// What is too long, and will be refused, needs no more than the limits.
int64_t searcher::positions_of(int64_t sentence, int64_t own_length, std::span<const int32_t> given) const {
  int64_t prefix = std::min<int64_t>(given_length(given), g_.target);
  return prefix + longest_result(sentence, own_length, prefix) - 1;
}

void searcher::make_room(const token_rows &rows) {
  int64_t source = 1, positions = 0;
  for (int64_t i = 0; i < rows.count; ++i) {
    std::span<const int32_t> ids = rows.row(i), given = layout_.source_tokens >= 0 ? options_->prefix_of(i) : ids;
    source = std::max(source, std::min<int64_t>(static_cast<int64_t>(ids.size()), g_.source));
    positions = std::max(positions, positions_of(i, own_length(ids), given));
  }
  make_room(std::min<int64_t>(batch_, rows.count), source, positions);
}

void searcher::open_slot(int32_t number, int64_t sentence, std::span<const int32_t> source, std::span<const int32_t> given,
                         int64_t own_length) {
  slot &s = slots_[number];
  s = {};
  s.sentence = sentence;
  int32_t *prefix = prefix_ + number * layout_.prefix_capacity;
  if (needs_start(given))
    prefix[s.prefix_length++] = g_.start;
  for (int32_t id : given)
    prefix[s.prefix_length++] = id;
  s.given = s.prefix_length;
  std::span<const int32_t> own = source.first(std::min(source.size(), static_cast<size_t>(own_length))); // without padding
  s.draws = mix(mix(options_->seed, own), given);

  int64_t length = longest_result(sentence, own_length, s.prefix_length);
  // The last token of a result is never read.
  for (int64_t i = 0; options_->has_targets() && i + 1 < length; ++i)
    prefix[s.prefix_length++] = options_->targets.row(sentence)[static_cast<size_t>(i)];
  int32_t shortest = options_->min_length >= 0 ? options_->min_length : g_.min_length;
  s.min_length = static_cast<int32_t>(std::min<int64_t>(shortest, length));
  classes_.open(number, source);
  // A result that is given may go on behind an end.
  layout_.beams[number].start(options_->beam, static_cast<int32_t>(length), options_->has_targets() ? end_tokens{} : ends());

  rows_.open(number);
  ++active_;
}

std::vector<void *> searcher::source_arguments(const source_call &call) const {
  std::vector<void *> io;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    int tensor = call.arguments[i];
    io.push_back(tensor == kSlotsArgument  ? slots_argument_
                 : tensor == kPackArgument ? layout_.pack.argument(call.entry->inputs[i].name)
                                           : source_pointers_[tensor]);
  }
  return io;
}

// Calls the entry itself, not its twin for packed sentences.
void searcher::call_source(const source_call &call, bool given) {
  if (!call.entry)
    return;
  source_io_.resize(call.arguments.size());
  for (size_t i = 0; i < source_io_.size(); ++i)
    source_io_[i] = call.arguments[i] == kSlotsArgument ? slots_argument_ : source_pointer(call.arguments[i], given);
  session_.call(*call.entry, source_dims_.data(), source_io_.data());
}

// Runs the source's entries on the inputs that the caller gave.
void searcher::run_given(int64_t sentences, int64_t length) {
  source_dims_[g_.batch_dim] = sentences;
  if (g_.source_dim >= 0)
    source_dims_[g_.source_dim] = length;
  call_source(layout_.encode, true);
  call_source(layout_.begin, true);
}

int64_t searcher::bind_source(std::span<const argument> inputs) {
  if (continues_prompts())
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

int32_t searcher::given_token(int64_t sentence, int64_t position) const {
  auto *tokens = static_cast<const int32_t *>(given_pointers_[layout_.source_tokens]);
  return tokens[g_.sequence_first ? position * batch_ + sentence : sentence * source_length_ + position];
}

void searcher::generate_bound(const search_options &options, search_sink &sink) {
  fp_scope control_word;
  if (options.aligns() && !layout_.aligned_apart)
    fail(status::unsupported, "what the model makes of sentences has other dimensions before the batch: its results are aligned with sentences that are given as "
                              "tokens, one behind the other");
  start_call(options, sink);
  int64_t sentences = source_dims_[g_.batch_dim];
  batch_ = static_cast<int32_t>(sentences);
  source_length_ = source_dims_[g_.source_dim];
  int64_t positions = 0;
  for (int64_t b = 0; b < sentences; ++b)
    positions = std::max(positions, positions_of(b, source_length_, options.prefix_of(b)));
  make_room(sentences, source_length_, positions);
  for (int32_t b = 0; b < sentences; ++b) {
    slots_argument_[b] = b;
    int64_t own = source_length_;
    std::span<const int32_t> source, given = options.prefix_of(b);
    if (layout_.source_tokens >= 0) {
      while (g_.pad >= 0 && own > 0 && given_token(b, own - 1) == g_.pad)
        --own;
      // The place of tokens that are not given is free.
      auto *copy = static_cast<int32_t *>(source_pointers_[layout_.source_tokens]);
      for (int64_t i = 0; i < own; ++i)
        copy[i] = given_token(b, i);
      source = {copy, static_cast<size_t>(own)};
    }
    const char *problem = own == 0 ? refusal::only_padding : refuse_prefix(given);
    if (!problem)
      problem = refuse_target(b, given);
    if (problem)
      sink.sentence_failed(b, problem);
    else
      open_slot(b, b, source, given, own);
  }
  run_given(sentences, source_length_);
  run_to_the_end();
}

} // namespace xf::rt
