// Why a sentence is refused, as what follows "line 3: ". Allocates nothing.
#ifndef RUNTIME_CORE_REFUSAL_H
#define RUNTIME_CORE_REFUSAL_H

#include <cstdint>
#include <span>

namespace xf::rt {

// What the methods return is valid until the next one is called.
class refusal {
public:
  static constexpr const char *no_tokens = "it has no tokens", *only_padding = "it has nothing but padding";

  const char *too_few_tokens(int64_t count, int64_t min_count);
  // `what`: "it", or a part of it.
  const char *too_long(const char *what, int64_t count, int64_t max_count);
  // Names the first token that is negative or not below `bound` (0: all are below); null if there is none.
  const char *unknown_token(std::span<const int32_t> ids, int64_t bound, const char *where = "");

private:
  char text_[160];
};

// Tells of a sentence whether it is not refused: refuse(sentence) says why it is, and the sink is told.
template <typename Refuse, typename Sink> auto accepting(Refuse refuse, Sink &sink) {
  return [refuse, &sink](int64_t sentence) {
    const char *problem = refuse(sentence);
    if (problem)
      sink.sentence_failed(sentence, problem);
    return !problem;
  };
}

} // namespace xf::rt

#endif
