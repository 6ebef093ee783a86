// Declarations, members and statements.
#include "compiler/Frontend/Parser.h"

#include "llvm/ADT/ScopeExit.h"

using namespace xf::frontend;

File Parser::parseFile() {
  File file;
  while (peek().kind != TokenKind::End && !diagnostics.reachedErrorLimit()) {
    size_t start = pos;
    if (!parseDeclaration(file))
      recover(start, true);
  }
  return file;
}

bool Parser::parseDeclaration(File &file) {
  if (accept(";"))
    return true;
  if (isName(1) && (isKeyword("block") || isKeyword("model"))) {
    auto block = std::make_unique<Block>();
    bool good = parseBlock(*block);
    if (!block->name.empty())
      file.blocks.push_back(std::move(block));
    return good;
  }
  if (isKeyword("import") && peek(1).kind == TokenKind::String) {
    consume();
    Token path = consume();
    file.imports.push_back({path.loc, path.text});
    return endStatement();
  }
  if (isName() && is("=", 1)) {
    Token name = consume();
    consume();
    Constant constant{name.loc, name.text, parseExpr()};
    if (!constant.value || !endStatement())
      return false;
    file.constants.push_back(std::move(constant));
    return true;
  }
  bool table = isName(1) && (isKeyword("table") || isKeyword("mask") || isKeyword("bias"));
  if (!table && !(isName() && is("(", 1)))
    return unexpected("a block, a model or a function");
  auto function = std::make_unique<Function>();
  bool good = parseFunction(*function);
  if (good)
    file.functions.push_back(std::move(function));
  return good;
}

bool Parser::parseBlock(Block &block) {
  block.isModel = consume().text == "model";
  Token name = consume();
  block.loc = name.loc;
  if (!is("(") && !is("{"))
    return unexpected("'(' and the parameters of '" + name.text + "'");
  if (accept("(") && !parseParams(block.params, ")", /*ofBlock=*/true))
    return false;
  block.name = name.text;
  return parseItems(block.items, block.isModel);
}

bool Parser::parseItems(std::vector<Item> &items, bool isModel) {
  if (!expect("{", "and members"))
    return false;
  llvm::scope_exit leave([&, outer = parens] { --nesting, parens = outer; });
  parens = 0;
  if (++nesting > 100)
    return error(peek(), "blocks are too deeply nested");
  while (!is("}")) {
    if (peek().kind == TokenKind::End || diagnostics.reachedErrorLimit())
      return unexpected("'}' at the end of the members");
    if (accept(";"))
      continue;
    Item item;
    size_t start = pos;
    unsigned depth = nesting;
    if (parseItem(item, isModel) && endStatement()) {
      items.push_back(std::move(item));
      continue;
    }
    recover(start, false);
    nesting = depth;
  }
  consume();
  return true;
}

bool Parser::parseItem(Item &item, bool isModel) {
  item.loc = peek().loc;
  if (isKeyword("if"))
    return parseConditionalItems(item, isModel);
  bool function = isName(1) && (isKeyword("table") || isKeyword("mask") || isKeyword("bias") || isKeyword("entry"));
  bool directive = isModel && is("(", 1) && (isKeyword("generate") || isKeyword("text") || isKeyword("predict"));
  if (function || (!directive && isName() && is("(", 1))) {
    item.kind = ItemKind::Method;
    item.method = std::make_unique<Function>();
    item.method->kind = FunctionKind::Method;
    return parseFunction(*item.method);
  }
  if (directive) {
    item.kind = ItemKind::Directive;
    item.value = parsePostfix();
    return item.value != nullptr;
  }
  item.kind = ItemKind::Member;
  if (isKeyword("param") && isName(1)) {
    consume();
    item.kind = ItemKind::Weight;
  }
  if (!parseTargets(item.names))
    return false;
  if (!is(":"))
    return unexpected("':' and what '" + item.names.back().name + "' is");
  consume();
  if (item.kind == ItemKind::Weight) {
    if (!parseType(item.type))
      return false;
  } else if (!(item.value = parseExpr())) {
    return false;
  }
  return parsePath(item.path);
}

