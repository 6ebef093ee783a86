// The dimensions that a program's calls choose, and how large each may become.
#ifndef XF_COMPILER_FRONTEND_BOUNDS_H
#define XF_COMPILER_FRONTEND_BOUNDS_H

#include "compiler/Frontend/Values.h"

#include <set>

namespace xf::frontend {

class Bounds {
public:
  explicit Bounds(Evaluator &e) : e(e) {}

  /// Takes the bounds that a model's entries declare (`S <= 80`), before any entry is built: tables take their length from them.
  void declare(const Instance &model);
  /// Notes that the dimension's positions are looked up in a table, which has `rows` rows for them.
  void limitTo(llvm::StringRef dim, int64_t rows, Loc table);
  int64_t of(llvm::StringRef dim) const;
  /// Notes where the dimension's bound comes from, if the model declares one.
  void noteDeclared(llvm::StringRef dim) const;
  /// Checks the limits of these dimensions, and writes their bounds as the module's attribute.
  void write(const std::set<std::string> &inputDims);

  std::string batch, source, target; // the dimensions of these roles, which directives give

private:
  /// What is known about a dimension.
  struct Dim {
    std::optional<int64_t> declared;
    std::optional<int64_t> table; // rows of the table that it indexes
    Loc loc, tableLoc;
  };
  void declareDim(const DimExpr &dim, const ScopePtr &scope);
  void checkLimits(const std::set<std::string> &inputDims);
  void checkTableRows(llvm::StringRef dim, int64_t bound);

  Evaluator &e;
  std::map<std::string, Dim> dims;
};

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_BOUNDS_H
