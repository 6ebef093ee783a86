// What a search says of sentences that are done: their results, ranked, or what is wrong.
#ifndef RUNTIME_CORE_SEARCH_RESULTS_H
#define RUNTIME_CORE_SEARCH_RESULTS_H

#include "runtime/core/beam.h"
#include "runtime/core/result_aligner.h"
#include "runtime/core/search_layout.h"
#include "runtime/core/search_options.h"

#include <cstdint>
#include <vector>

namespace xf::rt {

class search_results {
public:
  search_results(session &owner, const model &m, const search_layout &layout, search_source &source);
  void bind(const arena &memory);

  // Reports the results of a slot's sentence; `ends`: the tokens that end a result.
  void report(slot &s, const search_options &options, const end_tokens &ends, search_sink &sink);

private:
  bool measure_coverage(const slot &s, double penalty);

  const search_layout &layout_;
  result_aligner aligner_;
  int32_t *tokens_ = nullptr;    // of a result
  std::vector<double> coverage_; // of finished hypotheses
};

} // namespace xf::rt

#endif
