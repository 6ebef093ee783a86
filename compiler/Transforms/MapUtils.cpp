#include "compiler/Transforms/MapUtils.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {

unsigned MappedInputs::add(Value value, ArrayRef<int64_t> map) {
  for (unsigned i = 0; i < operands.size(); ++i)
    if (operands[i] == value && ArrayRef<int64_t>(indexMaps[i]) == map)
      return i;
  operands.push_back(value);
  indexMaps.emplace_back(map);
  return operands.size() - 1;
}

ArrayAttr MappedInputs::maps(Builder &builder) const {
  SmallVector<Attribute> attrs;
  for (const auto &map : indexMaps)
    attrs.push_back(builder.getDenseI64ArrayAttr(map));
  return builder.getArrayAttr(attrs);
}

void MapBuilder::add(Value value, ArrayRef<int64_t> map) {
  inputs.push_back(value);
  maps.push_back(builder.getDenseI64ArrayAttr(map));
}

MapOp MapBuilder::create(ArrayRef<Type> results, Body body) {
  auto map = MapOp::create(builder, loc, TypeRange(results), inputs, builder.getArrayAttr(maps));
  Block &block = map.getBody().emplaceBlock();
  for (Value input : inputs)
    block.addArgument(getElementTypeOrSelf(input.getType()), loc);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&block);
  YieldOp::create(builder, loc, body(builder, block.getArguments()));
  return map;
}

Value roundElements(OpBuilder &builder, Value x, Type element) {
  auto type = cast<RankedTensorType>(x.getType());
  MapBuilder map{builder, x.getLoc()};
  map.add(x, identityMap(type.getRank()));
  return map
      .create({withElement(type, element)},
              [&](OpBuilder &b, ValueRange args) { return SmallVector<Value>{arith::TruncFOp::create(b, x.getLoc(), element, args[0])}; })
      ->getResult(0);
}

SmallVector<int64_t> identityMap(int64_t rank) { return llvm::to_vector(llvm::seq<int64_t>(0, rank)); }

bool isIdentityMap(ArrayRef<int64_t> map) {
  for (auto [i, target] : llvm::enumerate(map))
    if (target != static_cast<int64_t>(i))
      return false;
  return true;
}

bool isPermutationMap(ArrayRef<int64_t> map, int64_t rank) {
  SmallVector<bool> seen(rank);
  for (int64_t target : map)
    if (target >= 0)
      seen[target] = true;
  return static_cast<int64_t>(map.size()) == rank && llvm::all_of(seen, [](bool s) { return s; });
}

bool fitsEpilogue(ArrayRef<int64_t> map, int64_t rank) {
  if (static_cast<int64_t>(map.size()) == rank && (isIdentityMap(map) || (map.back() == -1 && isIdentityMap(map.drop_back()))))
    return true;
  for (auto [i, target] : llvm::enumerate(map))
    if (target != -1 && !(target == rank - 1 && i + 1 == map.size()))
      return false;
  return true;
}

SmallVector<int64_t> composeMaps(ArrayRef<int64_t> inner, ArrayRef<int64_t> outer) {
  return llvm::map_to_vector(inner, [&](int64_t d) { return d < 0 ? int64_t(-1) : outer[d]; });
}

SmallVector<Value> inlineBody(OpBuilder &builder, Region &body, ValueRange args) {
  IRMapping mapping;
  mapping.map(body.getArguments(), args);
  for (Operation &op : body.front().without_terminator())
    builder.clone(op, mapping);
  return llvm::map_to_vector(body.front().getTerminator()->getOperands(), [&](Value v) { return mapping.lookupOrDefault(v); });
}

Value cloneParameterExpression(OpBuilder &builder, Value value, IRMapping &mapping) {
  if (Value done = mapping.lookupOrNull(value))
    return done;
  Operation *op = value.getDefiningOp();
  if (auto param = dyn_cast<ParamOp>(op)) {
    // Indices are layer arguments, mapped by the caller or in reach, or constants.
    for (Value index : param.getIndices())
      if (Operation *constant = index.getDefiningOp(); constant && !mapping.contains(index))
        mapping.map(index, builder.clone(*constant)->getResult(0));
  } else {
    for (Value operand : op->getOperands())
      cloneParameterExpression(builder, operand, mapping);
    // Constants that canonicalisation has moved out of regions.
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    for (Value value : captured)
      if (Operation *constant = value.getDefiningOp(); constant && !mapping.contains(value))
        mapping.map(value, builder.clone(*constant)->getResult(0));
  }
  Operation *copy = builder.clone(*op, mapping);
  mapping.map(op->getResults(), copy->getResults());
  return mapping.lookup(value);
}

} // namespace xf
