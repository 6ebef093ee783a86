// The frontend alone: prints the model IR of a description, or its errors. For tests.
//   xf-parse FILE [--model NAME] [--set NAME=VALUE]… [--config FILE] [--limit NAME=N]… [--verbose] [--split | --markdown]
//            [--prefixes] [--mutations N]
// --split compiles the parts between lines "// -----" one by one, with the lines' numbers of the whole; --markdown the
// examples of a page, between "```xf" and "```".
// --prefixes compiles every prefix of the description, --mutations N as many descriptions with random changes. Each must
// give IR or an error; nothing is printed.
#include "compiler/Frontend/Frontend.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/MemoryBuffer.h"

#include <random>

/// Changes a description in one to four places: a piece is taken out, doubled, moved, or replaced by a token.
static std::string mutate(const std::string &text, std::mt19937 &random) {
  static const char *tokens[] = {"(",    ")",     "[",     "]",      "{",     "}",     ",",      ":",         "=",    "->",    "..",
                                 "@",    "^",     "/",     "*",      "-",     "!",     "&",      "0",         "1",    "-1",    "1000000000000000000",
                                 "none", "x",     "d",     "T",      "\"",    "if",    "for",    "then",      "else", "table", "mask",
                                 "scan", "state", "yield", "return", "param", "entry", "attend", "positions", "inf",  "2.5",   ".T",
                                 "\n",   ";",     "as"};
  std::string changed = text;
  auto at = [&](size_t end) { return end == 0 ? 0 : random() % end; };
  for (unsigned i = 0, count = 1 + random() % 4; i < count; ++i) {
    size_t pos = at(changed.size()), size = std::min<size_t>(changed.size() - pos, 1 + at(12));
    std::string piece = changed.substr(pos, size);
    switch (random() % 5) {
    case 0:
      changed.erase(pos, size);
      break;
    case 1:
      changed.insert(pos, piece);
      break;
    case 2:
      changed.insert(at(changed.size()), piece);
      break;
    case 3:
      changed.replace(pos, size, tokens[at(std::size(tokens))]);
      break;
    default:
      changed.insert(pos, tokens[at(std::size(tokens))]);
      break;
    }
  }
  return changed;
}

static std::string read(llvm::StringRef name) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(name);
  if (buffer)
    return (*buffer)->getBuffer().str();
  llvm::errs() << name << ": " << buffer.getError().message() << '\n';
  exit(2);
}

int main(int argc, char **argv) {
  xf::FrontendOptions options;
  std::string file;
  bool prefixes = false, split = false, markdown = false;
  unsigned mutations = 0;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef arg = argv[i];
    auto value = [&] { return llvm::StringRef(i + 1 < argc ? argv[++i] : ""); };
    if (arg == "--model")
      options.model = value().str();
    else if (arg == "--set" || arg == "--limit") {
      auto [name, text] = value().split('=');
      int64_t limit = 0;
      if (arg == "--set")
        options.set.push_back({name.str(), text.str()});
      else if (!text.getAsInteger(10, limit))
        options.limits.push_back({name.str(), limit});
    } else if (arg == "--config") {
      options.configName = value().str();
      options.configJson = read(options.configName);
    } else if (arg == "--verbose")
      options.verbose = true;
    else if (arg == "--prefixes")
      prefixes = true;
    else if (arg == "--split")
      split = true;
    else if (arg == "--markdown")
      markdown = true;
    else if (arg == "--mutations")
      value().getAsInteger(10, mutations);
    else
      file = arg.str();
  }
  std::string text = read(file);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::mt19937 random(1);
  for (size_t i = 0, count = prefixes ? text.size() : mutations; i < count; ++i) {
    std::string messages, changed = prefixes ? text.substr(0, i) : mutate(text, random);
    llvm::raw_string_ostream os(messages);
    if (std::getenv("XF_PARSE_SHOW"))
      llvm::errs() << "=====\n" << changed << '\n';
    auto module = xf::compileDescription(context, file, changed, options, os);
    if (!module && messages.empty()) {
      llvm::errs() << "fails without a message:\n" << changed << '\n';
      return 1;
    }
  }
  int status = 0;
  llvm::SmallVector<llvm::StringRef> parts = {text};
  if (split) {
    parts.clear();
    llvm::StringRef(text).split(parts, "// -----\n");
  }
  if (markdown) {
    parts.clear();
    for (llvm::StringRef rest = llvm::StringRef(text).split("```xf\n").second; !rest.empty(); rest = rest.split("```xf\n").second)
      parts.push_back(rest.split("```").first);
  }
  for (llvm::StringRef part : parts) {
    // Empty lines in front keep the numbers.
    size_t lines = llvm::StringRef(text.data(), part.data() - text.data()).count('\n');
    auto module = xf::compileDescription(context, file, std::string(lines, '\n') + part.str(), options, llvm::errs());
    status |= !module;
    if (module && !prefixes && !mutations)
      module->print(llvm::outs());
  }
  return status;
}
