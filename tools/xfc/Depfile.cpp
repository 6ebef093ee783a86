#include "tools/xfc/Depfile.h"

#include "compiler/Import/Error.h"
#include "compiler/Import/WriteFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

namespace fs = llvm::sys::fs;

namespace xf {

/// A path as makefiles have it.
static std::string escape(llvm::StringRef path) {
  std::string escaped;
  for (char letter : path) {
    if (letter == ' ' || letter == '#')
      escaped += '\\';
    else if (letter == '$')
      escaped += '$';
    escaped += letter;
  }
  return escaped;
}

/// Adds paths as the rule has them, each once.
static llvm::Error add(llvm::ArrayRef<std::string> paths, std::vector<std::string> &all) {
  for (llvm::StringRef path : paths) {
    llvm::SmallString<256> absolute(path);
    if (std::error_code code = fs::make_absolute(absolute))
      return makeError("{}: {}", path.str(), code.message());
    if (path.contains('\n'))
      return makeError("'{}': a depfile cannot hold a name with a line break", path.str());
    if (std::string escaped = escape(absolute); !llvm::is_contained(all, escaped))
      all.push_back(std::move(escaped));
  }
  return llvm::Error::success();
}

llvm::Error writeDepfile(llvm::StringRef path, llvm::ArrayRef<std::string> outputs, llvm::ArrayRef<std::string> inputs) {
  std::vector<std::string> files, targets, prerequisites;
  llvm::copy_if(inputs, std::back_inserter(files), [](const std::string &input) { return fs::is_regular_file(input); });
  if (llvm::Error error = add(outputs, targets))
    return error;
  if (llvm::Error error = add(files, prerequisites))
    return error;
  return writeFile(path, /*executable=*/false, [&](llvm::raw_fd_ostream &os) {
    os << llvm::join(targets, " ") << ":";
    for (const std::string &file : prerequisites)
      os << " \\\n  " << file;
    os << "\n";
    return llvm::Error::success();
  });
}

} // namespace xf
