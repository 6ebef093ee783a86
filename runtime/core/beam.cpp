#include "runtime/core/beam.h"

#include <algorithm>
#include <cmath>

namespace xf::rt {

void beam_search::plan(arena_plan &plan, int64_t beams, int64_t length) {
  nodes_offset_ = plan.add(beams * length, sizeof(beam_node));
  open_offset_ = plan.add(beams, sizeof(open_beam));
  // Fewer than K before a step, in which K may end, or, in the last one, K stay open.
  finished_offset_ = plan.add(2 * beams, sizeof(hypothesis));
  pairs_offset_ = plan.add(2 * beams * beams, sizeof(beam_pair));
}

void beam_search::bind(const arena &memory) {
  nodes_ = memory.as<beam_node>(nodes_offset_);
  current_ = memory.as<open_beam>(open_offset_);
  finished_ = memory.as<hypothesis>(finished_offset_);
  pairs_ = memory.as<beam_pair>(pairs_offset_);
}

void beam_search::start(int32_t beams, int32_t max_length, const end_tokens &ends, const beam_scoring &scoring) {
  beams_ = beams;
  max_length_ = max_length;
  ends_ = ends;
  scoring_ = scoring;
  open_ = 1;
  step_ = 0;
  finished_count_ = 0;
  current_[0] = {0.0, 0, -1};
}

void beam_search::finish(double sum, int32_t length, int32_t step, int32_t beam, int32_t end) {
  finished_[finished_count_++] = {sum, score(sum, length), length, step, beam, end};
}

double beam_search::score(double sum, int32_t length) const {
  length += scoring_.before;
  return scoring_.alpha == 0.0 ? sum : sum / (scoring_.alpha == 1.0 ? length : std::pow(length, scoring_.alpha));
}

// A stable insertion sort: hypotheses that score the same stay in the order in which they finished.
void beam_search::sort_finished() {
  for (int32_t i = 1; i < finished_count_; ++i)
    for (int32_t j = i; j > 0 && finished_[j - 1].score < finished_[j].score; --j)
      std::swap(finished_[j - 1], finished_[j]);
}

void beam_search::keep_best() {
  sort_finished();
  finished_count_ = std::min(finished_count_, beams_);
}

// Whether the best open beam, which is the first, scores more than the worst of K finished hypotheses.
bool beam_search::may_improve() const { return score(current_[0].sum, step_) > finished_[beams_ - 1].score; }

// All candidates of all open beams as pairs; returns how many there are.
int32_t beam_search::gather(const row_summary *const *rows, const candidate *const *best) {
  int32_t count = 0;
  for (int32_t b = 0; b < open_; ++b)
    for (int32_t i = 0; i < rows[b]->count; ++i)
      pairs_[count++] = {current_[b].sum + (best[b][i].logit - rows[b]->normaliser), b, best[b][i].token};
  return count;
}

bool beam_search::follow(const row_summary *const *rows, const candidate *const *drawn) { return take(pairs_, gather(rows, drawn)); }

bool beam_search::advance(const row_summary *const *rows, const candidate *const *best) {
  int32_t count = gather(rows, best);
  int32_t considered = std::min(count, 2 * beams_);
  std::partial_sort(pairs_, pairs_ + considered, pairs_ + count, [](const beam_pair &x, const beam_pair &y) {
    if (x.sum != y.sum)
      return x.sum > y.sum;
    return x.beam != y.beam ? x.beam < y.beam : x.token < y.token;
  });
  return take(pairs_, considered);
}

bool beam_search::take(const beam_pair *pairs, int32_t count) {
  last_token_ = count > 0 ? pairs[0].token : -1;
  int32_t next = 0;
  for (int32_t i = 0; i < count && next < beams_; ++i) {
    const beam_pair &p = pairs[i];
    if (!ends_.contains(p.token)) {
      current_[next] = {p.sum, p.beam, p.token};
      *node(step_, next) = {p.beam, p.token};
      ++next;
    } else if (i < beams_) {
      finish(p.sum, step_ + 1, step_ - 1, p.beam, p.token);
    }
  }
  // One beam that ends has nothing to take its place.
  open_ = next;
  ++step_;
  bool is_late = !scoring_.stops_early && open_ > 0;
  if (is_late)
    keep_best();
  bool goes_on = finished_count_ < beams_ || (is_late && may_improve());
  if (goes_on && step_ < max_length_)
    return open_ > 0;
  // Open ones count at the greatest length only, and only where the search has not stopped anyway.
  if (goes_on)
    for (int32_t b = 0; b < open_; ++b)
      finish(current_[b].sum, step_, step_ - 1, b, -1);
  open_ = 0;
  return false;
}

int32_t beam_search::rank(const double *more) {
  for (int32_t i = 0; more && i < finished_count_; ++i)
    finished_[i].score += more[i];
  sort_finished();
  return finished_count_;
}

void beam_search::write_path(int32_t step, int32_t beam, int32_t *tokens) const {
  for (; step >= 0; --step) {
    const beam_node &last = *node(step, beam);
    tokens[step] = last.token;
    beam = last.parent;
  }
}

void beam_search::tokens_of(const hypothesis &h, int32_t *tokens) const {
  write_path(h.step, h.beam, tokens);
  if (h.end >= 0)
    tokens[h.length - 1] = h.end;
}

void beam_search::tokens_of(int32_t open, int32_t *tokens) const { write_path(step_ - 1, open, tokens); }

} // namespace xf::rt
