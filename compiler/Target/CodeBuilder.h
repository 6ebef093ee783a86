// What all generated functions are written with: an MLIR builder with shorthands for i64 arithmetic, addresses,
// loops, and vectors of 16 elements in memory.
//
// Integers are i64 throughout, pointers are !llvm.ptr, vectors are vector<16xf32|i32|i1>, whatever the instruction set:
// LLVM splits them into the registers that there are. Booleans are bytes in memory.
#ifndef XF_COMPILER_TARGET_CODEBUILDER_H
#define XF_COMPILER_TARGET_CODEBUILDER_H

#include "compiler/Target/Isa.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <utility>

namespace xf::codegen {

/// Lanes of a vector, and columns of a panel.
inline constexpr int64_t kLanes = XF_ABI_PANEL;
inline constexpr int64_t kLineBytes = 64; // of caches

/// Loads what generated functions are written in.
void loadCodeDialects(mlir::MLIRContext *context);

class CodeBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using Value = mlir::Value;
  using Type = mlir::Type;

  /// Starts function `name` in `module`, taking `arguments` and returning nothing, and stands in its body.
  CodeBuilder(mlir::ModuleOp module, llvm::StringRef name, llvm::ArrayRef<Type> arguments, Isa isa, mlir::Location location);
  /// Ends the function.
  void finish() { create<mlir::LLVM::ReturnOp>(mlir::ValueRange()); }

  mlir::ModuleOp module() const { return module_; }
  mlir::LLVM::LLVMFuncOp function() const { return function_; }
  Value argument(unsigned i) { return function_.getBody().getArgument(i); }
  Isa isa() const { return isa_; }

  // Types and constants.
  Type ptrType() { return mlir::LLVM::LLVMPointerType::get(getContext()); }
  Type i64Type() { return getI64Type(); }
  mlir::VectorType vectorOf(Type element) { return mlir::VectorType::get({kLanes}, element); }
  Value i64(int64_t value);
  Value i32(int64_t value); // its low 32 bits
  Value f32(double value);
  /// A constant of a scalar type, or of a vector type with the value in all lanes.
  Value integer(Type type, int64_t value);
  Value real(Type type, double value);
  /// All lanes `value`.
  Value splat(Value value);
  Value splatF32(double value);
  /// The lanes' indices 0 … 15 as i32.
  Value lanes();

  // i64 arithmetic, folded where constant.
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value div(Value a, Value b); // of integers that are not negative
  Value rem(Value a, Value b);
  Value min(Value a, Value b);
  Value max(Value a, Value b);
  Value less(Value a, Value b); // i1, as the next
  Value equal(Value a, Value b);
  Value falseValue();
  Value isNot(Value condition);
  Value both(Value a, Value b); // null: what always holds
  Value either(Value a, Value b);
  Value ceilDiv(Value a, int64_t b) { return div(add(a, b - 1), i64(b)); }
  Value add(Value a, int64_t b) { return add(a, i64(b)); }
  Value sub(Value a, int64_t b) { return sub(a, i64(b)); }
  Value mul(Value a, int64_t b) { return mul(a, i64(b)); }
  Value div(Value a, int64_t b) { return div(a, i64(b)); }
  Value rem(Value a, int64_t b) { return rem(a, i64(b)); }
  Value toI64(Value integer); // from i32 (signed) or index
  /// `value` (an integer, an address, or with AVX-512 a vector) made opaque to LLVM, which keeps it in a register as it is. No instruction.
  Value opaque(Value value);
  /// Part `index` of 0 … `total`, split into `parts` as equal as can be: its begin and its end.
  std::pair<Value, Value> part(Value total, Value index, Value parts);

  // Control.
  using LoopBody = llvm::function_ref<void(Value)>;
  using CarryingBody = llvm::function_ref<llvm::SmallVector<Value>(Value, mlir::ValueRange)>;
  /// for (i = from; i < to; i += step)
  void loop(Value from, Value to, int64_t step, LoopBody body);
  /// The same with values carried from pass to pass; returns the last ones.
  llvm::SmallVector<Value> loop(Value from, Value to, int64_t step, mlir::ValueRange carried, CarryingBody body);
  /// The same with one carried value, first `start`, of which `body` takes the old one and returns the new one.
  Value accumulate(Value from, Value to, int64_t step, Value start, llvm::function_ref<Value(Value i, Value before)> body);
  /// Calls `next` before each pass; it says whether there is one, and gives it a value of `type`.
  void loopWhile(Type type, llvm::function_ref<std::pair<Value, Value>()> next, LoopBody body);
  void ifThen(Value condition, llvm::function_ref<void()> then);
  void ifElse(Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise);
  /// The values, or the value, of one of two branches.
  llvm::SmallVector<Value> choose(Value condition, llvm::function_ref<llvm::SmallVector<Value>()> then,
                                  llvm::function_ref<llvm::SmallVector<Value>()> otherwise);
  Value chooseOne(Value condition, llvm::function_ref<Value()> then, llvm::function_ref<Value()> otherwise);

  // Memory. `element` is the tensor's element type: f32, i32, i8, i1 (a byte), bf16 or f16 (which come as their bits, an i16).
  /// The address of element `offset` from `base` on.
  Value at(Value base, Value offset, Type element);
  Value at(Value base, int64_t offset, Type element);
  Value atByte(Value base, int64_t offset);
  Value load(Type element, Value address);
  void store(Value value, Value address);
  /// Prefetches the line at `address`.
  enum class Cache { firstLevel = 3, secondLevel = 2 };
  void prefetch(Value address, Cache into);
  /// Stack memory that lasts as long as the function, aligned to 64 bytes.
  Value stack(Type element, int64_t count);

  /// 16 neighbours. With `count`, the first `count` (0 … 16) of them, other lanes 0, and only those are touched.
  Value loadVector(Type element, Value address, Value count = nullptr);
  void storeVector(Value vector, Value address, Value count = nullptr);
  /// 16 elements, of which `load` takes a lane's index and gives its element; with `count` as loadVector.
  Value gather(Type element, Value count, llvm::function_ref<Value(Value)> load);
  /// 16 elements `stride` apart. `constantStride` is what is known of it (ShapedType::kDynamic: nothing); 0 repeats
  /// one element, 1 is loadVector.
  Value loadStrided(Type element, Value address, int64_t constantStride, Value stride, Value count = nullptr);
  void storeStrided(Value vector, Value address, int64_t constantStride, Value stride, Value count = nullptr);
  /// i1 lanes: true in the first `count`.
  Value firstLanes(Value count);
  /// `x`, but `others` in the lanes from `count` on (null: there are none).
  Value firstLanesOf(Value x, Value count, Value others);

protected:
  /// Writes into a function that is made elsewhere, as another target's kernels are.
  CodeBuilder(mlir::ModuleOp module, Isa isa, mlir::Location location);

private:
  /// Runs the body for each of the first `count` lanes with its index.
  void forLanes(Value count, LoopBody body);
  /// Whether a masked move of a vector is an instruction, or a constant choice of moves.
  bool hasMaskedMove(Type element, Value count);

  mlir::ModuleOp module_;
  mlir::LLVM::LLVMFuncOp function_;
  Isa isa_;
};

} // namespace xf::codegen

#endif // XF_COMPILER_TARGET_CODEBUILDER_H
