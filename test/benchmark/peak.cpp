// What this machine can do at most, as JSON on standard output: operations a second of the instructions that multiply, by
// type, and bytes a second that memory can be read with, by all threads together. The best of some rounds.
//
//   xf-peak [THREADS] (default 1)
#include "test/benchmark/Peak.h"
#include "runtime/core/cpu.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

using namespace xf::benchmark;

namespace {

constexpr int kRounds = 15;
constexpr size_t kWords = size_t(16) << 20; // of a thread: 128 MiB

using Clock = std::chrono::steady_clock;

/// Gives the calling thread a CPU of its own, the one with this index of those that the process may use: threads that work for some
/// milliseconds only are often left on the CPU where they began.
void pin(int index) {
  if (std::vector<int> allowed = xf::rt::allowed_cpus(); !allowed.empty())
    xf::rt::bind_to_cpu(pthread_self(), allowed[index % allowed.size()]);
}

/// The least seconds in which all threads have done `work`, which gets the thread's index.
double minSeconds(int threads, const std::function<void(int)> &work) {
  std::vector<Clock::time_point> begins(threads), ends(threads);
  Clock::duration least = Clock::duration::max();
  std::barrier start(threads);
  std::barrier finish(threads, [&]() noexcept {
    least = std::min(least, *std::max_element(ends.begin(), ends.end()) - *std::min_element(begins.begin(), begins.end()));
  });
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i)
      all.emplace_back([&, i] {
        pin(i);
        for (int round = 0; round < kRounds; ++round) {
          start.arrive_and_wait();
          begins[i] = Clock::now();
          work(i);
          ends[i] = Clock::now();
          finish.arrive_and_wait();
        }
      });
  }
  return std::chrono::duration<double>(least).count();
}

/// Bytes a second by the fastest way to read: from one place, or from eight in turn.
double readingSpeed(int threads) {
  std::vector<std::vector<uint64_t>> memory(threads, std::vector<uint64_t>(kWords, 1));
  std::vector<uint64_t> sums(threads * 8); // a cache line for each thread
  double least = minSeconds(threads, [&](int i) { sums[i * 8] = readLines<1>(memory[i].data(), kWords); });
  least = std::min(least, minSeconds(threads, [&](int i) { sums[i * 8] = readLines<8>(memory[i].data(), kWords); }));
  return double(threads) * kWords * 8 / least;
}

} // namespace

int main(int argc, char **argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  if (threads < 1 || threads > 1024 || argc > 2) {
    std::fprintf(stderr, "usage: xf-peak [THREADS]\n");
    return 2;
  }
  auto peak = [&](const Peak &of) { return threads * of.operations / minSeconds(threads, [&](int) { of.run(); }); };
  bool wide = __builtin_cpu_supports("avx512f");
  double f32 = peak(wide ? kMultiplyAdd512 : kMultiplyAdd256);
  // Some CPUs multiply bf16 faster as f32.
  double bf16 = __builtin_cpu_supports("avx512bf16") ? std::max(f32, peak(kMultiplyAddBF16)) : f32;
  bool vnni = __builtin_cpu_supports("avx512vnni");
  double int16 = peak(vnni ? kMultiplyAddInt16 : kMultiplyAddPairs256);
  double int8 = peak(vnni ? kMultiplyAddBytes : __builtin_cpu_supports("avxvnni") ? kMultiplyAddBytes256 : kMultiplyAddSplitBytes256);
  std::printf("{\"threads\": %d, \"f32\": %.4g, \"bf16\": %.4g, \"words\": %.4g, \"int8\": %.4g, \"memory\": %.4g}\n", threads, f32, bf16, int16,
              int8, readingSpeed(threads));
}
