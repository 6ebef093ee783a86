// Tokens to the syntax tree. Errors are reported and skipped: a statement, member or declaration that fails to
// parse is left out, and the next one is read.
#ifndef XF_COMPILER_FRONTEND_PARSER_H
#define XF_COMPILER_FRONTEND_PARSER_H

#include "compiler/Frontend/Ast.h"
#include "compiler/Frontend/Lexer.h"

namespace xf::frontend {

class Parser {
public:
  Parser(std::vector<Token> tokens, Diagnostics &diagnostics) : tokens(std::move(tokens)), diagnostics(diagnostics) {}
  File parseFile();

private:
  // Declarations (ParserDecls.cpp). They return false after an error.
  bool parseDeclaration(File &file);
  bool parseBlock(Block &block);
  bool parseItems(std::vector<Item> &items, bool isModel);
  bool parseItem(Item &item, bool isModel);
  bool parseConditionalItems(Item &item, bool isModel);
  bool parseFunction(Function &function);
  bool parseIndices(Function &function, llvm::StringRef close);
  bool parseBehindParams(Function &function);
  bool parseConfigPaths(Param &param);
  bool parseParams(std::vector<Param> &params, llvm::StringRef close, bool ofBlock = false);
  void checkDuplicate(const std::vector<Param> &params, const Param &param);
  bool parseType(TypeExpr &type);
  bool parsePath(std::optional<std::string> &path);
  bool parseTargets(std::vector<Target> &targets);

  // Statements (ParserDecls.cpp).
  bool parseStatements(std::vector<Stmt> &body);
  bool parseStatement(Stmt &stmt);

  // Expressions (ParserExprs.cpp). Null after an error.
  ExprPtr parseExpr();
  ExprPtr parseExprList();
  ExprPtr parseBinary(unsigned level);
  ExprPtr parseUnary();
  ExprPtr parseOperand();
  ExprPtr parsePower();
  ExprPtr parsePostfix();
  ExprPtr parsePrimary();
  ExprPtr parseIf();
  ExprPtr parseLambda();
  ExprPtr parseScan();
  bool parseArguments(Expr &call);
  bool parseSubscripts(Expr &index);
  ExprPtr parseSubscript();
  bool isLambda() const;

  // Tokens.
  const Token &peek(size_t ahead = 0) const { return tokens[std::min(pos + ahead, tokens.size() - 1)]; }
  bool is(llvm::StringRef text, size_t ahead = 0) const;
  bool isKeyword(llvm::StringRef text, size_t ahead = 0) const;
  bool isName(size_t ahead = 0) const { return peek(ahead).kind == TokenKind::Name; }
  Token consume() { return tokens[pos < tokens.size() - 1 ? pos++ : pos]; }
  bool accept(llvm::StringRef text);
  bool acceptKeyword(llvm::StringRef text);
  bool expect(llvm::StringRef text, llvm::StringRef where);
  bool expectName(Target &target, llvm::StringRef what);
  bool error(const Token &token, const std::string &message);
  bool unexpected(llvm::StringRef expected);
  /// Whether an expression may go on with the next token: inside parentheses always, else on the same line only.
  bool continues() const { return parens > 0 || !peek().startsLine; }
  /// Skips to where the next statement, member or declaration seems to begin.
  void recover(size_t start, bool topLevel);
  bool endStatement();

  ExprPtr make(ExprKind kind, Loc loc, std::vector<ExprPtr> operands = {}, std::string text = {});

  std::vector<Token> tokens;
  Diagnostics &diagnostics;
  size_t pos = 0;
  unsigned parens = 0, nesting = 0;
};

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_PARSER_H
