// What a block's threads do for the rows of an xf.row: 16 lanes walk over a row in the passes that the CPU takes (RowSchedule.h), lane i
// taking the elements i, i + 16, …: each lane holds the partial sum that the dialect says, and exchanges between lanes are the tree.
//
// A row of known, moderate length is unrolled: its elements stay in registers from pass to pass, and are read at once, where a loop
// would wait for memory again and again. For other rows, what the CPU keeps in scratch between passes is recomputed: arithmetic is cheap.
#ifndef XF_COMPILER_TARGET_GPU_ROWEMITTER_H
#define XF_COMPILER_TARGET_GPU_ROWEMITTER_H

#include "compiler/Target/GPU/KernelEmitters.h"
#include "compiler/Target/RowSchedule.h"

namespace xf::gpu {

class RowEmitter {
public:
  using Value = mlir::Value;
  static constexpr int64_t kLanes = codegen::kLanes;
  /// The longest rows that are unrolled.
  static constexpr int64_t kMaxUnrolled = 1024;

  /// `op` and `builder` must outlive this.
  RowEmitter(GpuBuilder &builder, mlir::xf::RowOp op, const KernelRequest &request);

  /// Whether the rows' length is known, moderate and a multiple of the lanes.
  static bool canBeUnrolled(mlir::xf::RowOp op);
  /// How many rows there are.
  Value rows();
  /// Where a row of one result goes in addition to its own place: consecutive elements.
  struct Copy {
    unsigned result;
    Value address;
  };
  /// Computes row `row`, or the last one in its place if there is no such row; results are stored if it exists and `stores` (null: always) holds.
  /// The 16 neighbouring lanes of a group have the same row, and all lanes of a warp must take part. A copy is made by the lanes for which
  /// `copies` (null: all) holds.
  void emit(Value row, Value stores = nullptr, std::optional<Copy> copy = std::nullopt, Value copies = nullptr);

private:
  /// Memory that holds a row: elements are `stride` apart, or lie in a panel of groups of `group`.
  struct Memory {
    Value address, stride;
    int64_t group = 1;
  };
  /// A value and where it goes.
  using Made = std::pair<Value, Value>;

  unsigned leading() { return llvm::cast<mlir::RankedTensorType>(op.getResult(0).getType()).getRank() - 1; }
  void findLength();
  /// Calls `body` for each of the lane's elements of a row that is unrolled.
  void forOwn(llvm::function_ref<void()> body) {
    for (current = 0; current < unrolled; ++current) {
      offset = b.add(lane, current * kLanes);
      body();
    }
  }
  Memory memoryOf(unsigned view, Value tensor, llvm::ArrayRef<int64_t> map, llvm::ArrayRef<Value> indices);
  Memory tableMemory(mlir::xf::EmbedOp embed);
  void takeRow(Value row);
  void emitStatistics(unsigned level);
  void emitPass(unsigned pass);
  llvm::SmallVector<Value> emitElement(unsigned pass, mlir::ValueRange running);
  Value emitValue(Value value);
  Value load(const Memory &memory, mlir::Type element);
  void store(llvm::SmallVector<Made> &made, Value condition);
  void storeMade();

  GpuBuilder &b;
  mlir::xf::RowOp op;
  const KernelRequest &request;
  mlir::Block &body;
  codegen::RowSchedule schedule;
  Value length;          // of a row; null if there are none
  int64_t unrolled = 0;  // the elements of a lane, if the row is unrolled; else 0
  bool readsAll = false; // at once, before anything is computed

  // Of the row that is being emitted.
  Value lane, exists, copies; // of the 16; whether its results, and its copy, are to be stored
  std::optional<Copy> copy;
  llvm::SmallVector<Memory> inputs, outputs;
  llvm::DenseMap<mlir::Operation *, Memory> tableRows;
  llvm::DenseMap<Value, Value> scalars; // the row's scalars
  // Of its current element, and of others if it is unrolled.
  int64_t current = 0;
  Value offset;
  llvm::SmallVector<llvm::DenseMap<Value, Value>> elements{1};
  llvm::SmallVector<Made> made, copied;
};

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_ROWEMITTER_H
