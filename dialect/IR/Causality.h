// How values follow the positions of a decoder's target: what CausalOpInterface's methods see of the derivation of
// the step. The pass that derives it implements both classes.
#ifndef XF_DIALECT_IR_CAUSALITY_H
#define XF_DIALECT_IR_CAUSALITY_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace mlir::xf {

/// How a value depends on the target, ascending: a value computed from others is at least the greatest of theirs.
enum class Dependence : uint8_t {
  fixed,    // on parameters only
  sentence, // on what holds for the whole sentence
  position, // element t on position t
  prefix,   // element t on positions up to t
  whole,    // on positions after t, too
};

/// Whether a value has one element for each target position and is known without the later ones.
inline bool isPerPosition(Dependence dependence) { return dependence == Dependence::position || dependence == Dependence::prefix; }

/// Why an op's results depend on later positions, for the message.
struct LookAhead {
  std::string what;
  SmallVector<std::pair<Location, std::string>> notes = {};
};

class CausalityQuery {
public:
  virtual ~CausalityQuery() = default;

  virtual Dependence get(Value value) const = 0;
  /// Keeps the reason, and gives Dependence::whole.
  virtual Dependence whole(Operation *op, LookAhead reason) = 0;
  /// The greatest of what the op reads, captured values included.
  Dependence join(Operation *op) const;
  /// The dimension of `value` that is the target's, if it has one.
  std::optional<unsigned> axis(Value value) const;

  StringRef target; // name of the target's dimension
};

/// What a state is for: keys and values of attention have layouts of their own.
enum class StateRole : uint8_t { keys, values, other };

/// Builds the step's body, in the order of the decoder's ops.
class StepBuilder {
public:
  explicit StepBuilder(MLIRContext *context) : builder(context) {}
  virtual ~StepBuilder() = default;

  /// The value in the step: over new positions, or as it is for the row's sentence.
  virtual Value now(Value value, StateRole role = StateRole::other) = 0;
  /// The value over all positions so far, kept in a state.
  virtual Value history(Value value, StateRole role = StateRole::other) = 0;
  virtual void bind(Value value, Value now) = 0;
  /// Whether the logits need it.
  virtual bool isNeeded(Value value) const = 0;
  virtual Dependence get(Value value) const = 0;
  /// A new state of search rows for what `op` keeps: its name, and the index of the op's layer in it.
  virtual std::pair<FlatSymbolRefAttr, Value> addState(Operation *op, RankedTensorType type, StringRef purpose) = 0;

  /// Clones the op onto the step's operands, with result types for new positions, and binds its results.
  Operation *clone(Operation *op);
  /// `type` over new positions. One without batch gets it as its first dimension: rows are at different positions.
  RankedTensorType stepType(Type type) const;
  /// Whether stepType adds the batch.
  bool isPerRow(Type type) const;
  /// The target's dimension in `type`.
  std::optional<unsigned> axis(Type type) const;

  OpBuilder builder;
  Value past, slots;                // of the step entry
  StringRef batch, target, fresh;   // names of the dimensions: rows, all positions, new positions
};

} // namespace mlir::xf

#endif // XF_DIALECT_IR_CAUSALITY_H
