#include "runtime/core/model.h"

#include "runtime/core/error.h"
#include "runtime/core/image_reader.h"

#include <algorithm>
#include <cstring>

namespace xf::rt {

namespace {

void check_header(const image_reader &reader, const xf_abi_image &header, const mapping &image) {
  const char *name = image.name().c_str();
  if (std::memcmp(header.magic, XF_ABI_MAGIC, sizeof(header.magic)) != 0)
    fail(status::bad_image, "%s: not a compiled model", name);
  if (header.abi_version != XF_ABI_VERSION)
    fail(status::bad_image, "%s: compiled for version %u of the runtime interface; this is version %u: compile again", name, header.abi_version,
         XF_ABI_VERSION);
  reader.require(header.header_size == sizeof(xf_abi_image), "the header has another size");
  if (header.image_size > image.size())
    fail(status::bad_image, "%s: cut short: %llu of %llu bytes", name, static_cast<unsigned long long>(image.size()),
         static_cast<unsigned long long>(header.image_size));
  reader.require(header.image_size == image.size(), "the file is longer than it says");
  reader.check_range(header.code, "the code");
  reader.check_range(header.weights, "the weights");
  reader.check_range(header.ir, "the model's IR");
  reader.check_range(header.source_vocabulary, "the source vocabulary");
  reader.check_range(header.target_vocabulary, "the target vocabulary");
  reader.check_range(header.source_subwords, "the source's subwords");
  reader.check_range(header.target_subwords, "the target's subwords");
  reader.require(header.code.offset % XF_ABI_PAGE == 0, "the code is not page aligned");
  reader.require(header.weights.offset % XF_ABI_PAGE == 0, "the weights are not page aligned");
  reader.require(header.workspace_bytes <= XF_ABI_MAX_BYTES && header.scratch_bytes <= XF_ABI_MAX_BYTES, "the memory plan has an absurd size");
}

tensor_info read_tensor(const image_reader &reader, const xf_abi_tensor &tensor, size_t dims, const std::string &what) {
  tensor_info result;
  result.name = reader.name(tensor.name, what);
  reader.require(tensor.dtype <= XF_ABI_I1, what + " has an unknown data type");
  reader.require(tensor.rank <= XF_ABI_MAX_RANK, what + " has an absurd rank");
  result.dtype = static_cast<xf_abi_dtype>(tensor.dtype);
  result.bound = tensor.bound;
  reader.require(tensor.bound >= 0 && tensor.bound <= XF_ABI_MAX_SIZE, what + " has an absurd bound");
  for (uint32_t axis = 0; axis < tensor.rank; ++axis) {
    int64_t dim = tensor.dim[axis];
    reader.require(dim >= 0 ? dim <= XF_ABI_MAX_SIZE : dim >= -static_cast<int64_t>(dims), what + " has an impossible size");
    result.dim.push_back(dim);
    reader.require(tensor.min_size[axis] >= 0 && tensor.min_size[axis] <= XF_ABI_MAX_SIZE, what + " has an impossible size");
    result.min_sizes.push_back(std::max<int64_t>(tensor.min_size[axis], 1));
  }
  return result;
}

entry_info read_entry(const image_reader &reader, const xf_abi_entry &entry, uint64_t code_size, uint64_t workspace_bytes,
                      const std::vector<tensor_info> &tensors, size_t index) {
  std::string what = "entry " + std::to_string(index);
  entry_info result;
  result.name = reader.name(entry.name, what);
  reader.require(entry.kind <= XF_ABI_ENTRY_PACKED, what + " has an unknown kind");
  reader.require(entry.code_offset < code_size, what + " lies outside the code");
  reader.require(entry.workspace_bytes <= workspace_bytes, what + " needs more memory than the model");
  uint64_t first = entry.first_tensor, inputs = entry.inputs, outputs = entry.outputs;
  reader.require(first + inputs + outputs <= tensors.size(), what + " has tensors outside their table");
  result.code_offset = entry.code_offset;
  result.workspace_bytes = entry.workspace_bytes;
  result.kind = static_cast<xf_abi_entry_kind>(entry.kind);
  auto begin = tensors.begin() + static_cast<ptrdiff_t>(first);
  result.inputs.assign(begin, begin + static_cast<ptrdiff_t>(inputs));
  result.outputs.assign(begin + static_cast<ptrdiff_t>(inputs), begin + static_cast<ptrdiff_t>(inputs + outputs));
  return result;
}

kernel_table read_kernels(const image_reader &reader, const xf_abi_kernels &kernels, uint64_t code_size) {
  reader.require(kernels.isa < XF_ABI_ISA_COUNT, "kernels for an unknown instruction set");
  kernel_table result{static_cast<int>(kernels.isa), reader.table<uint64_t>(kernels.offsets, "a table of kernels")};
  for (uint64_t offset : result.offsets)
    reader.require(offset < code_size, "a kernel lies outside the code");
  return result;
}

// Adds the state's bytes at the model's limits to `total`; later sums are of smaller sizes, and cannot overflow.
void check_state(const image_reader &reader, const xf_abi_state &state, const std::vector<dim_info> &dims, const xf_abi_generate &generate,
                 uint64_t &total) {
  const char *what = "a state has an absurd shape";
  reader.require(generate.present && state.layers >= 1 && state.per_sentence <= 1 && state.rank <= XF_ABI_MAX_RANK && state.positions >= -1 &&
                     state.positions < static_cast<int32_t>(state.rank) && state.dtype < XF_ABI_DTYPE_COUNT,
                 what);
  uint64_t bytes = xf_abi_dtype_bytes(state.dtype);
  auto times = [&](uint64_t factor) {
    reader.require(factor == 0 || bytes <= XF_ABI_MAX_BYTES / factor, what);
    bytes *= factor;
  };
  std::vector<int64_t> capacities;
  for (const dim_info &dim : dims)
    capacities.push_back(dim.max);
  for (uint32_t axis = 0; axis < state.rank; ++axis) {
    int64_t size = state.size[axis], multiple = state.multiple[axis];
    reader.require((size >= 0 ? size <= XF_ABI_MAX_SIZE : size >= -static_cast<int64_t>(dims.size())) && multiple >= 1 && multiple <= XF_ABI_PAGE &&
                       (multiple & (multiple - 1)) == 0,
                   what);
    times(xf_abi_state_size(&state, axis, capacities.data()));
  }
  // The search assumes that rows which are moved have room for its longest result.
  if (!state.per_sentence && state.positions >= 0)
    reader.require(state.size[state.positions] == -(int64_t{generate.target_dim} + 1), what);
  reader.require(generate.batch >= 0 && generate.beam >= 0, what);
  times(static_cast<uint64_t>(generate.batch));
  times(state.per_sentence ? 1 : static_cast<uint64_t>(generate.beam));
  times(state.layers);
  total += bytes;
  reader.require(total <= XF_ABI_MAX_BYTES, what);
}

void check_segment(const image_reader &reader, const xf_abi_segment &segment, const parameter_info &parameter, uint64_t weight_bytes) {
  uint64_t columns = parameter.size.empty() ? 1 : static_cast<uint64_t>(parameter.size.back());
  bool is_half = segment.dtype == XF_ABI_BF16 || segment.dtype == XF_ABI_F16;
  uint64_t bytes = xf_abi_dtype_bytes(segment.dtype);
  reader.require((segment.dtype == XF_ABI_F32 || is_half || segment.dtype == XF_ABI_I8) && segment.layout <= XF_ABI_COLUMN_PANELS &&
                     segment.weight_offset <= weight_bytes && segment.weight_offset % 4 == 0,
                 "parameter '" + parameter.path + "' lies outside the weights");
  uint64_t rows = 1;
  for (size_t axis = 0; axis + 1 < parameter.size.size(); ++axis)
    rows *= static_cast<uint64_t>(parameter.size[axis]);
  // Of the packed matrix: the rows that are read, and their elements.
  bool is_transposed = segment.layout == XF_ABI_COLUMN_PANELS;
  uint64_t read = is_transposed ? columns : segment.rows, depth = is_transposed ? segment.rows : columns;
  uint64_t limit = (weight_bytes - segment.weight_offset) / bytes;
  uint64_t group = segment.layout != XF_ABI_PLAIN ? 4 / bytes : 1;
  uint64_t width = depth > limit ? depth : (depth + group - 1) / group * group;
  uint64_t row_limit = width == 0 ? XF_ABI_MAX_BYTES : limit / width;
  bool right = segment.row <= rows && segment.rows <= rows - segment.row && segment.weight_row <= row_limit &&
               read <= row_limit - segment.weight_row && (!is_transposed || (segment.row == 0 && segment.rows == rows));
  if (right && segment.layout != XF_ABI_PLAIN)
    right = (segment.weight_row + read + XF_ABI_PANEL - 1) / XF_ABI_PANEL * XF_ABI_PANEL <= row_limit;
  if (right && segment.dtype == XF_ABI_I8)
    right = segment.scale_offset <= weight_bytes && segment.scale_offset % 4 == 0 &&
            segment.weight_row + read <= (weight_bytes - segment.scale_offset) / 4;
  reader.require(right, "parameter '" + parameter.path + "' lies outside the weights");
}

parameter_info read_parameter(const image_reader &reader, const xf_abi_parameter &parameter, const std::vector<xf_abi_segment> &segments,
                              uint64_t weight_bytes) {
  parameter_info result;
  result.path = reader.name(parameter.path, "a parameter");
  reader.require(parameter.rank <= XF_ABI_MAX_RANK, "parameter '" + result.path + "' has an absurd rank");
  uint64_t elements = 1;
  for (uint32_t axis = 0; axis < parameter.rank; ++axis) {
    int64_t size = parameter.size[axis];
    reader.require(size >= 0 && size <= XF_ABI_MAX_SIZE && (size == 0 || elements <= XF_ABI_MAX_BYTES / static_cast<uint64_t>(size)),
                   "parameter '" + result.path + "' has an absurd size");
    elements *= static_cast<uint64_t>(size);
    result.size.push_back(size);
  }
  reader.require(parameter.first_segment <= segments.size() && parameter.segments <= segments.size() - parameter.first_segment,
                 "parameter '" + result.path + "' has segments outside their table");
  auto begin = segments.begin() + static_cast<ptrdiff_t>(parameter.first_segment);
  result.segments.assign(begin, begin + static_cast<ptrdiff_t>(parameter.segments));
  for (const xf_abi_segment &segment : result.segments)
    check_segment(reader, segment, result, weight_bytes);
  return result;
}

} // namespace

model::model(std::unique_ptr<mapping> image) : image_(std::move(image)) {
  image_reader reader(*image_);
  std::memcpy(&header_, image_->data(), sizeof(header_));
  check_header(reader, header_, *image_);
  name_ = reader.name(header_.name, "the model");
  const xf_abi_generate &generate = header_.generate;
  auto check_limit = [&](int64_t limit, const char *what) { reader.require(limit >= 1 && limit <= XF_ABI_MAX_LIMIT, what); };
  if (generate.present) { // a model without a source needs no limit for it
    for (int64_t limit : {generate.batch, generate.beam, generate.source_dim < 0 ? 1 : generate.source, generate.target})
      check_limit(limit, "the limits of the search are impossible");
    check_limit(generate.batch * generate.beam, "the limits of the search are impossible");
  }
  if (header_.predict.present)
    for (int64_t limit : {generate.batch, generate.source})
      check_limit(limit, "the limits of predictions are impossible");

  for (const xf_abi_dim &dim : reader.table<xf_abi_dim>(header_.dims, "the table of dimensions")) {
    std::string name = reader.name(dim.name, "a dimension");
    reader.require(dim.max >= 1 && dim.max <= XF_ABI_MAX_SIZE, "dimension '" + name + "' has an impossible limit");
    dims_.push_back({name, dim.max});
  }
  std::vector<tensor_info> tensors;
  for (const xf_abi_tensor &tensor : reader.table<xf_abi_tensor>(header_.tensors, "the table of tensors"))
    tensors.push_back(read_tensor(reader, tensor, dims_.size(), "tensor " + std::to_string(tensors.size())));
  for (const xf_abi_entry &entry : reader.table<xf_abi_entry>(header_.entries, "the table of entries"))
    entries_.push_back(read_entry(reader, entry, header_.code.size, header_.workspace_bytes, tensors, entries_.size()));
  for (const xf_abi_kernels &kernels : reader.table<xf_abi_kernels>(header_.kernels, "the table of kernels")) {
    kernels_.push_back(read_kernels(reader, kernels, header_.code.size));
    if (kernels_.size() > 1) {
      const kernel_table &before = kernels_[kernels_.size() - 2], &last = kernels_.back();
      reader.require(before.isa < last.isa && before.offsets.size() == last.offsets.size(), "the instruction sets' kernels do not match");
    }
  }
  gpu_ = read_gpu_table(reader, header_);
  reader.require(!kernels_.empty() || !gpu_.empty(), "it has no kernels");
  reader.require(kernels_.empty() || gpu_.empty() || kernels_[0].offsets.size() == gpu_.kernels.size(), "the kernels for CPUs and GPUs do not match");
  states_ = reader.table<xf_abi_state>(header_.states, "the table of states");
  uint64_t state_bytes = 0;
  for (const xf_abi_state &state : states_)
    check_state(reader, state, dims_, header_.generate, state_bytes);
  auto segments = reader.table<xf_abi_segment>(header_.segments, "the table of segments");
  for (const xf_abi_parameter &parameter : reader.table<xf_abi_parameter>(header_.parameters, "the table of parameters"))
    parameters_.push_back(read_parameter(reader, parameter, segments, header_.weights.size));
  check_roles(*this);
  // Last, so that whatever else is wrong is named first.
  reader.require(xf_abi_checksum(image_->data(), header_.weights.offset) == header_.checksum, "its checksum is another");
  code_ = image_->map_code(header_.code.offset, header_.code.size);
}

int64_t tensor_info::min_size_of(int index) const {
  int64_t size = 1;
  for (size_t axis = 0; axis < dim.size(); ++axis)
    if (dimension(axis) == index)
      size = std::max(size, min_sizes[axis]);
  return size;
}

int entry_info::find_input(std::string_view name) const {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].name == name)
      return static_cast<int>(i);
  return -1;
}

