// Verifiers of the model ops. What ODS types say is not checked again.
#include "dialect/IR/Verify.h"
#include "dialect/IR/Xf.h"

using namespace mlir;
using namespace mlir::xf;

ParseResult mlir::xf::parseIndexMaps(OpAsmParser &parser, ArrayAttr &maps) {
  SmallVector<Attribute> all;
  auto parseMap = [&]() -> ParseResult {
    SmallVector<int64_t> map;
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] { return parser.parseInteger(map.emplace_back()); }))
      return failure();
    all.push_back(parser.getBuilder().getDenseI64ArrayAttr(map));
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseMap))
    return failure();
  maps = parser.getBuilder().getArrayAttr(all);
  return success();
}

void mlir::xf::printIndexMaps(OpAsmPrinter &p, Operation *, ArrayAttr maps) {
  p << '[';
  llvm::interleaveComma(maps.getAsRange<DenseI64ArrayAttr>(), p, [&](DenseI64ArrayAttr map) {
    p << '[';
    llvm::interleaveComma(map.asArrayRef(), p);
    p << ']';
  });
  p << ']';
}

ParseResult mlir::xf::parseStarts(OpAsmParser &parser, DenseF64ArrayAttr &starts) {
  SmallVector<double> all;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] { return parser.parseFloat(all.emplace_back()); }))
    return failure();
  starts = parser.getBuilder().getDenseF64ArrayAttr(all);
  return success();
}

void mlir::xf::printStarts(OpAsmPrinter &p, Operation *, DenseF64ArrayAttr starts) {
  p << '[';
  llvm::interleaveComma(starts.asArrayRef(), p, [&](double start) { p.printFloat(APFloat(start)); });
  p << ']';
}

LogicalResult mlir::xf::verifyIndexMaps(Operation *op, ValueRange operands, ArrayAttr maps, RankedTensorType shape) {
  if (maps.size() != operands.size())
    return op->emitOpError("has ") << maps.size() << " maps for " << operands.size() << " operands";
  for (auto [i, operand] : llvm::enumerate(operands)) {
    auto map = cast<DenseI64ArrayAttr>(maps[i]).asArrayRef();
    auto type = typeOf(operand);
    if (static_cast<int64_t>(map.size()) != type.getRank())
      return op->emitOpError("map ") << i << " has another rank than its operand " << describeShape(type);
    for (auto [d, target] : llvm::enumerate(map))
      if (target >= 0 && llvm::is_contained(map.take_front(d), target))
        return op->emitOpError("map ") << i << " refers to dimension " << target << " twice";
    for (auto [d, target] : llvm::enumerate(map)) {
      if (target < -1 || target >= shape.getRank())
        return op->emitOpError("map ") << i << " refers to dimension " << target << " of " << describeShape(shape);
      if (target == -1 ? type.getDimSize(d) != 1 : !sameDim(type, d, shape, target))
        return op->emitOpError("operand ") << i << " of shape " << describeShape(type) << " does not fit " << describeShape(shape)
                                           << " in its dimension " << d;
    }
  }
  return success();
}

SmallVector<Type> mlir::xf::elementTypes(TypeRange types) {
  return llvm::map_to_vector(types, [](Type t) { return cast<RankedTensorType>(t).getElementType(); });
}

LogicalResult mlir::xf::verifySameShapes(Operation *op, TypeRange types) {
  if (types.empty())
    return op->emitOpError("needs results");
  auto first = cast<RankedTensorType>(types.front());
  for (Type type : types)
    if (withElement(cast<RankedTensorType>(type), first.getElementType()) != first)
      return op->emitOpError("needs one shape, but has ") << describeShape(first) << " and " << describeShape(cast<RankedTensorType>(type));
  return success();
}

LogicalResult PositionsOp::verify() {
  auto type = typeOf(getResult());
  if (!type.getElementType().isInteger(32) || type.getRank() != (getPast() ? 2 : 1))
    return emitOpError("gives i32 positions of rank ") << (getPast() ? 2 : 1);
  if (getPast() && (typeOf(getPast()).getRank() != 1 || !typeOf(getPast()).getElementType().isInteger(32) || !sameDim(typeOf(getPast()), 0, type, 0)))
    return emitOpError("needs one i32 for each row of ") << describeShape(type) << ", not " << typeOf(getPast());
  return success();
}

