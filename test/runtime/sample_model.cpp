#include "test/runtime/sample_model.h"

#include "test/runtime/sample_math.h"

#include <cstdio>
#include <stdexcept>

#include <sys/stat.h>

extern "C" {
// The linker's names for the ends of the section that holds the code.
extern const uint8_t __start_xf_sample_code[], __stop_xf_sample_code[];
void sample_encode(const xf_abi_context *), sample_encode_first(const xf_abi_context *);
void sample_begin(const xf_abi_context *), sample_begin_first(const xf_abi_context *);
void sample_step(const xf_abi_context *), sample_step_first(const xf_abi_context *);
void sample_choose(const xf_abi_context *), sample_choose_first(const xf_abi_context *);
void sample_choose_alone(const xf_abi_context *), sample_align(const xf_abi_context *), sample_align_first(const xf_abi_context *);
void sample_step_alone(const xf_abi_context *), sample_tag(const xf_abi_context *);
void sample_pool(const xf_abi_context *), sample_pool_packed(const xf_abi_context *), sample_pool_pair(const xf_abi_context *),
    sample_pool_pair_packed(const xf_abi_context *), sample_which(const xf_abi_context *);
void sample_logits(const xf_abi_context *, const xf_abi_view *);
void sample_isa_0(const xf_abi_context *, const xf_abi_view *), sample_isa_1(const xf_abi_context *, const xf_abi_view *);
void sample_isa_2(const xf_abi_context *, const xf_abi_view *);
extern const xf_abi_state sample_states[3];
}

namespace sample {

namespace {

template <typename F> uint64_t code_offset(F *function) {
  return reinterpret_cast<uintptr_t>(function) - reinterpret_cast<uintptr_t>(__start_xf_sample_code);
}

enum dimension { B, S, T, N, C, P = C };
constexpr int64_t dim(int index) { return -(index + 1); }

class builder {
public:
  explicit builder(const options &o) : o_(o), bytes_(sizeof(xf_abi_image)) {
    std::memcpy(image_.magic, XF_ABI_MAGIC, sizeof(image_.magic));
    image_.abi_version = XF_ABI_VERSION;
    image_.header_size = sizeof(xf_abi_image);
  }

  std::vector<uint8_t> build() {
    bool first = o_.model == kind::sequence_first;
    int64_t outer = first ? dim(S) : dim(B), inner = first ? dim(B) : dim(S);
    xf_abi_generate &g = image_.generate;
    g = {};
    g.encode = g.begin = g.step = g.choose = g.align = g.packed_encode = g.packed_begin = g.start = g.end = g.pad = -1;
    g.batch_dim = B, g.source_dim = S, g.target_dim = T, g.new_dim = N;
    g.batch = kBatch, g.beam = kBeam, g.source = kSource, g.target = kTarget;
    g.sequence_first = first;
    image_.predict = {};
    image_.predict.pad = o_.pad;
    image_.predict.packed = image_.predict.types = -1;

    add_entry("which", XF_ABI_ENTRY_FULL, code_offset(sample_which), {tensor("x", XF_ABI_I32, {dim(B)})}, {tensor("isa", XF_ABI_I32, {dim(B)})});
    xf_abi_tensor src = tensor("src", o_.features ? XF_ABI_F32 : XF_ABI_I32, {outer, inner}, o_.features ? 0 : o_.source_bound);
    src.min_size[first ? 1 : 0] = o_.min_batch;
    src.min_size[first ? 0 : 1] = o_.min_source;
    if (o_.model == kind::tagger) {
      predict(add_entry("tag", XF_ABI_ENTRY_FULL, code_offset(sample_tag), {src}, {tensor("labels", XF_ABI_F32, {dim(B), dim(S), SAMPLE_LABELS})}),
              1);
    } else if (o_.model == kind::pooler) {
      add_pooler(src);
    } else {
      g.present = 1;
      g.start = SAMPLE_START, g.end = o_.end, g.pad = o_.pad;
      g.min_length = o_.min_length;
      g.max_length_per_source = o_.max_length_per_source, g.max_length_base = o_.max_length_base;
      add_search(src, outer, inner);
    }
    for (int state = 0; g.present && state < 3; ++state) {
      states_.push_back(sample_states[state]);
      states_.back().name = text(state == 0 ? "seen" : state == 1 ? "scan" : "cross");
    }
    image_.workspace_bytes = 100 * entries_.size();
    image_.scratch_bytes = 100;

    add_kernels(XF_ABI_BASELINE, {code_offset(sample_logits), code_offset(sample_isa_0)});
    add_kernels(XF_ABI_AVX2, {code_offset(sample_logits), code_offset(sample_isa_1)});
    add_kernels(XF_ABI_AVX512, {code_offset(sample_logits), code_offset(sample_isa_2)});
    add_text();
    add_weights();
    return finish();
  }

private:
  // Appends bytes at a multiple of the alignment.
  xf_abi_range put(const void *data, uint64_t size, uint64_t alignment) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    xf_abi_range range = {bytes_.size(), size};
    bytes_.insert(bytes_.end(), static_cast<const uint8_t *>(data), static_cast<const uint8_t *>(data) + size);
    return range;
  }
  xf_abi_range text(const std::string &s) { return put(s.data(), s.size(), 1); }
  template <typename X> xf_abi_table table(const std::vector<X> &rows) { return {put(rows.data(), rows.size() * sizeof(X), 8).offset, rows.size()}; }

