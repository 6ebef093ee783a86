// Products of 16-bit factors with more rows than a few: rows of x pass through shared memory, in parts of 32 k, and a warp multiplies 32
// columns by some tiles of 8 rows at a time.
#ifndef XF_COMPILER_TARGET_GPU_TENSORTILES_H
#define XF_COMPILER_TARGET_GPU_TENSORTILES_H

#include "compiler/Target/GPU/TensorProduct.h"

namespace xf::gpu {

/// What kernels for some and for many rows share.
class TiledProduct : public TensorProduct {
public:
  using TensorProduct::TensorProduct;

  /// Columns of a warp, two panels' that follow each other.
  static constexpr int64_t kWarpPanels = 2, kWarpColumns = kWarpPanels * kPanelColumns;

protected:
  /// Bytes. A chunk is what one copy moves.
  static constexpr int64_t kChunk = 16, kRowBytes = 2 * kPartDepth, kPairBytes = 4 * kPanelColumns;
  static constexpr int64_t kPanelBytes = kPartDepth / 2 * kPairBytes; // of a part
  static constexpr int64_t kPartSteps = kPartDepth / kStepDepth, kChainParts = kChainDepth / kPartDepth;
  int64_t parts() const { return llvm::divideCeil(depth, kPartDepth); }
  Value atByte(Value base, Value offset) { return b.at(base, offset, b.getI8Type()); }

  /// Finds out what the lane reads, and whether x can be copied.
  void findLane();
  /// Starts to copy a part of `count` rows to `target`, with `threads` threads of which this one is `thread`. If the depth is a multiple of
  /// `divisor`, the part must not extend past it; otherwise zeros follow the last k.
  void copyRows(Value target, Value firstRow, int64_t count, Value part, Value thread, int64_t threads, int64_t divisor = kPartDepth);
  /// The same for rows that start anywhere: element by element, in few registers, as that is rare.
  void gatherRows(Value target, Value firstRow, int64_t count, Value part, Value thread, int64_t threads);
  /// The lane's words of `tiles` tiles of a part's rows for step `step` of it, two each.
  llvm::SmallVector<Value> readRows(Value start, int64_t tiles, int64_t step);
  /// The chain's sums, [panel][tile][4], plus the products of a step: `weights` are the words of two panels, four each.
  llvm::SmallVector<Value> multiplyStep(mlir::ValueRange weights, mlir::ValueRange rows, mlir::ValueRange sums);
  /// Calls `store` with the sums of two neighbouring columns at a time, their row and the first column, both in the warp's tile.
  void forPairs(mlir::ValueRange sums, llvm::function_ref<void(llvm::ArrayRef<Value> pair, Value row, Value column)> store);

  Value group, inGroup; // the lane's g and t
  Value canCopy;        // whether x can be copied in chunks

private:
  /// Where in a part of rows a chunk lies.
  Value chunkOffset(Value row, Value chunk);

  llvm::SmallVector<Value, 2> ownOffsets; // of the row that the lane reads, for each step
};

/// A block computes 32 columns of 32 rows, a warp a chain of them at a time, with the weights from memory and in registers.
class SomeRowsProduct : public TiledProduct {
public:
  using TiledProduct::TiledProduct;

  static constexpr int64_t kRows = 32;
  static int64_t warpsFor(int64_t depth) { return std::min<int64_t>(llvm::divideCeil(depth, kChainDepth), 4); }
  /// Blocks of a multiprocessor: a chain's weights, and the next one's, take more registers than ptxas would give.
  static int64_t blocksPerMultiprocessor(int64_t depth) { return (depth > kChainDepth * warpsFor(depth) ? 8 : 12) / warpsFor(depth); }

