#include "compiler/Target/Link/Vocabularies.h"

#include "compiler/Import/Error.h"
#include "compiler/Target/Link/TokenBounds.h"
#include "dialect/IR/ModuleRoles.h"
#include "runtime/abi/xf_abi.h"

#include "llvm/Support/JSON.h"

#include <fmt/ranges.h>

using namespace mlir;
using namespace mlir::xf;

namespace xf {

/// What one is called where it is subwords.
static StringRef subwordsName(const Vocabulary &vocabulary) { return vocabulary.isTable ? "tokenizer" : "SentencePiece model"; }

static llvm::Error check(StringRef which, const Vocabulary &vocabulary, int64_t maxTokens) {
  StringRef text = vocabulary.tokens;
  if (text.empty() && maxTokens > 0 && vocabulary.pieces > maxTokens)
    return makeError("the {} {} has {} {}, but the model has {} {} tokens", which.str(), subwordsName(vocabulary).str(), vocabulary.pieces,
                     vocabulary.isTable ? "tokens" : "pieces", maxTokens, which.str());
  if (text.empty())
    return llvm::Error::success();
  size_t offset = 0;
  if (!llvm::json::isUTF8(text, &offset))
    return makeError("the {} vocabulary: line {} is not UTF-8", which.str(), text.take_front(offset).count('\n') + 1);
  int64_t lines = text.count('\n') + !text.ends_with("\n");
  // Other programs' vocabularies have counts or scores beside the tokens, with which no token would be found.
  for (auto [rest, lineNumber] = std::pair(text, int64_t(1)); !rest.empty(); ++lineNumber) {
    auto [line, behind] = rest.split('\n');
    if (line.contains('\t') && line.rtrim('\r') != "\t")
      return makeError("the {} vocabulary: line {} holds a tab; a line is a token and nothing else", which.str(), lineNumber);
    rest = behind;
  }
  if (maxTokens > 0 && lines > maxTokens)
    return makeError("the {} vocabulary has {} lines, but the model has {} {} tokens", which.str(), lines, maxTokens, which.str());
  return llvm::Error::success();
}

/// Why nothing would be read (or written) with a source (or target) vocabulary; empty if it would be.
static StringRef whyUnused(bool isSource, const Vocabulary &vocabulary, const ModuleRoles &text, const ModuleRoles &generate,
                           const ModuleRoles &predict) {
  if (!generate && !predict)
    return "the model neither generates nor predicts: its entries are called by name";
  StringRef split = text.name(isSource ? "source" : "target");
  bool ids = split.empty() || split == "ids", subwords = split == "subwords";
  if (!vocabulary.subwords.empty() && !subwords)
    return isSource ? "without text(source = subwords) lines are not cut into pieces"
                    : "without text(target = subwords) results are not made of pieces";
  if (vocabulary.subwords.empty() && subwords)
    return isSource ? "text(source = subwords) needs a SentencePiece model or a tokenizer.json, too (--source-spm, --source-tokenizer)"
                    : "text(target = subwords) needs a SentencePiece model or a tokenizer.json, too (--target-spm, --target-tokenizer)";
  if (isSource)
    return ids ? "without text(source = characters) or text(source = words) lines are ids" : "";
  if (generate)
    return ids ? "without text(target = characters) or text(target = words) results are ids" : "";
  return predict.has("labels") ? "" : "without labels predictions are numbers";
}

/// The smallest table that any of the entry's tokens look up, their types (empty: none) not counted; 0 if there is none.
static int64_t sourceTokens(EntryOp entry, StringRef types) {
  int64_t smallest = 0;
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes())) {
    if (!types.empty() && entry.getArgName(i) == types)
      continue;
    int64_t bound = cast<RankedTensorType>(type).getElementType().isInteger(32) ? tokenBound(entry, i) : 0;
    if (bound > 0)
      smallest = smallest == 0 ? bound : std::min(smallest, bound);
  }
  return smallest;
}

/// The last dimension of the entry's result of that name.
static int64_t columns(EntryOp entry, StringRef name) {
  auto found = name.empty() ? std::nullopt : entry.findResult(name);
  auto shape = found ? cast<RankedTensorType>(entry.getResultTypes()[*found]).getShape() : ArrayRef<int64_t>();
  return shape.empty() ? 0 : std::max<int64_t>(shape.back(), 0);
}

namespace {
/// Says of each token that a description names whether the model has it.
class NamedTokens {
public:
  /// `directive` names the tokens `keys`, of the `maxTokens` that `entry` has to do with (0: not known).
  void check(EntryOp entry, const ModuleRoles &directive, StringRef name, ArrayRef<StringRef> keys, int64_t maxTokens, StringRef which) {
    for (StringRef key : keys)
      for (int64_t id : directive.integers(key))
        if (entry && maxTokens > 0 && id >= maxTokens)
          refuse(directive, key, entry) << "'" << key << "' of " << name << " is " << id << ", but the model has " << maxTokens << " " << which
                                        << " tokens";
  }

  /// What goes around a text: the padding is hidden from the model, wherever it stands.
  void checkAffixes(EntryOp entry, const ModuleRoles &text, const ModuleRoles &searched) {
    if (!entry)
      return;
    for (StringRef key : {"prefix", "between", "suffix"}) {
      SmallVector<int64_t> affix = text.integers(key);
      if (affix.size() > XF_ABI_MAX_AFFIX)
        refuse(text, key, entry) << "'" << key << "' of text has " << affix.size() << " tokens; at most " << XF_ABI_MAX_AFFIX << " are possible";
      for (int64_t pad : searched.integers("pad"))
        if (is_contained(affix, pad))
          refuse(text, key, entry) << "'" << key << "' of text has the padding " << pad << ", which the model does not look at";
    }
  }

