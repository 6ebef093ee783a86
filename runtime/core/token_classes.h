// What the rows of a search may choose, as classes of forbidden tokens.
//
// Class 0 may choose nothing: its row still reads its prompt, and when all do, a step that chooses leaves the vocabulary out. It is
// followed by a pair of classes for all sentences, or for each slot where a shortlist allows each sentence tokens of its own: what may be
// chosen, and the same without the ends.
#ifndef RUNTIME_CORE_TOKEN_CLASSES_H
#define RUNTIME_CORE_TOKEN_CLASSES_H

#include "runtime/core/beam.h"
#include "runtime/core/shortlist.h"

#include <cstdint>
#include <span>

namespace xf::rt {

class token_classes {
public:
  static constexpr int32_t kNone = 0; // may choose nothing

  // Memory for the most classes that `slots` sentences need, of `words` words each. A set of tokens is as shortlist has it.
  void bind(uint32_t *forbidden, int64_t words, int64_t slots) { forbidden_ = forbidden, words_ = words, slots_ = slots; }

  // For a search that suppresses tokens. `allowed` is null, or what each sentence may choose once it is opened, besides the ends.
  void start(std::span<const int32_t> suppressed, const shortlist *allowed, const end_tokens &ends);
  // A slot's sentence is now one with this source. A slot that is not in use allows nothing, so that it makes the step compute nothing.
  void open(int32_t slot, std::span<const int32_t> source);
  void close(int32_t slot);

  // The class of a slot's rows.
  int32_t of(int32_t slot, bool may_end) const { return (allowed_ ? 1 + 2 * slot : 1) + !may_end; }
  // How many classes a search with at most `slots` sentences at once has.
  int32_t count(int32_t slots) const { return allowed_ ? 1 + 2 * slots : 3; }
  const end_tokens &ends() const { return ends_; }
  const uint32_t *forbidden(int32_t class_index) const { return forbidden_ + class_index * words_; }

private:
  uint32_t *set(int32_t class_index) { return forbidden_ + class_index * words_; }
  // Completes a pair from its first class, which has all that the sentence may not choose except what is suppressed.
  void finish(int32_t class_index);

  uint32_t *forbidden_ = nullptr; // [classes][words], a bit for each token
  int64_t words_ = 0, slots_ = 0;
  std::span<const int32_t> suppressed_;
  const shortlist *allowed_ = nullptr;
  end_tokens ends_;
};

} // namespace xf::rt

#endif
