// Text to tokens.
#ifndef XF_COMPILER_FRONTEND_LEXER_H
#define XF_COMPILER_FRONTEND_LEXER_H

#include "compiler/Frontend/Source.h"

namespace xf::frontend {

enum class TokenKind { End, Name, Integer, Float, String, Punctuation };

struct Token {
  TokenKind kind = TokenKind::End;
  Loc loc;
  std::string text;        // the name, the punctuation, or the string's value
  int64_t integer = 0;
  double real = 0;
  bool startsLine = false; // a line break stands before it
};

/// All tokens of a file, the last one being End. Errors go to `diagnostics`; the rest of the file is still read.
std::vector<Token> tokenize(const Sources &sources, uint32_t file, Diagnostics &diagnostics);

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_LEXER_H
