#include "compiler/Target/CPU/InterleavedRows.h"

#include "compiler/Target/CPU/SharedFunction.h"
#include "compiler/Target/CPU/Tiles.h"
#include "compiler/Target/VectorMath.h"

using namespace mlir;

namespace xf::cpu {

/// Rows that are copied at once.
static constexpr int64_t kRows = 4;
static_assert(InterleavedRows::kPitch % kRows == 0);

/// Of each four lanes of two vectors, the lower (`half` 0) or upper two, `width` of each vector in turn: one instruction.
static Value unpacked(CodeBuilder &b, Value x, Value y, int64_t width, int64_t half) {
  SmallVector<int64_t> lanes;
  for (int64_t i = 0; i < kLanes; ++i) {
    int64_t inside = i % 4, vector = inside / width % 2, lane = inside / (2 * width) * width + inside % width;
    lanes.push_back(i / 4 * 4 + 2 * half + lane + vector * kLanes);
  }
  return b.create<vector::ShuffleOp>(x, y, lanes);
}

/// 16 elements of four rows each, transposed: lanes 4 j … 4 j + 3 of the i-th of the results are the rows' elements 4 j + i.
static std::array<Value, kRows> transposed(CodeBuilder &b, ArrayRef<Value> rows) {
  std::array<Value, kRows> results;
  for (int64_t half : {0, 1}) {
    Value upper = unpacked(b, rows[0], rows[1], 1, half), lower = unpacked(b, rows[2], rows[3], 1, half);
    for (int64_t odd : {0, 1})
      results[2 * half + odd] = unpacked(b, upper, lower, 2, odd);
  }
  // Otherwise LLVM computes their parts one by one.
  for (Value &result : results)
    result = b.opaque(result);
  return results;
}

namespace {
/// The function that copies a block.
struct CopyFunction {
  CodeBuilder &b;
  Type sourceElement;
  Value source, stride, rows, length, target;
  Type element = b.getF32Type();

  void emit() {
    Value whole = b.sub(length, b.rem(length, b.i64(kLanes)));
    b.loop(b.i64(0), whole, kLanes, [&](Value k) { columns(k, nullptr); });
    b.ifThen(b.less(whole, length), [&] { columns(whole, b.sub(length, whole)); });
  }

  /// 16 elements from `k` on of all rows, of which there are `count` (null: 16).
  void columns(Value k, Value count) {
    b.loop(b.i64(0), rows, kRows, [&](Value first) {
      SmallVector<Value> elements;
      for (int64_t i = 0; i < kRows; ++i) {
        // Behind the last row there is nothing, and nothing reads what it is copied to.
        Value row = b.min(b.add(first, i), b.sub(rows, 1));
        Value part = b.loadVector(sourceElement, b.at(source, b.add(b.mul(row, stride), k), sourceElement), count);
        elements.push_back(sourceElement.isBF16() ? widenFromBF16(b, part) : part);
      }
      Value start = b.at(target, b.add(b.mul(k, InterleavedRows::kPitch), first), element);
      auto parts = transposed(b, elements);
      for (int64_t i = 0; i < kLanes; ++i) {
        Value part = lanesOf(b, parts[i % kRows], i / kRows * kRows, kRows);
        b.create<LLVM::StoreOp>(part, b.at(start, i * InterleavedRows::kPitch, element), /*alignment=*/4);
      }
    });
  }
};
} // namespace

static LLVM::LLVMFuncOp getCopyFunction(ModuleOp module, Isa isa, Type element) {
  std::string name = (Twine(element.isBF16() ? "xf.interleave.bf16." : "xf.interleave.") + isaName(isa)).str();
  Type address = LLVM::LLVMPointerType::get(module.getContext()), integer = IntegerType::get(module.getContext(), 64);
  return getSharedFunction(module, name, {address, integer, integer, integer, address}, isa, [&](CodeBuilder &b) {
    CopyFunction{b, element, b.argument(0), b.argument(1), b.argument(2), b.argument(3), b.argument(4)}.emit();
  });
}

Value InterleavedRows::at(CodeBuilder &b, Value start, Value block) const { return b.at(start, b.mul(block, blockElements), b.getF32Type()); }

void InterleavedRows::copy(CodeBuilder &b, const Source &source, Value rows, Value length, Value start, Value block) const {
  auto function = getCopyFunction(b.module(), productIsa(b.isa(), Factor::f32), source.element);
  b.create<LLVM::CallOp>(function, ValueRange{source.start, source.stride, rows, length, at(b, start, block)});
}

} // namespace xf::cpu
