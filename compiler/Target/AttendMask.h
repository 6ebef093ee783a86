// What a mask says, taken apart: from and up to where a query may look, whether it looks at all, and the rest.
//
// A mask is a conjunction. A term that bounds the key's position from above by something that does not depend on it
// (j <= i + c, j < past[b] + n) becomes the end of loops over keys: what lies behind is neither read nor multiplied. One
// that bounds it from below (j >= i - c) says where they may begin. A term without the key's position holds for a whole row. Other
// terms, and those for beginnings, are evaluated for 16 keys at a time.
#ifndef XF_COMPILER_TARGET_ATTENDMASK_H
#define XF_COMPILER_TARGET_ATTENDMASK_H

#include "dialect/IR/Xf.h"

namespace xf::codegen {

class CodeBuilder;
class RegionVectorizer;

/// A sum of integers of the region and a constant.
struct LinearForm {
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> terms; // value and its factor
  int64_t constant = 0;
};

struct AttendMask {
  /// Of a mask region that takes (b, h, i, j); an empty one allows everything.
  explicit AttendMask(mlir::Region &region);

  /// Allowed keys have j < each of these; they don't depend on j.
  llvm::SmallVector<LinearForm> ends;
  /// Allowed keys have j >= each of these; they don't depend on j. As loops begin with a multiple of 16, these terms are keyTerms, too.
  llvm::SmallVector<LinearForm> begins;
  /// i1 values of the region that don't depend on j, all of which have to hold.
  llvm::SmallVector<mlir::Value> rowTerms;
  /// i1 values that do.
  llvm::SmallVector<mlir::Value> keyTerms;
  /// Those of them that say the same to all queries and heads of a sentence.
  llvm::SmallVector<mlir::Value> sentenceTerms;

private:
  void split(mlir::Value condition, mlir::Value key);
  llvm::DenseSet<mlir::Value> seen;
};

/// The end of the keys that `mask` lets a query see, of `keys` at most; `region` has the query's positions bound.
mlir::Value emitEnd(CodeBuilder &b, RegionVectorizer &region, const AttendMask &mask, mlir::Value keys);

/// The first of the keys that `mask` lets a query see.
mlir::Value emitBegin(CodeBuilder &b, RegionVectorizer &region, const AttendMask &mask);

/// The value that a region of attention yields.
mlir::Value yieldOf(mlir::Region &region);

/// Whether a query may have no key at all.
bool mayLackKeys(mlir::xf::AttendOp op);

/// Whether `value` is computed from `source`.
bool dependsOn(mlir::Value value, mlir::Value source);

/// Whether `index` is `source` plus something that does not depend on it: neighbours in the one are neighbours in the other.
bool follows(mlir::Value index, mlir::Value source);

} // namespace xf::codegen

#endif // XF_COMPILER_TARGET_ATTENDMASK_H
