/* The one meeting point of compiler and runtime: the layout of a compiled image and the
 * calling convention of the code in it.
 *
 * Dependency-free C. The compiler writes these structs, the runtime maps them; neither
 * restates them. Any change of meaning or layout raises XF_ABI_VERSION.
 *
 * Image. One position-independent block of bytes: this header, tables, code, weights,
 * vocabularies and the unfused IR. Ranges are byte offsets from the image's first byte. Code and
 * weights start at multiples of XF_ABI_PAGE, both in the image and in the file that carries it,
 * so that they are mapped, shared and never copied. All integers are little-endian.
 *
 * Carriers. A bare model file is the image alone. An executable or shared library is a prebuilt ELF
 * file, padding up to a multiple of XF_ABI_PAGE, the image, and an xf_abi_trailer at the very end.
 */
#ifndef XF_ABI_H
#define XF_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XF_ABI_MAGIC "XFIMAGE"
#define XF_ABI_TRAILER_MAGIC "XFTRAIL"
#define XF_ABI_VERSION 22u
#define XF_ABI_PAGE 4096u
#define XF_ABI_MAX_RANK 6
#define XF_ABI_MAX_NAME 4096u /* bytes of a name, none of them 0 */
/* The greatest size of a dimension, limit of a search, and number of bytes of a memory: larger ones are damage, and sums of
 * products below them cannot overflow. */
#define XF_ABI_MAX_SIZE (INT64_C(1) << 31)
#define XF_ABI_MAX_LIMIT (INT64_C(1) << 24)
#define XF_ABI_MAX_BYTES (UINT64_C(1) << 46)
/* The most inputs, and the most outputs, of an entry. */
#define XF_ABI_MAX_ARGUMENTS 256
/* Width of a weight panel and of a block of keys, in columns. */
#define XF_ABI_PANEL 16

/* --- What generated code sees ------------------------------------------------------------- */

/* A strided tensor as a kernel receives it. Sizes and strides count elements; entries past the
 * rank are unspecified. */
typedef struct xf_abi_view {
  void *data;
  int64_t size[XF_ABI_MAX_RANK];
  int64_t stride[XF_ABI_MAX_RANK];
} xf_abi_view;

/* Where a state lies: row r of layer l starts at data + l * layer_stride + r * row_stride, in bytes. */
typedef struct xf_abi_state_view {
  uint8_t *data;
  uint64_t layer_stride, row_stride;
} xf_abi_state_view;

/* What one thread passes to an entry's plan, and the plan to its kernels. Everything but
 * `scratch` and `thread` is the same for all threads of a call. A step of many rows may be several calls at the same time,
 * each of one thread with rows and a workspace of its own. */
typedef struct xf_abi_context {
  const int64_t *dims;           /* current value of each dimension, by index in the table */
  void *const *io;               /* the entry's inputs, then its outputs: dense, row-major */
  const uint8_t *weights;        /* start of the weights range */
  const xf_abi_state_view *states; /* by index in the table; they hold zeros at first, then what searches left of states of the same data type */
  const int64_t *capacities;     /* the states' capacity for each dimension, by index in the table */
  uint8_t *workspace;            /* shared by the threads of a call */
  uint8_t *scratch;              /* this thread's own */
  const void *const *kernels;    /* kernel addresses of the chosen instruction set */
  /* Returns when all threads of the call have arrived. Memory written before by any of them
   * is visible after. Null when threads == 1. */
  void (*barrier)(const struct xf_abi_context *);
  void *runtime;                 /* the runtime's own; generated code leaves it alone */
  int32_t thread;                /* 0 <= thread < threads */
  int32_t threads;
  int64_t first_row;             /* of a STEP: which row of the states is row 0 of this call */
} xf_abi_context;

/* An entry's plan: runs on every thread of the call with its own context. */
typedef void (*xf_abi_entry_fn)(const xf_abi_context *);
/* A kernel: `views` holds its operands, then its results, and for a product the weights of the next one. It does its thread's
 * share. `index` is that in the context's table, whose entries may all be one function that has another device run the
 * kernel. */
