#include "runtime/device/emulator/decode.h"
#include "runtime/core/error.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace xf::rt::emulator {

namespace {

struct type_name {
  const char *name;
  type t;
  int bytes;
};
constexpr type_name kTypes[] = {{"pred", type::pred, 4}, {"b8", type::b8, 1},   {"b16", type::b16, 2}, {"b32", type::b32, 4}, {"b64", type::b64, 8},
                                {"u8", type::u8, 1},     {"u16", type::u16, 2}, {"u32", type::u32, 4}, {"u64", type::u64, 8}, {"s8", type::s8, 1},
                                {"s16", type::s16, 2},   {"s32", type::s32, 4}, {"s64", type::s64, 8}, {"f16", type::f16, 2}, {"bf16", type::bf16, 2},
                                {"f32", type::f32, 4},   {"f64", type::f64, 8}};

std::optional<type> find_type(std::string_view name) {
  for (const type_name &entry : kTypes)
    if (name == entry.name)
      return entry.t;
  return std::nullopt;
}

int bits_of(type t) { return t == type::pred ? 1 : 8 * size_of(t); }

// The bytes that a register of `bits` bits takes in each lane: 4 or 8.
int lane_bytes(int bits) { return bits == 64 ? 8 : 4; }

// The bits of an integer (also negative or hexadecimal, or with the U of unsigned ones) or a float; nullopt if it is no number.
std::optional<uint64_t> parse_literal(std::string_view text) {
  if (text.size() > 1 && text.ends_with('U'))
    text.remove_suffix(1);
  std::string word(text);
  char *end = nullptr;
  uint64_t value;
  if (word.size() == 10 && (word.starts_with("0f") || word.starts_with("0F")))
    value = std::strtoull(word.c_str() + 2, &end, 16);
  else if (word.size() == 18 && (word.starts_with("0d") || word.starts_with("0D")))
    value = std::strtoull(word.c_str() + 2, &end, 16);
  else if (word.starts_with("-"))
    value = static_cast<uint64_t>(std::strtoll(word.c_str(), &end, 0));
  else
    value = std::strtoull(word.c_str(), &end, 0);
  return word.empty() || *end != '\0' ? std::nullopt : std::optional<uint64_t>(value);
}

} // namespace

int size_of(type t) {
  for (const type_name &entry : kTypes)
    if (entry.t == t)
      return entry.bytes;
  return 0;
}
bool is_float(type t) { return t == type::f32 || t == type::f64; }

program parse_ptx(std::string_view text) {
  module_text module = split_ptx(text);
  program result;
  for (const function_text &f : module.functions)
    result.functions[f.name] = decoder(f, module.shared).run();
  // If any function overlaps launches before it, launches of all functions of the module may do so.
  auto overlaps = [](const auto &f) { return f.second.overlaps; };
  if (std::any_of(result.functions.begin(), result.functions.end(), overlaps))
    for (const auto &[name, f] : result.functions)
      if (!f.awaits_launches)
        fail(status::unsupported, "kernel %s does not wait for the launches before, which it may overlap", name.c_str());
  return result;
}

function decoder::run() {
  result_.name = text_.name;
  result_.threads = text_.threads;
  result_.parameter_bytes = static_cast<uint32_t>(8 * text_.parameters.size());
  int64_t index = 0;
  for (const statement &s : text_.body) {
    if (!s.label.empty())
      labels_[s.label] = index;
    else if (!s.opcode[0].starts_with('.'))
      ++index;
  }
  for (const statement &s : text_.body)
    if (s.label.empty())
      decode(s);
  if (result_.code.empty() || result_.code.back().op != op::exit)
    result_.code.push_back({.op = op::exit, .type = type::b32});
  check_registers();
  return std::move(result_);
}

int32_t decoder::allocate(int bits) {
  int32_t row = result_.rows;
  result_.rows += lane_bytes(bits) / 4;
  bits_[row] = bits;
  return row;
}

void decoder::declare_registers(const statement &s) {
  // .reg .b32 %r<10>, or .reg .b16 tmp
  if (s.operands.size() != 1)
    reject(s.line, s.text);
  std::string_view text = s.operands[0];
  size_t space = text.find_last_of(" \t"), count = text.find('<');
  auto t = text.starts_with('.') ? find_type(trim(text.substr(1, space - 1))) : std::nullopt;
  if (!t)
    reject(s.line, s.text);
  if (count == std::string_view::npos) {
    std::string name(text.substr(space + 1));
    if (!registers_.contains(name))
      registers_[name] = allocate(bits_of(*t));
    else if (bits_[registers_[name]] != bits_of(*t)) // in another block
      reject(s.line, s.text);
    return;
  }
  prefixes_[std::string(text.substr(space + 1, count - space - 1))] = bits_of(*t);
}

int32_t decoder::special(std::string_view name) {
  int32_t *row = name == "%tid.x"      ? &result_.thread_row
                 : name == "%ctaid.x"  ? &result_.block_row
                 : name == "%ntid.x"   ? &result_.threads_row
                 : name == "%nctaid.x" ? &result_.blocks_row
                 : name == "%laneid"   ? &result_.lane_row
                                       : nullptr;
  if (!row)
    return -1;
  if (*row < 0)
    *row = allocate(32);
  return *row;
}

