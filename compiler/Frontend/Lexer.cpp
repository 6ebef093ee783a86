// The lexer: ASCII outside of comments and strings, line comments, numbers, names, punctuation.
#include "compiler/Frontend/Lexer.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <cstdlib>

using namespace xf::frontend;

namespace {
constexpr size_t kMaxNameLength = 1000;

class Lexer {
public:
  Lexer(llvm::StringRef text, uint32_t file, Diagnostics &diagnostics) : text(text), file(file), diagnostics(diagnostics) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    do
      tokens.push_back(next());
    while (tokens.back().kind != TokenKind::End);
    return tokens;
  }

private:
  char peek(size_t ahead = 0) const { return pos + ahead < text.size() ? text[pos + ahead] : '\0'; }
  Loc here() const { return {file, line, column}; }

  void advance() {
    char c = text[pos++];
    if (c == '\n') {
      ++line;
      column = 1;
      newline = true;
    } else if ((c & 0xC0) != 0x80) {
      ++column;
    }
  }

  void skipBlanks() {
    while (pos < text.size()) {
      if (llvm::isSpace(peek())) {
        advance();
      } else if (peek() == '/' && peek(1) == '/') {
        while (pos < text.size() && peek() != '\n')
          advance();
      } else {
        return;
      }
    }
  }

  Token next() {
    newline = pos == 0;
    skipBlanks();
    while (!startsToken())
      skipInvalidCharacters();
    Token token;
    token.loc = here();
    token.startsLine = newline;
    if (pos >= text.size())
      return token;
    char c = peek();
    if (llvm::isAlpha(c) || c == '_') {
      token.kind = TokenKind::Name;
      while (llvm::isAlnum(peek()) || peek() == '_')
        consume(token);
      if (token.text.size() > kMaxNameLength)
        diagnostics.error(token.loc, "a name has at most " + std::to_string(kMaxNameLength) + " characters");
    } else if (llvm::isDigit(c)) {
      lexNumber(token);
    } else if (c == '"') {
      lexString(token);
    } else {
      token.kind = TokenKind::Punctuation;
      for (size_t end = pos + punctuation().size(); pos < end;)
        consume(token);
    }
    return token;
  }

  bool startsToken() const { return pos >= text.size() || llvm::isAlnum(peek()) || peek() == '_' || peek() == '"' || !punctuation().empty(); }

  /// Skips characters that no token has, and the blanks after them; after too many errors, all of the rest.
  void skipInvalidCharacters() {
    char c = peek();
    bool ascii = static_cast<unsigned char>(c) < 0x80 && llvm::isPrint(c);
    diagnostics.error(here(), ascii ? std::string("unexpected '") + c + "'" : "only comments and strings hold other characters than ASCII");
    do
      advance();
    while (pos < text.size() && (static_cast<unsigned char>(peek()) >= 0x80 || peek() == '\0'));
    if (diagnostics.reachedErrorLimit())
      pos = text.size();
    skipBlanks();
  }

  void consume(Token &token) {
    token.text += peek();
    advance();
  }

  void lexNumber(Token &token) {
    token.kind = TokenKind::Integer;
    while (llvm::isDigit(peek()))
      consume(token);
    // "1.5" is a number, but "0..n" a range and "x.1" nothing.
    if (peek() == '.' && llvm::isDigit(peek(1))) {
      token.kind = TokenKind::Float;
      consume(token);
      while (llvm::isDigit(peek()))
        consume(token);
    }
    size_t exponent = (peek(1) == '-' || peek(1) == '+') ? 2 : 1;
    if ((peek() == 'e' || peek() == 'E') && llvm::isDigit(peek(exponent))) {
      token.kind = TokenKind::Float;
      for (size_t i = 0; i < exponent; ++i)
        consume(token);
      while (llvm::isDigit(peek()))
        consume(token);
    }
    if (llvm::isAlpha(peek()) || peek() == '_') {
      diagnostics.error(token.loc, "a name cannot start with a digit");
      while (llvm::isAlnum(peek()) || peek() == '_')
        advance();
    }
    token.real = std::strtod(token.text.c_str(), nullptr);
    if (token.kind == TokenKind::Float ? !std::isfinite(token.real) : llvm::StringRef(token.text).getAsInteger(10, token.integer))
      diagnostics.error(token.loc, "number " + token.text.substr(0, 40) + " is too large");
  }

  void lexString(Token &token) {
    token.kind = TokenKind::String;
    advance();
    while (pos < text.size() && peek() != '"' && peek() != '\n') {
      if (peek() == '\\' && (peek(1) == '"' || peek(1) == '\\'))
        advance();
      consume(token);
    }
    if (peek() != '"')
      return diagnostics.error(token.loc, "string without its closing '\"'");
    advance();
  }

  /// The longest punctuation that starts here; empty if there is none.
  llvm::StringRef punctuation() const {
    static constexpr llvm::StringLiteral all[] = {"->", "==", "!=", "<=", ">=", "..", "(", ")", "[", "]", "{", "}", ",", ":", ";",
                                                  "=",  "<",  ">",  "+",  "-",  "*",  "/", "%", "^", "@", ".", "&", "|", "!"};
    for (llvm::StringRef candidate : all)
      if (text.substr(pos).starts_with(candidate))
        return candidate;
    return {};
  }

  llvm::StringRef text;
  uint32_t file, line = 1, column = 1;
  Diagnostics &diagnostics;
  size_t pos = 0;
  bool newline = true;
};
} // namespace

std::vector<Token> xf::frontend::tokenize(const Sources &sources, uint32_t file, Diagnostics &diagnostics) {
  return Lexer(sources.text(file), file, diagnostics).run();
}
