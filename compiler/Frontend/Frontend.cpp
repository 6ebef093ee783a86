// The frontend's driver: parse the library, the description and what it imports, evaluate, verify.
#include "compiler/Frontend/CleanUp.h"
#include "compiler/Frontend/Evaluator.h"
#include "compiler/Frontend/Files.h"
#include "compiler/Frontend/Roles.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"

using namespace xf::frontend;

Evaluator::Evaluator(mlir::MLIRContext &context, Sources &sources, Diagnostics &diagnostics, const FrontendOptions &options)
    : Messages(context, sources, diagnostics), builder(&context), options(options) {}

ScopePtr Evaluator::fileScope(const File &file, const ScopePtr &parent) {
  auto scope = std::make_shared<Scope>();
  scope->parent = parent;
  auto declare = [&](llvm::StringRef name, Value value, Loc loc) {
    if (auto it = scope->names.find(name); it != scope->names.end()) {
      error(loc, "'" + name.str() + "' is declared twice");
      note(it->second.loc, "the first one is here");
      return;
    }
    scope->set(name, std::move(value), loc);
  };
  for (auto &block : file.blocks)
    declare(block->name, BlockRef{block.get(), scope}, block->loc);
  for (auto &function : file.functions) {
    auto closure = std::make_shared<Closure>();
    closure->function = function.get();
    closure->scope = scope;
    declare(function->name, closure, function->loc);
  }
  for (const Constant &constant : file.constants)
    declare(constant.name, eval(*constant.value, scope), constant.loc);
  scopes.push_back(scope);
  return scope;
}

const Block *Evaluator::chooseModel(const File &file) {
  const Block *chosen = nullptr;
  for (auto &block : file.blocks)
    if (options.model.empty() ? block->isModel || (!chosen || !chosen->isModel) : block->name == options.model)
      chosen = block.get();
  if (chosen)
    return chosen;
  std::string names;
  for (auto &block : file.blocks)
    names += (names.empty() ? "" : ", ") + block->name;
  error({}, options.model.empty()
                ? "the description has no model"
                : "the description has no model or block '" + options.model + "'" + (names.empty() ? "" : " (it has " + names + ")"));
  return nullptr;
}

mlir::OwningOpRef<mlir::ModuleOp> Evaluator::run(const File &library, const File &imports, const File &file) {
  module = mlir::ModuleOp::create(builder.getUnknownLoc());
  ScopePtr base = fileScope(library, nullptr), imported = fileScope(imports, base), scope = fileScope(file, imported);
  llvm::scope_exit leave([&] {
    // Functions refer to their scopes and scopes to functions: break the cycles.
    for (const ScopePtr &each : scopes)
      each->names.clear();
  });
  // The chosen model or block may be one of an imported file or of the library, unless the description has one of that name.
  const File *from = &file;
  for (const auto &[other, names] : {std::pair{&imports, imported}, {&library, base}}) {
    auto isNamed = [&](auto &block) { return block->name == options.model; };
    if (llvm::any_of(from->blocks, isNamed) || llvm::none_of(other->blocks, isNamed))
      continue;
    from = other;
    scope = names;
  }
  const Block *model = chooseModel(*from);
  Spec spec;
  if (!model || !bindOptions(*model, scope, spec))
    return {};
  (*module)->setAttr(mlir::xf::kNameAttr, builder.getStringAttr(model->name));
  Instance *instance = instances.makeModel(spec);
  if (!instance)
    return {};
  InstanceRef self{instance, {}};
  if (model->isModel) {
    bounds.declare(*instance);
    for (const Function *entry : instance->entries)
      entries.build(self, *entry);
    if (instance->entries.empty())
      error(model->loc, "model '" + model->name + "' has no entry");
    if (diagnostics.getErrorCount() == 0)
      runDirectives(*this, self);
  } else {
    entries.buildBlock(self);
  }
  if (diagnostics.getErrorCount() == 0) {
    bounds.write(entries.inputDims());
    tables.inferLengths(bounds);
  }
  if (diagnostics.getErrorCount() > 0)
    return {};
  probabilities.replaceAll();
  cleanUp(*module);
  return std::move(module);
}

mlir::OwningOpRef<mlir::ModuleOp> xf::compileDescription(mlir::MLIRContext &context, llvm::StringRef fileName, llvm::StringRef text,
                                                         const FrontendOptions &options, llvm::raw_ostream &os, std::vector<std::string> *imported) {
  context.loadDialect<mlir::xf::XfDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  Sources sources;
  Diagnostics diagnostics(sources, os);
  FileReader reader(sources, diagnostics);
  File library = reader.readLibrary(), file = reader.readDescription(fileName, text);
  File imports = reader.readImports(fileName, file);
  if (imported)
    *imported = reader.imported();
  if (diagnostics.getErrorCount() > 0)
    return {};

  // Messages of the dialect's helpers and verifiers are printed in the same form, with locations in the description.
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    Loc loc = sources.fromMlir(diagnostic.getLocation());
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      diagnostics.error(loc, diagnostic.str());
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      diagnostics.note(sources.fromMlir(note.getLocation()), note.str());
    return mlir::success();
  });
  Evaluator evaluator(context, sources, diagnostics, options);
  auto module = evaluator.run(library, imports, file);
  for (const std::string &note : evaluator.verboseNotes)
    diagnostics.note({}, note);
  if (module && failed(mlir::verify(*module)))
    return {};
  return module;
}