typedef void (*xf_abi_kernel_fn)(const xf_abi_context *, const xf_abi_view *views, int64_t index);

/* --- The image ------------------------------------------------------------------------------ */

typedef struct xf_abi_range {
  uint64_t offset; /* from the image's first byte */
  uint64_t size;   /* bytes */
} xf_abi_range;

/* A table: `count` structs of the named type from `offset` on (8-byte aligned). */
typedef struct xf_abi_table {
  uint64_t offset;
  uint64_t count;
} xf_abi_table;

enum xf_abi_dtype {
  XF_ABI_F32 = 0,
  XF_ABI_I32 = 1,
  XF_ABI_I1 = 2, /* one byte, 0 or 1 */
  XF_ABI_BF16 = 3, /* of stored parameters and states only, as those that follow */
  XF_ABI_I8 = 4,
  XF_ABI_F16 = 5,
  XF_ABI_DTYPE_COUNT = 6
};
static inline uint64_t xf_abi_dtype_bytes(uint32_t dtype) {
  return dtype == XF_ABI_I1 || dtype == XF_ABI_I8 ? 1 : dtype == XF_ABI_BF16 || dtype == XF_ABI_F16 ? 2 : 4;
}

/* Instruction sets, ascending: a CPU that has one has those before it, except that CPUs with AVX-512 may lack AVX-VNNI, and have
 * no use for it. */
enum xf_abi_isa {
  XF_ABI_BASELINE = 0, /* x86-64-v2 */
  XF_ABI_AVX2 = 1,     /* x86-64-v3: AVX2, FMA, BMI2, F16C */
  XF_ABI_AVX2_VNNI = 2, /* and AVX-VNNI: products of bytes */
  XF_ABI_AVX512 = 3,   /* x86-64-v4: AVX-512 F, BW, CD, DQ, VL */
  XF_ABI_AVX512_VNNI = 4, /* and VNNI: products of bytes */
  XF_ABI_AVX512_BF16 = 5, /* and BF16: products of bf16 */
  XF_ABI_ISA_COUNT = 6
};

/* A named dimension. Which role it plays in a search is said by xf_abi_generate. */
typedef struct xf_abi_dim {
  xf_abi_range name;
  int64_t max; /* the session refuses larger values */
} xf_abi_dim;

typedef struct xf_abi_tensor {
  xf_abi_range name;
  uint32_t dtype;
  uint32_t rank;
  /* A size when >= 0, else dimension index -(dim + 1). */
  int64_t dim[XF_ABI_MAX_RANK];
  /* Of an i32 input: the runtime refuses values outside 0 <= v < bound before the code sees them (rows of
   * the embedding table that it indexes); 0: any value will do. */
  int64_t bound;
  /* Of an input: the runtime refuses smaller sizes of named dimensions (the code reads positions up to here); 0 and 1: any
   * size will do. */
  int64_t min_size[XF_ABI_MAX_RANK];
} xf_abi_tensor;

enum xf_abi_entry_kind {
  XF_ABI_ENTRY_FULL = 0,  /* called by name, over whole sequences */
  XF_ABI_ENTRY_BEGIN = 1, /* once per sentence: fills the states that hold for all steps */
  XF_ABI_ENTRY_STEP = 2,  /* n new positions of every row */
  XF_ABI_ENTRY_PACKED = 3 /* as a FULL or BEGIN entry, of sentences behind each other, without padding */
};

