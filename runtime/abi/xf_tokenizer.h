/* The table that the compiler makes from a tokenizer.json, and that the runtime cuts text with as it lies in the image: nothing is built
 * when it is opened. It stands where an image has subwords (xf_abi.h), at a multiple of 8, told apart from SentencePiece models by its
 * first bytes.
 *
 * Text becomes tokens as follows: added tokens that are found in the text as it is are taken out; the rest is normalised by the `steps`, one
 * after the other; added tokens that are found in normalised text are taken out; the rest is split into words by the pattern, which are cut
 * into tokens,
 *   XF_TOKENIZER_BYTE_BPE:  a word's bytes are merged, the pair of the lowest rank first and of equal ones the leftmost,
 *   XF_TOKENIZER_WORDPIECE: each token is the longest that the rest of the word begins with, and those behind the first begin with
 *                           `continuing`. A word without such tokens is unknown,
 *   XF_TOKENIZER_BPE:       a word's characters are merged, as bytes are,
 *   XF_TOKENIZER_UNIGRAM:   the tokens' scores have the greatest sum, computed in f64 from the left, and of equal ones the last token is the
 *                           longest. Characters without a token have the score `unknown_score`, and are one where they follow each other,
 *   XF_TOKENIZER_WORDS:     a word is a token, or unknown.
 * What XF_TOKENIZER_BPE and XF_TOKENIZER_UNIGRAM have no token for is the tokens of its bytes (`of_byte`) where each has one.
 *
 * Offsets count from the table's first byte, and are multiples of what their elements' types ask for. All integers are little-endian. Changes of
 * meaning or layout raise XF_ABI_VERSION. */
#ifndef XF_TOKENIZER_H
#define XF_TOKENIZER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XF_TOKENIZER_MAGIC "XFTOKEN"

enum xf_tokenizer_kind {
  XF_TOKENIZER_BYTE_BPE = 1,
  XF_TOKENIZER_WORDPIECE = 2,
  XF_TOKENIZER_BPE = 3,
  XF_TOKENIZER_UNIGRAM = 4,
  XF_TOKENIZER_WORDS = 5
};

/* How tokens become text again. */
enum xf_tokenizer_decoder {
  XF_TOKENIZER_JOINS_BYTES = 1,  /* they are bytes */
  XF_TOKENIZER_JOINS_PARTS = 2,  /* a blank is between them, unless one begins with `joined` */
  XF_TOKENIZER_JOINS_WORDS = 3,  /* a blank is between them */
  XF_TOKENIZER_JOINS_PIECES = 4  /* U+2581 is a blank, and tokens that are called <0x00> to <0xFF> are bytes if XF_TOKENIZER_WRITES_BYTES */
};

enum xf_tokenizer_flag {
  XF_TOKENIZER_ADDS_SPACE = 1,     /* a blank before text that begins with none; if XF_TOKENIZER_ESCAPES, before each word */
  XF_TOKENIZER_WHOLE_WORDS = 2,    /* a word that is a token is that one, whatever its merges are */
  XF_TOKENIZER_FUSES_UNKNOWN = 4,  /* unknown tokens that follow each other are one */
  XF_TOKENIZER_CLEANS_UP = 8,      /* results have no blanks before punctuation */
  XF_TOKENIZER_ESCAPES = 16,       /* blanks of words are U+2581 */
  XF_TOKENIZER_ADDS_ONCE = 32,     /* XF_TOKENIZER_ADDS_SPACE only where the text begins */
  XF_TOKENIZER_SPLITS_ESCAPED = 64, /* each U+2581 begins a word */
  XF_TOKENIZER_WRITES_BYTES = 128,
  XF_TOKENIZER_DROPS_FIRST = 256   /* U+2581 is nothing in a result's first token */
};

/* How text is split into words: by the regular expressions of the models that introduced them, or at white space, which is in no word then. */
enum xf_tokenizer_pattern {
  XF_TOKENIZER_NO_PATTERN = 0, /* it is not split */
  XF_TOKENIZER_GPT2 = 1,
  XF_TOKENIZER_LLAMA3 = 2,     /* numbers have up to three digits; cl100k's is the same */
  XF_TOKENIZER_QWEN2 = 3,      /* each digit is a word */
  XF_TOKENIZER_BERT = 4,       /* at white space, and on both sides of punctuation */
  XF_TOKENIZER_RUNS = 5,       /* at white space, and between characters of XF_TOKENIZER_WORD and others */
  XF_TOKENIZER_BLANKS = 6      /* at white space */
};

