// Turns a function's statements into instructions.
#ifndef RUNTIME_DEVICE_EMULATOR_DECODE_H
#define RUNTIME_DEVICE_EMULATOR_DECODE_H

#include "runtime/device/emulator/program.h"
#include "runtime/device/emulator/statement.h"

#include <utility>

namespace xf::rt::emulator {

// Whether there is an instruction of that name. The decoder checks its operands.
bool has_form(const statement &s);

class decoder {
public:
  decoder(const function_text &text, const std::vector<shared_variable> &shared) : text_(text), shared_(shared) {}
  function run();

private:
  void decode(const statement &s);
  void check_registers() const;
  void declare_registers(const statement &s);
  bool decode_operation(const statement &s, instruction &i);
  bool decode_moves(const statement &s, instruction &i);
  bool decode_control(const statement &s, instruction &i);
  bool decode_exchange(const statement &s, instruction &i);
  bool decode_copies(const statement &s, instruction &i);
  bool decode_launches(const statement &s, instruction &i);
  bool decode_matrices(const statement &s, instruction &i);
  void decode_memory(const statement &s, instruction &i);
  void decode_parameter(const statement &s, instruction &i, std::string_view memory);
  void decode_convert(const statement &s, instruction &i);
  void decode_convert_pair(const statement &s, instruction &i);
  void decode_compare(const statement &s, instruction &i);
  void decode_move(const statement &s, instruction &i);
  // Sets an instruction on values of type `t`. `operands` has a letter for the type of each, the target first: `t` (t), one that is twice as
  // wide (w), 32 bits (n), a predicate (p).
  void set(const statement &s, instruction &i, emulator::op op, type t, std::string_view operands);

  // The row of a register, a number or a special register as a source of type `t`. Registers are as wide as that, or up to `widest` bits.
  int32_t source(const statement &s, std::string_view text, type t, int widest = 0);
  int32_t target(const statement &s, std::string_view text, type t, int widest = 0);
  int32_t any_register(const statement &s, std::string_view text);
  // Checks the width of the register `text`, and returns its `row`.
  int32_t of_width(const statement &s, std::string_view text, int32_t row, type t, int widest);
  int32_t special(std::string_view name);
  int32_t constant_row(int bytes, uint64_t value);
  // A number that is written in the text.
  int64_t immediate(const statement &s, std::string_view text);
  // `[base + offset]`, or without the offset.
  std::pair<std::string_view, int64_t> base_and_offset(const statement &s, std::string_view text);
  // `[register + offset]`; returns the register's row.
  int32_t address(const statement &s, std::string_view text, int64_t &offset);
  int64_t shared_address(std::string_view name);
  // The type that the instruction's name ends with, or that `behind` more parts follow.
  type last_type(const statement &s, size_t behind = 0) const;
  // The elements of `{first, second}`, of which there must be `count`.
  std::vector<std::string> elements(const statement &s, const std::string &text, size_t count) const;
  int32_t allocate(int bits);
  // Whether a register has 64 bits, of which a smaller type is the lower part.
  bool is_wider(int32_t row, type t) { return size_of(t) < 8 && bits_[row] == 64; }

  const function_text &text_;
  const std::vector<shared_variable> &shared_;
  function result_;
  std::map<std::string, int, std::less<>> prefixes_; // bits of the registers whose names have this prefix
  std::map<std::string, int32_t, std::less<>> registers_;
  std::map<int32_t, int> bits_; // of the register at a row; 1: a predicate
  std::map<std::pair<int, uint64_t>, int32_t> constants_;
  std::map<std::string, int64_t, std::less<>> labels_, shared_offsets_;
};

} // namespace xf::rt::emulator

#endif
