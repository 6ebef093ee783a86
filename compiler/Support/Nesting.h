// Brackets within brackets: whoever reads a text that nobody vouches for follows them one inside the other, and may run out of stack.
#ifndef XF_COMPILER_SUPPORT_NESTING_H
#define XF_COMPILER_SUPPORT_NESTING_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace xf {

/// A place in a text, from 1 on. Columns are bytes.
struct TextPlace {
  unsigned line, column;
};

/// Where a text, JSON or IR, opens a bracket within `most` others; nothing where it never does. Those of strings and comments are none.
std::optional<TextPlace> findDeepNesting(llvm::StringRef text, unsigned most);

} // namespace xf

#endif // XF_COMPILER_SUPPORT_NESTING_H
