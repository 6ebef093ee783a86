// The bytes of a tokenizer's table, as runtime/abi/xf_tokenizer.h lays them out.
#include "compiler/Import/TokenizerContents.h"
#include "compiler/Import/TokenizerUnicode.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
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
    head.decoder = contents.decoder;
    head.flags = contents.flags;
    head.pattern = contents.pattern;
    head.unknown = contents.unknown;
    head.max_characters = contents.maxCharacters;
    head.growth = maxGrowth(contents.steps);
    head.dropped = contents.dropped;
    if (head.growth > XF_TOKENIZER_MAX_GROWTH)
      reader.refuse("text would grow too long when it is normalised");
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
  xf_tokenizer_text text(llvm::StringRef string) {
    xf_tokenizer_text span{uint32_t(texts.size()), uint32_t(string.size())};
    texts += string;
    return span;
  }

  /// A hash table of elements' indices, each + 1, of which at least a third is empty.
  static std::vector<uint32_t> slotsFor(llvm::ArrayRef<std::pair<uint32_t, uint32_t>> hashes) {
    std::vector<uint32_t> slots(llvm::PowerOf2Ceil(hashes.size() + hashes.size() / 2 + 1));
    for (auto [hash, index] : hashes) {
      size_t slot = hash & (slots.size() - 1);
      while (slots[slot])
        slot = (slot + 1) & (slots.size() - 1);
      slots[slot] = index + 1;
    }
    return slots;
  }

  void putTokens() {
    std::vector<uint32_t> offsets;
    std::vector<uint8_t> flags;
    std::vector<std::pair<uint32_t, uint32_t>> hashes;
    // Results have added tokens as they are found in text, normalised.
    std::vector<std::string> names = contents.names;
    for (const AddedToken &token : contents.added)
      if (token.isNormalised)
        names[token.id] = normalised(token.content, contents.steps);
    std::fill(std::begin(head.of_byte), std::end(head.of_byte), -1);
    for (auto [id, name] : llvm::enumerate(contents.names)) {
      bool isText = true, isBpe = contents.kind == XF_TOKENIZER_BYTE_BPE;
      std::string bytes = isBpe ? bytesOfName(names[id], isText) : names[id];
      offsets.push_back(uint32_t(texts.size()));
      texts += bytes;
      flags.push_back((contents.isPresent[id] ? XF_TOKENIZER_PRESENT : 0) | (contents.isSpecial[id] ? XF_TOKENIZER_SPECIAL : 0) |
                      (isByteName(names[id]) ? XF_TOKENIZER_BYTE : 0));
      // The token that text is cut into, and the one that is found in normalised text, would have to be told apart.
      if (names[id] != name && !contents.isSpecial[id] && contents.vocabulary.contains(name) && changesEnds())
        reader.refuse("the added token {}, which is one of the model's, is another when it is normalised", inQuotes(name));
      if (names[id] != name || name.empty() || !isText || !contents.vocabulary.contains(name))
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
    offsets.push_back(uint32_t(texts.size()));
    head.texts = put(offsets);
    head.token_flags = put(flags);
    putBytes();
    head.scores = put(contents.scores);
    if (!contents.scores.empty())
      head.unknown_score = *llvm::min_element(contents.scores) - unknownPenalty;
    head.slots = put(slotsFor(hashes));
  }

  /// Whether normalising a part of the text by itself may give another result than in the text.
  bool changesEnds() const {
    return llvm::any_of(contents.steps, [](const NormalizerStep &step) { return step.step >= XF_TOKENIZER_PREPEND; });
  }

  /// Adds the tokens for bytes that have no others.
  void putBytes() {
    for (int byte = 0; contents.byteFallback && byte < 256; ++byte) {
      auto found = contents.vocabulary.find(fmt::format("<0x{:02X}>", byte));
      if (found != contents.vocabulary.end() && !contents.isSpecial[found->second])
        head.of_byte[byte] = int32_t(found->second);
    }
  }

  void putMerges() {
    // Of several merges of the same tokens the last counts.
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

  /// Refuses tokens that are found by the same text: versions of the library do not agree which is meant.
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
    std::vector<xf_tokenizer_composition> compositions;
    auto uses = [&](uint32_t step) { return llvm::any_of(contents.steps, [&](const NormalizerStep &each) { return each.step == step; }); };
    bool usesClusters = uses(XF_TOKENIZER_MAP_CLUSTERS), composes = uses(XF_TOKENIZER_COMPOSE);
    forCodePoints([&](uint32_t point) {
      xf_tokenizer_run run{point, classesOf(point), combiningClassOf(point), usesClusters ? clusterClassOf(point) : uint8_t(XF_TOKENIZER_OTHER)};
      if (runs.empty() || runs.back().classes != run.classes || runs.back().combining != run.combining || runs.back().cluster != run.cluster)
        runs.push_back(run);
      uint32_t left, right;
      if (composes && !isHangulSyllable(point) && isComposed(point, left, right))
        compositions.push_back({left, right, point});
    });
    llvm::sort(compositions, [](auto &x, auto &y) { return std::pair(x.left, x.right) < std::pair(y.left, y.right); });
    putSteps();
    head.runs = put(runs);
    head.compositions = put(compositions);
  }

  void putSteps() {
    std::vector<uint32_t> points;
    std::vector<xf_tokenizer_stage> stages;
    auto append = [&](llvm::ArrayRef<uint32_t> codePoints) {
      if (codePoints.size() > XF_TOKENIZER_MAX_POINTS)
        reader.refuse("the normalizer makes {} characters of one", codePoints.size());
      llvm::append_range(points, codePoints);
      return uint32_t(points.size() - codePoints.size());
    };
    for (const NormalizerStep &step : contents.steps) {
      std::vector<xf_tokenizer_mapping> mappings;
      std::vector<xf_tokenizer_rule> rules;
      for (const auto &[from, to] : step.mappings)
        mappings.push_back({from, append(to), uint32_t(to.size())});
      for (const auto &[from, to] : step.rules)
        rules.push_back({append(from), uint32_t(from.size()), append(to), uint32_t(to.size())});
      stages.push_back({uint32_t(step.step), put(mappings), put(rules)});
    }
    head.steps = put(stages);
    head.points = put(points);
  }

  static constexpr double unknownPenalty = 10;
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

bool isByteName(llvm::StringRef name) {
  return name.size() == 6 && name.starts_with("<0x") && name.ends_with(">") && llvm::isHexDigit(name[3]) && llvm::isHexDigit(name[4]);
}

std::string writeTokenizerTable(TokenizerJson &reader, const TokenizerContents &contents) { return TableWriter(reader, contents).write(); }

} // namespace xf
