// What a tokenizer.json does with normalised text before its model, and with tokens after it: its pre-tokenizer and decoder.
#include "compiler/Import/TokenizerContents.h"

#include "llvm/ADT/STLExtras.h"

using nlohmann::json;

namespace xf {
namespace {

/// Regular expressions are recognised by their text.
constexpr std::pair<llvm::StringLiteral, xf_tokenizer_pattern> patterns[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", XF_TOKENIZER_GPT2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)", XF_TOKENIZER_LLAMA3},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)", XF_TOKENIZER_QWEN2},
};

/// Pre-tokenizers that split text at white space.
constexpr std::pair<llvm::StringLiteral, xf_tokenizer_pattern> whitespacePreTokenizers[] = {
    {"BertPreTokenizer", XF_TOKENIZER_BERT}, {"Whitespace", XF_TOKENIZER_RUNS}, {"WhitespaceSplit", XF_TOKENIZER_BLANKS}};

class Stages {
public:
  Stages(TokenizerJson &reader, const json &file, TokenizerContents &contents) : reader(reader), file(file), contents(contents) {}

  void read() {
    const json *preTokenizer = reader.find(file, "pre_tokenizer"), *decoder = reader.find(file, "decoder");
    if (contents.kind == XF_TOKENIZER_BYTE_BPE) {
      if (preTokenizer && isByteLevel(*preTokenizer))
        return readByteLevelStages(*preTokenizer, decoder);
      contents.kind = XF_TOKENIZER_BPE; // of characters
    }
    if (preTokenizer)
      readPreTokenizer(*preTokenizer, false);
    if (decoder)
      readDecoder(*decoder);
    else
      contents.decoder = XF_TOKENIZER_JOINS_WORDS;
  }

private:
  std::string typeOf(const json &stage, llvm::StringRef where) { return reader.text(stage, "type", where); }
  static std::string named(llvm::StringRef stage, llvm::StringRef type) { return "the " + stage.str() + " " + inQuotes(type); }

  /// Whether text is cut into bytes.
  bool isByteLevel(const json &stage) {
    auto isOne = [&](const json &each) { return typeOf(each, "the pre-tokenizer") == "ByteLevel"; };
    return isOne(stage) || (stage.contains("pretokenizers") && llvm::any_of(reader.list(stage, "pretokenizers", "the pre-tokenizer"), isOne));
  }

  void readByteLevelStages(const json &preTokenizer, const json *decoder) {
    readByteLevelPreTokenizer(preTokenizer);
    if (contents.byteFallback)
      reader.refuse("'byte_fallback' of the model is not supported with the pre-tokenizer 'ByteLevel'");
    if (!decoder)
      return reader.refuse("'decoder' is missing: with the pre-tokenizer 'ByteLevel' it is 'ByteLevel'");
    std::string type = typeOf(*decoder, "the decoder");
    if (type != "ByteLevel")
      return reader.refuse("the decoder {} is not supported: with the pre-tokenizer 'ByteLevel' it is 'ByteLevel'", inQuotes(type));
    reader.checkMembers(*decoder, named("decoder", type), {"type", "add_prefix_space", "trim_offsets", "use_regex"});
    contents.decoder = XF_TOKENIZER_JOINS_BYTES;
  }

  void readByteLevelPreTokenizer(const json &stage) {
    std::string type = typeOf(stage, "the pre-tokenizer"), where = named("pre-tokenizer", type);
    if (type == "ByteLevel") {
      contents.pattern = readByteLevel(stage, where) ? XF_TOKENIZER_GPT2 : XF_TOKENIZER_NO_PATTERN;
      return;
    }
    reader.checkMembers(stage, where, {"type", "pretokenizers"});
    const json &parts = reader.list(stage, "pretokenizers", where);
    if (parts.size() != 2 || typeOf(parts[0], where) != "Split" || typeOf(parts[1], where) != "ByteLevel")
      return reader.refuse("the pre-tokenizer 'Sequence' is supported of one 'Split' and one 'ByteLevel' only");
    readSplit(parts[0]);
    if (readByteLevel(parts[1], named("pre-tokenizer", "ByteLevel")))
      reader.refuse("'use_regex' of the pre-tokenizer 'ByteLevel' is not supported behind a 'Split'");
    if (contents.flags & XF_TOKENIZER_ADDS_SPACE)
      reader.refuse("'add_prefix_space' of the pre-tokenizer 'ByteLevel' is not supported behind a 'Split'");
  }

