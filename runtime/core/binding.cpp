#include "runtime/core/binding.h"

#include "runtime/core/error.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

namespace xf::rt {

namespace {

std::string shape_text(const argument &a) {
  std::string text = "[";
  for (int32_t axis = 0; axis < a.rank; ++axis)
    text += (axis ? ", " : "") + std::to_string(a.shape[axis]);
  return text + "]";
}

void check_values(const tensor_info &tensor, const argument &given) {
  int64_t count = 1;
  for (int32_t axis = 0; axis < given.rank; ++axis)
    count *= given.shape[axis];
  if (tensor.dtype == XF_ABI_I1) {
    auto *values = static_cast<const uint8_t *>(given.data);
    for (int64_t i = 0; i < count; ++i)
      if (values[i] > 1)
        fail(status::invalid_argument, "input '%s' holds %d at position %lld; a truth value is 0 or 1", tensor.name.c_str(), values[i],
             static_cast<long long>(i));
  }
  if (tensor.dtype == XF_ABI_I32 && tensor.bound > 0) {
    auto *values = static_cast<const int32_t *>(given.data);
    for (int64_t i = 0; i < count; ++i)
      if (values[i] < 0 || values[i] >= tensor.bound)
        fail(status::invalid_argument, "input '%s' holds %d at position %lld; values go from 0 to %lld", tensor.name.c_str(), values[i],
             static_cast<long long>(i), static_cast<long long>(tensor.bound) - 1);
  }
}

// Checks inputs one after the other, and notes the dimensions that they give.
class input_binder {
public:
  input_binder(const model &m, int64_t *dims) : model_(m), dims_(dims) {}

  void bind(const tensor_info &tensor, const argument &given) {
    const char *name = tensor.name.c_str();
    if (!given.data)
      fail(status::invalid_argument, "input '%s' has no data", name);
    if (given.dtype != tensor.dtype)
      fail(status::invalid_argument, "input '%s' has another data type than %s", name, model_.shape_text(tensor).c_str());
    if (given.rank < 0 || static_cast<size_t>(given.rank) != tensor.dim.size())
      refuse_shape(tensor, given.rank < 0 || given.rank > XF_ABI_MAX_RANK ? "of an absurd rank" : shape_text(given).c_str());
    for (int32_t axis = 0; axis < given.rank; ++axis) {
      int dimension = tensor.dimension(axis);
      if (dimension >= 0)
        bind_size(tensor, axis, dimension, given.shape[axis]);
      else if (given.shape[axis] != tensor.dim[axis])
        refuse_shape(tensor, shape_text(given).c_str());
    }
    check_values(tensor, given);
  }

private:
  [[noreturn]] void refuse_shape(const tensor_info &tensor, const char *shape) {
    fail(status::invalid_argument, "input '%s' has shape %s; %s is needed", tensor.name.c_str(), shape, model_.shape_text(tensor).c_str());
  }

  // The size of a dimension that is known at run time only.
  void bind_size(const tensor_info &tensor, int32_t axis, int dimension, long long size) {
    const dim_info &dim = model_.dims()[dimension];
    const char *name = tensor.name.c_str();
    if (auto min_size = std::max<long long>(tensor.min_sizes[axis], 1); size < min_size)
      fail(status::invalid_argument, "input '%s' has size %lld in dimension %s; at least %lld is needed", name, size, dim.name.c_str(), min_size);
    if (size > dim.max)
      fail(status::limit, "input '%s' has size %lld in dimension %s; the limit is %lld", name, size, dim.name.c_str(),
           static_cast<long long>(dim.max));
    const char **given_by = dimension < kRemembered ? &given_by_[dimension] : nullptr;
    if (dims_[dimension] >= 0 && dims_[dimension] != size)
      fail(status::invalid_argument, "input '%s' has size %lld in dimension %s, but input '%s' has %lld", name, size, dim.name.c_str(),
           given_by && *given_by ? *given_by : "before it", static_cast<long long>(dims_[dimension]));
    dims_[dimension] = size;
    if (given_by && !*given_by)
      *given_by = name;
  }

  static constexpr int kRemembered = 256;

