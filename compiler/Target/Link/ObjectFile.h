// An image as a relocatable ELF object, and the C header that goes with it.
#ifndef XF_COMPILER_TARGET_LINK_OBJECTFILE_H
#define XF_COMPILER_TARGET_LINK_OBJECTFILE_H

#include "compiler/Target/Link/Metadata.h"

namespace xf {

/// What stands before and after the image in an object file. The image itself begins at a page.
struct ObjectFrame {
  std::string before, after;
};

/// The frame of an object that defines NAME_image, `imageSize` bytes, and NAME_image_size, a uint64_t; the functions of
/// `code`, which begins at `codeOffset` in the image, are local symbols.
ObjectFrame frameObject(llvm::StringRef name, uint64_t imageSize, const cpu::Code &code, uint64_t codeOffset);

/// The model's name as a C identifier.
std::string modelIdentifier(mlir::ModuleOp module);

/// The header of an object, or of a shared library, which carries its image itself.
std::string writeHeader(mlir::ModuleOp module, bool library);

} // namespace xf

#endif // XF_COMPILER_TARGET_LINK_OBJECTFILE_H
