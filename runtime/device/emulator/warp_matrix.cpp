// Instructions on matrices that the lanes of a warp hold together. Lane 4 g + t is thread t of group g.
#include "runtime/device/emulator/halves.h"
#include "runtime/device/emulator/lanes.h"

namespace xf::rt::emulator {

void warp::need_whole_warp(const char *what) {
  if (mask_ != ~0u)
    fail_lane(std::countr_one(mask_), what);
  if (diverged_)
    fail_lane(0, "comes to what its warp does as one behind a branch that has parted it, with nothing that makes it wait for the others");
}

void warp::load_matrices(const instruction &i) {
  need_whole_warp("does not take part in a load of matrices by its warp");
  uint64_t rows[kLanes];
  for (int lane = 0; lane < 8 * i.count; ++lane) {
    rows[lane] = row<uint64_t>(i.source[0])[lane] + static_cast<uint64_t>(i.immediate);
    if (rows[lane] % 16 != 0)
      fail_lane(lane, "gives a row of a matrix at an address that is no multiple of 16");
  }
  for (int matrix = 0; matrix < i.count; ++matrix)
    for (lane_ = 0; lane_ < kLanes; ++lane_) {
      uint64_t address = rows[8 * matrix + lane_ / 4] + 4 * static_cast<uint64_t>(lane_ % 4);
      std::memcpy(row<uint32_t>(i.target[matrix]) + lane_, shared_->read(address, 4, thread()), 4);
    }
}

namespace {

struct factors {
  float a[16][16];   // [row][k]
  float b[16][8];    // [k][column]
  float sums[16][8];
};

// Products of two 16-bit numbers are exact in f32, unless they leave its range; so each step is one rounding. GPUs may round
// otherwise: they add several products at once, with some more bits.
void add_products(factors &f) {
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < 16; ++k)
      for (int column = 0; column < 8; ++column)
        f.sums[row][column] = std::fma(f.a[row][k], f.b[k][column], f.sums[row][column]);
}
__attribute__((target("avx2,fma"))) void add_products_quickly(factors &f) {
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < 16; ++k)
      for (int column = 0; column < 8; ++column)
        f.sums[row][column] = __builtin_fmaf(f.a[row][k], f.b[k][column], f.sums[row][column]);
}

const bool kHasFma = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");

} // namespace

void warp::multiply(const instruction &i) {
  need_whole_warp("does not take part in a product of its warp");
  auto widened = i.type == type::bf16 ? from_bf16 : from_f16;
  factors f;
  for (int lane = 0; lane < kLanes; ++lane) {
    int group = lane / 4, thread_in_group = lane % 4;
    auto word = [&](int source) { return row<uint32_t>(i.source[source])[lane]; };
    for (int half = 0; half < 2; ++half) {
      int k = 2 * thread_in_group + half, shift = 16 * half;
      for (int n = 0; n < 4; ++n)
        f.a[group + n % 2 * 8][k + n / 2 * 8] = widened(word(n) >> shift & 0xffff);
      for (int n = 0; n < 2; ++n)
        f.b[k + n * 8][group] = widened(word(4 + n) >> shift & 0xffff);
      for (int n = 0; n < 2; ++n)
        f.sums[group + n * 8][k] = std::bit_cast<float>(word(6 + 2 * n + half));
    }
  }
  kHasFma ? add_products_quickly(f) : add_products(f);
  for (int lane = 0; lane < kLanes; ++lane)
    for (int n = 0; n < 4; ++n)
      row<float>(i.target[n])[lane] = canonical(f.sums[lane / 4 + n / 2 * 8][2 * (lane % 4) + n % 2]);
}

} // namespace xf::rt::emulator
