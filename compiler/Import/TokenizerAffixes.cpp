// What a tokenizer.json's post-processor puts around a text. The description says that instead, so nothing here is an error.
#include "compiler/Import/Tokenizer.h"
#include "compiler/Import/TokenizerContents.h"

using nlohmann::json;

namespace xf {

/// Appends the ids of a list of numbers; false if it is none.
static bool appendIds(const json *list, std::vector<int64_t> &ids) {
  if (!list || !list->is_array())
    return false;
  for (const json &id : *list) {
    if (!id.is_number_integer())
      return false;
    ids.push_back(id.get<int64_t>());
  }
  return true;
}

/// The template of a text alone: pieces that are the text or special tokens, whose ids are in a list beside it.
static std::optional<TokenAffixes> readTemplate(const json &processor) {
  const json *pieces = TokenizerJson::find(processor, "single"), *tokens = TokenizerJson::find(processor, "special_tokens");
  if (!pieces || !pieces->is_array())
    return std::nullopt;
  TokenAffixes affixes;
  bool isAfter = false;
  for (const json &piece : *pieces) {
    if (TokenizerJson::find(piece, "Sequence")) {
      isAfter = true;
      continue;
    }
    const json *special = TokenizerJson::find(piece, "SpecialToken"), *name = special ? TokenizerJson::find(*special, "id") : nullptr;
    const json *token = tokens && name && name->is_string() ? TokenizerJson::find(*tokens, name->get<std::string>()) : nullptr;
    if (!token || !appendIds(TokenizerJson::find(*token, "ids"), isAfter ? affixes.after : affixes.before))
      return std::nullopt;
  }
  return isAfter ? std::optional(affixes) : std::nullopt;
}

/// BERT's and RoBERTa's: a name and an id each.
static std::optional<TokenAffixes> readPair(const json &processor) {
  TokenAffixes affixes;
  for (auto [member, ids] : {std::pair("cls", &affixes.before), {"sep", &affixes.after}}) {
    const json *token = TokenizerJson::find(processor, member);
    if (!token || !token->is_array() || token->size() != 2 || !(*token)[1].is_number_integer())
      return std::nullopt;
    ids->push_back((*token)[1].get<int64_t>());
  }
  return affixes;
}

static std::optional<TokenAffixes> readProcessor(const json &processor) {
  const json *type = TokenizerJson::find(processor, "type");
  std::string name = type && type->is_string() ? type->get<std::string>() : "";
  if (name == "TemplateProcessing")
    return readTemplate(processor);
  if (name == "BertProcessing" || name == "RobertaProcessing")
    return readPair(processor);
  return name == "ByteLevel" ? std::optional<TokenAffixes>(TokenAffixes()) : std::nullopt;
}

std::optional<TokenAffixes> readAffixes(const json &file) {
  const json *processor = TokenizerJson::find(file, "post_processor"), *type = processor ? TokenizerJson::find(*processor, "type") : nullptr;
  if (!type)
    return std::nullopt;
  if (*type != "Sequence")
    return readProcessor(*processor);
  const json *all = TokenizerJson::find(*processor, "processors");
  if (!all || !all->is_array())
    return std::nullopt;
  TokenAffixes affixes;
  for (const json &inner : *all) { // each puts its tokens around those of the ones before it
    std::optional<TokenAffixes> innerAffixes = readProcessor(inner);
    if (!innerAffixes)
      return std::nullopt;
    affixes.before.insert(affixes.before.begin(), innerAffixes->before.begin(), innerAffixes->before.end());
    affixes.after.insert(affixes.after.end(), innerAffixes->after.begin(), innerAffixes->after.end());
  }
  return affixes;
}

} // namespace xf
