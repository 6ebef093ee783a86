#include "runtime/core/shortlist.h"

#include <algorithm>

namespace xf::rt {

void shortlist::fill(std::vector<pair> pairs) {
  std::stable_sort(pairs.begin(), pairs.end(), [](const pair &x, const pair &y) { return x.source < y.source; });
  targets_.clear();
  size_t at = 0;
  for (; at < pairs.size() && pairs[at].source < 0; ++at)
    always_[static_cast<size_t>(pairs[at].target) / 32] |= 1u << (pairs[at].target % 32);
  for (size_t source = 0; source + 1 < starts_.size(); ++source) {
    starts_[source] = static_cast<int64_t>(targets_.size());
    for (; at < pairs.size() && pairs[at].source == static_cast<int32_t>(source); ++at)
      targets_.push_back(pairs[at].target);
  }
  starts_.back() = static_cast<int64_t>(targets_.size());
}

void shortlist::allow(std::span<const int32_t> sentence, uint32_t *forbidden) const {
  for (size_t word = 0; word < always_.size(); ++word)
    forbidden[word] &= ~always_[word];
  for (int32_t token : sentence) {
    if (token < 0 || token >= source())
      continue; // one that the list does not know
    for (int64_t i = starts_[static_cast<size_t>(token)]; i < starts_[static_cast<size_t>(token) + 1]; ++i)
      forbidden[static_cast<size_t>(targets_[static_cast<size_t>(i)]) / 32] &= ~(1u << (targets_[static_cast<size_t>(i)] % 32));
  }
}

} // namespace xf::rt
