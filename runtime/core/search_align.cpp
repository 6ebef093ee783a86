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

// Where its source is: the caller's sentences stand beside each other as long as the search lasts; of those that enter one after the
// other, others have taken the place since, so it is encoded again.
void searcher::find_source(int64_t sentence) {
  if (window_.rows()) {
    auto length = static_cast<int32_t>(window_.rows()->row(sentence).size());
    fill_tokens({}, {&length, 1}, source_dims_.data(), [&](int64_t) { return sentence; });
    call_source(layout_.encode, false);
  }
  align_dims_ = source_dims_;
  align_dims_[g_.batch_dim] = 1;
  for (size_t i = 0; i < layout_.align.arguments.size(); ++i) {
    int tensor = layout_.align.arguments[i];
    if (tensor < 0) {
      align_io_[i] = tensor == kAlignedArgument ? static_cast<void *>(aligned_) : weights_;
      continue;
    }
    auto *all = static_cast<uint8_t *>(source_pointer(tensor, !window_.rows()));
    const tensor_info &info = layout_.source_tensors[tensor].info;
    bool by_sentence = !window_.rows() && !info.dim.empty() && info.dimension(0) == g_.batch_dim;
    align_io_[i] = all + (by_sentence ? static_cast<uint64_t>(sentence) * model_.bytes(info, align_dims_.data()) : 0);
  }
}

// Of a result of the sentence whose source was found last; leaves its tokens in tokens_. Valid until the next one.
alignment searcher::align(int32_t number, const hypothesis &h) {
  int64_t given = slots_[number].given, read = given + h.length - 1; // its last token is not read
  layout_.beams[number].tokens_of(h, tokens_);
  std::copy_n(prefix_ + number * layout_.prefix_capacity, given, aligned_);
  std::copy_n(tokens_, h.length - 1, aligned_ + given);
  align_dims_[g_.target_dim] = read;
  session_.call(*layout_.align.entry, align_dims_.data(), align_io_.data());
  // Token i is chosen where the one before it is read.
  int64_t columns = align_dims_[g_.source_dim];
  return {weights_ + (given - 1) * columns, h.length, columns};
}

bool searcher::is_padding(int64_t sentence, int64_t position) const {
  if (window_.rows())
    return window_.rows()->row(sentence)[static_cast<size_t>(position)] == g_.pad;
  return layout_.source_tokens >= 0 && given_token(sentence, position) == g_.pad;
}

// Wu et al., Google's Neural Machine Translation System (2016), equation 14.
double searcher::coverage(int64_t sentence, const alignment &found) const {
  double sum = 0;
  for (int64_t column = 0; column < found.columns; ++column) {
    if (is_padding(sentence, column))
      continue;
    double covered = 0;
    for (int64_t row = 0; row < found.rows; ++row)
      covered += static_cast<double>(found.weights[row * found.columns + column]);
    sum += std::log(std::clamp(covered, kLeastCovered, 1.0)); // NaN stays
  }
  return options_->coverage_penalty * sum;
}

} // namespace xf::rt
