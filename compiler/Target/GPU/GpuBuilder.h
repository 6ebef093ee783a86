// What GPU kernels are written with: a function of a gpu.module, its views, threads, barriers and shared memory.
//
// Beside that it is the builder of the CPU kernels, used with scalars only: a thread computes one element at a time, so
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
  GpuBuilder(mlir::gpu::GPUModuleOp module, llvm::StringRef name, unsigned views, int64_t threads,
             mlir::Location location);
  /// Ends it.
  void finish() { create<mlir::gpu::ReturnOp>(); }
  /// Says that so many blocks are to share a multiprocessor: what registers they leave each other are the kernel's to use.
  void setBlocksTogether(int64_t blocks);

  /// What follows counts views from this one on.
  void setFirstView(unsigned view) { firstView = view; }
  // View `i`.
  Value data(unsigned i) { return parameter(i, 0); }
  Value size(unsigned i, unsigned dim);
  Value stride(unsigned i, unsigned dim);

  /// The block's number, i64.
  Value block();
  /// The thread's number in its block, i64, and what it is in its warp.
  Value thread();
  Value lane() { return rem(thread(), i64(kWarp)); }
  Value warp() { return div(thread(), i64(kWarp)); }
  /// Waits for all threads of the block; what they wrote to shared memory is there afterwards.
  void barrier();
  /// Waits for all lanes of the warp, which a branch may have parted: before an instruction that they execute as one.
  void meetWarp();
  /// Waits for the launches before, whose results are there from here on; else that is the first thing that a kernel does. Before it weights alone
  /// may be read, and nothing written. Once in a function, where all threads come by.
  void awaitLaunches();
  /// Asks for `bytes` of global memory from `start` on to come to the GPU's second cache, with all of the block's `threads`.
  void prefetch(Value start, int64_t bytes, int64_t threads);
  /// Keeps what has been read before from being read later, where it is needed: LLVM saves registers so, and several waits for memory take
  /// the place of one. No instruction.
  void holdReads();
  /// The value of the lane whose number differs in the bit `distance`. All lanes of the warp must take part.
  Value exchange(Value value, int64_t distance);
  /// The value of lane `lane`. All lanes of the warp must take part.
  Value fromLane(Value value, int64_t lane);
  /// The greatest of all lanes' i32, signed; and an i32 with a bit for each lane, whether its `condition` holds. All lanes of the warp must
  /// take part.
  Value greatestOfWarp(Value number);
  Value ballot(Value condition);
  /// The sum or maximum over groups of `lanes` neighbouring lanes by a tree from the largest distance down.
  Value reduceOver(mlir::xf::ReduceKind kind, Value value, int64_t lanes);
  /// `combine` gets another lane's and the lane's own.
  Value reduceOver(Value value, int64_t lanes, llvm::function_ref<Value(Value, Value)> combine);

  /// Shared memory of the block for `count` elements, aligned to 16 bytes; nothing is known of its contents.
  Value shared(Type element, int64_t count);
  /// Whether bit number mod 32 of the i32 that is number div 32 from `words` on is set: an i1.
  Value hasBit(Value words, Value number);
  /// `count` neighbouring f32 or, if said, elements of another type of 32 bits, whose address is a multiple of their size.
  llvm::SmallVector<Value> loadMany(Value address, int64_t count, Type element = nullptr);
  void storeMany(llvm::ArrayRef<Value> values, Value address);

  /// A loop whose body is as long as it is meant to be: neither LLVM nor ptxas unrolls it further, for which registers may lack.
  static constexpr llvm::StringLiteral kLoopAnnotation = "llvm.loop_annotation";
  llvm::SmallVector<Value> writtenOutLoop(Value from, Value to, int64_t step, mlir::ValueRange carried, CarryingBody body);

  // Of numbers that are not negative and below 2^31.
  /// The same number, of which the compiler knows that half is zeros: they take no register.
  Value inHalf(Value number);
  /// As i32.
  Value narrow(Value number);
  // Division is far cheaper than that of i64.
  Value divide(Value a, Value b);
  Value remainder(Value a, Value b);
  /// `number` taken apart into indices below `sizes`, the last one running fastest; the first one is not bounded.
  llvm::SmallVector<Value> split(Value number, llvm::ArrayRef<Value> sizes);

private:
  mlir::Operation *assembly(llvm::StringRef text, mlir::ValueRange operands = {});
  Value parameter(unsigned view, unsigned word);

  mlir::gpu::GPUModuleOp kernels;
  mlir::gpu::GPUFuncOp kernel;
  mlir::Operation *launchesAwaited;
  Value threadNumber, blockNumber;
  unsigned sharedBuffers = 0, firstView = 0;
};

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_GPUBUILDER_H