LogicalResult EmbedOp::verify() {
  auto table = typeOf(getTable()), ids = typeOf(getIds()), result = typeOf(getResult());
  if (table.getRank() != 2 || !table.hasStaticShape() || !ids.getElementType().isInteger(32))
    return emitOpError("needs a static table of rank 2 and i32 ids");
  if (result.getElementType() != table.getElementType())
    return emitOpError("gives elements of the table, ") << table.getElementType();
  bool rowForm = isa<RowOp>(getOperation()->getParentOp()) && ids.getRank() == 1 && ids.getDimSize(0) == 1 && result.getRank() == 1;
  if (!rowForm && result.getRank() != ids.getRank() + 1)
    return emitOpError("result ") << describeShape(result) << " should have the ids' dimensions " << describeShape(ids) << " and the table's row";
  for (unsigned i = 0; !rowForm && i < ids.getRank(); ++i)
    if (!sameDim(ids, i, result, i))
      return emitOpError("result ") << describeShape(result) << " does not follow the ids " << describeShape(ids);
  if (result.getShape().back() != table.getDimSize(1))
    return emitOpError("result ") << describeShape(result) << " should end with the table's " << table.getDimSize(1);
  return success();
}

LogicalResult mlir::xf::verifyProduct(Operation *op, RankedTensorType x, RankedTensorType weight, RankedTensorType result) {
  if (weight.getRank() != 2 || !weight.hasStaticShape() || x.getRank() == 0)
    return op->emitOpError("needs a static weight of rank 2");
  if (x.getShape().back() != weight.getDimSize(1))
    return op->emitOpError("input ") << describeShape(x) << " does not fit the weight " << describeShape(weight) << " ([out, in])";
  Type factor = weight.getElementType();
  if (!factor.isF32() && !factor.isBF16() && !factor.isF16() && !factor.isInteger(8))
    return op->emitOpError("has no product of ") << factor;
  bool isWidened = x.getElementType().isF32() && weight.getElementType().isInteger(8);
  if (x.getElementType() != weight.getElementType() && !isWidened)
    return op->emitOpError("multiplies ") << x.getElementType() << " with " << weight.getElementType();
  if (withDim(withElement(x, result.getElementType()), x.getRank() - 1, weight.getDimSize(0), "") != result)
    return op->emitOpError("result ") << describeShape(result) << " is not what " << describeShape(x) << " and the weight " << describeShape(weight)
                                      << " give";
  return success();
}

Type mlir::xf::productElement(Type factor) {
  return factor.isInteger(8) ? Type(IntegerType::get(factor.getContext(), 32)) : Float32Type::get(factor.getContext());
}

bool mlir::xf::isFactorOfAttention(Type element) { return element.isF32() || element.isBF16() || element.isF16(); }

int64_t mlir::xf::panelGroup(Type factor) { return factor.isInteger(8) ? 4 : factor.isBF16() || factor.isF16() || factor.isInteger(16) ? 2 : 1; }

LogicalResult LinearOp::verify() {
  Type sum = productElement(typeOf(getX()).getElementType());
  if (typeOf(getResult()).getElementType() != sum)
    return emitOpError("must give ") << sum;
  if (getBias() && typeOf(getBias()).getElementType() != sum)
    return emitOpError("adds a bias of ") << typeOf(getBias()).getElementType() << " to " << sum;
  if (getBias() && typeOf(getBias()).getShape() != typeOf(getWeight()).getShape().take_front())
    return emitOpError("bias ") << describeShape(typeOf(getBias())) << " does not fit the weight " << describeShape(typeOf(getWeight()));
  return verifyProduct(*this, typeOf(getX()), typeOf(getWeight()), typeOf(getResult()));
}

LogicalResult QuantizeOp::verify() {
  auto x = typeOf(getX());
  bool isNarrowed = getNumResults() == 1;
  Type element = x.getElementType();
  if (x.getRank() != 2 || !x.hasStaticShape() || !(element.isF32() || (isBounded() && element.isBF16())))
    return emitOpError("needs a static f32 matrix, not ") << x;
  Builder builder(getContext());
  bool isF16 = isNarrowed && typeOf(getResult(0)).getElementType().isF16();
  SmallVector<Type> types{withElement(x, isF16 ? Type(builder.getF16Type()) : Type(builder.getBF16Type()))};
  auto ofRows = [&](Type type) { return RankedTensorType::get(x.getDimSize(0), type); };
  Type f32 = builder.getF32Type();
  if (isToInt16())
    types = {withElement(x, builder.getI16Type()), ofRows(f32)};
  else if (!isNarrowed)
    types = {withElement(x, builder.getI8Type()), ofRows(f32), ofRows(builder.getI32Type())};
  if (isBounded()) {
    types.append(2, ofRows(f32));
    types.push_back(RankedTensorType::get(x.getDimSize(1), f32));
  }
  if (getResultTypes() != TypeRange(types))
    return emitOpError("gives ") << TypeRange(types);
  return success();
}

