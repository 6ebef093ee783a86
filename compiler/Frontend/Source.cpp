// Locations and messages. See Source.h.
#include "compiler/Frontend/Source.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace xf::frontend;

uint32_t Sources::add(std::string name, std::string text, bool library) {
  File file{std::move(name), std::move(text), library, {0}};
  for (size_t i = 0; i < file.text.size(); ++i)
    if (file.text[i] == '\n')
      file.lineStarts.push_back(i + 1);
  files.push_back(std::move(file));
  return files.size() - 1;
}

llvm::StringRef Sources::line(Loc loc) const {
  if (!loc.isValid() || loc.file >= files.size() || loc.line > files[loc.file].lineStarts.size())
    return {};
  const File &file = files[loc.file];
  return llvm::StringRef(file.text).drop_front(file.lineStarts[loc.line - 1]).take_until([](char c) { return c == '\n' || c == '\r'; });
}

mlir::Location Sources::toMlir(mlir::MLIRContext *context, Loc loc) const {
  if (!loc.isValid())
    return mlir::UnknownLoc::get(context);
  return mlir::FileLineColLoc::get(context, files[loc.file].name, loc.line, loc.column);
}

Loc Sources::fromMlir(mlir::Location location) const {
  if (auto fileLoc = location->findInstanceOf<mlir::FileLineColLoc>())
    for (auto [i, file] : llvm::enumerate(files))
      if (fileLoc.getFilename().getValue() == file.name)
        return Loc{static_cast<uint32_t>(i), fileLoc.getLine(), fileLoc.getColumn()};
  return {};
}

void Diagnostics::error(Loc loc, const std::string &message) {
  repeated = !seen.insert({loc, message}).second;
  errors += !repeated;
  if (!repeated)
    print(loc, "error", message);
}

void Diagnostics::note(Loc loc, const std::string &message) {
  if (!repeated)
    print(loc, "note", message);
}

void Diagnostics::print(Loc loc, const char *kind, const std::string &message) {
  if (!loc.isValid()) {
    os << kind << ": " << message << '\n';
    return;
  }
  os << sources.name(loc.file) << ':' << loc.line << ':' << loc.column << ": " << kind << ": " << message << '\n';
  llvm::StringRef line = sources.line(loc);
  if (line.size() > 400 || loc.column > 400)
    return;
  os << line << '\n';
  // Blanks as wide as the characters before the column; tabs stay tabs.
  uint32_t column = 1;
  for (char c : line) {
    if ((c & 0xC0) == 0x80)
      continue;
    if (column++ >= loc.column)
      break;
    os << (c == '\t' ? '\t' : ' ');
  }
  os << "^\n";
}