/* An entry. Inputs are tensors[first_tensor ...], outputs follow.
 *
 * A BEGIN entry has, beside the model's inputs, the input "xf.slots" i32[B]: sentence b fills slot
 * xf.slots[b]. A STEP entry has the decode entry's token input (with dimension N, new positions, in
 * place of its target dimension), "xf.past" i32[B]: how many positions of row b the states already hold,
 * and "xf.slots" i32[B]: which sentence row b belongs to.
 *
 * A PACKED entry has the inputs and outputs of its FULL or BEGIN entry, but what has rows [B, S, ..] there has rows [1, P, ..],
 * P tokens in all. The tokens themselves are given twice: as they are there, with the padding token behind each sentence, and
 * packed as "xf.tokens" i32[1, P]. "xf.positions" i32[P] has the position of each in its sentence, "xf.spans" i32[B, 2]
 * the first token and the number of tokens of each sentence; none is longer than S. The twin of a prediction with types
 * has them packed behind these, as "xf.types" i32[1, P].
 *
 * Dimensions of a call. FULL: those of its inputs. BEGIN: B new sentences, padded to one source length S. STEP: B rows
 * of N positions; S is the padded length that all sentences in the slots share, T at least the most
 * positions that a row holds after the step. Others are unspecified. */
typedef struct xf_abi_entry {
  xf_abi_range name;
  uint64_t code_offset; /* of its plan, from the start of the code range */
  uint32_t kind;
  uint32_t inputs;
  uint32_t outputs;
  uint32_t first_tensor;
  uint64_t workspace_bytes; /* of the image's, for the largest dimensions */
} xf_abi_entry;

/* Offsets of one instruction set's kernels from the start of the code range. */
typedef struct xf_abi_kernels {
  uint32_t isa;
  uint32_t reserved;
  xf_abi_table offsets; /* uint64_t */
} xf_abi_kernels;

/* Kernels for GPUs. A plan is the same for all devices: it describes views, of device memory here, and calls kernels
 * by index; kernel `index` runs in stages 0, 1, ..., and each stage by the first of its launches whose limit holds. The
 * function's parameters are the array of views itself, by value. A launch has
 *   constant * ceil(product over factors of ceil(size / divisor of the factor) / divisor)
 * blocks, where a size is views[factor.view].size[factor.dim]; if that is 0, nothing is launched. */
typedef struct xf_abi_gpu_factor {
  uint32_t view, dim;
  uint32_t divisor;
  uint32_t reserved;
} xf_abi_gpu_factor;
typedef struct xf_abi_gpu_launch {
  xf_abi_range function; /* its name in the module */
  uint32_t threads;      /* of a block */
  uint32_t factors;
  uint32_t divisor;
  uint32_t constant;
  uint32_t limit_view, limit_dim;
  int64_t limit;  /* taken while that size is at most this; negative: always */
  uint32_t stage; /* a kernel's launches are in the order of their stages */
  uint32_t max_blocks; /* taken while it has at most so many; 0: always */
  xf_abi_gpu_factor factor[XF_ABI_MAX_RANK];
} xf_abi_gpu_launch;
/* The most views of a kernel: the parameters of a launch have at most 4 KiB. */
#define XF_ABI_MAX_GPU_VIEWS 39
typedef struct xf_abi_gpu_kernel {
  uint32_t views;
  uint32_t launches;
  uint64_t first_launch;
} xf_abi_gpu_kernel;
/* One launch in place of two kernels, where a plan calls `product` right after `row`, view 0 [rows, columns] of `product` is view `view` of
 * `row`, of rank `rank`, with the leading dimensions as one, and the launch's limit holds. Its views are those of `product`, by which its
 * blocks are counted, then those of `row`. */
