#include "runtime/core/search_results.h"

#include "runtime/core/search_source.h"

#include <algorithm>
#include <cmath>

namespace xf::rt {

search_results::search_results(session &owner, const model &m, const search_layout &layout, search_source &source)
    : layout_(layout), aligner_(owner, m, layout.align, source), coverage_(static_cast<size_t>(2 * layout.beam)) {}

void search_results::bind(const arena &memory) {
  tokens_ = memory.as<int32_t>(layout_.tokens);
  aligner_.bind(memory);
}

void search_results::report(slot &s, const search_options &options, const end_tokens &ends, search_sink &sink) {
  if (s.failed)
    return sink.sentence_failed(s.sentence, "the model gave scores that are infinite or not numbers");
  if (options.aligns())
    aligner_.start(s.sentence);
  bool covers = options.coverage_penalty != 0.0;
  if (covers && !measure_coverage(s, options.coverage_penalty))
    return sink.sentence_failed(s.sentence, "the model gave alignments that are not numbers");
  int32_t found = std::min(s.beams.rank(covers ? coverage_.data() : nullptr), options.best);
  if (found == 0)
    sink.sentence_failed(s.sentence, "no token is left that may be chosen");
  for (int32_t i = 0; i < found; ++i) {
    const hypothesis &h = s.beams.finished(i);
    s.beams.tokens_of(h, tokens_);
    bool ended = h.end >= 0 || (options.has_targets() && ends.contains(tokens_[h.length - 1]));
    std::span<const int32_t> tokens(tokens_, static_cast<size_t>(h.length));
    sink.hypothesis_found(s.sentence, i, tokens, ended, options.wants_scores() ? h.score : 0.0);
    if (options.alignments)
      sink.alignment_found(s.sentence, i, tokens, ended, aligner_.align(s, h));
  }
}

// Returns false where one is not finite.
bool search_results::measure_coverage(const slot &s, double penalty) {
  for (int32_t i = 0; i < s.beams.finished(); ++i) {
    double found = penalty * aligner_.coverage(s.sentence, aligner_.align(s, s.beams.finished(i)));
    if (!std::isfinite(found))
      return false;
    coverage_[static_cast<size_t>(i)] = found;
  }
  return true;
}

} // namespace xf::rt
