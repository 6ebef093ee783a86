// What files were made from, as build systems read it.
#ifndef XF_TOOLS_XFC_DEPFILE_H
#define XF_TOOLS_XFC_DEPFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace xf {

/// Writes a rule of make to `path`: `outputs` are made from `inputs`. All paths are absolute. Inputs that are no files (pipes, devices) are left
/// out, as they do not say when they changed.
llvm::Error writeDepfile(llvm::StringRef path, llvm::ArrayRef<std::string> outputs, llvm::ArrayRef<std::string> inputs);

} // namespace xf

#endif // XF_TOOLS_XFC_DEPFILE_H
