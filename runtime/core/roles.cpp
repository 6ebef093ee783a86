// Checks what the image says of search, text and prediction: the entries and tensors that play a role there
// must exist and have the shapes that the runtime will rely on.
#include "runtime/core/error.h"
#include "runtime/core/model.h"

namespace xf::rt {

namespace {

class role_checker {
public:
  explicit role_checker(const model &m) : model_(m), header_(m.header()), generate_(m.header().generate) {}

  void check() const {
    check_text();
    if (generate_.present)
      check_generate();
    if (header_.predict.present)
      check_predict();
  }

private:
  void require(bool condition, const char *what) const {
    if (!condition)
      fail(status::bad_image, "%s: damaged: %s", model_.file_name().c_str(), what);
  }

  bool is_dim(int32_t dim) const { return dim >= 0 && static_cast<size_t>(dim) < model_.dims().size(); }
  bool is_entry(int32_t entry, xf_abi_entry_kind kind) const {
    return entry >= 0 && static_cast<size_t>(entry) < model_.entries().size() && model_.entries()[entry].kind == kind;
  }
  bool has_shape(const tensor_info &tensor, xf_abi_dtype dtype, std::initializer_list<int> dims) const {
    if (tensor.dtype != dtype || tensor.dim.size() != dims.size())
      return false;
    size_t axis = 0;
    for (int dim : dims)
      if (tensor.dimension(axis++) != dim)
        return false;
    return true;
  }

  // The padding token can be looked up as other tokens can, in each of the entries (-1: none) that take them. `types`: the input that has
  // their types, or -1.
  void check_pad(std::initializer_list<int32_t> entries, int32_t pad, int32_t types = -1) const {
    const tensor_info *tokens = nullptr;
    for (int32_t entry : entries) {
      if (entry < 0)
        continue;
      for (const tensor_info &input : model_.entries()[entry].inputs) {
        if (types >= 0 && &input == &model_.entries()[entry].inputs[types])
          continue;
        if (!tokens && input.dtype == XF_ABI_I32 && !is_bookkeeping(input))
          tokens = &input;
        require(!tokens || input.name != tokens->name || input.bound == 0 || pad < input.bound, "the padding is no token");
      }
    }
  }

  void check_text() const {
    const xf_abi_text &text = header_.text;
    require(text.source_split <= XF_ABI_SUBWORDS && text.target_split <= XF_ABI_SUBWORDS, "lines are split in an unknown way");
    require(text.prefix_count <= XF_ABI_MAX_AFFIX && text.suffix_count <= XF_ABI_MAX_AFFIX && text.between_count <= XF_ABI_MAX_AFFIX,
            "too many prefix or suffix tokens");
    require(text.source_unknown >= -1, "the unknown token is not one");
    for (uint32_t i = 0; i < text.prefix_count; ++i)
      require(text.prefix[i] >= 0, "a prefix token is not one");
    for (uint32_t i = 0; i < text.suffix_count; ++i)
      require(text.suffix[i] >= 0, "a suffix token is not one");
    for (uint32_t i = 0; i < text.between_count; ++i)
      require(text.between[i] >= 0, "a token between texts is not one");
  }

