/* The sample model's "generated" code: what the compiler writes into an image, here written by hand in C.
 *
 * All of it lies in the section xf_sample_code, which the tests copy into an image. So it must be position
 * independent and refer to nothing outside: no calls that are not inlined, no constants in memory. */
#include "runtime/abi/xf_abi.h"
#include "test/runtime/sample_math.h"

#define SAMPLE_CODE __attribute__((section("xf_sample_code"), used, noinline))

/* The sample's states, by index; the image's table says the same. */
enum { SEEN, SCAN, CROSS };
enum { LAYERS = 2, OUTER = 2, UNIT = 4 };
/* Indices of dimensions. */
enum { B, S, T, N, P };

SAMPLE_INLINE float quotient(int32_t x, int32_t y) {
  __asm__("" : "+r"(x), "+r"(y)); /* keeps the compiler from making constants in memory */
  return (float)x / (float)y;
}
SAMPLE_INLINE double constant(int64_t x) {
  __asm__("" : "+r"(x)); /* the same */
  return (double)x;
}
SAMPLE_INLINE void arrive(const xf_abi_context *c) {
  if (c->barrier)
    c->barrier(c);
}
SAMPLE_INLINE void *state_row(const xf_abi_context *c, int state, int64_t layer, int64_t row) {
  const xf_abi_state_view *view = &c->states[state];
  return view->data + (uint64_t)layer * view->layer_stride + (uint64_t)row * view->row_stride;
}
SAMPLE_INLINE int32_t *seen_at(const xf_abi_context *c, int64_t layer, int64_t row, int64_t outer, int64_t position) {
  int64_t room = (c->capacities[T] + UNIT - 1) / UNIT * UNIT;
  return (int32_t *)state_row(c, SEEN, layer, c->first_row + row) + outer * room + position;
}

/* encode(src) -> memory */
SAMPLE_INLINE void encode(const xf_abi_context *c, int sequence_first) {
  const int32_t *src = c->io[0];
  float *memory = c->io[1];
  for (int64_t i = c->thread; i < c->dims[B] * c->dims[S]; i += c->threads) {
    int64_t s = sequence_first ? i / c->dims[B] : i % c->dims[S];
    memory[2 * i] = (float)sample_feature(src[i], (int32_t)s);
    memory[2 * i + 1] = quotient(src[i] != SAMPLE_PAD, 1);
  }
}
SAMPLE_CODE void sample_encode(const xf_abi_context *c) { encode(c, 0); }
SAMPLE_CODE void sample_encode_first(const xf_abi_context *c) { encode(c, 1); }

/* begin(memory, xf.slots) */
SAMPLE_INLINE void begin(const xf_abi_context *c, int sequence_first) {
  const float *memory = c->io[0];
  const int32_t *slots = c->io[1];
  for (int64_t b = c->thread; b < c->dims[B]; b += c->threads) {
    uint32_t cross = 1;
    for (int64_t s = 0; s < c->dims[S]; ++s) {
      const float *at = memory + 2 * (sequence_first ? s * c->dims[B] + b : b * c->dims[S] + s);
      if (at[1] != 0)
        cross = sample_cross(cross, (int32_t)at[0], (int32_t)s);
    }
    uint32_t *state = state_row(c, CROSS, 0, slots[b]);
    state[0] = cross;
    state[1] = (uint32_t)c->dims[S];
  }
}
SAMPLE_CODE void sample_begin(const xf_abi_context *c) { begin(c, 0); }
SAMPLE_CODE void sample_begin_first(const xf_abi_context *c) { begin(c, 1); }

/* A kernel: the logits of one row and position, this thread's columns. views: two states, the logits. */
SAMPLE_CODE void sample_logits(const xf_abi_context *c, const xf_abi_view *views) {
  const uint32_t *state = views[0].data;
  float *logits = views[1].data;
  for (int32_t v = c->thread; v < SAMPLE_VOCABULARY; v += c->threads)
    logits[v] = quotient(sample_score(state[0], state[1], state[2], v), 8);
}

/* The logits of a row and position: in the step's output, or of the last position alone, in the workspace. */
SAMPLE_INLINE float *logits_at(const xf_abi_context *c, int sequence_first, int source, int chooses, int64_t b, int64_t n) {
  if (chooses)
    return (float *)c->workspace + SAMPLE_VOCABULARY * b;
  float *logits = c->io[source ? 3 : 2];
  return logits + SAMPLE_VOCABULARY * (sequence_first ? n * c->dims[B] + b : b * c->dims[N] + n);
}