enum xf_tokenizer_step {
  XF_TOKENIZER_CLEAN = 1,            /* controls go, white space becomes blanks */
  XF_TOKENIZER_SPACE_CJK = 2,        /* a blank on both sides of each */
  XF_TOKENIZER_DECOMPOSE = 3,        /* NFD or NFKD, as the mappings are */
  XF_TOKENIZER_COMPOSE = 4,          /* behind it: NFC or NFKC */
  XF_TOKENIZER_STRIP_NONSPACING = 5, /* nonspacing marks go */
  XF_TOKENIZER_STRIP_MARKS = 6,      /* marks of all kinds go */
  XF_TOKENIZER_MAP = 7,              /* each code point by itself */
  XF_TOKENIZER_MAP_CLUSTERS = 8,     /* see below */
  XF_TOKENIZER_REPLACE = 9,          /* what the rule says */
  XF_TOKENIZER_REPLACE_RUNS = 10,    /* two or more code points in a row that are the rule's */
  XF_TOKENIZER_PREPEND = 11,         /* what the rule says, before text that is not empty */
  XF_TOKENIZER_STRIP_LEFT = 12,      /* white space goes */
  XF_TOKENIZER_STRIP_RIGHT = 13
};

/* XF_TOKENIZER_MAP_CLUSTERS: a grapheme cluster that has fewer bytes than this becomes what the mapping of its first code point says, or else the
 * rule of the fewest code points that it begins with; where there is none, and in longer ones, each code point becomes what its mapping says. */
#define XF_TOKENIZER_LONG_CLUSTER 6

/* The classes of a code point, as bits. */
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

/* How a code point makes grapheme clusters (Unicode's annex 29). */
enum xf_tokenizer_cluster {
  XF_TOKENIZER_OTHER = 0,
  XF_TOKENIZER_CR = 1,
  XF_TOKENIZER_LF = 2,
  XF_TOKENIZER_BREAKS = 3, /* Control */
  XF_TOKENIZER_EXTEND = 4,
  XF_TOKENIZER_ZWJ = 5,
  XF_TOKENIZER_REGIONAL = 6,
  XF_TOKENIZER_PREPENDED = 7,
  XF_TOKENIZER_SPACING_MARK = 8,
  XF_TOKENIZER_HANGUL_L = 9,
  XF_TOKENIZER_HANGUL_V = 10,
  XF_TOKENIZER_HANGUL_T = 11,
  XF_TOKENIZER_HANGUL_LV = 12,
  XF_TOKENIZER_HANGUL_LVT = 13,
  XF_TOKENIZER_PICTOGRAPH = 14,
  XF_TOKENIZER_CONSONANT = 15, /* of conjuncts */
  XF_TOKENIZER_LINKER = 16     /* the same; Extend */
};

enum xf_tokenizer_token_flag {
  XF_TOKENIZER_PRESENT = 1, /* the id is a token's */
  XF_TOKENIZER_SPECIAL = 2, /* text is not cut into it, nor is it written */
  XF_TOKENIZER_BYTE = 4     /* it is called <0x00> to <0xFF> */
};

enum xf_tokenizer_added_flag {
  XF_TOKENIZER_SHADOW = 1,      /* a special token: what would be one is found, and stays text */
  XF_TOKENIZER_STRIPS_LEFT = 2, /* white space before it is part of it */
  XF_TOKENIZER_STRIPS_RIGHT = 4,
  XF_TOKENIZER_SINGLE_WORD = 8  /* only where no other part of a word stands next to it */
};

/* The most code points that one becomes, and the most `growth`. */
#define XF_TOKENIZER_MAX_POINTS 32u
#define XF_TOKENIZER_MAX_GROWTH 256u

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
  uint16_t classes;
  uint8_t combining, cluster; /* the canonical combining class, xf_tokenizer_cluster */
} xf_tokenizer_run;

/* What a code point becomes: `count` elements of `points`, `first` on. */
typedef struct xf_tokenizer_mapping {
  uint32_t point, first, count;
} xf_tokenizer_mapping;

/* The same of several code points, which are elements of `points`, too. */
typedef struct xf_tokenizer_rule {
  uint32_t from_first, from_count, first, count;
} xf_tokenizer_rule;

/* A step, and what it needs. */
typedef struct xf_tokenizer_stage {
  uint32_t step;
  xf_tokenizer_list mappings; /* xf_tokenizer_mapping, by code point; Hangul syllables are not among them, but computed */
  xf_tokenizer_list rules;    /* xf_tokenizer_rule, by what is replaced; one of steps with `the rule` */
} xf_tokenizer_stage;

typedef struct xf_tokenizer_composition {
  uint32_t left, right, composed;
} xf_tokenizer_composition;

