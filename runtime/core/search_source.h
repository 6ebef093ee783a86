// The source of the sentences that are searched: its tensors, and the calls of encode and begin that fill the states of their slots. Sentences
// wait in a window, as rows of tokens; or the caller gives them all at once, as the model's own inputs. A model that continues prompts has
// no source: its sentences only wait here.
#ifndef RUNTIME_CORE_SEARCH_SOURCE_H
#define RUNTIME_CORE_SEARCH_SOURCE_H

#include "runtime/core/binding.h"
#include "runtime/core/function_ref.h"
#include "runtime/core/group_calls.h"
#include "runtime/core/sinks.h"
#include "runtime/core/source_layout.h"

#include <cstdint>
#include <span>
#include <vector>

namespace xf::rt {

class search_source {
public:
  search_source(session &owner, const model &m, source_layout &layout);
  void bind(const arena &memory);

  // Whether tokens fill one of its inputs.
  bool has_tokens() const { return layout_.tokens >= 0; }

  // The sentences that wait; none does where the caller gives them all at once.
  sentence_window &window() { return layout_.window; }
  const sentence_window &window() const { return layout_.window; }
  std::span<const int32_t> ids(int64_t sentence) const { return layout_.window.rows()->row(sentence); }
  // How many of the waiting sentences may start now, in `free` slots; `fresh`: no others are searched.
  int64_t joining(int64_t free, bool fresh);
  // The one at this position among those that wait is to start in a slot.
  void assign(int64_t position, int32_t slot);
  // The first `count` that wait start, where they have been assigned.
  void start(int64_t count);

  // Checks and keeps the model's own inputs; returns the number of sentences.
  int64_t bind_given(std::span<const argument> inputs);
  int64_t given_count() const { return dims_[g_.batch_dim]; }
  int64_t given_length() const { return dims_[g_.source_dim]; }
  // The tokens of a sentence, none where the source has no tokens; valid until the next call.
  std::span<const int32_t> given_ids(int64_t sentence);
  // Sentence i of them starts in slot i.
  void start_given();

  // Sets the dimensions of a step of the sentences in the slots, but for its rows and positions.
  void set_dims(int64_t *dims) const;

  // Takes a sentence that is done apart from the others; `dims` are its own. One of a window is encoded again, as others have taken the
  // place of its tensors since.
  void extract(int64_t sentence, int64_t *dims);
  // That sentence's part of a tensor; `dims` are its own.
  void *tensor_of(int64_t sentence, int tensor, const int64_t *dims) const;
  bool is_padding(int64_t sentence, int64_t position) const;

  // The width of the encoder's rows.
  int64_t encoding_width() const;
  // Tells `sink` the encoder's rows of each sentence that `accepts` holds for.
  void encode(const token_rows &rows, function_ref<bool(int64_t sentence)> accepts, predict_sink &sink);

private:
  bool is_given() const { return !layout_.window.rows(); }
  void *pointer(int tensor) const {
    void *given = given_[tensor];
    return is_given() && given ? given : buffers_[tensor];
  }
  bool may_join(int64_t length) const;
  void lay_out(const sentence_groups &groups, const group_calls::group &group, int64_t *dims) const;
  void lay_out(const pack_offset &offset, std::span<const int32_t> lengths, int64_t *dims, function_ref<int64_t(int64_t)> sentence) const;
  int32_t given_id(int64_t sentence, int64_t position) const;
  std::vector<void *> arguments(const source_call &call) const;
  void call(const source_call &call);

  session &session_;
  const model &model_;
  const xf_abi_generate &g_;
  source_layout &layout_;
  group_calls encode_calls_, start_calls_; // of the encoder, and with what follows it
  int32_t *slots_ = nullptr, *started_ = nullptr;
  std::vector<void *> buffers_, given_; // of each tensor its memory, and what the caller has in its place, or null
  std::vector<void *> given_inputs_, io_;
  std::vector<int64_t> dims_;
  int64_t length_ = 0; // of the sentences in the slots, padding included
};

} // namespace xf::rt

#endif