  /// Whether the stage splits text by a pattern of its own.
  bool readByteLevel(const json &stage, llvm::StringRef where) {
    reader.checkMembers(stage, where, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
    contents.flags |= reader.flag(stage, "add_prefix_space", where) ? XF_TOKENIZER_ADDS_SPACE : 0;
    return reader.flag(stage, "use_regex", where, true);
  }

  void readSplit(const json &stage) {
    std::string where = named("pre-tokenizer", "Split");
    reader.checkMembers(stage, where, {"type", "pattern", "behavior", "invert"});
    // Each match of a pattern is a word, and no text is left out.
    std::string behavior = reader.text(stage, "behavior", where);
    bool inverts = reader.flag(stage, "invert", where);
    if (!(behavior == "Isolated" && !inverts) && !(behavior == "Removed" && inverts))
      reader.refuse("'behavior' {} of the pre-tokenizer 'Split' is not supported", inQuotes(behavior));
    const json &pattern = reader.object(stage, "pattern", where);
    reader.checkMembers(pattern, "'pattern' of " + where, {"Regex"});
    std::string text = reader.text(pattern, "Regex", "'pattern' of " + where);
    for (const auto &[regex, id] : patterns)
      if (text == regex)
        contents.pattern = id;
    if (contents.pattern == XF_TOKENIZER_NO_PATTERN)
      reader.refuse("the pattern {} of the pre-tokenizer 'Split' is not supported: those of GPT-2, Llama 3 and Qwen2 are", inQuotes(text));
  }

  void readPreTokenizer(const json &stage, bool isPart) {
    std::string type = typeOf(stage, "the pre-tokenizer"), where = named("pre-tokenizer", type);
    auto pattern = llvm::find_if(whitespacePreTokenizers, [&](const auto &each) { return type == each.first; });
    if (type == "Sequence" && !isPart) {
      reader.checkMembers(stage, where, {"type", "pretokenizers"});
      for (const json &part : reader.list(stage, "pretokenizers", where))
        readPreTokenizer(part, true);
    } else if (type == "Metaspace") {
      readMetaspace(stage, where);
    } else if (type == "Split") {
      readBlankSplit(stage, where);
    } else if (pattern == std::end(whitespacePreTokenizers)) {
      reader.refuse("{} is not supported: 'BertPreTokenizer', 'Whitespace', 'WhitespaceSplit' and 'Metaspace' are", where);
    } else {
      reader.checkMembers(stage, where, {"type"});
      if (contents.pattern != XF_TOKENIZER_NO_PATTERN || (contents.flags & XF_TOKENIZER_ESCAPES))
        reader.refuse("{} is not supported behind another", where);
      contents.pattern = pattern->second;
    }
  }

  /// Blanks become the character that pieces have for them, with which words begin.
  void readMetaspace(const json &stage, const std::string &where) {
    if (contents.flags & XF_TOKENIZER_ESCAPES)
      reader.refuse("{} is not supported behind another", where);
    std::string scheme = schemeOf(stage, where);
    contents.flags |= XF_TOKENIZER_ESCAPES | (scheme == "never" ? 0 : XF_TOKENIZER_ADDS_SPACE) | (scheme == "first" ? XF_TOKENIZER_ADDS_ONCE : 0);
    contents.flags |= reader.flag(stage, "split", where, true) ? XF_TOKENIZER_SPLITS_ESCAPED : 0;
    if (scheme == "first" && !keepsBeginning())
      reader.refuse("'prepend_scheme' 'first' of {} is not supported with the stages before it", where);
  }

  /// 'always', 'first' or 'never': where a blank is put.
  std::string schemeOf(const json &stage, const std::string &where) {
    reader.checkMembers(stage, where, {"type", "replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"});
    std::string replacement = reader.text(stage, "replacement", where), scheme = reader.text(stage, "prepend_scheme", where, "always");
    if (replacement != space)
      reader.refuse("'replacement' {} of {} is not supported", inQuotes(replacement), where);
    if (!llvm::is_contained({"always", "first", "never"}, scheme))
      reader.refuse("'prepend_scheme' {} of {} is not known", inQuotes(scheme), where);
    if (!reader.flag(stage, "add_prefix_space", where, true) && scheme != "never")
      reader.refuse("'add_prefix_space' and 'prepend_scheme' of {} contradict each other", where);
    return scheme;
  }

  /// Whether normalised text begins with what the line began with, as the library keeps track of it.
  bool keepsBeginning() {
    bool findsNormalised = llvm::any_of(contents.added, [](const AddedToken &token) { return token.isNormalised && !token.isSpecial; });
    if (contents.pattern != XF_TOKENIZER_NO_PATTERN || (findsNormalised && !contents.steps.empty()))
      return false;
    bool isReplaced = false;
    return llvm::all_of(contents.steps, [&](const NormalizerStep &step) {
      switch (step.step) {
      case XF_TOKENIZER_CLEAN:
      case XF_TOKENIZER_STRIP_NONSPACING:
      case XF_TOKENIZER_STRIP_MARKS:
      case XF_TOKENIZER_STRIP_LEFT:
        return false;
      case XF_TOKENIZER_REPLACE:
      case XF_TOKENIZER_REPLACE_RUNS: // text that begins with a blank is given none
        isReplaced = true;
        return isBlank(step.rules.begin()->second);
      case XF_TOKENIZER_PREPEND: // before a replacement it stands for nothing of the line
        return !isReplaced;
      case XF_TOKENIZER_MAP:
        return llvm::all_of(step.mappings, [](const auto &mapping) { return !mapping.second.empty(); });
      default:
        return true;
      }
    });
  }
  static bool isBlank(const CodePoints &points) { return points.size() == 1 && (points[0] == ' ' || points[0] == 0x2581); }

  /// Gemma's split, which has nothing to do: no blanks are left.
  void readBlankSplit(const json &stage, const std::string &where) {
    reader.checkMembers(stage, where, {"type", "pattern", "behavior", "invert"});
    const json &pattern = reader.object(stage, "pattern", where);
    bool isBlanks = pattern == json({{"String", " "}}) && !reader.flag(stage, "invert", where), hasNone = false;
    if (!contents.steps.empty() && contents.steps.back().step == XF_TOKENIZER_REPLACE) {
      const auto &[from, to] = *contents.steps.back().rules.begin();
      hasNone = from == CodePoints{' '} && !llvm::is_contained(to, ' ');
    }
    if (!isBlanks || !hasNone)
      reader.refuse("{} is supported at blanks that the normalizer has replaced, or with 'ByteLevel'", where);
  }

  void readDecoder(const json &stage) {
    std::string type = typeOf(stage, "the decoder"), where = named("decoder", type);
    if (type == "WordPiece") {
      reader.checkMembers(stage, where, {"type", "prefix", "cleanup"});
      contents.decoder = XF_TOKENIZER_JOINS_PARTS;
      contents.joined = reader.text(stage, "prefix", where);
      contents.flags |= reader.flag(stage, "cleanup", where) ? XF_TOKENIZER_CLEANS_UP : 0;
    } else if (type == "Metaspace") {
      contents.decoder = XF_TOKENIZER_JOINS_PIECES;
      contents.flags |= schemeOf(stage, where) == "never" ? 0 : XF_TOKENIZER_DROPS_FIRST;
    } else if (type == "Sequence") {
      readDecoders(stage, where);
    } else {
      reader.refuse("{} is not supported: 'WordPiece', 'Metaspace' and a 'Sequence' as Llama's are", where);
    }
  }

  /// Reads decoders that put blanks back, make characters of bytes, and strip blanks at the beginning.
  void readDecoders(const json &stage, const std::string &where) {
    constexpr llvm::StringLiteral order[] = {"Replace", "ByteFallback", "Fuse", "Strip"};
    reader.checkMembers(stage, where, {"type", "decoders"});
    contents.decoder = XF_TOKENIZER_JOINS_PIECES;
    const auto *next = std::begin(order);
    bool isFused = false;
    for (const json &part : reader.list(stage, "decoders", where)) {
      std::string type = typeOf(part, "the decoder"), name = named("decoder", type);
      const auto *found = std::find(next, std::end(order), type);
      // Replacing not first, or stripping each token, would give another text.
      if (found == std::end(order) || (next == std::begin(order) && type != "Replace") || (type == "Strip" && !isFused))
        return reader.refuse("{} is not supported there in a 'Sequence': 'Replace', 'ByteFallback', 'Fuse' and 'Strip' are, in this order", name);
      next = found + 1;
      isFused |= type == "Fuse";
      readDecoderPart(part, type, name);
    }
    if (next == std::begin(order))
      reader.refuse("{} is empty", where);
  }

  void readDecoderPart(const json &part, llvm::StringRef type, const std::string &where) {
    if (type == "Replace") {
      reader.checkMembers(part, where, {"type", "pattern", "content"});
      if (reader.object(part, "pattern", where) != json({{"String", space.str()}}) || reader.text(part, "content", where) != " ")
        reader.refuse("{} is supported of '{}' by ' ' only", where, space.str());
    } else if (type == "Strip") {
      reader.checkMembers(part, where, {"type", "content", "start", "stop"});
      if (reader.text(part, "content", where) != " " || reader.integer(part, "stop", where, 1 << 16) != 0)
        reader.refuse("{} is supported of blanks at the beginning only", where);
      contents.dropped = uint32_t(reader.integer(part, "start", where, 1 << 16));
    } else {
      reader.checkMembers(part, where, {"type"});
      contents.flags |= type == "ByteFallback" ? XF_TOKENIZER_WRITES_BYTES : 0;
    }
  }

  static constexpr llvm::StringLiteral space = "\xe2\x96\x81";
  TokenizerJson &reader;
  const json &file;
  TokenizerContents &contents;
};

} // namespace

void readStages(TokenizerJson &reader, const json &file, TokenizerContents &contents) { Stages(reader, file, contents).read(); }

} // namespace xf
