// The files of a compilation: the description, what it imports, and the library.
#ifndef XF_COMPILER_FRONTEND_FILES_H
#define XF_COMPILER_FRONTEND_FILES_H

#include "compiler/Frontend/Ast.h"

#include "llvm/Support/FileSystem.h"

namespace xf::frontend {

class FileReader {
public:
  FileReader(Sources &sources, Diagnostics &diagnostics) : sources(sources), diagnostics(diagnostics) {}

  File readLibrary();
  File readDescription(llvm::StringRef name, llvm::StringRef text);
  /// The files that the description imports, directly or by others, each once, as one file.
  File readImports(llvm::StringRef name, const File &description);
  /// The paths of the files that were imported.
  const std::vector<std::string> &imported() const { return paths; }

private:
  File parse(llvm::StringRef name, llvm::StringRef text, Loc importedAt);
  void import(llvm::StringRef importer, const File &file, File &all);

  Sources &sources;
  Diagnostics &diagnostics;
  std::vector<llvm::sys::fs::UniqueID> visited; // the description's own first, if it is a file
  bool descriptionIsFile = false;
  std::vector<std::string> paths;
};

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_FILES_H
