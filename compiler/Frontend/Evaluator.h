// The evaluator: runs a description with symbolic tensors. Compile-time values are computed, methods are executed, and
// whatever concerns tensors becomes xf operations at the builder's place. Errors are reported and give Poison.
#ifndef XF_COMPILER_FRONTEND_EVALUATOR_H
#define XF_COMPILER_FRONTEND_EVALUATOR_H

#include "compiler/Frontend/Frontend.h"
#include "compiler/Frontend/ScalarCode.h"
#include "compiler/Frontend/TensorCode.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <set>

namespace xf::frontend {

/// An evaluated argument of a call.
struct CallArg {
  Loc loc;
  std::string name;
  Value value;
};
using Args = std::vector<CallArg>;

struct Builtin {
  llvm::StringRef name;
  Value (*run)(Evaluator &, Args &, Loc);
};
/// The built-in function of that name, or null (Builtins*.cpp).
const Builtin *findBuiltin(llvm::StringRef name);
const Builtin *findShapeBuiltin(llvm::StringRef name);
/// Orders arguments as `names` says; missing ones are none. False (with an error) if they do not fit.
bool orderArguments(Evaluator &e, Args &args, Loc loc, llvm::StringRef function, std::vector<std::string> names, size_t required);

/// The variables that statements set, each once.
void collectAssigned(const std::vector<Stmt> &body, std::vector<Target> &names);

/// What is known about a dimension of the program.
struct DimInfo {
  std::optional<int64_t> declared; // `S <= 80`
  std::optional<int64_t> table;    // rows of a position table that it indexes
  Loc loc, tableLoc;
};

class Evaluator : public Messages {
public:
  Evaluator(mlir::MLIRContext &context, Sources &sources, Diagnostics &diagnostics, const FrontendOptions &options);

  /// Builds the module for the chosen model or block; errors are in the diagnostics.
  mlir::OwningOpRef<mlir::ModuleOp> run(const File &library, const File &imports, const File &file);

  // Expressions (EvalExpr.cpp).
  Value eval(const Expr &expr, const ScopePtr &scope);
  std::optional<Binding> lookup(const Scope *scope, llvm::StringRef name);
  Value rangeList(int64_t begin, int64_t end);
  bool spend(Loc loc, uint64_t count = 1);

  // Calls (EvalCall.cpp).
  Value call(const Value &callee, Args args, Loc loc);
  Value callFunction(const Function *function, const Expr *lambda, const ScopePtr &scope, Args args, Loc loc);
  bool bindArguments(const std::vector<Param> &params, Args &args, const ScopePtr &local, const std::string &name, Loc loc,
                     Loc declared);
  bool bindParam(const Param &param, Value &value, const ScopePtr &local, Loc loc);
  ScopePtr selfScope(const InstanceRef &self);
  Value autoApply(Value value, Loc loc);

  // Statements (EvalStmt.cpp, EvalLoop.cpp).
  std::optional<Value> exec(const std::vector<Stmt> &body, const ScopePtr &scope);
  void assign(const std::vector<Target> &targets, Value value, const ScopePtr &scope, Loc loc);
  std::optional<Value> execFor(const Stmt &stmt, const ScopePtr &scope);
  std::optional<Value> poisonAssigned(const Stmt &stmt, const ScopePtr &scope);
  void repeat(const Stmt &stmt, const List &list, const ScopePtr &scope);
  Value elementAt(const List &list, Index index);

  // Shapes (Shapes.cpp).
  bool bindShape(const TypeExpr &type, mlir::RankedTensorType actual, const ScopePtr &scope, const std::string &what, Loc loc);
  std::optional<DimSize> evalDim(const Expr &expr, const ScopePtr &scope);
  mlir::Type elementType(const TypeExpr &type, bool weight);
  std::optional<int64_t> asInt(const Value &value, Loc loc, llvm::StringRef what);
  std::optional<double> asNumber(const Value &value, Loc loc, llvm::StringRef what);
  std::optional<bool> asBool(const Value &value, Loc loc, llvm::StringRef what);
  /// Loads weights and tables; null (with an error) if it is no tensor.
  mlir::Value asTensor(const Value &value, Loc loc, llvm::StringRef what);
  Value force(const Value &value, Loc loc);
  bool bindLazy(LazyInput &input, const TypeExpr &type, const ScopePtr &scope, Loc loc);

  // Blocks (Instances.cpp).
  Value makeSpec(const BlockRef &block, Args args, Loc loc);
  Instance *instantiate(const Spec &spec, std::string path, std::string symbol, std::vector<int64_t> counts, const Indices &outer);
  void addItems(Instance &instance, const std::vector<Item> &items, const ScopePtr &scope, const Indices &indices);
  bool isNew(const Instance &instance, const std::string &name, Loc loc);
  void addMember(Instance &instance, const Item &item, const Target &target, const ScopePtr &scope, const Indices &indices);
  void addWeight(Instance &instance, const Item &item, const Target &target, const ScopePtr &scope);
  Value makeMember(Instance &owner, const Value &value, const std::string &path, const std::string &symbol, const Indices &indices,
                   Loc loc);
  const Parameter *makeParameter(const std::string &name, const std::string &path, llvm::ArrayRef<int64_t> counts,
                                 mlir::RankedTensorType type, Loc loc);