/* The new positions of all rows. */
SAMPLE_INLINE void step(const xf_abi_context *c, int sequence_first, int source, int chooses) {
  const int32_t *tokens = c->io[0], *past = c->io[1], *slots = source ? c->io[2] : 0;
  int64_t rows = c->dims[B], positions = c->dims[N];
  for (int64_t n = 0; n < positions; ++n) {
    for (int64_t b = c->thread; b < rows; b += c->threads) {
      int32_t token = tokens[sequence_first ? n * rows + b : b * positions + n];
      for (int64_t layer = 0; layer < LAYERS; ++layer)
        for (int64_t outer = 0; outer < OUTER; ++outer)
          *seen_at(c, layer, b, outer, past[b] + n) = token;
      uint32_t *scan = state_row(c, SCAN, 0, c->first_row + b);
      *scan = sample_scan(past[b] + n == 0 ? 0 : *scan, token);
    }
    arrive(c);
    for (int64_t b = 0; b < rows; ++b) {
      uint32_t values[3] = {1, 0, *(uint32_t *)state_row(c, SCAN, 0, c->first_row + b)};
      for (int64_t p = 0; p <= past[b] + n; ++p)
        values[1] = sample_seen(values[1], *seen_at(c, p % LAYERS, b, p / LAYERS % OUTER, p), (int32_t)p);
      if (source) {
        const uint32_t *cross = state_row(c, CROSS, 0, slots[b]);
        values[0] = cross[1] == (uint32_t)c->dims[S] ? cross[0] : 0; /* another S is a mistake of the caller's */
      }
      xf_abi_view views[2];
      views[0].data = values;
      views[1].data = logits_at(c, sequence_first, source, chooses, b, n);
      ((xf_abi_kernel_fn)c->kernels[0])(c, views, 0);
    }
    arrive(c);
  }
}
/* step(tokens, xf.past[, xf.slots]) -> logits */
SAMPLE_CODE void sample_step(const xf_abi_context *c) { step(c, 0, 1, 0); }
SAMPLE_CODE void sample_step_first(const xf_abi_context *c) { step(c, 1, 1, 0); }
SAMPLE_CODE void sample_step_alone(const xf_abi_context *c) { step(c, 0, 0, 0); }

/* choose(.., xf.forbidden, xf.classes, xf.options) -> xf.values, xf.tokens, xf.norms */
SAMPLE_INLINE void choose(const xf_abi_context *c, int sequence_first, int source) {
  step(c, sequence_first, source, 1);
  void *const *io = c->io + (source ? 3 : 2);
  const int32_t *classes = io[1], *options = io[2];
  const double eighth = constant(8824969025845955) / constant(10000000000000000); /* e^(-1/8) */
  const float none = (float)(constant(-1) / constant(0));
  for (int64_t b = c->thread; b < c->dims[B]; b += c->threads) {
    const uint32_t *forbidden = (const uint32_t *)io[0] + 4 * classes[b];
    const float *logits = logits_at(c, sequence_first, source, 1, b, 0);
    float *values = (float *)io[3] + SAMPLE_MAX_CHOSEN * b, *norms = (float *)io[5] + 2 * b;
    int32_t *tokens = (int32_t *)io[4] + SAMPLE_MAX_CHOSEN * b;
    uint32_t taken = forbidden[0];
    double sum = 0;
    for (int32_t i = 0; i < SAMPLE_VOCABULARY || i < SAMPLE_MAX_CHOSEN; ++i) {
      int32_t best = -1;
      for (int32_t v = 0; v < SAMPLE_VOCABULARY; ++v)
        if (!(taken >> v & 1) && (best < 0 || logits[v] > logits[best]))
          best = v;
      float value = best < 0 ? none : logits[best];
      if (i == 0)
        norms[0] = value;
      if (best >= 0) {
        taken |= 1u << best;
        double exponential = constant(1);
        for (int32_t eighths = (int32_t)((norms[0] - value) * (float)constant(8)); eighths > 0; --eighths)
          exponential *= eighth;
        sum += exponential;
      }
      if (i < SAMPLE_MAX_CHOSEN) {
        values[i] = i < options[0] ? value : none;
        tokens[i] = i < options[0] ? best : -1;
      }
    }
    norms[1] = (float)sum;
  }
}
SAMPLE_CODE void sample_choose(const xf_abi_context *c) { choose(c, 0, 1); }
SAMPLE_CODE void sample_choose_first(const xf_abi_context *c) { choose(c, 1, 1); }
SAMPLE_CODE void sample_choose_alone(const xf_abi_context *c) { choose(c, 0, 0); }

/* align(tgt, memory) -> weights */
SAMPLE_INLINE void align(const xf_abi_context *c, int sequence_first) {
  const int32_t *tokens = c->io[0];
  const float *memory = c->io[1];
  float *weights = c->io[2];
  int64_t rows = c->dims[B], length = c->dims[T], source = c->dims[S];
  for (int64_t b = c->thread; b < rows; b += c->threads) {
    uint32_t seen = 0;
    for (int64_t t = 0; t < length; ++t) {
      int64_t index = sequence_first ? t * rows + b : b * length + t;
      seen = sample_seen(seen, tokens[index], (int32_t)t);
      for (int64_t s = 0; s < source; ++s) {
        const float *at = memory + 2 * (sequence_first ? s * rows + b : b * source + s);
        weights[index * source + s] = at[1] == 0 ? quotient(0, 1) : quotient(sample_weight(seen, (int32_t)at[0], (int32_t)s), 64);
      }
    }
  }
}
SAMPLE_CODE void sample_align(const xf_abi_context *c) { align(c, 0); }
SAMPLE_CODE void sample_align_first(const xf_abi_context *c) { align(c, 1); }

