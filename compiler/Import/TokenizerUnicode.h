// What tokenizers need to know of Unicode, from ICU: programs have it in their tables.
#ifndef XF_COMPILER_IMPORT_TOKENIZERUNICODE_H
#define XF_COMPILER_IMPORT_TOKENIZERUNICODE_H

#include "runtime/abi/xf_tokenizer.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <functional>
#include <string>
#include <vector>

namespace xf {

/// Calls see(point) for each code point.
void forCodePoints(llvm::function_ref<void(uint32_t)> see);

/// The classes of a code point (xf_tokenizer_class), and its canonical combining class.
uint16_t classesOf(uint32_t point);
uint16_t combiningClassOf(uint32_t point);
/// What a code point becomes; empty where it stays.
std::vector<uint32_t> decompositionOf(uint32_t point);
std::vector<uint32_t> lowerOf(uint32_t point);
/// The code points that a code point is composed of; false where it is not.
bool isComposed(uint32_t point, uint32_t &left, uint32_t &right);
bool isHangulSyllable(uint32_t point);

/// Text after these steps (xf_tokenizer_step), as a program normalises it.
std::string normalised(llvm::StringRef text, llvm::ArrayRef<uint32_t> steps);

} // namespace xf

#endif // XF_COMPILER_IMPORT_TOKENIZERUNICODE_H