typedef struct xf_tokenizer {
  char magic[8];
  uint32_t kind, decoder, flags, pattern;
  int32_t unknown;                /* the token of what has none, or -1 */
  uint32_t max_characters;       /* of a word of XF_TOKENIZER_WORDPIECE: longer ones are unknown */
  uint32_t growth;                /* a byte of text becomes at most so many bytes of normalised text */
  uint32_t dropped;               /* the most blanks at a result's beginning that are left out */
  double unknown_score;
  int32_t of_byte[256];           /* the token of one byte, or -1 */
  xf_tokenizer_text continuing;   /* what tokens behind a word's first begin with, */
  xf_tokenizer_text joined;       /* and what tokens begin with before which results have no blank */
  xf_tokenizer_list bytes;        /* of all texts */
  xf_tokenizer_list texts;        /* uint32_t: token i's text is bytes texts[i] to texts[i + 1]; of XF_TOKENIZER_BYTE_BPE, what it stands for */
  xf_tokenizer_list token_flags;  /* uint8_t */
  xf_tokenizer_list scores;       /* double, of XF_TOKENIZER_UNIGRAM: of the first tokens, which words are cut into */
  xf_tokenizer_list slots;        /* uint32_t: a hash table of the tokens that words are cut into; 0, or the token's id + 1 */
  xf_tokenizer_list merges;       /* xf_tokenizer_merge, by rank */
  xf_tokenizer_list merge_slots;  /* uint32_t: a hash table of the merges; 0, or the rank + 1 */
  xf_tokenizer_list names;        /* xf_tokenizer_added, by text: what added tokens are called */
  xf_tokenizer_list added;        /* the same of those that are found in text as it is: by what is found */
  xf_tokenizer_list normalised;   /* the same of normalised text */
  xf_tokenizer_list steps;        /* xf_tokenizer_stage */
  xf_tokenizer_list runs;         /* xf_tokenizer_run, by code point, the first of 0 */
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

/* Whether a code point of class `next` goes on with the grapheme cluster of those before it (Unicode's annex 29, GB3 to GB13). `state`: 0 before a
 * text's first; then it is the class of the one before, and what of the cluster has to be known. */
static inline int xf_tokenizer_joins(uint32_t *state, uint32_t next) {
  enum { HAS_BEFORE = 32, PICTOGRAPH = 64, ODD_REGIONAL = 128, CONSONANT = 256, LINKED = 512 };
  uint32_t last = *state & 31, kept = 0;
  int is_extend = next == XF_TOKENIZER_EXTEND || next == XF_TOKENIZER_LINKER || next == XF_TOKENIZER_ZWJ;
  int breaks = last <= XF_TOKENIZER_BREAKS && last >= XF_TOKENIZER_CR, joins;
  if (!*state)
    joins = 0;
  else if (breaks || (next <= XF_TOKENIZER_BREAKS && next >= XF_TOKENIZER_CR))
    joins = last == XF_TOKENIZER_CR && next == XF_TOKENIZER_LF;
  else
    joins = is_extend || next == XF_TOKENIZER_SPACING_MARK || last == XF_TOKENIZER_PREPENDED ||
            (last == XF_TOKENIZER_HANGUL_L &&
             (next == XF_TOKENIZER_HANGUL_L || next == XF_TOKENIZER_HANGUL_V || next == XF_TOKENIZER_HANGUL_LV || next == XF_TOKENIZER_HANGUL_LVT)) ||
            ((last == XF_TOKENIZER_HANGUL_LV || last == XF_TOKENIZER_HANGUL_V) && (next == XF_TOKENIZER_HANGUL_V || next == XF_TOKENIZER_HANGUL_T)) ||
            ((last == XF_TOKENIZER_HANGUL_LVT || last == XF_TOKENIZER_HANGUL_T) && next == XF_TOKENIZER_HANGUL_T) ||
            (last == XF_TOKENIZER_ZWJ && (*state & PICTOGRAPH) && next == XF_TOKENIZER_PICTOGRAPH) ||
            (next == XF_TOKENIZER_REGIONAL && (*state & ODD_REGIONAL)) ||
            (next == XF_TOKENIZER_CONSONANT && (*state & CONSONANT) && (*state & LINKED));
  if (is_extend)
    kept = (*state & (CONSONANT | LINKED)) | (last == XF_TOKENIZER_ZWJ ? 0 : *state & PICTOGRAPH) | (next == XF_TOKENIZER_LINKER ? LINKED : 0);
  else if (next == XF_TOKENIZER_PICTOGRAPH)
    kept = PICTOGRAPH;
  else if (next == XF_TOKENIZER_CONSONANT)
    kept = CONSONANT;
  else if (next == XF_TOKENIZER_REGIONAL)
    kept = joins && last == XF_TOKENIZER_REGIONAL ? 0 : ODD_REGIONAL;
  *state = HAS_BEFORE | kept | next;
  return joins;
}

#ifdef __cplusplus
}
#endif

#endif /* XF_TOKENIZER_H */
