// What the parts of xf-derive-step share: the proof that decode is causal, what the logits need, and the writers of
// the step and begin entries.
#ifndef XF_COMPILER_TRANSFORMS_DERIVESTEP_H
#define XF_COMPILER_TRANSFORMS_DERIVESTEP_H

#include "dialect/IR/Xf.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace xf::step {

using namespace mlir;
using namespace mlir::xf;

/// The decoder and the parts of it that the module's xf.generate names.
struct Roles {
  EntryOp decode;
  unsigned tokens = 0, logits = 0;  // argument and result of decode
  std::string batch, target, fresh; // dimensions: rows, target positions, new positions
};

/// How each value of the decoder follows the target.
class Causality : public CausalityQuery {
public:
  explicit Causality(Roles &roles);

  Dependence get(Value value) const override;
  Dependence whole(Operation *op, LookAhead reason) override;
  /// Why the value itself looks ahead; null if it doesn't, or only because an operand does.
  const LookAhead *reason(Value value) const;

private:
  void visit(Block &block);
  void visit(RepeatOp repeat);

  llvm::DenseMap<Value, Dependence> dependences;
  llvm::DenseMap<Value, LookAhead> reasons;
};

/// The values that some roots are computed from, and the loops that must run for it.
class BackwardSlice {
public:
  /// With `causality`, what holds for a sentence is not followed further: it is loaded.
  explicit BackwardSlice(const Causality *causality = nullptr) : causality(causality) {}

  void add(Value root);
  bool has(Value value) const { return values.contains(value); }
  bool has(Operation *op) const;
  const llvm::SetVector<Value> &all() const { return values; }
  /// The values from `value` to the root that needs it.
  SmallVector<Value> pathFrom(Value value) const;

private:
  void follow(Value value);
  void demand(Value value, Value user);

  const Causality *causality;
  llvm::SetVector<Value> values;
  llvm::SmallPtrSet<Operation *, 4> loops;
  llvm::DenseMap<Value, Value> users;
  SmallVector<Value> worklist;
};

/// A value that begin stores for the step.
struct Stored {
  Value value;
  StateOp state;
};

/// `value` with dimension `axis` first, or the inverse of that.
Value moveRows(OpBuilder &builder, Value value, unsigned axis, bool back = false);
/// The dimension's index; the type must have it.
unsigned dimIndex(Type type, StringRef name);
/// The number of layers that run `block`: the product of the counts of the loops around it.
int64_t countLayers(Block *block);
/// The flat index, over `loop` and all loops around it, of its layer `layer`; `outer` is the same for the loop itself.
Value layerIndex(OpBuilder &builder, RepeatOp loop, Value layer, Value outer);

/// How a writer copies a stack.
struct StackCopy {
  llvm::function_ref<bool(Value)> isKept; // whether the copy has a result, or the value carried for it
  llvm::function_ref<Type(Type)> typeOf;  // of the copy's result
  llvm::function_ref<Value(Value)> now;   // the copy's value, where there is one
  llvm::function_ref<void(Value, Value)> bind;
  llvm::function_ref<LogicalResult(Block &from)> writeBody; // at the end of the copy's body, which is empty
};
LogicalResult copyStack(OpBuilder &builder, RepeatOp stack, const StackCopy &writer);

/// Writes the states and the step entry behind decode; `stored` receives the values that begin stores for it.
FailureOr<EntryOp> writeStep(Roles &roles, const Causality &causality, const BackwardSlice &needed, SmallVectorImpl<Stored> &stored);
/// Writes the begin entry in front of the step.
EntryOp writeBegin(Roles &roles, EntryOp step, ArrayRef<Stored> stored);

} // namespace xf::step

#endif // XF_COMPILER_TRANSFORMS_DERIVESTEP_H
