#include "runtime/device/emulator/emulator.h"

#include "runtime/core/error.h"
#include "runtime/device/device_memory.h"
#include "runtime/device/emulator/warp.h"

#include <cstring>
#include <deque>
#include <functional>

namespace xf::rt {

namespace emulator {

// Runs all warps up to a barrier, in order, then up to the next one.
static void run_block(const function &code, uint32_t block, std::vector<warp> &warps, shared_memory &shared, global_accesses &accesses) {
  shared.clear();
  accesses.begin_block();
  for (warp &w : warps)
    w.start(block);
  while (true) {
    size_t waiting = 0;
    for (warp &w : warps)
      try {
        waiting += w.run(shared) == warp::stop::barrier;
      } catch (const fault &f) {
        fail(status::internal, "kernel %s, block %u, thread %u, PTX line %d: the thread %s", code.name.c_str(), block, w.thread(), w.line(),
             f.what.c_str());
      }
    if (waiting == 0)
      return;
    if (waiting != warps.size())
      fail(status::internal, "kernel %s, block %u: some warps end while others wait at a barrier", code.name.c_str(), block);
    shared.pass_barrier();
    accesses.pass_barrier();
  }
}

// The limits of every GPU, unless more is asked for.
constexpr uint32_t kMaxThreads = 1024, kMaxSharedBytes = 48 << 10;
constexpr size_t kMaxParameterBytes = 4096;

void run_kernel(const function &code, global_memory &memory, const kernel_call &call) {
  if (call.bytes != code.parameter_bytes)
    fail(status::internal, "%s takes %u bytes of parameters, not %zu", code.name.c_str(), code.parameter_bytes, call.bytes);
  if (code.threads && call.threads > code.threads)
    fail(status::internal, "%s is made for blocks of at most %u threads, not %u", code.name.c_str(), code.threads, call.threads);
  if (call.blocks == 0 || call.threads == 0 || call.threads > kMaxThreads || call.bytes > kMaxParameterBytes || code.shared_bytes > kMaxSharedBytes)
    fail(status::internal, "%s cannot be launched: %u blocks of %u threads, %zu bytes of parameters, %u of shared memory", code.name.c_str(),
         call.blocks, call.threads, call.bytes, code.shared_bytes);
  launch_state state{&code, &memory, static_cast<const uint8_t *>(call.parameters), call.blocks, call.threads};
  shared_memory shared(code.shared);
  std::vector<warp> warps;
  for (uint32_t first = 0; first < call.threads; first += kLanes)
    warps.emplace_back(state, first);
  memory.accesses.begin_launch();
  for (uint32_t block = 0; block < call.blocks; ++block)
    run_block(code, block, warps, shared, memory.accesses);
}

} // namespace emulator

namespace {

using namespace emulator;

// Must not outlive its device.
struct loaded_program final : device::program {
  loaded_program(device &d, std::string_view ptx, const std::vector<std::string> &names, uint64_t bytes)
      : text(parse_ptx(ptx)), weights_memory(d, bytes) {
    for (const std::string &name : names) {
      auto found = text.functions.find(name);
      if (found == text.functions.end())
        fail(status::bad_image, "the PTX lacks the function '%s'", name.c_str());
      functions.push_back(&found->second);
    }
  }
  uint8_t *weights() const override { return weights_memory.get(); }

  emulator::program text;
  std::vector<const function *> functions;
  device_memory weights_memory;
};

// Work is done when it is waited for, and no sooner: as late as a device may do it.
class emulator_device final : public device {
public:
  const char *name() const override { return "emulator"; }

  std::shared_ptr<program> load(std::string_view ptx, const std::vector<std::string> &functions, uint64_t weight_bytes) override {
    return std::make_shared<loaded_program>(*this, ptx, functions, weight_bytes);
  }
  // Each device knows of its own memory only.
  bool shares_programs() const override { return false; }
  void use(std::shared_ptr<const program> loaded) override { program_ = std::static_pointer_cast<const loaded_program>(std::move(loaded)); }

  uint8_t *allocate(uint64_t bytes) override { return memory_.allocate(bytes); }
  void release(uint8_t *memory) override {
    drain();
    memory_.release(memory);
  }
  uint8_t *allocate_host(uint64_t bytes) override { return new uint8_t[bytes]; }
  void release_host(uint8_t *memory) override {
    drain();
    delete[] memory;
  }

  void upload(uint8_t *to, const void *from, uint64_t bytes) override {
    if (bytes == 0)
      return;
    queue_.push_back([=, this] { std::memcpy(host_address(to, bytes), from, bytes); });
  }
  void download(void *to, const uint8_t *from, uint64_t bytes) override {
    if (bytes == 0)
      return;
    queue_.push_back([=, this] { std::memcpy(to, host_address(from, bytes), bytes); });
  }
  void clear(uint8_t *memory, uint64_t bytes) override {
    if (bytes == 0)
      return;
    queue_.push_back([=, this] { std::memset(host_address(memory, bytes), 0, bytes); });
  }
  void launch(size_t function, uint32_t blocks, uint32_t threads, const void *parameters, size_t bytes) override {
    const auto *begin = static_cast<const uint64_t *>(parameters);
    std::vector<uint64_t> copy(begin, begin + bytes / sizeof(uint64_t));
    auto work = [=, this, copy = std::move(copy)] { run_kernel(*program_->functions[function], memory_, {copy.data(), bytes, blocks, threads}); };
    if (recording_)
      recording_->launches.push_back(std::move(work));
    else
      queue_.push_back(std::move(work));
  }

  bool begin_recording() override {
    recording_ = std::make_unique<launches>();
    return true;
  }
  std::unique_ptr<recording> end_recording() override { return std::move(recording_); }
  void replay(const recording &recorded) override {
    for (const std::function<void()> &launch : static_cast<const launches &>(recorded).launches)
      queue_.push_back(launch);
  }

  uint64_t mark() override { return done_ + queue_.size(); }
  void wait(uint64_t mark) override {
    while (done_ < mark) {
      std::function<void()> next = std::move(queue_.front());
      queue_.pop_front();
      ++done_;
      try {
        next();
      } catch (...) {
        // Work that follows would use wrong results.
        done_ += queue_.size();
        queue_.clear();
        throw;
      }
    }
  }

private:
  // Part of clearing up, perhaps after an error.
  void drain() noexcept {
    try {
      wait(mark());
    } catch (...) {
    }
  }
  // Where the host has these bytes.
  uint8_t *host_address(const uint8_t *memory, uint64_t bytes) const {
    try {
      return memory_.check_range(reinterpret_cast<uint64_t>(memory), bytes, "goes");
    } catch (const fault &f) {
      fail(status::internal, "a copy or a fill %s", f.what.c_str());
    }
  }

  struct launches final : recording {
    std::vector<std::function<void()>> launches;
  };

  global_memory memory_;
  std::deque<std::function<void()>> queue_;
  uint64_t done_ = 0;
  std::unique_ptr<launches> recording_;
  std::shared_ptr<const loaded_program> program_; // last: it gives memory back
};

} // namespace

std::unique_ptr<device> make_emulator() { return std::make_unique<emulator_device>(); }

} // namespace xf::rt