/* tag(src) -> labels: one row for each token, of the token alone */
SAMPLE_CODE void sample_tag(const xf_abi_context *c) {
  const int32_t *src = c->io[0];
  float *labels = c->io[1];
  for (int64_t i = c->thread; i < c->dims[B] * c->dims[S] * SAMPLE_LABELS; i += c->threads)
    labels[i] = quotient(-(int32_t)((src[i / SAMPLE_LABELS] + i) % SAMPLE_LABELS), 4);
}

SAMPLE_INLINE void store_pooled(float *vector, int64_t b, int32_t sum) {
  for (int32_t v = 0; v < SAMPLE_POOLED; ++v)
    vector[b * SAMPLE_POOLED + v] = quotient(sum * (v + 1), 4);
}

/* pool(src) -> vector: of all tokens but padding */
SAMPLE_CODE void sample_pool(const xf_abi_context *c) {
  const int32_t *src = c->io[0];
  for (int64_t b = c->thread; b < c->dims[B]; b += c->threads) {
    int32_t sum = 0;
    for (int64_t s = b * c->dims[S]; s < (b + 1) * c->dims[S]; ++s)
      sum += src[s];
    store_pooled(c->io[1], b, sum);
  }
}

/* The same of sentences behind each other: (src, xf.tokens, xf.positions, xf.spans) -> vector; positions are checked. */
SAMPLE_CODE void sample_pool_packed(const xf_abi_context *c) {
  const int32_t *tokens = c->io[1], *positions = c->io[2], *spans = c->io[3];
  for (int64_t b = c->thread; b < c->dims[B]; b += c->threads) {
    int32_t sum = 0, first = spans[2 * b], length = spans[2 * b + 1];
    for (int32_t s = first; s < first + length; ++s)
      sum += positions[s] == s - first && s < c->dims[P] && length <= c->dims[S] ? tokens[s] : 1000;
    store_pooled(c->io[4], b, sum);
  }
}

/* pool(src, types) -> vector: tokens of the second text count twice */
SAMPLE_CODE void sample_pool_pair(const xf_abi_context *c) {
  const int32_t *src = c->io[0], *types = c->io[1];
  for (int64_t b = c->thread; b < c->dims[B]; b += c->threads) {
    int32_t sum = 0;
    for (int64_t s = b * c->dims[S]; s < (b + 1) * c->dims[S]; ++s)
      sum += src[s] * (1 + types[s]);
    store_pooled(c->io[2], b, sum);
  }
}

/* The same of sentences behind each other: (src, types, xf.tokens, xf.positions, xf.spans, xf.types) -> vector */
SAMPLE_CODE void sample_pool_pair_packed(const xf_abi_context *c) {
  const int32_t *tokens = c->io[2], *spans = c->io[4], *types = c->io[5];
  for (int64_t b = c->thread; b < c->dims[B]; b += c->threads) {
    int32_t sum = 0;
    for (int32_t s = spans[2 * b]; s < spans[2 * b] + spans[2 * b + 1]; ++s)
      sum += tokens[s] * (1 + types[s]);
    store_pooled(c->io[6], b, sum);
  }
}

/* which(x) -> isa: says which instruction set's kernels run */
SAMPLE_CODE void sample_which(const xf_abi_context *c) {
  xf_abi_view view;
  view.data = c->io[1];
  if (c->thread == 0)
    ((xf_abi_kernel_fn)c->kernels[1])(c, &view, 1);
}
#define SAMPLE_ISA(name, value)                                                                                                                      \
  SAMPLE_CODE void name(const xf_abi_context *c, const xf_abi_view *views) {                                                                         \
    for (int64_t b = 0; b < c->dims[B]; ++b)                                                                                                         \
      ((int32_t *)views[0].data)[b] = value;                                                                                                         \
  }
SAMPLE_ISA(sample_isa_0, 0)
SAMPLE_ISA(sample_isa_1, 1)
SAMPLE_ISA(sample_isa_2, 2)

/* The states, for the image. */
const xf_abi_state sample_states[3] = {{{0, 0}, LAYERS, 0, XF_ABI_I32, 2, 1, {OUTER, -(T + 1)}, {1, UNIT}},
                                       {{0, 0}, 1, 0, XF_ABI_I32, 1, -1, {2}, {1}},
                                       {{0, 0}, 1, 1, XF_ABI_I32, 1, -1, {4}, {1}}};
