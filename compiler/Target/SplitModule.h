// A module in parts that can be compiled side by side.
#ifndef XF_COMPILER_TARGET_SPLITMODULE_H
#define XF_COMPILER_TARGET_SPLITMODULE_H

#include "mlir/IR/BuiltinOps.h"

namespace xf::codegen {

/// A part of a module, and how many operations it has.
struct ModulePart {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  size_t operations;
};

/// Moves what `module` holds (functions of the LLVM dialect, and what they refer to) to parts that do not refer to each other, so that each
/// function becomes the code that it would become in the whole. Those that share nothing stay in their order. The parts depend on the module
/// alone, not on the machine.
std::vector<ModulePart> splitModule(mlir::ModuleOp module);

} // namespace xf::codegen

#endif // XF_COMPILER_TARGET_SPLITMODULE_H
