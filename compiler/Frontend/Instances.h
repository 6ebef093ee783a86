// The blocks of a model: each becomes an instance with a path in it. Members get their paths, weights become xf.parameter.
#ifndef XF_COMPILER_FRONTEND_INSTANCES_H
#define XF_COMPILER_FRONTEND_INSTANCES_H

#include "compiler/Frontend/Values.h"

#include <set>

namespace xf::frontend {

class Instances {
public:
  explicit Instances(Evaluator &e) : e(e) {}

  /// The model itself, or a block that is compiled alone; null after an error.
  Instance *makeModel(const Spec &spec) { return make(spec, "", "", {}, {}); }
  /// A symbol that no parameter has: `name`, or `name` with the separator and a number after it.
  std::string newSymbol(const std::string &name, llvm::StringRef separator);

private:
  Instance *make(const Spec &spec, std::string path, std::string symbol, std::vector<int64_t> counts, const Indices &outer);
  void addItems(Instance &instance, const std::vector<Item> &items, const ScopePtr &scope, const Indices &indices);
  bool isNew(const Instance &instance, const std::string &name, Loc loc);
  void addMember(Instance &instance, const Item &item, const Target &target, const ScopePtr &scope, const Indices &indices);
  Value makeMember(Instance &owner, const Value &value, const std::string &path, const std::string &symbol, const Indices &indices, Loc loc);
  void addWeight(Instance &instance, const Item &item, const Target &target, const ScopePtr &scope);
  const Parameter *makeParameter(const std::string &name, const std::string &path, llvm::ArrayRef<int64_t> counts, mlir::RankedTensorType type,
                                 Loc loc);

  Evaluator &e;
  std::vector<std::unique_ptr<Instance>> instances;
  std::map<std::string, std::unique_ptr<Parameter>> parameters; // by path
  std::set<std::string> symbols;                                // of parameters, and of tables
};

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_INSTANCES_H
