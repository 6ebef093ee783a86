// Untrusted JSON files.
#ifndef XF_COMPILER_IMPORT_JSON_H
#define XF_COMPILER_IMPORT_JSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <nlohmann/json.hpp>

#include <string>

namespace xf {

/// Parses a text that is an object. An error does not name the file: "is no JSON object", and where it stops being one.
llvm::Expected<nlohmann::json> parseJsonObject(llvm::StringRef text);
/// The same for a file, which the error names. A pipe is an error, and is not waited for.
llvm::Expected<nlohmann::json> readJsonObject(const std::string &path);

} // namespace xf

#endif // XF_COMPILER_IMPORT_JSON_H
