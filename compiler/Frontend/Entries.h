// Entries: xf.entry operations from a model's entries, or from the `apply` of a block that is compiled by itself.
#ifndef XF_COMPILER_FRONTEND_ENTRIES_H
#define XF_COMPILER_FRONTEND_ENTRIES_H

#include "compiler/Frontend/Values.h"

#include <set>

namespace xf::frontend {

class Entries {
public:
  explicit Entries(Evaluator &e) : e(e) {}

  void build(const InstanceRef &model, const Function &function);
  /// A block by itself: `apply` becomes the entry "apply". `..` stands for batch and positions, [B, S].
  void buildBlock(const InstanceRef &block);
  /// An input without a declared shape takes that of the first parameter it is given to.
  bool bindLazy(LazyInput &input, const TypeExpr &type, const ScopePtr &scope, Loc loc);

  /// The entry of that name, or an error.
  mlir::xf::EntryOp find(llvm::StringRef name, Loc loc);
  /// The dimensions of all inputs that are known at run time only.
  std::set<std::string> inputDims();

private:
  using Ports = std::vector<std::pair<std::string, mlir::RankedTensorType>>;
  using Results = std::vector<std::pair<std::string, Value>>;
  struct Entry {
    const Function *function = nullptr;
    mlir::xf::EntryOp op;
    Ports ports; // its inputs and results, for later entries' untyped parameters; a null type if an error keeps it unknown
  };

  std::pair<mlir::xf::EntryOp, ScopePtr> open(const InstanceRef &self, llvm::StringRef name, Loc loc);
  Value addInput(const std::string &name, mlir::RankedTensorType type, Loc loc);
  bool bindParam(const Param &param, const ScopePtr &scope);
  mlir::RankedTensorType typeFromEarlier(const Param &param, const ScopePtr &scope);
  mlir::RankedTensorType declaredType(const TypeExpr &type, const ScopePtr &scope);
  Results resultsOf(const Function &function, const std::optional<Value> &returned, const ScopePtr &scope);
  bool checkRanks(mlir::xf::EntryOp entry);
  void finish(mlir::xf::EntryOp entry, const Results &results, Loc loc);

  Evaluator &e;
  std::vector<Entry> built;
  // The entry that is being built.
  mlir::Block *body = nullptr;
  std::vector<std::string> inputNames;
  std::vector<DimSize> leading; // what `..` stands for in the inputs of a block that is compiled by itself
  std::vector<std::unique_ptr<LazyInput>> lazyInputs;
};

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_ENTRIES_H
