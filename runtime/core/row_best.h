// One pass over a row of logits: its best tokens and the logarithm of the sum of its exponentials. The
// vocabulary is taken in fixed blocks that are merged in order, by the same operations on every instruction
// set, so a row gives the same bits wherever and with whomever it is computed.
#ifndef RUNTIME_CORE_ROW_BEST_H
#define RUNTIME_CORE_ROW_BEST_H

#include <cstdint>

namespace xf::rt {

struct candidate {
  float logit;
  int32_t token;
};

struct row_summary {
  int32_t count;     // candidates found: tokens with a logit above -inf, best first, ties to the lower token
  bool finite;       // no logit is +inf or not a number
  double normaliser; // log(sum(exp(logit))), when asked for
};

using row_reducer = row_summary (*)(const float *logits, int64_t size, int32_t wanted, candidate *best, bool normaliser);

// The code for an instruction set (xf_abi_isa) that the CPU has.
row_reducer row_reducer_for(int isa);

} // namespace xf::rt

#endif
