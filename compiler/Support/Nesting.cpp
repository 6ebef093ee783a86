#include "compiler/Support/Nesting.h"

#include <algorithm>

using llvm::StringRef;

/// The length of the string that `text` begins with, which ends with its line at the latest.
static size_t stringLength(StringRef text) {
  for (size_t at = 1; at < text.size(); ++at)
    if (text[at] == '"')
      return at + 1;
    else if (text[at] == '\n')
      return at;
    else if (text[at] == '\\')
      ++at;
  return text.size();
}

std::optional<xf::TextPosition> xf::findDeepNesting(StringRef text, unsigned maxDepth) {
  unsigned depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    StringRef rest = text.drop_front(at);
    if (rest.front() == '"') {
      at += stringLength(rest) - 1;
    } else if (rest.starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (rest.starts_with("->") || rest.starts_with(">=") || rest.starts_with("<=")) {
      ++at; // no brackets
    } else if (StringRef("([{<").contains(rest.front())) {
      if (++depth > maxDepth) {
        StringRef before = text.take_front(at);
        return TextPosition{static_cast<unsigned>(before.count('\n') + 1), static_cast<unsigned>(at - (before.rfind('\n') + 1) + 1)};
      }
    } else if (StringRef(")]}>").contains(rest.front()) && depth > 0) {
      --depth;
    }
  }
  return std::nullopt;
}