  /// Two texts are for predictions, which can look up the types of both.
  void checkPairs(EntryOp entry, const ModuleRoles &text, const ModuleRoles &predict) {
    SmallVector<int64_t> prefix = text.integers("prefix"), between = text.integers("between");
    StringRef types = predict.name("types");
    bool pairs = !between.empty(), typed = !types.empty();
    if (entry && pairs && !predict)
      refuse(text, "between", entry) << "'between' of text stands between the two texts of a line, which only predictions take";
    if (entry && typed && !pairs)
      refuse(predict, "types", entry) << "'types' of predict tells two texts apart, but text(…) has no 'between' to stand between them";
    if (entry && pairs && std::search(prefix.begin(), prefix.end(), between.begin(), between.end()) != prefix.end())
      refuse(text, "between", entry) << "'between' of text stands in its 'prefix': where the second text begins could not be told";
    if (typed && boundOf(entry, types) == 1)
      refuse(predict, "types", entry) << "'" << types << "' is 0 or 1, but the table that looks it up has 1 row";
  }

  /// What is chosen can be looked up in the next step.
  void checkStep(EntryOp entry, StringRef tokens, int64_t chosen) {
    if (int64_t rows = boundOf(entry, tokens); rows > 0 && rows < chosen)
      refuse(entry) << chosen << " tokens can be chosen, but the table that looks them up has " << rows << " rows";
  }

  /// What the decoder and the encoder read can be looked up by the entry that aligns it.
  void checkAlign(EntryOp align, EntryOp encode, EntryOp decode, StringRef tokens) {
    for (unsigned i = 0; i < align.getArgumentTypes().size(); ++i) {
      StringRef name = align.getArgName(i);
      EntryOp other = name == tokens ? decode : encode;
      int64_t here = tokenBound(align, i), there = boundOf(other, name);
      if (other && here > 0 && (there == 0 || here < there))
        refuse(align) << "'" << name << "' is looked up in a table of " << here << " rows, but "
                      << (there == 0 ? std::string("in none") : "in one of " + std::to_string(there)) << " by '" << other.getSymName() << "'";
    }
  }

  bool areGood() const { return good; }

private:
  /// Of the argument of that name; 0 if there is none.
  static int64_t boundOf(EntryOp entry, StringRef argument) {
    auto index = entry ? entry.findArg(argument) : std::nullopt;
    return index ? tokenBound(entry, *index) : 0;
  }
  InFlightDiagnostic refuse(EntryOp entry) { return refuse(entry.getLoc()); }
  /// At the directive's argument `key`, where that is known.
  InFlightDiagnostic refuse(const ModuleRoles &directive, StringRef key, EntryOp entry) { return refuse(directive.locOf(key, entry.getLoc())); }
  InFlightDiagnostic refuse(Location loc) {
    good = false;
    return emitError(loc);
  }

  bool good = true;
};
} // namespace

llvm::Error checkVocabularies(ModuleOp module, const Vocabulary &source, const Vocabulary &target) {
  ModuleRoles generate(module, kGenerateAttr), predict(module, kPredictAttr), text(module, kTextAttr);
  EntryOp reads = generate.entry("encode"), writes = generate.entry("decode");
  StringRef result = generate.name("logits");
  if (!generate) {
    reads = writes = predict.entry("entry");
    // Labels have names; other predictions are numbers.
    result = predict.has("labels") ? predict.name("result") : "";
  }
  if (!reads)
    reads = writes;
  int64_t sources = reads ? sourceTokens(reads, predict.name("types")) : 0, targets = writes ? columns(writes, result) : 0;
  NamedTokens named;
  named.check(writes, generate, "generate", {"start", "end", "more_ends"}, targets, "target");
  named.check(reads, generate ? generate : predict, generate ? "generate" : "predict", {"pad"}, sources, "source");
  named.check(reads, text, "text", {"prefix", "between", "suffix", "unknown"}, sources, "source");
  named.checkAffixes(reads, text, generate ? generate : predict);
  named.checkPairs(reads, text, predict);
  if (generate)
    named.checkStep(writes, generate.name("tokens"), targets);
  if (EntryOp align = generate.entry("align"))
    named.checkAlign(align, reads, writes, generate.name("tokens"));
  if (!named.areGood())
    return makeError(""); // what is wrong has been said
  for (bool isSource : {true, false}) {
    const Vocabulary &given = isSource ? source : target;
    StringRef why = whyUnused(isSource, given, text, generate, predict);
    if (!(given.tokens.empty() && given.subwords.empty()) && !why.empty())
      return makeError("the {} {} would not be used: {}", isSource ? "source" : "target",
                       given.subwords.empty() ? "vocabulary" : subwordsName(given).str(), why.str());
  }
  if (llvm::Error error = check("source", source, sources))
    return error;
  return check("target", target, targets);
}

static std::string list(ArrayRef<int64_t> ids) { return fmt::format("[{}]", fmt::join(ids, ", ")); }

std::string compareAffixes(ModuleOp module, const Vocabulary &source) {
  ModuleRoles generate(module, kGenerateAttr), text(module, kTextAttr);
  if (!source.affixes || (source.affixes->before.empty() && source.affixes->after.empty()))
    return "";
  SmallVector<int64_t> before, after = text.integers("suffix");
  if (generate && !generate.has("encode")) // a prompt, which the start token precedes
    before = generate.integers("start");
  llvm::append_range(before, text.integers("prefix"));
  const TokenAffixes &file = *source.affixes;
  if (ArrayRef(before) == ArrayRef(file.before) && ArrayRef(after) == ArrayRef(file.after))
    return "";
  return fmt::format("puts the tokens {} before and {} after a text; the description's are {} and {}", list(file.before), list(file.after),
                     list(before), list(after));
}

} // namespace xf
