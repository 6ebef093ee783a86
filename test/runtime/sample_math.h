/* What the sample model computes, shared by its "generated" code and by the tests that check it. */
#ifndef TEST_RUNTIME_SAMPLE_MATH_H
#define TEST_RUNTIME_SAMPLE_MATH_H

#include <stdint.h>

enum { SAMPLE_VOCABULARY = 11, SAMPLE_LABELS = 5, SAMPLE_POOLED = 3, SAMPLE_BETWEEN = 7, SAMPLE_MAX_CHOSEN = 8 };
enum { SAMPLE_PAD = 0, SAMPLE_START = 1, SAMPLE_END = 2 };

#define SAMPLE_INLINE static inline __attribute__((always_inline))

/* Feature of source token `id` at position s. */
SAMPLE_INLINE int32_t sample_feature(int32_t id, int32_t s) { return (id * 7 + s * 3) % 13; }
/* Folds a source token's feature into the hash of a sentence that its steps read; padding is left out. */
SAMPLE_INLINE uint32_t sample_cross(uint32_t cross, int32_t feature, int32_t s) { return cross * 33u + (uint32_t)(feature + 1) * (uint32_t)(s + 1); }
/* Two hashes of the target so far: of its tokens and positions, and, as a scan, of its tokens. */
SAMPLE_INLINE uint32_t sample_seen(uint32_t seen, int32_t token, int32_t position) { return seen * 31u + (uint32_t)token * 3u + (uint32_t)position; }
SAMPLE_INLINE uint32_t sample_scan(uint32_t scan, int32_t token) { return scan * 17u + (uint32_t)token; }
/* The weight, in 64ths, of source position s for a target position whose hash of tokens so far is `seen`. */
SAMPLE_INLINE int32_t sample_weight(uint32_t seen, int32_t feature, int32_t s) {
  return (int32_t)((seen * 5u + (uint32_t)(feature * 3 + s)) >> 1 & 15);
}
/* The score of token v in eighths: few values, so that ties are common. */
SAMPLE_INLINE int32_t sample_score(uint32_t cross, uint32_t seen, uint32_t scan, int32_t v) {
  uint32_t h = (cross ^ seen * 0x9e3779b1u) + scan * 0x85ebca6bu + (uint32_t)v * 0xc2b2ae35u;
  h ^= h >> 15;
  h *= 0x27d4eb2fu;
  h ^= h >> 13;
  return (int32_t)(h >> 7 & 31);
}

#endif