  // Element-wise code (Elementwise.cpp).
  Value binary(llvm::StringRef op, const Value &left, const Value &right, Loc loc);
  Value unary(llvm::StringRef op, const Value &operand, Loc loc);
  Value elementwise(llvm::ArrayRef<Value> operands, Loc loc, llvm::StringRef what,
                    llvm::function_ref<mlir::Value(llvm::ArrayRef<Operand>)> emit);
  /// Whether tensor operations can be built here: not in the code of a mask, table or scan.
  bool inTensorCode();
  /// A dimension that is known at run time only as an integer tensor of one element.
  Value sizeOf(const DimName &dim, Loc loc);
  /// The term with its depth, or an error where that is too large for walking through it.
  Value checkDepth(const std::shared_ptr<Term> &term, Loc loc);
  Value joinMasks(llvm::StringRef op, const Value &left, const Value &right, Loc loc);

  // Tensors (Tensors.cpp, Indexing.cpp).
  Value matmul(const Value &left, const Value &right, Loc loc);
  Value transpose(const Value &value, Loc loc);
  std::optional<int64_t> listIndex(int64_t size, const Expr &expr, const ScopePtr &scope);
  Value index(const Expr &expr, const ScopePtr &scope);
  Value readElement(mlir::Value x, const std::vector<Value> &indices, const Expr &expr);
  Value embed(mlir::Value table, mlir::Value ids, Loc loc, bool limits = true);

  // Attention, masks, tables, scans (Attention.cpp, Tables.cpp, Scan.cpp).
  Value attend(Args &args, Loc loc);
  mlir::Value withProbabilities(mlir::Value context, mlir::Value &probabilities);
  Value asTerm(const Value &value, bool isBias, Loc loc);
  Value loadTable(const TableUse &table, Loc loc, Parameter **open);
  Value indexTable(const TableUse &table, mlir::Value ids, Loc loc);
  bool fillTable(Parameter &parameter, const TableUse &table, const ScopePtr &scope, llvm::ArrayRef<DimSize> shape, Loc loc);
  Value scan(const Expr &expr, const ScopePtr &scope);
  Value delay(mlir::Value x, const DimSize &dim, Loc loc);
  Value scanInput(mlir::Value tensor, Loc loc, bool indexed);

  // Entries (Entries.cpp, Options.cpp, Roles.cpp, Bounds.cpp).
  bool bindOptions(const Block &block, const ScopePtr &scope, Spec &spec);
  void declareBounds(const Instance &instance);
  std::pair<mlir::xf::EntryOp, ScopePtr> openEntry(const InstanceRef &self, llvm::StringRef name, Loc loc);
  void buildEntry(const InstanceRef &self, const Function &function);
  void buildBlockEntry(const InstanceRef &self);
  bool bindEntryParam(const Param &param, const ScopePtr &scope);
  bool checkRanks(mlir::xf::EntryOp entry);
  void finishEntry(mlir::xf::EntryOp entry, std::vector<std::pair<std::string, Value>> results, Loc loc);
  void runDirectives(const InstanceRef &self);
  mlir::xf::EntryOp findEntry(llvm::StringRef name, Loc loc);
  int64_t boundOf(llvm::StringRef dim) const;
  void setBounds();

  mlir::OpBuilder builder;
  ScalarCode scalars{builder, *this};
  TensorCode tensors{builder, *this};
  const FrontendOptions &options;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::map<std::string, DimInfo> dims;
  bool inBody = false; // operations can be built
  unsigned depth = 0;
  uint64_t steps = 0;

  /// The scan whose body is being evaluated.
  struct ScanState {
    DimSize dim;
    mlir::Block *body = nullptr;
    std::vector<mlir::Value> inputs;
    std::vector<mlir::BlockArgument> arguments;
  };
  ScanState *currentScan = nullptr;
  mlir::Block *layerBody = nullptr; // of the innermost loop over layers

  /// An entry that has been built, for later entries' untyped parameters and for roles.
  struct EntryInfo {
    const Function *function = nullptr;
    mlir::xf::EntryOp op;
    /// Its inputs and results; a null type if an error keeps it unknown.
    std::vector<std::pair<std::string, mlir::RankedTensorType>> ports;
  };
  std::vector<EntryInfo> entries;
  std::string batchDim, sourceDim, targetDim; // of generate
  mlir::Block *entryBlock = nullptr;
  std::vector<std::string> entryArgNames;
  std::vector<DimSize> blockLeading; // what `..` is in the inputs of a block that is compiled by itself
  std::vector<std::unique_ptr<LazyInput>> lazyInputs;
  std::vector<std::string> verboseNotes;

private:
  ScopePtr fileScope(const File &file, const ScopePtr &parent);
  const Block *chooseModel(const File &file);
  Value evalBinary(const Expr &expr, const ScopePtr &scope);
  Value evalMember(const Expr &expr, const ScopePtr &scope);
  Value evalList(const Expr &expr, const ScopePtr &scope);
  Value evalIf(const Expr &expr, const ScopePtr &scope);
  Value evalUncounted(const Expr &expr, const ScopePtr &scope);
  void checkLimits(const std::set<std::string> &inputDims);
  void checkTableRows(llvm::StringRef dim, int64_t bound);
  void sizeOpenTables();
  void cleanUp();

  std::vector<std::unique_ptr<Instance>> instances;
  std::map<std::string, std::unique_ptr<Parameter>> parameters; // by path
  std::map<std::string, std::unique_ptr<Parameter>> tables;     // by key
  std::set<std::string> symbols;
  std::vector<ScopePtr> scopes; // those that functions refer to; cleared in the end, as they may form circles
  std::vector<std::pair<mlir::xf::AttendOp, mlir::xf::AttendOp>> replaced; // attentions that got probabilities
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
