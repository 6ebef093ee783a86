// Helpers for command lines of our own, which libLLVM adds options to.
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

/// A parser that lists the possible words if a value is none of them, which LLVM's own does not.
template <typename T> class ChoiceParser : public llvm::cl::parser<T> {
public:
  using llvm::cl::parser<T>::parser;

  bool parse(llvm::cl::Option &option, llvm::StringRef name, llvm::StringRef arg, T &value) {
    unsigned count = this->getNumOptions();
    if (this->findOption(arg) < count)
      return llvm::cl::parser<T>::parse(option, name, arg, value);
    std::string choices;
    for (unsigned i = 0; i < count; ++i)
      if (llvm::StringRef each = this->getOption(i); !each.empty())
        choices += (choices.empty() ? "" : ", ") + each.str();
    return option.error("'" + arg + "' is none of " + choices);
  }
};

/// An option that is one of some words, cl::values(…).
template <typename T> using Choice = llvm::cl::opt<T, /*ExternalStorage=*/false, ChoiceParser<T>>;
template <typename T> using Choices = llvm::cl::list<T, /*Storage=*/bool, ChoiceParser<T>>;

/// Refuses an empty text, as of a shell's variable that was meant to hold one: it would count as an option that is not given.
class TextParser : public llvm::cl::parser<std::string> {
public:
  using llvm::cl::parser<std::string>::parser;

  bool parse(llvm::cl::Option &option, llvm::StringRef, llvm::StringRef text, std::string &value) {
    value = text.str();
    return text.empty() && option.error("is empty");
  }
};

using Text = llvm::cl::opt<std::string, /*ExternalStorage=*/false, TextParser>;
using Texts = llvm::cl::list<std::string, /*Storage=*/bool, TextParser>;

} // namespace xf

#endif // XF_TOOLS_COMMON_COMMANDLINE_H
