#include "compiler/Import/TokenizerUnicode.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

namespace xf {
namespace {

/// ICU's tables for a form are part of its code, so that there is no file that could be missing: memory alone can.
const icu::Normalizer2 &form(bool composes) {
  UErrorCode code = U_ZERO_ERROR;
  const icu::Normalizer2 *found = composes ? icu::Normalizer2::getNFCInstance(code) : icu::Normalizer2::getNFDInstance(code);
  if (U_FAILURE(code))
    llvm::report_bad_alloc_error("ICU's canonical normalization");
  return *found;
}

std::vector<uint32_t> pointsOf(const icu::UnicodeString &text) {
  std::vector<uint32_t> points;
  for (int32_t at = 0; at < text.length(); at = text.moveIndex32(at, 1))
    points.push_back(uint32_t(text.char32At(at)));
  return points;
}

icu::UnicodeString stringOf(llvm::ArrayRef<uint32_t> points) {
  icu::UnicodeString text;
  for (uint32_t point : points)
    text.append(UChar32(point));
  return text;
}

/// The library that wrote the files knows categories, where BERT's stages ask for them, as Unicode 8 had them, and marks as Unicode 9 had:
/// what is newer has none.
bool isOld(uint32_t point, int version) {
  UVersionInfo age;
  u_charAge(UChar32(point), age);
  return age[0] >= 1 && age[0] <= version;
}

/// The library decomposes and orders what Unicode 9 had.
bool isDecomposed(uint32_t point) { return isOld(point, 9); }

/// Some have got other categories since: signs of Indic scripts, of Canadian syllabics, Hanunoo, Mongolian and Javanese.
bool wasPunctuation(uint32_t point) { return point == 0x166d || point == 0x111c9; }
bool wasMark(uint32_t point) { return point == 0x1cf2 || point == 0x1cf3; }
bool wasNonspacing(uint32_t point) { return point == 0x1734; }
bool wasNotNonspacing(uint32_t point) { return point == 0x1885 || point == 0x1886 || point == 0xa9bd || wasPunctuation(point); }

/// As the authors of BERT had them, and the library: the last but one block ends too late there, and the next begins too late.
bool isCjk(uint32_t point) {
  constexpr std::pair<uint32_t, uint32_t> blocks[] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},  {0x20000, 0x2a6df},
                                                      {0x2a700, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f}};
  return llvm::any_of(blocks, [&](auto block) { return point >= block.first && point <= block.second; });
}

bool isAsciiPunctuation(uint32_t point) {
  return (point >= '!' && point <= '/') || (point >= ':' && point <= '@') || (point >= '[' && point <= '`') || (point >= '{' && point <= '~');
}

} // namespace

void forCodePoints(llvm::function_ref<void(uint32_t)> see) {
  for (uint32_t point = 0; point < 0x110000; ++point)
    if (point < 0xd800 || point >= 0xe000)
      see(point);
}

uint16_t classesOf(uint32_t point) {
  auto c = UChar32(point);
  uint32_t category = U_GET_GC_MASK(c);
  bool isOldPoint = isOld(point, 8), isBlank = point == '\t' || point == '\n' || point == '\r';
  uint32_t classes = 0;
  auto set = [&](uint32_t flag, bool is) { classes |= is ? flag : 0; };
  set(XF_TOKENIZER_LETTER, category & U_GC_L_MASK);
  set(XF_TOKENIZER_NUMBER, category & U_GC_N_MASK);
  set(XF_TOKENIZER_SPACE, u_hasBinaryProperty(c, UCHAR_WHITE_SPACE));
  set(XF_TOKENIZER_WORD, u_hasBinaryProperty(c, UCHAR_ALPHABETIC) || u_hasBinaryProperty(c, UCHAR_JOIN_CONTROL) ||
                             (category & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)));
  set(XF_TOKENIZER_PUNCTUATION, isAsciiPunctuation(point) || wasPunctuation(point) || ((category & U_GC_P_MASK) && isOldPoint));
  set(XF_TOKENIZER_CONTROL, point == 0 || point == 0xfffd || (!isBlank && isOldPoint && (category & (U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK))));
  set(XF_TOKENIZER_CJK, isCjk(point));
  set(XF_TOKENIZER_NONSPACING, wasNonspacing(point) || ((category & U_GC_MN_MASK) && isOldPoint && !wasNotNonspacing(point)));
  set(XF_TOKENIZER_MARK, wasMark(point) || ((category & U_GC_M_MASK) && isOld(point, 9) && !wasPunctuation(point)));
  return uint16_t(classes);
}

