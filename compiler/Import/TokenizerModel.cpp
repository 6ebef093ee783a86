// The tokens of a tokenizer.json: its model's vocabulary and merges, and those that were added.
#include "compiler/Import/TokenizerContents.h"

#include <charconv>
#include <cmath>
#include <set>

using nlohmann::json;

namespace xf {
namespace {

/// The number that the library reads, so that sums have the same bits: it takes the digits as an integer, and divides or multiplies that by a power
/// of ten, which does not always give the nearest number. Files have the fewest digits that tell the number.
double scoreOf(double value) {
  char text[32];
  auto written = std::to_chars(std::begin(text), std::end(text), std::abs(value), std::chars_format::scientific);
  auto [mantissa, exponentText] = llvm::StringRef(text, size_t(written.ptr - text)).split('e');
  std::string digits = mantissa.str();
  digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
  uint64_t integer = 0;
  int exponent = 0;
  exponentText.consume_front("+");
  if (llvm::StringRef(digits).getAsInteger(10, integer) || exponentText.getAsInteger(10, exponent))
    return value;
  exponent -= int(digits.size()) - 1;
  double scale = std::strtod(fmt::format("1e{}", std::abs(exponent)).c_str(), nullptr);
  double score = exponent < 0 ? double(integer) / scale : double(integer) * scale;
  return std::copysign(score, value);
}

class Model {
public:
  Model(TokenizerJson &reader, const json &model, TokenizerContents &contents) : reader(reader), model(model), contents(contents) {}

