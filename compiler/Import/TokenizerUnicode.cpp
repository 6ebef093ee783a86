#include "compiler/Import/TokenizerUnicode.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>

namespace xf {
namespace {

/// ICU's tables for a form are part of its libraries, so that no file can be missing, only memory.
const icu::Normalizer2 &form(NormalForm which) {
  UErrorCode code = U_ZERO_ERROR;
  const icu::Normalizer2 *found = which == NormalForm::C   ? icu::Normalizer2::getNFCInstance(code)
                                  : which == NormalForm::D ? icu::Normalizer2::getNFDInstance(code)
                                                           : icu::Normalizer2::getNFKDInstance(code);
  if (U_FAILURE(code))
    llvm::report_bad_alloc_error("ICU's normalization");
  return *found;
}

std::vector<uint32_t> codePointsOf(const icu::UnicodeString &text) {
  std::vector<uint32_t> points;
  for (int32_t index = 0; index < text.length(); index = text.moveIndex32(index, 1))
    points.push_back(uint32_t(text.char32At(index)));
  return points;
}

icu::UnicodeString stringOf(llvm::ArrayRef<uint32_t> points) {
  icu::UnicodeString text;
  for (uint32_t point : points)
    text.append(UChar32(point));
  return text;
}

/// The library that wrote the files has the categories that BERT's stages use as they were in Unicode 8, and marks as in Unicode 9: newer
/// code points have none.
bool isAssignedIn(uint32_t point, int version) {
  UVersionInfo age;
  u_charAge(UChar32(point), age);
  return age[0] >= 1 && age[0] <= version;
}

/// The library decomposes and orders only code points of Unicode 9.
bool isDecomposed(uint32_t point) { return isAssignedIn(point, 9); }

/// Code points whose categories have changed since: signs of Indic scripts, of Canadian syllabics, Hanunoo, Mongolian and Javanese.
bool wasPunctuation(uint32_t point) { return point == 0x166d || point == 0x111c9; }
bool wasMark(uint32_t point) { return point == 0x1cf2 || point == 0x1cf3; }
bool wasNonspacing(uint32_t point) { return point == 0x1734; }
bool wasNotNonspacing(uint32_t point) { return point == 0x1885 || point == 0x1886 || point == 0xa9bd || wasPunctuation(point); }

/// The blocks as the authors of BERT, and the library, have them: in the library the last but one begins too late, at 0x2b920, not 0x2b820.
bool isCjk(uint32_t point) {
  constexpr std::pair<uint32_t, uint32_t> blocks[] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},  {0x20000, 0x2a6df},
                                                      {0x2a700, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f}};
  return llvm::any_of(blocks, [&](auto block) { return point >= block.first && point <= block.second; });
}

bool isAsciiPunctuation(uint32_t point) {
  return (point >= '!' && point <= '/') || (point >= ':' && point <= '@') || (point >= '[' && point <= '`') || (point >= '{' && point <= '~');
}

/// The scripts whose conjuncts are clusters (Unicode's annex 29, GB9c).
bool hasConjuncts(uint32_t point) {
  UErrorCode code = U_ZERO_ERROR;
  constexpr UScriptCode scripts[] = {USCRIPT_BENGALI, USCRIPT_DEVANAGARI, USCRIPT_GUJARATI, USCRIPT_MALAYALAM, USCRIPT_ORIYA, USCRIPT_TELUGU};
  return llvm::is_contained(scripts, uscript_getScript(UChar32(point), &code));
}
bool isConjunctConsonant(uint32_t point) {
  return hasConjuncts(point) && u_getIntPropertyValue(UChar32(point), UCHAR_INDIC_SYLLABIC_CATEGORY) == U_INSC_CONSONANT;
}
bool isConjunctLinker(uint32_t point) {
  return hasConjuncts(point) && u_getIntPropertyValue(UChar32(point), UCHAR_INDIC_SYLLABIC_CATEGORY) == U_INSC_VIRAMA;
}

} // namespace

void forCodePoints(llvm::function_ref<void(uint32_t)> visit) {
  for (uint32_t point = 0; point < 0x110000; ++point)
    if (point < 0xd800 || point >= 0xe000)
      visit(point);
}

