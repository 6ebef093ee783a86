#include "compiler/Target/CPU/AttendInt16.h"

#include "compiler/Target/CPU/Chunks.h"
#include "compiler/Target/CPU/Tiles.h"
#include "compiler/Target/VectorMath.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::cpu {

/// With more keys, the share of each in a row's sum of int16 would be coarser than bf16, and the int16 would outgrow caches.
static constexpr int64_t kMaxKeys = 4096;

/// Bits of a value's int16 without its sign, and what a row's int16 of exponentials add up to at most, but for their rounding: together less
/// than an i32 holds.
static constexpr int64_t kValueBits = 11, kExponentialSum = (1 << 20) - 4 * kMaxKeys;
static_assert((kExponentialSum + kMaxKeys) << kValueBits < std::numeric_limits<int32_t>::max());

/// The most keys that a sentence can have.
static std::optional<int64_t> largestCount(AttendOp op) {
  RankedTensorType type = typeOf(op.getK());
  return type.isDynamicDim(2) ? getBound(op->getParentOfType<ModuleOp>(), getDimName(type, 2)) : type.getDimSize(2);
}

bool suitsInt16(AttendOp op) { return op.getWords() && largestCount(op).value_or(kMaxKeys + 1) <= kMaxKeys; }

bool attendsInInt16(Isa isa, AttendOp op) { return widensRows(isa, Factor::bf16) && suitsInt16(op); }

static int64_t widthOf(Value factor) { return typeOf(factor).getDimSize(3); }
static int64_t panelWidth(Value values) { return llvm::alignTo(widthOf(values), kLanes); }

AttendInt16::Scratch::Scratch(AttendOp op) {
  int64_t keys = llvm::alignTo(*largestCount(op), kLanes);
  values = keys * widthOf(op.getK()) / 2;
  keyScales = values + keys * panelWidth(op.getV()) / 2;
  valueScales = keyScales + keys;
  total = valueScales + keys;
}

AttendInt16::AttendInt16(KernelBuilder &b, AttendOp op, Value start)
    : b(b), start(start), quantizedHead(b.stack(b.i64Type(), 1)), width(widthOf(op.getK())), valueWidth(panelWidth(op.getV())),
      productBits((30 - static_cast<int64_t>(llvm::Log2_64_Ceil(width))) / 2), scratch(op) {
  b.store(b.i64(-1), quantizedHead);
}

/// The bits of bf16 values (in the lower 16 bits of `bits`) without their signs: they are ordered as the magnitudes are, and greatest where
/// these are not finite.
Value AttendInt16::magnitudes(Value bits) { return b.create<arith::AndIOp>(bits, integer(bits, 0x7fff)); }

/// The power of two by which values up to `magnitude` (the bits of a bf16, i32) are divided to become integers below 2^bits, and its inverse.
AttendInt16::Scale AttendInt16::scaleOf(Value magnitude, int64_t bits) {
  Value exponent = b.create<arith::ShRUIOp>(magnitude, integer(magnitude, 7));
  Value isFinite = b.create<arith::CmpIOp>(arith::CmpIPredicate::slt, exponent, integer(magnitude, 255));
  // So that the scale is not denormal.
  exponent = b.create<arith::MaxSIOp>(exponent, integer(magnitude, bits));
  auto power = [&](Value biased) { return b.create<arith::ShLIOp>(biased, integer(magnitude, 23)).getResult(); };
  Value scale = power(b.create<arith::SubIOp>(exponent, integer(magnitude, bits - 1)));
  Value inverse = power(b.create<arith::SubIOp>(integer(magnitude, 253 + bits), exponent));
  scale = b.create<arith::SelectOp>(isFinite, scale, integer(magnitude, 0x7fc00000));
  Type f32 = typeLike(magnitude, b.getF32Type());
  return {b.create<arith::BitcastOp>(f32, scale), b.create<arith::BitcastOp>(f32, inverse)};
}

/// `values` times `factor`, rounded to integers, in the lower 16 bits of i32.
Value AttendInt16::scaled(Value values, Value factor) {
  return b.create<arith::BitcastOp>(b.vectorOf(b.getI32Type()), multiplyAndRound(b, values, factor));
}

/// The int16 of pairs of bf16.
Value AttendInt16::packed(Value pairs, Value evenFactor, Value oddFactor) {
  Type floats = b.vectorOf(b.getF32Type());
  Value sixteen = integer(pairs, 16);
  Value even = b.create<arith::BitcastOp>(floats, b.create<arith::ShLIOp>(pairs, sixteen));
  Value odd = b.create<arith::BitcastOp>(floats, b.create<arith::AndIOp>(pairs, integer(pairs, 0xffff0000)));
  Value low = b.create<arith::AndIOp>(scaled(even, evenFactor), integer(pairs, 0xffff));
  return b.create<arith::OrIOp>(low, b.create<arith::ShLIOp>(scaled(odd, oddFactor), sixteen));
}

void AttendInt16::quantize(Value head, Value keyStart, Value valueStart, Value count) {
  b.ifThen(b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, head, b.load(b.i64Type(), quantizedHead)), [&] {
    quantizeKeys(keyStart, count);
    quantizeValues(valueStart, count);
    b.store(head, quantizedHead);
  });
}