  void read() {
    std::string type = reader.text(model, "type", where, "");
    if (type.empty()) // old files have none
      type = model.contains("merges") ? "BPE" : model.contains("max_input_chars_per_word") ? "WordPiece" : "";
    if (type == "BPE")
      readBpe();
    else if (type == "WordPiece")
      readWordPiece();
    else if (type == "Unigram")
      readUnigram();
    else if (type == "WordLevel")
      readWordLevel();
    else
      reader.refuse("the model {} is not supported (only 'BPE', 'Unigram', 'WordPiece' and 'WordLevel' are)", inQuotes(type));
  }

private:
  void readBpe() {
    reader.checkMembers(model, where,
                        {"type", "vocab", "merges", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                         "byte_fallback", "ignore_merges"});
    contents.kind = XF_TOKENIZER_BYTE_BPE;
    if (const json *dropout = reader.find(model, "dropout"); dropout && *dropout != 0)
      reader.refuse("'dropout' of the model is not supported");
    for (const char *member : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (!reader.text(model, member, where, "").empty())
        reader.refuse("'{}' of the model is not supported", member);
    contents.byteFallback = reader.flag(model, "byte_fallback", where, false);
    contents.flags |= reader.flag(model, "fuse_unk", where, false) ? XF_TOKENIZER_FUSES_UNKNOWN : 0;
    contents.flags |= reader.flag(model, "ignore_merges", where, false) ? XF_TOKENIZER_WHOLE_WORDS : 0;
    readVocabulary();
    readUnknown(reader.find(model, "unk_token") != nullptr);
    for (const json &merge : reader.list(model, "merges", where))
      readMerge(merge);
  }

  void readWordPiece() {
    reader.checkMembers(model, where, {"type", "vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word"});
    contents.kind = XF_TOKENIZER_WORDPIECE;
    contents.continuing = reader.text(model, "continuing_subword_prefix", where, "##");
    contents.maxCharacters = reader.integer(model, "max_input_chars_per_word", where, 1 << 16, 100);
    readVocabulary();
    readUnknown(true);
  }

  void readWordLevel() {
    reader.checkMembers(model, where, {"type", "vocab", "unk_token"});
    contents.kind = XF_TOKENIZER_WORDS;
    readVocabulary();
    readUnknown(true);
  }

  /// A list of tokens with scores, by id.
  void readUnigram() {
    reader.checkMembers(model, where, {"type", "vocab", "unk_id", "byte_fallback"});
    contents.kind = XF_TOKENIZER_UNIGRAM;
    contents.byteFallback = reader.flag(model, "byte_fallback", where, false);
    for (const json &entry : reader.list(model, "vocab", where)) {
      auto id = uint32_t(contents.scores.size());
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
        return reader.refuse("the token {} of the model is not a text and a score", id);
      const std::string &name = *entry[0].get_ptr<const std::string *>();
      if (!contents.vocabulary.emplace(name, id).second)
        return reader.refuse("the token {} is there twice in the model", inQuotes(name));
      contents.setName(id, name);
      contents.scores.push_back(scoreOf(entry[1].get<double>()));
    }
    if (!contents.scores.empty())
      contents.unknown = int32_t(reader.integer(model, "unk_id", where, int64_t(contents.scores.size()) - 1));
  }

  void readVocabulary() {
    for (const auto &[name, value] : reader.object(model, "vocab", where).items()) {
      uint32_t id = reader.id(value, "the token " + inQuotes(name));
      if (!reader.isGood())
        return;
      if (!contents.setName(id, name))
        reader.refuse("the tokens {} and {} have the same id {}", inQuotes(contents.names[id]), inQuotes(name), id);
      contents.vocabulary.emplace(name, id);
    }
  }

  void readUnknown(bool isGiven) {
    if (!isGiven)
      return;
    std::string unknown = reader.text(model, "unk_token", where);
    auto found = contents.vocabulary.find(unknown);
    if (found != contents.vocabulary.end())
      contents.unknown = int32_t(found->second);
    else if (!unknown.empty() || contents.kind != XF_TOKENIZER_BYTE_BPE) // Whisper's files have one with an empty name, which need not exist
      reader.refuse("'unk_token' of the model, {}, is not in its vocabulary", inQuotes(unknown));
  }

  /// "left right", or a list of the two.
  void readMerge(const json &merge) {
    std::string left, right;
    if (const auto *text = merge.get_ptr<const std::string *>()) {
      if (llvm::StringRef(*text).starts_with("#version"))
        return;
      auto [first, second] = llvm::StringRef(*text).split(' ');
      left = first.str();
      right = second.contains(' ') ? "" : second.str();
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      left = *merge[0].get_ptr<const std::string *>();
      right = *merge[1].get_ptr<const std::string *>();
    }
    if (left.empty() || right.empty())
      return reader.refuse("the merge {} of the model is not two tokens", contents.merges.size() + 1);
    xf_tokenizer_merge found{};
    for (const auto &[name, id] : {std::pair(left, &found.left), {right, &found.right}, {left + right, &found.merged}}) {
      auto token = contents.vocabulary.find(name);
      if (token == contents.vocabulary.end())
        return reader.refuse("the merge {} of the model has a token that is not in its vocabulary, {}", contents.merges.size() + 1, inQuotes(name));
      *id = token->second;
    }
    contents.merges.push_back(found);
  }

  static constexpr llvm::StringLiteral where = "the model";
  TokenizerJson &reader;
  const json &model;
  TokenizerContents &contents;
};

/// `seen`: the added tokens that were read before.
void readAddedToken(TokenizerJson &reader, const json &entry, std::set<std::string> &seen, TokenizerContents &contents) {
  AddedToken token;
  token.content = reader.text(entry, "content", "an added token");
  std::string where = "the added token " + inQuotes(token.content);
  reader.checkMembers(entry, where, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  token.id = reader.id(entry.is_object() && entry.contains("id") ? entry.find("id").value() : json(), where);
  token.isSpecial = reader.flag(entry, "special", where);
  token.isNormalised = reader.flag(entry, "normalized", where);
  for (auto [member, flag] :
       {std::pair("lstrip", XF_TOKENIZER_STRIPS_LEFT), {"rstrip", XF_TOKENIZER_STRIPS_RIGHT}, {"single_word", XF_TOKENIZER_SINGLE_WORD}})
    token.flags |= reader.flag(entry, member, where) ? flag : 0;
  token.flags |= token.isSpecial ? XF_TOKENIZER_SHADOW : 0;
  if (token.content.empty())
    return; // as the library does
  if (!seen.insert(token.content).second)
    reader.refuse("{} is there twice", where);
  auto found = contents.vocabulary.find(token.content);
  if (found != contents.vocabulary.end() && found->second != token.id)
    reader.refuse("{} has the id {}, but {} in the vocabulary", where, token.id, found->second);
  // The library gives new tokens the number of tokens before them as their ids, whatever the file says, and whatever ids the vocabulary leaves out.
  if (found == contents.vocabulary.end() && token.id != contents.count)
    reader.refuse("{} has the id {}, but {} is the number of tokens before it", where, token.id, contents.count);
  if (!reader.isGood())
    return;
  if (!contents.setName(token.id, token.content))
    return reader.refuse("the tokens {} and {} have the same id {}", inQuotes(contents.names[token.id]), inQuotes(token.content), token.id);
  contents.added.push_back(std::move(token));
}

} // namespace

void readModel(TokenizerJson &reader, const json &file, TokenizerContents &contents) {
  Model(reader, reader.object(file, "model", "the file"), contents).read();
}

void readAddedTokens(TokenizerJson &reader, const json &file, TokenizerContents &contents) {
  std::set<std::string> seen;
  if (reader.find(file, "added_tokens"))
    for (const json &entry : reader.list(file, "added_tokens", "the file"))
      readAddedToken(reader, entry, seen, contents);
  contents.isSpecial.resize(contents.names.size());
  for (const AddedToken &token : contents.added)
    if (token.isSpecial)
      contents.isSpecial[token.id] = true;
}

} // namespace xf
