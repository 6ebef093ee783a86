// Objects from modules of kernels and plans.
#ifndef XF_COMPILER_TARGET_CPU_OBJECT_H
#define XF_COMPILER_TARGET_CPU_OBJECT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>
#include <vector>

namespace xf::cpu {

/// Machine code, placed: one block without relocations or undefined symbols.
struct Code {
  llvm::SmallVector<char, 0> bytes;
  llvm::StringMap<uint64_t> symbols; // offsets of the functions
};

/// A relocatable ELF object.
using Object = std::unique_ptr<llvm::MemoryBuffer>;

/// Lowers `module` to LLVM and compiles it, on all cores, to an object for each of its parts. Functions named `NAME.avx2`, `NAME.avx512` … get
/// that target's features, all others the baseline's. On failure `error` says why.
mlir::FailureOr<std::vector<Object>> emitObjects(mlir::ModuleOp module, std::string &error);
/// The same module as LLVM IR or assembly text.
mlir::FailureOr<std::string> emitLLVM(mlir::ModuleOp module, std::string &error);
mlir::FailureOr<std::string> emitAssembly(mlir::ModuleOp module, std::string &error);
/// Lays out the objects' sections one behind the other and resolves their relocations. Objects do not refer to each other.
mlir::FailureOr<Code> linkObjects(llvm::ArrayRef<Object> objects, std::string &error);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_OBJECT_H
