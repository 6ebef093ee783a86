#include "compiler/Explain/SourceText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace xf {

SourceText::SourceText(StringRef fileName, StringRef text) { text.split(files[fileName], '\n'); }

/// Nothing for the library's.
const SourceText::Lines &SourceText::linesOf(FileLineColLoc place) const {
  StringRef name = place.getFilename().getValue();
  auto [file, isNew] = files.try_emplace(name);
  if (!isNew || name.starts_with("<"))
    return file->second;
  if (auto buffer = llvm::MemoryBuffer::getFile(name)) {
    (*buffer)->getBuffer().split(file->second, '\n');
    buffers.push_back(std::move(*buffer));
  }
  return file->second;
}

llvm::SmallVector<FileLineColLoc> SourceText::places(Location location) const {
  SmallVector<FileLineColLoc> found;
  if (auto several = dyn_cast<FusedLoc>(location)) {
    for (Location part : several.getLocations())
      for (FileLineColLoc place : places(part))
        if (!llvm::is_contained(found, place))
          found.push_back(place);
  } else if (auto place = dyn_cast<FileLineColLoc>(location); place && !from(place).empty()) {
    found.push_back(place);
  }
  return found;
}

StringRef SourceText::from(FileLineColLoc place) const {
  const Lines &lines = linesOf(place);
  if (place.getLine() == 0 || place.getLine() > lines.size() || place.getColumn() == 0)
    return {};
  return lines[place.getLine() - 1].drop_front(std::min<size_t>(place.getColumn() - 1, lines[place.getLine() - 1].size()));
}

static bool opens(char c) { return c == '(' || c == '['; }
static bool closes(char c) { return c == ')' || c == ']'; }
static bool isName(char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; }

/// The length of the operand that `text` begins with: a name or a number, what it is called with or indexed by, and so on.
static size_t operandLength(StringRef text) {
  size_t at = text.find_first_not_of("0123456789.");
  if (at > 0 && at < text.size() && text[at] == 'e' && at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+'))
    return at + 2 + text.drop_front(at + 2).take_while(llvm::isDigit).size();
  at = 0;
  while (at < text.size() && (opens(text[at]) || isName(text[at]))) {
    int depth = 0;
    do
      depth += opens(text[at]) - closes(text[at]);
    while (++at < text.size() && depth > 0);
  }
  return at;
}

/// The same of the operand that it ends with.
static size_t operandLengthBefore(StringRef text) {
  size_t at = text.size();
  while (at > 0 && (closes(text[at - 1]) || isName(text[at - 1]))) {
    int depth = 0;
    do
      depth += closes(text[at - 1]) - opens(text[at - 1]);
    while (--at > 0 && depth > 0);
  }
  return text.size() - at;
}

/// An operand as it is shown: long arguments as "...".
static std::string shorten(StringRef operand) {
  constexpr size_t kLongest = 24;
  std::string result;
  for (size_t at = 0; at < operand.size();) {
    size_t length = opens(operand[at]) ? operandLength(operand.drop_front(at)) : 1;
    if (opens(operand[at]) && at > 0) {
      // Of f(x)[i] each pair of brackets by itself.
      int depth = 0;
      for (length = 0; length == 0 || depth > 0; ++length)
        if (at + length < operand.size())
          depth += opens(operand[at + length]) - closes(operand[at + length]);
        else
          break;
    }
    StringRef part = operand.substr(at, length);
    result += part.size() <= kLongest ? part.str() : part.take_front(1).str() + "..." + part.take_back(1).str();
    at += length;
  }
  return result;
}

std::string SourceText::expression(FileLineColLoc place, Side side) const {
  StringRef text = from(place), line = linesOf(place)[place.getLine() - 1];
  StringRef sign = text.take_while([](char c) { return StringRef("+-*/%^@<>=!&|").contains(c); });
  StringRef right = text.drop_front(sign.size()).ltrim(' ');
  right = right.take_front(operandLength(right));
  StringRef left = line.take_front(text.data() - line.data()).rtrim(' ');
  left = left.take_back(operandLengthBefore(left));
  if (sign.empty()) // the place of a.b is the dot's
    return text.starts_with(".") ? shorten(left) + shorten(right) : right.empty() ? text.take_front(1).str() : shorten(right);
  std::string after = shorten(right) + (right == "if" ? " ..." : "");
  if (left.empty() || side == Side::right)
    return sign.str() + " " + after;
  return shorten(left) + " " + sign.str() + (side == Side::left ? "" : " " + after);
}

std::string SourceText::statement(FileLineColLoc place) const {
  StringRef text = from(place).take_until([](char c) { return c == '{' || c == '\r'; });
  return text.rtrim().str();
}

std::string SourceText::name(FileLineColLoc place) {
  return (llvm::sys::path::filename(place.getFilename().getValue()) + ":" + llvm::Twine(place.getLine())).str();
}

} // namespace xf
