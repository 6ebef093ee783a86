// Parameters, entries and references to them.
#include "dialect/IR/Verify.h"
#include "dialect/IR/Xf.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::xf;

/// More tensors of one name than any stack of layers has.
static constexpr int64_t kMaxTensors = 1 << 20;

LogicalResult ParameterOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!isValueType(getType()) || !type.hasStaticShape() || !isa<FloatType>(type.getElementType()))
    return emitOpError("needs a static tensor of floats, not ") << getType();
  int64_t tensors = 1;
  for (int64_t count : getCounts()) {
    if (count < 1 || count > kMaxTensors / tensors)
      return emitOpError("counts must be positive, their product at most ") << kMaxTensors;
    tensors *= count;
  }
  if (!isTable())
    return getPath() ? success() : emitOpError("needs a path or a region");
  if (!getInit().hasOneBlock() || getInit().front().empty())
    return emitOpError("its region needs one block that yields");
  if (getInit().getNumArguments() != type.getRank() || llvm::any_of(getInit().getArgumentTypes(), [](Type t) { return !t.isIndex(); }))
    return emitOpError("its region takes one index for each dimension");
  auto yield = dyn_cast<YieldOp>(getInit().front().back());
  if (!yield || yield.getNumOperands() != 1 || !yield.getOperand(0).getType().isF64())
    return emitOpError("its region must yield one f64");
  return verifyScalarOps(getInit().front());
}

LogicalResult ParamOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *target = symbols.lookupNearestSymbolFrom(*this, getNameAttr());
  size_t indices = 0;
  Type type;
  if (auto parameter = dyn_cast_or_null<ParameterOp>(target)) {
    indices = parameter.getCounts().size();
    type = withElement(parameter.getTensorType(), getType().getElementType());
    if (!getType().getElementType().isF32())
      return emitOpError("gives f32 values (narrower types are widened)");
  } else if (auto weight = dyn_cast_or_null<WeightOp>(target)) {
    indices = weight.getLayers() > 1 ? 1 : 0;
    type = weight.getType();
  } else {
    return emitOpError("refers to ") << getNameAttr() << ", which is neither a parameter nor a weight";
  }
  if (indices != getIndices().size())
    return emitOpError("needs ") << indices << " indices for " << getNameAttr();
  // Weights are computed when compiling. A weight's own layers are numbered across stacks, and its region splits that index.
  bool isComputed = isa<WeightOp>(target) || (*this)->getParentOfType<WeightOp>();
  for (Value index : getIndices()) {
    auto argument = dyn_cast<BlockArgument>(index);
    if (argument ? isa<EntryOp>(argument.getOwner()->getParentOp()) : !isComputed && !matchPattern(index, m_Constant()))
      return emitOpError("cannot be chosen by ") << (argument ? "an argument of its entry" : "what is computed")
                                                 << ": an index is a constant or a stack's layer";
  }
  if (type != getType())
    return emitOpError("has type ") << getType() << ", but " << getNameAttr() << " is " << type;
  return success();
}

void EntryOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type, ArrayRef<StringRef> argNames,
                    ArrayRef<StringRef> resultNames, EntryKind kind) {
  auto names = [&](ArrayRef<StringRef> list) {
    SmallVector<Attribute> attrs;
    for (StringRef n : list)
      attrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr(kNameAttr, builder.getStringAttr(n))));
    return builder.getArrayAttr(attrs);
  };
  state.addAttribute(getSymNameAttrName(state.name), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addAttribute(getKindAttrName(state.name), EntryKindAttr::get(builder.getContext(), kind));
  state.addAttribute(getArgAttrsAttrName(state.name), names(argNames));
  state.addAttribute(getResAttrsAttrName(state.name), names(resultNames));
  state.addRegion();
}

Block *EntryOp::addBody() {
  Block &block = getBody().emplaceBlock();
  for (Type type : getArgumentTypes())
    block.addArgument(type, getLoc());
  return &block;
}

static StringRef nameOf(std::optional<ArrayAttr> attrs, unsigned i) {
  if (!attrs || i >= attrs->size())
    return {};
  // A verifier of the module may ask before the entry's own.
  auto members = dyn_cast<DictionaryAttr>((*attrs)[i]);
  auto name = members ? members.getAs<StringAttr>(kNameAttr) : StringAttr();
  return name ? name.getValue() : StringRef();
}
StringRef EntryOp::getArgName(unsigned i) { return nameOf(getArgAttrs(), i); }
StringRef EntryOp::getResultName(unsigned i) { return nameOf(getResAttrs(), i); }