bool Parser::parseConditionalItems(Item &item, bool isModel) {
  consume();
  item.kind = ItemKind::If;
  item.value = parseExpr();
  if (!item.value || !parseItems(item.items, isModel))
    return false;
  if (!acceptKeyword("else"))
    return true;
  if (!isKeyword("if"))
    return parseItems(item.otherwise, isModel);
  llvm::scope_exit leave([&] { --nesting; });
  if (++nesting > 100)
    return error(peek(), "blocks are too deeply nested");
  item.otherwise.emplace_back();
  item.otherwise.back().loc = peek().loc;
  return parseConditionalItems(item.otherwise.back(), isModel);
}

bool Parser::parsePath(std::optional<std::string> &path) {
  if (!acceptKeyword("as"))
    return true;
  if (peek().kind != TokenKind::String)
    return unexpected("a string with the name in the checkpoint");
  Token name = consume();
  path = name.text;
  for (size_t open = name.text.find('{'); open != std::string::npos; open = name.text.find('{', open + 1)) {
    std::string placeholder = name.text.substr(open, name.text.find('}', open) - open + 1);
    if (placeholder != "{i}")
      return error(name, "the name \"" + name.text + "\" has '" + placeholder + "'; '{i}' alone stands for a number");
  }
  return true;
}

bool Parser::parseTargets(std::vector<Target> &targets) {
  do {
    targets.emplace_back();
    if (!expectName(targets.back(), "a name"))
      return false;
  } while (accept(","));
  return true;
}

bool Parser::parseIndices(Function &function, llvm::StringRef close) {
  if (!parseParams(function.indices, close))
    return false;
  for (const Param &index : function.indices)
    checkDuplicate(function.params, index);
  return true;
}

/// The indices of tables, masks and biases, and the results of entries.
bool Parser::parseBehindParams(Function &function) {
  switch (function.kind) {
  case FunctionKind::Table:
    return expect("[", "and the indices of the table") && parseIndices(function, "]");
  case FunctionKind::Mask:
  case FunctionKind::Bias:
    if (accept("("))
      return parseIndices(function, ")");
    std::swap(function.params, function.indices); // `mask causal(b, i, j) = …` has positions only
    return true;
  case FunctionKind::Entry:
    return expect("->", "and the names of the results") && parseTargets(function.results);
  case FunctionKind::Function:
  case FunctionKind::Method:
    return true;
  }
  llvm_unreachable("unknown kind of function");
}

/// `name(params) = expr`, `name(params) { … }`; `mask` and `bias` with a second list, `table` with indices in brackets.
bool Parser::parseFunction(Function &function) {
  if (!is("(", 1)) {
    std::string kind = consume().text;
    function.kind = kind == "table"  ? FunctionKind::Table
                    : kind == "mask" ? FunctionKind::Mask
                    : kind == "bias" ? FunctionKind::Bias
                                     : FunctionKind::Entry;
  }
  Token name = consume();
  function.loc = name.loc;
  function.name = name.text;
  if (accept("(") && !parseParams(function.params, ")"))
    return false;
  if (!parseBehindParams(function))
    return false;
  if (is("{"))
    return parseStatements(function.body);
  if (!expect("=", ("or '{' and the body of '" + name.text + "'")))
    return false;
  function.expr = parseExprList();
  return function.expr && parsePath(function.path);
}

bool Parser::parseConfigPaths(Param &param) {
  do {
    if (peek().kind != TokenKind::String)
      return unexpected("a string with the name in configurations");
    Token path = consume();
    if (("." + path.text + ".").find("..") != std::string::npos)
      return error(path, "the name \"" + path.text + "\" has an empty part");
    param.configPaths.push_back(path.text);
  } while (acceptKeyword("or"));
  return true;
}

