// Source files, locations in them, and the printing of errors: the line itself, a caret, notes.
#ifndef XF_COMPILER_FRONTEND_SOURCE_H
#define XF_COMPILER_FRONTEND_SOURCE_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace xf::frontend {

/// A location in a source file; line 0 means nowhere. Columns count characters from 1.
struct Loc {
  uint32_t file = 0, line = 0, column = 0;
  bool isValid() const { return line != 0; }
  bool operator==(const Loc &o) const = default;
  bool operator<(const Loc &o) const { return std::tie(file, line, column) < std::tie(o.file, o.line, o.column); }
};

/// All files of a compilation: the description and the library's.
class Sources {
public:
  uint32_t add(std::string name, std::string text, bool library);
  llvm::StringRef text(uint32_t file) const { return files[file].text; }
  llvm::StringRef name(uint32_t file) const { return files[file].name; }
  bool isLibrary(Loc loc) const { return loc.isValid() && files[loc.file].library; }
  /// The text of the line that `loc` is in.
  llvm::StringRef line(Loc loc) const;
  mlir::Location toMlir(mlir::MLIRContext *context, Loc loc) const;
  /// The location of an operation that was made for a source expression.
  Loc fromMlir(mlir::Location location) const;

private:
  struct File {
    std::string name, text;
    bool library;
    std::vector<size_t> lineStarts;
  };
  std::vector<File> files;
};

/// Prints errors as they are found. The same error at the same location is printed once.
class Diagnostics {
public:
  Diagnostics(const Sources &sources, llvm::raw_ostream &os) : sources(sources), os(os) {}
  void error(Loc loc, const std::string &message);
  /// Belongs to the error before it.
  void note(Loc loc, const std::string &message);
  unsigned getErrorCount() const { return errors; }
  /// Enough has been said: the evaluation should stop.
  bool reachedErrorLimit() const { return errors >= 50; }

private:
  void print(Loc loc, const char *kind, const std::string &message);
  const Sources &sources;
  llvm::raw_ostream &os;
  std::set<std::pair<Loc, std::string>> seen;
  unsigned errors = 0;
  bool repeated = false;
};

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_SOURCE_H
