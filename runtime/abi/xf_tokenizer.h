/* The table that the compiler makes of a tokenizer.json, and the runtime cuts text with as it lies in the image: nothing is built when
 * it is opened. It stands where an image has subwords (xf_abi.h), at a multiple of 8, told apart from SentencePiece models by its
 * first bytes.
 *
 * Text becomes tokens so: added tokens that stand in it as they are are taken out; what is left is normalised by the `steps`, one after
 * the other; added tokens that stand in normalised text are taken out; what is left is split into words, which are cut into tokens,
 *   XF_TOKENIZER_BYTE_BPE:  by the pattern; a word's bytes are merged, the pair of the lowest rank first and of equal ones the leftmost,
 *   XF_TOKENIZER_WORDPIECE: at white space, and on both sides of punctuation; each token is the longest that the rest of the word begins
 *                           with, and those behind the first begin with `continuing`. A word without such tokens is unknown.
 *
 * Offsets count from the table's first byte, and all but those of bytes are multiples of 4. All integers are little-endian. Changes of
 * meaning or layout raise XF_ABI_VERSION. */
#ifndef XF_TOKENIZER_H
#define XF_TOKENIZER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XF_TOKENIZER_MAGIC "XFTOKEN"

enum xf_tokenizer_kind { XF_TOKENIZER_BYTE_BPE = 1, XF_TOKENIZER_WORDPIECE = 2 };

enum xf_tokenizer_flag {
  XF_TOKENIZER_ADDS_SPACE = 1,    /* a blank before text that begins with none */
  XF_TOKENIZER_WHOLE_WORDS = 2,   /* a word that is a token is that one, whatever its merges are */
  XF_TOKENIZER_FUSES_UNKNOWN = 4, /* unknown tokens that follow each other are one */
  XF_TOKENIZER_CLEANS_UP = 8      /* results have no blanks before punctuation */
};

/* How text is split into words: the regular expressions of the models that brought them up. */
enum xf_tokenizer_pattern {
  XF_TOKENIZER_NO_PATTERN = 0, /* it is not */
  XF_TOKENIZER_GPT2 = 1,
  XF_TOKENIZER_LLAMA3 = 2,     /* numbers have up to three digits; cl100k's is the same */
  XF_TOKENIZER_QWEN2 = 3       /* each digit is a word */
};

enum xf_tokenizer_step {
  XF_TOKENIZER_CLEAN = 1,            /* controls go, white space becomes blanks */
  XF_TOKENIZER_SPACE_CJK = 2,        /* a blank on both sides of each */
  XF_TOKENIZER_DECOMPOSE = 3,        /* NFD */
  XF_TOKENIZER_COMPOSE = 4,          /* behind it: NFC */
  XF_TOKENIZER_STRIP_NONSPACING = 5, /* nonspacing marks go */
  XF_TOKENIZER_STRIP_MARKS = 6,      /* marks of all kinds go */
  XF_TOKENIZER_LOWER = 7
};

/* Of code points. */
enum xf_tokenizer_class {
  XF_TOKENIZER_LETTER = 1,       /* category L */
  XF_TOKENIZER_NUMBER = 2,       /* category N */
  XF_TOKENIZER_SPACE = 4,        /* White_Space */
  XF_TOKENIZER_WORD = 8,         /* \w of regular expressions: what words are made of, next to which single words do not stand */
  XF_TOKENIZER_PUNCTUATION = 16,
  XF_TOKENIZER_CONTROL = 32,
  XF_TOKENIZER_CJK = 64,
  XF_TOKENIZER_NONSPACING = 128,
  XF_TOKENIZER_MARK = 256
};

enum xf_tokenizer_token_flag {
  XF_TOKENIZER_PRESENT = 1, /* the id is a token's */
  XF_TOKENIZER_SPECIAL = 2  /* text is not cut into it, nor is it written */
};

enum xf_tokenizer_added_flag {
  XF_TOKENIZER_SHADOW = 1,      /* a special token: what would be one is found, and stays text */
  XF_TOKENIZER_STRIPS_LEFT = 2, /* white space before it is part of it */
  XF_TOKENIZER_STRIPS_RIGHT = 4,
  XF_TOKENIZER_SINGLE_WORD = 8  /* only where no other part of a word stands next to it */
};

/* `count` elements from `offset` on. */
typedef struct xf_tokenizer_list {
  uint32_t offset, count;
} xf_tokenizer_list;