  void check_generate() const {
    const xf_abi_generate &g = generate_;
    require(g.encode == -1 || is_entry(g.encode, XF_ABI_ENTRY_FULL), "the search has no such encode entry");
    require(g.begin == -1 || is_entry(g.begin, XF_ABI_ENTRY_BEGIN), "the search has no such begin entry");
    require(is_entry(g.step, XF_ABI_ENTRY_STEP), "the search has no such step entry");
    require(is_dim(g.batch_dim) && is_dim(g.new_dim) && g.batch_dim != g.new_dim, "the search has no batch or step dimension");
    require((g.source_dim == -1 && g.encode == -1 && g.begin == -1) || is_dim(g.source_dim), "the search has no source dimension");
    require(g.target_dim == -1 || is_dim(g.target_dim), "the search has no target dimension");
    require(g.batch <= model_.dims()[g.batch_dim].max && (g.source_dim == -1 || g.source <= model_.dims()[g.source_dim].max) &&
                (g.target_dim == -1 || g.target <= model_.dims()[g.target_dim].max),
            "the limits of the search are beyond those of its dimensions");
    require(g.start >= 0 || (g.encode == -1 && g.begin == -1), "the search has no start token");
    require(g.start >= -1 && g.end >= -1 && g.pad >= -1 && g.more_ends_count < XF_ABI_MAX_ENDS, "the search's special tokens are not tokens");
    require(g.min_length >= 0 && g.max_length_per_source >= 0 && g.max_length_base >= 0, "the search's lengths are impossible");

    const entry_info &step = model_.entries()[g.step];
    require(g.tokens_input >= 0 && static_cast<size_t>(g.tokens_input) < step.inputs.size() && g.logits_output >= 0 &&
                static_cast<size_t>(g.logits_output) < step.outputs.size(),
            "the step entry lacks tokens or logits");
    int first = g.sequence_first ? g.new_dim : g.batch_dim;
    int second = g.sequence_first ? g.batch_dim : g.new_dim;
    require(has_shape(step.inputs[g.tokens_input], XF_ABI_I32, {first, second}), "the step entry's tokens have another shape");
    const tensor_info &logits = step.outputs[g.logits_output];
    require(has_shape(logits, XF_ABI_F32, {first, second, -1}) && logits.dim[2] >= 1, "the step entry's logits have another shape");
    for (size_t i = 0; i < step.inputs.size(); ++i)
      require(static_cast<int32_t>(i) == g.tokens_input || is_bookkeeping(step.inputs[i]),
              "the step entry has an input that the search does not know");
    require(step.find_input("xf.past") >= 0, "the step entry lacks xf.past");
    // Only then it is fed tokens that it can look up.
    int64_t bound = step.inputs[g.tokens_input].bound;
    require(bound == 0 || bound >= logits.dim[2], "the step entry does not know all tokens that it may choose");
    bool known = g.start < logits.dim[2] && g.end < logits.dim[2];
    for (uint32_t i = 0; i < g.more_ends_count; ++i)
      known &= g.more_ends[i] >= 0 && g.more_ends[i] < logits.dim[2];
    require(known, "the search's special tokens are not tokens");

    check_pad({g.encode, g.begin, g.encode < 0 && g.begin < 0 ? g.step : -1}, g.pad);

    if (g.begin >= 0)
      check_begin(model_.entries()[g.begin]);
    int encoded = check_packed(g.packed_encode, g.encode), begun = check_packed(g.packed_begin, g.begin);
    bool none = encoded < 0 && begun < 0;
    require(none || ((encoded < 0) == (g.encode < 0) && (begun < 0) == (g.begin < 0)), kTwin);
    require(encoded < 0 || begun < 0 || encoded == begun, kTwin);
    require(g.choose >= -1, "the search has no such step entry");
    if (g.choose >= 0)
      check_choose(step, logits.dim[2]);
    require(g.align >= -1, kAlign);
    if (g.align >= 0)
      check_align(step.inputs[g.tokens_input]);
  }

  static constexpr const char *kAlign = "the entry that aligns results has other arguments than the search can give";

  // What the entry gives or takes under that name, or null.
  static const tensor_info *tensor_of(const entry_info &entry, std::string_view name) {
    int output = entry.find_output(name), input = entry.find_input(name);
    return output >= 0 ? &entry.outputs[output] : input >= 0 ? &entry.inputs[input] : nullptr;
  }

  // Whether `input` takes all tokens that `given` may be.
  static bool knows(const tensor_info &input, const tensor_info &given) {
    return input.bound == 0 || (given.bound > 0 && input.bound >= given.bound);
  }

