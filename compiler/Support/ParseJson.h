// JSON texts that nobody vouches for.
#ifndef XF_COMPILER_SUPPORT_PARSEJSON_H
#define XF_COMPILER_SUPPORT_PARSEJSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <nlohmann/json.hpp>

#include <string>

namespace xf {

/// What a text says. Otherwise what is wrong with it: "parse error at line 2, column 17: syntax error while parsing object - …".
llvm::Expected<nlohmann::json> parseJson(llvm::StringRef text);

/// The same of a text that is parsed by other means. The last word of it is shown as far as a line has it.
std::string describeProblem(const nlohmann::json::exception &problem);

} // namespace xf

#endif // XF_COMPILER_SUPPORT_PARSEJSON_H
