// Einops patterns: parsing, and what shape they give.
#include "dialect/IR/Xf.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace {
using Groups = SmallVector<SmallVector<unsigned>>;

/// Parses one side. Axis names are numbered in `axes` in order of first appearance when `define`, else must be there.
LogicalResult parseSide(StringRef text, bool define, SmallVectorImpl<std::string> &axes, Groups &groups,
                        llvm::function_ref<InFlightDiagnostic()> emitError) {
  llvm::SmallDenseSet<unsigned> seen;
  bool open = false;
  while (!(text = text.ltrim()).empty()) {
    if (text.consume_front("(")) {
      if (open)
        return emitError() << "nested parentheses in the pattern";
      open = true;
      groups.emplace_back();
      continue;
    }
    if (text.consume_front(")")) {
      if (!open)
        return emitError() << "')' without '(' in the pattern";
      open = false;
      continue;
    }
    StringRef name = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (name.empty())
      return emitError() << "unexpected '" << text.take_front(1) << "' in the pattern";
    text = text.drop_front(name.size());
    if (name == "1") {
      if (!open)
        groups.emplace_back();
      continue;
    }
    if (llvm::isDigit(name.front()))
      return emitError() << "'" << name << "' is not an axis name (only 1 may stand for a size)";
    auto *found = llvm::find(axes, name);
    unsigned axis = found - axes.begin();
    if (found == axes.end()) {
      if (!define)
        return emitError() << "axis '" << name << "' stands on the right of '->' only"
                           << (open ? ", in parentheses: x is repeated along an axis by itself, which another pattern joins" : "");
      axes.push_back(name.str());
    }
    if (!seen.insert(axis).second)
      return emitError() << "axis '" << name << "' stands twice on one side";
    if (!open)
      groups.emplace_back();
    groups.back().push_back(axis);
  }
  if (open)
    return emitError() << "'(' without ')' in the pattern";
  return success();
}
} // namespace

FailureOr<Rearrangement> Rearrangement::parse(StringRef pattern, llvm::function_ref<InFlightDiagnostic()> emitError) {
  auto [left, right] = pattern.split("->");
  if (left.size() == pattern.size())
    return emitError() << "the pattern lacks '->'";
  Rearrangement r;
  if (failed(parseSide(left, true, r.axes, r.in, emitError)) || failed(parseSide(right, false, r.axes, r.out, emitError)))
    return failure();
  SmallVector<bool> used(r.axes.size());
  for (auto &group : r.out)
    for (unsigned axis : group)
      used[axis] = true;
  for (auto [axis, name] : llvm::enumerate(r.axes))
    if (!used[axis])
      return emitError() << "axis '" << name << "' stands on the left of '->' only";
  return r;
}

LogicalResult Rearrangement::bind(RankedTensorType type, DictionaryAttr sizes, SmallVectorImpl<int64_t> &axisSizes,
                                  SmallVectorImpl<StringRef> &axisNames, llvm::function_ref<InFlightDiagnostic()> emitError) const {
  if (type.getRank() != static_cast<int64_t>(in.size()))
    return emitError() << "the pattern has " << in.size() << " dimensions, the tensor " << describeShape(type);
  axisSizes.assign(axes.size(), -1);
  axisNames.assign(axes.size(), StringRef());
  for (auto [i, name] : llvm::enumerate(axes))
    if (auto size = sizes.getAs<IntegerAttr>(name)) {
      if (!size.getType().isSignlessInteger(64) || size.getInt() < 1)
        return emitError() << "axis '" << name << "' has size " << size;
      axisSizes[i] = size.getInt();
    }
  for (unsigned i = 0; i < in.size(); ++i) {
    if (type.isDynamicDim(i)) {
      if (in[i].size() != 1 || axisSizes[in[i][0]] != -1)
        return emitError() << "dimension '" << getDimName(type, i) << "' of " << describeShape(type) << " cannot be split";
      axisSizes[in[i][0]] = ShapedType::kDynamic;
      axisNames[in[i][0]] = getDimName(type, i);
      continue;
    }
    int64_t known = 1, open = -1;
    for (unsigned axis : in[i]) {
      if (axisSizes[axis] != -1 && llvm::MulOverflow(known, axisSizes[axis], known))
        return emitError() << "the sizes of dimension " << i << " are too large";
      if (axisSizes[axis] != -1)
        continue;
      if (open != -1)
        return emitError() << "the sizes of axes '" << axes[open] << "' and '" << axes[axis] << "' are not given";
      open = axis;
    }
    int64_t size = type.getDimSize(i);
    if (open == -1 ? known != size : size % known != 0)
      return emitError() << "dimension " << i << " of " << describeShape(type) << " is not divisible as the pattern says (" << size << " by " << known
                         << ")";
    if (open != -1)
      axisSizes[open] = size / known;
  }
  return success();
}

FailureOr<RankedTensorType> Rearrangement::apply(RankedTensorType type, DictionaryAttr sizes,
                                                 llvm::function_ref<InFlightDiagnostic()> emitError) const {
  SmallVector<int64_t> axisSizes, shape;
  SmallVector<StringRef> axisNames, names;
  if (failed(bind(type, sizes, axisSizes, axisNames, emitError)))
    return failure();
  for (auto &group : out) {
    int64_t size = 1;
    StringRef name;
    for (unsigned axis : group) {
      if (ShapedType::isDynamic(axisSizes[axis]) && group.size() > 1)
        return emitError() << "dimension '" << axisNames[axis] << "' cannot be merged with another";
      if (ShapedType::isDynamic(axisSizes[axis]))
        size = axisSizes[axis];
      else if (llvm::MulOverflow(size, axisSizes[axis], size))
        return emitError() << "a merged dimension is too large";
      name = axisNames[axis];
    }
    shape.push_back(size);
    names.push_back(name);
  }
  return makeTensor(shape, names, type.getElementType());
}