typedef struct xf_abi_gpu_pair {
  uint32_t row, product; /* kernels */
  uint32_t view, rank;
  xf_abi_gpu_launch launch;
} xf_abi_gpu_pair;
/* Besides the kernels that plans call there are some that searches call:
 * move_rows(state, moves): state is of bytes, has size [layers, outer, unit_positions, bytes of a unit], strides of [a layer, an
 *   outer index, a row] and starts with row 0; of each row (from, to, positions) of moves, i32 [moves, 3], the units that hold
 *   these positions are copied. What one move writes no other reads.
 * advance(values, chosen, norms, options, sums, sentences, tokens, past, classes, moves, pair_sums, decided, ends): takes a search of
 *   G sentences with K beams, at most XF_ABI_MAX_ADVANCED_BEAMS, from one step of R rows to the next. Of each sentence it reads
 *     values, chosen, norms, options: what the step gives of its rows and was told (xf_abi_generate),
 *     sums f64[G, K]: of the open beams' logarithms of probabilities,
 *     sentences i32[G, XF_ABI_SENTENCE_WORDS + K]: the words of xf_abi_sentence, and the row of each beam; where beams go on independently,
 *       those that will not be open may have another's,
 *     ends i32[W]: bit v mod 32 of word v div 32 is set where token v ends a result,
 *   and of a sentence that is not done it writes
 *     sums and sentences as they are after the step,
 *     tokens, past, classes i32[R]: what the next step is told of the sentence's rows, unless the sentence is done now,
 *     moves i32[G * K, 3]: for move_rows; where a sentence is done, of a row to itself,
 *     pair_sums f64[G, 2K], decided i32[G, 2 + 5K]: how many of the best pairs there are, whether a norm of its rows is NaN,
 *       the new row of each beam, and the pairs' beams and tokens.
 *   Which pairs these are, and what becomes of them, is said in runtime/core/beam.h.
 * apply_rules(logits, tokens, past, read, rules): applies the rules of runtime/core/logit_rules.h to the logits f32[R, V] of a step that has
 *   read tokens i32[R] at the positions past i32[R]. The kernel notes them in read i32[R, T], which holds what was read before: a token, or
 *   -1 - token where an earlier position of the row has it, too. rules are an f64, the repetition penalty, and an i64, the length of the
 *   n-grams that are not to be repeated, or 0.
 * choose_logits(logits, forbidden, classes, options, values, tokens, norms, parts): computes from the logits f32[R, V] what `choose` gives
 *   (xf_abi_generate), K being XF_ABI_MAX_CHOSEN; parts f32[R, choose_parts] is memory for what lies between its stages.
 * take_logits(logits, forbidden, classes, tokens, values): values f32[R] become each row's logit of its token in tokens i32[R], -inf where
 *   the row may not choose it.
 * draw(logits, forbidden, classes, values, tokens, norms, sentences, draws, how): draws a token for each open beam of sentences, which are as
 *   advance has them. draws u64[G, K] is what a sentence's random numbers are made from, the same for its K beams. how is an f64, the temperature,
 *   an f64, the share, an i64, from how many of the best tokens it draws, which choose_logits has left in values, tokens and norms, or 0 if it
 *   draws from all, and an f64, how far logits may be from the largest, or -inf. What it has drawn takes the place of the row's first value and
 *   token. runtime/core/row_sample.h says how. */
#define XF_ABI_MAX_ADVANCED_BEAMS 32
#define XF_ABI_MAX_CHOSEN 64 /* 2 * XF_ABI_MAX_ADVANCED_BEAMS */
enum xf_abi_sentence {
  XF_ABI_OPEN = 0,       /* beams */
  XF_ABI_PRODUCED = 1,   /* tokens */
  XF_ABI_MAX_LENGTH = 2, /* of them */
  XF_ABI_MIN_LENGTH = 3,
  XF_ABI_FINISHED = 4,   /* hypotheses */
  XF_ABI_CLASS = 5,      /* of rows that may choose the end; the next one is of those that may not */
  XF_ABI_POSITIONS = 6,  /* that the rows hold after the step */
  XF_ABI_DONE = 7,
  XF_ABI_INDEPENDENT = 8,      /* 1: each open beam goes on with its own candidate, of which there is one */
  XF_ABI_SENTENCE_WORDS
};
typedef struct xf_abi_gpu {
  xf_abi_range ptx;    /* text, without a 0 at its end; size 0: there are no kernels for GPUs */
  uint32_t capability; /* compute capability that it needs, 10 * major + minor */
  uint32_t reserved;
  xf_abi_table kernels;  /* xf_abi_gpu_kernel */
  xf_abi_table launches; /* xf_abi_gpu_launch */
  xf_abi_table pairs;    /* xf_abi_gpu_pair */
  xf_abi_gpu_kernel move_rows;   /* of models that are searched, else without launches */
  xf_abi_gpu_kernel advance;
  xf_abi_gpu_kernel apply_rules;
  xf_abi_gpu_kernel choose_logits;
  xf_abi_gpu_kernel take_logits;
  xf_abi_gpu_kernel draw;
  uint64_t choose_parts;
} xf_abi_gpu;

