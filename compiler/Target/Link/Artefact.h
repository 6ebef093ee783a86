// What `xfc -o` writes: a bare image, or an image behind a prebuilt program or library.
#ifndef XF_COMPILER_TARGET_LINK_ARTEFACT_H
#define XF_COMPILER_TARGET_LINK_ARTEFACT_H

#include "compiler/Import/ParameterSource.h"
#include "compiler/Target/Link/Metadata.h"

namespace xf {

enum class Carrier { none, executable, library };

/// Compiles nothing: takes machine code and parameters, and writes the artefact to `path`. `prebuilt` is the program or
/// library that carries the image (empty for a bare one). The file appears whole or not at all.
llvm::Error writeArtefact(const ImageContents &contents, ParameterSource &source, Carrier carrier, llvm::StringRef prebuilt,
                          llvm::StringRef path);

} // namespace xf

#endif // XF_COMPILER_TARGET_LINK_ARTEFACT_H
