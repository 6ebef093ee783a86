// The innermost loops of a product whose factors are of fewer bits than its sums.
//
// Elements that stand together along k, 2 of bf16 or 4 bytes, are one 32-bit word of a row and one lane of a panel. A step
// multiplies a row's word, broadcast, with a panel's 16 words and adds the group's products to 16 sums.
//
// Bytes: sums are exact, so any order gives the same bits. VNNI has the step as one instruction. Elsewhere bytes become
// 16-bit numbers, even ones and odd ones apart, whose products are added in pairs; no intermediate can overflow.
// bf16: a chain of f32 multiply-adds, k ascending, where the processor has nothing better: a bf16 is the upper half of an
// f32. BF16 instructions round in an order of their own, which is the same for all tiles.
#include "compiler/Target/CPU/MicroKernel.h"
#include "compiler/Target/CPU/VectorMath.h"

using namespace mlir;

namespace xf::cpu {

namespace {
class GroupedKernel {
public:
  GroupedKernel(CodeBuilder &b, Factor factor, int64_t tail, int64_t rows, int64_t panels)
      : b(b), isBytes(factor == Factor::i8), tail(tail), rows(rows), panels(panels),
        element(isBytes ? b.getI8Type() : b.getI16Type()), word(b.getI32Type()), group(isBytes ? 4 : 2) {}

  void emit() {
    Value a = b.argument(0), lda = b.argument(1), panel = b.argument(2), panelStride = b.argument(3);
    Value c = b.argument(4), ldc = b.argument(5), groups = b.argument(6);
    for (int64_t row = 0; row < rows; ++row)
      rowStart.push_back(b.at(a, b.mul(lda, row), element));
    for (int64_t i = 0; i < panels; ++i)
      panelStart.push_back(b.at(panel, b.mul(panelStride, i), element));
    Type sumType = isBytes ? word : b.getF32Type();
    SmallVector<Value> sums(rows * panels, b.create<arith::ConstantOp>(b.getZeroAttr(b.vectorOf(sumType))));

    AheadFetcher ahead(b, isBytes ? Factor::i8 : Factor::bf16, element, rows, panels);
    // Small tiles save jumps and address updates; in large ones they cost nothing.
    int64_t unroll = rows * panels < 8 ? 4 : 1;
    Value whole = b.sub(groups, b.rem(groups, b.i64(unroll)));
    auto steps = [&](Value from, Value to, int64_t count) {
      sums = b.loop(from, to, count, sums, [&](Value k, ValueRange carried) {
        SmallVector<Value> next(carried);
        for (int64_t u = 0; u < count; ++u) {
          ahead.fetch(b.add(k, u));
          step(k, u, group, next);
        }
        return next;
      });
    };
    steps(b.i64(0), whole, unroll);
    if (unroll > 1)
      steps(whole, groups, 1);
    if (tail)
      step(groups, 0, tail, sums);

    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < panels; ++i)
        b.storeVector(sums[row * panels + i], b.at(b.at(c, b.mul(ldc, row), sumType), i * kLanes, sumType));
  }

private:
  /// What a word's multiplication needs of it: itself, or its even and its odd elements.
  using Parts = SmallVector<Value, 2>;

  bool isNative() { return isBytes ? hasVnni(b.isa()) : b.isa() == Isa::avx512_bf16; }

  /// Adds the products of group k + u, of which the row has the first `count` elements.
  void step(Value k, int64_t u, int64_t count, SmallVector<Value> &sums) {
    SmallVector<Parts> columns;
    for (Value start : panelStart) {
      Value address = b.at(b.at(start, b.mul(k, kLanes * group), element), u * kLanes * group, element);
      columns.push_back(partsOfPanel(b.loadVector(word, address)));
    }
    for (int64_t row = 0; row < rows; ++row) {
      Value address = b.at(b.at(rowStart[row], b.mul(k, group), element), u * group, element);
      Parts x = partsOfRow(loadWord(address, count));
      for (int64_t i = 0; i < panels; ++i) {
        Value &sum = sums[row * panels + i];
        sum = multiplyAdd(x, columns[i], sum);
      }
    }
  }

  /// The first `count` elements of a group, zeros behind them; nothing else is read.
  Value loadWord(Value address, int64_t count) {
    // Rows lie anywhere: the word need not be aligned.
    if (count == group)
      return b.create<LLVM::LoadOp>(word, address, element.getIntOrFloatBitWidth() / 8);
    Value sum;
    for (int64_t i = 0; i < count; ++i) {
      Value part = b.create<arith::ExtUIOp>(word, b.load(element, b.at(address, i, element)));
      if (i)
        part = b.create<arith::ShLIOp>(part, constant(word, i * element.getIntOrFloatBitWidth()));
      sum = sum ? b.create<arith::OrIOp>(sum, part).getResult() : part;
    }
    return sum;
  }

