// What the parts of xf-pack-sentences share: the dimensions, and the writer of one entry's twin.
#ifndef XF_COMPILER_TRANSFORMS_PACKSENTENCES_H
#define XF_COMPILER_TRANSFORMS_PACKSENTENCES_H

#include "dialect/IR/Xf.h"

namespace xf::pack {

using namespace mlir;
using namespace mlir::xf;

/// The dimensions of sentences, of a sentence's positions, and of all sentences' positions together.
struct Dims {
  StringRef batch, source, tokens;

  bool hasSource(Type type) const { return count(type, source) > 0; }
  bool hasBatch(Type type) const { return count(type, batch) > 0; }
  /// Pairs of positions have it twice: those of several sentences cannot lie back to back.
  bool hasSourceOnce(Type type) const { return count(type, source) == 1; }
  /// [B, .., S, ..] as [1, .., P, ..].
  Type packed(Type type) const {
    auto tensor = dyn_cast<RankedTensorType>(type);
    for (int64_t d = 0; tensor && d < tensor.getRank(); ++d) {
      if (getDimName(tensor, d) == batch)
        tensor = withDim(tensor, d, 1, "");
      else if (getDimName(tensor, d) == source)
        tensor = withDim(tensor, d, ShapedType::kDynamic, tokens);
    }
    return tensor ? Type(tensor) : type;
  }
  /// [B, S, ..]
  bool isRows(Type type) const {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return hasSourceOnce(type) && tensor.getRank() >= 2 && getDimName(tensor, 0) == batch && getDimName(tensor, 1) == source;
  }

private:
  static int64_t count(Type type, StringRef name) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? llvm::count(getDimNames(tensor), name) : 0;
  }
};

/// The entry's twin for sentences without padding, behind it; null if there is none. `mayPad`: whether sentences of different
/// lengths may be padded to one. `types` names the argument that has the tokens' types; empty: there is none.
EntryOp packEntry(ModuleOp module, EntryOp entry, Dims dims, bool mayPad, StringRef types);

} // namespace xf::pack

#endif // XF_COMPILER_TRANSFORMS_PACKSENTENCES_H
