// Nested brackets: readers of an untrusted text recurse into them, and may run out of stack.
#ifndef XF_COMPILER_SUPPORT_NESTING_H
#define XF_COMPILER_SUPPORT_NESTING_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace xf {

/// A position in a text, from 1 on. Columns are bytes.
struct TextPosition {
  unsigned line, column;
};

/// Where a text, JSON or IR, opens a bracket within `maxDepth` others; nothing where it never does. Brackets in strings and comments do not count.
std::optional<TextPosition> findDeepNesting(llvm::StringRef text, unsigned maxDepth);

} // namespace xf

#endif // XF_COMPILER_SUPPORT_NESTING_H
