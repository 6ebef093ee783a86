#include "runtime/core/gpu_table.h"

#include "runtime/core/error.h"

#include <algorithm>
#include <span>

namespace xf::rt {

namespace {

bool takes_all_sizes(const gpu_stage &stage) { return stage.back().config.limit < 0 && stage.back().config.max_blocks == 0; }

// Whether a launch is of the kernel's last stage so far or begins the next one.
bool stage_follows(const gpu_kernel &kernel, const xf_abi_gpu_launch &launch) {
  size_t stages = kernel.stages.size();
  return uint64_t{launch.stage} + 1 == stages || (launch.stage == stages && (stages == 0 || takes_all_sizes(kernel.stages.back())));
}

// Whether a kernel with so many views can be launched so.
bool is_valid(const xf_abi_gpu_launch &config, uint32_t views) {
  bool valid = config.threads >= 1 && config.threads <= 1024 && config.factors <= XF_ABI_MAX_RANK && config.divisor >= 1 && config.constant >= 1 &&
               (config.limit < 0 || (config.limit_view < views && config.limit_dim < XF_ABI_MAX_RANK));
  for (uint32_t f = 0; valid && f < config.factors; ++f)
    valid = config.factor[f].view < views && config.factor[f].dim < XF_ABI_MAX_RANK && config.factor[f].divisor >= 1;
  return valid;
}

gpu_kernel read_kernel(const image_reader &reader, const xf_abi_gpu_kernel &kernel, std::span<const xf_abi_gpu_launch> launches,
                       const std::string &what, std::vector<std::string> &functions) {
  reader.require(kernel.views <= XF_ABI_MAX_GPU_VIEWS && kernel.launches >= 1 && kernel.first_launch <= launches.size() &&
                     kernel.launches <= launches.size() - kernel.first_launch,
                 what + " has launches outside their table");
  gpu_kernel read{kernel.views, {}};
  for (const xf_abi_gpu_launch &config : launches.subspan(kernel.first_launch, kernel.launches)) {
    reader.require(is_valid(config, kernel.views) && stage_follows(read, config), what + " has an impossible launch");
    if (config.stage == read.stages.size())
      read.stages.emplace_back();
    read.stages.back().push_back({functions.size(), config});
    functions.push_back(reader.name(config.function, what));
  }
  reader.require(takes_all_sizes(read.stages.back()), what + " has no launch for all sizes");
  return read;
}

gpu_pair read_pair(const image_reader &reader, const xf_abi_gpu_pair &pair, gpu_table &table) {
  const std::string what = "the launch of two kernels for GPUs";
  const std::vector<gpu_kernel> &kernels = table.kernels;
  bool valid = pair.row < kernels.size() && pair.product < kernels.size();
  if (valid) {
    uint32_t row = kernels[pair.row].views, product = kernels[pair.product].views;
    valid = row + product <= XF_ABI_MAX_GPU_VIEWS && pair.view < row && pair.rank >= 2 && pair.rank <= XF_ABI_MAX_RANK && pair.launch.limit >= 0 &&
            is_valid(pair.launch, product);
  }
  reader.require(valid, what + " is impossible");
  table.functions.push_back(reader.name(pair.launch.function, what));
  return {pair.row, pair.product, pair.view, pair.rank, {table.functions.size() - 1, pair.launch}};
}

bool holds(const xf_abi_gpu_launch &config, const xf_abi_view *views) {
  return (config.limit < 0 || views[config.limit_view].size[config.limit_dim] <= config.limit) &&
         (config.max_blocks == 0 || blocks_of(config, views) <= config.max_blocks);
}

// Whether `x`, of rows, is `made` with its leading dimensions as one.
bool is_same(const xf_abi_view &made, uint32_t rank, const xf_abi_view &x) {
  if (made.data != x.data)
    return false;
  int64_t rows = 1;
  for (uint32_t d = rank - 1; d-- > 0;) {
    if (made.size[d] > 1 && made.stride[d] != rows * x.stride[0])
      return false;
    rows *= made.size[d];
  }
  return rows == x.size[0];
}

} // namespace

gpu_table read_gpu_table(const image_reader &reader, const xf_abi_image &image) {
  const xf_abi_gpu &gpu = image.gpu;
  gpu_table result;
  reader.check_range(gpu.ptx, "the code for GPUs");
  auto launches = reader.table<xf_abi_gpu_launch>(gpu.launches, "the table of launches");
  for (const xf_abi_gpu_kernel &kernel : reader.table<xf_abi_gpu_kernel>(gpu.kernels, "the table of kernels for GPUs"))
    result.kernels.push_back(
        read_kernel(reader, kernel, launches, "kernel " + std::to_string(result.kernels.size()) + " for GPUs", result.functions));
  for (const xf_abi_gpu_pair &pair : reader.table<xf_abi_gpu_pair>(gpu.pairs, "the table of launches of two kernels"))
    result.pairs.push_back(read_pair(reader, pair, result));
  if (!result.empty() && image.generate.present) {
    auto read = [&](const xf_abi_gpu_kernel &kernel, uint32_t views, const char *what) {
      reader.require(kernel.views == views, "a search's kernel takes other views");
      return read_kernel(reader, kernel, launches, what, result.functions);
    };
    result.move_rows = read(gpu.move_rows, 2, "the kernel that moves rows");
    result.advance = read(gpu.advance, 13, "the kernel that advances searches");
    result.apply_rules = read(gpu.apply_rules, 5, "the kernel that changes logits");
    result.choose_logits = read(gpu.choose_logits, 8, "the kernel that chooses from logits");
    result.take_logits = read(gpu.take_logits, 5, "the kernel that takes logits");
    result.draw = read(gpu.draw, 9, "the kernel that draws tokens");
    bool valid = gpu.choose_parts >= 1 && gpu.choose_parts <= XF_ABI_MAX_SIZE;
    reader.require(valid, "what lies between the stages of a search's kernel has an impossible size");
  }
  return result;
}

uint32_t blocks_of(const xf_abi_gpu_launch &launch, const xf_abi_view *views) {
  constexpr uint64_t kMaxCount = 0x7fffffff; // a grid's blocks; kernels divide numbers of blocks and elements in 32 bits
  uint64_t product = 1;
  for (uint32_t i = 0; i < launch.factors; ++i) {
    const xf_abi_gpu_factor &factor = launch.factor[i];
    auto size = static_cast<uint64_t>(views[factor.view].size[factor.dim]);
    product = std::min(product * ((size + factor.divisor - 1) / factor.divisor), kMaxCount + 1);
  }
  uint64_t blocks = (product + launch.divisor - 1) / launch.divisor * launch.constant;
  if (product > kMaxCount || blocks > kMaxCount)
    fail(status::limit, "a tensor is too large for the GPU's kernels, which count to %llu", static_cast<unsigned long long>(kMaxCount));
  return static_cast<uint32_t>(blocks);
}

const gpu_launch &choose_launch(const gpu_stage &stage, const xf_abi_view *views) {
  for (const gpu_launch &launch : stage)
    if (holds(launch.config, views))
      return launch;
  return stage.back();
}

const gpu_pair *find_pair(const gpu_table &table, size_t row, const xf_abi_view *row_views, size_t product, const xf_abi_view *product_views) {
  for (const gpu_pair &pair : table.pairs)
    if (pair.row == row && pair.product == product && holds(pair.launch.config, product_views) &&
        is_same(row_views[pair.view], pair.rank, product_views[0]))
      return &pair;
  return nullptr;
}

} // namespace xf::rt
