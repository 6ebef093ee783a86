// PTX text as statements: a label, a guard, an instruction's parts and its operands.
#ifndef RUNTIME_DEVICE_EMULATOR_STATEMENT_H
#define RUNTIME_DEVICE_EMULATOR_STATEMENT_H

#include <string>
#include <string_view>
#include <vector>

namespace xf::rt::emulator {

// Throws "PTX line N: ...".
[[noreturn]] void reject(int line, const std::string &what);

struct statement {
  std::string label;                // alone, if there is one
  std::string guard;                // "%p1", or empty
  bool negated = false;
  std::vector<std::string> opcode;  // "ld", "global", "f32"; directives begin with ".reg" and the like
  std::vector<std::string> operands;
  std::string text;
  int line = 0;

  bool has(std::string_view part) const;
};

// A function's text: its header up to the body, and the body.
struct function_text {
  std::string name;
  std::vector<std::string> parameters; // their names, in order; all take 8 bytes
  unsigned threads = 0;
  std::vector<statement> body;
};
struct shared_variable {
  std::string name;
  unsigned alignment, bytes;
};
struct module_text {
  std::vector<function_text> functions;
  std::vector<shared_variable> shared;
};
module_text split_ptx(std::string_view text);

std::string_view trim(std::string_view text);
// Splits at commas outside of brackets.
std::vector<std::string> split_operands(std::string_view text);

} // namespace xf::rt::emulator

#endif
