// Which target tokens a sentence may be translated with, by its source tokens.
#ifndef RUNTIME_CORE_SHORTLIST_H
#define RUNTIME_CORE_SHORTLIST_H

#include <cstdint>
#include <span>
#include <vector>

namespace xf::rt {

// Sets of tokens are bits: token v is bit v mod 32 of word v div 32.
class shortlist {
public:
  // For a vocabulary of `source` and one of `target` tokens.
  shortlist(int64_t source, int64_t target)
      : starts_(static_cast<size_t>(source) + 1), always_(static_cast<size_t>((target + 31) / 32)), target_(target) {}

  struct pair {
    int32_t source; // -1: whatever the source
    int32_t target;
  };
  // Takes the pairs, in any order, all tokens below the vocabularies' sizes.
  void fill(std::vector<pair> pairs);

  int64_t target() const { return target_; }
  int64_t source() const { return static_cast<int64_t>(starts_.size()) - 1; }
  // Clears the bits of what a sentence may be translated with. `forbidden` has room for the target vocabulary.
  void allow(std::span<const int32_t> sentence, uint32_t *forbidden) const;

private:
  std::vector<int64_t> starts_; // of each source token's targets
  std::vector<int32_t> targets_;
  std::vector<uint32_t> always_;
  int64_t target_;
};

} // namespace xf::rt

#endif
