// What PTX instructions do with their operands.
#include "runtime/device/emulator/decode.h"

#include <algorithm>
#include <string>

namespace xf::rt::emulator {

namespace {

// Of each operand, the target first, a letter for its type: see set().
struct operation {
  std::string_view name;
  emulator::op op;
  std::string_view operands;
};
constexpr operation kOperations[] = {
    {"add", op::add, "ttt"},
    {"sub", op::sub, "ttt"},
    {"div", op::div, "ttt"},
    {"rem", op::rem, "ttt"},
    {"min", op::min, "ttt"},
    {"max", op::max, "ttt"},
    {"abs", op::abs, "tt"},
    {"neg", op::neg, "tt"},
    {"fma", op::fma, "tttt"},
    {"sqrt", op::sqrt, "tt"},
    {"rcp", op::rcp, "tt"},
    {"ex2", op::ex2, "tt"},
    {"copysign", op::copysign, "ttt"},
    {"and", op::band, "ttt"},
    {"or", op::bor, "ttt"},
    {"xor", op::bxor, "ttt"},
    {"not", op::bnot, "tt"},
    {"popc", op::count_ones, "nt"},
    {"clz", op::leading_zeros, "nt"},
    {"shl", op::shl, "ttn"},
    {"shr", op::shr, "ttn"},
    {"bfe", op::extract_bits, "ttnn"},
    {"bfi", op::insert_bits, "tttnn"},
    {"prmt", op::permute, "tttn"},
    {"selp", op::select, "tttp"},
    {"cvta", op::mov, "tt"}, // addresses are the same in all spaces that can be told apart by instructions
};

bool is_half(type t) { return t == type::f16 || t == type::bf16; }

} // namespace

bool decoder::decode_operation(const statement &s, instruction &i) {
  const std::string &name = s.opcode[0];
  for (const operation &entry : kOperations)
    if (name == entry.name) {
      set(s, i, entry.op, last_type(s), entry.operands);
      return true;
    }
  if (name == "mul") {
    bool is_wide = s.has("wide");
    set(s, i, is_wide ? op::mul_wide : s.has("hi") ? op::mul_hi : op::mul, last_type(s), is_wide ? "wtt" : "ttt");
  } else if (name == "mad") {
    bool is_wide = s.has("wide"); // the summand is as wide as the result
    set(s, i, is_wide ? op::mad_wide : op::mad, last_type(s), is_wide ? "wttw" : "tttt");
  } else if (name == "shf") {
    set(s, i, s.has("l") ? op::funnel_left : op::funnel_right, last_type(s), "tttn");
  } else if (name == "lop3" && s.operands.size() == 5) {
    statement of_registers = s;
    of_registers.operands.pop_back();
    set(of_registers, i, op::logic, last_type(s), "tttt");
    i.immediate = immediate(s, s.operands[4]);
  } else {
    return false;
  }
  return true;
}

void decoder::decode_compare(const statement &s, instruction &i) {
  static constexpr std::string_view kNames[] = {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  // The unsigned comparisons' older names.
  static constexpr std::pair<std::string_view, std::string_view> kAliases[] = {{"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
  std::string_view name = s.opcode[1];
  for (auto [alias, standard_name] : kAliases)
    if (name == alias)
      name = standard_name;
  set(s, i, op::compare, last_type(s), "ptt");
  i.mode = static_cast<uint8_t>(std::find(std::begin(kNames), std::end(kNames), name) - std::begin(kNames));
}

/// cvt.rn.TYPEx2.f32 pair, upper, lower
void decoder::decode_convert_pair(const statement &s, instruction &i) {
  if (s.operands.size() != 3)
    reject(s.line, s.text);
  i.op = op::convert_pair;
  i.type = s.has("f16x2") ? type::f16 : type::bf16;
  i.target[0] = target(s, s.operands[0], type::b32);
  for (int part : {0, 1})
    i.source[part] = source(s, s.operands[1 + part], type::f32);
}

void decoder::decode_convert(const statement &s, instruction &i) {
  if (s.has("f16x2") || s.has("bf16x2"))
    return decode_convert_pair(s, i);
  // cvt[.rounding].to.from
  if (s.operands.size() != 2)
    reject(s.line, s.text);
  i.op = op::convert;
  i.type = last_type(s, 1);
  i.from = last_type(s);
  // An integer may be the lower part of a wider register. A result fills 32 or 64 bits, so a smaller one may have a register of 32.
  bool is_whole = !is_float(i.from) && !is_half(i.from);
  i.target[0] = target(s, s.operands[0], i.type, 32);
  i.source[0] = source(s, s.operands[1], i.from, is_whole ? 64 : 0);
  i.narrows = is_wider(i.source[0], i.from);
  static constexpr std::pair<std::string_view, rounding> kRoundings[] = {
      {"rn", rounding::nearest}, {"rni", rounding::nearest}, {"rzi", rounding::zero}, {"rmi", rounding::down}, {"rpi", rounding::up}};
  for (auto [name, how] : kRoundings)
    if (s.opcode[1] == name)
      i.mode = static_cast<uint8_t>(how);
}

void decoder::decode_move(const statement &s, instruction &i) {
  type t = last_type(s);
  if (s.operands.size() != 2)
    reject(s.line, s.text);
  auto braced = [](const std::string &text) { return text.starts_with('{'); };
  bool unpacks = braced(s.operands[0]), packs = braced(s.operands[1]);
  if (!unpacks && !packs)
    return set(s, i, op::mov, t, "tt");
  // Halves of 64 or 32 bits.
  i.type = t;
  auto parts = elements(s, s.operands[unpacks ? 0 : 1], 2);
  if (t != type::b64 && t != type::b32)
    reject(s.line, s.text);
  type half = t == type::b64 ? type::b32 : type::b16;
  if (unpacks) {
    i.op = op::unpack;
    i.source[0] = source(s, s.operands[1], t);
    for (int n = 0; n < 2; ++n)
      i.target[n] = parts[n] == "_" ? -1 : target(s, parts[n], half);
  } else {
    i.op = op::pack;
    i.target[0] = target(s, s.operands[0], t);
    for (int n = 0; n < 2; ++n)
      i.source[n] = source(s, parts[n], half);
  }
}

void decoder::decode_parameter(const statement &s, instruction &i, std::string_view memory) {
  auto [name, offset] = base_and_offset(s, memory);
  auto named = std::find(text_.parameters.begin(), text_.parameters.end(), name);
  i.op = op::load_param;
  int64_t first = 8 * (named - text_.parameters.begin()), last = static_cast<int64_t>(result_.parameter_bytes) - i.count * size_of(i.type);
  if (named == text_.parameters.end() || offset < -first || offset > last - first)
    reject(s.line, s.text);
  i.immediate = first + offset;
}

void decoder::decode_memory(const statement &s, instruction &i) {
  bool loads = s.opcode[0] == "ld";
  if (s.operands.size() != 2)
    reject(s.line, s.text);
  i.type = last_type(s);
  const std::string &memory = s.operands[loads ? 1 : 0], &values = s.operands[loads ? 0 : 1];
  std::vector<std::string> list{values};
  if (s.has("v2") || s.has("v4"))
    list = elements(s, values, s.has("v2") ? 2 : 4);
  if (static_cast<int>(list.size()) * size_of(i.type) > 16)
    reject(s.line, s.text);
  i.count = static_cast<uint8_t>(list.size());
  for (size_t n = 0; n < list.size(); ++n) {
    if (loads)
      i.target[n] = target(s, list[n], i.type, 64);
    else
      i.source[n] = source(s, list[n], i.type, 64);
    if (loads && bits_[i.target[n]] != bits_[i.target[0]])
      reject(s.line, "registers of different widths: " + s.text);
    if (!loads && is_wider(i.source[n], i.type))
      i.narrows |= static_cast<uint8_t>(1 << n);
  }
  i.widens = loads && is_wider(i.target[0], i.type);
  if (s.has("param"))
    return decode_parameter(s, i, memory);
  bool shared = s.has("shared");
  i.op = loads ? (shared ? op::load_shared : op::load_global) : (shared ? op::store_shared : op::store_global);
  // A store's address is its target.
  int32_t row = address(s, memory, i.immediate);
  if (loads)
    i.source[0] = row;
  else
    i.target[0] = row;
}

bool decoder::decode_moves(const statement &s, instruction &i) {
  const std::string &name = s.opcode[0];
  if (name == "mov") {
    decode_move(s, i);
  } else if (name == "cvt") {
    decode_convert(s, i);
  } else if (name == "setp") {
    decode_compare(s, i);
  } else if (name == "ld" || name == "st") {
    decode_memory(s, i);
  } else {
    return false;
  }
  return true;
}

bool decoder::decode_control(const statement &s, instruction &i) {
  const std::string &name = s.opcode[0];
  if (name == "ret" || name == "exit") {
    i.op = op::exit;
    return true;
  }
  if (name == "bra") {
    auto found = s.operands.size() == 1 ? labels_.find(s.operands[0]) : labels_.end();
    if (found == labels_.end())
      return false;
    i.op = op::branch;
    i.immediate = found->second;
    return true;
  }
  if (name == "bar" || name == "barrier") {
    i.op = s.has("warp") ? op::warp_barrier : op::barrier;
    // There is one barrier for all threads of a block, or of a warp.
    return s.operands.size() == 1 && s.operands[0] == (s.has("warp") ? "-1" : "0");
  }
  return false;
}

bool decoder::decode_exchange(const statement &s, instruction &i) {
  const std::string &name = s.opcode[0];
  if (name == "shfl" && s.operands.size() == 5) {
    // target[|predicate], value, lane, clamp, members
    static const std::pair<const char *, shuffle_mode> kModes[] = {
        {"bfly", shuffle_mode::exchange}, {"up", shuffle_mode::up}, {"down", shuffle_mode::down}, {"idx", shuffle_mode::index}};
    size_t bar = s.operands[0].find('|');
    i.op = op::shuffle;
    i.type = type::b32;
    i.target[0] = target(s, trim(std::string_view(s.operands[0]).substr(0, bar)), type::b32);
    if (bar != std::string::npos)
      i.target[1] = target(s, trim(std::string_view(s.operands[0]).substr(bar + 1)), type::pred);
    for (int n = 0; n < 4; ++n)
      i.source[n] = source(s, s.operands[n + 1], type::b32);
    for (auto [mode, value] : kModes)
      if (s.opcode[2] == mode) {
        i.mode = static_cast<uint8_t>(value);
        return true;
      }
  }
  // target, value, members
  if (name == "redux") {
    set(s, i, op::reduce_lanes, last_type(s), "ttn");
    i.mode = static_cast<uint8_t>(s.has("min") ? reduction::min : reduction::max);
    return true;
  }
  if (name == "vote") {
    set(s, i, op::ballot, type::b32, "npn");
    return true;
  }
  return false;
}

} // namespace xf::rt::emulator
