#include "runtime/core/result_aligner.h"

#include "runtime/core/search_slots.h"
#include "runtime/core/search_source.h"
#include "runtime/core/session.h"

#include <algorithm>
#include <cmath>

namespace xf::rt {

namespace {

// A token that is not looked at at all counts as covered by this much, so that scores stay finite.
constexpr double kMinCovered = 1e-10;

} // namespace

// The entry's tensors are encode's, of one sentence.
align_layout::align_layout(const model &m, const source_layout &source, arena_plan &plan) {
  const xf_abi_generate &g = m.header().generate;
  if (g.align < 0)
    return;
  entry = &m.entries()[g.align];
  const std::string &target_tokens = m.entries()[g.step].inputs[g.tokens_input].name;
  for (const tensor_info &tensor : entry->inputs) {
    min_size = std::max({min_size, tensor.min_size_of(g.batch_dim), tensor.min_size_of(g.target_dim)});
    min_source = std::max(min_source, tensor.min_size_of(g.source_dim));
    int found = tensor.name == target_tokens ? -1 : source.find(tensor.name);
    arguments.push_back(found >= 0 ? found : kAlignedArgument);
    for (size_t axis = 1; axis < tensor.dim.size(); ++axis)
      separable &= found < 0 || tensor.dimension(axis) != g.batch_dim;
  }
  arguments.push_back(kWeightsArgument);
  read = plan.add(g.target + 1, sizeof(int32_t));
  weights = plan.add(g.target * g.source, sizeof(float));
}

result_aligner::result_aligner(session &owner, const model &m, const align_layout &layout, search_source &source)
    : session_(owner), g_(m.header().generate), layout_(layout), source_(source), dims_(m.dims().size()), io_(layout.arguments.size()) {}

void result_aligner::bind(const arena &memory) {
  read_ = memory.as<int32_t>(layout_.read);
  weights_ = memory.as<float>(layout_.weights);
}

void result_aligner::start(int64_t sentence) {
  source_.extract(sentence, dims_.data());
  for (size_t i = 0; i < io_.size(); ++i) {
    int argument = layout_.arguments[i];
    io_[i] = argument == kAlignedArgument   ? static_cast<void *>(read_)
             : argument == kWeightsArgument ? weights_
                                            : source_.tensor_of(sentence, argument, dims_.data());
  }
}

alignment result_aligner::align(const slot &s, const hypothesis &h) {
  std::copy_n(s.prefix, s.given, read_);
  s.beams.tokens_of(h, read_ + s.given);
  dims_[g_.target_dim] = s.given + h.length - 1; // its last token is not read
  session_.call(*layout_.entry, dims_.data(), io_.data());
  // Token i is chosen where the one before it is read.
  int64_t columns = dims_[g_.source_dim];
  return {weights_ + (s.given - 1) * columns, h.length, columns};
}

// Wu et al., Google's Neural Machine Translation System (2016), equation 14.
double result_aligner::coverage(int64_t sentence, const alignment &found) const {
  double sum = 0;
  for (int64_t column = 0; column < found.columns; ++column) {
    if (source_.is_padding(sentence, column))
      continue;
    double covered = 0;
    for (int64_t row = 0; row < found.rows; ++row)
      covered += static_cast<double>(found.weights[row * found.columns + column]);
    sum += std::log(std::clamp(covered, kMinCovered, 1.0)); // NaN stays
  }
  return sum;
}

} // namespace xf::rt
