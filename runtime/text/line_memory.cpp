#include "runtime/text/line_memory.h"

#include "runtime/core/predict.h"
#include "runtime/text/codec.h"

#include <algorithm>

namespace xf::rt {

namespace {

// Bytes of a line's and of a result's structs, with a message and what malloc adds.
constexpr uint64_t kLine = 512, kResult = 128;
// Bytes of a vocabulary's token: its entries in a list and in a hash table, both of which may have just grown.
constexpr uint64_t kToken = 128;
// "-1.23457e-05", and the blank between two numbers.
constexpr uint64_t kNumber = 13;
// "2147483647" or "<unk>", which a token without a name is written as.
constexpr size_t kUnnamed = 10;
// A character of a result in JSON: "\u001f".
constexpr uint64_t kEscaped = 6;

// The longest token's text and a blank.
uint64_t longest_token(const text_side &side) {
  size_t longest = kUnnamed;
  for (size_t id = 0; id < side.vocab->size(); ++id)
    longest = std::max(longest, side.vocab->token(id).size());
  if (side.subwords)
    longest = std::max(longest, side.subwords->longest());
  return longest + 1;
}

// Bytes of the tokens, and of one text while it is cut into them.
uint64_t token_bytes(const text_side &side, uint64_t longest) {
  return side.vocab->size() * kToken + (side.subwords ? side.subwords->memory(longest) : 0);
}

// A result's text.
uint64_t result_bytes(const model &m, const text_side &side) {
  const xf_abi_generate &g = m.header().generate;
  if (g.present)
    return static_cast<uint64_t>(g.target + 1) * (longest_token(side) + (g.align >= 0 ? sizeof(int32_t) : 0));
  arena_plan plan;
  predict_layout layout(m, plan);
  uint64_t rows = layout.by_token ? g.source : 1;
  return rows * (m.header().predict.labels ? longest_token(side) : static_cast<uint64_t>(layout.width) * kNumber);
}

// How many labels of a line may be wanted, the most likely ones of its only row.
uint64_t choices_of(const model &m) {
  arena_plan plan;
  predict_layout layout(m, plan);
  return m.header().predict.present && m.header().predict.labels && !layout.by_token ? static_cast<uint64_t>(layout.width) : 0;
}

} // namespace

uint64_t bytes_of_lines(const model &m, uint64_t count, uint64_t text, uint64_t longest) {
  const xf_abi_generate &g = m.header().generate;
  if (!g.present && !m.header().predict.present)
    return 0;
  text_side source(m, true, false), target(m, false, false, &source);
  uint64_t results = g.present ? g.beam : 1;
  // A string that has grown takes up to twice its text's bytes. A byte is at most a token, besides those put around a line.
  uint64_t one = results * (2 * result_bytes(m, target) + kResult) + kLine + sizeof(int32_t) * 3 * XF_ABI_MAX_AFFIX;
  // Choices are sorted, and keep the room that all of them take; they are texts when they are printed.
  uint64_t choices = g.present ? 0 : choices_of(m);
  one += choices * (2 * sizeof(int32_t) + sizeof(double));
  // One line's results are copied as they are printed.
  uint64_t given = 2 * text + 2 * longest; // one line in small letters
  uint64_t texts = m.header().text.between_count ? 2 : 1;
  given += sizeof(int32_t) * (source.subwords ? count * texts * source.max_tokens : text);
  given += sizeof(int32_t) * (target.subwords ? count * target.max_tokens : text); // a prefix on each line
  bool alike = target.vocab == source.vocab && target.subwords == source.subwords; // and there once
  return token_bytes(source, longest) + (alike ? 0 : token_bytes(target, longest)) + given + (count + kEscaped) * one +
         kEscaped * choices * (2 * longest_token(target) + kResult);
}

} // namespace xf::rt
