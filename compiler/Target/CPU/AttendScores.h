// From raw products of one query with all keys to probabilities, in place.
#ifndef XF_COMPILER_TARGET_CPU_ATTENDSCORES_H
#define XF_COMPILER_TARGET_CPU_ATTENDSCORES_H

#include "compiler/Target/AttendMask.h"
#include "compiler/Target/CPU/KernelEmitters.h"
#include "compiler/Target/RegionVectorizer.h"

#include <optional>

namespace xf::cpu {

/// A query: its sentence, head and position, i64.
struct Query {
  mlir::Value batch, head, position;
};

/// Masked keys get exactly 0, as if their score were -inf: that is what any large negative fill gives, as soon as one
/// key is allowed. A moderate fill takes part in the softmax as the value that it is, with all keys.
class AttendScores {
public:
  AttendScores(KernelBuilder &b, mlir::xf::AttendOp op, const KernelRequest &request);

  /// Whether some queries may see fewer keys than there are.
  bool hasEnds() { return !exactFill && !(mask.ends.empty() && mask.rowTerms.empty()); }
  /// How many of the first keys `query` may see.
  mlir::Value end(const Query &query, mlir::Value keys);
  /// Whether some queries see none of the first keys, which are then skipped unless probabilities of all keys are stored.
  bool hasBegins() { return !exactFill && !mask.begins.empty() && !op.getProbabilities(); }
  /// The first key that `query` may see.
  mlir::Value begin(const Query &query);
  /// How many of the first `keys` keys lie up to the last one that any query of the sentence may see: behind it is padding.
  mlir::Value keysOfSentence(mlir::Value batch, mlir::Value keys);
  /// The probability of each key in a row without keys (mayLackKeys): NaN without a mask, 0 where masked scores are -inf, else 1 / keys.
  mlir::Value rowWithoutKeys(mlir::Value keys);

  /// The query's scale, an f32, and the address of the keys' scales.
  struct Scales {
    mlir::Value query, keys;
  };
  /// A query's products at `row`, with keys from `begin`, a multiple of 16, to `end`. Products of int16 (AttendInt16) are i32, and have scales.
  struct Products {
    mlir::Value row, begin, end;
    std::optional<Scales> scales;
  };
  struct Row {
    mlir::Value any;        // i1: whether there was any key
    mlir::Value reciprocal; // of the sum of exponentials
  };
  /// Turns products into probabilities in place; with factors of bf16 into exponentials, stored as bf16 from the row's start on, whose sum is
  /// left for later. The elements behind them up to `width`, a multiple of 16, become 0. Exponentials of products with scales stay f32, and
  /// the elements behind them as they are.
  Row emit(const Products &products, mlir::Value width, const Query &query);

private:
  RegionVectorizer scope(mlir::Region &region, const Query &query);
  void emitUniform(RegionVectorizer &scope, mlir::Value value, mlir::ValueRange varying);
  void emitUniform(RegionVectorizer &scope, mlir::Value value, mlir::ValueRange varying, llvm::DenseSet<mlir::Value> &seen);
  // Reads of tensors in the regions (AttendReads.cpp).
  /// The elements that a read may find along its only index that differs from key to key, 16 a vector.
  struct SmallTable {
    unsigned index;
    llvm::SmallVector<mlir::Value> parts;
  };
  mlir::Value read(RegionVectorizer &scope, mlir::xf::AtOp at);
  mlir::Value readTable(RegionVectorizer &scope, mlir::xf::AtOp at, const SmallTable &table);
  bool readsNeighbours(mlir::xf::AtOp at, llvm::ArrayRef<unsigned> varying);
  mlir::Value gather(RegionVectorizer &scope, mlir::xf::AtOp at, mlir::Value base, llvm::ArrayRef<unsigned> varying);
  mlir::Value uniformOffset(mlir::xf::AtOp at, unsigned d, mlir::Value index);
  mlir::Value addressOf(RegionVectorizer &scope, mlir::xf::AtOp at, llvm::SmallVector<unsigned> &varying);
  mlir::Value lanesOf(RegionVectorizer &scope, mlir::xf::AtOp at, unsigned d);
  void loadTables(RegionVectorizer &scope, mlir::Region &region);

  mlir::Value allowed(RegionVectorizer masks, llvm::ArrayRef<mlir::Value> terms, mlir::Value offset);
  /// The op's regions, their parts that depend on the query alone emitted.
  struct Regions {
    RegionVectorizer masks, biases, functions;
  };
  Regions regionsFor(const Query &query);
  mlir::Value score(Regions regions, mlir::Value products, mlir::Value scale, mlir::Value offset);
  mlir::Value loadProducts(const Products &products, mlir::Value offset);
  mlir::Value largestProduct(const Products &products);
  mlir::Value storeScores(const Products &products, const Regions &regions, mlir::Value scale);
  mlir::Value storeExponentials(const Products &products, mlir::Value shift, mlir::Value scale);
  void finish(const Products &products, mlir::Value width, mlir::Value reciprocal);
  mlir::Value address(mlir::Value row, mlir::Value offset) { return b.at(row, offset, b.getF32Type()); }

  KernelBuilder &b;
  mlir::xf::AttendOp op;
  const KernelRequest &request;
  AttendMask mask;
  bool exactFill, isNarrow; // isNarrow: factors of bf16
  // Of the chunk that is being emitted: its first key and how many it has (null: 16).
  mlir::Value chunkStart, chunkCount;
  llvm::DenseMap<mlir::Operation *, SmallTable> tables; // of the row that is being emitted
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_ATTENDSCORES_H