int32_t decoder::any_register(const statement &s, std::string_view text) {
  if (auto found = registers_.find(text); found != registers_.end())
    return found->second;
  size_t digits = text.find_first_of("0123456789");
  auto prefix = prefixes_.find(text.substr(0, digits));
  if (prefix == prefixes_.end() || text.find_first_not_of("0123456789", digits) != std::string_view::npos)
    reject(s.line, s.text);
  return registers_[std::string(text)] = allocate(prefix->second);
}

int32_t decoder::of_width(const statement &s, std::string_view text, int32_t row, type t, int widest) {
  int bits = bits_[row], wanted = bits_of(t);
  bool fits = bits == wanted || (bits > wanted && bits <= widest && t != type::pred);
  if (!fits)
    reject(s.line, std::string(text) + (t == type::pred ? " is no predicate: " : " is not of " + std::to_string(wanted) + " bits: ") + s.text);
  return row;
}

int32_t decoder::target(const statement &s, std::string_view text, type t, int widest) { return of_width(s, text, any_register(s, text), t, widest); }

int32_t decoder::constant_row(int bytes, uint64_t value) {
  if (bytes == 4)
    value &= 0xffffffff;
  auto [found, is_new] = constants_.try_emplace({bytes, value}, -1);
  if (is_new) {
    found->second = allocate(8 * bytes);
    result_.constants.push_back({found->second, bytes, value});
  }
  return found->second;
}

int64_t decoder::shared_address(std::string_view name) {
  if (auto found = shared_offsets_.find(name); found != shared_offsets_.end())
    return found->second;
  for (const shared_variable &variable : shared_)
    if (variable.name == name) {
      auto aligned = [&](uint64_t offset) { return (offset + variable.alignment - 1) / variable.alignment * variable.alignment; };
      constexpr uint64_t kGap = 256;
      uint64_t begin = result_.shared.empty() ? 0 : aligned(result_.shared.back().end + kGap);
      result_.shared.push_back({begin, begin + variable.bytes});
      result_.shared_bytes = static_cast<uint32_t>(aligned(result_.shared_bytes)) + variable.bytes;
      return shared_offsets_[std::string(name)] = static_cast<int64_t>(begin);
    }
  return -1;
}

int32_t decoder::source(const statement &s, std::string_view text, type t, int widest) {
  if (text.starts_with('%')) {
    int32_t row = special(text);
    return of_width(s, text, row >= 0 ? row : any_register(s, text), t, widest);
  }
  int bytes = lane_bytes(bits_of(t));
  if (int64_t offset = shared_address(text); offset >= 0)
    return constant_row(bytes, static_cast<uint64_t>(offset));
  auto value = static_cast<uint64_t>(immediate(s, text));
  return constant_row(bytes, t == type::pred ? value != 0 : value);
}

int64_t decoder::immediate(const statement &s, std::string_view text) {
  auto value = parse_literal(text);
  if (!value)
    reject(s.line, s.text);
  return static_cast<int64_t>(*value);
}

std::pair<std::string_view, int64_t> decoder::base_and_offset(const statement &s, std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']'))
    reject(s.line, s.text);
  text = text.substr(1, text.size() - 2);
  size_t plus = text.find('+');
  return {trim(text.substr(0, plus)), plus == std::string_view::npos ? 0 : immediate(s, trim(text.substr(plus + 1)))};
}

int32_t decoder::address(const statement &s, std::string_view text, int64_t &offset) {
  auto [base, distance] = base_and_offset(s, text);
  offset = distance;
  return source(s, base, type::b64);
}

type decoder::last_type(const statement &s, size_t behind) const {
  auto t = behind < s.opcode.size() ? find_type(s.opcode[s.opcode.size() - 1 - behind]) : std::nullopt;
  if (!t)
    reject(s.line, s.text);
  return *t;
}

std::vector<std::string> decoder::elements(const statement &s, const std::string &text, size_t count) const {
  bool is_list = text.starts_with('{') && text.ends_with('}');
  auto parts = is_list ? split_operands(std::string_view(text).substr(1, text.size() - 2)) : std::vector<std::string>();
  if (parts.size() != count)
    reject(s.line, s.text);
  return parts;
}

void decoder::set(const statement &s, instruction &i, emulator::op op, type t, std::string_view operands) {
  if (s.operands.size() != operands.size())
    reject(s.line, s.text);
  i.op = op;
  i.type = t;
  auto type_of = [&](size_t n) {
    switch (operands[n]) {
    case 'w':
      return size_of(t) == 4 ? type::b64 : type::b32;
    case 'n':
      return type::b32;
    case 'p':
      return type::pred;
    default:
      return t;
    }
  };
  i.target[0] = target(s, s.operands[0], type_of(0));
  for (size_t n = 1; n < operands.size(); ++n)
    i.source[n - 1] = source(s, s.operands[n], type_of(n));
}

void decoder::decode(const statement &s) {
  if (s.opcode[0] == ".reg")
    return declare_registers(s);
  if (s.opcode[0] == ".pragma")
    return;
  instruction i{.op = op::exit, .type = type::b32};
  i.line = s.line;
  if (!s.guard.empty()) {
    i.guard = target(s, s.guard, type::pred);
    i.negated = s.negated;
  }
  if (!has_form(s))
    reject(s.line, s.text);
  if (!decode_operation(s, i) && !decode_moves(s, i) && !decode_control(s, i) && !decode_exchange(s, i) && !decode_copies(s, i) &&
      !decode_launches(s, i) && !decode_matrices(s, i))
    reject(s.line, s.text);
  result_.code.push_back(i);
}

} // namespace xf::rt::emulator