  void check_align(const tensor_info &tokens) const {
    const xf_abi_generate &g = generate_;
    require(is_entry(g.align, XF_ABI_ENTRY_FULL) && g.encode >= 0 && g.target_dim >= 0 && g.align != g.encode, kAlign);
    const entry_info &align = model_.entries()[g.align], &encode = model_.entries()[g.encode];
    bool reads = false;
    for (const tensor_info &input : align.inputs) {
      if (input.name == tokens.name) {
        bool shaped = has_shape(input, XF_ABI_I32, {g.batch_dim, g.target_dim}) || has_shape(input, XF_ABI_I32, {g.target_dim, g.batch_dim});
        require(shaped && !reads && knows(input, tokens), kAlign);
        reads = true;
        continue;
      }
      const tensor_info *known = tensor_of(encode, input.name);
      require(known && known->dtype == input.dtype && known->dim == input.dim && knows(input, *known), kAlign);
    }
    require(reads && align.outputs.size() == 1, kAlign);
    require(has_shape(align.outputs[0], XF_ABI_F32, {g.batch_dim, g.target_dim, g.source_dim}) ||
                has_shape(align.outputs[0], XF_ABI_F32, {g.target_dim, g.batch_dim, g.source_dim}),
            kAlign);
  }

  void check_choose(const entry_info &step, int64_t vocabulary) const {
    require(is_entry(generate_.choose, XF_ABI_ENTRY_STEP), "the search has no such step entry");
    const entry_info &choose = model_.entries()[generate_.choose];
    size_t given = step.inputs.size();
    const char *what = "the step that chooses has other arguments than the plain one";
    require(choose.inputs.size() == given + 3 && choose.outputs.size() == 3 && step.outputs.size() == 1, what);
    for (size_t i = 0; i < given; ++i)
      require(choose.inputs[i].name == step.inputs[i].name && choose.inputs[i].dtype == step.inputs[i].dtype &&
                  choose.inputs[i].dim == step.inputs[i].dim,
              what);
    const tensor_info &forbidden = choose.inputs[given], &values = choose.outputs[0];
    int rows = generate_.batch_dim;
    require(forbidden.name == "xf.forbidden" && forbidden.dim.size() == 2 && forbidden.dimension(0) >= 0 &&
                forbidden.dim[1] == (vocabulary + 127) / 128 * 4 && has_shape(forbidden, XF_ABI_I32, {forbidden.dimension(0), -1}) &&
                model_.dims()[forbidden.dimension(0)].max >= 2 * generate_.batch + 1,
            what);
    require(choose.inputs[given + 1].name == "xf.classes" && has_shape(choose.inputs[given + 1], XF_ABI_I32, {rows}) &&
                choose.inputs[given + 2].name == "xf.options" && has_shape(choose.inputs[given + 2], XF_ABI_I32, {-1}) &&
                choose.inputs[given + 2].dim[0] == 2,
            what);
    require(values.name == "xf.values" && has_shape(values, XF_ABI_F32, {rows, -1}) && values.dim[1] >= 2 * generate_.beam &&
                choose.outputs[1].name == "xf.tokens" && has_shape(choose.outputs[1], XF_ABI_I32, {rows, -1}) &&
                choose.outputs[1].dim[1] == values.dim[1] && choose.outputs[2].name == "xf.norms" &&
                has_shape(choose.outputs[2], XF_ABI_F32, {rows, -1}) && choose.outputs[2].dim[1] == 2,
            what);
  }

  static constexpr const char *kTwin = "an entry and its twin without padding do not fit together";

  // `original` is the tensor of the same name with rows [B, S, ..]; tokens of i32 stay as they are.
  bool is_packed(const tensor_info &tensor, const tensor_info &original, int tokens, bool is_input) const {
    bool rows = original.dim.size() >= 2 && original.dimension(0) == generate_.batch_dim && original.dimension(1) == generate_.source_dim;
    std::vector<int64_t> dim = original.dim;
    if (rows && !(is_input && original.dtype == XF_ABI_I32)) {
      dim[0] = 1;
      dim[1] = -(int64_t{tokens} + 1);
    }
    return tensor.name == original.name && tensor.dtype == original.dtype && tensor.dim == dim;
  }

