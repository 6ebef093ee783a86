#include "tools/xfc/Arguments.h"

#include "runtime/core/error.h"

namespace xf {

const rt::entry_info &entryOf(const rt::model &model, const ExplainedEntry &explained) {
  int index = model.find_entry(explained.name);
  if (index < 0)
    rt::fail(rt::status::internal, "the file has no entry '%s'", explained.name.c_str());
  const rt::entry_info &entry = model.entries()[index];
  for (const rt::tensor_info &tensor : entry.inputs)
    for (size_t axis = 0; axis < tensor.dim.size(); ++axis)
      if (int dim = tensor.dimension(axis); dim >= 0)
        if (const std::string &name = model.dims()[dim].name; explained.sizes.lookup(name) < tensor.min_sizes[axis])
          rt::fail(rt::status::invalid_argument, "entry '%s' needs at least %lld of dimension %s (--at %s=N)", entry.name.c_str(),
                   static_cast<long long>(tensor.min_sizes[axis]), name.c_str(), name.c_str());
  return entry;
}

Arguments::Arguments(const rt::model &model, const rt::entry_info &entry, const Sizes &sizes) : model(model) {
  for (const rt::dim_info &dim : model.dims())
    dims.push_back(std::max<int64_t>(1, sizes.lookup(dim.name)));
  for (const rt::tensor_info &tensor : entry.inputs)
    fill(tensor);
  for (const rt::tensor_info &tensor : entry.outputs)
    add(tensor);
  for (std::vector<uint64_t> &tensor : tensors)
    pointers.push_back(tensor.data());
}

std::vector<uint64_t> &Arguments::add(const rt::tensor_info &tensor) { return tensors.emplace_back(model.bytes(tensor, dims.data()) / 8 + 16); }

void Arguments::fill(const rt::tensor_info &tensor) {
  std::vector<uint64_t> &data = add(tensor);
  uint64_t count = model.bytes(tensor, dims.data()) / tensor.element_bytes();
  auto *integers = reinterpret_cast<int32_t *>(data.data());
  auto *floats = reinterpret_cast<float *>(data.data());
  const xf_abi_generate &search = model.header().generate;
  // The step's last position is the target's last one.
  int64_t past = search.present && search.target_dim >= 0 ? dims[search.target_dim] - dims[search.new_dim] : 0;
  // Tokens with small ids are special as a rule, and one of them may be padding.
  int64_t bound = tensor.bound > 0 ? tensor.bound : 100, minId = bound > 8 ? 4 : 0;
  for (uint64_t i = 0; i < count; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    uint64_t bits = random >> 33;
    if (tensor.dtype == XF_ABI_I1)
      reinterpret_cast<uint8_t *>(data.data())[i] = 1;
    else if (tensor.dtype == XF_ABI_F32)
      floats[i] = static_cast<float>(bits) * 0x1p-30f - 1.0f;
    else if (tensor.name == "xf.past")
      integers[i] = static_cast<int32_t>(std::max<int64_t>(past, 0));
    else if (tensor.name == "xf.slots")
      integers[i] = static_cast<int32_t>(i);
    else if (tensor.name == "xf.classes" || tensor.name == "xf.options")
      integers[i] = tensor.name == "xf.classes" || i == 0; // a greedy search without scores
    else if (tensor.name != "xf.forbidden")
      integers[i] = static_cast<int32_t>(minId + static_cast<int64_t>(bits) % (bound - minId));
  }
}

} // namespace xf