int entry_info::find_output(std::string_view name) const {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].name == name)
      return static_cast<int>(i);
  return -1;
}

int model::find_entry(std::string_view name) const {
  for (size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].name == name)
      return static_cast<int>(i);
  return -1;
}

uint64_t model::bytes(const tensor_info &tensor, const int64_t *dims) const {
  uint64_t count = tensor.element_bytes();
  for (size_t axis = 0; axis < tensor.dim.size(); ++axis) {
    int dimension = tensor.dimension(axis);
    auto size = static_cast<uint64_t>(dimension < 0 ? tensor.dim[axis] : dims[dimension]);
    if (size != 0 && count > XF_ABI_MAX_BYTES / size)
      fail(status::limit, "tensor '%s' is too large", tensor.name.c_str());
    count *= size;
  }
  return count;
}

std::string model::shape_text(const tensor_info &tensor) const {
  std::string text = tensor.dtype == XF_ABI_F32 ? "f32[" : tensor.dtype == XF_ABI_I32 ? "i32[" : "i1[";
  for (size_t axis = 0; axis < tensor.dim.size(); ++axis) {
    int dimension = tensor.dimension(axis);
    text += (axis ? ", " : "") + (dimension < 0 ? std::to_string(tensor.dim[axis]) : dims_[dimension].name);
  }
  return text + "]";
}

std::shared_ptr<const model> open_model(const std::string &path) { return std::make_shared<const model>(std::make_unique<mapping>(path)); }

std::shared_ptr<const model> open_model(const void *data, uint64_t size) {
  return std::make_shared<const model>(std::make_unique<mapping>(data, size));
}

} // namespace xf::rt
