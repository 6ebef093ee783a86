// The evaluator: runs a description with symbolic tensors. Compile-time values are computed, methods are executed, and
// whatever concerns tensors becomes xf operations at the builder's insertion point. Errors are reported and give Poison.
#ifndef XF_COMPILER_FRONTEND_EVALUATOR_H
#define XF_COMPILER_FRONTEND_EVALUATOR_H

#include "compiler/Frontend/Attention.h"
#include "compiler/Frontend/Bounds.h"
#include "compiler/Frontend/Entries.h"
#include "compiler/Frontend/Frontend.h"
#include "compiler/Frontend/Instances.h"
#include "compiler/Frontend/ScalarCode.h"
#include "compiler/Frontend/Scan.h"
#include "compiler/Frontend/Tables.h"
#include "compiler/Frontend/TensorCode.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <functional>

namespace xf::frontend {

/// A function that the library cannot express in the language itself.
struct Builtin {
  llvm::StringRef name;
  /// Takes an argument for each parameter, in order: None for one that is not given. Without parameters: all arguments as they are.
  std::function<Value(Evaluator &, Args &, Loc)> run;
  std::vector<llvm::StringRef> required = {}, optional = {};
};
/// The built-in function of that name, or null (Builtins*.cpp).
const Builtin *findBuiltin(llvm::StringRef name);
const Builtin *findShapeBuiltin(llvm::StringRef name);

/// The variables that statements set, each once.
void collectAssigned(const std::vector<Stmt> &body, std::vector<Target> &names);

class Evaluator : public Messages {
public:
  Evaluator(mlir::MLIRContext &context, Sources &sources, Diagnostics &diagnostics, const FrontendOptions &options);

  /// Builds the module for the chosen model or block; errors are in the diagnostics.
  mlir::OwningOpRef<mlir::ModuleOp> run(const File &library, const File &imports, const File &file);

  // Expressions (EvalExpr.cpp).
  Value eval(const Expr &expr, const ScopePtr &scope);
  std::optional<Binding> lookup(const Scope *scope, llvm::StringRef name);
  bool countSteps(Loc loc, uint64_t count = 1);

  // Calls (EvalCall.cpp).
  Value call(const Value &callee, Args args, Loc loc);
  Value makeSpec(const BlockRef &block, Args args, Loc loc);
  bool bindParam(const Param &param, Value &value, const ScopePtr &local, Loc loc);
  ScopePtr selfScope(const InstanceRef &self);
  Value autoApply(const Value &value, Loc loc);

  // Statements (EvalStmt.cpp, EvalLoop.cpp).
  std::optional<Value> exec(const std::vector<Stmt> &body, const ScopePtr &scope);
  void assign(const std::vector<Target> &targets, Value value, const ScopePtr &scope, Loc loc);
  std::optional<Value> poisonAssigned(const Stmt &stmt, const ScopePtr &scope);
  Value elementAt(const List &list, Index index);

  // Shapes (Shapes.cpp).
  bool bindShape(const TypeExpr &type, mlir::RankedTensorType actual, const ScopePtr &scope, const std::string &what, Loc loc);
  std::optional<DimSize> evalDim(const Expr &expr, const ScopePtr &scope);
  mlir::Type elementType(const TypeExpr &type, bool weight);
  std::optional<int64_t> asInt(const Value &value, Loc loc, llvm::StringRef what);
  std::optional<double> asDouble(const Value &value, Loc loc, llvm::StringRef what);
  std::optional<bool> asBool(const Value &value, Loc loc, llvm::StringRef what);
  /// Loads weights and tables; null (with an error) if the value is no tensor.
  mlir::Value asTensor(const Value &value, Loc loc, llvm::StringRef what);
  Value force(const Value &value, Loc loc);

  // Element-wise code (Elementwise.cpp).
  Value binary(llvm::StringRef op, const Value &left, const Value &right, Loc loc);
  Value unary(llvm::StringRef op, const Value &operand, Loc loc);
  Value elementwise(llvm::ArrayRef<Value> operands, Loc loc, llvm::StringRef what, llvm::function_ref<mlir::Value(llvm::ArrayRef<Operand>)> emit);
  /// Whether tensor operations can be built here: not in the code of a mask, table or scan.
  bool inTensorCode() const;

  // Look-ups and parts of tensors (Tensors.cpp, Indexing.cpp).
  Value index(const Expr &expr, const ScopePtr &scope);
  Value embed(mlir::Value table, mlir::Value ids, Loc loc, bool limits = true);

  mlir::OpBuilder builder;
  ScalarCode scalars{builder, *this};
  TensorCode tensors{builder, *this};
  const FrontendOptions &options;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<std::string> verboseNotes;

  // What a model is made of.
  Bounds bounds{*this};
  Instances instances{*this};
  Tables tables{*this};
  Entries entries{*this};
  Probabilities probabilities;

  // Where the evaluation is.
  bool inBody = false;              // operations can be built
  ScanBody *currentScan = nullptr;  // whose body is being evaluated
  mlir::Block *layerBody = nullptr; // of the innermost loop over layers
  unsigned depth = 0;
  uint64_t steps = 0;

private:
  ScopePtr fileScope(const File &file, const ScopePtr &parent);
  const Block *chooseModel(const File &file);
  bool bindOptions(const Block &block, const ScopePtr &scope, Spec &spec);
  Value evalBinary(const Expr &expr, const ScopePtr &scope);
  Value evalMember(const Expr &expr, const ScopePtr &scope);
  Value evalList(const Expr &expr, const ScopePtr &scope);
  Value evalIf(const Expr &expr, const ScopePtr &scope);
  Value evalUncounted(const Expr &expr, const ScopePtr &scope);
  Value callFunction(const Function *function, const Expr *lambda, const ScopePtr &scope, Args args, Loc loc);
  Value callBuiltin(const Builtin &builtin, Args &args, Loc loc);
  bool bindArguments(const std::vector<Param> &params, Args &args, const ScopePtr &local, const std::string &name, Loc loc, Loc declared);
  std::optional<Value> execFor(const Stmt &stmt, const ScopePtr &scope);

  std::vector<ScopePtr> scopes; // those that functions refer to; cleared in the end, as they may form cycles
};

/// Counts nesting; `tooDeep` ends recursion before the stack does.
struct DepthGuard {
  DepthGuard(Evaluator &e) : e(e) { ++e.depth; }
  ~DepthGuard() { --e.depth; }
  bool tooDeep() const { return e.depth > 1200; }
  Evaluator &e;
};

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_EVALUATOR_H
