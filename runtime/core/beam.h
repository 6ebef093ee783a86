// The beams of one sentence: which (beam, token) pairs go on and which hypotheses are finished. Knows nothing of models, nor of the rows
// that beams have in their states; greedy search is the search with one beam.
//
// At each step the 2K best pairs by summed log p are taken (ties: lower beam, then lower token). Of the K best
// those that end the sentence finish, and the next best take their places. The search stops at K finished
// hypotheses, without the open ones, or goes on while these may become better (beam_scoring); at the greatest length the open ones count
// as finished. A hypothesis of n tokens, the end token included, scores sum / n^alpha. Where results are drawn, or are alternatives, each of K
// beams goes on with a token of its own.
#ifndef RUNTIME_CORE_BEAM_H
#define RUNTIME_CORE_BEAM_H

#include "runtime/core/arena.h"
#include "runtime/core/row_best.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace xf::rt {

struct beam_node {
  int32_t parent; // beam of the step before
  int32_t token;
};

struct open_beam {
  double sum;
  int32_t parent; // beam of the step before
  int32_t token;
};

// What a beam may become: its sum with a token's log p.
struct beam_pair {
  double sum;
  int32_t beam;
  int32_t token;
};

struct hypothesis {
  double sum;
  double score;   // sum / length^alpha, and what rank() adds to it
  int32_t length; // tokens, the end token included
  int32_t step;   // of its last node; -1: none
  int32_t beam;   // of its last node
  int32_t end;    // the token that ended it, or -1
};

// The tokens that end a result: the model's, and those that a search is given, which outlive it.
struct end_tokens {
  int32_t first = -1;
  std::span<const int32_t> more, given;

  bool contains(int32_t token) const {
    auto is_in = [token](std::span<const int32_t> tokens) { return std::find(tokens.begin(), tokens.end(), token) != tokens.end(); };
    return token == first || is_in(more) || is_in(given);
  }
  template <typename Visit> void for_each(Visit visit) const {
    if (first >= 0)
      visit(first);
    std::for_each(more.begin(), more.end(), visit);
    std::for_each(given.begin(), given.end(), visit);
  }
};

struct beam_scoring {
  double alpha = 1.0;
  int32_t before = 0; // tokens that count in a length besides a hypothesis' own
  // Otherwise a search with K finished hypotheses goes on while the best open beam, at its present length, scores more than the worst of the
  // K best (transformers' early_stopping=False): a heuristic, as a longer beam may score more than that if alpha is above 0.
  bool stops_early = true;
};

class beam_search {
public:
  // Memory for at most `beams` beams and `length` tokens.
  void plan(arena_plan &plan, int64_t beams, int64_t length);
  void bind(const arena &memory);

  void start(int32_t beams, int32_t max_length, const end_tokens &ends, const beam_scoring &scoring = {});

  // Takes the best tokens of every open beam b: best[b] has 2K candidates (with one beam 1), or fewer where there are no more; rows[b]
  // says how many. Returns false when the sentence is done.
  bool advance(const row_summary *const *rows, const candidate *const *best);
  // The same where each open beam goes on with its own candidates, whatever those of others: K at the first step, then one each.
  bool follow(const row_summary *const *rows, const candidate *const *drawn);
  // The same where the best pairs are known: the first `count` of them, at most 2K.
  bool take(const beam_pair *pairs, int32_t count);

  int32_t open() const { return open_; }
  // Of a search with one beam: the token of the last step, or -1 if there was none to choose.
  int32_t last_token() const { return last_token_; }
  const open_beam &beam(int32_t b) const { return current_[b]; }
  int32_t produced() const { return step_; } // tokens of the open beams
  int32_t remaining() const { return max_length_ - step_; } // tokens that they may still get
  int32_t max_length() const { return max_length_; }
  const end_tokens &ends() const { return ends_; }
  int32_t finished() const { return finished_count_; }

  // Sorts the finished hypotheses by their scores, best first; returns how many there are. `more`: null, or what is added to each one's
  // score, in the order of finished() before the call.
  int32_t rank(const double *more = nullptr);
  const hypothesis &finished(int32_t i) const { return finished_[i]; }
  // Writes the hypothesis' length tokens.
  void tokens_of(const hypothesis &h, int32_t *tokens) const;
  // Writes the produced() tokens of an open beam.
  void tokens_of(int32_t open, int32_t *tokens) const;

private:
  int32_t gather(const row_summary *const *rows, const candidate *const *best);
  void finish(double sum, int32_t length, int32_t step, int32_t beam, int32_t end);
  void sort_finished();
  void keep_best();
  double score(double sum, int32_t length) const;
  bool may_improve() const;
  void write_path(int32_t step, int32_t beam, int32_t *tokens) const;
  beam_node *node(int32_t step, int32_t beam) const { return nodes_ + int64_t(step) * beams_ + beam; }

  uint64_t nodes_offset_ = 0, open_offset_ = 0, finished_offset_ = 0, pairs_offset_ = 0;
  beam_node *nodes_ = nullptr;
  open_beam *current_ = nullptr;
  hypothesis *finished_ = nullptr;
  beam_pair *pairs_ = nullptr;
  int32_t beams_ = 1, max_length_ = 0;
  end_tokens ends_;
  beam_scoring scoring_;
  int32_t open_ = 0, step_ = 0, finished_count_ = 0, last_token_ = -1;
};

} // namespace xf::rt

#endif
