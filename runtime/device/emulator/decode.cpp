#include "runtime/device/emulator/decode.h"

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
constexpr type_name kTypes[] = {
    {"pred", type::pred, 4}, {"b8", type::b8, 1},   {"b16", type::b16, 2}, {"b32", type::b32, 4}, {"b64", type::b64, 8},
    {"u8", type::u8, 1},     {"u16", type::u16, 2}, {"u32", type::u32, 4}, {"u64", type::u64, 8}, {"s8", type::s8, 1},
    {"s16", type::s16, 2},   {"s32", type::s32, 4}, {"s64", type::s64, 8}, {"f16", type::f16, 2}, {"bf16", type::bf16, 2}, {"f32", type::f32, 4}, {"f64", type::f64, 8}};

std::optional<type> find_type(std::string_view name) {
  for (const type_name &known : kTypes)
    if (name == known.name)
      return known.t;
  return std::nullopt;
}

// Whether an instruction's name may have this part. All others would make another instruction of it (`ftz`, `sat`, `nc`, `relaxed`, ...).
bool is_known(std::string_view part) {
  static constexpr std::string_view kParts[] = {
      "rn", "rni", "rz", "rzi", "rmi", "rpi", "approx", "lo", "hi", "wide", "l", "r", "wrap", "f16x2", "bf16x2",
      "eq", "ne", "lt", "le", "gt", "ge", "ls", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
      "to", "param", "global", "shared", "v2", "v4", "uni", "warp", "sync", "aligned", "bfly", "up", "down", "idx",
      "min", "max", "ballot", "async", "ca", "cg", "commit_group", "wait_group", "wait_all", "m8n8", "x1", "x2", "x4", "m16n8k16", "row", "col",
      "L2", "launch_dependents", "wait"};
  return find_type(part) || std::find(std::begin(kParts), std::end(kParts), part) != std::end(kParts);
}

// 4 or 8: what a register for such values takes in each lane.
int register_bytes(type t) { return size_of(t) == 8 ? 8 : 4; }

// Integers (also negative and hexadecimal, and with the U of unsigned ones) and floats as their bits; nullopt: it is no number.
std::optional<uint64_t> parse_number(std::string_view text) {
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
  for (const type_name &known : kTypes)
    if (known.t == t)
      return known.bytes;
  return 0;
}
bool is_float(type t) { return t == type::f32 || t == type::f64; }

program parse_ptx(std::string_view text) {
  module_text module = split_ptx(text);
  program result;
  for (const function_text &f : module.functions)
    result.functions[f.name] = decoder(f, module.shared).run();
  return result;
}

function decoder::run() {
  result_.name = text_.name;
  result_.threads = text_.threads;
  result_.parameter_bytes = static_cast<uint32_t>(8 * text_.parameters.size());
  int64_t number = 0;
  for (const statement &s : text_.body) {
    if (!s.label.empty())
      labels_[s.label] = number;
    else if (!s.opcode[0].starts_with('.'))
      ++number;
  }
  for (const statement &s : text_.body)
    if (s.label.empty())
      decode(s);
  if (result_.code.empty() || result_.code.back().op != op::exit)
    result_.code.push_back({.op = op::exit, .type = type::b32});
  check_registers();
  return std::move(result_);
}

int32_t decoder::allocate(int bytes) {
  int32_t row = result_.rows;
  result_.rows += bytes / 4;
  widths_[row] = bytes;
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
    if (std::string name(text.substr(space + 1)); !registers_.contains(name))
      registers_[name] = allocate(register_bytes(*t));
    return;
  }
  prefixes_[std::string(text.substr(space + 1, count - space - 1))] = register_bytes(*t);
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
    *row = allocate(4);
  return *row;
}

int32_t decoder::target(const statement &s, std::string_view text) {
  if (auto known = registers_.find(text); known != registers_.end())
    return known->second;
  size_t digits = text.find_first_of("0123456789");
  auto prefix = prefixes_.find(text.substr(0, digits));
  if (prefix == prefixes_.end())
    reject(s.line, s.text);
  return registers_[std::string(text)] = allocate(prefix->second);
}

