// The image's kernels for GPUs, checked and copied out of it.
#ifndef RUNTIME_CORE_GPU_TABLE_H
#define RUNTIME_CORE_GPU_TABLE_H

#include "runtime/core/image_reader.h"

#include <string>
#include <vector>

namespace xf::rt {

// `function` is an index in gpu_table::functions.
struct gpu_launch {
  size_t function;
  xf_abi_gpu_launch config;
};

// Ways to run one stage of a kernel: the first whose limits hold is taken, and the last one has none.
using gpu_stage = std::vector<gpu_launch>;

struct gpu_kernel {
  uint32_t views = 0;
  std::vector<gpu_stage> stages; // one after the other
};

// One launch in the place of the kernels `row` and `product`, indices in gpu_table::kernels.
struct gpu_pair {
  uint32_t row, product;
  uint32_t view, rank; // of what `row` makes and `product` multiplies
  gpu_launch launch;
};

struct gpu_table {
  std::vector<gpu_kernel> kernels;
  std::vector<gpu_pair> pairs;
  gpu_kernel move_rows, advance, apply_rules, choose_logits, take_logits, draw; // no stages: the model is not searched
  std::vector<std::string> functions;

  bool empty() const { return kernels.empty(); }
};

gpu_table read_gpu_table(const image_reader &reader, const xf_abi_image &image);

// How many blocks the launch has for these views; 0 where a size is 0. Throws where they, or what they share, are more than kernels
// can count.
uint32_t blocks_of(const xf_abi_gpu_launch &launch, const xf_abi_view *views);
// The launch to take for these views.
const gpu_launch &choose_launch(const gpu_stage &stage, const xf_abi_view *views);
// The pair of these kernels, called one after the other with these views; null where there is none, or it does not apply to them.
const gpu_pair *find_pair(const gpu_table &table, size_t row, const xf_abi_view *row_views, size_t product, const xf_abi_view *product_views);

} // namespace xf::rt

#endif
