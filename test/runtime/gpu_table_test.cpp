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

// Kernel 0 makes [2, 4, 16], its view 1, which kernel 1 multiplies as rows where they are at most 8.
TEST(GpuTable, FindsWhatIsLaunchedTogether) {
  gpu_table table;
  table.kernels.resize(3);
  gpu_pair pair{0, 1, 1, 3, {}};
  pair.launch.config.limit_view = 1, pair.launch.config.limit_dim = 0, pair.launch.config.limit = 8;
  table.pairs.push_back(pair);
  float data[2];
  xf_abi_view row[2] = {}, product[2] = {};
  row[1] = {&data[0], {2, 4, 16}, {64, 16, 1}};
  product[0] = {&data[0], {8, 16}, {16, 1}};
  product[1].size[0] = 8;
  auto finds = [&](size_t first = 0, size_t second = 1) { return find_pair(table, first, row, second, product) != nullptr; };
  EXPECT_TRUE(finds());
  EXPECT_FALSE(finds(0, 2));
  EXPECT_FALSE(finds(1, 0));
  product[1].size[0] = 9; // more rows than the launch does
  EXPECT_FALSE(finds());
  product[1].size[0] = 8, product[0].data = &data[1]; // something else
  EXPECT_FALSE(finds());
  product[0].data = &data[0], product[0].size[0] = 4; // a part of it
  EXPECT_FALSE(finds());
  product[0].size[0] = 8, row[1].stride[0] = 80; // rows that are not equally far apart
  EXPECT_FALSE(finds());
  row[1].size[0] = 1, product[0].size[0] = 4;
  EXPECT_TRUE(finds());
  row[1].stride[1] = 20;
  EXPECT_FALSE(finds());
}

} // namespace
