// Expressions, by precedence climbing. From loose to tight: | & comparison +- */%@ unary ^ postfix.
#include "compiler/Frontend/Parser.h"

#include "llvm/ADT/ScopeExit.h"

using namespace xf::frontend;

namespace {
constexpr unsigned kMaxDepth = 200;
}

ExprPtr Parser::make(ExprKind kind, Loc loc, std::vector<ExprPtr> operands, std::string text) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->loc = loc;
  expr->text = std::move(text);
  for (auto &operand : operands)
    if (operand)
      expr->depth = std::max(expr->depth, operand->depth + 1);
  expr->operands = std::move(operands);
  if (expr->depth <= kMaxDepth)
    return expr;
  diagnostics.error(loc, "the expression is too deeply nested");
  return nullptr;
}

ExprPtr Parser::parseExprList() {
  Loc loc = peek().loc;
  std::vector<ExprPtr> all;
  do {
    all.push_back(parseExpr());
    if (!all.back())
      return nullptr;
  } while (continues() && accept(","));
  return all.size() == 1 ? std::move(all[0]) : make(ExprKind::Tuple, loc, std::move(all));
}

ExprPtr Parser::parseExpr() {
  llvm::scope_exit leave([&] { --nesting; });
  if (++nesting > kMaxDepth) {
    error(peek(), "the expression is too deeply nested");
    return nullptr;
  }
  if (isKeyword("if"))
    return parseIf();
  if (isKeyword("scan") && isName(1))
    return parseScan();
  if (isLambda())
    return parseLambda();
  return parseBinary(0);
}

/// `(b, i, j) ->` or `x ->`
bool Parser::isLambda() const {
  if (isName())
    return is("->", 1);
  if (!is("("))
    return false;
  size_t i = 1;
  while (isName(i) && is(",", i + 1))
    i += 2;
  return isName(i) && is(")", i + 1) && is("->", i + 2);
}

/// Reports a second parameter of the same name.
void Parser::checkDuplicate(const std::vector<Param> &params, const Param &param) {
  auto first = llvm::find_if(params, [&](const Param &other) { return other.name == param.name; });
  if (first == params.end())
    return;
  diagnostics.error(param.loc, "parameter '" + param.name + "' is declared twice");
  diagnostics.note(first->loc, "the first one is here");
}

ExprPtr Parser::parseLambda() {
  Loc loc = peek().loc;
  std::vector<Param> params;
  bool parenthesized = accept("(");
  do {
    Token name = consume();
    Param param;
    param.loc = name.loc;
    param.name = name.text;
    checkDuplicate(params, param);
    params.push_back(std::move(param));
  } while (parenthesized && accept(","));
  accept(")");
  accept("->");
  ExprPtr body = parseExpr();
  if (!body)
    return nullptr;
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(body));
  ExprPtr lambda = make(ExprKind::Lambda, loc, std::move(operands));
  if (lambda)
    lambda->params = std::move(params);
  return lambda;
}

ExprPtr Parser::parseIf() {
  Loc loc = consume().loc;
  std::vector<ExprPtr> operands;
  for (llvm::StringRef keyword : {"then", "else", ""}) {
    operands.push_back(parseExpr());
    if (!operands.back())
      return nullptr;
    if (!keyword.empty() && !acceptKeyword(keyword)) {
      unexpected(("'" + keyword + "' of the conditional expression").str());
      return nullptr;
    }
  }
  return make(ExprKind::If, loc, std::move(operands));
}

ExprPtr Parser::parseScan() {
  Loc loc = consume().loc;
  Token position = consume();
  if (!acceptKeyword("along")) {
    unexpected("'along' and the dimension of the scan");
    return nullptr;
  }
  std::vector<ExprPtr> operands;
  operands.push_back(parsePostfix());
  if (!operands.back())
    return nullptr;
  ExprPtr scan = make(ExprKind::Scan, loc, std::move(operands), position.text);
  if (!scan)
    return nullptr;
  scan->isReversed = acceptKeyword("reversed");
  return parseStatements(scan->body) ? std::move(scan) : nullptr;
}

ExprPtr Parser::parseBinary(unsigned level) {
  static const std::vector<std::vector<llvm::StringRef>> levels = {
      {"|"}, {"&"}, {"==", "!=", "<", "<=", ">", ">="}, {"+", "-"}, {"*", "/", "%", "@"}};
  if (level == levels.size())
    return parseUnary();
  ExprPtr left = parseBinary(level + 1);
  while (left && continues()) {
    Token op = peek();
    if (op.kind != TokenKind::Punctuation || !llvm::is_contained(levels[level], op.text))
      break;
    consume();
    ExprPtr right = parseBinary(level + 1);
    if (!right)
      return nullptr;
    std::vector<ExprPtr> operands;
    operands.push_back(std::move(left));
    operands.push_back(std::move(right));
    left = make(ExprKind::Binary, op.loc, std::move(operands), op.text);
    bool comparison = level == 2;
    if (left && comparison && continues() && peek().kind == TokenKind::Punctuation && llvm::is_contained(levels[2], peek().text)) {
      error(peek(), "comparisons do not chain; join them with '&'");
      return nullptr;
    }
  }
  return left;
}