template <typename NameOf> static std::optional<unsigned> find(unsigned count, StringRef name, NameOf nameOf) {
  for (unsigned i = 0; i < count; ++i)
    if (nameOf(i) == name)
      return i;
  return std::nullopt;
}
std::optional<unsigned> EntryOp::findArg(StringRef name) {
  return find(getArgumentTypes().size(), name, [&](unsigned i) { return getArgName(i); });
}
std::optional<unsigned> EntryOp::findResult(StringRef name) {
  return find(getResultTypes().size(), name, [&](unsigned i) { return getResultName(i); });
}

ParseResult EntryOp::parse(OpAsmParser &parser, OperationState &result) {
  auto kind = EntryKind::full;
  for (auto k : {EntryKind::full, EntryKind::begin, EntryKind::step, EntryKind::packed})
    if (succeeded(parser.parseOptionalKeyword(stringifyEntryKind(k))))
      kind = k;
  result.addAttribute(getKindAttrName(result.name), EntryKindAttr::get(parser.getContext(), kind));
  auto buildType = [](Builder &builder, ArrayRef<Type> args, ArrayRef<Type> results, function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(args, results);
  };
  return function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildType,
                                                  getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void EntryOp::print(OpAsmPrinter &p) {
  p << ' ' << stringifyEntryKind(getKind()) << ' ';
  p.printSymbolName(getSymName());
  function_interface_impl::printFunctionSignature(p, cast<FunctionOpInterface>(getOperation()), getArgumentTypes(), false, getResultTypes());
  function_interface_impl::printFunctionAttributes(p, *this,
                                                   {getFunctionTypeAttrName(), getKindAttrName(), getArgAttrsAttrName(), getResAttrsAttrName()});
  p << ' ';
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

/// Each argument, or result, has a name of its own, and no other attribute of the dialect.
static LogicalResult verifyNames(EntryOp entry, StringRef what, std::optional<ArrayAttr> attrs, size_t count) {
  llvm::StringSet<> seen;
  for (size_t i = 0; i < count; ++i) {
    auto members = attrs && i < attrs->size() ? cast<DictionaryAttr>((*attrs)[i]) : DictionaryAttr::get(entry.getContext());
    for (NamedAttribute member : members) {
      if (!isa_and_nonnull<XfDialect>(member.getNameDialect()))
        continue;
      if (member.getName() != kNameAttr)
        return entry.emitOpError() << what << " " << i << " has " << member.getName() << "; of the xf dialect it can have " << kNameAttr << " alone";
      if (!isa<StringAttr>(member.getValue()))
        return entry.emitOpError() << what << " " << i << " needs a string as " << kNameAttr << ", not " << member.getValue();
    }
    StringRef name = nameOf(attrs, i);
    if (name.empty() || !seen.insert(name).second)
      return entry.emitOpError() << what << " " << i << " needs a name of its own";
    if (entry.getKind() == EntryKind::full && name.starts_with("xf."))
      return entry.emitOpError() << what << " " << i << " is called '" << name << "', as what is added to entries for a search may be";
  }
  return success();
}

LogicalResult EntryOp::verify() {
  if (!getBody().hasOneBlock() || getBody().front().empty() || !isa<ReturnOp>(getBody().front().back()))
    return emitOpError("needs a body of one block that ends with xf.return");
  for (Type type : getArgumentTypes())
    if (!isValueType(type) && !type.isIndex())
      return emitOpError("takes tensors and indices, not ") << type;
  for (Type type : getResultTypes())
    if (!isValueType(type))
      return emitOpError("gives tensors, not ") << type;
  return success(succeeded(verifyNames(*this, "argument", getArgAttrs(), getArgumentTypes().size())) &&
                 succeeded(verifyNames(*this, "result", getResAttrs(), getResultTypes().size())));
}

LogicalResult ReturnOp::verify() {
  auto entry = cast<EntryOp>((*this)->getParentOp());
  if (getOperandTypes() != entry.getResultTypes())
    return emitOpError("returns other types than entry @") << entry.getSymName() << " promises";
  return success();
}