  xf_abi_tensor tensor(const char *name, xf_abi_dtype dtype, std::vector<int64_t> shape, int64_t bound = 0) {
    xf_abi_tensor t = {};
    t.name = text(name);
    t.dtype = dtype;
    t.rank = static_cast<uint32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), t.dim);
    t.bound = bound;
    return t;
  }

  int32_t add_entry(const char *name, uint32_t kind, uint64_t code, std::vector<xf_abi_tensor> inputs, std::vector<xf_abi_tensor> outputs) {
    entries_.push_back({text(name), code, kind, static_cast<uint32_t>(inputs.size()), static_cast<uint32_t>(outputs.size()),
                        static_cast<uint32_t>(tensors_.size()), 100 * (1 + entries_.size())});
    tensors_.insert(tensors_.end(), inputs.begin(), inputs.end());
    tensors_.insert(tensors_.end(), outputs.begin(), outputs.end());
    return static_cast<int32_t>(entries_.size() - 1);
  }

  void add_kernels(uint32_t isa, std::vector<uint64_t> offsets) { kernels_.push_back({isa, 0, table(offsets)}); }

  void predict(int32_t entry, int32_t labels) {
    image_.predict.present = 1;
    image_.predict.entry = entry;
    image_.predict.output = 0;
    image_.predict.labels = labels;
  }

  void add_pooler(const xf_abi_tensor &src) {
    std::vector<xf_abi_tensor> inputs = {src}, outputs = {tensor("vector", XF_ABI_F32, {dim(B), SAMPLE_POOLED})};
    if (o_.pairs)
      inputs.push_back(tensor("types", XF_ABI_I32, {dim(B), dim(S)}, 2));
    predict(add_entry("pool", XF_ABI_ENTRY_FULL, o_.pairs ? code_offset(sample_pool_pair) : code_offset(sample_pool), inputs, outputs), o_.labels);
    image_.predict.types = o_.pairs ? 1 : -1;
    if (!o_.packed)
      return;
    xf_abi_tensor tokens = tensor("xf.tokens", XF_ABI_I32, {1, dim(P)});
    inputs.insert(inputs.end(), {tokens, tensor("xf.positions", XF_ABI_I32, {dim(P)}), tensor("xf.spans", XF_ABI_I32, {dim(B), 2})});
    if (o_.pairs) {
      inputs.push_back(tokens);
      inputs.back().name = text("xf.types");
    }
    image_.predict.packed = add_entry("pool.packed", XF_ABI_ENTRY_PACKED,
                                      o_.pairs ? code_offset(sample_pool_pair_packed) : code_offset(sample_pool_packed), inputs, outputs);
  }

  void add_search(const xf_abi_tensor &src, int64_t outer, int64_t inner) {
    xf_abi_generate &g = image_.generate;
    bool first = g.sequence_first, source = o_.model != kind::continuer;
    xf_abi_tensor past = tensor("xf.past", XF_ABI_I32, {dim(B)}), slots = tensor("xf.slots", XF_ABI_I32, {dim(B)});
    xf_abi_tensor memory = tensor("memory", XF_ABI_F32, {outer, inner, 2});
    xf_abi_tensor tokens = tensor("tgt", XF_ABI_I32, {first ? dim(N) : dim(B), first ? dim(B) : dim(N)}, SAMPLE_VOCABULARY);
    xf_abi_tensor logits = tensor("logits", XF_ABI_F32, {first ? dim(N) : dim(B), first ? dim(B) : dim(N), SAMPLE_VOCABULARY});
    g.tokens_input = 0, g.logits_output = 0;
    if (!source) {
      g.source_dim = -1;
      g.step = add_entry("step", XF_ABI_ENTRY_STEP, code_offset(sample_step_alone), {tokens, past}, {logits});
      add_choice(code_offset(sample_choose_alone), {tokens, past});
      return;
    }
    g.encode = add_entry("encode", XF_ABI_ENTRY_FULL, code_offset(first ? sample_encode_first : sample_encode), {src}, {memory});
    std::vector<xf_abi_tensor> begin_inputs = {memory, slots};
    if (o_.begin_bound >= 0) // the code does not read it
      begin_inputs.push_back(tensor("src", XF_ABI_I32, {outer, inner}, o_.begin_bound));
    g.begin = add_entry("begin", XF_ABI_ENTRY_BEGIN, code_offset(first ? sample_begin_first : sample_begin), begin_inputs, {});
    g.step = add_entry("step", XF_ABI_ENTRY_STEP, code_offset(first ? sample_step_first : sample_step), {tokens, past, slots}, {logits});
    add_choice(code_offset(first ? sample_choose_first : sample_choose), {tokens, past, slots});
    if (!o_.aligns)
      return;
    int64_t before = first ? dim(T) : dim(B), behind = first ? dim(B) : dim(T);
    g.align = add_entry("align", XF_ABI_ENTRY_FULL, code_offset(first ? sample_align_first : sample_align),
                        {tensor("tgt", XF_ABI_I32, {before, behind}, SAMPLE_VOCABULARY), memory},
                        {tensor("weights", XF_ABI_F32, {before, behind, dim(S)})});
  }

  // The step again, but it ends in choosing tokens.
  void add_choice(uint64_t code, std::vector<xf_abi_tensor> inputs) {
    if (!o_.chooses)
      return;
    inputs.push_back(tensor("xf.forbidden", XF_ABI_I32, {dim(C), 4}));
    inputs.push_back(tensor("xf.classes", XF_ABI_I32, {dim(B)}));
    inputs.push_back(tensor("xf.options", XF_ABI_I32, {2}));
    image_.generate.choose = add_entry("choose", XF_ABI_ENTRY_STEP, code, inputs,
                                       {tensor("xf.values", XF_ABI_F32, {dim(B), SAMPLE_MAX_CHOSEN}),
                                        tensor("xf.tokens", XF_ABI_I32, {dim(B), SAMPLE_MAX_CHOSEN}), tensor("xf.norms", XF_ABI_F32, {dim(B), 2})});
  }

  void add_text() {
    xf_abi_text &t = image_.text;
    t = {};
    t.source_split = t.target_split = o_.split;
    t.source_unknown = o_.unknown;
    t.lowercase = 1;
    if (o_.suffix)
      t.suffix[t.suffix_count++] = SAMPLE_END;
    if (o_.pairs)
      t.between[t.between_count++] = SAMPLE_BETWEEN;
    if (!o_.subwords.empty())
      image_.source_subwords = image_.target_subwords = put(o_.subwords.data(), o_.subwords.size(), 8);
    if (!o_.vocabulary)
      return;
    // Fewer lines than the source's bound; "ä" is two bytes.
    std::string source = "<pad>\n<s>\n</s>\n<unk>\na\nb\nc\nd\ne\nf\nä\ng\nh", target = "<pad>\n<s>\n</s>\n<unk>\nA\nB\nC\nD\nÖ\nE\n";
    image_.source_vocabulary = text(source);
    image_.target_vocabulary = text(target);
  }

  // Two parameters that share one packed matrix: rows 0..2 and 3..4.
  void add_weights() {
    std::vector<float> panel(3 * 16), plain = {1.5f, 2.5f};
    for (int row = 0; row < 5; ++row)
      for (int column = 0; column < 3; ++column)
        panel[column * 16 + row] = static_cast<float>(10 * row + column);
    std::vector<uint8_t> weights(panel.size() * 4 + plain.size() * 4);
    std::memcpy(weights.data(), panel.data(), panel.size() * 4);
    std::memcpy(weights.data() + panel.size() * 4, plain.data(), plain.size() * 4);
    segments_ = {{0, 3, 0, 0, XF_ABI_PANELS, XF_ABI_F32, 0},
                 {0, 2, 0, 3, XF_ABI_PANELS, XF_ABI_F32, 0},
                 {0, 1, panel.size() * 4, 0, XF_ABI_PLAIN, XF_ABI_F32, 0}};
    parameters_ = {{text("q.weight"), 2, 0, {3, 3}, 0, 1}, {text("k.weight"), 2, 0, {2, 3}, 1, 1}, {text("bias"), 1, 0, {2}, 2, 1}};
    weights_ = weights;
  }

  std::vector<uint8_t> finish() {
    image_.name = text("sample");
    image_.ir = text("module {}");
    std::vector<xf_abi_dim> dims = {{text("B"), kBatch}, {text("S"), kSource}, {text("T"), kTarget}, {text("N"), kTarget}};
    if (o_.chooses)
      dims.push_back({text("C"), kClasses});
    if (o_.packed)
      dims.push_back({text("P"), kBatch * kSource});
    image_.dims = table(dims);
    image_.tensors = table(tensors_);
    image_.entries = table(entries_);
    image_.kernels = table(kernels_);
    image_.states = table(states_);
    image_.parameters = table(parameters_);
    image_.segments = table(segments_);
    image_.code = put(__start_xf_sample_code, static_cast<uint64_t>(__stop_xf_sample_code - __start_xf_sample_code), XF_ABI_PAGE);
    image_.weights = put(weights_.data(), weights_.size(), XF_ABI_PAGE);
    image_.image_size = bytes_.size();
    std::memcpy(bytes_.data(), &image_, sizeof(image_));
    seal(bytes_);
    return bytes_;
  }

  const options &o_;
  xf_abi_image image_ = {};
  std::vector<uint8_t> bytes_, weights_;
  std::vector<xf_abi_tensor> tensors_;
  std::vector<xf_abi_entry> entries_;
  std::vector<xf_abi_kernels> kernels_;
  std::vector<xf_abi_state> states_;
  std::vector<xf_abi_parameter> parameters_;
  std::vector<xf_abi_segment> segments_;
};

} // namespace

