// Places of a description as its author wrote them.
#ifndef XF_COMPILER_EXPLAIN_SOURCETEXT_H
#define XF_COMPILER_EXPLAIN_SOURCETEXT_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace xf {

class SourceText {
public:
  /// Of the file that locations name `fileName`; both outlive this.
  SourceText(llvm::StringRef fileName, llvm::StringRef text);

  /// The places that `location` stands for, in its order: one, or those of ops that were made one. Others' files are left out.
  llvm::SmallVector<mlir::FileLineColLoc> places(mlir::Location location) const;
  enum class Side { right, left, both };
  /// The expression at a place: a call with its arguments, or an operator with one of its sides, or both. Long arguments become "...".
  std::string expression(mlir::FileLineColLoc place, Side side = Side::right) const;
  /// What stands there up to the end of the line, without a block's brace.
  std::string statement(mlir::FileLineColLoc place) const;
  /// "model.xf:12"
  static std::string name(mlir::FileLineColLoc place);

private:
  llvm::StringRef from(mlir::FileLineColLoc place) const;

  llvm::StringRef fileName;
  llvm::SmallVector<llvm::StringRef> lines;
};

} // namespace xf

#endif // XF_COMPILER_EXPLAIN_SOURCETEXT_H
