/* xf: running models that xfc has compiled.
 *
 * A model is opened from a file (a compiled program, a shared library or a bare model file) or from memory. A
 * session runs it: it owns threads and all memory that runs need, reserved when it is created; xf_run and
 * xf_generate allocate nothing, except on a GPU a staging buffer that grows to the largest call. Sessions of one model share its
 * weights, as do processes.
 *
 * Errors. Functions that can fail return a status; xf_message() then says in a sentence what went wrong. No
 * input makes the library crash or print.
 *
 * Threads. A model may be used by any number of threads at once. A session serves one call at a time; create
 * a session for each thread that needs one. xf_message() is the calling thread's own. After a fork() while no call runs,
 * parent and child each have the session; in the child it starts its threads anew. A session on a GPU the child may only free.
 * Where a session has a thread for each CPU that the creating thread may use, those that it starts are bound to one each. The calling
 * thread is not bound: one that is bound to the CPU that it runs on moves to another. Calling threads need stacks of 128 KiB, and
 * with a GPU what its driver needs.
 *
 * Functions that the caller gives (run_threads, on_token) must return: neither an exception nor longjmp() may leave them.
 *
 * Structs that begin with `size` must be given by their initialiser function, which takes sizeof(the struct) as the caller knows
 * it, or with size = sizeof(the struct); fields that a later version adds are then left alone.
 */
#ifndef XF_XF_H
#define XF_XF_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define XF_API __attribute__((visibility("default")))
#else
#define XF_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum xf_status {
  XF_OK = 0,
  XF_INVALID_ARGUMENT = 1, /* an argument, shape, name or value is wrong */
  XF_BAD_IMAGE = 2,        /* the file is no compiled model, damaged, or of another version */
  XF_UNSUPPORTED = 3,      /* this CPU or this model cannot do it */
  XF_LIMIT = 4,            /* larger than the limits that the model was compiled for */
  XF_IO = 5,               /* the operating system refused */
  XF_OUT_OF_MEMORY = 6,
  XF_INTERNAL = 7
} xf_status;

enum xf_dtype { XF_F32 = 0, XF_I32 = 1, XF_I1 = 2 /* one byte, 0 or 1 */ };
enum xf_isa {
  XF_ISA_BEST = -1,
  XF_ISA_BASELINE = 0,
  XF_ISA_AVX2 = 1,
  XF_ISA_AVX2_VNNI = 2, /* in int8 models, encoders of bf16 and models of large vocabularies; not on all CPUs with AVX-512 */
  XF_ISA_AVX512 = 3,
  XF_ISA_AVX512_VNNI = 4, /* in int8 models, encoders of bf16 and models of large vocabularies */
  XF_ISA_AVX512_BF16 = 5  /* in bf16 and int8 models only; BEST is another where its products are slow (Intel from Sapphire Rapids on) */
};
/* BEST: a GPU where there is one and the model has code for it that its driver takes, else the CPU; a GPU that has too little memory is an
 * error. EMULATOR runs the GPU's code on the CPU, slowly, and finds what is wrong with it. */
enum xf_device { XF_DEVICE_BEST = 0, XF_DEVICE_CPU = 1, XF_DEVICE_CUDA = 2, XF_DEVICE_EMULATOR = 3 };
#define XF_MAX_RANK 6

typedef struct xf_model xf_model;
typedef struct xf_session xf_session;
typedef struct xf_lines xf_lines;

/* What the last call on this thread that failed had to say. Valid until the next call that fails. */
XF_API const char *xf_message(void);
/* "MAJOR.MINOR.PATCH" of this library. */
XF_API const char *xf_version(void);

/* --- Models ------------------------------------------------------------------------------------ */