/* A state, kept between steps: rows of one shape for each layer, in row-major order without gaps. A size is a dimension's capacity
 * (xf_abi_context.capacities) or a constant, rounded up to a multiple. Moving row a to row b copies the positions in use, along the
 * axis of positions in units of its multiple: the elements of a unit may be interleaved. */
typedef struct xf_abi_state {
  xf_abi_range name;
  uint64_t layers;
  uint32_t per_sentence;  /* 1: a row per sentence slot (filled by BEGIN); 0: per search row */
  uint32_t dtype;
  uint32_t rank;          /* of a row */
  int32_t positions;      /* the axis of the target's positions; -1: a row moves as a whole (scans) */
  int64_t size[XF_ABI_MAX_RANK];     /* >= 0, else dimension index -(size + 1) */
  int64_t multiple[XF_ABI_MAX_RANK]; /* powers of two */
} xf_abi_state;

/* The size of a row's axis, rounded up. `capacities`: by dimension. */
static inline uint64_t xf_abi_state_size(const xf_abi_state *state, uint32_t axis, const int64_t *capacities) {
  int64_t size = state->size[axis];
  uint64_t multiple = (uint64_t)state->multiple[axis];
  return ((uint64_t)(size >= 0 ? size : capacities[-(size + 1)]) + multiple - 1) & ~(multiple - 1);
}
static inline uint64_t xf_abi_state_row_bytes(const xf_abi_state *state, const int64_t *capacities) {
  uint64_t bytes = xf_abi_dtype_bytes(state->dtype);
  for (uint32_t axis = 0; axis < state->rank; ++axis)
    bytes *= xf_abi_state_size(state, axis, capacities);
  return bytes;
}

/* Where a checkpoint tensor's rows lie in the weights, so that tools can read it back. A tensor of rank
 * r is seen as [rows, columns] with columns = its last size (rank 1: one row). */
enum xf_abi_layout {
  XF_ABI_PLAIN = 0, /* [rows][columns] */
  XF_ABI_PANELS = 1, /* [ceil(rows/16)][ceil(columns/g)][16][g], padded with zeros; g = 1 (f32), 2 (bf16, f16), 4 (i8) */
  XF_ABI_COLUMN_PANELS = 2 /* panels of a matrix whose rows are the tensor's columns */
};
typedef struct xf_abi_segment {
  uint64_t row;           /* first row of the tensor */
  uint64_t rows;
  uint64_t weight_offset; /* of the packed matrix, from the start of the weights range */
  uint64_t weight_row;    /* row of the packed matrix that holds `row`; of column panels, all rows' first column */
  uint32_t layout;
  uint32_t dtype;        /* XF_ABI_F32, XF_ABI_BF16, XF_ABI_F16, or XF_ABI_I8: element times the scale of its weight row */
  uint64_t scale_offset; /* XF_ABI_I8: of weight row 0's scale, f32, from the start of the weights range */
} xf_abi_segment;
typedef struct xf_abi_parameter {
  xf_abi_range path;
  uint32_t rank;
  uint32_t reserved;
  int64_t size[XF_ABI_MAX_RANK];
  uint64_t first_segment;
  uint64_t segments;
} xf_abi_parameter;