  /// The thread's sums, of which `i` is of row rowOf(i) and column `lane`; those behind the last row are nobody's. All threads must take part. Calls
  /// `startRows` while the weights are on their way, before anything else has been read, and `readOthers` when the rows are, too.
  llvm::SmallVector<Value> multiply(Value firstRow, Value firstPanel, llvm::function_ref<void()> startRows, llvm::function_ref<void()> readOthers);
  Value rowOf(int64_t i) { return b.add(b.warp(), i * warpsFor(depth)); }
  static int64_t sumsFor(int64_t depth) { return llvm::divideCeil(kRows, warpsFor(depth)); }

private:
  static constexpr int64_t kTiles = kRows / kTileRows, kPartBytes = kRows * kRowBytes, kSums = kWarpPanels * kTiles * 4;
  Value chainOf(Value round);
  void fill(Value round, int64_t part, int64_t count);
  llvm::SmallVector<Value> readWeights(Value round, int64_t part);
  llvm::SmallVector<Value> multiplyChain(Value round, bool isFirst);
  Value sumAddress(Value warp, Value row, Value column);
  llvm::SmallVector<Value> join(mlir::ValueRange chain, int64_t count, mlir::ValueRange totals);
  int64_t rounds() const { return llvm::divideCeil(chains(), warpsFor(depth)); }
  int64_t chainParts() const { return std::min(parts(), kChainParts); }
  int64_t chainDepth() const { return chainParts() * kPartDepth; } // including what is past the end

  Value firstRow, ownRows, sumsStart;
  llvm::SmallVector<Value, 2> ownPanels; // where the lane's words are
  llvm::SmallVector<llvm::SmallVector<Value>> w; // of each part of the chain
};

/// A block computes a tile of rows and of panels' columns, whose weights come to shared memory, too.
class ManyRowsProduct : public TiledProduct {
public:
  struct Shape {
    int64_t rows, panels, warpRows;
    constexpr int64_t threads() const { return rows / warpRows * panels / kWarpPanels * kWarp; }
    constexpr int64_t columns() const { return panels * kPanelColumns; }
    /// Elements from row to row of the sums in shared memory.
    constexpr int64_t stride() const { return columns() + 4; }
  };
  ManyRowsProduct(GpuBuilder &b, const TensorOperands &operands, Shape shape) : TiledProduct(b, operands), shape(shape) {}

  /// The sums stay in registers. All threads must take part. Panels that are not needed are not read, and their sums +0. Calls `startRows` while the
  /// first weights are on their way: before it nothing else has been read.
  void multiply(Value firstRow, Value firstPanel, llvm::function_ref<void()> startRows, llvm::function_ref<Value(Value panel)> isNeeded = nullptr);
  /// Leaves the sums of the block's sharedRows() rows from `first` on in shared memory: f32 [row][column], counted from row `first` and the first
  /// panel. All threads must take part, and have read what was there; after a barrier they see what others have computed.
  Value share(int64_t first);
  static int64_t sharedRows(Shape shape);
  /// The size of that shared memory.
  int64_t sharedBytes() const { return std::max(stages() * stageBytes(), sharedRows(shape) * shape.stride() * 4); }

private:
  /// What a step takes: words of the warp's panels and rows.
  struct Step {
    llvm::SmallVector<Value> weights, rows;
  };
  int64_t tiles() const { return shape.warpRows / kTileRows; }
  int64_t stageBytes() const;
  int64_t stages() const;
  Value stage(Value firstPart, int64_t part);
  void findChunks();
  void copyWeights(Value target, Value part);
  Value rowsOf(Value stage) { return b.atByte(stage, shape.panels * kPanelBytes); }
  void copyRowsTo(Value stage, Value part) { copyRows(rowsOf(stage), firstRow, shape.rows, part, b.thread(), shape.threads()); }
  llvm::SmallVector<Value> zeros() { return llvm::SmallVector<Value>(kWarpPanels * tiles() * 4, b.f32(0)); }
  Step read(Value stage, int64_t step);
  llvm::SmallVector<Value> chain(Value firstPart, int64_t count, Step &next);
  llvm::SmallVector<Value> addChains();
  llvm::SmallVector<Value> addChainsOfGathered();

  Shape shape;
  Value shared, firstRow, firstPanel;
  llvm::function_ref<Value(Value panel)> needed;
  Value ownRow, ownPanel; // of the warp, in the block
  Value ownWeights; // the lane's offset in a stage
  struct Chunk {
    Value from, offset, pair, reads; // address in part 0, offset in a stage, pair in a part; whether it is read (null: always)
  };
  llvm::SmallVector<Chunk> chunks; // of weights, the thread's
  llvm::SmallVector<Value> sums;
};

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_TENSORTILES_H
