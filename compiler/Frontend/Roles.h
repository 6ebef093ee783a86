// The directives of a model: generate(…), text(…) and predict(…), each a class in a file of its own.
#ifndef XF_COMPILER_FRONTEND_ROLES_H
#define XF_COMPILER_FRONTEND_ROLES_H

#include "compiler/Frontend/Evaluator.h"
#include "dialect/IR/ModuleRoles.h"

namespace xf::frontend {

/// Runs the directives of a model, whose entries have been built.
void runDirectives(Evaluator &evaluator, const InstanceRef &model);

void runGenerate(Evaluator &evaluator, const Expr &call, const ScopePtr &scope);
void runText(Evaluator &evaluator, const Expr &call, const ScopePtr &scope);
void runPredict(Evaluator &evaluator, const Expr &call, const ScopePtr &scope);

/// Reads the arguments of a directive, and collects what the module's attribute will say.
class Directive {
public:
  Directive(Evaluator &evaluator, const Expr &call, const ScopePtr &scope) : e(evaluator), call(call), scope(scope), builder(evaluator.builder) {}

protected:
  bool fail(Loc loc, const std::string &message) { return e.error(loc, message), false; }

  Value valueOf(const Argument &argument) { return e.eval(*argument.value, scope); }
  /// The name that an argument consists of, as `encode` in generate(encode, decode).
  static std::optional<std::string> nameOf(const Argument &argument);
  /// An argument that is a name, or an error; `what` is "'encode' of generate".
  std::optional<std::string> needName(const Argument &argument, const std::string &what);
  /// An integer from 0 to INT32_MAX; nothing with an error.
  std::optional<int64_t> asNonNegative(const Value &value, Loc loc, const std::string &what);
  /// Adds an argument that is a token id or a length as the member `key`, or nothing if it is none; false with an error.
  bool addIntegerArgument(const Argument &argument, llvm::StringRef key, const std::string &what);

  bool has(llvm::StringRef key) const {
    return llvm::any_of(members, [&](mlir::NamedAttribute member) { return member.getName() == key; });
  }
  void add(llvm::StringRef key, mlir::Attribute value) { members.push_back(builder.getNamedAttr(key, value)); }
  void addFlag(llvm::StringRef key) { add(key, builder.getUnitAttr()); }
  void addInteger(llvm::StringRef key, int64_t value) { add(key, builder.getI64IntegerAttr(value)); }
  void addString(llvm::StringRef key, llvm::StringRef value) { add(key, builder.getStringAttr(value)); }
  void addEntry(llvm::StringRef key, mlir::xf::EntryOp entry) { add(key, mlir::FlatSymbolRefAttr::get(entry.getSymNameAttr())); }
  /// Writes the module's attribute, and where its members come from.
  void write(llvm::StringRef attribute);
  /// Where the argument of that name stands.
  Loc argumentLoc(llvm::StringRef name) const;

  Evaluator &e;
  const Expr &call;
  const ScopePtr &scope;
  mlir::OpBuilder &builder;
  llvm::SmallVector<mlir::NamedAttribute> members;
};

/// [batch, positions], in any order, both known at run time only.
inline bool isTwoDynamicDims(mlir::RankedTensorType type) { return type.getRank() == 2 && type.isDynamicDim(0) && type.isDynamicDim(1); }
inline bool isTokens(mlir::RankedTensorType type) { return type.getElementType().isInteger(32); }

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_ROLES_H
