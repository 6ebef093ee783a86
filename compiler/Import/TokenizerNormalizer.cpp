// The steps of a tokenizer.json's normalizer, and normalising text by these as programs do.
#include "compiler/Import/TokenizerNormalizer.h"
#include "compiler/Import/TokenizerUnicode.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using nlohmann::json;

namespace xf {
namespace {

using Mappings = std::map<uint32_t, CodePoints>;

/// The mappings of all code points but Hangul syllables, which programs compute.
Mappings makeMappings(llvm::function_ref<CodePoints(uint32_t)> transform) {
  Mappings mappings;
  forCodePoints([&](uint32_t point) {
    if (CodePoints to = transform(point); !to.empty() && !isHangulSyllable(point))
      mappings.emplace(point, std::move(to));
  });
  return mappings;
}

const Mappings &lowercaseMappings() {
  static const Mappings mappings = makeMappings(lowercaseOf);
  return mappings;
}
const Mappings &decompositionMappings(bool isCompatible) {
  static const Mappings canonical = makeMappings([](uint32_t point) { return decompositionOf(point, false); });
  static const Mappings compatible = makeMappings([](uint32_t point) { return decompositionOf(point, true); });
  return isCompatible ? compatible : canonical;
}

/// The normaliser of SentencePiece's authors for translation: it removes controls, and replaces all kinds of blanks by a blank.
Mappings cleanupMappings() {
  Mappings mappings;
  for (auto [first, last] : {std::pair(1, 8), {11, 11}, {14, 31}, {0x7f, 0x7f}, {0x8f, 0x8f}, {0x9f, 0x9f}})
    for (int point = first; point <= last; ++point)
      mappings[point] = {};
  for (auto [first, last] :
       {std::pair(9, 10), {12, 13}, {0x1680, 0x1680}, {0x200b, 0x200f}, {0x2028, 0x2029}, {0x2581, 0x2581}, {0xfeff, 0xfeff}, {0xfffd, 0xfffd}})
    for (int point = first; point <= last; ++point)
      mappings[point] = {' '};
  return mappings;
}

class Normalizer {
public:
  explicit Normalizer(TokenizerJson &reader) : reader(reader) {}

