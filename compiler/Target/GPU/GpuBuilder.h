// What GPU kernels are written with: a function of a gpu.module, its views, threads, barriers and shared memory.
//
// Otherwise it is the builder of the CPU kernels, used with scalars only: a thread computes one element at a time, so
// regions and mathematical functions are emitted by the same code for both targets, and give the same bits.
#ifndef XF_COMPILER_TARGET_GPU_GPUBUILDER_H
#define XF_COMPILER_TARGET_GPU_GPUBUILDER_H

#include "compiler/Target/CodeBuilder.h"
#include "compiler/Target/GPU/GpuKernels.h"

namespace xf::gpu {

/// Threads of a warp.
inline constexpr int64_t kWarp = 32;
/// Bytes of shared memory that every GPU gives a block.
inline constexpr int64_t kSharedBytes = 48 << 10;

class GpuBuilder : public codegen::CodeBuilder {
public:
  /// Starts the function of blocks of `threads` threads.
  GpuBuilder(mlir::gpu::GPUModuleOp module, llvm::StringRef name, unsigned views, int64_t threads, mlir::Location location);
  /// Ends it.
  void finish() { create<mlir::gpu::ReturnOp>(); }
  /// Sets how many blocks are to share a multiprocessor: the kernel may use the registers that this leaves for each.
  void setBlocksPerMultiprocessor(int64_t blocks);

  /// What follows counts views from this one on.
  void setFirstView(unsigned view) { firstView = view; }
  // View `i`.
  Value data(unsigned i) { return parameter(i, 0); }
  Value size(unsigned i, unsigned dim);
  Value stride(unsigned i, unsigned dim);

  /// The block's index, i64.
  Value block();
  /// The thread's index in its block, i64, its lane in its warp, and the warp.
  Value thread();
  Value lane() { return rem(thread(), i64(kWarp)); }
  Value warp() { return div(thread(), i64(kWarp)); }
  /// Waits for all threads of the block; what they wrote to shared memory is there afterwards.
  void barrier();
  /// Waits for all lanes of the warp, which may have diverged: before an instruction that they execute as one.
  void syncWarp();
  /// Waits here for the preceding launches, whose results may be read from here on; otherwise a kernel waits at its start. Before it, only
  /// weights may be read, and nothing written. At most once in a function, where all threads pass.
  void awaitLaunches();
  /// Prefetches `bytes` of global memory from `start` on to the GPU's L2 cache, with all of the block's `threads`.
  void prefetch(Value start, int64_t bytes, int64_t threads);
  /// Keeps the reads so far from moving to the uses of their values: LLVM moves them to save registers, and several waits for memory take
  /// the place of one. No instruction.
  void holdReads();
  /// The value of the lane whose index differs in the bit `distance`. All lanes of the warp must take part.
  Value shuffleXor(Value value, int64_t distance);
  /// The value of lane `lane`. All lanes of the warp must take part.
  Value fromLane(Value value, int64_t lane);
  /// The greatest of all lanes' i32, signed; and an i32 with a bit for each lane, whether its `condition` holds. All lanes of the warp must
  /// take part.
  Value warpMax(Value value);
  Value ballot(Value condition);
  /// The sum or maximum over groups of `lanes` neighbouring lanes by a tree from the largest distance down.
  Value reduceOver(mlir::xf::ReduceKind kind, Value value, int64_t lanes);
  /// `combine` gets another lane's and the lane's own.
  Value reduceOver(Value value, int64_t lanes, llvm::function_ref<Value(Value, Value)> combine);

  /// Shared memory of the block for `count` elements, aligned to 16 bytes; nothing is known of its contents.
  Value shared(Type element, int64_t count);
  /// Whether bit `index` of the i32 words from `words` on is set: an i1.
  Value hasBit(Value words, Value index);
  /// `count` consecutive f32, or elements of another 32-bit type, from an address that is a multiple of their common size.
  llvm::SmallVector<Value> loadMany(Value address, int64_t count, Type element = nullptr);
  void storeMany(llvm::ArrayRef<Value> values, Value address);

  /// A loop that neither LLVM nor ptxas unrolls any further, for which registers may be lacking.
  static constexpr llvm::StringLiteral kLoopAnnotation = "llvm.loop_annotation";
  llvm::SmallVector<Value> loopWithoutUnrolling(Value from, Value to, int64_t step, mlir::ValueRange carried, CarryingBody body);

  // For integers that are not negative and below 2^31.
  /// The same integer, whose upper half the compiler knows to be zeros: it takes no register.
  Value inHalf(Value value);
  /// As i32.
  Value narrow(Value value);
  // Far cheaper than division of i64.
  Value divide(Value a, Value b);
  Value remainder(Value a, Value b);
  /// `index` split into indices below `sizes`, the last one running fastest; the first one is not bounded.
  llvm::SmallVector<Value> delinearize(Value index, llvm::ArrayRef<Value> sizes);

private:
  mlir::Operation *assembly(llvm::StringRef text, mlir::ValueRange operands = {});
  Value parameter(unsigned view, unsigned word);

  mlir::gpu::GPUModuleOp kernels;
  mlir::gpu::GPUFuncOp kernel;
  mlir::Operation *launchesAwaited;
  Value threadIndex, blockIndex;
  unsigned sharedBuffers = 0, firstView = 0;
};

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_GPUBUILDER_H
