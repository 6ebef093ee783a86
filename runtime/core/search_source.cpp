#include "runtime/core/search_source.h"

#include "runtime/core/error.h"
#include "runtime/core/session.h"

#include <algorithm>

namespace xf::rt {

search_source::search_source(session &owner, const model &m, source_layout &layout)
    : session_(owner), model_(m), g_(m.header().generate), layout_(layout), encode_calls_(owner, layout.pack), start_calls_(owner, layout.pack),
      given_(layout.tensors.size()), given_inputs_(layout.required.inputs.size() + 1), dims_(m.dims().size()) {}

void search_source::bind(const arena &memory) {
  layout_.groups.bind(memory);
  layout_.pack.bind(memory);
  layout_.window.bind(memory);
  slots_ = memory.as<int32_t>(layout_.slots);
  started_ = memory.as<int32_t>(layout_.started);
  for (const source_tensor &tensor : layout_.tensors)
    buffers_.push_back(memory.at(tensor.offset));
  io_.reserve(std::max(layout_.encode.arguments.size(), layout_.begin.arguments.size()));
  auto twin = [](const source_call &call, const source_call &packed) -> const source_call & { return packed.entry ? packed : call; };
  const source_call &encode = twin(layout_.encode, layout_.packed_encode), &begin = twin(layout_.begin, layout_.packed_begin);
  if (encode.entry) {
    encode_calls_.add(*encode.entry, arguments(encode));
    start_calls_.add(*encode.entry, arguments(encode));
  }
  if (begin.entry)
    start_calls_.add(*begin.entry, arguments(begin));
}

std::vector<void *> search_source::arguments(const source_call &call) const {
  std::vector<void *> io;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    int argument = call.arguments[i];
    io.push_back(argument == kSlotsArgument  ? slots_
                 : argument == kPackArgument ? layout_.pack.argument(call.entry->inputs[i].name)
                                             : buffers_[argument]);
  }
  return io;
}

// Sentences in the slots share one padded source length. The first of an empty batch sets it; later ones must
// not be so much shorter that padding them costs more than waiting.
bool search_source::may_join(int64_t length) const {
  if (!has_tokens() || length == length_)
    return true;
  if (g_.pad < 0)
    return false;
  return length * 4 >= length_ * 3 || length_ - length <= 4;
}

int64_t search_source::joining(int64_t free, bool fresh) {
  const sentence_window &window = layout_.window;
  // The first sentence of a window is its longest.
  if (fresh)
    length_ = window.length(0);
  // Where sentences keep their own lengths, all may start; where no others are searched, any shorter one may join.
  bool any = !has_tokens() || g_.ragged_source || (fresh && g_.pad >= 0);
  int64_t count = 0;
  while (count < std::min(free, window.waiting()) && (any || may_join(window.length(count))))
    ++count;
  return count;
}

void search_source::assign(int64_t position, int32_t slot) {
  started_[position] = slot;
  layout_.groups.lengths()[position] = g_.ragged_source ? layout_.window.length(position) : static_cast<int32_t>(length_);
}

void search_source::start(int64_t count) {
  if (has_tokens() && count > 0) {
    sentence_groups groups = start_calls_.split(layout_.groups, count, true);
    auto lay_out_slots = [&](const group_calls::group &group, int64_t *dims) {
      lay_out(groups, group, dims);
      for (int32_t i = group.begin; i < group.end; ++i)
        slots_[group.offset.sentences + i - group.begin] = started_[groups.sentences[i]];
    };
    start_calls_.run(groups, dims_.data(), lay_out_slots, [](const group_calls::group &) {});
  }
  layout_.window.pop(count);
}

// The inputs and dimensions of a group of the window's sentences.
void search_source::lay_out(const sentence_groups &groups, const group_calls::group &group, int64_t *dims) const {
  auto begin = static_cast<size_t>(group.begin), count = static_cast<size_t>(group.end - group.begin);
  std::span<const int32_t> members = groups.sentences.subspan(begin, count);
  lay_out(group.offset, groups.lengths.subspan(begin, count), dims, [&](int64_t b) { return layout_.window.sentence(members[b]); });
}

// The same of sentences of the window's rows, of these lengths (descending).
void search_source::lay_out(const pack_offset &offset, std::span<const int32_t> lengths, int64_t *dims,
                            function_ref<int64_t(int64_t)> sentence) const {
  auto *tokens = static_cast<int32_t *>(buffers_[layout_.tokens]) + offset.sentences * offset.longest;
  layout_.pack.lay_out(offset, static_cast<int64_t>(lengths.size()), lengths.data(), g_.pad, tokens, dims,
                       [&](int64_t b) { return ids(sentence(b)); });
}