  // Twins (-1: none) take and give what their entries do, packed. Returns the dimension of all tokens, or -1.
  int check_packed(int32_t index, int32_t original, bool has_types = false) const {
    require(index >= -1, kTwin);
    if (index < 0)
      return -1;
    require(is_entry(index, XF_ABI_ENTRY_PACKED) && original >= 0 && generate_.sequence_first == 0 && is_dim(generate_.source_dim), kTwin);
    const entry_info &twin = model_.entries()[index], &entry = model_.entries()[original];
    size_t given = entry.inputs.size();
    require(twin.inputs.size() == given + 3 + has_types && twin.outputs.size() == entry.outputs.size(), kTwin);
    const tensor_info &ids = twin.inputs[given], &positions = twin.inputs[given + 1], &spans = twin.inputs[given + 2];
    int tokens = ids.dim.size() == 2 ? ids.dimension(1) : -1;
    require(tokens >= 0 && tokens != generate_.batch_dim && tokens != generate_.source_dim &&
                model_.dims()[tokens].max >= generate_.batch * generate_.source,
            kTwin);
    require(ids.name == "xf.tokens" && has_shape(ids, XF_ABI_I32, {-1, tokens}) && ids.dim[0] == 1 && positions.name == "xf.positions" &&
                has_shape(positions, XF_ABI_I32, {tokens}) && spans.name == "xf.spans" && has_shape(spans, XF_ABI_I32, {generate_.batch_dim, -1}) &&
                spans.dim[1] == 2,
            kTwin);
    if (has_types)
      require(twin.inputs[given + 3].name == "xf.types" && twin.inputs[given + 3].dtype == ids.dtype && twin.inputs[given + 3].dim == ids.dim, kTwin);
    for (size_t i = 0; i < given; ++i)
      require(is_packed(twin.inputs[i], entry.inputs[i], tokens, true), kTwin);
    for (size_t i = 0; i < entry.outputs.size(); ++i)
      require(is_packed(twin.outputs[i], entry.outputs[i], tokens, false), kTwin);
    return tokens;
  }

  bool is_bookkeeping(const tensor_info &tensor) const {
    return (tensor.name == "xf.past" || tensor.name == "xf.slots") && has_shape(tensor, XF_ABI_I32, {generate_.batch_dim});
  }

  void check_begin(const entry_info &begin) const {
    for (const tensor_info &input : begin.inputs) {
      if (is_bookkeeping(input) || generate_.encode < 0)
        continue;
      const entry_info &encode = model_.entries()[generate_.encode];
      const tensor_info *given = tensor_of(encode, input.name); // null: one more input of the model's
      require(!given || (given->dtype == input.dtype && given->dim == input.dim), "begin and encode disagree on a tensor");
    }
  }

  void check_predict() const {
    const xf_abi_predict &p = header_.predict;
    require(is_entry(p.entry, XF_ABI_ENTRY_FULL), "there is no such entry to predict with");
    const entry_info &entry = model_.entries()[p.entry];
    require(p.output >= 0 && static_cast<size_t>(p.output) < entry.outputs.size(), "there is nothing to predict");
    require(entry.outputs[p.output].dtype == XF_ABI_F32, "the prediction is not made of numbers");
    require(p.types >= -1 && p.types < static_cast<int32_t>(entry.inputs.size()), "there are no such types to predict with");
    require(p.types < 0 || entry.inputs[p.types].bound == 0 || entry.inputs[p.types].bound > 1, "the types are no tokens");
    check_pad({p.entry}, p.pad, p.types);
    require(is_dim(generate_.batch_dim) && is_dim(generate_.source_dim) && generate_.batch_dim != generate_.source_dim,
            "the prediction has no batch or source dimension");
    require(generate_.batch >= 1 && generate_.batch <= model_.dims()[generate_.batch_dim].max && generate_.source >= 1 &&
                generate_.source <= model_.dims()[generate_.source_dim].max,
            "the limits of the prediction are impossible");
    check_packed(p.packed, p.entry, p.types >= 0);
  }

  const model &model_;
  const xf_abi_image &header_;
  const xf_abi_generate &generate_;
};

} // namespace

void check_roles(const model &m) { role_checker(m).check(); }

} // namespace xf::rt