ExprPtr Parser::parseUnary() {
  // As a last operand: x + if c then a else b.
  if (isKeyword("if") || (isKeyword("scan") && isName(1)) || isLambda())
    return parseExpr();
  if (!is("-") && !is("!"))
    return parsePower();
  Token op = consume();
  std::vector<ExprPtr> operands;
  operands.push_back(parseOperand());
  return operands.back() ? make(ExprKind::Unary, op.loc, std::move(operands), op.text) : nullptr;
}

/// Parses what follows an operator that binds to the right.
ExprPtr Parser::parseOperand() {
  llvm::scope_exit leave([&] { --nesting; });
  if (++nesting > kMaxDepth) {
    error(peek(), "the expression is too deeply nested");
    return nullptr;
  }
  return parseUnary();
}

ExprPtr Parser::parsePower() {
  ExprPtr base = parsePostfix();
  if (!base || !continues() || !is("^"))
    return base;
  Loc loc = consume().loc;
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(base));
  operands.push_back(parseOperand());
  return operands.back() ? make(ExprKind::Binary, loc, std::move(operands), "^") : nullptr;
}

ExprPtr Parser::parsePostfix() {
  ExprPtr expr = parsePrimary();
  while (expr && continues()) {
    Loc loc = expr->loc;
    if (is("(") || is("[")) {
      bool call = is("(");
      std::vector<ExprPtr> operands;
      operands.push_back(std::move(expr));
      expr = make(call ? ExprKind::Call : ExprKind::Index, loc, std::move(operands));
      if (!expr || !(call ? parseArguments(*expr) : parseSubscripts(*expr)))
        return nullptr;
    } else if (is(".")) {
      loc = consume().loc;
      if (!isName()) {
        unexpected("the name of a member");
        return nullptr;
      }
      std::vector<ExprPtr> operands;
      operands.push_back(std::move(expr));
      expr = make(ExprKind::Member, loc, std::move(operands), consume().text);
    } else {
      break;
    }
  }
  return expr;
}

bool Parser::parseArguments(Expr &call) {
  consume();
  ++parens;
  llvm::scope_exit leave([&] { --parens; });
  while (!is(")")) {
    Argument argument;
    argument.loc = peek().loc;
    if (isName() && is("=", 1)) {
      argument.name = consume().text;
      consume();
    }
    argument.value = parseExpr();
    if (!argument.value)
      return false;
    call.depth = std::max(call.depth, argument.value->depth + 1);
    call.arguments.push_back(std::move(argument));
    if (!accept(","))
      break;
  }
  return expect(")", "at the end of the arguments");
}

bool Parser::parseSubscripts(Expr &index) {
  consume();
  ++parens;
  llvm::scope_exit leave([&] { --parens; });
  do {
    ExprPtr subscript = parseSubscript();
    if (!subscript)
      return false;
    index.depth = std::max(index.depth, subscript->depth + 1);
    index.operands.push_back(std::move(subscript));
  } while (accept(","));
  return expect("]", "at the end of the index");
}

ExprPtr Parser::parseSubscript() {
  Loc loc = peek().loc;
  if (accept(".."))
    return make(ExprKind::Ellipsis, loc);
  std::vector<ExprPtr> parts(3);
  bool slice = false;
  for (unsigned i = 0; i < 3; ++i) {
    if (!is(":") && !is(",") && !is("]")) {
      parts[i] = parseExpr();
      if (!parts[i])
        return nullptr;
    }
    if (i == 2 || !accept(":"))
      break;
    slice = true;
  }
  if (slice)
    return make(ExprKind::Slice, loc, std::move(parts));
  if (!parts[0])
    unexpected("an index");
  return std::move(parts[0]);
}

ExprPtr Parser::parsePrimary() {
  Token token = peek();
  switch (token.kind) {
  case TokenKind::Integer:
  case TokenKind::Float: {
    consume();
    ExprPtr expr = make(token.kind == TokenKind::Integer ? ExprKind::Integer : ExprKind::Float, token.loc, {}, token.text);
    expr->integer = token.integer;
    expr->real = token.real;
    return expr;
  }
  case TokenKind::String:
    return make(ExprKind::String, token.loc, {}, consume().text);
  case TokenKind::Name:
    return make(ExprKind::Name, token.loc, {}, consume().text);
  default:
    break;
  }
  bool list = is("[");
  if (!list && !is("(")) {
    unexpected("an expression");
    return nullptr;
  }
  consume();
  ++parens;
  llvm::scope_exit leave([&] { --parens; });
  std::vector<ExprPtr> all;
  while (!is(list ? "]" : ")")) {
    all.push_back(parseExpr());
    if (!all.back())
      return nullptr;
    if (!accept(","))
      break;
  }
  if (!expect(list ? "]" : ")", list ? "at the end of the list" : "to close the parenthesis"))
    return nullptr;
  if (!list && all.size() == 1)
    return std::move(all[0]);
  return make(list ? ExprKind::List : ExprKind::Tuple, token.loc, std::move(all));
}