/* Opens a compiled program, shared library or model file. On success *model is to be freed. */
XF_API xf_status xf_open(const char *path, xf_model **model);
/* Opens a model image in memory, which starts at a multiple of 64 bytes and outlives the model and its sessions. */
XF_API xf_status xf_open_memory(const void *data, uint64_t size, xf_model **model);
/* Opens the model that is attached to the file (program or shared library) which this function is in. */
XF_API xf_status xf_open_self(xf_model **model);
/* Opens the model of this name that is attached to the program or to any library that is loaded: with several libraries
 * in a process, functions are those of the first. */
XF_API xf_status xf_open_linked(const char *name, xf_model **model);
/* Sessions keep what they need: a model may be freed before them. Null is fine. */
XF_API void xf_model_free(xf_model *model);

XF_API const char *xf_model_name(const xf_model *model);
/* The model's IR before fusion, as text. Not terminated; of size 0 if the model was compiled from kernel IR, or is null. */
XF_API const void *xf_model_ir(const xf_model *model, uint64_t *size);

typedef struct xf_limits {
  size_t size;
  /* Of a search: sentences at once, beams, tokens of a sentence, tokens of a result. 0 where there is none. */
  int64_t batch, beam, source, target;
  int64_t vocabulary; /* of the results */
  /* Bytes. A session reserves state + search + threads * scratch, and workspace, which a model of sentences (searched or
   * encoded) has for each thread; weights are mapped and shared. xf_process_lines takes memory for its lines and results beside, and
   * the first time for vocabularies, which its model keeps. */
  uint64_t weights_bytes, state_bytes, workspace_bytes, search_bytes, scratch_bytes;
} xf_limits;
XF_API xf_status xf_get_limits(const xf_model *model, xf_limits *limits);

/* How the model is searched. Tokens are -1 where there is none. */
typedef struct xf_search_info {
  size_t size;
  int32_t generates; /* 0: it is not searched, and the rest is -1 or 0 */
  int32_t predicts;  /* 1: xf_process_lines gives predictions */
  int32_t start, end, pad;
  int32_t source_inputs; /* inputs that xf_generate_from takes; 0: the model continues prompts */
} xf_search_info;
XF_API xf_status xf_get_search_info(const xf_model *model, xf_search_info *info);

/* Named dimensions of the model's shapes, and the largest value of each. Null and -1 beyond the last. */
XF_API int32_t xf_dim_count(const xf_model *model);
XF_API const char *xf_dim_name(const xf_model *model, int32_t dim);
XF_API int64_t xf_dim_limit(const xf_model *model, int32_t dim);

/* Entries: functions of the model that can be called by name. The search's own are not among them. */
XF_API int32_t xf_entry_count(const xf_model *model);
XF_API const char *xf_entry_name(const xf_model *model, int32_t entry);
XF_API int32_t xf_input_count(const xf_model *model, int32_t entry);
XF_API int32_t xf_output_count(const xf_model *model, int32_t entry);

typedef struct xf_tensor_info {
  const char *name; /* lives as long as the model */
  int32_t dtype;
  int32_t rank;
  int64_t shape[XF_MAX_RANK]; /* a size, or -(dim + 1) for the named dimension `dim` */
  int64_t bound;              /* i32 inputs: values are below it (0: any) */
} xf_tensor_info;
XF_API xf_status xf_input_info(const xf_model *model, int32_t entry, int32_t input, xf_tensor_info *info);
XF_API xf_status xf_output_info(const xf_model *model, int32_t entry, int32_t output, xf_tensor_info *info);

/* The inputs of xf_generate_from. */
XF_API xf_status xf_source_info(const xf_model *model, int32_t input, xf_tensor_info *info);

/* --- Sessions ---------------------------------------------------------------------------------- */

/* Threads of the caller's: calls task(argument, i) for each i from 0 to threads - 1, each on a thread of its own, and returns when all have
 * returned. Tasks synchronise with each other, so all of them must run concurrently: run one after another they deadlock. Any thread may be
 * any i, the calling one included. It is called by the thread that calls the session, and must not use the session. */
typedef void (*xf_task)(void *argument, int32_t thread);
typedef void (*xf_threads_function)(void *context, int32_t threads, xf_task task, void *argument);