uint16_t combiningClassOf(uint32_t point) { return isDecomposed(point) ? u_getCombiningClass(UChar32(point)) : 0; }

std::vector<uint32_t> decompositionOf(uint32_t point) {
  icu::UnicodeString text;
  return isDecomposed(point) && form(false).getDecomposition(UChar32(point), text) ? pointsOf(text) : std::vector<uint32_t>();
}

std::vector<uint32_t> lowerOf(uint32_t point) {
  icu::UnicodeString text((UChar32(point)));
  std::vector<uint32_t> lowered = pointsOf(text.toLower(icu::Locale::getRoot()));
  return lowered == std::vector<uint32_t>{point} ? std::vector<uint32_t>() : lowered;
}

bool isComposed(uint32_t point, uint32_t &left, uint32_t &right) {
  icu::UnicodeString text;
  if (!isDecomposed(point) || !form(true).getRawDecomposition(UChar32(point), text))
    return false;
  std::vector<uint32_t> parts = pointsOf(text);
  if (parts.size() != 2 || form(true).composePair(UChar32(parts[0]), UChar32(parts[1])) != UChar32(point))
    return false;
  left = parts[0];
  right = parts[1];
  return true;
}

bool isHangulSyllable(uint32_t point) { return point >= 0xac00 && point < 0xac00 + 11172; }

std::string normalised(llvm::StringRef text, llvm::ArrayRef<uint32_t> steps) {
  std::vector<uint32_t> points = pointsOf(icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), int32_t(text.size()))));
  auto remove = [&](uint32_t classes) { llvm::erase_if(points, [&](uint32_t point) { return (classesOf(point) & classes) != 0; }); };
  auto replace = [&](llvm::function_ref<std::vector<uint32_t>(uint32_t)> with) {
    std::vector<uint32_t> replaced;
    for (uint32_t point : points)
      llvm::append_range(replaced, with(point));
    points = std::move(replaced);
  };
  for (uint32_t step : steps) {
    if (step == XF_TOKENIZER_CLEAN) {
      remove(XF_TOKENIZER_CONTROL);
      replace([](uint32_t point) { return std::vector<uint32_t>{classesOf(point) & XF_TOKENIZER_SPACE ? ' ' : point}; });
    } else if (step == XF_TOKENIZER_SPACE_CJK) {
      replace([](uint32_t point) { return isCjk(point) ? std::vector<uint32_t>{' ', point, ' '} : std::vector<uint32_t>{point}; });
    } else if (step == XF_TOKENIZER_DECOMPOSE || step == XF_TOKENIZER_COMPOSE) {
      UErrorCode code = U_ZERO_ERROR;
      points = pointsOf(form(step == XF_TOKENIZER_COMPOSE).normalize(stringOf(points), code));
    } else if (step == XF_TOKENIZER_LOWER) {
      replace([](uint32_t point) {
        std::vector<uint32_t> lowered = lowerOf(point);
        return lowered.empty() ? std::vector<uint32_t>{point} : lowered;
      });
    } else {
      remove(step == XF_TOKENIZER_STRIP_MARKS ? XF_TOKENIZER_MARK : XF_TOKENIZER_NONSPACING);
    }
  }
  std::string result;
  stringOf(points).toUTF8String(result);
  return result;
}

} // namespace xf