LogicalResult MapOp::verify() {
  if (failed(verifySameShapes(*this, getResultTypes())) || failed(verifyIndexMaps(*this, getInputs(), getMaps(), getShape())))
    return failure();
  return verifyScalarBody(*this, getBody(), elementTypes(getInputs().getTypes()), elementTypes(getResultTypes()));
}

LogicalResult ReduceOp::verify() {
  auto x = typeOf(getX());
  if (!x.getElementType().isF32() && !x.getElementType().isInteger(32))
    return emitOpError("reduces f32 and i32, not ") << x.getElementType();
  if (x.getRank() == 0 || withDim(x, x.getRank() - 1, 1, "") != typeOf(getResult()))
    return emitOpError("result must be ") << describeShape(x) << " with 1 as its last dimension";
  return success();
}

LogicalResult AttendOp::verify() {
  auto q = typeOf(getQ()), k = typeOf(getK()), v = typeOf(getV()), c = typeOf(getOutput());
  for (RankedTensorType t : {q, k, v, c})
    if (t.getRank() != 4)
      return emitOpError("needs [batch, heads, positions, width], not ") << describeShape(t);
  if (!sameDim(k, 1, v, 1) || !sameDim(k, 2, v, 2))
    return emitOpError("keys ") << describeShape(k) << " and values " << describeShape(v) << " differ in heads or positions";
  if (getSpans()) {
    if (getProbabilities())
      return emitOpError("gives no probabilities of spans");
    // Queries are as many as the keys, which need not be as wide as the values.
    auto rows = withDim(withDim(q, 0, k.getDimSize(0), getDimName(k, 0)), 2, k.getDimSize(2), getDimName(k, 2));
    if (failed(verifySpans(*this, getSpans(), q, rows, 2)))
      return failure();
  }
  if ((!getSpans() && !sameDim(q, 0, k, 0)) || !sameDim(k, 0, v, 0))
    return emitOpError("queries ") << describeShape(q) << " and keys " << describeShape(k) << " differ in their batch";
  if (!sameDim(q, 3, k, 3))
    return emitOpError("queries ") << describeShape(q) << " and keys " << describeShape(k) << " differ in width";
  if (q.isDynamicDim(1) || k.isDynamicDim(1) || q.getDimSize(1) % k.getDimSize(1) != 0)
    return emitOpError("query heads of ") << describeShape(q) << " are no multiple of the key heads of " << describeShape(k);
  Type factor = q.getElementType();
  if (!isFactorOfAttention(factor) || factor != k.getElementType() || factor != v.getElementType())
    return emitOpError("multiplies f32, bf16 or f16 with the same, not ") << q << ", " << k << " and " << v;
  if (!c.getElementType().isF32() && c.getElementType() != q.getElementType())
    return emitOpError("context ") << c << " of factors of " << q.getElementType();
  if (getProbabilities() && !q.getElementType().isF32())
    return emitOpError("gives probabilities of f32 only");
  auto isState = [](Value value) { return isa_and_nonnull<AppendOp, LoadOp>(value.getDefiningOp()); };
  if (getWords() && (!factor.isBF16() || isState(getK()) || isState(getV())))
    return emitOpError("multiplies bf16 in words, and no states");
  if (withElement(withDim(q, 3, v.getDimSize(3), getDimName(v, 3)), c.getElementType()) != c)
    return emitOpError("context ") << describeShape(c) << " should be as the queries with the values' width";
  if (getProbabilities() && withDim(q, 3, k.getDimSize(2), getDimName(k, 2)) != typeOf(getProbabilities()))
    return emitOpError("probabilities ") << describeShape(typeOf(getProbabilities())) << " should be [batch, heads, queries, keys]";
  Type index = IndexType::get(getContext());
  SmallVector<Type> args(4, index);
  if (!getMask().empty() && failed(verifyScalarBody(*this, getMask(), args, IntegerType::get(getContext(), 1))))
    return failure();
  Type f32 = Float32Type::get(getContext());
  if (!getBias().empty() && failed(verifyScalarBody(*this, getBias(), args, f32)))
    return failure();
  args.push_back(f32);
  if (!getScore().empty() && failed(verifyScalarBody(*this, getScore(), args, f32)))
    return failure();
  return success();
}

