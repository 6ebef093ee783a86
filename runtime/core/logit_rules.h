// What may be changed of a row of logits before tokens are chosen from it.
#ifndef RUNTIME_CORE_LOGIT_RULES_H
#define RUNTIME_CORE_LOGIT_RULES_H

#include <cstdint>
#include <span>

namespace xf::rt {

// `logits` has one for each token that can be chosen. Decoders may have read others: these are passed over.

// Tokens whose bits are set (token v is bit v mod 32 of word v div 32) get the logit -inf.
void leave_out(std::span<float> logits, const uint32_t *forbidden);

// The logits of all tokens that were read before are divided by `penalty` where they are positive, and multiplied by it where
// they are not (Keskar et al. 2019, "CTRL", section 4.1), once however often a token was read. `scratch` has room for as many
// values as there are tokens.
void penalise_repetition(std::span<float> logits, std::span<const int32_t> read, double penalty, float *scratch);

// A token gets the logit -inf if it would be the last of `length` tokens that stand in `read` already.
void forbid_repeated_ngrams(std::span<float> logits, std::span<const int32_t> read, int32_t length);

} // namespace xf::rt

#endif