/* How entries serve a search; entry indices are -1 where there is none.
 *
 * `choose` is a STEP entry that does as `step` does, but gives of each row's last position what a search needs in place of
 * the logits. Its inputs are those of `step` in the same order, and behind them
 *   xf.forbidden i32[C, W]: bit v mod 32 of word v div 32 is set where rows of a class may not choose token v,
 *   xf.classes   i32[B]: the class of each row, below C,
 *   xf.options   i32[2]: how many candidates are wanted (1 to K), and whether the sums of exponentials are.
 * Its outputs are
 *   xf.values    f32[B, K], xf.tokens i32[B, K]: logits and tokens of the candidates, best first, ties to the lower
 *                token; -inf and -1 where there are no more,
 *   xf.norms     f32[B, 2]: the largest logit (NaN if one is +inf or not a number), and the sum of exp(logit - largest).
 * W is 4 * ceil(vocabulary / 128).
 *
 * `align` says how much each target token looks at each source token. Its inputs are tensors of `encode`, by their names, and the target's
 * tokens, under the name that they have in `step`; its result is f32 [B, T, S], or [T, B, S]. */
#define XF_ABI_MAX_ENDS 8
typedef struct xf_abi_generate {
  int32_t present; /* 0: the model does not generate */
  int32_t encode, begin, step;
  int32_t tokens_input;   /* of the step entry: the new tokens */
  int32_t logits_output;  /* of the step entry: [B, N, V], or [N, B, V] when sequence_first */
  int32_t start, end, pad; /* -1 where there is none */
  int32_t more_ends[XF_ABI_MAX_ENDS - 1]; /* tokens that end a result beside `end` */
  uint32_t more_ends_count;
  int32_t sequence_first;
  int32_t batch_dim;      /* indices in the dims table */
  int32_t source_dim;
  int32_t target_dim;
  int32_t new_dim;        /* N of the step entry */
  int32_t min_length;
  int32_t max_length_base;   /* largest target length: max_length_per_source * source length */
  int32_t max_length_per_source; /* + max_length_base, both 0: only the limit bounds it */
  /* 1: the sentences in the slots may have been given to BEGIN with different S, each at most the S of the steps. */
  int32_t ragged_source;
  int32_t choose;         /* the step entry that ends in choosing tokens, or -1 */
  int32_t packed_encode, packed_begin; /* twins of encode and begin: of all that there are, or -1 */
  int32_t align;          /* a FULL entry, or -1; see above */
  int64_t batch, beam, source, target; /* limits */
} xf_abi_generate;

enum xf_abi_split { XF_ABI_IDS = 0, XF_ABI_CHARACTERS = 1, XF_ABI_WORDS = 2, XF_ABI_SUBWORDS = 3 };
#define XF_ABI_MAX_AFFIX 8
/* How lines become tokens, and back. */
typedef struct xf_abi_text {
  uint32_t source_split, target_split;
  int32_t source_unknown;  /* id of a token that the vocabulary lacks; -1: an error */
  int32_t lowercase;       /* 1: the line is lowered (Unicode simple lower case) first */
  uint32_t prefix_count, suffix_count, between_count, reserved;
  int32_t prefix[XF_ABI_MAX_AFFIX], suffix[XF_ABI_MAX_AFFIX];
  int32_t between[XF_ABI_MAX_AFFIX]; /* the two texts of a line with a tab; none: a tab is a blank */
} xf_abi_text;

/* What an encoder-only program prints for a line. The fields batch_dim, source_dim, sequence_first, batch and
 * source of xf_abi_generate hold for it too, though generate.present is 0. */
typedef struct xf_abi_predict {
  int32_t present;
  int32_t entry;
  int32_t output;  /* of that entry */
  int32_t labels;  /* 1: the index of each row's largest value (by name with a target vocabulary); 0: values */
  int32_t pad;
  int32_t packed;  /* the entry's twin, or -1 */
  int32_t types;   /* the input that is not the tokens: 0 as far as the first `between` of them, 1 behind it; -1: there is none */
  int32_t reserved;
} xf_abi_predict;

