// What a search refuses: options that the model cannot serve, and sentences.
#ifndef RUNTIME_CORE_SEARCH_CHECK_H
#define RUNTIME_CORE_SEARCH_CHECK_H

#include "runtime/core/decoder_lengths.h"
#include "runtime/core/model.h"
#include "runtime/core/refusal.h"
#include "runtime/core/search_layout.h"
#include "runtime/core/search_options.h"

#include <cstdint>
#include <span>

namespace xf::rt {

class search_check {
public:
  search_check(const model &m, const search_layout &layout) : g_(m.header().generate), layout_(layout), lengths_(g_) {}

  // Throws on options that the model cannot serve.
  void options(const search_options &o) const;
  // Why a source or a prompt cannot be read, or null. Valid until the next call, as the next.
  const char *tokens(std::span<const int32_t> ids, bool aligned);
  // Why the sentence's decoder cannot be given this, with the result behind it that is to be scored, or null.
  const char *given(const search_options &o, int64_t sentence, std::span<const int32_t> given);

private:
  void sizes(const search_options &o) const;       // beams, results, batch, lengths
  void choice(const search_options &o) const;      // what may be chosen, and what it is worth
  void combination(const search_options &o) const; // what the model lacks, and what excludes each other
  const char *target(std::span<const int32_t> target, int64_t read);

  const xf_abi_generate &g_;
  const search_layout &layout_;
  decoder_lengths lengths_;
  refusal refusal_;
};

} // namespace xf::rt

#endif
