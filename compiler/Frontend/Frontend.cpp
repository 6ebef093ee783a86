// The frontend's driver: parse the library and the description, evaluate, verify.
#include "compiler/Frontend/Evaluator.h"
#include "compiler/Frontend/LibraryFiles.h"
#include "compiler/Frontend/Parser.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/ConvertUTF.h"

using namespace xf::frontend;

Evaluator::Evaluator(mlir::MLIRContext &context, Sources &sources, Diagnostics &diagnostics, const FrontendOptions &options)
    : builder(&context), sources(sources), diagnostics(diagnostics), options(options) {
  realType = builder.getF32Type();
}

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
  error({}, options.model.empty() ? "the description has no model"
                                  : "the description has no model or block '" + options.model + "'" +
                                        (names.empty() ? "" : " (it has " + names + ")"));
  return nullptr;
}

mlir::OwningOpRef<mlir::ModuleOp> Evaluator::run(const File &library, const File &file) {
  module = mlir::ModuleOp::create(builder.getUnknownLoc());
  ScopePtr base = fileScope(library, nullptr), scope = fileScope(file, base);
  llvm::scope_exit leave([&] {
    // Functions refer to their scopes and scopes to functions: break the circles.
    for (const ScopePtr &each : scopes)
      each->names.clear();
  });
  // A block of the library by itself, unless the description has one of that name.
  auto named = [&](auto &block) { return block->name == options.model; };
  bool fromLibrary = llvm::none_of(file.blocks, named) && llvm::any_of(library.blocks, named);
  const Block *model = chooseModel(fromLibrary ? library : file);
  if (fromLibrary)
    scope = base;
  Spec spec;
  if (!model || !bindOptions(*model, scope, spec))
    return {};
  (*module)->setAttr(mlir::xf::kNameAttr, builder.getStringAttr(model->name));
  Instance *instance = instantiate(spec, "", "", {}, {});
  if (!instance)
    return {};
  InstanceRef self{instance, {}};
  if (model->isModel) {
    declareBounds(*instance);
    for (const Function *entry : instance->entries)
      buildEntry(self, *entry);
    if (instance->entries.empty())
      error(model->loc, "model '" + model->name + "' has no entry");
    if (diagnostics.getErrorCount() == 0)
      runDirectives(self);
  } else {
    buildBlockEntry(self);
  }
  if (diagnostics.getErrorCount() == 0)
    setBounds();
  if (diagnostics.getErrorCount() > 0)
    return {};
  cleanUp();
  return std::move(module);
}

mlir::OwningOpRef<mlir::ModuleOp> xf::compileDescription(mlir::MLIRContext &context, llvm::StringRef fileName, llvm::StringRef text,
                                                         const FrontendOptions &options, llvm::raw_ostream &os) {
  context.loadDialect<mlir::xf::XfDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  Sources sources;
  Diagnostics diagnostics(sources, os);
  File library, file;
  for (const LibraryFile &each : libraryFiles()) {
    uint32_t id = sources.add(("<library>/" + each.name).str(), each.text.str(), true);
    File part = Parser(tokenize(sources, id, diagnostics), diagnostics).parseFile();
    std::move(part.blocks.begin(), part.blocks.end(), std::back_inserter(library.blocks));
    std::move(part.functions.begin(), part.functions.end(), std::back_inserter(library.functions));
    std::move(part.constants.begin(), part.constants.end(), std::back_inserter(library.constants));
  }
  if (text.size() > (64u << 20)) {
    diagnostics.error({}, (fileName + " is too large for a description").str());
    return {};
  }
  text.consume_front("\xEF\xBB\xBF"); // the mark that some editors put before UTF-8
  uint32_t id = sources.add(fileName.str(), text.str(), false);
  const auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.begin()), *end = reinterpret_cast<const llvm::UTF8 *>(text.end());
  if (!llvm::isLegalUTF8String(&begin, end) || text.contains('\0')) {
    diagnostics.error({}, (fileName + " is not UTF-8 text").str());
    return {};
  }
  file = Parser(tokenize(sources, id, diagnostics), diagnostics).parseFile();
  if (diagnostics.getErrorCount() > 0)
    return {};

  // Messages of the dialect's helpers and verifiers come at the same places and in the same form.
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    Loc loc = sources.fromMlir(diagnostic.getLocation());
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      diagnostics.error(loc, diagnostic.str());
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      diagnostics.note(sources.fromMlir(note.getLocation()), note.str());
    return mlir::success();
  });
  Evaluator evaluator(context, sources, diagnostics, options);
  auto module = evaluator.run(library, file);
  for (const std::string &note : evaluator.verboseNotes)
    diagnostics.note({}, note);
  if (module && failed(mlir::verify(*module)))
    return {};
  return module;
}
