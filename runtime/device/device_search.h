// A search's steps on a device, of which each begins with what the one before it has decided, without the host: it starts them,
// and is told later what became of its sentences.
#ifndef RUNTIME_DEVICE_DEVICE_SEARCH_H
#define RUNTIME_DEVICE_DEVICE_SEARCH_H

#include "runtime/core/beam.h"
#include "runtime/device/device_memory.h"
#include "runtime/device/executor.h"
#include "runtime/device/logit_choice.h"

#include <cstdint>
#include <span>
#include <vector>

namespace xf::rt {

class search_slots;
struct search_options;
struct step_layout;

// What a step has decided of a sentence: the best pairs for beam_search::take(), and the beams' rows, to which their states
// have been moved already. Lasts until the next step is started.
struct device_decision {
  std::span<const beam_pair> pairs;
  bool failed; // a logit is +inf or NaN
  const int32_t *rows;
};

class device_search {
public:
  // Steps that may be under way: the device has one to work on while the host prepares another and looks at the last.
  static constexpr size_t kMaxAhead = 3;

  // Takes memory for the model's limits.
  device_search(device_executor &executor, const step_layout &layout, logit_choice &logits);

  // Begins with a step whose arguments these are, of the entry that chooses or, `by_logits`, of the one that gives logits. The sentences are those
  // of the slots that are taken. There are no rows but theirs, for each as many as beams are asked for (at most XF_ABI_MAX_ADVANCED_BEAMS), or as are
  // left where beams go on independently. `io` must not be changed before the last step that is started has been finished.
  void begin(const int64_t *dims, void *const *io, bool by_logits, const search_slots &slots, const search_options &options);
  // Starts the next step, whose `dims` give the arguments the same sizes. At most kMaxAhead are under way.
  void start(const int64_t *dims);
  // Waits for the oldest step that has been started.
  void finish();
  // What that step has decided of a sentence.
  device_decision decision(size_t sentence);

private:
  // The layout of the memory for a search, of which the last two parts are what the host is told.
  struct memory_layout {
    memory_layout(int64_t sentences, int64_t beams, int64_t end_words);
    int64_t words, decided_words; // of a sentence
    uint64_t sums, sentences, ends, moves, pair_sums, decided, end;
  };
  // A step of these sizes, and what it launches once it has been asked for twice.
  struct cached_step {
    std::vector<int64_t> sizes;
    uint64_t used;
    std::unique_ptr<device::recording> launches;
  };
  void upload_sentences(const search_slots &slots, bool independent);
  void write_ends(const end_tokens &ends);
  void launch(const int64_t *dims);
  void record(cached_step &step, const int64_t *dims);
  cached_step *find(const int64_t *dims);
  void advance();
  xf_abi_view sentences() const;
  candidate_buffers candidates() const;
  uint8_t *downloaded(size_t step) const { return staging_.get() + (1 + step % kMaxAhead) * slot_; }

  device_executor &executor_;
  const step_layout &layout_;
  device_memory memory_;
  uint64_t slot_;
  host_memory staging_; // what a search begins with, and of each step under way what it has decided
  logit_choice &logits_;
  const entry_info *entry_ = nullptr; // of the steps
  bool by_logits_ = false;
  int64_t rows_ = 0, sentences_ = 0, beams_ = 0;
  memory_layout offsets_{0, 0, 0};
  uint64_t marks_[kMaxAhead] = {};
  size_t started_ = 0, finished_ = 0;
  std::vector<cached_step> cache_;
  std::vector<int64_t> sizes_; // of the step that is asked for, and where its arguments lie
  uint64_t clock_ = 0;
  bool records_ = true; // until the device cannot
  std::vector<beam_pair> pairs_;
};

} // namespace xf::rt

#endif
