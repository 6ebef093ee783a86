// The steps by which a tokenizer normalises text.
#ifndef XF_COMPILER_IMPORT_TOKENIZERNORMALIZER_H
#define XF_COMPILER_IMPORT_TOKENIZERNORMALIZER_H

#include "compiler/Import/TokenizerJson.h"
#include "runtime/abi/xf_tokenizer.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace xf {

using CodePoints = std::vector<uint32_t>;

struct NormalizerStep {
  xf_tokenizer_step step;
  std::map<uint32_t, CodePoints> mappings = {};
  std::map<CodePoints, CodePoints> rules = {};
};

/// The steps of a file's normalizer, if it has one.
std::vector<NormalizerStep> readNormalizer(TokenizerJson &reader, const nlohmann::json &file);

/// Reads the mappings and rules of a table of a SentencePiece model (Precompiled); returns what is wrong with it, or null.
const char *readCharacterMap(llvm::StringRef base64, NormalizerStep &step);

/// Text after these steps, as a program normalises it.
std::string normalised(llvm::StringRef text, llvm::ArrayRef<NormalizerStep> steps);
/// The most bytes that a byte of text becomes.
uint32_t maxGrowth(llvm::ArrayRef<NormalizerStep> steps);

} // namespace xf

#endif // XF_COMPILER_IMPORT_TOKENIZERNORMALIZER_H
