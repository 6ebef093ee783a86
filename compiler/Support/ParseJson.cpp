#include "compiler/Support/ParseJson.h"

#include "compiler/Support/Nesting.h"

using nlohmann::json;

llvm::Expected<json> xf::parseJson(llvm::StringRef text) try {
  // Copying a value recurses into nested lists and objects, each of which also takes more memory than its bytes.
  constexpr unsigned maxDepth = 100;
  if (auto position = findDeepNesting(text, maxDepth))
    return llvm::createStringError("parse error at line " + llvm::Twine(position->line) + ", column " + llvm::Twine(position->column) +
                                   ": more than " + llvm::Twine(maxDepth) + " lists and objects stand within each other");
  return json::parse(text.begin(), text.end());
} catch (const json::exception &problem) {
  return llvm::createStringError(describeProblem(problem));
}

std::string xf::describeProblem(const json::exception &problem) {
  // What follows the exception's name in brackets. It quotes the last token that was read, which may be all of the text.
  constexpr size_t maxLength = 200;
  llvm::StringRef text = llvm::StringRef(problem.what()).split(']').second.ltrim();
  if (text.size() <= maxLength)
    return text.str();
  size_t end = maxLength;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  return text.take_front(end).str() + "…";
}