bool Parser::parseParams(std::vector<Param> &params, llvm::StringRef close, bool ofBlock) {
  ++parens;
  llvm::scope_exit leave([&] { --parens; });
  while (!is(close)) {
    Target name;
    if (!expectName(name, "the name of a parameter"))
      return false;
    Param param;
    param.loc = name.loc;
    param.name = name.name;
    if (accept(":") && !parseType(param.type.emplace()))
      return false;
    if (ofBlock && acceptKeyword("in") && !(param.choices = parseExpr()))
      return false;
    if (close == "]" && accept("<") && !(param.below = parseExpr()))
      return false;
    if (accept("=") && !(param.value = parseExpr()))
      return false;
    if (ofBlock && acceptKeyword("as") && !parseConfigPaths(param))
      return false;
    checkDuplicate(params, param);
    params.push_back(std::move(param));
    if (!accept(","))
      break;
  }
  return expect(close, "at the end of the parameters");
}

bool Parser::parseType(TypeExpr &type) {
  Target name;
  if (!expectName(name, "a type"))
    return false;
  type.loc = name.loc;
  type.name = name.name;
  if (!continues() || !accept("["))
    return true;
  type.hasShape = true;
  ++parens;
  llvm::scope_exit leave([&] { --parens; });
  while (!is("]")) {
    DimExpr dim;
    dim.loc = peek().loc;
    if (!accept("..")) {
      dim.size = parseBinary(3);
      if (!dim.size || (accept("<=") && !(dim.bound = parseBinary(3))))
        return false;
    }
    type.dims.push_back(std::move(dim));
    if (!accept(","))
      break;
  }
  return expect("]", "at the end of the shape");
}

bool Parser::parseStatements(std::vector<Stmt> &body) {
  if (!expect("{", "and statements"))
    return false;
  llvm::scope_exit leave([&, outer = parens] { --nesting, parens = outer; });
  parens = 0;
  if (++nesting > 100)
    return error(peek(), "statements are too deeply nested");
  while (!is("}")) {
    if (peek().kind == TokenKind::End || diagnostics.reachedErrorLimit())
      return unexpected("'}' at the end of the statements");
    if (accept(";"))
      continue;
    Stmt stmt;
    size_t start = pos;
    unsigned depth = nesting;
    if (parseStatement(stmt) && endStatement()) {
      body.push_back(std::move(stmt));
      continue;
    }
    recover(start, false);
    nesting = depth;
  }
  consume();
  return true;
}

bool Parser::parseStatement(Stmt &stmt) {
  stmt.loc = peek().loc;
  bool assigns = is("=", 1) || is(",", 1);
  if (!assigns && isKeyword("if")) {
    consume();
    stmt.kind = StmtKind::If;
    stmt.value = parseExpr();
    if (!stmt.value || !parseStatements(stmt.body))
      return false;
    if (!acceptKeyword("else"))
      return true;
    if (!isKeyword("if"))
      return parseStatements(stmt.otherwise);
    llvm::scope_exit leave([&] { --nesting; });
    if (++nesting > 100)
      return error(peek(), "statements are too deeply nested");
    stmt.otherwise.emplace_back();
    return parseStatement(stmt.otherwise.back());
  }
  if (!assigns && isKeyword("for")) {
    consume();
    stmt.kind = StmtKind::For;
    if (!parseTargets(stmt.targets))
      return false;
    if (!acceptKeyword("in"))
      return unexpected("'in' and a list");
    stmt.value = parseExpr();
    return stmt.value && parseStatements(stmt.body);
  }
  if (!assigns && (isKeyword("return") || isKeyword("yield"))) {
    stmt.kind = consume().text == "return" ? StmtKind::Return : StmtKind::Yield;
    stmt.value = parseExprList();
    return stmt.value != nullptr;
  }
  stmt.kind = StmtKind::Assign;
  if (isKeyword("state") && isName(1)) {
    consume();
    stmt.kind = StmtKind::State;
  }
  if (!isName())
    return unexpected("a statement");
  if (!parseTargets(stmt.targets) || !expect("=", "and the value of '" + stmt.targets.back().name + "'"))
    return false;
  stmt.value = parseExprList();
  return stmt.value != nullptr;
}