void seal(std::vector<uint8_t> &image) {
  auto *header = reinterpret_cast<xf_abi_image *>(image.data());
  if (header->weights.offset <= image.size())
    header->checksum = xf_abi_checksum(image.data(), header->weights.offset);
}

std::vector<uint8_t> build(const options &o) { return builder(o).build(); }

std::vector<uint8_t> attach(std::vector<uint8_t> carrier, const std::vector<uint8_t> &image) {
  carrier.resize((carrier.size() + XF_ABI_PAGE - 1) / XF_ABI_PAGE * XF_ABI_PAGE);
  xf_abi_trailer trailer = {};
  std::memcpy(trailer.magic, XF_ABI_TRAILER_MAGIC, sizeof(trailer.magic));
  trailer.image_offset = carrier.size();
  trailer.image_size = image.size();
  carrier.insert(carrier.end(), image.begin(), image.end());
  auto *bytes = reinterpret_cast<const uint8_t *>(&trailer);
  carrier.insert(carrier.end(), bytes, bytes + sizeof(trailer));
  return carrier;
}

std::vector<uint8_t> read_file(const std::string &path) {
  std::vector<uint8_t> bytes;
  FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    throw std::runtime_error("cannot read " + path);
  uint8_t chunk[65536];
  while (size_t n = std::fread(chunk, 1, sizeof(chunk), file))
    bytes.insert(bytes.end(), chunk, chunk + n);
  std::fclose(file);
  return bytes;
}

void write_file(const std::string &path, const std::vector<uint8_t> &bytes, int mode) {
  FILE *file = std::fopen(path.c_str(), "wb");
  bool written = file && (bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size());
  if (!file || std::fclose(file) != 0 || !written)
    throw std::runtime_error("cannot write " + path);
  chmod(path.c_str(), static_cast<mode_t>(mode));
}

} // namespace sample
