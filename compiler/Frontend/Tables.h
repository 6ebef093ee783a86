// Tables: parameters whose elements a formula gives. They are evaluated in f64 when compiling, from their region.
#ifndef XF_COMPILER_FRONTEND_TABLES_H
#define XF_COMPILER_FRONTEND_TABLES_H

#include "compiler/Frontend/Values.h"

namespace xf::frontend {

class Bounds;

class Tables {
public:
  explicit Tables(Evaluator &e) : e(e) {}

  /// The tensor of a table whose length is known.
  Value load(const TableUse &table, Loc loc) { return load(table, loc, nullptr); }
  /// Rows of a table: position(d)[positions(T)]
  Value index(const TableUse &table, mlir::Value ids, Loc loc);
  /// Tables without a declared length get the rows that their uses need.
  void inferLengths(const Bounds &bounds);

private:
  static constexpr double kMaxElements = 1e9;

  Value load(const TableUse &table, Loc loc, Parameter **unsized);
  std::optional<std::vector<DimSize>> shapeOf(const Function &function, const ScopePtr &scope);
  bool fill(Parameter &parameter, const TableUse &table, const ScopePtr &scope, llvm::ArrayRef<DimSize> shape, Loc loc);

  Evaluator &e;
  std::map<std::string, std::unique_ptr<Parameter>> tables; // by key
};

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_TABLES_H
