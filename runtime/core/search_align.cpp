// Alignments: how much each token of a result looks at each of its source. The search's steps leave out what only that needs; the model's
// own entry computes it of a sentence that is done, from the source and from all that the decoder read for the result.
#include "runtime/core/search.h"
#include "runtime/core/session.h"

#include <algorithm>
#include <cmath>

namespace xf::rt {

namespace {

// What nobody looks at at all counts as this much, so that scores stay finite.
constexpr double kLeastCovered = 1e-10;

} // namespace

// The encoder's results, whose place other sentences have taken since.
void searcher::encode_again(int64_t sentence) {
  std::span<const int32_t> ids = window_rows_->row(sentence);
  auto length = static_cast<int32_t>(ids.size());
  layout_.pack.lay_out(1, &length, g_.pad, static_cast<int32_t *>(source_pointers_[layout_.source_tokens]), source_dims_.data(),
                       [&](int64_t) { return ids; });
  call_source(layout_.encode, false);
}

// Of a result, whose tokens it leaves in tokens_. Valid until the next one.
alignment searcher::align(int32_t number, const hypothesis &h) {
  int64_t given = slots_[number].given, read = given + h.length - 1; // its last token is not read
  layout_.beams[number].tokens_of(h, tokens_);
  std::copy_n(prefix_ + number * layout_.prefix_capacity, given, aligned_);
  std::copy_n(tokens_, h.length - 1, aligned_ + given);
  source_dims_[g_.target_dim] = read;
  call_source(layout_.align, false);
  // Token i is chosen where the one before it is read.
  int64_t columns = source_dims_[g_.source_dim];
  return {weights_ + (given - 1) * columns, h.length, columns};
}

// Wu et al., Google's Neural Machine Translation System (2016), equation 14.
double searcher::coverage(int64_t sentence, const alignment &found) const {
  std::span<const int32_t> ids = window_rows_->row(sentence);
  double sum = 0;
  for (int64_t column = 0; column < found.columns; ++column) {
    if (ids[static_cast<size_t>(column)] == g_.pad)
      continue;
    double covered = 0;
    for (int64_t row = 0; row < found.rows; ++row)
      covered += static_cast<double>(found.weights[row * found.columns + column]);
    sum += std::log(std::clamp(covered, kLeastCovered, 1.0));
  }
  return options_->coverage_penalty * sum;
}

} // namespace xf::rt
