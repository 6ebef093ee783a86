// What a tokenizer.json says, as far as its table needs it, and the steps from the one to the other.
#ifndef XF_COMPILER_IMPORT_TOKENIZERCONTENTS_H
#define XF_COMPILER_IMPORT_TOKENIZERCONTENTS_H

#include "compiler/Import/TokenizerJson.h"
#include "compiler/Import/TokenizerNormalizer.h"
#include "compiler/Support/TokenAffixes.h"
#include "runtime/abi/xf_tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace xf {

struct AddedToken {
  std::string content;
  uint32_t id = 0, flags = 0;
  bool isSpecial = false, isNormalised = false;
};

struct TokenizerContents {
  /// Takes a token's name; false where its id has another one.
  bool setName(uint32_t id, const std::string &name) {
    names.resize(std::max<size_t>(names.size(), id + 1));
    isPresent.resize(names.size());
    bool isNew = !isPresent[id];
    if (isNew)
      names[id] = name, isPresent[id] = true, ++count;
    return isNew || names[id] == name;
  }

  xf_tokenizer_kind kind = XF_TOKENIZER_BYTE_BPE;
  xf_tokenizer_decoder decoder = XF_TOKENIZER_JOINS_BYTES;
  uint32_t flags = 0, pattern = XF_TOKENIZER_NO_PATTERN, maxCharacters = 0, dropped = 0;
  int32_t unknown = -1;
  std::string continuing, joined;
  std::unordered_map<std::string, uint32_t> vocabulary; // of the model
  std::vector<std::string> names;                       // of the vocabulary and of added tokens, by id
  std::vector<bool> isPresent;                          // of these; others are gaps. A name may be empty: no text is cut into that token
  size_t count = 0;                                     // of those that are present
  std::vector<bool> isSpecial;
  bool byteFallback = false; // text without a token becomes the tokens <0x00> to <0xFF>
  std::vector<double> scores;    // by id, of the vocabulary
  std::vector<xf_tokenizer_merge> merges;
  std::vector<AddedToken> added;
  std::vector<NormalizerStep> steps;
};

/// Reads the vocabulary and the merges, then the tokens besides these.
void readModel(TokenizerJson &reader, const nlohmann::json &file, TokenizerContents &contents);
void readAddedTokens(TokenizerJson &reader, const nlohmann::json &file, TokenizerContents &contents);
/// Reads how normalised text is split, and how tokens become text, for the model and the normalizer that have been read.
void readStages(TokenizerJson &reader, const nlohmann::json &file, TokenizerContents &contents);

/// Reads which tokens the post-processor puts around a text; none if there is no post-processor, or if its kind is not known.
std::optional<TokenAffixes> readAffixes(const nlohmann::json &file);

/// The bytes that a token of byte-level BPE stands for: each character of its name is one. A name with other characters stands for itself,
/// and `isText` is false then: no text is cut into it.
std::string bytesOfName(llvm::StringRef name, bool &isText);

/// Whether a token is called <0x00> to <0xFF>, and stands for that byte.
bool isByteName(llvm::StringRef name);

/// The table's bytes.
std::string writeTokenizerTable(TokenizerJson &reader, const TokenizerContents &contents);

} // namespace xf

#endif // XF_COMPILER_IMPORT_TOKENIZERCONTENTS_H
