#include "compiler/Explain/SourceText.h"

#include "compiler/Explain/ExpressionText.h"
#include "compiler/Frontend/Files.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <deque>
#include <map>

using namespace mlir;

namespace xf {
using namespace frontend;

/// A file's expressions and loops, by their positions.
class SourceText::File {
public:
  File(StringRef name, StringRef text) {
    Diagnostics diagnostics(sources, llvm::nulls()); // it has been read without errors
    syntax = FileReader(sources, diagnostics).readDescription(name, text);
    for (auto &block : syntax.blocks)
      for (const Item &item : block->items)
        add(item);
    for (auto &function : syntax.functions)
      add(*function);
    for (const Constant &constant : syntax.constants)
      add(*constant.value);
  }

  const Expr *expressionAt(FileLineColLoc loc) const { return at(expressions, loc); }
  const Stmt *loopAt(FileLineColLoc loc) const { return at(loops, loc); }

private:
  using Position = std::pair<unsigned, unsigned>; // line and column
  static Position positionOf(Loc loc) { return {loc.line, loc.column}; }

  template <typename Node> static const Node *at(const std::map<Position, const Node *> &nodes, FileLineColLoc loc) {
    auto found = nodes.find({loc.getLine(), loc.getColumn()});
    return found == nodes.end() ? nullptr : found->second;
  }

  /// Of expressions at the same position, as f and f(x), the outermost counts; a tuple is not added.
  void add(const Expr &expr) {
    if (expr.kind != ExprKind::Tuple)
      expressions.try_emplace(positionOf(expr.loc), &expr);
    // A pattern stands for the call that it is an argument of.
    for (const Argument &argument : expr.arguments)
      if (argument.value->kind == ExprKind::String)
        expressions.try_emplace(positionOf(argument.value->loc), &expr);
    forEachPart(expr, [&](const Expr &part) { add(part); });
    add(expr.body);
  }

  void add(const std::vector<Stmt> &statements) {
    for (const Stmt &statement : statements) {
      if (statement.kind == StmtKind::For)
        loops.try_emplace(positionOf(statement.loc), &statement);
      for (const Target &target : statement.targets)
        addName(target.loc, target.name);
      if (statement.value)
        add(*statement.value);
      add(statement.body);
      add(statement.otherwise);
    }
  }

  void addName(Loc loc, const std::string &text) {
    Expr &name = names.emplace_back();
    name.kind = ExprKind::Name, name.loc = loc, name.text = text;
    add(name);
  }

  void add(const Function &function) {
    for (const Param &param : function.params)
      addName(param.loc, param.name);
    if (function.expr)
      add(*function.expr);
    add(function.body);
  }

  void add(const Item &item) {
    if (item.value)
      add(*item.value);
    if (item.method)
      add(*item.method);
    for (const auto *items : {&item.items, &item.otherwise})
      for (const Item &inner : *items)
        add(inner);
  }

  Sources sources;
  frontend::File syntax;
  std::deque<Expr> names; // of declared variables and parameters
  std::map<Position, const Expr *> expressions;
  std::map<Position, const Stmt *> loops;
};

SourceText::SourceText(StringRef fileName, StringRef text) { files[fileName] = std::make_unique<File>(fileName, text); }
SourceText::~SourceText() = default;

/// The file of a location; empty for the library's.
const SourceText::File &SourceText::fileOf(FileLineColLoc loc) const {
  StringRef name = loc.getFilename().getValue();
  std::unique_ptr<File> &file = files[name];
  if (!file) {
    auto buffer = llvm::MemoryBuffer::getFile(name);
    file = std::make_unique<File>(name, buffer ? (*buffer)->getBuffer() : "");
  }
  return *file;
}

llvm::SmallVector<FileLineColLoc> SourceText::locations(Location location) const {
  SmallVector<FileLineColLoc> found;
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      for (FileLineColLoc loc : locations(part))
        if (!llvm::is_contained(found, loc))
          found.push_back(loc);
  } else if (auto loc = dyn_cast<FileLineColLoc>(location); loc && (fileOf(loc).expressionAt(loc) || fileOf(loc).loopAt(loc))) {
    found.push_back(loc);
  }
  return found;
}

std::string SourceText::expression(FileLineColLoc loc) const {
  const Expr *expr = fileOf(loc).expressionAt(loc);
  return expr ? textOf(*expr) : "";
}

static bool isPart(const Expr &whole, const Expr *expr) {
  bool found = false;
  forEachPart(whole, [&](const Expr &part) { found |= &part == expr || isPart(part, expr); });
  return found;
}

bool SourceText::contains(FileLineColLoc outer, FileLineColLoc inner) const {
  if (outer.getFilename() != inner.getFilename())
    return false;
  const Expr *whole = fileOf(outer).expressionAt(outer), *part = fileOf(inner).expressionAt(inner);
  return whole && part && isPart(*whole, part);
}

std::string SourceText::loop(FileLineColLoc loc) const {
  const Stmt *loop = fileOf(loc).loopAt(loc);
  if (!loop)
    return "";
  std::string names;
  for (const Target &target : loop->targets)
    names += (names.empty() ? "" : ", ") + target.name;
  return "for " + names + " in " + textOf(*loop->value);
}

std::string SourceText::format(FileLineColLoc loc) {
  return (llvm::sys::path::filename(loc.getFilename().getValue()) + ":" + llvm::Twine(loc.getLine())).str();
}

} // namespace xf