int64_t search_source::bind_given(std::span<const argument> inputs) {
  if (!layout_.exists())
    fail(status::unsupported, "the model has no source: it is searched from tokens");
  bind_inputs(model_, layout_.required, inputs, dims_.data(), given_inputs_.data());
  std::fill(given_.begin(), given_.end(), nullptr);
  for (size_t i = 0; i < layout_.required_indices.size(); ++i)
    given_[layout_.required_indices[i]] = given_inputs_[i];
  int64_t sentences = given_count(), length = given_length();
  if (sentences < 1 || length < 1)
    fail(status::unsupported, "the source's inputs do not say how many sentences there are, or their length");
  if (sentences > layout_.batch || length > g_.source)
    fail(status::limit, "%lld sentences of %lld positions; the search's limits are %lld and %lld", static_cast<long long>(sentences),
         static_cast<long long>(length), static_cast<long long>(layout_.batch), static_cast<long long>(g_.source));
  return sentences;
}

int32_t search_source::given_id(int64_t sentence, int64_t position) const {
  auto *tokens = static_cast<const int32_t *>(given_[layout_.tokens]);
  return tokens[g_.sequence_first ? position * given_count() + sentence : sentence * given_length() + position];
}

std::span<const int32_t> search_source::given_ids(int64_t sentence) {
  if (!has_tokens())
    return {};
  // The memory for tokens that the caller does not give is free.
  auto *copy = static_cast<int32_t *>(buffers_[layout_.tokens]);
  for (int64_t i = 0; i < given_length(); ++i)
    copy[i] = given_id(sentence, i);
  return {copy, static_cast<size_t>(given_length())};
}

void search_source::start_given() {
  length_ = given_length();
  for (int32_t b = 0; b < given_count(); ++b)
    slots_[b] = b;
  call(layout_.encode);
  call(layout_.begin);
}

// Calls the entry itself, not its twin for packed sentences.
void search_source::call(const source_call &call) {
  if (!call.entry)
    return;
  io_.resize(call.arguments.size());
  for (size_t i = 0; i < io_.size(); ++i)
    io_[i] = call.arguments[i] == kSlotsArgument ? slots_ : pointer(call.arguments[i]);
  session_.call(*call.entry, dims_.data(), io_.data());
}

void search_source::set_dims(int64_t *dims) const {
  std::copy(dims_.begin(), dims_.end(), dims);
  layout_.pack.clear_tokens(dims);
  if (g_.source_dim >= 0)
    dims[g_.source_dim] = length_;
}

void search_source::extract(int64_t sentence, int64_t *dims) {
  if (!is_given()) {
    auto length = static_cast<int32_t>(ids(sentence).size());
    lay_out({}, {&length, 1}, dims_.data(), [&](int64_t) { return sentence; });
    call(layout_.encode);
  }
  std::copy(dims_.begin(), dims_.end(), dims);
  dims[g_.batch_dim] = 1;
}

void *search_source::tensor_of(int64_t sentence, int tensor, const int64_t *dims) const {
  const tensor_info &info = layout_.tensors[tensor].info;
  bool by_sentence = is_given() && !info.dim.empty() && info.dimension(0) == g_.batch_dim;
  return static_cast<uint8_t *>(pointer(tensor)) + (by_sentence ? static_cast<uint64_t>(sentence) * model_.bytes(info, dims) : 0);
}

bool search_source::is_padding(int64_t sentence, int64_t position) const {
  if (!is_given())
    return ids(sentence)[position] == g_.pad;
  return has_tokens() && given_id(sentence, position) == g_.pad;
}

int64_t search_source::encoding_width() const {
  if (!layout_.encode.entry || !has_tokens() || !layout_.other_input.empty())
    fail(status::unsupported, "the model has no encoder that takes tokens alone");
  const tensor_info &result = layout_.encode.entry->outputs[0];
  int outer = g_.sequence_first ? g_.source_dim : g_.batch_dim, inner = g_.sequence_first ? g_.batch_dim : g_.source_dim;
  if (result.dtype != XF_ABI_F32 || result.dim.size() != 3 || result.dimension(0) != outer || result.dimension(1) != inner || result.dim[2] < 1)
    fail(status::unsupported, "the encoder's result '%s' has no row of numbers for each token", result.name.c_str());
  return result.dim[2];
}

void search_source::encode(const token_rows &rows, function_ref<bool(int64_t sentence)> accepts, predict_sink &sink) {
  int64_t width = encoding_width();
  const sentence_window &window = layout_.window;
  const sentence_pack &pack = layout_.pack;
  auto *values = static_cast<const float *>(buffers_[layout_.encode.arguments[layout_.encode.entry->inputs.size()]]);
  layout_.window.for_batches(rows, layout_.batch, accepts, [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      layout_.groups.lengths()[i] = window.length(i);
    sentence_groups groups = encode_calls_.split(layout_.groups, count, g_.pad >= 0);
    auto lay_out_group = [&](const group_calls::group &group, int64_t *dims) { lay_out(groups, group, dims); };
    encode_calls_.run(groups, dims_.data(), lay_out_group, [&](const group_calls::group &group) {
      int64_t sentences = group.end - group.begin, longest = groups.lengths[group.begin];
      for (int64_t b = 0; b < sentences; ++b) {
        auto member = static_cast<size_t>(group.begin + b);
        sink.predicted(window.sentence(groups.sentences[member]), values + pack.first_row(group.offset, b, longest) * width, groups.lengths[member],
                       pack.row_step(sentences) * width, width);
      }
    });
  });
}

} // namespace xf::rt
