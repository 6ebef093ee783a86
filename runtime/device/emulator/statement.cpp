#include "runtime/device/emulator/statement.h"

#include "runtime/abi/xf_ptx.h"
#include "runtime/core/error.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace xf::rt::emulator {

void reject(int line, const std::string &what) { fail(status::unsupported, "the emulator does not understand PTX line %d: %s", line, what.c_str()); }

bool statement::has(std::string_view part) const { return std::find(opcode.begin(), opcode.end(), part) != opcode.end(); }

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

std::vector<std::string> split_operands(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : ',';
    depth += c == '{' || c == '[';
    depth -= c == '}' || c == ']';
    if (c == ',' && (depth == 0 || i == text.size())) {
      std::string_view part = trim(text.substr(begin, i - begin));
      if (!part.empty())
        parts.emplace_back(part);
      begin = i + 1;
    }
  }
  return parts;
}

namespace {

// Reads characters, and counts lines. Comments are skipped, except instructions for later GPUs, which the emulator has (xf_ptx.h).
class reader {
public:
  explicit reader(std::string_view text) : text_(text) {}

  int line() const { return line_; }
  bool at_end() {
    skip_space();
    return at_ >= text_.size();
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void expect(char c) {
    if (peek() != c)
      reject(line_, std::string("expected '") + c + "'");
    ++at_;
  }
  // Up to one of the characters, which stays. Two colons are part of a name, as in `shared::cta`.
  std::string read_until(std::string_view ends) {
    std::string result;
    while (at_ < text_.size()) {
      if (skip_comment())
        continue;
      if (text_.substr(at_, 2) == "::")
        result += step();
      else if (ends.find(text_[at_]) != std::string_view::npos)
        break;
      result += step();
    }
    return std::string(trim(result));
  }
  std::string read_word() {
    skip_space();
    std::string result;
    while (at_ < text_.size() && !std::isspace(static_cast<unsigned char>(text_[at_])) &&
           std::string_view("(){};,").find(text_[at_]) == std::string_view::npos)
      result += step();
    return result;
  }

private:
  char step() {
    line_ += text_[at_] == '\n';
    return text_[at_++];
  }
  bool skip_comment() {
    if (text_.substr(at_, 2) != "//")
      return false;
    if (constexpr std::string_view kMark = XF_PTX_MARK; text_.substr(at_).starts_with(kMark)) {
      at_ += kMark.size() - 1; // up to the space that it ends with
      return true;
    }
    while (at_ < text_.size() && text_[at_] != '\n')
      ++at_;
    return true;
  }
  void skip_space() {
    while (at_ < text_.size() && (skip_comment() || std::isspace(static_cast<unsigned char>(text_[at_]))))
      if (at_ < text_.size())
        step();
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

statement make_statement(std::string_view text, int line) {
  statement result;
  result.line = line;
  result.text = text;
  if (text.starts_with('@')) {
    size_t space = text.find_first_of(" \t\n");
    std::string_view guard = text.substr(1, space - 1);
    result.negated = guard.starts_with('!');
    guard.remove_prefix(result.negated);
    result.guard = guard;
    text = trim(text.substr(std::min(space, text.size())));
  }
  if (text.empty())
    reject(line, "no instruction");
  size_t space = text.find_first_of(" \t\n");
  std::string_view opcode = text.substr(0, space);
  if (opcode.starts_with('.')) {
    result.opcode.emplace_back(opcode);
  } else {
    while (!opcode.empty()) {
      size_t dot = opcode.find('.');
      result.opcode.emplace_back(opcode.substr(0, dot));
      opcode.remove_prefix(dot == std::string_view::npos ? opcode.size() : dot + 1);
    }
  }
  if (space != std::string_view::npos)
    result.operands = split_operands(text.substr(space));
  return result;
}

// `.align 16 .b8 name[bytes]`, or one number: `.align 8 .u64 name`.
shared_variable read_shared(std::string_view text, int line) {
  shared_variable variable{"", 4, 0};
  std::string declaration(text);
  if (size_t at = declaration.find(".align"); at != std::string::npos)
    variable.alignment = static_cast<unsigned>(std::strtoul(declaration.c_str() + at + 6, nullptr, 10));
  size_t type = declaration.rfind('.'), name = declaration.find(' ', type), open = declaration.find('[');
  bool is_array = open != std::string::npos;
  unsigned bits = 0;
  if (type != std::string::npos && name != std::string::npos)
    bits = static_cast<unsigned>(std::strtoul(declaration.c_str() + type + 2, nullptr, 10));
  if (bits == 0 || bits % 8 != 0 || bits > 64 || (is_array && bits != 8) || variable.alignment == 0)
    reject(line, "shared memory that is neither an array of bytes nor a number");
  variable.name = trim(text.substr(name, is_array ? open - name : std::string_view::npos));
  variable.bytes = is_array ? static_cast<unsigned>(std::strtoul(declaration.c_str() + open + 1, nullptr, 10)) : bits / 8;
  return variable;
}

void read_body(reader &in, function_text &function, module_text &module) {
  in.expect('{');
  // Inner blocks have registers of their own, whose names LLVM uses for nothing else.
  for (int depth = 0; depth > 0 || in.peek() != '}';) {
    if (in.at_end())
      reject(in.line(), "a function does not end");
    if (char c = in.peek(); c == '{' || c == '}') {
      in.expect(c);
      depth += c == '{' ? 1 : -1;
      continue;
    }
    int line = in.line();
    // A label ends with a colon; braces belong to operands.
    std::string text = in.read_until(";:");
    if (in.peek() == ':') {
      in.expect(':');
      statement label;
      label.label = text;
      label.line = line;
      function.body.push_back(label);
    } else {
      in.expect(';');
      if (text.starts_with(".shared"))
        module.shared.push_back(read_shared(text, line));
      else
        function.body.push_back(make_statement(text, line));
    }
  }
  in.expect('}');
}

void read_function(reader &in, module_text &module) {
  function_text function;
  function.name = in.read_word();
  if (in.peek() == '(') {
    in.expect('(');
    for (const std::string &parameter : split_operands(in.read_until(")"))) {
      size_t space = parameter.find_last_of(" \t");
      if (parameter.find("64") == std::string::npos || space == std::string::npos)
        reject(in.line(), "a parameter that does not take 8 bytes: " + parameter);
      function.parameters.push_back(parameter.substr(space + 1));
    }
    in.expect(')');
  }
  std::string directives = in.read_until("{");
  if (directives.find(".reqntid") != std::string::npos)
    reject(in.line(), "blocks of exactly so many threads: " + directives);
  constexpr std::string_view kLimit = ".maxntid";
  if (size_t at = directives.find(kLimit); at != std::string::npos)
    function.threads = static_cast<unsigned>(std::strtoul(directives.c_str() + at + kLimit.size(), nullptr, 10));
  read_body(in, function, module);
  module.functions.push_back(std::move(function));
}

} // namespace

module_text split_ptx(std::string_view text) {
  module_text module;
  reader in(text);
  while (!in.at_end()) {
    int line = in.line();
    std::string word = in.read_word();
    if (word == ".version" || word == ".target" || word == ".address_size")
      in.read_until("\n");
    else if (word == ".visible" || word == ".weak")
      continue;
    else if (word == ".entry")
      read_function(in, module);
    else if (word == ".shared") {
      module.shared.push_back(read_shared(in.read_until(";"), line));
      in.expect(';');
    } else
      reject(line, word.empty() ? "nothing that starts a declaration" : word);
  }
  return module;
}

} // namespace xf::rt::emulator