int32_t decoder::constant_row(int bytes, uint64_t value) {
  if (bytes == 4)
    value &= 0xffffffff;
  auto [found, is_new] = constants_.try_emplace({bytes, value}, -1);
  if (is_new) {
    found->second = allocate(bytes);
    result_.constants.push_back({found->second, bytes, value});
  }
  return found->second;
}

int64_t decoder::shared_address(std::string_view name) {
  if (auto known = shared_offsets_.find(name); known != shared_offsets_.end())
    return known->second;
  for (const shared_variable &variable : shared_)
    if (variable.name == name) {
      auto aligned = [&](uint64_t offset) { return (offset + variable.alignment - 1) / variable.alignment * variable.alignment; };
      constexpr uint64_t kApart = 256;
      uint64_t begin = result_.shared.empty() ? 0 : aligned(result_.shared.back().end + kApart);
      result_.shared.push_back({begin, begin + variable.bytes});
      result_.shared_bytes = static_cast<uint32_t>(aligned(result_.shared_bytes)) + variable.bytes;
      return shared_offsets_[std::string(name)] = static_cast<int64_t>(begin);
    }
  return -1;
}

int32_t decoder::source(const statement &s, std::string_view text, type t) {
  if (text.starts_with('%')) {
    int32_t row = special(text);
    return row >= 0 ? row : target(s, text);
  }
  if (int64_t offset = shared_address(text); offset >= 0)
    return constant_row(register_bytes(t), static_cast<uint64_t>(offset));
  auto number = static_cast<uint64_t>(immediate(s, text));
  return constant_row(register_bytes(t), t == type::pred ? number != 0 : number);
}

int64_t decoder::immediate(const statement &s, std::string_view text) {
  auto number = parse_number(text);
  if (!number)
    reject(s.line, s.text);
  return static_cast<int64_t>(*number);
}

int32_t decoder::address(const statement &s, std::string_view text, int64_t &offset) {
  if (!text.starts_with('[') || !text.ends_with(']'))
    reject(s.line, s.text);
  text = text.substr(1, text.size() - 2);
  size_t plus = text.find('+');
  offset = plus == std::string_view::npos ? 0 : immediate(s, trim(text.substr(plus + 1)));
  return source(s, trim(text.substr(0, plus)), type::b64);
}

type decoder::last_type(const statement &s) const {
  for (size_t i = s.opcode.size(); i-- > 1;)
    if (auto t = find_type(s.opcode[i]))
      return *t;
  reject(s.line, s.text);
}

void decoder::set(const statement &s, instruction &i, emulator::op op, type t, int sources) {
  if (static_cast<int>(s.operands.size()) != sources + 1)
    reject(s.line, s.text);
  i.op = op;
  i.type = t;
  i.target[0] = target(s, s.operands[0]);
  for (int n = 0; n < sources; ++n)
    i.source[n] = source(s, s.operands[n + 1], t);
}

void decoder::decode(const statement &s) {
  if (s.opcode[0] == ".reg")
    return declare_registers(s);
  if (s.opcode[0] == ".pragma")
    return;
  instruction i{.op = op::exit, .type = type::b32};
  i.line = s.line;
  if (!s.guard.empty()) {
    i.guard = target(s, s.guard);
    i.negated = s.negated;
  }
  for (size_t n = 1; n < s.opcode.size(); ++n)
    if (!is_known(s.opcode[n]))
      reject(s.line, s.text);
  // Of 16 bits there are conversions and products of matrices, no arithmetic.
  for (std::string_view part : {"f16", "bf16", "f16x2", "bf16x2"})
    if (s.has(part) && s.opcode[0] != "cvt" && s.opcode[0] != "mma")
      reject(s.line, s.text);
  if (!decode_arithmetic(s, i) && !decode_bits(s, i) && !decode_moves(s, i) && !decode_control(s, i) && !decode_exchange(s, i) &&
      !decode_copies(s, i) && !decode_launches(s, i) && !decode_matrices(s, i))
    reject(s.line, s.text);
  result_.code.push_back(i);
}

} // namespace xf::rt::emulator
