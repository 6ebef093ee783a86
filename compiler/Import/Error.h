// One way to make an error: a formatted sentence that names the file, the tensor, the shapes.
#ifndef XF_COMPILER_IMPORT_ERROR_H
#define XF_COMPILER_IMPORT_ERROR_H

#include "llvm/Support/Error.h"

#include <fmt/format.h>

namespace xf {

template <typename... Args>
llvm::Error makeError(fmt::format_string<Args...> format, Args &&...args) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "%s", fmt::format(format, std::forward<Args>(args)...).c_str());
}

} // namespace xf

#endif // XF_COMPILER_IMPORT_ERROR_H