/* Bytes of `bytes`. */
typedef struct xf_tokenizer_text {
  uint32_t first, size;
} xf_tokenizer_text;

typedef struct xf_tokenizer_merge {
  uint32_t left, right, merged;
} xf_tokenizer_merge;

typedef struct xf_tokenizer_added {
  xf_tokenizer_text text;
  uint32_t id, flags;
} xf_tokenizer_added;

/* Code points from `first` on, up to the next run's. */
typedef struct xf_tokenizer_run {
  uint32_t first;
  uint16_t classes, combining; /* the canonical combining class */
} xf_tokenizer_run;

/* What a code point becomes: `count` elements of `points`, `first` on. */
typedef struct xf_tokenizer_mapping {
  uint32_t point, first, count;
} xf_tokenizer_mapping;

typedef struct xf_tokenizer_composition {
  uint32_t left, right, composed;
} xf_tokenizer_composition;

typedef struct xf_tokenizer {
  char magic[8];
  uint32_t kind, flags, pattern;
  int32_t unknown;                /* the token of what has none, or -1 */
  uint32_t most_characters;       /* of a word of XF_TOKENIZER_WORDPIECE: longer ones are unknown */
  int32_t of_byte[256];           /* of XF_TOKENIZER_BYTE_BPE: the token of one byte, or -1 */
  xf_tokenizer_text continuing;   /* what tokens behind a word's first begin with, */
  xf_tokenizer_text joined;       /* and what tokens begin with before which results have no blank */
  xf_tokenizer_list bytes;        /* of all texts */
  xf_tokenizer_list texts;        /* uint32_t: token i's text is bytes texts[i] to texts[i + 1]; of XF_TOKENIZER_BYTE_BPE, what it stands for */
  xf_tokenizer_list token_flags;  /* uint8_t */
  xf_tokenizer_list slots;        /* uint32_t: a hash table of the tokens that words are cut into; 0, or the token's id + 1 */
  xf_tokenizer_list merges;       /* xf_tokenizer_merge, by rank */
  xf_tokenizer_list merge_slots;  /* uint32_t: a hash table of the merges; 0, or the rank + 1 */
  xf_tokenizer_list names;        /* xf_tokenizer_added, by text: what added tokens are called */
  xf_tokenizer_list added;        /* the same of those that are found in text as it is: by what is found */
  xf_tokenizer_list normalised;   /* the same of normalised text */
  xf_tokenizer_list steps;        /* uint32_t */
  xf_tokenizer_list runs;         /* xf_tokenizer_run, by code point, the first of 0 */
  xf_tokenizer_list decompositions; /* xf_tokenizer_mapping, by code point; Hangul syllables are not among them, but computed */
  xf_tokenizer_list lower;        /* the same */
  xf_tokenizer_list points;       /* uint32_t */
  xf_tokenizer_list compositions; /* xf_tokenizer_composition, by left and right; the same of Hangul */
} xf_tokenizer;

/* Hash tables have a power of two of slots, one or more of which are empty. What hashes to slot h stands in the first of h, h + 1, … (modulo
 * the number of slots) that nothing else had taken before. */

/* FNV-1a, a byte at a time. */
#define XF_TOKENIZER_HASH_START 2166136261u
static inline uint32_t xf_tokenizer_hash_byte(uint32_t hash, uint8_t byte) { return (hash ^ byte) * 16777619u; }
static inline uint32_t xf_tokenizer_hash_bytes(uint32_t hash, const char *bytes, uint64_t size) {
  for (uint64_t i = 0; i < size; ++i)
    hash = xf_tokenizer_hash_byte(hash, (uint8_t)bytes[i]);
  return hash;
}
static inline uint32_t xf_tokenizer_hash_end(uint32_t hash) { return hash ^ hash >> 15; }
static inline uint32_t xf_tokenizer_hash_merge(uint32_t left, uint32_t right) {
  return (uint32_t)((((uint64_t)left << 32 | right) * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

/* The byte that a character stands for in the names of byte-level BPE, or -1: bytes that are printed are themselves, the others the
 * characters from U+0100 on, in their order. */
static inline int32_t xf_tokenizer_byte_of(uint32_t point) {
  uint32_t other = 0x100, byte;
  for (byte = 0; byte < 0x100; ++byte) {
    int printed = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
    if (point == (printed ? byte : other++))
      return (int32_t)byte;
  }
  return -1;
}

#ifdef __cplusplus
}
#endif

#endif /* XF_TOKENIZER_H */
