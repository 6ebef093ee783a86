// What expressions of a description evaluate to, and the scopes that hold them.
#ifndef XF_COMPILER_FRONTEND_VALUES_H
#define XF_COMPILER_FRONTEND_VALUES_H

#include "compiler/Frontend/Ast.h"
#include "dialect/IR/Xf.h"

#include "llvm/ADT/StringMap.h"

#include <map>
#include <memory>
#include <optional>
#include <variant>

namespace xf::frontend {

using mlir::xf::typeOf;

class Evaluator;
struct Scope;
struct Instance;
struct List;
struct Tuple;
struct Closure;
struct Term;
struct Spec;
struct TableUse;
struct LazyInput;
struct Builtin;
using ScopePtr = std::shared_ptr<Scope>;

/// The size of a dimension: a number, or the name of one that is known at run time only.
struct DimSize {
  int64_t size = mlir::ShapedType::kDynamic;
  std::string name;
  bool isDynamic() const { return mlir::ShapedType::isDynamic(size); }
  bool operator==(const DimSize &o) const { return size == o.size && name == o.name; }
  std::string str() const { return isDynamic() ? name : std::to_string(size); }
};

/// The value of an expression whose error has been reported: further errors about it would only repeat the first one.
struct Poison {};
struct None {};
/// The running position of a scan: `f[t]`.
struct ScanPosition {};
/// A dimension that is known at run time only, as a value.
struct DimName {
  std::string name;
};
struct Tensor {
  mlir::Value value;
  mlir::RankedTensorType type() const { return llvm::cast<mlir::RankedTensorType>(value.getType()); }
};
/// An element in the body of a mask, bias, table or scan. A position remembers what it runs over.
struct Scalar {
  mlir::Value value;
  std::optional<DimSize> range;
};

/// An index of a layer: known, or the running one of a repeat.
using Index = std::variant<int64_t, mlir::Value>;
using Indices = std::vector<Index>;

struct Parameter {
  std::string symbol;
  mlir::RankedTensorType type; // as the checkpoint has it
  std::vector<int64_t> counts;
  mlir::Operation *op = nullptr;
  Loc loc;
  /// For a table without a declared length: the dimensions whose positions index it, with their offsets.
  std::vector<std::pair<DimSize, int64_t>> uses;
};
struct WeightRef {
  const Parameter *parameter = nullptr;
  Indices indices;
};
struct InstanceRef {
  Instance *instance = nullptr;
  Indices indices;
};
struct BoundMethod {
  InstanceRef self;
  const Function *method = nullptr;
};
struct BlockRef {
  const Block *block = nullptr;
  ScopePtr scope;
};

using AnyValue = std::variant<Poison, None, ScanPosition, bool, int64_t, double, std::string, DimName, Tensor, Scalar, WeightRef, InstanceRef,
                              BoundMethod, BlockRef, const Builtin *, LazyInput *, std::shared_ptr<List>, std::shared_ptr<Tuple>,
                              std::shared_ptr<Closure>, std::shared_ptr<Term>, std::shared_ptr<Spec>, std::shared_ptr<TableUse>>;
/// Copied, moved and destroyed by functions of one file: made anew in each, they take longer to compile than most files' own code.
struct Value : AnyValue {
  using AnyValue::AnyValue;
  Value();
  Value(const Value &other);
  Value(Value &&other) noexcept;
  Value &operator=(const Value &other);
  Value &operator=(Value &&other) noexcept;
  ~Value();
};

/// Either elements, or `count` times one element; `indexed` ones are different layers of one description.
struct List {
  std::vector<Value> elements;
  std::optional<Value> element;
  int64_t count = 0;
  bool indexed = false;
  unsigned depth = 0; // of lists inside
  int64_t size() const { return element ? count : static_cast<int64_t>(elements.size()); }
};
struct Tuple {
  std::vector<Value> elements;
};
/// A function of the description with its surroundings.
struct Closure {
  const Function *function = nullptr;
  const Expr *lambda = nullptr;
  ScopePtr scope;
  const std::vector<Param> &params() const { return lambda ? lambda->params : function->params; }
  std::string name() const { return lambda ? "the function" : "'" + function->name + "'"; }
};
/// Nested lists and masks are walked through, and destroyed, by recursion.
constexpr unsigned kMaxDepth = 1000;
/// A mask or bias: a function of positions, or masks joined by & | !.
struct Term {
  enum Kind { Leaf, And, Or, Not } kind = Leaf;
  bool isBias = false;
  Loc loc;
  std::string name;
  const std::vector<Param> *indices = nullptr; // Leaf
  const Function *function = nullptr;
  const Expr *lambda = nullptr;
  ScopePtr scope;
  std::vector<Value> operands; // joined terms, tensors
  unsigned depth = 0;          // of joined terms inside
};
/// A block with its arguments, not yet a member: `Linear(d, d)`.
struct Spec {
  const Block *block = nullptr;
  ScopePtr scope;              // of the block's file
  std::vector<std::pair<const Param *, Value>> arguments;
  Loc loc;
};
/// A table with its arguments: `position(d)`.
struct TableUse {
  const Function *function = nullptr;
  ScopePtr scope;
  std::string key; // equal for equal tables
};
/// An input of a block that is compiled by itself, whose shape its first use decides.
struct LazyInput {
  std::string name;
  Loc loc;
  std::optional<Value> value;
};

/// An evaluated argument of a call.
struct CallArg {
  Loc loc;
  std::string name;
  Value value;
};
using Args = std::vector<CallArg>;

struct Binding {
  Value value;
  Loc loc;
  bool needsRebase = false; // a member that follows its block's layer index
};

/// A block with a path in the model.
struct Instance {
  const Block *block = nullptr;
  ScopePtr scope; // of the block's file
  std::string path, symbol;
  std::vector<int64_t> counts;
  llvm::StringMap<Binding> members, params;
  llvm::StringMap<const Function *> methods;
  std::vector<const Item *> directives;
  std::vector<const Function *> entries;
};

struct Scope {
  ScopePtr parent;
  std::optional<InstanceRef> self;
  llvm::StringMap<Binding> names;
  std::optional<std::vector<DimSize>> leading; // what `..` stands for
  Loc leadingLoc;

  void set(llvm::StringRef name, Value value, Loc loc) { names[name] = {std::move(value), loc}; }
};

/// "an integer", "a tensor [B, S, 64]", "a block", for messages.
std::string describe(const Value &value);
/// A compile-time value as text, equal for equal values.
std::string printValue(const Value &value);
/// The same member, seen from a layer.
Value rebase(const Value &value, const Indices &indices);

template <typename T> bool holds(const Value &value) { return std::holds_alternative<T>(value); }
template <typename T> const T *getIf(const Value &value) { return std::get_if<T>(&value); }
inline bool isPoison(const Value &value) { return holds<Poison>(value); }
/// A number or boolean that is known when compiling.
inline bool isNumber(const Value &value) { return holds<int64_t>(value) || holds<double>(value) || holds<bool>(value); }
inline double toDouble(const Value &value) {
  if (auto *i = getIf<int64_t>(value))
    return static_cast<double>(*i);
  if (auto *b = getIf<bool>(value))
    return *b;
  return std::get<double>(value);
}

DimSize dimOf(mlir::RankedTensorType type, unsigned i);
std::vector<DimSize> dimsOf(mlir::RankedTensorType type);
mlir::RankedTensorType tensorOf(llvm::ArrayRef<DimSize> dims, mlir::Type element);
Value dimValue(const DimSize &dim);
/// "[B, S, 64]"
std::string describeDims(llvm::ArrayRef<DimSize> dims);

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_VALUES_H