bool AttendOp::isWithin(AtOp at, unsigned d) {
  auto tensor = typeOf(at.getTensor());
  Value index = at.getIndices()[d];
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return constant.isZero() || (!tensor.isDynamicDim(d) && constant.ult(tensor.getDimSize(d)));
  auto argument = dyn_cast<BlockArgument>(index);
  if (!argument || argument.getOwner()->getParentOp() != getOperation())
    return false;
  auto q = typeOf(getQ()), k = typeOf(getK());
  switch (argument.getArgNumber()) {
  case 0:
    return sameDim(tensor, d, k, 0);
  case 1:
    return sameDim(tensor, d, q, 1);
  case 2: // with spans, queries are counted within their sentence
    return getSpans() ? sameDim(tensor, d, k, 2) : sameDim(tensor, d, q, 2);
  default:
    return sameDim(tensor, d, k, 2);
  }
}

LogicalResult AtOp::verify() {
  if (static_cast<int64_t>(getIndices().size()) != typeOf(getTensor()).getRank())
    return emitOpError("needs one index for each dimension of ") << describeShape(typeOf(getTensor()));
  return success();
}

LogicalResult RearrangeOp::verify() {
  auto emit = [&] { return emitOpError(); };
  auto pattern = Rearrangement::parse(getPattern(), emit);
  if (failed(pattern))
    return failure();
  auto type = pattern->apply(typeOf(getX()), getSizes(), emit);
  if (failed(type))
    return failure();
  if (*type != getResult().getType())
    return emitOpError("gives ") << describeShape(*type) << ", not " << describeShape(typeOf(getResult()));
  return success();
}

LogicalResult SliceOp::verify() {
  auto x = typeOf(getX()), result = typeOf(getResult());
  int64_t axis = getAxis();
  if (axis < 0 || axis >= x.getRank() || int64_t(getStart()) < 0 || int64_t(getStep()) < 1)
    return emitOpError("axis, start or step is out of range for ") << describeShape(x);
  if (result.getRank() != x.getRank() || result.isDynamicDim(axis) || withDim(x, axis, getSize(), "") != result)
    return emitOpError("result ") << describeShape(result) << " should differ from " << describeShape(x) << " along the axis only";
  if (!x.isDynamicDim(axis) && !isWithin(x.getDimSize(axis)))
    return emitOpError("reads past dimension ") << axis << " of " << describeShape(x);
  return success();
}

LogicalResult ConcatOp::verify() {
  auto result = typeOf(getResult());
  int64_t axis = getAxis(), total = 0;
  if (axis < 0 || axis >= result.getRank())
    return emitOpError("axis is out of range for ") << describeShape(result);
  for (Value input : getInputs()) {
    auto type = typeOf(input);
    if (type.getRank() != result.getRank() || type.isDynamicDim(axis) ||
        withDim(type, axis, result.getDimSize(axis), getDimName(result, axis)) != result)
      return emitOpError("input ") << describeShape(type) << " does not fit " << describeShape(result) << " beside the axis";
    total += type.getDimSize(axis);
  }
  if (total != result.getDimSize(axis))
    return emitOpError("inputs have ") << total << " along the axis, the result " << result.getDimSize(axis);
  return success();
}

LogicalResult ScanOp::verify() { return verifyScanBody(*this, getBody(), getInputs(), getAxis(), getInit().size()); }

LogicalResult RepeatOp::verify() {
  if (static_cast<int64_t>(getCount()) < 1)
    return emitOpError("needs at least one layer");
  auto args = getBody().getArgumentTypes();
  if (args.empty() || !args.front().isIndex() || TypeRange(args).drop_front() != getInits().getTypes())
    return emitOpError("its region must take the layer's index and the carried values");
  auto yield = dyn_cast<YieldOp>(getBody().front().back());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError("its region must yield the results' types");
  if (TypeRange(getResultTypes()).take_front(getInits().size()) != TypeRange(getInits().getTypes()))
    return emitOpError("carried values must keep their types");
  return success();
}