typedef struct xf_abi_image {
  char magic[8]; /* XF_ABI_MAGIC with its 0 */
  uint32_t abi_version;
  uint32_t header_size; /* sizeof(xf_abi_image) */
  uint64_t image_size;
  uint64_t checksum;       /* xf_abi_checksum */
  xf_abi_range name;       /* of the model */
  xf_abi_range code;       /* page aligned */
  xf_abi_range weights;    /* page aligned */
  xf_abi_range ir;         /* the unfused IR, as text; size 0: none */
  xf_abi_range source_vocabulary, target_vocabulary; /* UTF-8, a token a line; size 0: none */
  /* SentencePiece models, or tables of tokenizers (xf_tokenizer.h), of sides that are split into subwords; size 0: none. Where there is no
   * vocabulary their pieces are the tokens. Both may be the same bytes. */
  xf_abi_range source_subwords, target_subwords;
  xf_abi_table dims;       /* xf_abi_dim */
  xf_abi_table tensors;    /* xf_abi_tensor */
  xf_abi_table entries;    /* xf_abi_entry */
  xf_abi_table kernels;    /* xf_abi_kernels, ascending by isa; none without kernels for CPUs */
  xf_abi_gpu gpu;
  xf_abi_table states;     /* xf_abi_state */
  xf_abi_table parameters; /* xf_abi_parameter */
  xf_abi_table segments;   /* xf_abi_segment */
  uint64_t workspace_bytes; /* the largest of the entries' */
  uint64_t scratch_bytes;  /* for each thread */
  xf_abi_generate generate;
  xf_abi_text text;
  xf_abi_predict predict;
} xf_abi_image;

/* The checksum of what an image has in front of its weights, which are too large to be read when it is opened: `size` bytes, a multiple of 8,
 * without `checksum` itself. An FNV-1a hash of 64-bit words, whose upper half is folded into the lower one: otherwise a change of a word's last
 * byte would stay in the hash's last byte, where two of them often cancel each other out. A change of one word, of however many bits, changes it. */
static inline uint64_t xf_abi_checksum(const void *image, uint64_t size) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (uint64_t at = 0; at < size; at += 8)
    if (at != offsetof(xf_abi_image, checksum)) {
      uint64_t word;
      memcpy(&word, (const char *)image + at, 8);
      hash = (hash ^ word) * 0x100000001b3u;
      hash ^= hash >> 32;
    }
  return hash;
}

typedef struct xf_abi_trailer {
  char magic[8]; /* XF_ABI_TRAILER_MAGIC with its 0 */
  uint64_t image_offset; /* from the start of the file */
  uint64_t image_size;
} xf_abi_trailer;

#if defined(__cplusplus)
#define XF_ABI_ASSERT(what) static_assert(what, #what)
#else
#define XF_ABI_ASSERT(what) _Static_assert(what, #what)
#endif
XF_ABI_ASSERT(sizeof(void *) == 8);
XF_ABI_ASSERT(sizeof(xf_abi_view) == 8 + 16 * XF_ABI_MAX_RANK);
XF_ABI_ASSERT(offsetof(xf_abi_context, thread) == 80 && sizeof(xf_abi_context) == 96);
XF_ABI_ASSERT(offsetof(xf_abi_image, code) == 48 && offsetof(xf_abi_image, weights) == 64); /* as in tools/capi.py */
XF_ABI_ASSERT(sizeof(xf_abi_tensor) == 32 + 16 * XF_ABI_MAX_RANK);
XF_ABI_ASSERT(sizeof(xf_abi_entry) == 48);
XF_ABI_ASSERT(sizeof(xf_abi_state) == 136);
XF_ABI_ASSERT(sizeof(xf_abi_segment) == 48);
XF_ABI_ASSERT(sizeof(xf_abi_gpu_launch) == 56 + 16 * XF_ABI_MAX_RANK && sizeof(xf_abi_gpu) == 176);
XF_ABI_ASSERT(sizeof(xf_abi_generate) % 8 == 0 && sizeof(xf_abi_text) % 8 == 0);

#ifdef __cplusplus
}
#endif
#endif
