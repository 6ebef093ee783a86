// What tokenizers need to know about Unicode, from ICU: programs have it in their tables.
#ifndef XF_COMPILER_IMPORT_TOKENIZERUNICODE_H
#define XF_COMPILER_IMPORT_TOKENIZERUNICODE_H

#include "runtime/abi/xf_tokenizer.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <functional>
#include <string>
#include <vector>

namespace xf {

/// Calls visit(point) for each code point.
void forCodePoints(llvm::function_ref<void(uint32_t)> visit);

/// The classes of a code point (xf_tokenizer_class), its canonical combining class, and how it makes clusters (xf_tokenizer_cluster).
uint16_t classesOf(uint32_t point);
uint8_t combiningClassOf(uint32_t point);
uint8_t clusterClassOf(uint32_t point);
/// What a code point becomes (in NFKD if `isCompatible`, else in NFD); empty if it stays the same.
std::vector<uint32_t> decompositionOf(uint32_t point, bool isCompatible);
std::vector<uint32_t> lowercaseOf(uint32_t point);
/// The two code points that a code point is composed of; false if it is not.
bool isComposed(uint32_t point, uint32_t &left, uint32_t &right);
bool isHangulSyllable(uint32_t point);

enum class NormalForm { C, D, KD };
std::vector<uint32_t> normalForm(llvm::ArrayRef<uint32_t> points, NormalForm which);

/// The code points of UTF-8, and back.
std::vector<uint32_t> decodeUtf8(llvm::StringRef text);
std::string encodeUtf8(llvm::ArrayRef<uint32_t> points);

} // namespace xf

#endif // XF_COMPILER_IMPORT_TOKENIZERUNICODE_H
