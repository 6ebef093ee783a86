// What the kernels of xf.attend share: scores, addresses, and how tiles of keys are joined.
//
// A row's keys are taken in tiles of kTileKeys, by their positions alone. Each tile yields its largest score, the sum of its
// exponentials exp(score - largest), and the context that they weigh; tiles are joined in ascending order. Which
// kernel does it, how many warps share the tiles, and what other rows there are change none of a row's operations.
#ifndef XF_COMPILER_TARGET_GPU_ATTENDKERNEL_H
#define XF_COMPILER_TARGET_GPU_ATTENDKERNEL_H

#include "compiler/Target/AttendMask.h"
#include "compiler/Target/GPU/KernelEmitters.h"
#include "compiler/Target/RegionVectorizer.h"

namespace xf::gpu {

/// Four panels of keys.
inline constexpr int64_t kTileKeys = 64;

/// From a product of query and key to its score, and which keys a query sees: as AttendScores does on the CPU, for one
/// key at a time.
class AttendScore {
public:
  AttendScore(GpuBuilder &b, mlir::xf::AttendOp op, const KernelRequest &request, mlir::Value batch, mlir::Value head, mlir::Value position);

  /// How many of the first `keys` keys the query may see.
  mlir::Value end(mlir::Value keys);
  /// The first key of the first tile of which the query may see some; 0 if probabilities are stored, which all keys have.
  mlir::Value beginOfTiles();
  /// How many of the first `keys` keys lie up to the last one that any query of the sentence may see: those after it may be padding, or
  /// of the sentence before. All lanes of a warp find it together.
  mlir::Value keysOfSentence(mlir::Value keys);
  /// The score of key `key`, which exists; -inf if it is not allowed.
  mlir::Value score(mlir::Value product, mlir::Value key);

private:
  codegen::RegionVectorizer scope(mlir::Region &region);
  mlir::Value read(codegen::RegionVectorizer &scope, mlir::xf::AtOp at);

  GpuBuilder &b;
  mlir::xf::AttendOp op;
  const KernelRequest &request;
  codegen::AttendMask mask;
  bool exactFill;
  mlir::Value batch, head, position;
};

struct AttendKernel {
  AttendKernel(GpuBuilder builder, mlir::xf::AttendOp op, const KernelRequest &request);

  using Value = mlir::Value;

  /// The largest score of some keys (-inf where none is allowed) and the sum of their exponentials.
  struct Softmax {
    Value max, sum;
  };
  Softmax nothing() { return {lowest, b.f32(0)}; }
  /// Whether any key is allowed. Scores that are NaN are not the largest, but make the sum NaN.
  Value isAny(const Softmax &all);
  /// exp(score - largest of them); the largest may be -inf.
  Value exponential(Value score, Value max);
  /// The sum of exponentials that `lanes` lanes hold, lane i those of keys i, i + lanes, … of a tile: (i, i + 32) first, then the tree
  /// over distances 16, 8, 4, 2, 1.
  Value sumOfTile(llvm::ArrayRef<Value> exponentials, int64_t lanes);
  /// Joins a tile with those before it; `before` and `tile` are the weights of their contexts.
  struct Joined {
    Softmax all;
    Value before, tile;
  };
  Joined join(const Softmax &before, const Softmax &tile);
  Value joinContext(Value before, Value weightBefore, Value tile, Value weightTile);
  /// The factor that turns exponentials into probabilities.
  Value factorOf(const Softmax &all);

  /// Whether a query may have no key at all; then all keys have the same probability, 0 where masked scores are -inf.
  bool mayLackKeys() const { return codegen::mayLackKeys(op); }
  Value probabilityWithoutKeys();
  /// Replaces a stored score by its probability; keys from `end` on have no score. `any`: isAny(all).
  void storeProbability(Value position, Value key, Value end, const Softmax &all, Value factor, Value any);
  /// A column of the context of a row without keys.
  Value contextWithoutKeys(Value values, Value column);

  // With spans, the queries of a batch are those of all sentences, one after the other; keys and values still have a row for each.
  /// How many sentences there are, and how many queries each has at most.
  Value sentences() { return spans ? b.size(*spans, 0) : b.size(q, 0); }
  Value maxQueries() { return spans ? b.size(k, 2) : b.size(q, 2); }
  /// Sets `batch`, the sentence's keys and its queries.
  void takeSentence(Value sentence);
  /// AttendScore::keysOfSentence() for the block's sentence.
  Value keysOfSentence() { return AttendScore(b, op, request, batch, head, b.i64(0)).keysOfSentence(keyCount); }
  /// The least `begin` of a warp's lanes.
  Value firstOf(Value begin);
  /// The panels of keys or values of the block's head.
  Value headStart(unsigned view, Value tensor);
  /// The address of an element, of type `type`, of the row of the sentence's query `position` in a tensor [B, H, Q, ...].
  Value element(unsigned view, Value position, Value column, mlir::Type type);
  /// The same of probabilities.
  Value probabilityAt(Value position, Value key) { return element(out + 1, position, key, f32); }
  /// An element of the values, widened to f32.
  Value loadValue(Value values, Value key, Value column);
  /// Stores an element of the context, in the context's type.
  void storeContextAt(Value context, Value position, Value column);

  GpuBuilder b;
  mlir::xf::AttendOp op;
  const KernelRequest &request;
  unsigned q, k, v, out;
  std::optional<unsigned> spans;
  int64_t heads, ratio, width, valueWidth;
  mlir::Type f32, factorType; // factorType: of queries, keys and values
  Value lowest;
  Value batch, head; // of the block
  Value keyCount, queries; // of the block's sentence
  Value start;             // with spans: where its queries begin
};

/// Adds function `name`, for few queries: a block computes one query of one head; its warps, at most `maxWarps`, take a tile each at a time.
/// Returns the threads of a block.
mlir::FailureOr<int64_t> emitAttendFew(mlir::xf::AttendOp op, const KernelRequest &request, llvm::StringRef name, int64_t maxWarps);
/// For many queries: a block of kAttendThreads threads computes kAttendRows queries of a head.
void emitAttendMany(GpuBuilder b, mlir::xf::AttendOp op, const KernelRequest &request);
inline constexpr int64_t kAttendThreads = 128, kAttendRows = 32;

/// The same with factors of 16 bits: a block computes kTensorRows queries of a head, and some columns of the context.
void emitTensorAttendMany(GpuBuilder b, mlir::xf::AttendOp op, const KernelRequest &request);
inline constexpr int64_t kTensorRows = 64;
/// The columns of such a block: as many as leave registers for keys of this width.
inline int64_t tensorColumns(int64_t width) { return width <= 96 ? 128 : 64; }

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_ATTENDKERNEL_H
