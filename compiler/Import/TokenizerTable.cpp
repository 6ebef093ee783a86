// The bytes of a tokenizer's table, as runtime/abi/xf_tokenizer.h lays them out.
#include "compiler/Import/TokenizerContents.h"
#include "compiler/Import/TokenizerUnicode.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/MathExtras.h"

namespace xf {
namespace {

class TableWriter {
public:
  TableWriter(TokenizerJson &reader, const TokenizerContents &contents) : reader(reader), contents(contents) {}

  std::string write() {
    std::copy_n(XF_TOKENIZER_MAGIC, sizeof(XF_TOKENIZER_MAGIC), head.magic);
    head.kind = contents.kind;
    head.flags = contents.flags;
    head.pattern = contents.pattern;
    head.unknown = contents.unknown;
    head.most_characters = contents.mostCharacters;
    head.continuing = text(contents.continuing);
    head.joined = text(contents.joined);
    putTokens();
    putMerges();
    putAdded();
    putUnicode();
    head.bytes = put(llvm::ArrayRef<char>(texts.data(), texts.size()));
    if (table.size() > UINT32_MAX)
      reader.refuse("its tokens take more than 4 GiB");
    std::copy_n(reinterpret_cast<const char *>(&head), sizeof(head), table.data());
    return std::move(table);
  }

private:
  template <typename T>
  xf_tokenizer_list put(llvm::ArrayRef<T> elements) {
    table.resize(llvm::alignTo(table.size(), 8));
    xf_tokenizer_list list{uint32_t(table.size()), uint32_t(elements.size())};
    table.append(reinterpret_cast<const char *>(elements.data()), elements.size() * sizeof(T));
    return list;
  }
  template <typename T>
  xf_tokenizer_list put(const std::vector<T> &elements) {
    return put(llvm::ArrayRef<T>(elements));
  }
  xf_tokenizer_text text(llvm::StringRef words) {
    xf_tokenizer_text place{uint32_t(texts.size()), uint32_t(words.size())};
    texts += words;
    return place;
  }

  /// A hash table of elements, number + 1 each, that is a third empty or more.
  static std::vector<uint32_t> slotsFor(llvm::ArrayRef<std::pair<uint32_t, uint32_t>> hashes) {
    std::vector<uint32_t> slots(llvm::PowerOf2Ceil(hashes.size() + hashes.size() / 2 + 1));
    for (auto [hash, number] : hashes) {
      size_t at = hash & (slots.size() - 1);
      while (slots[at])
        at = (at + 1) & (slots.size() - 1);
      slots[at] = number + 1;
    }
    return slots;
  }

  void putTokens() {
    std::vector<uint32_t> begins;
    std::vector<uint8_t> flags;
    std::vector<std::pair<uint32_t, uint32_t>> hashes;
    // Results have what is found in text, which is normalised.
    std::vector<std::string> names = contents.names;
    for (const AddedToken &token : contents.added)
      if (token.isNormalised)
        names[token.id] = normalised(token.content, contents.steps);
    std::fill(std::begin(head.of_byte), std::end(head.of_byte), -1);
    for (auto [id, name] : llvm::enumerate(contents.names)) {
      bool isText = true, isBpe = contents.kind == XF_TOKENIZER_BYTE_BPE;
      std::string bytes = isBpe ? bytesOfName(names[id], isText) : names[id];
      begins.push_back(uint32_t(texts.size()));
      texts += bytes;
      flags.push_back((contents.isPresent[id] ? XF_TOKENIZER_PRESENT : 0) | (contents.isSpecial[id] ? XF_TOKENIZER_SPECIAL : 0));
      if (names[id] != name || name.empty() || !isText || !contents.vocabulary.count(name))
        continue;
      if (contents.isSpecial[id] && isBpe && bytes.size() == 1)
        reader.refuse("the special token {} stands for a byte of text", inQuotes(name));
      if (contents.isSpecial[id])
        continue; // text is not cut into it
      if (isBpe && bytes.size() == 1)
        head.of_byte[uint8_t(bytes[0])] = int32_t(id);
      uint32_t hash = xf_tokenizer_hash_bytes(XF_TOKENIZER_HASH_START, bytes.data(), bytes.size());
      hashes.emplace_back(xf_tokenizer_hash_end(hash), uint32_t(id));
    }
    begins.push_back(uint32_t(texts.size()));
    head.texts = put(begins);
    head.token_flags = put(flags);
    head.slots = put(slotsFor(hashes));
  }