typedef struct xf_session_options {
  size_t size;
  int32_t threads; /* at most 1024; 0: as many as the process may use */
  int32_t isa;     /* enum xf_isa */
  int32_t device;  /* enum xf_device */
  /* Null: the session starts threads of its own, that sleep while it is not used. Else it is called with threads_context, one or more
   * times per xf_run or step of a search, unless `threads` is 1. Results are the same. */
  xf_threads_function run_threads;
  void *threads_context;
} xf_session_options;
/* The defaults: xf_session_options_init(&options, sizeof(options)). No more than `size` bytes are written. */
XF_API void xf_session_options_init(xf_session_options *options, size_t size);
/* `options` may be null. */
XF_API xf_status xf_session_create(const xf_model *model, const xf_session_options *options, xf_session **session);
XF_API void xf_session_free(xf_session *session);
XF_API int32_t xf_session_threads(const xf_session *session);
/* "baseline", "avx2", "avx2_vnni", "avx512", "avx512_vnni" or "avx512_bf16". */
XF_API const char *xf_session_isa(const xf_session *session);
/* "cpu", "emulator", or the GPU's name. Lives as long as the session. */
XF_API const char *xf_session_device(const xf_session *session);

/* A dense row-major tensor in the caller's memory. */
typedef struct xf_tensor {
  const char *name; /* null: the tensor at this place of the entry's */
  int32_t dtype;
  int32_t rank;
  int64_t shape[XF_MAX_RANK];
  void *data; /* aligned for its type; inputs are not written */
} xf_tensor;

/* Sets dtype, rank and shape of each output as xf_run would need it for these inputs; a null name is set. Data
 * of inputs may be token values that are checked, so it must be there. */
XF_API xf_status xf_output_shapes(xf_session *session, const char *entry, const xf_tensor *inputs, int32_t input_count, xf_tensor *outputs,
                                  int32_t output_count);
/* Runs an entry. All inputs and all outputs must be given, with the shapes that they have; there are at most 256 of each. No output may
 * share memory with an input or with another output. */
XF_API xf_status xf_run(xf_session *session, const char *entry, const xf_tensor *inputs, int32_t input_count, const xf_tensor *outputs,
                        int32_t output_count);

/* --- Generating -------------------------------------------------------------------------------- */

/* A lexical table: what sentences may be translated with, by their source tokens. The file's lines are
 *   source<TAB>target target ...
 * (nothing before the tab: allowed for every sentence; the end token always is), in tokens of the model's vocabularies, or
 * in ids where it has none or `ids` is not 0. For sessions of this model; any number of them may use it at once. */
typedef struct xf_shortlist xf_shortlist;
XF_API xf_status xf_shortlist_open(const xf_model *model, const char *path, int32_t ids, xf_shortlist **shortlist);
XF_API void xf_shortlist_free(xf_shortlist *shortlist);

/* Told of a token of a sentence's result as soon as it is chosen, tokens in their order; it must not use the session. */
typedef void (*xf_token_function)(void *context, int64_t sentence, int32_t token);

/* More beams, sentences at once or tokens than the model's limits (xf_get_limits) are XF_LIMIT, other values out of a field's range
 * XF_INVALID_ARGUMENT. */
