// The tensors and calls that bring sentences into a search: what encode and begin take and give, and where it lies in the session's memory.
#ifndef RUNTIME_CORE_SOURCE_LAYOUT_H
#define RUNTIME_CORE_SOURCE_LAYOUT_H

#include "runtime/core/arena.h"
#include "runtime/core/grouping.h"
#include "runtime/core/model.h"
#include "runtime/core/sentence_pack.h"
#include "runtime/core/sentence_window.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xf::rt {

// A tensor of encode or begin. One that both know, by its name, is stored once; its values are below both bounds.
struct source_tensor {
  tensor_info info;
  uint64_t offset;
};

// An entry's arguments as indices into the source's tensors, or what stands for none of these.
constexpr int kSlotsArgument = -1;
constexpr int kPackArgument = -2; // of the sentence_pack, by its name
struct source_call {
  const entry_info *entry = nullptr;
  std::vector<int> arguments;
};

struct source_layout {
  source_layout(const model &m, arena_plan &plan);
  bool exists() const { return encode.entry || begin.entry; }
  // Why the model cannot be searched from tokens alone, as lines have them; empty if it can.
  std::string refuses_tokens() const;
  // The tensor's index, the last of this name; -1 where there is none.
  int find(std::string_view name) const;

  int64_t batch, min_length = 1, min_batch = 1; // positions and sentences that encode and begin need
  std::vector<source_tensor> tensors;
  source_call encode, begin;
  source_call packed_encode, packed_begin; // their twins, or none
  entry_info required;               // as if encode and begin were one: the inputs that the caller owes
  std::vector<int> required_indices; // their indices in `tensors`
  int tokens = -1;                   // index in `tensors` of the input that token rows fill
  std::string other_input;           // an input that is not tokens, if there is one

  sentence_window window;
  grouping groups;
  sentence_pack pack;
  uint64_t slots;   // int32_t[batch], the argument of begin
  uint64_t started; // int32_t[batch]: slots of the sentences that start

private:
  void add(const model &m, arena_plan &plan, int32_t index, source_call &call);
  void add_packed(const model &m, int32_t index, source_call &call) const;
  void find_required(const xf_abi_generate &g);
};

} // namespace xf::rt

#endif
