// Untrusted JSON texts.
#ifndef XF_COMPILER_SUPPORT_PARSEJSON_H
#define XF_COMPILER_SUPPORT_PARSEJSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <nlohmann/json.hpp>

#include <string>

namespace xf {

/// Parses a text. An error says what is wrong with it: "parse error at line 2, column 17: syntax error while parsing object - …".
llvm::Expected<nlohmann::json> parseJson(llvm::StringRef text);

/// The same for a text that is parsed by other means. Cut off where it is too long for a line.
std::string describeProblem(const nlohmann::json::exception &problem);

} // namespace xf

#endif // XF_COMPILER_SUPPORT_PARSEJSON_H
