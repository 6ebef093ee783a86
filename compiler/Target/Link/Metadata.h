// The image's header and tables.
#ifndef XF_COMPILER_TARGET_LINK_METADATA_H
#define XF_COMPILER_TARGET_LINK_METADATA_H

#include "compiler/Conversion/XfToLLVM/Plan.h"
#include "compiler/Target/CPU/Object.h"
#include "compiler/Target/Link/ParameterMap.h"
#include "compiler/Target/Link/Vocabularies.h"

namespace xf {

struct ImageContents {
  mlir::ModuleOp kernelModule; // entries, states, what serves a search
  const CodeModule &codeModule;
  const cpu::Code &code;
  std::string ptx; // of the GPU's kernels; empty: there are none
  std::string ir; // the unfused module's text
  const Vocabulary &source, &target;
};

/// What the model is called.
llvm::StringRef modelName(mlir::ModuleOp module);

/// All bytes of the image up to its weights: header, tables, texts and code; the header says where the weights, which
/// follow at the end, begin and how long they are.
std::vector<char> buildImageHead(const ImageContents &contents, llvm::ArrayRef<StoredParameter> parameters, int64_t weightBytes);

} // namespace xf

#endif // XF_COMPILER_TARGET_LINK_METADATA_H
