// Reading files. An import's path is relative to the file that it stands in.
#include "compiler/Frontend/Files.h"

#include "compiler/Frontend/LibraryFiles.h"
#include "compiler/Frontend/Parser.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace xf::frontend;

/// No description needs more. Each byte may be a token, which takes a hundred bytes.
static constexpr size_t maxFiles = 1000, maxBytes = 4 << 20;

/// Appends what `part` declares.
static void append(File &all, File part) {
  llvm::move(part.blocks, std::back_inserter(all.blocks));
  llvm::move(part.functions, std::back_inserter(all.functions));
  llvm::move(part.constants, std::back_inserter(all.constants));
}

File FileReader::readLibrary() {
  File library;
  for (const LibraryFile &each : libraryFiles()) {
    uint32_t id = sources.add(("<library>/" + each.name).str(), each.text.str(), true);
    append(library, Parser(tokenize(sources, id, diagnostics), diagnostics).parseFile());
  }
  return library;
}

File FileReader::parse(llvm::StringRef name, llvm::StringRef text, Loc importedAt) {
  if (text.size() > maxBytes) {
    diagnostics.error(importedAt, (name + " is too large for a description: it has more than " + llvm::Twine(maxBytes >> 20) + " MiB").str());
    return {};
  }
  text.consume_front("\xEF\xBB\xBF"); // the mark that some editors put before UTF-8
  size_t end = text.size();
  llvm::json::isUTF8(text, &end);
  llvm::StringRef valid = text.take_front(std::min(end, text.find('\0')));
  uint32_t id = sources.add(name.str(), valid.str(), false);
  if (valid.size() < text.size()) {
    auto characters = llvm::count_if(valid.substr(valid.rfind('\n') + 1), [](char c) { return (c & 0xC0) != 0x80; });
    Loc invalid{id, static_cast<uint32_t>(valid.count('\n') + 1), static_cast<uint32_t>(characters + 1)};
    diagnostics.error(invalid, "what stands here is no UTF-8 text");
    if (importedAt.isValid())
      diagnostics.note(importedAt, "it is imported here");
    return {};
  }
  return Parser(tokenize(sources, id, diagnostics), diagnostics).parseFile();
}

File FileReader::readDescription(llvm::StringRef name, llvm::StringRef text) { return parse(name, text, {}); }

File FileReader::readImports(llvm::StringRef name, const File &description) {
  llvm::sys::fs::UniqueID id;
  if ((descriptionIsFile = !llvm::sys::fs::getUniqueID(name, id)))
    visited.push_back(id);
  File all;
  import(name, description, all);
  return all;
}

void FileReader::import(llvm::StringRef importer, const File &file, File &all) {
  for (const Import &each : file.imports) {
    llvm::SmallString<256> path(llvm::sys::path::parent_path(importer));
    llvm::sys::path::append(path, each.path);
    llvm::sys::fs::UniqueID id;
    std::error_code problem = llvm::sys::fs::getUniqueID(path, id);
    auto found = llvm::find(visited, id);
    if (!problem && descriptionIsFile && found == visited.begin()) {
      diagnostics.error(each.loc, ("'" + path + "' is the description itself, which nothing else can import").str());
      continue;
    }
    if (!problem && found != visited.end())
      continue;
    if (visited.size() == maxFiles) {
      diagnostics.error(each.loc, "more than " + std::to_string(maxFiles) + " files are imported");
      return;
    }
    bool isFile = !problem && llvm::sys::fs::is_regular_file(path); // a pipe must not be waited for
    auto buffer = isFile ? llvm::MemoryBuffer::getFile(path) : nullptr;
    if (!isFile || !buffer) {
      std::string reason = problem ? problem.message() : isFile ? buffer.getError().message() : "no file";
      diagnostics.error(each.loc, ("'" + path + "' cannot be imported: " + reason).str());
      continue;
    }
    visited.push_back(id);
    paths.push_back(path.str().str());
    File part = parse(path, (*buffer)->getBuffer(), each.loc);
    import(path, part, all);
    append(all, std::move(part));
  }
}
