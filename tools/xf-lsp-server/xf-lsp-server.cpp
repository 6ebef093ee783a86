// xf-lsp-server: what an editor asks of IR in the xf dialect (diagnostics, definitions, uses), by the language server protocol.
#include "tools/common/Registration.h"

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/CommandLine.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <span>

#include <unistd.h>

namespace {

/// Reads standard input, replacing carriage returns inside of texts, "\r", by tabs. To the dialects both are white space, but the library
/// finds no position after one that ends no line, and follows a null pointer. `escaped`: whether the last character was a backslash.
ssize_t readInput(void *escaped, char *buffer, size_t size) {
  ssize_t count;
  do
    count = read(STDIN_FILENO, buffer, size);
  while (count < 0 && errno == EINTR);
  bool &isEscaped = *static_cast<bool *>(escaped);
  for (char &c : std::span(buffer, static_cast<size_t>(std::max<ssize_t>(count, 0)))) {
    if (isEscaped && c == 'r')
      c = 't';
    isEscaped = !isEscaped && c == '\\';
  }
  return count;
}

} // namespace

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  xf::registerDialects(registry);
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << "xf-lsp-server " XF_VERSION "\n"; });
  bool isEscaped = false;
  stdin = fopencookie(&isEscaped, "r", {.read = readInput, .write = nullptr, .seek = nullptr, .close = nullptr});
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