uint16_t classesOf(uint32_t point) {
  auto c = UChar32(point);
  uint32_t category = U_GET_GC_MASK(c);
  bool isAssigned = isAssignedIn(point, 8), isBlank = point == '\t' || point == '\n' || point == '\r';
  uint32_t classes = 0;
  auto set = [&](uint32_t flag, bool is) { classes |= is ? flag : 0; };
  set(XF_TOKENIZER_LETTER, category & U_GC_L_MASK);
  set(XF_TOKENIZER_NUMBER, category & U_GC_N_MASK);
  set(XF_TOKENIZER_SPACE, u_hasBinaryProperty(c, UCHAR_WHITE_SPACE));
  set(XF_TOKENIZER_WORD, u_hasBinaryProperty(c, UCHAR_ALPHABETIC) || u_hasBinaryProperty(c, UCHAR_JOIN_CONTROL) ||
                             (category & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)));
  set(XF_TOKENIZER_PUNCTUATION, isAsciiPunctuation(point) || wasPunctuation(point) || ((category & U_GC_P_MASK) && isAssigned));
  set(XF_TOKENIZER_CONTROL, point == 0 || point == 0xfffd || (!isBlank && isAssigned && (category & (U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK))));
  set(XF_TOKENIZER_CJK, isCjk(point));
  set(XF_TOKENIZER_NONSPACING, wasNonspacing(point) || ((category & U_GC_MN_MASK) && isAssigned && !wasNotNonspacing(point)));
  set(XF_TOKENIZER_MARK, wasMark(point) || ((category & U_GC_M_MASK) && isAssignedIn(point, 9) && !wasPunctuation(point)));
  return uint16_t(classes);
}

uint8_t combiningClassOf(uint32_t point) { return isDecomposed(point) ? u_getCombiningClass(UChar32(point)) : 0; }

uint8_t clusterClassOf(uint32_t point) {
  auto c = UChar32(point);
  switch (u_getIntPropertyValue(c, UCHAR_GRAPHEME_CLUSTER_BREAK)) {
  case U_GCB_CR:
    return XF_TOKENIZER_CR;
  case U_GCB_LF:
    return XF_TOKENIZER_LF;
  case U_GCB_CONTROL:
    return XF_TOKENIZER_BREAKS;
  case U_GCB_EXTEND:
    return isConjunctLinker(point) ? XF_TOKENIZER_LINKER : XF_TOKENIZER_EXTEND;
  case U_GCB_ZWJ:
    return XF_TOKENIZER_ZWJ;
  case U_GCB_REGIONAL_INDICATOR:
    return XF_TOKENIZER_REGIONAL;
  case U_GCB_PREPEND:
    return XF_TOKENIZER_PREPENDED;
  case U_GCB_SPACING_MARK:
    return XF_TOKENIZER_SPACING_MARK;
  case U_GCB_L:
    return XF_TOKENIZER_HANGUL_L;
  case U_GCB_V:
    return XF_TOKENIZER_HANGUL_V;
  case U_GCB_T:
    return XF_TOKENIZER_HANGUL_T;
  case U_GCB_LV:
    return XF_TOKENIZER_HANGUL_LV;
  case U_GCB_LVT:
    return XF_TOKENIZER_HANGUL_LVT;
  default:
    return u_hasBinaryProperty(c, UCHAR_EXTENDED_PICTOGRAPHIC) ? XF_TOKENIZER_PICTOGRAPH
           : isConjunctConsonant(point)                        ? XF_TOKENIZER_CONSONANT
                                                               : XF_TOKENIZER_OTHER;
  }
}

std::vector<uint32_t> decompositionOf(uint32_t point, bool isCompatible) {
  icu::UnicodeString text;
  const icu::Normalizer2 &decomposing = form(isCompatible ? NormalForm::KD : NormalForm::D);
  return isDecomposed(point) && decomposing.getDecomposition(UChar32(point), text) ? codePointsOf(text) : std::vector<uint32_t>();
}

std::vector<uint32_t> lowercaseOf(uint32_t point) {
  icu::UnicodeString text((UChar32(point)));
  std::vector<uint32_t> lowered = codePointsOf(text.toLower(icu::Locale::getRoot()));
  return lowered == std::vector<uint32_t>{point} ? std::vector<uint32_t>() : lowered;
}

bool isComposed(uint32_t point, uint32_t &left, uint32_t &right) {
  icu::UnicodeString text;
  if (!isDecomposed(point) || !form(NormalForm::C).getRawDecomposition(UChar32(point), text))
    return false;
  std::vector<uint32_t> parts = codePointsOf(text);
  if (parts.size() != 2 || form(NormalForm::C).composePair(UChar32(parts[0]), UChar32(parts[1])) != UChar32(point))
    return false;
  left = parts[0];
  right = parts[1];
  return true;
}

bool isHangulSyllable(uint32_t point) { return point >= 0xac00 && point < 0xac00 + 11172; }

std::vector<uint32_t> normalForm(llvm::ArrayRef<uint32_t> points, NormalForm which) {
  UErrorCode code = U_ZERO_ERROR;
  return codePointsOf(form(which).normalize(stringOf(points), code));
}

std::vector<uint32_t> decodeUtf8(llvm::StringRef text) {
  return codePointsOf(icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), int32_t(text.size()))));
}

std::string encodeUtf8(llvm::ArrayRef<uint32_t> points) {
  std::string text;
  stringOf(points).toUTF8String(text);
  return text;
}

} // namespace xf
