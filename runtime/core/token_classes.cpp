#include "runtime/core/token_classes.h"

#include <algorithm>

namespace xf::rt {

namespace {

uint32_t bit(int32_t token) { return 1u << (token % 32); }

} // namespace

void token_classes::start(std::span<const int32_t> suppressed, const shortlist *allowed, const end_tokens &ends) {
  suppressed_ = suppressed;
  allowed_ = allowed;
  ends_ = ends;
  std::fill_n(set(kNone), words_, ~0u);
  if (allowed_) {
    for (int32_t slot = 0; slot < slots_; ++slot)
      close(slot);
  } else {
    std::fill_n(set(1), words_, 0u);
    finish(1);
  }
}

void token_classes::open(int32_t slot, std::span<const int32_t> source) {
  if (!allowed_)
    return;
  uint32_t *forbidden = set(of(slot, true));
  std::fill_n(forbidden, words_, ~0u);
  allowed_->allow(source, forbidden);
  ends_.for_each([&](int32_t token) { forbidden[token / 32] &= ~bit(token); });
  finish(of(slot, true));
}

void token_classes::close(int32_t slot) {
  if (allowed_)
    std::fill_n(set(of(slot, true)), 2 * words_, ~0u);
}

void token_classes::finish(int32_t class_index) {
  uint32_t *forbidden = set(class_index), *without_end = set(class_index + 1);
  for (int32_t token : suppressed_)
    forbidden[token / 32] |= bit(token);
  std::copy_n(forbidden, words_, without_end);
  ends_.for_each([&](int32_t token) { without_end[token / 32] |= bit(token); });
}

} // namespace xf::rt
