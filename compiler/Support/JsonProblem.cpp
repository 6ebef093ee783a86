#include "compiler/Support/JsonProblem.h"

#include "llvm/ADT/StringRef.h"

std::string xf::describeProblem(const nlohmann::json::exception &problem) {
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