typedef struct xf_generate_options {
  size_t size;
  int32_t beam;       /* 1: greedy */
  int32_t n_best;     /* results of a sentence, 1 to `beam` */
  int32_t min_length; /* tokens before the end token; -1: the model's */
  int32_t max_length; /* tokens, the end token included, 1 or more; -1: the model's */
  /* Sentences at once; 0: the model's limit on a GPU, on a CPU what makes 128 rows (sentences times beams) for each thread, within
   * that limit: more are no faster and take memory. */
  int32_t batch;
  int32_t scores;     /* 0: greedy search need not compute scores (it gives 0) */
  /* alpha, -20 to 20: a result of n tokens scores (sum of log p) / n^alpha, where p is a token's probability, after the repetition penalty,
   * among those that may be chosen there: not suppressed, not repeated, in the shortlist, and no end before min_length */
  double length_penalty;
  const int32_t *suppress; /* tokens never to choose */
  int64_t suppress_count;
  const xf_shortlist *shortlist; /* null: every token may be chosen */
  /* 0.01 to 100: logits of tokens that the decoder has read for the result (its start token, its prefix or prompt, what was chosen) are
   * divided by this where they are positive, and multiplied by it where they are not; 1: they stay. */
  double repetition_penalty;
  int32_t no_repeat_ngram; /* N > 0: no N tokens that the decoder reads stand behind each other twice */
  /* 1: instead of searching, `beam` results are drawn, each token with the probability that the model gives it, p^(1 / temperature)
   * made to sum up to 1, among the top_k most probable (0: all), and of these among the fewest that have together the share top_p,
   * and of these among those that are at least min_p times as probable as the most probable one (0: all).
   * What is drawn is a function of the sentence's tokens, its prefix, the options and the seed, so that sentences of features alone
   * (xf_generate_from) share their random numbers. Scores are as in a search. 0: temperature, top_p, seed, top_k and min_p are not looked at. */
  int32_t sample;
  double temperature, top_p; /* 0.01 to 100; above 0, at most 1 */
  uint64_t seed;
  int32_t top_k;
  int32_t line_prefixes; /* of xf_process_lines. 1: what stands behind a line's first tab is its prefix, in target tokens */
  const int32_t *ends;   /* tokens that end a result, beside the model's end token */
  int64_t ends_count;
  /* What the decoder is given behind its start token, unless it begins with that: results go on from there, and do not hold it; lengths
   * do not count it (but see prefix_counts). Without prefix_offsets the prefix_count tokens are every sentence's; with them, whatever
   * prefix_count, sentence i has prefix[prefix_offsets[i]] .. prefix[prefix_offsets[i + 1] - 1]. Not of models that continue prompts.
   * xf_process_lines takes a prefix for all lines, or line_prefixes. */
  const int32_t *prefix;
  int64_t prefix_count;
  const int64_t *prefix_offsets;
  /* Null, or called with token_context for every token, the one that ends the result included; xf_ids_to_text tells the text of those that
   * have come. For one beam: which of several goes on is not known before. Not of xf_process_lines. */
  xf_token_function on_token;
  void *token_context;
  /* target_offsets not null: nothing is searched for. The result of sentence i is targets[target_offsets[i]] ..
   * targets[target_offsets[i + 1] - 1], at least one token (a whole result has the end token as its last), and gets the score that a search
   * would give it (but for its last bits, as another kernel adds up): -infinity where a token's probability is 0, as that of an end before
   * the model's least length. Of the other options length_penalty, coverage_penalty and the prefixes count; those that say how to search,
   * what may be chosen or how long results are must have their defaults. */
  const int32_t *targets;
  const int64_t *target_offsets;
  int32_t line_targets; /* of xf_process_lines. 1: what stands behind a line's first tab is its target, to which the end token is added */
  /* 1: the `beam` most probable first tokens, but for the start token and padding, begin a result each, which goes on with what is most
   * probable behind it. Results are in the order of their scores. XF_LIMIT where the model's limit is one beam. */
  int32_t alternatives;
  /* beta, 0 to 100: a result's score gets beta * (sum over its source's tokens, padding left out, of log(min(1, c))), where c is how much all
   * its tokens together look at that one, clamped below at 1e-10, for models that align their results. A search goes the way that it goes
   * without; what has ended is ordered by it. In xf_generate_from a source of features, and one of a model without a padding token, does not
   * say what is padding: the sum is over all positions of the batch's longest source, so scores depend on how far a sentence is padded. */
  double coverage_penalty;
  int32_t line_alignments; /* of xf_process_lines. 1: xf_line_alignment tells them */
  /* 1: the n of length_penalty counts the prefix, but for a start token, as other programs count tokens that they force on a result's begin */
  int32_t prefix_counts;
  double min_p; /* 0 to 1: of `sample` */
  /* 1: a search with beams ends when `beam` results have ended. 0: it then goes on while its best open beam, at its present length, scores more
   * than the worst of the `beam` best results, as transformers does unless early_stopping is set there. */
  int32_t early_stopping;
  /* Of xf_process_lines: tokens, at most 8, that are put before and behind a line's text instead of the prefix and the suffix of the
   * description's text(...). Counts of -1: these stay. */
  const int32_t *source_prefix;
  int64_t source_prefix_count;
  const int32_t *source_suffix;
  int64_t source_suffix_count;
} xf_generate_options;
/* The defaults: xf_generate_options_init(&options, sizeof(options)). beam, n_best, scores, length_penalty, repetition_penalty,
 * temperature, top_p and early_stopping are 1, min_length, max_length, source_prefix_count and source_suffix_count -1, all others 0 and null.
 * No more than `size` bytes are written. */
