#include "runtime/core/search_check.h"

#include "runtime/core/error.h"

#include <algorithm>

namespace xf::rt {

namespace {

[[noreturn]] void refuse(const char *what, long long value, long long low, long long high, status above = status::invalid_argument) {
  fail(value > high ? above : status::invalid_argument, "%s must be between %lld and %lld, not %lld", what, low, high, value);
}

void check_sampling(const sampling &sample) {
  if (!(sample.temperature >= 0.01 && sample.temperature <= 100.0))
    fail(status::invalid_argument, "the temperature must be between 0.01 and 100, not %g", sample.temperature);
  if (sample.top_k < 0)
    fail(status::invalid_argument, "the number of tokens to draw from must not be negative, as %d is", sample.top_k);
  if (!(sample.top_p > 0.0 && sample.top_p <= 1.0))
    fail(status::invalid_argument, "the share of probability to draw from must be above 0 and at most 1, not %g", sample.top_p);
  if (!(sample.min_p >= 0.0 && sample.min_p <= 1.0))
    fail(status::invalid_argument, "how probable a drawn token is at least, of the likeliest, must be between 0 and 1, not %g", sample.min_p);
}

} // namespace

void search_check::options(const search_options &o) const {
  if (layout_.source.min_batch > 1)
    fail(status::unsupported, "the model needs %lld sentences at once: it cannot be searched", static_cast<long long>(layout_.source.min_batch));
  sizes(o);
  choice(o);
  if (o.samples)
    check_sampling(o.sample);
  combination(o);
}

void search_check::sizes(const search_options &o) const {
  if (o.beam < 1 || o.beam > layout_.beam)
    refuse(o.alternatives ? "the number of alternatives (at most the model's beams)" : "the number of beams", o.beam, 1, layout_.beam, status::limit);
  if (o.best < 1 || o.best > o.beam)
    refuse("the number of results of a line (at most the number of beams)", o.best, 1, o.beam);
  if (o.batch < 0 || o.batch > layout_.batch)
    refuse("the batch", o.batch, 1, layout_.batch, status::limit);
  if (o.max_length == 0 || o.max_length < -1 || o.max_length > g_.target)
    refuse("the maximum length", o.max_length, 1, g_.target, status::limit);
  if (o.min_length < -1 || o.min_length > g_.target)
    refuse("the minimum length", o.min_length, 0, g_.target, status::limit);
  if (o.min_length > 0 && o.max_length > 0 && o.min_length > o.max_length)
    fail(status::invalid_argument, "the minimum length %d is above the maximum length %d", o.min_length, o.max_length);
  // Beyond these, powers of lengths may overflow.
  if (!(o.length_penalty >= -20.0 && o.length_penalty <= 20.0))
    fail(status::invalid_argument, "the length penalty must be between -20 and 20, not %g", o.length_penalty);
}

void search_check::choice(const search_options &o) const {
  if (o.allowed && (layout_.source.tokens < 0 || o.allowed->target() != layout_.step.vocabulary))
    fail(status::invalid_argument, "the shortlist is for another model");
  for (int32_t token : o.suppress)
    if (token < 0 || token >= layout_.step.vocabulary)
      refuse("a suppressed token", token, 0, layout_.step.vocabulary - 1);
  for (int32_t token : o.ends)
    if (token < 0 || token >= layout_.step.vocabulary)
      refuse("a token that ends results", token, 0, layout_.step.vocabulary - 1);
  if (o.no_repeat_ngram < 0)
    fail(status::invalid_argument, "the number of tokens that are not to be repeated must not be negative, as %d is", o.no_repeat_ngram);
  if (!(o.repetition_penalty >= 0.01 && o.repetition_penalty <= 100.0))
    fail(status::invalid_argument, "the repetition penalty must be between 0.01 and 100, not %g", o.repetition_penalty);
  if (!(o.coverage_penalty >= 0.0 && o.coverage_penalty <= 100.0))
    fail(status::invalid_argument, "the coverage penalty must be between 0 and 100, not %g", o.coverage_penalty);
}

void search_check::combination(const search_options &o) const {
  if (o.on_token && o.beam > 1)
    fail(status::invalid_argument, "tokens are told as they are chosen with one beam, not with %d", o.beam);
  if (o.has_prefixes() && !layout_.source.exists())
    fail(status::invalid_argument, "the model continues prompts: what results begin with belongs there");
  if (o.prefix_counts && !layout_.source.exists())
    fail(status::invalid_argument, "the model continues prompts, which no length counts");
  if (o.aligns() && !layout_.align.entry)
    fail(status::unsupported, "the model does not say how its results are aligned with their source: its 'generate' has no 'align'");
  if (o.aligns() && layout_.align.min_size > 1)
    fail(status::unsupported, "the entry that aligns results needs %lld of them, or of their tokens", static_cast<long long>(layout_.align.min_size));
  if (o.alternatives && (o.samples || o.has_targets()))
    fail(status::invalid_argument, "alternatives are searched for, neither drawn nor given");
  if (o.alternatives && layout_.beam == 1)
    fail(status::limit, "alternatives need a model that is compiled for 2 beams or more"); // a step for one gives two candidates
  bool chooses = o.beam > 1 || o.samples || o.allowed || !o.suppress.empty() || !o.ends.empty() || o.min_length >= 0 || o.max_length >= 0 ||
                 !o.early_stopping || o.repetition_penalty != 1.0 || o.no_repeat_ngram > 0 || o.on_token;
  if ((o.has_targets() || o.line_targets) && chooses)
    fail(status::invalid_argument,
         "results that are given are scored as they are: beams, samples, lengths, repetitions, what may be chosen and streams mean nothing there");
}

const char *search_check::tokens(std::span<const int32_t> ids, bool aligned) {
  if (ids.empty())
    return refusal::no_tokens;
  if (lengths_.unpadded(ids) == 0)
    return refusal::only_padding;
  const source_layout &source = layout_.source;
  bool is_source = source.tokens >= 0;
  auto length = static_cast<int64_t>(ids.size());
  int64_t min_tokens = aligned ? std::max(source.min_length, layout_.align.min_source) : source.min_length;
  if (is_source && length < min_tokens)
    return refusal_.too_few_tokens(length, min_tokens);
  // A prompt without the start token gets it.
  int64_t max_tokens = is_source ? g_.source : g_.target - lengths_.needs_start(ids);
  if (length > max_tokens)
    return refusal_.too_long("it", length, max_tokens);
  const tensor_info &input = is_source ? source.tensors[source.tokens].info : layout_.step.token_input();
  return refusal_.unknown_token(ids, input.bound);
}

const char *search_check::given(const search_options &o, int64_t sentence, std::span<const int32_t> given) {
  int64_t max_tokens = g_.target - lengths_.needs_start(given);
  if (static_cast<int64_t>(given.size()) > max_tokens)
    return refusal_.too_long("its prefix", static_cast<int64_t>(given.size()), max_tokens);
  if (const char *problem = refusal_.unknown_token(given, layout_.step.token_input().bound, "its prefix: "))
    return problem;
  return o.has_targets() ? target(o.targets.row(sentence), lengths_.given(given)) : nullptr;
}

// Why a result cannot be scored behind so many tokens, or null.
const char *search_check::target(std::span<const int32_t> target, int64_t read) {
  if (target.empty())
    return "its target has no tokens";
  // The last one is never read.
  int64_t max_tokens = g_.target - read + 1;
  if (static_cast<int64_t>(target.size()) > max_tokens)
    return refusal_.too_long("its target", static_cast<int64_t>(target.size()), max_tokens);
  return refusal_.unknown_token(target, layout_.step.vocabulary, "its target: ");
}

} // namespace xf::rt
