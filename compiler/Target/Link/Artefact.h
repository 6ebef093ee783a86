// What `xfc -o` writes: a bare image, an image behind a prebuilt program or library, or an image in an object file.
#ifndef XF_COMPILER_TARGET_LINK_ARTEFACT_H
#define XF_COMPILER_TARGET_LINK_ARTEFACT_H

#include "compiler/Import/ParameterSource.h"
#include "compiler/Target/Link/Metadata.h"

namespace xf {

enum class Carrier { none, executable, library, object };

/// The C header that a library or an object has beside it: its path with the ending .h.
std::string headerBeside(llvm::StringRef path);

/// Compiles nothing: takes machine code and parameters, and writes the artefact to `path`. `prebuilt` is the program or
/// library that carries the image (empty for others). A library and an object get a C header beside them.
llvm::Error writeArtefact(const ImageContents &contents, ParameterSource &source, Carrier carrier, llvm::StringRef prebuilt, llvm::StringRef path);

} // namespace xf

#endif // XF_COMPILER_TARGET_LINK_ARTEFACT_H