XF_API void xf_generate_options_init(xf_generate_options *options, size_t size);

/* Where results go, in the caller's memory; best first. */
typedef struct xf_hypotheses {
  size_t size;
  int32_t *tokens;  /* [sentences][n_best][capacity]; no start token and no prefix; the token that ended it, if one did */
  int64_t capacity; /* tokens beyond it are counted in `lengths` but not stored */
  int32_t *lengths; /* [sentences][n_best]; -1 where there is no such result */
  double *scores;   /* [sentences][n_best], or null */
  /* Null, or how much each token of a result looks at each of its sentence, for models that align their results
   * (generate(..., align = ENTRY)): [sentences][n_best][capacity][alignment_width]. What a result or a sentence has no tokens for is left as
   * it is, and tokens of a sentence beyond the width are left out. */
  float *alignments;
  int64_t alignment_width;
} xf_hypotheses;

/* Searches for the targets of `count` sentences: sentence i is ids[offsets[i]] .. ids[offsets[i + 1] - 1], to which nothing is
 * added: prefix and suffix of the description's text(...) are for text only (xf_text_to_ids). For a model without a source these are
 * prompts, which get the start token, if the model has one, unless they begin with it, and the results their
 * continuations. Results do not depend on `batch`, on the number of threads, or on the other sentences. A sentence that
 * cannot be searched (empty, only padding, too long, an unknown token) gets lengths -1; the others are searched, and the
 * call returns XF_INVALID_ARGUMENT and the message of the first such sentence. The same goes for one for which the model makes logits
 * +infinity or NaN, or all that may be chosen -infinity (which is a probability of 0). */
XF_API xf_status xf_generate(xf_session *session, const int32_t *ids, const int64_t *offsets, int64_t count, const xf_generate_options *options,
                             const xf_hypotheses *results);
/* One batch of sentences given as the model's own source inputs (tokens with padding, masks, features). If anything is wrong with `inputs`
 * themselves, unknown tokens included, the call fails as a whole; a sentence that has nothing but padding, or a prefix or target that
 * cannot be read, fails alone, as in xf_generate. */
XF_API xf_status xf_generate_from(xf_session *session, const xf_tensor *inputs, int32_t input_count, const xf_generate_options *options,
                                  const xf_hypotheses *results);

/* --- Encoding ---------------------------------------------------------------------------------- */

typedef struct xf_encoding_info {
  size_t size;
  int64_t width;    /* floats of a row */
  int32_t by_token; /* 1: a row for each token, 0: one for each sentence */
} xf_encoding_info;
/* What xf_encode gives: the encoder's result of a model that generates, the prediction of one that predicts. */
XF_API xf_status xf_get_encoding_info(xf_session *session, xf_encoding_info *info);
/* Encodes sentences of any lengths, padded as little as is fastest, as a rule not at all; sentence i is ids[offsets[i]] ..
 * ids[offsets[i + 1] - 1], to which nothing is added, as in xf_generate; where the model takes the types of tokens, those behind the
 * first that stand between two texts are of the second. Rows are written one behind the other to `rows`,
 * [tokens of all sentences][width] or [count][width]; it has room for `capacity` floats. Results do not depend on the other
 * sentences or on the number of threads. Rows of a sentence that cannot be encoded are left as they are, and the call returns
 * XF_INVALID_ARGUMENT and the message of the first such sentence. */
