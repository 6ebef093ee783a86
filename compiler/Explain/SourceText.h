// What a description, and what it imports, says at the locations of ops.
#ifndef XF_COMPILER_EXPLAIN_SOURCETEXT_H
#define XF_COMPILER_EXPLAIN_SOURCETEXT_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>

namespace xf {

class SourceText {
public:
  /// `text` is that of the file that locations name `fileName`. Others are read when they are needed.
  SourceText(llvm::StringRef fileName, llvm::StringRef text);
  ~SourceText();

  /// The locations that `location` stands for, in its order: one, or those of ops that were fused. Locations in the library, and those of neither an
  /// expression nor a loop, are left out.
  llvm::SmallVector<mlir::FileLineColLoc> locations(mlir::Location location) const;
  /// The expression at a location, on one line. Long arguments become "...".
  std::string expression(mlir::FileLineColLoc loc) const;
  /// Whether the expression at `inner` is a part of the one at `outer`.
  bool contains(mlir::FileLineColLoc outer, mlir::FileLineColLoc inner) const;
  /// The loop at a location: "for layer in layers".
  std::string loop(mlir::FileLineColLoc loc) const;
  /// "model.xf:12"
  static std::string format(mlir::FileLineColLoc loc);

private:
  class File;
  const File &fileOf(mlir::FileLineColLoc loc) const;

  mutable llvm::StringMap<std::unique_ptr<File>> files;
};

} // namespace xf

#endif // XF_COMPILER_EXPLAIN_SOURCETEXT_H
