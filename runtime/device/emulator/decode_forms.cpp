// Which instructions PTX ISA 7.0 has, of those that the emulator executes, with all that their names may say.
#include "runtime/device/emulator/decode.h"

#include <algorithm>

namespace xf::rt::emulator {

namespace {

struct type_set {
  std::string_view name, types;
};
constexpr type_set kSets[] = {{"BITS", "b16|b32|b64"},
                              {"SIGNED", "s16|s32|s64"},
                              {"UNSIGNED", "u16|u32|u64"},
                              {"INTEGER", "s16|s32|s64|u16|u32|u64"},
                              {"NARROW", "s16|s32|u16|u32"},
                              {"BYTE", "b8|s8|u8"},
                              {"NUMBER", "s8|s16|s32|s64|u8|u16|u32|u64"},
                              {"FLOAT", "f32|f64"}};

// The parts of names, with the alternatives for each. Nothing else is known: `ftz`, `sat`, `nc`, `relaxed` and the like make other
// instructions. Additions and multiplications of floats say how they round: without that ptxas may fuse two into one. Approximations differ
// from GPU to GPU; only ex2 has no other form. Floats of 16 bits have conversions and products of matrices, but no arithmetic.
constexpr std::string_view kForms[] = {"add|sub|div|rem|min|max.INTEGER",
                                       "add|sub|mul|div|sqrt|rcp|fma.rn.FLOAT",
                                       "min|max|abs|neg|copysign.FLOAT",
                                       "abs|neg.SIGNED",
                                       "ex2.approx.f32",
                                       "mul.lo|hi.INTEGER",
                                       "mad.lo.INTEGER",
                                       "mul|mad.wide.NARROW",
                                       "and|or|xor|not.pred|BITS",
                                       "shl.BITS",
                                       "shr.BITS|INTEGER",
                                       "popc|clz|bfi.b32|b64",
                                       "bfe.s32|s64|u32|u64",
                                       "shf.l|r.wrap.b32",
                                       "prmt|lop3.b32",
                                       "mov.pred|BITS|INTEGER|FLOAT",
                                       "selp.BITS|INTEGER|FLOAT",
                                       "setp.eq|ne.BITS|INTEGER|FLOAT",
                                       "setp.lt|le|gt|ge.INTEGER|FLOAT",
                                       "setp.lo|ls|hi|hs.UNSIGNED",
                                       "setp.equ|neu|ltu|leu|gtu|geu|num|nan.FLOAT",
                                       "cvta.global|shared.u64",
                                       "cvta.to.global|shared.u64",
                                       "cvt.NUMBER.NUMBER",
                                       "cvt.rni|rzi|rmi|rpi.NUMBER.FLOAT",
                                       "cvt.rn.FLOAT.NUMBER",
                                       "cvt.rni|rzi|rmi|rpi.f32.f32",
                                       "cvt.rni|rzi|rmi|rpi.f64.f64",
                                       "cvt.f64.f32",
                                       "cvt.rn.f32.f64",
                                       "cvt.f32.f16",
                                       "cvt.rn.f16|bf16|f16x2|bf16x2.f32",
                                       "ld.param|global|shared.BYTE|BITS|INTEGER|FLOAT",
                                       "ld.param|global|shared.v2|v4.BYTE|BITS|INTEGER|FLOAT",
                                       "st.global|shared.BYTE|BITS|INTEGER|FLOAT",
                                       "st.global|shared.v2|v4.BYTE|BITS|INTEGER|FLOAT",
                                       "bra|ret",
                                       "bra|ret.uni",
                                       "exit",
                                       "bar|barrier.sync",
                                       "barrier.sync.aligned",
                                       "bar.warp.sync",
                                       "shfl.sync.up|down|bfly|idx.b32",
                                       "redux.sync.min|max.s32|u32",
                                       "vote.sync.ballot.b32",
                                       "cp.async.ca|cg.shared.global",
                                       "cp.async.commit_group|wait_group|wait_all",
                                       "ldmatrix.sync.aligned.m8n8.x1|x2|x4.shared.b16",
                                       "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                                       "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
                                       "prefetch.global.L2",
                                       "griddepcontrol.launch_dependents|wait"};

// Takes the text up to `end`, and `end` itself.
std::string_view next(std::string_view &text, char end) {
  size_t length = std::min(text.find(end), text.size());
  std::string_view first = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  return first;
}

bool is_one_of(std::string_view part, std::string_view choices) {
  while (!choices.empty()) {
    std::string_view choice = next(choices, '|');
    auto set = std::find_if(std::begin(kSets), std::end(kSets), [&](const type_set &set) { return choice == set.name; });
    if (set != std::end(kSets) ? is_one_of(part, set->types) : part == choice)
      return true;
  }
  return false;
}

} // namespace

bool has_form(const statement &s) {
  return std::any_of(std::begin(kForms), std::end(kForms), [&](std::string_view form) {
    for (const std::string &part : s.opcode)
      if (!is_one_of(part, next(form, '.')))
        return false;
    return form.empty();
  });
}

} // namespace xf::rt::emulator
