// The candidates for the next token of each row of a search, whoever has chosen them: a step, or the host.
#ifndef RUNTIME_CORE_ROW_CHOICES_H
#define RUNTIME_CORE_ROW_CHOICES_H

#include "runtime/abi/xf_log.h"
#include "runtime/core/arena.h"
#include "runtime/core/row_best.h"

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace xf::rt {

// The summary of a row with `count` candidates, from its xf.norms (xf_abi.h); `sums`: whether these have a sum.
inline row_summary summary_of(int32_t count, const float *norms, bool sums) {
  return {count, !std::isnan(norms[0]), sums ? static_cast<double>(norms[0]) + xf_log(static_cast<double>(norms[1])) : 0.0};
}

class row_choices {
public:
  // For twice as many candidates of each row as a sentence has `beams`.
  row_choices(arena_plan &plan, int64_t rows, int64_t beams)
      : beams_(beams), candidates_offset_(plan.add(rows * 2 * beams, sizeof(candidate))), summaries_offset_(plan.add(rows, sizeof(row_summary))),
        summaries_of_(static_cast<size_t>(beams)), candidates_of_(static_cast<size_t>(beams)) {}
  void bind(const arena &memory) {
    candidates_ = memory.as<candidate>(candidates_offset_);
    summaries_ = memory.as<row_summary>(summaries_offset_);
  }

  row_summary &summary(int64_t row) { return summaries_[row]; }
  candidate *candidates(int64_t row) { return candidates_ + row * 2 * beams_; }

  // The choices of a sentence's beams, as beam_search takes them; valid until the next call.
  struct of_beams {
    const row_summary *const *summaries;
    const candidate *const *candidates;
    bool finite; // all values are
  };
  of_beams of(std::span<const int32_t> rows) {
    bool finite = true;
    for (size_t b = 0; b < rows.size(); ++b) {
      summaries_of_[b] = &summary(rows[b]);
      candidates_of_[b] = candidates(rows[b]);
      finite &= summary(rows[b]).finite;
    }
    return {summaries_of_.data(), candidates_of_.data(), finite};
  }

private:
  int64_t beams_;
  uint64_t candidates_offset_, summaries_offset_;
  candidate *candidates_ = nullptr;  // [row][2 * beams]
  row_summary *summaries_ = nullptr; // [row]
  std::vector<const row_summary *> summaries_of_;
  std::vector<const candidate *> candidates_of_;
};

} // namespace xf::rt

#endif