  const model &model_;
  int64_t *dims_;
  // The input that first gave a dimension is the other party when a later one disagrees.
  const char *given_by_[kRemembered] = {};
};

} // namespace

size_t index_of(const entry_info &entry, std::span<const tensor_info> tensors, const argument &given, size_t position, const char *role) {
  if (!given.name) {
    if (position >= tensors.size())
      fail(status::invalid_argument, "entry '%s' has %zu %ss, not %zu", entry.name.c_str(), tensors.size(), role, position + 1);
    return position;
  }
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].name == given.name)
      return i;
  std::string names;
  for (const tensor_info &tensor : tensors)
    names += (names.empty() ? "" : ", ") + tensor.name;
  fail(status::invalid_argument, "entry '%s' has no %s '%s'; it has: %s", entry.name.c_str(), role, given.name,
       names.empty() ? "none" : names.c_str());
}

void shape_of(const tensor_info &tensor, const int64_t *dims, int64_t *shape) {
  for (size_t axis = 0; axis < tensor.dim.size(); ++axis) {
    int dimension = tensor.dimension(axis);
    shape[axis] = dimension < 0 ? tensor.dim[axis] : dims[dimension];
  }
}

void bind_inputs(const model &m, const entry_info &entry, std::span<const argument> inputs, int64_t *dims, void **io) {
  std::fill_n(dims, m.dims().size(), int64_t(-1));
  std::fill_n(io, entry.inputs.size(), nullptr);
  input_binder binder(m, dims);
  for (size_t position = 0; position < inputs.size(); ++position) {
    const argument &given = inputs[position];
    size_t index = index_of(entry, entry.inputs, given, position, "input");
    if (io[index])
      fail(status::invalid_argument, "input '%s' is given twice", entry.inputs[index].name.c_str());
    binder.bind(entry.inputs[index], given);
    io[index] = given.data;
  }
  for (size_t index = 0; index < entry.inputs.size(); ++index)
    if (!io[index])
      fail(status::invalid_argument, "entry '%s' needs input '%s', %s", entry.name.c_str(), entry.inputs[index].name.c_str(),
           m.shape_text(entry.inputs[index]).c_str());
  for (const tensor_info &tensor : entry.outputs)
    for (size_t axis = 0; axis < tensor.dim.size(); ++axis)
      if (int dimension = tensor.dimension(axis); dimension >= 0 && dims[dimension] < 0)
        fail(status::invalid_argument, "no input of entry '%s' says dimension %s of output '%s'", entry.name.c_str(),
             m.dims()[dimension].name.c_str(), tensor.name.c_str());
}

void bind_outputs(const model &m, const entry_info &entry, std::span<const argument> outputs, const int64_t *dims, void **io) {
  std::fill_n(io, entry.outputs.size(), nullptr);
  for (size_t position = 0; position < outputs.size(); ++position) {
    const argument &given = outputs[position];
    size_t index = index_of(entry, entry.outputs, given, position, "output");
    const tensor_info &tensor = entry.outputs[index];
    if (io[index] || !given.data)
      fail(status::invalid_argument, "output '%s' %s", tensor.name.c_str(), io[index] ? "is given twice" : "has no data");
    int64_t shape[XF_ABI_MAX_RANK];
    shape_of(tensor, dims, shape);
    argument expected{nullptr, tensor.dtype, static_cast<int32_t>(tensor.dim.size()), shape, nullptr};
    if (given.dtype != expected.dtype || given.rank != expected.rank || !std::equal(shape, shape + expected.rank, given.shape))
      fail(status::invalid_argument, "output '%s' has another data type or shape than %s, which is %s here", tensor.name.c_str(),
           m.shape_text(tensor).c_str(), shape_text(expected).c_str());
    io[index] = given.data;
  }
  for (size_t index = 0; index < entry.outputs.size(); ++index)
    if (!io[index])
      fail(status::invalid_argument, "entry '%s' gives output '%s', %s: it needs a place", entry.name.c_str(), entry.outputs[index].name.c_str(),
           m.shape_text(entry.outputs[index]).c_str());
}

void check_no_aliasing(const model &m, const entry_info &entry, const int64_t *dims, void *const *io) {
  size_t inputs = entry.inputs.size();
  auto tensor = [&](size_t i) -> const tensor_info & { return i < inputs ? entry.inputs[i] : entry.outputs[i - inputs]; };
  auto begin = [&](size_t i) { return reinterpret_cast<uintptr_t>(io[i]); };
  auto end = [&](size_t i) { return begin(i) + m.bytes(tensor(i), dims); };
  for (size_t output = inputs; output < inputs + entry.outputs.size(); ++output)
    for (size_t other = 0; other < output; ++other)
      if (begin(output) < end(other) && begin(other) < end(output))
        fail(status::invalid_argument, "output '%s' lies in memory of %s '%s'", tensor(output).name.c_str(), other < inputs ? "input" : "output",
             tensor(other).name.c_str());
}

} // namespace xf::rt