XF_API xf_status xf_encode(xf_session *session, const int32_t *ids, const int64_t *offsets, int64_t count, float *rows, int64_t capacity);

/* --- Text -------------------------------------------------------------------------------------- */

enum xf_side { XF_SOURCE = 0, XF_TARGET = 1, XF_SOURCE_TOKENS = 2 };

/* Cuts a text (UTF-8, `length` bytes, -1: up to its zero byte) into the ids that a line of xf_process_lines becomes: in small letters and
 * normalised where the model was compiled so. Line ends are characters like others.
 * XF_SOURCE: what xf_generate and xf_encode take, prompts included, with the prefix and suffix of the description's text(...). A text with a tab
 * is two where the description has tokens that stand between two. An empty one is an error.
 * XF_TARGET: what a prefix or target of xf_generate_options is made of. Nothing is put around it, the end token neither, it may be empty, and
 * words that are names of special tokens become these.
 * XF_SOURCE_TOKENS: the same of the source's tokens, as for a source_prefix of xf_generate_options.
 * At most `capacity` ids are written; *count is how many there are. XF_UNSUPPORTED where that side has no vocabulary. */
XF_API xf_status xf_text_to_ids(const xf_model *model, int32_t side, const char *text, int64_t length, int32_t *ids, int64_t capacity,
                                int64_t *count);
/* The text of a result, as xf_line_text gives it: special tokens are left out, those of the model's that end results among them (one of
 * xf_generate_options.ends is not known here). Labels of a model that predicts them are written by their names, with blanks between.
 * `more`: 1 where more ids may follow. What these could change, as half a character, is then left out, so that what is given for the first ids
 * of a result begins with what was given for fewer of them, and the whole text, of `more` 0, with all of it: show what is new each time.
 * At most `capacity` bytes are written, a zero byte at the end included; *length is how many the text has, without that. XF_UNSUPPORTED where
 * results have no vocabulary. */
XF_API xf_status xf_ids_to_text(const xf_model *model, const int32_t *ids, int64_t count, int32_t more, char *text, int64_t capacity,
                                int64_t *length);

/* Lines (UTF-8, without newline) to lines: results of a search, or the predictions of an encoder-only model (which uses
 * `batch` only; a line with a tab is two texts where the description has tokens that stand between two). Where the model has no vocabulary
 * or `ids` is set, lines are ids, which get no prefix and suffix. `options` may be null. On success *lines_out is to be freed. Bad lines
 * have an error of their own and do not make the call fail. */
XF_API xf_status xf_process_lines(xf_session *session, const char *const *lines, int64_t count, int32_t ids, const xf_generate_options *options,
                                  xf_lines **lines_out);
/* Results of a line; 0 for a bad one. */
XF_API int32_t xf_line_results(const xf_lines *lines, int64_t line);
/* The text of a result, or null. Lives as long as `lines`. */
XF_API const char *xf_line_text(const xf_lines *lines, int64_t line, int32_t result);
/* The score of a result; 0 for one that is not there. */
XF_API double xf_line_score(const xf_lines *lines, int64_t line, int32_t result);
/* Writes, for each token that the result's text is made of, which of the line's own tokens it looks at most, or -1 for none (one that is put
 * around the line); at most `capacity`. Returns how many there are; 0 where alignments were not asked for. */
XF_API int64_t xf_line_alignment(const xf_lines *lines, int64_t line, int32_t result, int32_t *source, int64_t capacity);
/* What is wrong with the line, or null. */
XF_API const char *xf_line_error(const xf_lines *lines, int64_t line);
XF_API void xf_lines_free(xf_lines *lines);

#ifdef __cplusplus
}
#endif
#endif
