// Which PTX instructions there are.
#include "runtime/device/emulator/decode.h"

#include <bit>
#include <string>

namespace xf::rt::emulator {

bool decoder::decode_arithmetic(const statement &s, instruction &i) {
  const std::string &name = s.opcode[0];
  // Single arguments and pairs whose only variants are types; roundings are to nearest.
  static const std::pair<const char *, std::pair<emulator::op, int>> kPlain[] = {
      {"add", {op::add, 2}}, {"sub", {op::sub, 2}}, {"div", {op::div, 2}}, {"rem", {op::rem, 2}},
      {"min", {op::min, 2}}, {"max", {op::max, 2}}, {"abs", {op::abs, 1}}, {"neg", {op::neg, 1}},
      {"fma", {op::fma, 3}}, {"sqrt", {op::sqrt, 1}}, {"rcp", {op::rcp, 1}}, {"ex2", {op::ex2, 1}},
      {"copysign", {op::copysign, 2}}};
  if (s.has("rz") && name != "cvt")
    return false;
  // Approximations are not what another GPU gives, bit for bit; only ex2 has nothing else.
  if (s.has("approx") && name != "ex2")
    return false;
  // Without a rounding ptxas may fuse additions and multiplications.
  bool is_of_floats = s.opcode.back() == "f32" || s.opcode.back() == "f64";
  if (is_of_floats && (name == "add" || name == "sub" || name == "mul") && !s.has("rn"))
    return false;
  for (const auto &[known, what] : kPlain)
    if (name == known) {
      set(s, i, what.first, last_type(s), what.second);
      return true;
    }
  if (name == "mul" || name == "mad") {
    type t = last_type(s);
    bool with_sum = name == "mad";
    if (is_float(t)) {
      set(s, i, op::mul, t, 2);
      return !with_sum;
    }
    if (s.has("wide")) {
      set(s, i, with_sum ? op::mad_wide : op::mul_wide, t, with_sum ? 3 : 2);
      if (with_sum) // the summand is as wide as the result
        i.source[2] = source(s, s.operands[3], size_of(t) == 4 ? type::b64 : type::b32);
      return true;
    }
    if (s.has("hi")) {
      set(s, i, op::mul_hi, t, 2);
      return !with_sum;
    }
    set(s, i, with_sum ? op::mad : op::mul, t, with_sum ? 3 : 2);
    return true;
  }
  return false;
}

bool decoder::decode_bits(const statement &s, instruction &i) {
  const std::string &name = s.opcode[0];
  static const std::pair<const char *, std::pair<emulator::op, int>> kPlain[] = {
      {"and", {op::band, 2}}, {"or", {op::bor, 2}}, {"xor", {op::bxor, 2}}, {"not", {op::bnot, 1}},
      {"popc", {op::count_ones, 1}}, {"clz", {op::leading_zeros, 1}}};
  for (const auto &[known, what] : kPlain)
    if (name == known) {
      set(s, i, what.first, last_type(s), what.second);
      return true;
    }
  auto counted = [&](emulator::op which, int sources, int first_count) {
    set(s, i, which, last_type(s), sources);
    for (int n = first_count; n < sources; ++n)
      i.source[n] = source(s, s.operands[n + 1], type::b32);
    return true;
  };
  if (name == "shl")
    return counted(op::shl, 2, 1);
  if (name == "shr")
    return counted(op::shr, 2, 1);
  if (name == "bfe")
    return counted(op::extract_bits, 3, 1);
  if (name == "bfi")
    return counted(op::insert_bits, 4, 2);
  if (name == "shf" && s.opcode.size() == 4 && s.opcode[2] == "wrap")
    return counted(s.opcode[1] == "l" ? op::funnel_left : op::funnel_right, 3, 2);
  if (name == "prmt" && s.opcode.size() == 2)
    return counted(op::permute, 3, 2);
  if (name == "lop3" && s.operands.size() == 5) {
    i.op = op::logic;
    i.type = type::b32;
    i.target[0] = target(s, s.operands[0]);
    for (int n = 0; n < 3; ++n)
      i.source[n] = source(s, s.operands[n + 1], type::b32);
    i.immediate = immediate(s, s.operands[4]);
    return true;
  }
  return false;
}

void decoder::decode_compare(const statement &s, instruction &i) {
  static const char *const kNames[] = {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  // The unsigned comparisons' older names.
  static const std::pair<const char *, const char *> kAliases[] = {{"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
  std::string name = s.opcode.size() == 3 ? s.opcode[1] : "";
  for (auto [alias, known] : kAliases)
    if (name == alias)
      name = known;
  for (size_t n = 0; n < std::size(kNames); ++n)
    if (name == kNames[n]) {
      set(s, i, op::compare, last_type(s), 2);
      i.mode = static_cast<uint8_t>(n);
      return;
    }
  reject(s.line, s.text);
}

/// cvt.rn.TYPEx2.f32 pair, upper, lower
bool decoder::decode_convert_pair(const statement &s, instruction &i) {
  bool is_f16 = s.has("f16x2");
  if (s.opcode != std::vector<std::string>{"cvt", "rn", is_f16 ? "f16x2" : "bf16x2", "f32"} || s.operands.size() != 3)
    return false;
  i.op = op::convert_pair;
  i.type = is_f16 ? type::f16 : type::bf16;
  i.target[0] = target(s, s.operands[0]);
  for (int part : {0, 1})
    i.source[part] = source(s, s.operands[1 + part], type::f32);
  return true;
}

void decoder::decode_convert(const statement &s, instruction &i) {
  if (decode_convert_pair(s, i))
    return;
  // cvt[.rounding][.sat].to.from
  if (s.opcode.size() < 3 || s.operands.size() != 2)
    reject(s.line, s.text);
  statement from = s;
  from.opcode = {"cvt", s.opcode.back()};
  statement to = s;
  to.opcode.pop_back();
  i.op = op::convert;
  i.type = last_type(to);
  i.from = last_type(from);
  i.target[0] = target(s, s.operands[0]);
  i.source[0] = source(s, s.operands[1], i.from);
  i.narrows = is_wider(s.operands[1], i.source[0], i.from);
  for (size_t n = 1; n + 2 < s.opcode.size(); ++n) {
    const std::string &part = s.opcode[n];
    if (part == "rn" || part == "rni")
      i.mode = static_cast<uint8_t>(rounding::nearest);
    else if (part == "rz" || part == "rzi")
      i.mode = static_cast<uint8_t>(rounding::zero);
    else if (part == "rmi")
      i.mode = static_cast<uint8_t>(rounding::down);
    else if (part == "rpi")
      i.mode = static_cast<uint8_t>(rounding::up);
    else
      reject(s.line, s.text);
  }
  auto is_half = [](type t) { return t == type::f16 || t == type::bf16; };
  bool narrowing = (i.type == type::f32 && i.from == type::f64) || (is_half(i.type) && i.from == type::f32);
  if (narrowing && i.mode != static_cast<uint8_t>(rounding::nearest))
    reject(s.line, s.text);
  // The lower part of a wider register is a whole number.
  if (i.narrows && (is_half(i.from) || is_float(i.from)))
    reject(s.line, s.text);
  // Halves become f32 and come from it, and nothing else; of bf16 PTX ISA 7.0 has the latter only.
  if ((is_half(i.type) && i.from != type::f32) || (is_half(i.from) && i.type != type::f32) || i.from == type::bf16)
    reject(s.line, s.text);
}

void decoder::decode_move(const statement &s, instruction &i) {
  type t = last_type(s);
  if (s.operands.size() != 2)
    reject(s.line, s.text);
  auto braced = [](const std::string &text) { return text.starts_with('{'); };
  auto inside = [](const std::string &text) { return split_operands(std::string_view(text).substr(1, text.size() - 2)); };
  bool unpacks = braced(s.operands[0]), packs = braced(s.operands[1]);
  if (!unpacks && !packs)
    return set(s, i, op::mov, t, 1);
  // Halves of 64 or 32 bits.
  i.type = t;
  auto parts = inside(s.operands[unpacks ? 0 : 1]);
  if (parts.size() != 2 || (size_of(t) != 8 && size_of(t) != 4))
    reject(s.line, s.text);
  type half = size_of(t) == 8 ? type::b32 : type::b16;
  if (unpacks) {
    i.op = op::unpack;
    i.source[0] = source(s, s.operands[1], t);
    for (int n = 0; n < 2; ++n)
      i.target[n] = parts[n] == "_" ? -1 : target(s, parts[n]);
  } else {
    i.op = op::pack;
    i.target[0] = target(s, s.operands[0]);
    for (int n = 0; n < 2; ++n)
      i.source[n] = source(s, parts[n], half);
  }
}

void decoder::decode_memory(const statement &s, instruction &i) {
  bool loads = s.opcode[0] == "ld";
  if (s.operands.size() != 2)
    reject(s.line, s.text);
  i.type = last_type(s);
  const std::string &place = s.operands[loads ? 1 : 0], &values = s.operands[loads ? 0 : 1];
  std::vector<std::string> list{values};
  if (values.starts_with('{'))
    list = split_operands(std::string_view(values).substr(1, values.size() - 2));
  if (!std::has_single_bit(list.size()) || list.size() > 4 || static_cast<int>(list.size()) * size_of(i.type) > 16)
    reject(s.line, s.text);
  i.count = static_cast<uint8_t>(list.size());
  for (size_t n = 0; n < list.size(); ++n) {
    if (loads)
      i.target[n] = target(s, list[n]);
    else
      i.source[n] = source(s, list[n], i.type);
    if (!loads && is_wider(list[n], i.source[n], i.type))
      i.narrows |= static_cast<uint8_t>(1 << n);
  }
  i.widens = loads && size_of(i.type) < 8 && widths_[i.target[0]] == 8;
  if (s.has("param")) {
    if (!loads || i.widens)
      reject(s.line, s.text);
    std::string_view name = std::string_view(place).substr(1, place.size() - 2);
    size_t plus = name.find('+');
    for (size_t n = 0; n < text_.parameters.size(); ++n)
      if (text_.parameters[n] == trim(name.substr(0, plus))) {
        i.op = op::load_param;
        i.immediate = static_cast<int64_t>(8 * n);
        if (plus != std::string_view::npos)
          i.immediate += immediate(s, trim(name.substr(plus + 1)));
        if (i.immediate < 0 || i.immediate > static_cast<int64_t>(result_.parameter_bytes) - i.count * size_of(i.type))
          reject(s.line, s.text);
        return;
      }
    reject(s.line, s.text);
  }
  bool shared = s.has("shared");
  if (!shared && !s.has("global"))
    reject(s.line, s.text);
  i.op = loads ? (shared ? op::load_shared : op::load_global) : (shared ? op::store_shared : op::store_global);
  // Where values go is a store's target.
  int32_t row = address(s, place, i.immediate);
  if (loads)
    i.source[0] = row;
  else
    i.target[0] = row;
}

bool decoder::decode_moves(const statement &s, instruction &i) {
  const std::string &name = s.opcode[0];
  if (name == "mov") {
    decode_move(s, i);
  } else if (name == "cvta") {
    set(s, i, op::mov, last_type(s), 1); // addresses are the same in all spaces that can be told apart by instructions
  } else if (name == "cvt") {
    decode_convert(s, i);
  } else if (name == "setp") {
    decode_compare(s, i);
  } else if (name == "selp") {
    set(s, i, op::select, last_type(s), 3);
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
  if ((name == "bar" || name == "barrier") && s.has("sync")) {
    i.op = s.has("warp") ? op::warp_barrier : op::barrier;
    // There is one barrier for all threads of a block, or of a warp.
    return s.operands.size() == 1 && s.operands[0] == (s.has("warp") ? "-1" : "0");
  }
  return false;
}

bool decoder::decode_exchange(const statement &s, instruction &i) {
  const std::string &name = s.opcode[0];
  if (name == "shfl" && s.has("sync") && s.operands.size() == 5) {
    // target[|predicate], value, lane, clamp, members
    static const std::pair<const char *, shuffle_mode> kModes[] = {{"bfly", shuffle_mode::exchange},
                                                                   {"up", shuffle_mode::up},
                                                                   {"down", shuffle_mode::down},
                                                                   {"idx", shuffle_mode::index}};
    size_t bar = s.operands[0].find('|');
    i.op = op::shuffle;
    i.type = type::b32;
    i.target[0] = target(s, trim(std::string_view(s.operands[0]).substr(0, bar)));
    if (bar != std::string::npos)
      i.target[1] = target(s, trim(std::string_view(s.operands[0]).substr(bar + 1)));
    for (int n = 0; n < 4; ++n)
      i.source[n] = source(s, s.operands[n + 1], type::b32);
    for (auto [mode, value] : kModes)
      if (s.opcode[2] == mode) {
        i.mode = static_cast<uint8_t>(value);
        return true;
      }
  }
  // target, value, members
  if (name == "redux" && s.opcode.size() == 4 && s.opcode[1] == "sync" && (s.has("min") || s.has("max")) && (s.has("s32") || s.has("u32"))) {
    set(s, i, op::reduce_lanes, last_type(s), 2);
    i.mode = static_cast<uint8_t>(s.has("min") ? reduction::least : reduction::greatest);
    return true;
  }
  if (name == "vote" && s.opcode == std::vector<std::string>{"vote", "sync", "ballot", "b32"}) {
    set(s, i, op::ballot, type::b32, 2);
    return true;
  }
  return false;
}

} // namespace xf::rt::emulator
