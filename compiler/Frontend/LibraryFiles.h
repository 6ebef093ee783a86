// The standard library's text, embedded when building (Library/*.xf).
#ifndef XF_COMPILER_FRONTEND_LIBRARYFILES_H
#define XF_COMPILER_FRONTEND_LIBRARYFILES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace xf::frontend {

struct LibraryFile {
  llvm::StringRef name, text;
};
llvm::ArrayRef<LibraryFile> libraryFiles();

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_LIBRARYFILES_H