  void read(const json &stage, int depth) {
    std::string type = reader.text(stage, "type", "the normalizer"), where = "the normalizer " + inQuotes(type);
    std::vector<llvm::StringRef> allowed = {"type"};
    if (type == "Sequence") {
      allowed.push_back("normalizers");
      if (depth > 4)
        return reader.refuse("normalizers stand within each other too deeply");
      for (const json &part : reader.list(stage, "normalizers", where))
        read(part, depth + 1);
    } else if (type == "BertNormalizer") {
      allowed.insert(allowed.end(), {"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
      readBert(stage, where);
    } else if (type == "Precompiled") {
      allowed.push_back("precompiled_charsmap");
      add(XF_TOKENIZER_MAP_CLUSTERS);
      if (const char *problem = readCharacterMap(reader.text(stage, "precompiled_charsmap", where), steps.back()))
        reader.refuse("'precompiled_charsmap' of {} {}", where, problem);
    } else if (type == "Replace") {
      allowed.insert(allowed.end(), {"pattern", "content"});
      readReplace(stage, where);
    } else if (type == "Prepend") {
      allowed.push_back("prepend");
      addRule(XF_TOKENIZER_PREPEND, "", reader.text(stage, "prepend", where));
    } else if (type == "Strip") {
      allowed.insert(allowed.end(), {"strip_left", "strip_right"});
      for (auto [member, step] : {std::pair("strip_left", XF_TOKENIZER_STRIP_LEFT), {"strip_right", XF_TOKENIZER_STRIP_RIGHT}})
        if (reader.flag(stage, member, where))
          add(step);
    } else {
      readPlain(type, where);
    }
    reader.checkMembers(stage, where, allowed);
    if (steps.size() > 32)
      reader.refuse("there are more normalizers than make sense");
  }

  std::vector<NormalizerStep> finish() {
    size_t prepended = 0;
    for (const NormalizerStep &step : steps)
      prepended += step.step == XF_TOKENIZER_PREPEND ? encodeUtf8(step.rules.begin()->second).size() : 0;
    if (prepended > 16)
      reader.refuse("'prepend' of the normalizer 'Prepend' is too long");
    return std::move(steps);
  }

private:
  void add(xf_tokenizer_step step) { steps.push_back({step}); }
  void addRule(xf_tokenizer_step step, llvm::StringRef from, llvm::StringRef to) {
    add(step);
    steps.back().rules.emplace(decodeUtf8(from), decodeUtf8(to));
  }

  /// Reads a normalizer without settings.
  void readPlain(llvm::StringRef type, llvm::StringRef where) {
    if (type == "Lowercase") {
      steps.push_back({XF_TOKENIZER_MAP, lowercaseMappings()});
    } else if (type == "Nmt") {
      steps.push_back({XF_TOKENIZER_MAP, cleanupMappings()});
    } else if (type == "NFD" || type == "NFC" || type == "NFKD" || type == "NFKC") {
      steps.push_back({XF_TOKENIZER_DECOMPOSE, decompositionMappings(type.contains('K'))});
      if (type.ends_with("C"))
        add(XF_TOKENIZER_COMPOSE);
    } else if (type == "StripAccents") {
      add(XF_TOKENIZER_STRIP_MARKS);
    } else {
      reader.refuse("{} is not supported", where.str());
    }
  }

  void readBert(const json &stage, llvm::StringRef where) {
    bool lowers = reader.flag(stage, "lowercase", where);
    if (reader.flag(stage, "clean_text", where))
      add(XF_TOKENIZER_CLEAN);
    if (reader.flag(stage, "handle_chinese_chars", where))
      add(XF_TOKENIZER_SPACE_CJK);
    // By default, accents are stripped if letters are lowered.
    if (reader.flag(stage, "strip_accents", where, lowers)) {
      readPlain("NFD", where);
      add(XF_TOKENIZER_STRIP_NONSPACING);
    }
    if (lowers)
      readPlain("Lowercase", where);
  }

  void readReplace(const json &stage, const std::string &where) {
    const json &pattern = reader.object(stage, "pattern", where);
    std::string content = reader.text(stage, "content", where);
    if (reader.find(pattern, "String")) {
      std::string from = reader.text(pattern, "String", "'pattern' of " + where);
      if (from.empty())
        reader.refuse("'pattern' of {} is empty", where);
      return addRule(XF_TOKENIZER_REPLACE, from, content);
    }
    std::string regex = reader.text(pattern, "Regex", "'pattern' of " + where);
    if (regex != " {2,}")
      reader.refuse("the pattern {} of {} is not supported (only ' {{2,}}' is)", inQuotes(regex), where);
    addRule(XF_TOKENIZER_REPLACE_RUNS, " ", content);
  }

  TokenizerJson &reader;
  std::vector<NormalizerStep> steps;
};

/// The code points of a text, as one step after the other changes them.
class NormalizedText {
public:
  explicit NormalizedText(llvm::StringRef text) : points(decodeUtf8(text)) {}

  void apply(const NormalizerStep &step) {
    switch (step.step) {
    case XF_TOKENIZER_CLEAN:
      remove(XF_TOKENIZER_CONTROL);
      return rewrite([](uint32_t point) { return CodePoints{isSpace(point) ? ' ' : point}; });
    case XF_TOKENIZER_SPACE_CJK:
      return rewrite([](uint32_t point) { return classesOf(point) & XF_TOKENIZER_CJK ? CodePoints{' ', point, ' '} : CodePoints{point}; });
    case XF_TOKENIZER_DECOMPOSE:
      rewrite([&](uint32_t point) { return mapped(step, point); });
      points = normalForm(points, NormalForm::D); // Hangul, and the order of marks
      return;
    case XF_TOKENIZER_COMPOSE:
      points = normalForm(points, NormalForm::C);
      return;
    case XF_TOKENIZER_STRIP_NONSPACING:
      return remove(XF_TOKENIZER_NONSPACING);
    case XF_TOKENIZER_STRIP_MARKS:
      return remove(XF_TOKENIZER_MARK);
    case XF_TOKENIZER_MAP:
      return rewrite([&](uint32_t point) { return mapped(step, point); });
    case XF_TOKENIZER_MAP_CLUSTERS:
      return mapClusters(step);
    case XF_TOKENIZER_STRIP_LEFT:
      points.erase(points.begin(), llvm::find_if_not(points, isSpace));
      return;
    case XF_TOKENIZER_STRIP_RIGHT:
      points.erase(std::find_if_not(points.rbegin(), points.rend(), isSpace).base(), points.end());
      return;
    default:
      return replace(step);
    }
  }
  std::string text() const { return encodeUtf8(points); }

private:
  static bool isSpace(uint32_t point) { return classesOf(point) & XF_TOKENIZER_SPACE; }
  static CodePoints mapped(const NormalizerStep &step, uint32_t point) {
    auto found = step.mappings.find(point);
    return found == step.mappings.end() ? CodePoints{point} : found->second;
  }
  void remove(uint32_t classes) {
    llvm::erase_if(points, [&](uint32_t point) { return (classesOf(point) & classes) != 0; });
  }
  void rewrite(llvm::function_ref<CodePoints(uint32_t)> transform) {
    CodePoints rewritten;
    for (uint32_t point : points)
      llvm::append_range(rewritten, transform(point));
    points = std::move(rewritten);
  }

  void mapClusters(const NormalizerStep &step) {
    CodePoints rewritten;
    for (size_t pos = 0, end; pos < points.size(); pos = end) {
      uint32_t state = 0;
      for (end = pos; end < points.size() && (xf_tokenizer_joins(&state, clusterClassOf(points[end])) || end == pos); ++end)
        ;
      llvm::append_range(rewritten, mappedCluster(step, llvm::ArrayRef(points).slice(pos, end - pos)));
    }
    points = std::move(rewritten);
  }
  static CodePoints mappedCluster(const NormalizerStep &step, llvm::ArrayRef<uint32_t> cluster) {
    if (cluster.size() > 1 && encodeUtf8(cluster).size() < XF_TOKENIZER_LONG_CLUSTER) {
      if (step.mappings.contains(cluster[0]))
        return mapped(step, cluster[0]);
      for (size_t count = 2; count <= cluster.size(); ++count)
        if (auto found = step.rules.find(cluster.take_front(count).vec()); found != step.rules.end())
          return found->second;
    }
    CodePoints result;
    for (uint32_t point : cluster)
      llvm::append_range(result, mapped(step, point));
    return result;
  }

  void replace(const NormalizerStep &step) {
    const auto &[from, to] = *step.rules.begin();
    if (step.step == XF_TOKENIZER_PREPEND) {
      if (!points.empty())
        points.insert(points.begin(), to.begin(), to.end());
      return;
    }
    CodePoints rewritten;
    auto matchesAt = [&](size_t pos) { return llvm::ArrayRef(points).drop_front(pos).take_front(from.size()) == llvm::ArrayRef(from); };
    for (size_t pos = 0; pos < points.size();) {
      size_t end = pos;
      while (matchesAt(end) && (end == pos || step.step == XF_TOKENIZER_REPLACE_RUNS))
        end += from.size();
      bool isMatch = end > pos && (step.step == XF_TOKENIZER_REPLACE || end - pos > from.size());
      llvm::append_range(rewritten, isMatch ? to : CodePoints{points[pos]});
      pos = isMatch ? end : pos + 1;
    }
    points = std::move(rewritten);
  }

  CodePoints points;
};

} // namespace

std::vector<NormalizerStep> readNormalizer(TokenizerJson &reader, const json &file) {
  Normalizer normalizer(reader);
  if (const json *stage = reader.find(file, "normalizer"))
    normalizer.read(*stage, 0);
  return normalizer.finish();
}

std::string normalised(llvm::StringRef text, llvm::ArrayRef<NormalizerStep> steps) {
  NormalizedText result(text);
  for (const NormalizerStep &step : steps)
    result.apply(step);
  return result.text();
}

uint32_t maxGrowth(llvm::ArrayRef<NormalizerStep> steps) {
  double growth = 1;
  for (const NormalizerStep &step : steps) {
    // A Hangul syllable becomes three parts; a Chinese character gets two blanks.
    double stepGrowth = step.step == XF_TOKENIZER_DECOMPOSE ? 3 : step.step == XF_TOKENIZER_SPACE_CJK ? 5. / 3 : 1;
    auto update = [&](llvm::ArrayRef<uint32_t> from, llvm::ArrayRef<uint32_t> to) {
      stepGrowth = std::max(stepGrowth, double(encodeUtf8(to).size()) / double(encodeUtf8(from).size()));
    };
    for (const auto &[from, to] : step.mappings)
      update(from, to);
    for (const auto &[from, to] : step.rules)
      if (step.step != XF_TOKENIZER_PREPEND)
        update(from, to);
    growth *= stepGrowth;
  }
  return uint32_t(std::ceil(std::min(growth, 1e6)));
}

} // namespace xf
