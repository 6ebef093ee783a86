// Places of a description, and of what it imports, as their authors wrote them.
#ifndef XF_COMPILER_EXPLAIN_SOURCETEXT_H
#define XF_COMPILER_EXPLAIN_SOURCETEXT_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>
#include <vector>

namespace xf {

class SourceText {
public:
  /// `text` is that of the file that locations name `fileName`, and outlives this. Others are read when they are asked for.
  SourceText(llvm::StringRef fileName, llvm::StringRef text);

  /// The places that `location` stands for, in its order: one, or those of ops that were made one. Those of the library, and of files that are
  /// not there, are left out.
  llvm::SmallVector<mlir::FileLineColLoc> places(mlir::Location location) const;
  enum class Side { right, left, both };
  /// The expression at a place: a call with its arguments, or an operator with one of its sides, or both. Long arguments become "...".
  std::string expression(mlir::FileLineColLoc place, Side side = Side::right) const;
  /// What stands there up to the end of the line, without a block's brace.
  std::string statement(mlir::FileLineColLoc place) const;
  /// "model.xf:12"
  static std::string name(mlir::FileLineColLoc place);

private:
  using Lines = llvm::SmallVector<llvm::StringRef>;
  const Lines &linesOf(mlir::FileLineColLoc place) const;
  llvm::StringRef from(mlir::FileLineColLoc place) const;

  mutable llvm::StringMap<Lines> files;
  mutable std::vector<std::unique_ptr<llvm::MemoryBuffer>> buffers;
};

} // namespace xf

#endif // XF_COMPILER_EXPLAIN_SOURCETEXT_H
