// The C API: text to tokens and back.
#include "runtime/api/handles.h"
#include "runtime/text/utf8.h"

#include <algorithm>

using namespace xf::rt;

namespace {

// The codec of a side whose lines are text.
const text_codec &codec_of(const xf_model &m, bool source) {
  const text_codec &codec = m.codecs->get(false);
  if (!codec.is_text(source))
    fail(status::unsupported, "model '%s' has no vocabulary for text: its %s is ids", m.impl->name().c_str(), source ? "source" : "target");
  return codec;
}

// Throws if one of `ids` cannot be in a result, whose ids go up to `last`.
void check_results(std::span<const int32_t> ids, int64_t last) {
  for (int32_t id : ids)
    if (id < 0 || id > last)
      fail(status::invalid_argument, "an id of a result's must be between 0 and %lld, not %d", static_cast<long long>(last), id);
}

void append_tokens(const xf_model &m, std::span<const int32_t> ids, bool more, std::string &text) {
  const xf_abi_generate &g = m.impl->header().generate;
  const text_codec &codec = codec_of(m, false);
  check_results(ids, m.impl->entries()[g.step].outputs[g.logits_output].dim[2] - 1);
  if (!more)
    return codec.decode(ids, text);
  codec.decode_settled(ids, text);
  // A character may come in several tokens: the replacement for half of one is no text yet.
  while (text.ends_with(kReplacement))
    text.resize(text.size() - kReplacement.size());
}

void append_labels(const xf_model &m, std::span<const int32_t> ids, std::string &text) {
  if (!m.impl->header().predict.labels || m.impl->text(m.impl->header().target_vocabulary).empty())
    fail(status::unsupported, "model '%s' has no vocabulary for the text of its results", m.impl->name().c_str());
  check_results(ids, INT32_MAX);
  const text_codec &codec = m.codecs->get(false);
  for (size_t i = 0; i < ids.size(); ++i) {
    text += i ? " " : "";
    codec.append_label(ids[i], text);
  }
}

} // namespace

xf_status xf_text_to_ids(const xf_model *m, int32_t side, const char *text, int64_t length, int32_t *ids, int64_t capacity, int64_t *count) {
  return guard([&] {
    require(m && count, "the model or the count is null");
    require(length >= -1, "the text's length is negative, and not -1");
    require(text || length == 0, "the text is null");
    require(capacity >= 0 && (ids || capacity == 0), "the ids are null, or there is room for fewer than none");
    require_choice("side", side, XF_SOURCE, XF_SOURCE_TOKENS);
    const text_codec &codec = codec_of(*m, side != XF_TARGET);
    std::string_view given = length == 0 ? std::string_view() : length < 0 ? text : std::string_view(text, static_cast<size_t>(length));
    std::vector<int32_t> tokens;
    try {
      if (side == XF_SOURCE)
        codec.encode(given, codec.model_affixes(), tokens);
      else
        codec.encode_tokens(/*source=*/side == XF_SOURCE_TOKENS, given, tokens);
    } catch (const error &problem) {
      fail(problem.code, "the text: %s", problem.what());
    }
    std::copy_n(tokens.data(), std::min(tokens.size(), static_cast<size_t>(capacity)), ids);
    *count = static_cast<int64_t>(tokens.size());
    return XF_OK;
  });
}

xf_status xf_ids_to_text(const xf_model *m, const int32_t *ids, int64_t count, int32_t more, char *text, int64_t capacity, int64_t *length) {
  return guard([&] {
    require(m && length, "the model or the length is null");
    require(count >= 0 && (ids || count == 0), "the ids are null, or fewer than none");
    require(capacity >= 0 && (text || capacity == 0), "the text is null, or there is room for less than nothing");
    std::span<const int32_t> given(ids, static_cast<size_t>(count));
    std::string written;
    if (m->impl->header().generate.present)
      append_tokens(*m, given, more != 0, written);
    else
      append_labels(*m, given, written);
    if (capacity > 0) {
      size_t stored = std::min(written.size(), static_cast<size_t>(capacity - 1));
      std::copy_n(written.data(), stored, text);
      text[stored] = '\0';
    }
    *length = static_cast<int64_t>(written.size());
    return XF_OK;
  });
}