  Parts partsOfRow(Value words) {
    if (isNative())
      return {b.splat(words)};
    if (!isBytes)
      return halves(b.splat(words));
    // Unsigned bytes as 16-bit numbers.
    Value even = b.create<arith::AndIOp>(words, constant(word, 0x00ff00ff));
    Value shifted = b.create<arith::ShRUIOp>(words, constant(word, 8));
    Value odd = b.create<arith::AndIOp>(shifted, constant(word, 0x00ff00ff));
    return {b.splat(even), b.splat(odd)};
  }

  Parts partsOfPanel(Value words) {
    if (isNative())
      return {words};
    if (!isBytes)
      return halves(words);
    // Signed bytes as 16-bit numbers.
    auto shorts = VectorType::get({2 * kLanes}, b.getI16Type());
    Value pairs = b.create<vector::BitCastOp>(shorts, words), eight = constant(shorts, 8);
    Value even = b.create<arith::ShRSIOp>(b.create<arith::ShLIOp>(pairs, eight), eight);
    Value odd = b.create<arith::ShRSIOp>(pairs, eight);
    return {b.create<vector::BitCastOp>(words.getType(), even), b.create<vector::BitCastOp>(words.getType(), odd)};
  }

  /// The f32 values of two bf16.
  Parts halves(Value words) {
    Type type = words.getType(), floats = b.vectorOf(b.getF32Type());
    Value even = b.create<arith::ShLIOp>(words, constant(type, 16));
    Value odd = b.create<arith::AndIOp>(words, constant(type, 0xffff0000));
    return {b.create<vector::BitCastOp>(floats, even), b.create<vector::BitCastOp>(floats, odd)};
  }

  Value multiplyAdd(const Parts &x, const Parts &column, Value sum) {
    // The panel last: it can then be read from memory by the instruction itself.
    if (isNative() && isBytes)
      return byRegisters(hasAvx512(b.isa()) ? "llvm.x86.avx512.vpdpbusd.512" : "llvm.x86.avx512.vpdpbusd.256",
                         {{sum, word}, {x[0], element}, {column[0], element}});
    if (isNative())
      return byRegisters("llvm.x86.avx512bf16.dpbf16ps.512", {{sum, b.getF32Type()}, {x[0], b.getBF16Type()}, {column[0], b.getBF16Type()}});
    for (auto [a, w] : llvm::zip(x, column))
      sum = isBytes ? b.create<arith::AddIOp>(sum, pairProducts(a, w)).getResult() : fusedMultiplyAdd(b, a, w, sum);
    return sum;
  }

  /// Of 16 lanes with two 16-bit numbers each: the sums of their products.
  Value pairProducts(Value x, Value w) {
    StringRef name = hasAvx512(b.isa()) ? "llvm.x86.avx512.pmaddw.d.512" : hasAvx2(b.isa()) ? "llvm.x86.avx2.pmadd.wd" : "llvm.x86.sse2.pmadd.wd";
    return byRegisters(name, {{x, b.getI16Type()}, {w, b.getI16Type()}});
  }

  /// The instruction `name` on registers of 16 lanes of four bytes each, in as many parts as the instruction set needs; each
  /// operand with the type of the elements that the instruction takes it to have. The result is of f32 if the first is, else of words.
  Value byRegisters(StringRef name, ArrayRef<std::pair<Value, Type>> operands) {
    int64_t lanes = hasAvx512(b.isa()) ? 16 : hasAvx2(b.isa()) ? 8 : 4;
    Type result = operands[0].second.isF32() ? operands[0].second : Type(word);
    SmallVector<Value> parts;
    for (int64_t first = 0; first < kLanes; first += lanes) {
      SmallVector<Value> registers;
      for (auto [vector, type] : operands) {
        if (lanes < kLanes)
          vector = b.create<vector::ExtractStridedSliceOp>(vector, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{lanes}, ArrayRef<int64_t>{1});
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

  Value constant(Type type, int64_t value) {
    TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, attr);
    return b.create<arith::ConstantOp>(attr);
  }

  CodeBuilder &b;
  bool isBytes;
  int64_t tail, rows, panels;
  Type element, word;
  int64_t group;
  SmallVector<Value> rowStart, panelStart;
};
} // namespace

LLVM::LLVMFuncOp getGroupedMicroKernel(ModuleOp module, Isa isa, Factor factor, int64_t tail, int64_t rows, int64_t panels) {
  if (factor == Factor::i8_weights)
    return getByteWeightMicroKernel(module, isa, tail, rows, panels);
  std::string name = (Twine("xf.product.") + (factor == Factor::i8 ? "i8." : "bf16.") + (tail ? "t" + Twine(tail) + "." : Twine()) +
                      Twine(rows) + "x" + Twine(panels) + "." + isaName(isa))
                         .str();
  return defineMicroKernel(module, name, isa, [&](CodeBuilder &b) { GroupedKernel(b, factor, tail, rows, panels).emit(); });
}

} // namespace xf::cpu
