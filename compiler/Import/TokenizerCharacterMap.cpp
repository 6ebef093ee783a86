// The table of characters of a SentencePiece model, which files have as text: a double-array trie (darts-clone's format) that maps what is
// replaced to the position of its replacement in a list of strings.
#include "compiler/Import/TokenizerNormalizer.h"
#include "compiler/Import/TokenizerUnicode.h"

#include "llvm/Support/Base64.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Endian.h"

namespace xf {
namespace {

class CharacterMap {
public:
  explicit CharacterMap(NormalizerStep &step) : step(step) {}

  const char *problem = "is damaged";

  bool read(llvm::StringRef bytes) {
    if (bytes.size() < 4)
      return false;
    uint32_t size = llvm::support::endian::read32le(bytes.data());
    if (size % 4 != 0 || size == 0 || size > bytes.size() - 4)
      return false;
    units = bytes.substr(4, size);
    strings = bytes.drop_front(4 + size);
    return walk(unitAt(0) ? offset(*unitAt(0)) : 0);
  }

private:
  std::optional<uint32_t> unitAt(uint32_t index) const {
    if (index >= units.size() / 4)
      return std::nullopt;
    return llvm::support::endian::read32le(units.data() + size_t(index) * 4);
  }
  static uint32_t offset(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

  /// Adds all rules that begin with `key`; the node's children lie at `base`, each xor its byte. A damaged trie may have no end.
  bool walk(uint32_t base) {
    if (key.size() > maxKeyLength)
      return false;
    for (uint32_t byte = 1; byte < 256; ++byte) {
      uint32_t index = base ^ byte;
      std::optional<uint32_t> unit = unitAt(index);
      if (!unit || (*unit & 0x800000ffu) != byte)
        continue;
      if (++visited > maxNodes)
        return false;
      key += char(byte);
      uint32_t child = index ^ offset(*unit);
      if ((*unit >> 8 & 1) && !add(unitAt(child).value_or(UINT32_MAX) & 0x7fffffffu))
        return false;
      if (!walk(child))
        return false;
      key.pop_back();
    }
    return true;
  }

  bool add(uint32_t begin) {
    size_t end = strings.find('\0', begin);
    llvm::StringRef to = strings.slice(begin, end);
    if (begin >= strings.size() || end == llvm::StringRef::npos || !isUtf8(key) || !isUtf8(to))
      return false;
    // The file may share parts of a trie, and replacements: it can be small, however much it stands for.
    if (to.size() > maxBytes)
      return fail("makes more characters of some than programs do");
    if (step.mappings.size() + step.rules.size() == maxRules)
      return fail("has more rules than make sense");
    std::vector<uint32_t> from = decodeUtf8(key);
    if (from.size() == 1)
      step.mappings[from[0]] = decodeUtf8(to);
    else if (key.size() < XF_TOKENIZER_LONG_CLUSTER) // longer ones are never looked up
      step.rules[from] = decodeUtf8(to);
    return true;
  }

  bool fail(const char *what) {
    problem = what;
    return false;
  }

  static bool isUtf8(llvm::StringRef text) {
    const auto *at = reinterpret_cast<const llvm::UTF8 *>(text.bytes_begin());
    return llvm::isLegalUTF8String(&at, reinterpret_cast<const llvm::UTF8 *>(text.bytes_end()));
  }

  // Those of SentencePiece's authors have 225,276 rules in 262,841 nodes.
  static constexpr size_t maxKeyLength = 64, maxNodes = 1 << 20, maxRules = 1 << 19, maxBytes = 4 * XF_TOKENIZER_MAX_POINTS;
  NormalizerStep &step;
  llvm::StringRef units, strings;
  std::string key;
  size_t visited = 0;
};

} // namespace

const char *readCharacterMap(llvm::StringRef base64, NormalizerStep &step) {
  std::vector<char> bytes;
  if (llvm::Error error = llvm::decodeBase64(base64, bytes)) {
    llvm::consumeError(std::move(error));
    return "is damaged";
  }
  CharacterMap map(step);
  return map.read(llvm::StringRef(bytes.data(), bytes.size())) ? nullptr : map.problem;
}

} // namespace xf
