// Instructions of compute capability 8.0: asynchronous copies, and matrices that a warp holds together.
#include "runtime/device/emulator/decode.h"

namespace xf::rt::emulator {

bool decoder::decode_copies(const statement &s, instruction &i) {
  if (s.opcode[0] != "cp")
    return false;
  i.type = type::b32;
  if (s.has("commit_group")) {
    i.op = op::close_copies;
    return s.operands.empty();
  }
  if (s.has("wait_all")) {
    i.op = op::await_copies;
    i.immediate = -1;
    return s.operands.empty();
  }
  if (s.has("wait_group")) {
    i.op = op::await_copies;
    if (s.operands.size() != 1)
      return false;
    i.immediate = immediate(s, s.operands[0]);
    return i.immediate >= 0;
  }
  // cp.async.cg.shared.global [to], [from], size(, bytes that are read)
  if (s.operands.size() < 3 || s.operands.size() > 4)
    return false;
  const std::string &size = s.operands[2];
  if (size != "16" && (s.has("cg") || (size != "4" && size != "8")))
    return false;
  i.op = op::start_copy;
  i.count = static_cast<uint8_t>(immediate(s, size));
  i.target[0] = address(s, s.operands[0], i.immediate);
  i.source[0] = address(s, s.operands[1], i.source_offset);
  if (s.operands.size() == 4)
    i.source[1] = source(s, s.operands[3], type::b32);
  return true;
}

// prefetch.global.L2 [from], and what compute capability 9.0 has for launches that overlap.
bool decoder::decode_launches(const statement &s, instruction &i) {
  if (s.opcode[0] == "prefetch") {
    if (s.operands.size() != 1)
      return false;
    i.op = op::prefetch;
    i.source[0] = address(s, s.operands[0], i.immediate);
    return true;
  }
  if (s.opcode[0] != "griddepcontrol")
    return false;
  i.op = s.has("wait") ? op::await_launches : op::start_dependents;
  result_.overlaps = true;
  result_.awaits_launches |= i.op == op::await_launches;
  return s.operands.empty();
}

bool decoder::decode_matrices(const statement &s, instruction &i) {
  if (s.opcode[0] == "ldmatrix") {
    // ldmatrix.sync.aligned.m8n8.x4.shared.b16 {words}, [row]
    if (s.operands.size() != 2)
      return false;
    i.op = op::load_matrices;
    i.type = type::b32;
    i.count = s.has("x4") ? 4 : s.has("x2") ? 2 : 1;
    auto targets = elements(s, s.operands[0], i.count);
    for (size_t n = 0; n < i.count; ++n)
      i.target[n] = target(s, targets[n], type::b32);
    i.source[0] = address(s, s.operands[1], i.immediate);
    return true;
  }
  // mma.sync.aligned.m16n8k16.row.col.f32.TYPE.TYPE.f32 {sums}, {a}, {b}, {c}
  if (s.opcode[0] != "mma" || s.operands.size() != 4)
    return false;
  i.op = op::multiply;
  i.type = s.has("bf16") ? type::bf16 : type::f16;
  auto sums = elements(s, s.operands[0], 4);
  for (size_t n = 0; n < 4; ++n)
    i.target[n] = target(s, sums[n], type::f32);
  int32_t *next = i.source;
  for (auto [operand, count] : {std::pair<size_t, size_t>{1, 4}, {2, 2}, {3, 4}})
    for (const std::string &word : elements(s, s.operands[operand], count))
      *next++ = source(s, word, type::b32);
  return true;
}

} // namespace xf::rt::emulator
