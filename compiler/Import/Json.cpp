#include "compiler/Import/Json.h"

#include "compiler/Import/ByteFile.h"
#include "compiler/Import/Error.h"
#include "compiler/Support/ParseJson.h"

using nlohmann::json;

llvm::Expected<json> xf::parseJsonObject(llvm::StringRef text) {
  auto root = parseJson(text);
  if (!root)
    return makeError("is no JSON object: {}", llvm::toString(root.takeError()));
  if (!root->is_object())
    return makeError("is no JSON object");
  return root;
}

llvm::Expected<json> xf::readJsonObject(const std::string &path) {
  auto file = ByteFile::open(path);
  if (!file)
    return file.takeError();
  std::string text((*file)->getSize(), '\0');
  if (llvm::Error error = (*file)->read(0, llvm::MutableArrayRef(text.data(), text.size())))
    return error;
  auto root = parseJsonObject(text);
  if (!root)
    return makeError("{}: {}", path, llvm::toString(root.takeError()));
  return root;
}
