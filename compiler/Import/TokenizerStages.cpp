// What a tokenizer.json does with text before its model does, and with tokens behind it: its normalizer, pre-tokenizer and decoder.
#include "compiler/Import/TokenizerContents.h"

using nlohmann::json;

namespace xf {
namespace {

/// Regular expressions are known by what they say.
constexpr std::pair<llvm::StringLiteral, xf_tokenizer_pattern> patterns[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", XF_TOKENIZER_GPT2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)", XF_TOKENIZER_LLAMA3},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)", XF_TOKENIZER_QWEN2},
};

class Stages {
public:
  Stages(TokenizerJson &reader, const json &file, TokenizerContents &contents) : reader(reader), file(file), contents(contents) {}

  void read() {
    if (const json *normalizer = reader.find(file, "normalizer"))
      readNormalizer(*normalizer, 0);
    const json *splitter = reader.find(file, "pre_tokenizer"), *decoder = reader.find(file, "decoder");
    if (!splitter)
      refuseStage("pre_tokenizer", "");
    else if (contents.kind == XF_TOKENIZER_WORDPIECE)
      readWordSplitter(*splitter);
    else
      readByteSplitter(*splitter);
    if (!decoder)
      refuseStage("decoder", "");
    else
      readDecoder(*decoder);
  }

private:
  std::string typeOf(const json &stage, llvm::StringRef where) { return reader.text(stage, "type", where); }
  static std::string named(llvm::StringRef stage, llvm::StringRef type) { return "the " + stage.str() + " " + inQuotes(type); }

  /// The model has one way in and one way out.
  void refuseStage(llvm::StringRef member, llvm::StringRef type) {
    bool isWordPiece = contents.kind == XF_TOKENIZER_WORDPIECE, isDecoder = member == "decoder";
    std::string wanted = "with the model 'BPE' it is 'ByteLevel'; pieces of SentencePiece models need those (--source-spm, --target-spm)";
    if (isWordPiece)
      wanted = isDecoder ? "with the model 'WordPiece' it is 'WordPiece'" : "with the model 'WordPiece' it is 'BertPreTokenizer'";
    if (type.empty())
      reader.refuse("'{}' is missing: {}", member.str(), wanted);
    else
      reader.refuse("the {} {} is not supported: {}", isDecoder ? "decoder" : "pre-tokenizer", inQuotes(type), wanted);
  }

  void readNormalizer(const json &stage, int depth) {
    std::string type = typeOf(stage, "the normalizer"), where = named("normalizer", type);
    auto add = [&](std::initializer_list<uint32_t> steps) { contents.steps.insert(contents.steps.end(), steps); };
    if (type == "Sequence") {
      reader.checkMembers(stage, where, {"type", "normalizers"});
      if (depth > 4)
        return reader.refuse("normalizers stand within each other too deeply");
      for (const json &part : reader.list(stage, "normalizers", where))
        readNormalizer(part, depth + 1);
    } else if (type == "BertNormalizer") {
      readBertNormalizer(stage, where);
    } else if (type == "Lowercase") {
      add({XF_TOKENIZER_LOWER});
    } else if (type == "NFD") {
      add({XF_TOKENIZER_DECOMPOSE});
    } else if (type == "NFC") {
      add({XF_TOKENIZER_DECOMPOSE, XF_TOKENIZER_COMPOSE});
    } else if (type == "StripAccents") {
      add({XF_TOKENIZER_STRIP_MARKS});
    } else {
      reader.refuse("{} is not supported", where);
    }
    if (type != "Sequence" && type != "BertNormalizer")
      reader.checkMembers(stage, where, {"type"});
    if (contents.steps.size() > 32)
      reader.refuse("there are more normalizers than make sense");
  }

