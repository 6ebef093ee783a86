// The frontend alone: prints the model IR of a description, or its errors. For tests.
//   xf-parse FILE [--model NAME] [--set NAME=VALUE]… [--config FILE] [--limit NAME=N]… [--verbose] [--prefixes]
// With --prefixes every prefix of the description is compiled; each must give IR or an error, and nothing is printed.
#include "compiler/Frontend/Frontend.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/MemoryBuffer.h"

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
  bool prefixes = false;
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
    else
      file = arg.str();
  }
  std::string text = read(file);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  for (size_t size = 0; prefixes && size < text.size(); ++size) {
    std::string messages;
    llvm::raw_string_ostream os(messages);
    auto module = xf::compileDescription(context, file, llvm::StringRef(text).take_front(size), options, os);
    if (!module && messages.empty()) {
      llvm::errs() << "the first " << size << " bytes fail without a message\n";
      return 1;
    }
  }
  auto module = xf::compileDescription(context, file, text, options, llvm::errs());
  if (!module)
    return 1;
  if (!prefixes)
    module->print(llvm::outs());
  return 0;
}
