#include "compiler/Target/CPU/FactorArithmetic.h"

#include "compiler/Target/VectorMath.h"

using namespace mlir;

namespace xf::cpu {

FactorArithmetic::FactorArithmetic(CodeBuilder &b, Factor factor, bool wideRows) : b(b), factor(factor), wideRows(wideRows), word(b.getI32Type()) {
  switch (factor) {
  case Factor::f32:
    element_ = b.getF32Type(), group_ = 1;
    return;
  case Factor::bf16:
    element_ = b.getBF16Type(), group_ = 2;
    return;
  case Factor::i8:
    element_ = b.getI8Type(), group_ = 4;
    return;
  case Factor::i16:
    element_ = b.getI16Type(), group_ = 2;
    return;
  case Factor::i8_split:
    element_ = b.getI16Type(), group_ = 4;
    return;
  case Factor::i8_weights:
    break;
  }
  llvm_unreachable("widened bytes have a kernel of their own");
}

bool FactorArithmetic::isNative() const {
  if (factor == Factor::bf16)
    return b.isa() == Isa::avx512_bf16;
  return factor == Factor::f32 || hasVnni(b.isa());
}

/// The words' even and odd bytes as 16-bit integers, signed or not as the shift to the right is.
template <typename ShiftRight> FactorArithmetic::Parts FactorArithmetic::widened(Value words) {
  auto shorts = VectorType::get({2 * kLanes}, b.getI16Type());
  Value pairs = b.create<vector::BitCastOp>(shorts, words), eight = b.integer(shorts, 8);
  Value even = b.create<ShiftRight>(b.create<arith::ShLIOp>(pairs, eight), eight);
  Value odd = b.create<ShiftRight>(pairs, eight);
  return {b.create<vector::BitCastOp>(words.getType(), even), b.create<vector::BitCastOp>(words.getType(), odd)};
}

FactorArithmetic::Parts FactorArithmetic::loadRow(Value address, int64_t count) {
  if (factor == Factor::f32)
    return {b.splat(b.load(element_, address))};
  if (wideRows) {
    Type f32 = b.getF32Type();
    return {b.splat(b.load(f32, address)), b.splat(b.load(f32, b.at(address, 1, f32)))};
  }
  if (factor == Factor::i8_split)
    return {b.splat(b.load(word, address)), b.splat(b.load(word, b.at(address, 1, word)))};
  Value words = loadWord(address, count);
  // Broadcast before anything else: what is computed in scalars first would have to be moved to the vector registers.
  Value lanes = b.splat(words);
  if (isNative() || factor == Factor::i16)
    return {lanes};
  if (!isBytes())
    return halves(lanes);
  return widened<arith::ShRUIOp>(lanes); // rows are unsigned
}

/// The first `count` elements of a group, zeros behind them.
Value FactorArithmetic::loadWord(Value address, int64_t count) {
  // Rows lie anywhere: the word need not be aligned.
  int64_t bits = element_.getIntOrFloatBitWidth();
  if (count == group_)
    return b.create<LLVM::LoadOp>(word, address, bits / 8);
  Value sum;
  for (int64_t i = 0; i < count; ++i) {
    Value part = b.create<arith::ExtUIOp>(word, b.load(element_, b.at(address, i, element_)));
    if (i)
      part = b.create<arith::ShLIOp>(part, b.integer(word, i * bits));
    sum = sum ? b.create<arith::OrIOp>(sum, part).getResult() : part;
  }
  return sum;
}

FactorArithmetic::Parts FactorArithmetic::loadPanel(Value address, int64_t count) {
  if (factor == Factor::f32)
    return {b.loadVector(element_, address)};
  if (factor == Factor::i8_split)
    return {b.loadVector(word, address), b.loadVector(word, b.at(address, kLanes, word))};
  Value words = b.loadVector(word, address);
  if (count < group_)
    words = b.create<arith::AndIOp>(words, b.integer(words.getType(), (int64_t{1} << count * element_.getIntOrFloatBitWidth()) - 1));
  if (isNative() || factor == Factor::i16)
    return {words};
  if (!isBytes())
    return halves(words);
  return widened<arith::ShRSIOp>(words);
}

/// The f32 values of two bf16.
FactorArithmetic::Parts FactorArithmetic::halves(Value words) {
  Type type = words.getType(), floats = b.vectorOf(b.getF32Type());
  Value even = b.create<arith::ShLIOp>(words, b.integer(type, 16));
  Value odd = b.create<arith::AndIOp>(words, b.integer(type, 0xffff0000));
  return {b.create<vector::BitCastOp>(floats, even), b.create<vector::BitCastOp>(floats, odd)};
}

Value FactorArithmetic::multiplyAdd(const Parts &row, const Parts &panel, Value sum) {
  if (isNative() && factor != Factor::f32) {
    // The panel last: it can then be read from memory by the instruction itself.
    std::string name = "llvm.x86.avx512bf16.dpbf16ps.512";
    if (factor != Factor::bf16)
      name = ("llvm.x86.avx512.vpdp" + Twine(isBytes() ? "bus" : "wss") + "d." + (hasAvx512(b.isa()) ? "512" : "256")).str();
    return callInstruction(name, {{sum, sumType()}, {row[0], element_}, {panel[0], element_}});
  }
  if (factor == Factor::i8_split)
    return b.create<arith::AddIOp>(sum, pairProducts(addPairs(row[0], panel[1]), addPairs(row[1], panel[0])));
  for (auto [x, w] : llvm::zip(row, panel))
    sum = sumType() == word ? b.create<arith::AddIOp>(sum, pairProducts(x, w)).getResult() : fusedMultiplyAdd(b, x, w, sum);
  return sum;
}

/// Of 16 lanes with two 16-bit integers each: their sums.
Value FactorArithmetic::addPairs(Value x, Value y) {
  auto shorts = VectorType::get({2 * kLanes}, b.getI16Type());
  Value sum = b.create<arith::AddIOp>(b.create<vector::BitCastOp>(shorts, x), b.create<vector::BitCastOp>(shorts, y));
  return b.create<vector::BitCastOp>(x.getType(), sum);
}

Value FactorArithmetic::pairProducts(Value x, Value w) {
  StringRef name = byRegisters(b.isa(), "llvm.x86.sse2.pmadd.wd", "llvm.x86.avx2.pmadd.wd", "llvm.x86.avx512.pmaddw.d.512");
  return callInstruction(name, {{x, b.getI16Type()}, {w, b.getI16Type()}});
}

/// The instruction `name` on registers of 16 lanes of four bytes each, in as many parts as the instruction set needs; each
/// operand with the type of the elements that the instruction takes it to have. The result is of f32 if the first is, else of words.
Value FactorArithmetic::callInstruction(StringRef name, ArrayRef<std::pair<Value, Type>> operands) {
  int64_t lanes = byRegisters(b.isa(), 4, 8, 16);
  Type result = operands[0].second.isF32() ? operands[0].second : Type(word);
  SmallVector<Value> parts;
  for (int64_t first = 0; first < kLanes; first += lanes) {
    SmallVector<Value> registers;
    for (auto [vector, type] : operands) {
      if (lanes < kLanes)
        vector = lanesOf(b, vector, first, lanes);
      registers.push_back(b.create<vector::BitCastOp>(VectorType::get({lanes * 32 / type.getIntOrFloatBitWidth()}, type), vector));
    }
    parts.push_back(b.create<LLVM::CallIntrinsicOp>(VectorType::get({lanes}, result), b.getStringAttr(name), registers)->getResult(0));
  }
  for (; parts.size() > 1; lanes *= 2) {
    SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, 2 * lanes));
    for (size_t i = 0; i < parts.size() / 2; ++i)
      parts[i] = b.create<vector::ShuffleOp>(parts[2 * i], parts[2 * i + 1], all);
    parts.resize(parts.size() / 2);
  }
  return parts[0];
}

} // namespace xf::cpu
