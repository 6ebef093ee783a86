#include "runtime/core/search.h"

#include "runtime/core/cpu.h"
#include "runtime/core/error.h"
#include "runtime/core/session.h"

#include <algorithm>

namespace xf::rt {

searcher::searcher(session &owner, const model &m, arena_plan &plan)
    : session_(owner), g_(m.header().generate), more_ends_(m.more_ends()), layout_(m, plan), lengths_(g_), check_(m, layout_),
      source_(owner, m, layout_.source), slots_(layout_.slots), choices_(layout_.choices), step_(owner, m, layout_.step),
      host_(owner, m, slots_, step_, choices_, plan), results_(owner, m, layout_, source_), room_(largest_room(m)) {}

void searcher::bind(const arena &memory) {
  source_.bind(memory);
  slots_.bind(memory, memory.as<uint32_t>(layout_.step.forbidden), layout_.step.words);
  choices_.bind(memory);
  step_.bind(memory);
  host_.bind(memory);
  results_.bind(memory);
  if (device_executor *device = session_.executor()) {
    device_choice_ = std::make_unique<logit_choice>(*device, layout_.step);
    ahead_ = std::make_unique<steps_ahead>(*device, *device_choice_, slots_, step_);
  }
}

void searcher::start_call(const search_options &options, search_sink &sink, int64_t batch) {
  check(options);
  options_ = &options;
  sink_ = &sink;
  source_.window().clear();
  int64_t count = batch ? batch : default_batch();
  slots_.start(static_cast<int32_t>(count), options.suppress, options.allowed, {g_.end, more_ends_, options.ends});
}

// More rows than these are no faster on a CPU, and their states are memory that is touched for nothing.
int64_t searcher::default_batch() const {
  constexpr int64_t kRowsPerThread = 128;
  if (session_.executor())
    return layout_.batch;
  int64_t rows = kRowsPerThread * session_.pool().size();
  return std::clamp<int64_t>(rows / options_->beam, 1, layout_.batch);
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

void searcher::make_room(const token_rows &rows) {
  int64_t source = 1, positions = 0;
  for (int64_t i = 0; i < rows.count; ++i) {
    std::span<const int32_t> ids = rows.row(i);
    source = std::max(source, std::min<int64_t>(static_cast<int64_t>(ids.size()), g_.source));
    positions = std::max(positions, lengths_.positions(*options_, i, lengths_.unpadded(ids), given(i, ids)));
  }
  make_room(std::min<int64_t>(slots_.count(), rows.count), source, positions);
}

void searcher::generate(const token_rows &rows, const search_options &options, search_sink &sink) {
  if (std::string problem = layout_.source.refuses_tokens(); !problem.empty())
    fail(status::unsupported, "%s", problem.c_str());
  fp_scope control_word;
  start_call(options, sink, options.batch);
  make_room(rows);
  auto refuse = [&](int64_t sentence) {
    std::span<const int32_t> ids = rows.row(sentence);
    const char *problem = check_.tokens(ids, options.aligns());
    return problem ? problem : check_.given(options, sentence, given(sentence, ids));
  };
  auto accepts = accepting(refuse, sink);
  for (int64_t next = 0; next < rows.count;) {
    next = source_.window().start(rows, next, accepts);
    run_to_the_end();
  }
}

void searcher::generate_bound(const search_options &options, search_sink &sink) {
  fp_scope control_word;
  if (options.aligns() && !layout_.align.separable)
    fail(status::unsupported,
         "what the model makes of sentences has other dimensions before the batch: its results are aligned with sentences that are given as "
         "tokens, one behind the other");
  int64_t sentences = source_.given_count(), length = source_.given_length(), positions = 0;
  start_call(options, sink, sentences);
  for (int64_t b = 0; b < sentences; ++b)
    positions = std::max(positions, lengths_.positions(options, b, length, options.prefix_of(b)));
  make_room(sentences, length, positions);
  for (int32_t b = 0; b < sentences; ++b) {
    std::span<const int32_t> source = source_.given_ids(b), given = options.prefix_of(b);
    int64_t source_length = source_.has_tokens() ? lengths_.unpadded(source) : length;
    const char *problem = source_length == 0 ? refusal::only_padding : check_.given(options, b, given);
    if (problem)
      sink.sentence_failed(b, problem);
    else
      open_slot(b, b, source, given, source_length);
  }
  source_.start_given();
  run_to_the_end();
}

void searcher::encode(const token_rows &rows, predict_sink &sink) {
  fp_scope control_word;
  source_.encode(rows, accepting([&](int64_t sentence) { return check_.tokens(rows.row(sentence), /*aligned=*/false); }, sink), sink);
}

void searcher::run_to_the_end() {
  while (true) {
    start_waiting();
    if (slots_.taken() == 0)
      return;
    step();
  }
}

// Starting a sentence costs a call: it waits until some slots are free.
bool searcher::may_start() const {
  int32_t free = slots_.count() - slots_.taken();
  return source_.window().waiting() > 0 && free > 0 && (slots_.taken() == 0 || free * 4 >= slots_.count());
}

void searcher::start_waiting() {
  if (!may_start())
    return;
  const sentence_window &window = source_.window();
  int64_t sentences = source_.joining(slots_.count() - slots_.taken(), slots_.taken() == 0);
  int32_t index = 0;
  for (int64_t i = 0; i < sentences; ++i, ++index) {
    while (!slots_.at(index).is_free())
      ++index;
    int64_t sentence = window.sentence(i);
    std::span<const int32_t> ids = source_.ids(sentence);
    source_.assign(i, index);
    open_slot(index, sentence, source_.has_tokens() ? ids : std::span<const int32_t>(), given(sentence, ids), lengths_.unpadded(ids));
  }
  source_.start(sentences);
}

void searcher::open_slot(int32_t index, int64_t sentence, std::span<const int32_t> source, std::span<const int32_t> given, int64_t source_length) {
  source = source.first(std::min(source.size(), static_cast<size_t>(source_length)));
  slot &s = slots_.open(index, sentence, source);
  if (lengths_.needs_start(given))
    s.give(g_.start);
  for (int32_t id : given)
    s.give(id);
  s.given = s.prefix_length;
  s.draws = mix(mix(options_->seed, source), given);

  int64_t length = lengths_.longest_result(*options_, sentence, source_length, s.given);
  s.min_length = static_cast<int32_t>(std::min(lengths_.shortest_result(*options_), length));
  end_tokens ends = slots_.ends();
  if (options_->has_targets()) {
    // The last token of a result is never read; one that is given may go on behind an end.
    for (int32_t id : options_->targets.row(sentence).first(static_cast<size_t>(length - 1)))
      s.give(id);
    ends = {};
  }
  int32_t before = options_->prefix_counts ? s.given - 1 : 0; // without the start token
  s.beams.start(options_->beam, static_cast<int32_t>(length), ends, {options_->length_penalty, before, options_->early_stopping});
}

// How many positions all rows read at once: prompts several.
int64_t searcher::positions() const {
  int64_t positions = std::min(layout_.step.chunk,
                               std::max(kPromptChunk, std::min(kPromptTokens, session_.tokens_at_once()) / slots_.rows().count()));
  slots_.for_each([&](int32_t, const slot &s) { positions = std::min(positions, readable(s)); });
  return positions;
}

// How many tokens of a sentence a step may read at once. Where another step chooses as a rule, there is room for the logits of as many rows as a
// search may have, at one position each.
int64_t searcher::readable(const slot &s) const {
  int64_t left = s.prefix_length - s.prefix_used;
  if (!options_->has_targets())
    return std::max<int64_t>(1, left - (layout_.step.chooses && host_chooses()));
  int64_t unscored = s.given - 1 - s.prefix_used;
  return unscored > 0 ? unscored : std::min(left, layout_.step.rows / slots_.rows().count());
}

// All rows read their next tokens, the beams that go on are chosen, and the states of rows are moved so that they are dense again (beam_rows.h).
void searcher::step() {
  bool ahead = ahead_ && ahead_->serves(*options_);
  step_.prepare(slots_, source_, *options_, positions());
  if (ahead) {
    ahead_->run(
        *options_, [&] { return may_start(); },
        [&](int32_t index, std::span<const beam_pair> pairs) {
          slot &s = slots_.at(index);
          end_step(index, !s.failed && s.beams.take(pairs.data(), static_cast<int32_t>(pairs.size())));
        });
  } else if (layout_.step.chooses && !(host_chooses() && slots_.any_ready())) {
    // Also where no row has to choose anything: the vocabulary is left out then.
    step_.choose(choices_);
    advance();
  } else if (options_->has_targets()) {
    score();
    advance_given();
  } else {
    step_.compute_logits();
    host_.choose(*options_);
    advance();
  }
  move_rows(session_, slots_.regroup(ahead));
}

// Scores the tokens that are given, at the positions that the step reads.
void searcher::score() {
  if (device_choice_) {
    device_choice_->score(step_.dims(), step_.io(/*of_logits=*/true), step_.positions(), slots_, *options_, choices_);
  } else {
    step_.compute_logits();
    host_.score(*options_);
  }
}

void searcher::advance() {
  slots_.for_each([&](int32_t index, slot &s) {
    if (!s.ready)
      return;
    std::span<const int32_t> rows = slots_.rows_of(index);
    if (options_->alternatives)
      for (int32_t row : rows)
        keep_alternatives(s.beams, row);
    row_choices::of_beams chosen = choices_.of(rows);
    s.failed = !chosen.finite;
    end_step(index, !s.failed && (options_->independent_beams() ? s.beams.follow(chosen.summaries, chosen.candidates)
                                                                : s.beams.advance(chosen.summaries, chosen.candidates)));
  });
}

// Each alternative goes on with one token. In the first step all begin, but not with tokens that are not written: their results would read
// as others do.
void searcher::keep_alternatives(const beam_search &beams, int32_t row) {
  bool begins = beams.produced() == 0;
  int32_t wanted = begins ? options_->beam : 1, kept = 0;
  candidate *best = choices_.candidates(row);
  row_summary &summary = choices_.summary(row);
  for (int32_t i = 0; i < summary.count && kept < wanted; ++i) {
    bool is_silent = (best[i].token == g_.start || best[i].token == g_.pad) && !slots_.ends().contains(best[i].token);
    if (!begins || !is_silent)
      best[kept++] = best[i];
  }
  summary.count = kept;
}

// Of results that are given: the one beam takes the token of each position, as far as there are any that the model does not rule out.
void searcher::advance_given() {
  slots_.for_each([&](int32_t index, slot &s) {
    if (!s.ready)
      return;
    bool goes_on = true;
    for (int64_t position = 0; position < step_.positions() && goes_on; ++position) {
      if (s.scored(position, step_.positions()) < 0)
        continue;
      auto position_index = static_cast<int32_t>(slots_.rows_of(index)[0] * step_.positions() + position);
      row_choices::of_beams chosen = choices_.of({&position_index, 1});
      s.failed = !chosen.finite;
      goes_on = !s.failed && s.beams.advance(chosen.summaries, chosen.candidates);
    }
    end_step(index, goes_on);
  });
}

// A sentence's beams have been advanced, unless it failed; `goes_on`: some are open.
void searcher::end_step(int32_t index, bool goes_on) {
  slot &s = slots_.at(index);
  if (int32_t token = s.beams.last_token(); options_->on_token && !s.failed && token >= 0)
    options_->on_token(options_->token_context, s.sentence, token);
  if (goes_on)
    return;
  results_.report(s, *options_, slots_.ends(), *sink_);
  slots_.close(index);
}

} // namespace xf::rt
