// Members of an untrusted JSON file. The first problem is kept, and what is read after it does not matter.
#ifndef XF_COMPILER_IMPORT_TOKENIZERJSON_H
#define XF_COMPILER_IMPORT_TOKENIZERJSON_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace xf {

class TokenizerJson {
public:
  using json = nlohmann::json;

  template <typename... Args>
  void refuse(fmt::format_string<Args...> format, Args &&...args) {
    if (problem.empty())
      problem = fmt::format(format, std::forward<Args>(args)...);
  }
  bool isGood() const { return problem.empty(); }
  const std::string &getProblem() const { return problem; }

  /// A member of `object`; null if it is missing, or null.
  static const json *find(const json &object, llvm::StringRef member);
  /// The same, of a type. A missing member is `defaultValue`, or an error without that. Messages call the object `where`.
  bool flag(const json &object, llvm::StringRef member, llvm::StringRef where, std::optional<bool> defaultValue = std::nullopt);
  std::string text(const json &object, llvm::StringRef member, llvm::StringRef where, const std::optional<std::string> &defaultValue = std::nullopt);
  int64_t integer(const json &object, llvm::StringRef member, llvm::StringRef where, int64_t max, std::optional<int64_t> defaultValue = std::nullopt);
  /// A list or an object; an empty one if the member is none.
  const json &list(const json &object, llvm::StringRef member, llvm::StringRef where);
  const json &object(const json &object, llvm::StringRef member, llvm::StringRef where);
  /// The id of a token that `value` is; 0 if it is none.
  uint32_t id(const json &value, llvm::StringRef where);

  /// Refuses members that are not among `allowed`, as they would change the meaning of what is read.
  void checkMembers(const json &object, llvm::StringRef where, llvm::ArrayRef<llvm::StringRef> allowed);

private:
  /// A member of the type that `defaultValue` has, or `defaultValue`.
  const json &memberOfType(const json &object, llvm::StringRef member, llvm::StringRef where, const json &defaultValue, llvm::StringRef type);

  std::string problem;
};

/// Text from a file as messages quote it.
std::string inQuotes(llvm::StringRef text);

} // namespace xf

#endif // XF_COMPILER_IMPORT_TOKENIZERJSON_H
