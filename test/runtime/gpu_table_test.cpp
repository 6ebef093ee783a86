#include "runtime/core/error.h"
#include "runtime/core/gpu_table.h"

#include <gtest/gtest.h>

using namespace xf::rt;

namespace {

// A block for each 256 of the products of the view's first two sizes.
uint32_t blocks(int64_t rows, int64_t columns, uint32_t constant = 1) {
  xf_abi_gpu_launch launch{};
  launch.threads = launch.divisor = 256;
  launch.constant = constant;
  launch.factors = 2;
  launch.factor[0] = {0, 0, 1, 0};
  launch.factor[1] = {0, 1, 1, 0};
  xf_abi_view view{};
  view.size[0] = rows, view.size[1] = columns;
  return blocks_of(launch, &view);
}

TEST(GpuTable, CountsBlocks) {
  EXPECT_EQ(blocks(3, 100), 2u);
  EXPECT_EQ(blocks(3, 100, 5), 10u);
  EXPECT_EQ(blocks(1 << 20, 0), 0u);
  EXPECT_EQ(blocks(1 << 15, (1 << 16) - 1), (1u << 23) - (1u << 7));
}

// Kernels divide the numbers of blocks and elements in 32 bits: beyond these they would be wrong without a word.
TEST(GpuTable, RefusesWhatKernelsCannotCount) {
  EXPECT_THROW(blocks(1 << 15, 1 << 16), error);
  EXPECT_THROW(blocks(int64_t(1) << 31, int64_t(1) << 31), error);
  EXPECT_THROW(blocks(1 << 20, 256, 4096), error);
  EXPECT_EQ(blocks(int64_t(1) << 32, 0), 0u);
}

} // namespace