  void putMerges() {
    // Of merges of the same tokens the last counts.
    llvm::DenseMap<std::pair<uint32_t, uint32_t>, size_t> last;
    for (auto [rank, merge] : llvm::enumerate(contents.merges))
      last[{merge.left, merge.right}] = rank;
    std::vector<xf_tokenizer_merge> merges;
    std::vector<std::pair<uint32_t, uint32_t>> hashes;
    for (auto [rank, merge] : llvm::enumerate(contents.merges)) {
      if (last[{merge.left, merge.right}] != rank || contents.isSpecial[merge.merged])
        continue;
      hashes.emplace_back(xf_tokenizer_hash_merge(merge.left, merge.right), uint32_t(merges.size()));
      merges.push_back(merge);
    }
    head.merges = put(merges);
    head.merge_slots = put(slotsFor(hashes));
  }

  void putAdded() {
    std::vector<std::pair<std::string, const AddedToken *>> names, plain, normalised;
    for (const AddedToken &token : contents.added) {
      names.emplace_back(token.content, &token);
      if (!token.isNormalised) {
        plain.emplace_back(token.content, &token);
        continue;
      }
      std::string found = xf::normalised(token.content, contents.steps);
      if (found.empty())
        reader.refuse("nothing of the added token {} is left when it is normalised", inQuotes(token.content));
      normalised.emplace_back(std::move(found), &token);
    }
    head.names = putSorted(names);
    head.added = putSorted(plain);
    head.normalised = putSorted(normalised);
  }

  /// Which of tokens that are found by the same text is meant, versions of the library do not agree on.
  xf_tokenizer_list putSorted(std::vector<std::pair<std::string, const AddedToken *>> &tokens) {
    llvm::stable_sort(tokens, llvm::less_first());
    auto same = std::adjacent_find(tokens.begin(), tokens.end(), [](auto &left, auto &right) { return left.first == right.first; });
    if (same != tokens.end())
      reader.refuse("the added tokens {} and {} are the same text when they are normalised", inQuotes(same->second->content),
                    inQuotes(std::next(same)->second->content));
    std::vector<xf_tokenizer_added> added;
    for (const auto &[found, token] : tokens)
      added.push_back({text(found), token->id, token->flags});
    return put(added);
  }

  void putUnicode() {
    std::vector<xf_tokenizer_run> runs;
    std::vector<xf_tokenizer_mapping> decompositions, lower;
    std::vector<xf_tokenizer_composition> compositions;
    std::vector<uint32_t> points;
    auto uses = [&](uint32_t step) { return llvm::is_contained(contents.steps, step); };
    auto map = [&](std::vector<xf_tokenizer_mapping> &mappings, uint32_t point, llvm::ArrayRef<uint32_t> to) {
      if (to.empty())
        return;
      mappings.push_back({point, uint32_t(points.size()), uint32_t(to.size())});
      llvm::append_range(points, to);
    };
    forCodePoints([&](uint32_t point) {
      uint16_t classes = classesOf(point), combining = combiningClassOf(point);
      if (runs.empty() || runs.back().classes != classes || runs.back().combining != combining)
        runs.push_back({point, classes, combining});
      if (uses(XF_TOKENIZER_DECOMPOSE) && !isHangulSyllable(point))
        map(decompositions, point, decompositionOf(point));
      if (uses(XF_TOKENIZER_LOWER))
        map(lower, point, lowerOf(point));
      uint32_t left, right;
      if (uses(XF_TOKENIZER_COMPOSE) && !isHangulSyllable(point) && isComposed(point, left, right))
        compositions.push_back({left, right, point});
    });
    llvm::sort(compositions, [](auto &x, auto &y) { return std::pair(x.left, x.right) < std::pair(y.left, y.right); });
    head.steps = put(contents.steps);
    head.runs = put(runs);
    head.decompositions = put(decompositions);
    head.lower = put(lower);
    head.points = put(points);
    head.compositions = put(compositions);
  }

  TokenizerJson &reader;
  const TokenizerContents &contents;
  xf_tokenizer head{};
  std::string table = std::string(sizeof(xf_tokenizer), 0), texts;
};

} // namespace

std::string bytesOfName(llvm::StringRef name, bool &isText) {
  std::string bytes;
  const auto *at = reinterpret_cast<const llvm::UTF8 *>(name.bytes_begin()), *end = reinterpret_cast<const llvm::UTF8 *>(name.bytes_end());
  while (at != end) {
    llvm::UTF32 point = 0;
    if (llvm::convertUTF8Sequence(&at, end, &point, llvm::strictConversion) != llvm::conversionOK)
      point = 0x110000;
    int32_t byte = xf_tokenizer_byte_of(point);
    isText = byte >= 0;
    if (!isText)
      return name.str();
    bytes += char(byte);
  }
  isText = true;
  return bytes;
}

std::string writeTokenizerTable(TokenizerJson &reader, const TokenizerContents &contents) { return TableWriter(reader, contents).write(); }

} // namespace xf
