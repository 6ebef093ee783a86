// Tests of the next tokens, and recovery after errors.
#include "compiler/Frontend/Parser.h"

using namespace xf::frontend;

bool Parser::is(llvm::StringRef text, size_t ahead) const { return peek(ahead).kind == TokenKind::Punctuation && peek(ahead).text == text; }

bool Parser::isKeyword(llvm::StringRef text, size_t ahead) const { return isName(ahead) && peek(ahead).text == text; }

bool Parser::accept(llvm::StringRef text) {
  if (!is(text))
    return false;
  consume();
  return true;
}

bool Parser::acceptKeyword(llvm::StringRef text) {
  if (!isKeyword(text))
    return false;
  consume();
  return true;
}

bool Parser::error(const Token &token, const std::string &message) {
  diagnostics.error(token.loc, message);
  return false;
}

bool Parser::unexpected(llvm::StringRef expected) {
  const Token &token = peek();
  std::string found = token.kind == TokenKind::End      ? "the end of the file"
                      : token.kind == TokenKind::String ? "a string"
                                                        : "'" + token.text.substr(0, 40) + "'";
  return error(token, "expected " + expected.str() + ", found " + found);
}

bool Parser::expect(llvm::StringRef text, llvm::StringRef where) { return accept(text) || unexpected(("'" + text + "' " + where).str()); }

bool Parser::expectName(Target &target, llvm::StringRef what) {
  if (!isName())
    return unexpected(what);
  Token token = consume();
  target = {token.loc, token.text};
  return true;
}

void Parser::recover(size_t start, bool topLevel) {
  pos = std::max(pos, start);
  if (pos == start)
    consume();
  parens = 0;
  nesting = 0;
  int braces = 0, others = 0;
  for (size_t i = start; i < pos; ++i) {
    const std::string &text = tokens[i].kind == TokenKind::Punctuation ? tokens[i].text : "";
    braces += (text == "{") - (text == "}");
    others += (text == "(" || text == "[") - (text == ")" || text == "]");
  }
  for (; peek().kind != TokenKind::End; consume()) {
    const Token &token = peek();
    bool begins = token.startsLine && braces <= 0 && (others <= 0 || token.loc.column <= tokens[start].loc.column);
    if (topLevel ? token.startsLine && token.loc.column == 1 && isName() : begins)
      return;
    if (topLevel)
      continue;
    if (is("}") && braces <= 0)
      return;
    braces += is("{") - is("}");
    others += (is("(") || is("[")) - (is(")") || is("]"));
    if (is(";") && braces <= 0 && others <= 0)
      return;
  }
}

bool Parser::endStatement() {
  if (accept(";") || is("}") || peek().kind == TokenKind::End || peek().startsLine)
    return true;
  return unexpected("the end of the line");
}
