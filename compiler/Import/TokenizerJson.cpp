#include "compiler/Import/TokenizerJson.h"

#include "llvm/ADT/STLExtras.h"

using nlohmann::json;

namespace xf {

/// Ids above this are damage: the table has an entry for each id.
static constexpr int64_t maxId = (int64_t(1) << 22) - 1;

std::string inQuotes(llvm::StringRef text) {
  constexpr size_t maxLength = 60;
  if (text.size() <= maxLength)
    return "'" + text.str() + "'";
  size_t end = maxLength;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  return "'" + text.take_front(end).str() + "…'";
}

const json *TokenizerJson::find(const json &object, llvm::StringRef member) {
  if (!object.is_object())
    return nullptr;
  auto found = object.find(member.str());
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

bool TokenizerJson::flag(const json &object, llvm::StringRef member, llvm::StringRef where, std::optional<bool> defaultValue) {
  const json *value = find(object, member);
  if (value && value->is_boolean())
    return *value->get_ptr<const bool *>();
  if (value || !defaultValue)
    refuse("'{}' of {} is neither true nor false", member.str(), where.str());
  return defaultValue.value_or(false);
}

std::string TokenizerJson::text(const json &object, llvm::StringRef member, llvm::StringRef where, const std::optional<std::string> &defaultValue) {
  const json *value = find(object, member);
  if (value && value->is_string())
    return *value->get_ptr<const std::string *>();
  if (value || !defaultValue)
    refuse("'{}' of {} is no text", member.str(), where.str());
  return defaultValue.value_or("");
}

int64_t TokenizerJson::integer(const json &object, llvm::StringRef member, llvm::StringRef where, int64_t max, std::optional<int64_t> defaultValue) {
  const json *value = find(object, member);
  if (!value && defaultValue)
    return *defaultValue;
  // The JSON library keeps numbers that are not negative as unsigned ones.
  const uint64_t *unsignedValue = value ? value->get_ptr<const uint64_t *>() : nullptr;
  if (unsignedValue && *unsignedValue <= uint64_t(max))
    return int64_t(*unsignedValue);
  refuse("'{}' of {} is no number from 0 to {}", member.str(), where.str(), max);
  return 0;
}

const json &TokenizerJson::memberOfType(const json &object, llvm::StringRef member, llvm::StringRef where, const json &defaultValue,
                                        llvm::StringRef type) {
  const json *value = find(object, member);
  if (value && value->type() == defaultValue.type())
    return *value;
  refuse("'{}' of {} is no {}", member.str(), where.str(), type.str());
  return defaultValue;
}

const json &TokenizerJson::list(const json &object, llvm::StringRef member, llvm::StringRef where) {
  static const json empty = json::array();
  return memberOfType(object, member, where, empty, "list");
}

const json &TokenizerJson::object(const json &object, llvm::StringRef member, llvm::StringRef where) {
  static const json empty = json::object();
  return memberOfType(object, member, where, empty, "object");
}

uint32_t TokenizerJson::id(const json &value, llvm::StringRef where) {
  const uint64_t *unsignedValue = value.get_ptr<const uint64_t *>();
  if (unsignedValue && *unsignedValue <= uint64_t(maxId))
    return uint32_t(*unsignedValue);
  refuse("the id of {} is no number from 0 to {}", where.str(), maxId);
  return 0;
}

void TokenizerJson::checkMembers(const json &object, llvm::StringRef where, llvm::ArrayRef<llvm::StringRef> allowed) {
  for (const auto &[name, value] : object.items())
    if (!llvm::is_contained(allowed, llvm::StringRef(name)) && !value.is_null())
      refuse("{} has a member {} that is not known", where.str(), inQuotes(name));
}

} // namespace xf
