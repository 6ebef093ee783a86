// Command lines of our own beside libLLVM's.
#ifndef XF_TOOLS_COMMON_COMMANDLINE_H
#define XF_TOOLS_COMMON_COMMANDLINE_H

#include "llvm/Support/CommandLine.h"

namespace xf {

/// Takes away the options that libLLVM registers for itself (some have names that we use). To be called before ours
/// are made; --help and --version stay.
inline void removeForeignOptions() {
  llvm::SmallVector<llvm::cl::Option *> foreign;
  for (auto &entry : llvm::cl::getRegisteredOptions())
    if (!entry.second->ArgStr.starts_with("help") && entry.second->ArgStr != "version")
      foreign.push_back(entry.second);
  for (llvm::cl::Option *option : foreign)
    option->removeArgument();
}

} // namespace xf

#endif // XF_TOOLS_COMMON_COMMANDLINE_H