  void readBertNormalizer(const json &stage, llvm::StringRef where) {
    reader.checkMembers(stage, where, {"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
    bool lowers = reader.flag(stage, "lowercase", where);
    if (reader.flag(stage, "clean_text", where))
      contents.steps.push_back(XF_TOKENIZER_CLEAN);
    if (reader.flag(stage, "handle_chinese_chars", where))
      contents.steps.push_back(XF_TOKENIZER_SPACE_CJK);
    // Where nothing is said of accents, small letters have none.
    if (reader.flag(stage, "strip_accents", where, lowers))
      contents.steps.insert(contents.steps.end(), {XF_TOKENIZER_DECOMPOSE, XF_TOKENIZER_STRIP_NONSPACING});
    if (lowers)
      contents.steps.push_back(XF_TOKENIZER_LOWER);
  }

  void readWordSplitter(const json &stage) {
    std::string type = typeOf(stage, "the pre-tokenizer");
    if (type != "BertPreTokenizer")
      return refuseStage("pre_tokenizer", type);
    reader.checkMembers(stage, named("pre-tokenizer", type), {"type"});
  }

  void readByteSplitter(const json &stage) {
    std::string type = typeOf(stage, "the pre-tokenizer"), where = named("pre-tokenizer", type);
    if (type == "ByteLevel") {
      contents.pattern = readByteLevel(stage, where) ? XF_TOKENIZER_GPT2 : XF_TOKENIZER_NO_PATTERN;
      return;
    }
    if (type != "Sequence")
      return refuseStage("pre_tokenizer", type);
    reader.checkMembers(stage, where, {"type", "pretokenizers"});
    const json &parts = reader.list(stage, "pretokenizers", where);
    for (const json &part : parts)
      if (std::string name = typeOf(part, "the pre-tokenizer"); name != "Split" && name != "ByteLevel")
        return refuseStage("pre_tokenizer", name);
    if (parts.size() != 2 || typeOf(parts[0], where) != "Split" || typeOf(parts[1], where) != "ByteLevel")
      return reader.refuse("the pre-tokenizer 'Sequence' is supported of one 'Split' and one 'ByteLevel' only");
    readSplit(parts[0]);
    if (readByteLevel(parts[1], named("pre-tokenizer", "ByteLevel")))
      reader.refuse("'use_regex' of the pre-tokenizer 'ByteLevel' is not supported behind a 'Split'");
    if (contents.flags & XF_TOKENIZER_ADDS_SPACE)
      reader.refuse("'add_prefix_space' of the pre-tokenizer 'ByteLevel' is not supported behind a 'Split'");
  }

  /// Whether it splits text itself.
  bool readByteLevel(const json &stage, llvm::StringRef where) {
    reader.checkMembers(stage, where, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
    contents.flags |= reader.flag(stage, "add_prefix_space", where) ? XF_TOKENIZER_ADDS_SPACE : 0;
    return reader.flag(stage, "use_regex", where, true);
  }

  void readSplit(const json &stage) {
    std::string where = named("pre-tokenizer", "Split");
    reader.checkMembers(stage, where, {"type", "pattern", "behavior", "invert"});
    // What a pattern matches is a word, and it leaves nothing out.
    std::string behavior = reader.text(stage, "behavior", where);
    bool inverts = reader.flag(stage, "invert", where);
    if (!(behavior == "Isolated" && !inverts) && !(behavior == "Removed" && inverts))
      reader.refuse("'behavior' {} of the pre-tokenizer 'Split' is not supported", inQuotes(behavior));
    const json &pattern = reader.object(stage, "pattern", where);
    reader.checkMembers(pattern, "'pattern' of " + where, {"Regex"});
    std::string text = reader.text(pattern, "Regex", "'pattern' of " + where);
    for (const auto &[known, number] : patterns)
      if (text == known)
        contents.pattern = number;
    if (contents.pattern == XF_TOKENIZER_NO_PATTERN)
      reader.refuse("the pattern {} of the pre-tokenizer 'Split' is not supported: those of GPT-2, Llama 3 and Qwen2 are", inQuotes(text));
  }

  void readDecoder(const json &stage) {
    std::string type = typeOf(stage, "the decoder"), where = named("decoder", type);
    if (type != (contents.kind == XF_TOKENIZER_WORDPIECE ? "WordPiece" : "ByteLevel"))
      return refuseStage("decoder", type);
    if (type == "ByteLevel")
      return reader.checkMembers(stage, where, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
    reader.checkMembers(stage, where, {"type", "prefix", "cleanup"});
    contents.joined = reader.text(stage, "prefix", where);
    contents.flags |= reader.flag(stage, "cleanup", where) ? XF_TOKENIZER_CLEANS_UP : 0;
  }

  TokenizerJson &reader;
  const json &file;
  TokenizerContents &contents;
};

} // namespace

void readStages(TokenizerJson &reader, const json &file, TokenizerContents &contents) { Stages(reader, file, contents).read(); }

} // namespace xf
