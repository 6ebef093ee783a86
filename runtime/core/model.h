// A validated image: everything that the header and the tables say, checked against the image's size and
// against each other and copied out of the file, so that no later read can go astray.
#ifndef RUNTIME_CORE_MODEL_H
#define RUNTIME_CORE_MODEL_H

#include "runtime/abi/xf_abi.h"
#include "runtime/core/gpu_table.h"
#include "runtime/core/mapping.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xf::rt {

// Whether a model that generates is given prompts, which it continues.
inline bool takes_prompts(const xf_abi_generate &g) { return g.present && g.encode < 0 && g.begin < 0; }

struct dim_info {
  std::string name;
  int64_t max = 0;
};

struct tensor_info {
  std::string name;
  xf_abi_dtype dtype = XF_ABI_F32;
  std::vector<int64_t> dim; // a size, or -(dimension + 1)
  int64_t bound = 0;
  std::vector<int64_t> min_sizes; // of each dimension, at least 1

  uint64_t element_bytes() const { return xf_abi_dtype_bytes(dtype); }
  // The index of the dimension at this axis, or -1 where the size is fixed.
  int dimension(size_t axis) const { return dim[axis] < 0 ? static_cast<int>(-(dim[axis] + 1)) : -1; }
  // The smallest size that the dimension of this index may have here.
  int64_t min_size_of(int dimension) const;
};

struct entry_info {
  std::string name;
  uint64_t code_offset = 0, workspace_bytes = 0;
  xf_abi_entry_kind kind = XF_ABI_ENTRY_FULL;
  std::vector<tensor_info> inputs, outputs;

  int find_input(std::string_view name) const;
  int find_output(std::string_view name) const;
};

struct kernel_table {
  int isa = XF_ABI_BASELINE;
  std::vector<uint64_t> offsets;
};

struct parameter_info {
  std::string path;
  std::vector<int64_t> size;
  std::vector<xf_abi_segment> segments;
};

// The code and the weights that a model's sessions on a GPU share, as long as there is one.
struct shared_program {
  std::mutex lock;
  std::weak_ptr<void> loaded;
};

class model {
public:
  explicit model(std::unique_ptr<mapping> image);

  const xf_abi_image &header() const { return header_; }
  const std::string &file_name() const { return image_->name(); }
  const std::string &name() const { return name_; }
  const std::vector<dim_info> &dims() const { return dims_; }
  const std::vector<entry_info> &entries() const { return entries_; }
  const std::vector<kernel_table> &kernels() const { return kernels_; }
  const gpu_table &gpu() const { return gpu_; }
  const std::vector<xf_abi_state> &states() const { return states_; }
  const std::vector<parameter_info> &parameters() const { return parameters_; }
  std::string_view text(xf_abi_range range) const { return {reinterpret_cast<const char *>(image_->data() + range.offset), range.size}; }
  const uint8_t *weights() const { return image_->data() + header_.weights.offset; }
  const uint8_t *code() const { return code_; }
  int find_entry(std::string_view name) const;
  shared_program &on_gpu() const { return on_gpu_; }

  // Bytes of a tensor for these dimension values.
  uint64_t bytes(const tensor_info &tensor, const int64_t *dims) const;
  std::string shape_text(const tensor_info &tensor) const;
  // The tokens that end results besides the first.
  std::span<const int32_t> more_ends() const { return {header_.generate.more_ends, header_.generate.more_ends_count}; }

private:
  std::unique_ptr<mapping> image_;
  xf_abi_image header_;
  std::string name_;
  std::vector<dim_info> dims_;
  std::vector<entry_info> entries_;
  std::vector<kernel_table> kernels_;
  gpu_table gpu_;
  std::vector<xf_abi_state> states_;
  std::vector<parameter_info> parameters_;
  const uint8_t *code_ = nullptr;
  mutable shared_program on_gpu_;
};

// Checks what the header says of search, text and prediction against the tables (roles.cpp).
void check_roles(const model &m);

std::shared_ptr<const model> open_model(const std::string &path);
std::shared_ptr<const model> open_model(const void *data, uint64_t size);

} // namespace xf::rt

#endif