/// 16 keys at a time, each a lane.
void AttendInt16::quantizeKeys(Value from, Value count) {
  Type word = b.getI32Type();
  Value zero = b.splat(b.create<arith::ConstantOp>(b.getI32IntegerAttr(0)));
  b.loop(b.i64(0), b.ceilDiv(count, kLanes), 1, [&](Value panel) {
    auto at = [&](Value base, Value line) { return b.at(base, b.add(b.mul(panel, width / 2 * kLanes), b.mul(line, kLanes)), word); };
    Value largest = b.accumulate(b.i64(0), b.i64(width / 2), 1, zero, [&](Value line, Value carried) {
      Value pairs = b.loadVector(word, at(from, line));
      Value odd = b.create<arith::ShRUIOp>(pairs, integer(pairs, 16));
      return b.create<arith::MaxSIOp>(carried, b.create<arith::MaxSIOp>(magnitudes(pairs), magnitudes(odd)));
    });
    Scale scale = scaleOf(largest, productBits);
    b.storeVector(scale.scale, b.at(keyScales(), b.mul(panel, kLanes), b.getF32Type()));
    b.loop(b.i64(0), b.i64(width / 2), 1,
           [&](Value line) { b.storeVector(packed(b.loadVector(word, at(from, line)), scale.inverse, scale.inverse), at(keys(), line)); });
  });
}

/// Two values at a time, whose elements alternate. After an odd number, the other half of the last pair may be anything: it is multiplied by
/// zeros.
void AttendInt16::quantizeValues(Value from, Value count) {
  Type word = b.getI32Type();
  Value zero = b.splat(b.create<arith::ConstantOp>(b.getI32IntegerAttr(0)));
  b.loop(b.i64(0), b.ceilDiv(count, 2), 1, [&](Value pair) {
    auto at = [&](Value base, Value column) { return b.at(base, b.add(b.mul(pair, valueWidth), column), word); };
    auto largest = b.loop(b.i64(0), b.i64(valueWidth), kLanes, {zero, zero}, [&](Value column, ValueRange carried) -> SmallVector<Value> {
      Value pairs = b.loadVector(word, at(from, column));
      Value odd = b.create<arith::ShRUIOp>(pairs, integer(pairs, 16));
      return {b.create<arith::MaxSIOp>(carried[0], magnitudes(pairs)), b.create<arith::MaxSIOp>(carried[1], magnitudes(odd))};
    });
    SmallVector<Value> inverses;
    for (auto [i, magnitude] : llvm::enumerate(largest)) {
      Scale scale = scaleOf(reduceLanes(b, ReduceKind::max, magnitude), kValueBits);
      b.store(scale.scale, b.at(address(scratch.valueScales), b.add(b.mul(pair, 2), i), b.getF32Type()));
      inverses.push_back(b.splat(scale.inverse));
    }
    b.loop(b.i64(0), b.i64(valueWidth), kLanes,
           [&](Value column) { b.storeVector(packed(b.loadVector(word, at(from, column)), inverses[0], inverses[1]), at(values(), column)); });
  });
}

Value AttendInt16::quantizeQuery(Value row) {
  Type half = b.getI16Type(), word = b.getI32Type();
  Value zero = b.splat(b.create<arith::ConstantOp>(b.getZeroAttr(half)));
  auto at = [&](Value offset) { return b.at(row, offset, half); };
  Value largest = accumulateChunks(b, b.i64(width), zero, [&](Value offset, Value count, Value carried) {
    return b.create<arith::MaxSIOp>(carried, magnitudes(b.loadVector(half, at(offset), count)));
  });
  Value magnitude = b.create<arith::ExtUIOp>(word, reduceLanes(b, ReduceKind::max, largest));
  Scale scale = scaleOf(magnitude, productBits);
  Value inverse = b.splat(scale.inverse);
  forChunks(b, b.i64(width), [&](Value offset, Value count) {
    Value integers = scaled(widenFromBF16(b, b.loadVector(half, at(offset), count)), inverse);
    b.storeVector(b.create<arith::TruncIOp>(b.vectorOf(half), integers), at(offset), count);
  });
  return scale.scale;
}

Value AttendInt16::quantizeExponentials(Value row, Value begin, Value end, Value width) {
  Type f32 = b.getF32Type(), half = b.getI16Type();
  auto weights = [&](Value offset, Value count) -> Value {
    Value scales = b.loadVector(f32, b.at(address(scratch.valueScales), offset, f32), count);
    return b.create<arith::MulFOp>(b.loadVector(f32, b.at(row, offset, f32), count), scales);
  };
  Value zero = b.splatF32(0);
  auto found = forChunks(b, begin, end, {zero, zero}, [&](Value offset, Value count, ValueRange carried) -> SmallVector<Value> {
    Value weighted = weights(offset, count);
    return {combine(b, ReduceKind::max, weighted, carried[0]), combine(b, ReduceKind::sum, weighted, carried[1])};
  });
  // What an integer's 1 stands for: enough that neither the largest integer nor their sum is too large, and not 0 where there are no keys.
  auto share = [&](ReduceKind kind, Value vector, double limit) -> Value {
    return b.create<arith::MulFOp>(reduceLanes(b, kind, vector), b.f32(1 / limit));
  };
  Value unit = maximum(b, share(ReduceKind::max, found[0], std::numeric_limits<int16_t>::max()), b.f32(0x1p-100));
  unit = maximum(b, unit, share(ReduceKind::sum, found[1], kExponentialSum)); // NaN if any is
  Value factor = b.splat(b.create<arith::DivFOp>(b.f32(1), unit));
  auto store = [&](Value integers, Value offset) { b.storeVector(b.create<arith::TruncIOp>(b.vectorOf(half), integers), b.at(row, offset, half)); };
  // int16 take half of the room of exponentials: they end before those that are still to be read.
  forChunks(b, begin, end, [&](Value offset, Value count) { store(scaled(weights(offset, count), factor), offset); });
  b.loop(b.mul(b.ceilDiv(end, kLanes), kLanes), width, kLanes,
         [&](Value offset) { store(b.splat(b.create<arith::ConstantOp>(b.getI32IntegerAttr(0))), offset); });
  return unit;
}

} // namespace xf::cpu
