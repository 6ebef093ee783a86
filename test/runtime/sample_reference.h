// The sample model and the search as one would write them on paper, slow and obvious: hypotheses are lists of tokens, and every score is
// computed from scratch.
#ifndef TEST_RUNTIME_SAMPLE_REFERENCE_H
#define TEST_RUNTIME_SAMPLE_REFERENCE_H

#include "test/runtime/sample_math.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

namespace sample {

using tokens = std::vector<int32_t>;

struct search {
  int beam = 1, best = 1, min_length = 0, max_length = 0, end = SAMPLE_END;
  double alpha = 1.0;
  size_t counted = 0; // tokens before a result that count in its length
  std::set<int32_t> suppress;
  std::set<int32_t> ends; // in addition to `end`
  double repetition_penalty = 1.0;
  size_t no_repeat_ngram = 0;
  bool early_stopping = true;

  bool is_end(int32_t token) const { return token == end || ends.count(token); }
};

struct found {
  tokens ids; // with the end token
  double score;
};

// The tokens after `read` that would end a sequence of `length` tokens that `read` already contains.
inline std::set<int32_t> repeated(const tokens &read, size_t length) {
  std::set<int32_t> found;
  for (size_t end = length; length > 0 && end <= read.size(); ++end)
    if (tokens(read.begin() + static_cast<long>(end - length), read.begin() + static_cast<long>(end - 1)) ==
        tokens(read.end() - static_cast<long>(length - 1), read.end()))
      found.insert(read[end - 1]);
  return found;
}

// log p of every token after `prefix` (the start token included), given the source.
inline std::vector<double> log_p(const tokens *source, const tokens &prefix, const std::set<int32_t> &never, double penalty = 1.0) {
  uint32_t cross = 1, seen = 0, scan = 0;
  for (size_t s = 0; source && s < source->size(); ++s)
    if ((*source)[s] != SAMPLE_PAD)
      cross = sample_cross(cross, sample_feature((*source)[s], static_cast<int32_t>(s)), static_cast<int32_t>(s));
  for (size_t p = 0; p < prefix.size(); ++p) {
    seen = sample_seen(seen, prefix[p], static_cast<int32_t>(p));
    scan = sample_scan(scan, prefix[p]);
  }
  std::vector<double> x;
  double sum = 0;
  for (int32_t v = 0; v < SAMPLE_VOCABULARY; ++v) {
    double logit = sample_score(cross, seen, scan, v) / 8.0;
    if (std::find(prefix.begin(), prefix.end(), v) != prefix.end())
      logit = static_cast<float>(logit > 0 ? logit / penalty : logit * penalty);
    x.push_back(never.count(v) ? -INFINITY : logit);
    sum += std::exp(x.back());
  }
  for (double &value : x)
    value -= std::log(sum);
  return x;
}

inline std::vector<found> run(const tokens *source, const tokens &prefix, const search &o) {
  struct open {
    tokens ids;
    double sum;
  };
  struct pair {
    double sum;
    size_t beam;
    int32_t token;
  };
  std::vector<open> beams = {{{}, 0.0}};
  std::vector<found> done;
  auto score = [&](const open &b) { return b.sum / std::pow(static_cast<double>(b.ids.size() + o.counted), o.alpha); };
  auto suffices = [&] {
    auto matters = [&](const found &f) { return o.early_stopping || beams.empty() || f.score > score(beams[0]) - 1e-9; };
    return std::count_if(done.begin(), done.end(), matters) >= o.beam;
  };
  for (int step = 1; !beams.empty(); ++step) {
    std::vector<pair> pairs;
    for (size_t b = 0; b < beams.size(); ++b) {
      tokens all = prefix;
      all.insert(all.end(), beams[b].ids.begin(), beams[b].ids.end());
      std::set<int32_t> never = o.suppress;
      if (step <= o.min_length) {
        never.insert(o.end);
        never.insert(o.ends.begin(), o.ends.end());
      }
      never.merge(repeated(all, o.no_repeat_ngram));
      std::vector<double> p = log_p(source, all, never, o.repetition_penalty);
      for (int32_t v = 0; v < SAMPLE_VOCABULARY; ++v)
        if (std::isfinite(p[v]))
          pairs.push_back({beams[b].sum + p[v], b, v});
    }
    // Scores that should be equal differ by rounding, as the same numbers are added in another order.
    std::stable_sort(pairs.begin(), pairs.end(), [](const pair &x, const pair &y) { return x.sum > y.sum + 1e-9; });
    if (pairs.size() > static_cast<size_t>(2 * o.beam))
      pairs.resize(2 * o.beam);
    std::vector<open> next;
    for (size_t i = 0; i < pairs.size(); ++i) {
      tokens ids = beams[pairs[i].beam].ids;
      ids.push_back(pairs[i].token);
      if (o.is_end(pairs[i].token)) {
        if (i < static_cast<size_t>(o.beam))
          done.push_back({ids, score({ids, pairs[i].sum})});
      } else if (next.size() < static_cast<size_t>(o.beam)) {
        next.push_back({ids, pairs[i].sum});
      }
    }
    beams = next;
    if (suffices())
      break;
    if (step == o.max_length) {
      for (const open &b : beams)
        done.push_back({b.ids, score(b)});
      break;
    }
  }
  std::stable_sort(done.begin(), done.end(), [](const found &x, const found &y) { return x.score > y.score + 1e-9; });
  if (done.size() > static_cast<size_t>(o.best))
    done.resize(o.best);
  return done;
}

} // namespace sample

#endif
