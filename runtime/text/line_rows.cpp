#include "runtime/text/line_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace xf::rt {

void append_likeliest(std::span<const float> row, int64_t best, line_rows &rows) {
  if (row.empty())
    return;
  auto likeliest = std::max_element(row.begin(), row.end());
  auto max = static_cast<double>(*likeliest);
  // Also where the greatest is infinite, and the difference no number.
  auto weight = [max](float value) { return static_cast<double>(value) == max ? 1.0 : std::exp(static_cast<double>(value) - max); };
  double sum = 0;
  for (float value : row)
    sum += weight(value);
  std::vector<int32_t> &labels = rows.labels;
  const auto first = static_cast<ptrdiff_t>(labels.size());
  auto likelier = [row](int32_t a, int32_t b) {
    float left = row[static_cast<size_t>(a)], right = row[static_cast<size_t>(b)];
    return left > right || (left == right && a < b);
  };
  if (best == 1) {
    labels.push_back(static_cast<int32_t>(likeliest - row.begin()));
  } else {
    labels.resize(labels.size() + row.size());
    std::iota(labels.begin() + first, labels.end(), 0);
    auto kept = static_cast<ptrdiff_t>(std::min(best, static_cast<int64_t>(row.size())));
    std::partial_sort(labels.begin() + first, labels.begin() + first + kept, labels.end(), likelier);
    labels.resize(static_cast<size_t>(first + kept));
  }
  for (auto label = labels.begin() + first; label != labels.end(); ++label)
    rows.scores.push_back(weight(row[static_cast<size_t>(*label)]) / sum);
}

} // namespace xf::rt
