// Vectors in memory: whole ones, the first few lanes of one, and elements some stride apart.
#include "compiler/Target/CodeBuilder.h"

using namespace mlir;

namespace xf::codegen {

/// Booleans are bytes in memory, bf16 and f16 are their bits: code converts them where it computes with them.
static Type stored(Type element) {
  unsigned bits = element.isInteger(1) ? 8 : element.isBF16() || element.isF16() ? 16 : 0;
  return bits ? IntegerType::get(element.getContext(), bits) : element;
}
static unsigned bytesOf(Type element) { return stored(element).getIntOrFloatBitWidth() / 8; }

Value CodeBuilder::at(Value base, Value offset, Type element) {
  return createOrFold<LLVM::GEPOp>(base.getType(), stored(element), base, ValueRange(offset));
}
Value CodeBuilder::at(Value base, int64_t offset, Type element) { return offset == 0 ? base : at(base, i64(offset), element); }
Value CodeBuilder::atByte(Value base, int64_t offset) { return at(base, offset, getI8Type()); }

/// A byte that is 0 or 1 as i1, and back; whole vectors too.
static Value fromStored(CodeBuilder &b, Value value, Type element) {
  if (!element.isInteger(1))
    return value;
  Value zero = b.create<arith::ConstantOp>(b.getZeroAttr(value.getType()));
  return b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, value, zero);
}
static Value toStored(CodeBuilder &b, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  if (!element.isInteger(1))
    return value;
  Type type = stored(element);
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(type);
  return b.create<arith::ExtUIOp>(type, value);
}

Value CodeBuilder::load(Type element, Value address) { return fromStored(*this, create<LLVM::LoadOp>(stored(element), address), element); }
void CodeBuilder::store(Value value, Value address) { create<LLVM::StoreOp>(toStored(*this, value), address); }

void CodeBuilder::prefetch(Value address, Cache into) {
  create<LLVM::Prefetch>(address, /*rw=*/0, /*hint=*/static_cast<unsigned>(into), /*cache=*/1);
}

Value CodeBuilder::stack(Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(&function_.getBody().front());
  return create<LLVM::AllocaOp>(ptrType(), stored(element), i64(count), /*alignment=*/64);
}

Value CodeBuilder::firstLanes(Value count) {
  Value limit = splat(create<arith::TruncIOp>(getI32Type(), count));
  return create<arith::CmpIOp>(arith::CmpIPredicate::slt, lanes(), limit);
}

Value CodeBuilder::firstLanesOf(Value x, Value count, Value others) { return count ? create<arith::SelectOp>(firstLanes(count), x, others) : x; }

bool CodeBuilder::hasMaskedMove(Type element, Value count) {
  if (getConstantIntValue(count))
    return true;
  return hasAvx512(isa_) || (hasAvx2(isa_) && bytesOf(element) == 4);
}

void CodeBuilder::forLanes(Value count, LoopBody body) { loop(i64(0), count, 1, body); }

Value CodeBuilder::loadVector(Type element, Value address, Value count) {
  VectorType type = vectorOf(stored(element));
  unsigned bytes = bytesOf(element);
  if (!count)
    return fromStored(*this, create<LLVM::LoadOp>(type, address, bytes), element);
  Value zero = create<arith::ConstantOp>(getZeroAttr(type));
  if (hasMaskedMove(element, count)) {
    Value loaded = create<LLVM::MaskedLoadOp>(type, address, firstLanes(count), zero, getI32IntegerAttr(bytes),
                                              /*nontemporal=*/nullptr);
    return fromStored(*this, loaded, element);
  }
  Value buffer = stack(stored(element), kLanes);
  create<LLVM::StoreOp>(zero, buffer, bytes);
  forLanes(count, [&](Value i) { store(load(stored(element), at(address, i, element)), at(buffer, i, element)); });
  return fromStored(*this, create<LLVM::LoadOp>(type, buffer, bytes), element);
}

void CodeBuilder::storeVector(Value vector, Value address, Value count) {
  Type element = cast<VectorType>(vector.getType()).getElementType();
  unsigned bytes = bytesOf(element);
  Value bits = toStored(*this, vector);
  if (!count) {
    create<LLVM::StoreOp>(bits, address, bytes);
    return;
  }
  if (hasMaskedMove(element, count)) {
    create<LLVM::MaskedStoreOp>(bits, address, firstLanes(count), getI32IntegerAttr(bytes));
    return;
  }
  Value buffer = stack(stored(element), kLanes);
  create<LLVM::StoreOp>(bits, buffer, bytes);
  forLanes(count, [&](Value i) { store(load(stored(element), at(buffer, i, element)), at(address, i, element)); });
}

Value CodeBuilder::gather(Type element, Value count, function_ref<Value(Value)> load) {
  if (!count) {
    // A gather instruction is no faster than its loads on most machines.
    SmallVector<Value> values;
    for (int64_t lane = 0; lane < kLanes; ++lane)
      values.push_back(toStored(*this, load(i64(lane))));
    return fromStored(*this, create<vector::FromElementsOp>(vectorOf(stored(element)), values), element);
  }
  Value buffer = stack(element, kLanes);
  create<LLVM::StoreOp>(create<arith::ConstantOp>(getZeroAttr(vectorOf(stored(element)))), buffer, bytesOf(element));
  forLanes(count, [&](Value lane) { store(load(lane), at(buffer, lane, element)); });
  return loadVector(element, buffer);
}

Value CodeBuilder::loadStrided(Type element, Value address, int64_t constantStride, Value stride, Value count) {
  if (constantStride == 1)
    return loadVector(element, address, count);
  if (constantStride == 0)
    return splat(load(element, address));
  if (!ShapedType::isDynamic(constantStride))
    stride = i64(constantStride);
  if (constantStride == 2 && !count) {
    // From two vectors, the second of which ends with the last element.
    Type type = vectorOf(stored(element));
    auto half = [&](int64_t first) { return create<LLVM::LoadOp>(type, at(address, first, element), bytesOf(element)).getResult(); };
    SmallVector<int64_t> lanes;
    for (int64_t lane = 0; lane < kLanes; ++lane)
      lanes.push_back(lane < kLanes / 2 ? 2 * lane : 2 * lane + 1);
    return fromStored(*this, create<vector::ShuffleOp>(half(0), half(kLanes - 1), lanes), element);
  }
  return gather(element, count, [&](Value lane) { return load(element, at(address, mul(stride, lane), element)); });
}

void CodeBuilder::storeStrided(Value vector, Value address, int64_t constantStride, Value stride, Value count) {
  if (constantStride == 1)
    return storeVector(vector, address, count);
  Type element = cast<VectorType>(vector.getType()).getElementType();
  if (!ShapedType::isDynamic(constantStride))
    stride = i64(constantStride);
  Value bits = toStored(*this, vector);
  if (!count) {
    for (int64_t lane = 0; lane < kLanes; ++lane)
      store(create<vector::ExtractOp>(bits, lane), at(address, mul(stride, lane), element));
    return;
  }
  Value buffer = stack(stored(element), kLanes);
  create<LLVM::StoreOp>(bits, buffer, bytesOf(element));
  forLanes(count, [&](Value i) { store(load(stored(element), at(buffer, i, element)), at(address, mul(stride, i), element)); });
}

} // namespace xf::codegen
