// The dialect's registration, the dims attribute and the helpers on types.
#include "dialect/IR/Xf.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::xf;

#include "dialect/IR/XfDialect.cpp.inc"
#include "dialect/IR/XfEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/IR/XfAttrs.cpp.inc"

void XfDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/IR/XfAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/IR/XfOps.cpp.inc"
      >();
}

LogicalResult DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type, llvm::function_ref<InFlightDiagnostic()> emitError) const {
  if (getNames().size() != shape.size())
    return emitError() << "#xf.dims names " << getNames().size() << " dimensions of " << shape.size();
  for (auto [name, size] : llvm::zip(getNames(), shape))
    if (name.empty() != !ShapedType::isDynamic(size))
      return emitError() << "#xf.dims must name exactly the dynamic dimensions";
  return success();
}

bool mlir::xf::isValueType(Type type) {
  auto tensor = llvm::dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.getElementType().isIntOrFloat() || tensor.getElementTypeBitWidth() > 64)
    return false;
  bool isNamed = llvm::isa_and_nonnull<DimsAttr>(tensor.getEncoding());
  return llvm::all_of(tensor.getShape(), [&](int64_t size) { return ShapedType::isDynamic(size) ? isNamed : size > 0; });
}

RankedTensorType mlir::xf::makeTensor(ArrayRef<int64_t> sizes, ArrayRef<StringRef> names, Type element) {
  if (llvm::none_of(sizes, ShapedType::isDynamic))
    return RankedTensorType::get(sizes, element);
  SmallVector<StringAttr> attrs;
  for (auto [size, name] : llvm::zip(sizes, names))
    attrs.push_back(StringAttr::get(element.getContext(), ShapedType::isDynamic(size) ? name : StringRef()));
  return RankedTensorType::get(sizes, element, DimsAttr::get(element.getContext(), attrs));
}

StringRef mlir::xf::getDimName(RankedTensorType type, unsigned i) {
  auto dims = llvm::dyn_cast_or_null<DimsAttr>(type.getEncoding());
  return dims ? dims.getNames()[i].getValue() : StringRef();
}

SmallVector<StringRef> mlir::xf::getDimNames(RankedTensorType type) {
  SmallVector<StringRef> names;
  for (unsigned i = 0; i < type.getRank(); ++i)
    names.push_back(getDimName(type, i));
  return names;
}

bool mlir::xf::sameDim(RankedTensorType a, unsigned i, RankedTensorType b, unsigned j) {
  if (a.getDimSize(i) != b.getDimSize(j))
    return false;
  return !a.isDynamicDim(i) || getDimName(a, i) == getDimName(b, j);
}

std::string mlir::xf::describeShape(RankedTensorType type) {
  std::string text = "[";
  for (unsigned i = 0; i < type.getRank(); ++i) {
    if (i)
      text += ", ";
    text += type.isDynamicDim(i) ? getDimName(type, i).str() : std::to_string(type.getDimSize(i));
  }
  return text + "]";
}

std::optional<int64_t> mlir::xf::getBound(ModuleOp module, StringRef name) {
  auto bounds = module->getAttrOfType<DictionaryAttr>(kBoundsAttr);
  auto bound = bounds ? bounds.getAs<IntegerAttr>(name) : IntegerAttr();
  return bound ? std::optional<int64_t>(bound.getInt()) : std::nullopt;
}

void mlir::xf::setBound(ModuleOp module, StringRef name, int64_t bound) {
  NamedAttrList bounds(module->getAttrOfType<DictionaryAttr>(kBoundsAttr));
  bounds.set(name, IntegerAttr::get(IntegerType::get(module.getContext(), 64), bound));
  module->setAttr(kBoundsAttr, bounds.getDictionary(module.getContext()));
}

std::string mlir::xf::freshDim(ModuleOp module, StringRef letter) {
  std::string name = letter.str();
  for (unsigned i = 1; getBound(module, name); ++i)
    name = letter.str() + std::to_string(i);
  return name;
}

RankedTensorType mlir::xf::withElement(RankedTensorType type, Type element) {
  return RankedTensorType::get(type.getShape(), element, type.getEncoding());
}

RankedTensorType mlir::xf::withDim(RankedTensorType type, unsigned i, int64_t size, StringRef name) {
  SmallVector<int64_t> sizes(type.getShape());
  SmallVector<StringRef> names = getDimNames(type);
  sizes[i] = size;
  names[i] = name;
  return makeTensor(sizes, names, type.getElementType());
}
