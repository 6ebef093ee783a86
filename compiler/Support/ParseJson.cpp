#include "compiler/Support/ParseJson.h"

#include "compiler/Support/Nesting.h"

using nlohmann::json;

llvm::Expected<json> xf::parseJson(llvm::StringRef text) try {
  // Copying a value takes the stack for all lists and objects that stand within each other, and each of them takes memory beyond its bytes.
  constexpr unsigned most = 100;
  if (auto place = findDeepNesting(text, most))
    return llvm::createStringError("parse error at line " + llvm::Twine(place->line) + ", column " + llvm::Twine(place->column) + ": more than " +
                                   llvm::Twine(most) + " lists and objects stand within each other");
  return json::parse(text.begin(), text.end());
} catch (const json::exception &problem) {
  return llvm::createStringError(describeProblem(problem));
}

std::string xf::describeProblem(const json::exception &problem) {
  // Behind the exception's name, which stands in brackets. The last word of the text may be all of it.
  constexpr size_t most = 200;
  llvm::StringRef text = llvm::StringRef(problem.what()).split(']').second.ltrim();
  if (text.size() <= most)
    return text.str();
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  return text.take_front(end).str() + "…";
}
