#include "runtime/device/cuda/cuda.h"

#include "runtime/abi/xf_ptx.h"
#include "runtime/core/error.h"
#include "runtime/device/cuda/driver.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace xf::rt {

namespace {

using namespace cuda;

double mebibytes(size_t bytes) { return static_cast<double>(bytes) / 1048576.0; }

const char *explain(const driver &d, result r) {
  const char *text = nullptr;
  return d.error_text(r, &text) == 0 && text ? text : "an unknown error";
}
// `otherwise`: the status of an error other than a lack of memory.
status status_of(result r, status otherwise) { return r == kOutOfMemory ? status::out_of_memory : otherwise; }
void cuda_check(const driver &d, result r, const char *what, status otherwise = status::internal) {
  if (r != 0)
    fail(status_of(r, otherwise), "%s: %s", what, explain(d, r));
}

// The GPU's primary context, as long as it is wanted.
class primary_context {
public:
  primary_context(const driver &d, device_handle gpu) : driver_(d), device_(gpu) {
    cuda_check(driver_, driver_.context_retain(&context_, device_), "opening the GPU");
  }
  primary_context(const primary_context &) = delete;
  ~primary_context() { driver_.context_release(device_); }

  const driver &api() const { return driver_; }
  context get() const { return context_; }

private:
  const driver &driver_;
  device_handle device_;
  context context_ = nullptr;
};

// The driver is called in the GPU's context. Sessions may be used by one thread now and by another then, and a program that uses CUDA
// itself finds its own context afterwards. Where it captures a stream of its own, nothing here is part of that: in the default mode,
// reserving memory would fail, and spoil what it captures.
enum no_throw { kNoThrow }; // part of clearing up, perhaps after an error
class context_scope {
public:
  explicit context_scope(const primary_context &c) : context_scope(c, kNoThrow) { cuda_check(driver_, problem_, "entering the GPU's context"); }
  context_scope(const primary_context &c, no_throw) : driver_(c.api()), problem_(driver_.context_push(c.get())) {
    if (problem_ == 0)
      exchange_mode();
  }
  context_scope(const context_scope &) = delete;
  ~context_scope() {
    if (problem_)
      return;
    exchange_mode();
    context left;
    driver_.context_pop(&left);
  }
  explicit operator bool() const { return problem_ == 0; }

private:
  void exchange_mode() {
    if (driver_.exchange_capture_mode)
      driver_.exchange_capture_mode(&mode_);
  }

  const driver &driver_;
  result problem_;
  int mode_ = kRelaxedCaptures; // the thread's own, once they are exchanged
};

address address_of(const uint8_t *memory) { return reinterpret_cast<address>(memory); }

uint8_t *reserve(const primary_context &gpu, const char *name, uint64_t bytes) {
  context_scope scope(gpu);
  const driver &d = gpu.api();
  address memory = 0;
  result r = d.memory_allocate(&memory, bytes);
  if (r == kOutOfMemory) {
    size_t free = 0, total = 0;
    d.memory_info(&free, &total);
    fail(status::out_of_memory, "the GPU %s has %.1f MiB of memory free of %.1f; %.1f more are needed", name, mebibytes(free), mebibytes(total),
         mebibytes(bytes));
  }
  cuda_check(d, r, "reserving memory of the GPU");
  return reinterpret_cast<uint8_t *>(memory);
}

// The text with what only later GPUs have.
std::string with_marked(std::string_view ptx) {
  std::string text(ptx);
  auto replace = [&](size_t position, std::string_view from, std::string_view to) {
    if (position != text.npos)
      text.replace(position, from.size(), to);
  };
  constexpr std::string_view kMark = XF_PTX_MARK, kVersion = ".version " XF_PTX_VERSION, kTarget = ".target " XF_PTX_TARGET;
  replace(text.find(kVersion), kVersion, ".version " XF_PTX_MARKED_VERSION);
  replace(text.find(kTarget), kTarget, ".target " XF_PTX_MARKED_TARGET);
  for (size_t position = 0; (position = text.find(kMark, position)) != text.npos;)
    replace(position, kMark, std::string(kMark.size(), ' '));
  return text;
}

// Sessions have waited for the GPU before they let go of it.
class cuda_program final : public device::program {
public:
  cuda_program(std::shared_ptr<const primary_context> gpu, const char *name, const std::string &text, const std::vector<std::string> &names,
               uint64_t bytes)
      : gpu_(std::move(gpu)) {
    try {
      load(text, names);
      weights_ = reserve(*gpu_, name, std::max<uint64_t>(bytes, 1));
    } catch (...) {
      close();
      throw;
    }
  }
  ~cuda_program() override { close(); }

  uint8_t *weights() const override { return weights_; }
  cuda::function function(size_t index) const { return functions_[index]; }

private:
  void load(const std::string &text, const std::vector<std::string> &names) {
    context_scope scope(*gpu_);
    const driver &d = gpu_->api();
    std::string log(8192, '\0');
    int options[] = {kErrorLog, kErrorLogBytes};
    void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
    if (result r = d.module_load(&module_, text.c_str(), 2, options, values)) {
      // Code that no driver would take is a fault, which falling back to the CPU must not hide.
      bool is_unable = r == kNoBinary || r == kNoCompiler || r == kUnknownPtxVersion || r == kCompilerOff;
      fail(status_of(r, is_unable ? status::unsupported : status::internal), "the driver cannot take the model's code for the GPU: %s %s",
           explain(d, r), log.c_str());
    }
    for (const std::string &name : names) {
      functions_.emplace_back();
      cuda_check(d, d.module_function(&functions_.back(), module_, name.c_str()), name.c_str());
    }
  }

  void close() {
    context_scope scope(*gpu_, kNoThrow);
    if (!scope)
      return;
    if (weights_)
      gpu_->api().memory_free(address_of(weights_));
    if (module_)
      gpu_->api().module_unload(module_);
  }

  std::shared_ptr<const primary_context> gpu_;
  module module_ = nullptr;
  std::vector<cuda::function> functions_;
  uint8_t *weights_ = nullptr;
};

// The GPU that models run on, or why there is none.
device_handle open_gpu(const driver &d) {
  int count = 0;
  result started = d.init(0);
  if (started == 0)
    started = d.device_count(&count);
  // A driver that does not start, as one that has been replaced since the machine started, or has none of its GPUs, offers none.
  if (started != kNoDevice)
    cuda_check(d, started, "starting the NVIDIA driver", status::unsupported);
  if (count == 0)
    fail(status::unsupported, "the NVIDIA driver finds no GPU");
  device_handle gpu = 0;
  cuda_check(d, d.device_get(&gpu, 0), "opening the GPU");
  return gpu;
}

class cuda_device final : public device {
public:
  explicit cuda_device(int capability) : driver_(open_driver()) {
    device_handle gpu = open_gpu(driver_);
    driver_.device_name(name_, sizeof(name_), gpu);
    int major = 0, minor = 0;
    check(driver_.device_attribute(&major, kCapabilityMajor, gpu), "asking for the GPU's compute capability");
    check(driver_.device_attribute(&minor, kCapabilityMinor, gpu), "asking for the GPU's compute capability");
    check(driver_.device_attribute(&multiprocessors_, kMultiprocessors, gpu), "asking for the GPU's multiprocessors");
    capability_ = 10 * major + minor;
    if (capability_ < capability)
      fail(status::unsupported, "the GPU %s is too old: it has compute capability %d.%d; the model's code needs %d.%d", name_, major, minor,
           capability / 10, capability % 10);
    gpu_ = std::make_shared<const primary_context>(driver_, gpu);
    try {
      context_scope scope(*gpu_);
      check(driver_.stream_create(&stream_, kStreamOfItsOwn), "opening the GPU");
      for (event &e : events_)
        check(driver_.event_create(&e, kEventWithoutTime), "opening the GPU");
    } catch (...) {
      close();
      throw;
    }
  }

  ~cuda_device() override { close(); }

  const char *name() const override { return name_; }

  std::shared_ptr<program> load(std::string_view ptx, const std::vector<std::string> &functions, uint64_t weight_bytes) override {
    return std::make_shared<cuda_program>(gpu_, name_, starts_early() ? with_marked(ptx) : std::string(ptx), functions, weight_bytes);
  }
  bool shares_programs() const override { return true; }
  void use(std::shared_ptr<const program> loaded) override { program_ = std::static_pointer_cast<const cuda_program>(std::move(loaded)); }

  uint8_t *allocate(uint64_t bytes) override { return reserve(*gpu_, name_, bytes); }

  void release(uint8_t *memory) override {
    context_scope scope(*gpu_, kNoThrow);
    if (!scope)
      return;
    driver_.stream_wait(stream_);
    driver_.memory_free(address_of(memory));
  }

  uint8_t *allocate_host(uint64_t bytes) override {
    context_scope scope(*gpu_);
    void *memory = nullptr;
    if (result r = driver_.host_allocate(&memory, bytes))
      fail(status_of(r, status::internal), "reserving %.1f MiB of memory for the GPU's copies: %s", mebibytes(bytes), explain(driver_, r));
    return static_cast<uint8_t *>(memory);
  }

  void release_host(uint8_t *memory) override {
    context_scope scope(*gpu_, kNoThrow);
    if (!scope)
      return;
    driver_.stream_wait(stream_);
    driver_.host_free(memory);
  }

  // The driver's reference does not say that a copy or a fill may be of no bytes, as the states of a model without any are.
  void upload(uint8_t *to, const void *from, uint64_t bytes) override {
    if (bytes == 0)
      return;
    context_scope scope(*gpu_);
    check(driver_.copy_in(address_of(to), from, bytes, stream_), "copying to the GPU");
  }

  void download(void *to, const uint8_t *from, uint64_t bytes) override {
    if (bytes == 0)
      return;
    context_scope scope(*gpu_);
    check(driver_.copy_out(to, address_of(from), bytes, stream_), "copying from the GPU");
  }

  void clear(uint8_t *memory, uint64_t bytes) override {
    if (bytes == 0)
      return;
    context_scope scope(*gpu_);
    check(driver_.memory_set(address_of(memory), 0, bytes, stream_), "clearing memory of the GPU");
  }

  void launch(size_t function, uint32_t blocks, uint32_t threads, const void *parameters, size_t bytes) override {
    void *extra[] = {kParameterPointer, const_cast<void *>(parameters), kParameterSize, &bytes, kParameterEnd};
    context_scope scope(*gpu_);
    if (!graph_) {
      check(driver_.launch(program_->function(function), blocks, 1, 1, threads, 1, 1, 0, stream_, nullptr, extra), "starting a kernel");
      return;
    }
    kernel_node node = {program_->function(function), blocks, 1, 1, threads, 1, 1, 0, nullptr, extra};
    graph_node before = last_;
    bool overlaps = before && starts_early() && fits_beside(blocks);
    last_blocks_ = blocks;
    size_t waits = before && !overlaps ? 1 : 0;
    check(driver_.graph_add_kernel(&last_, graph_, waits ? &before : nullptr, waits, &node), "recording a kernel");
    if (overlaps)
      check(driver_.graph_add_edges(graph_, &before, &last_, &kEarlyStart, 1), "recording a kernel");
  }

  // A graph is made of its launches, each behind the one before. Captured from the stream it would be spoilt by what other threads of
  // the program ask of the GPU meanwhile, and they would be told of errors.
  bool begin_recording() override {
    context_scope scope(*gpu_);
    last_ = nullptr;
    return driver_.has_graphs() && driver_.graph_create(&graph_, 0) == 0;
  }

  // A driver that cannot make a graph of these launches is no error: they can be asked for one by one.
  std::unique_ptr<recording> end_recording() override {
    context_scope scope(*gpu_);
    graph made = std::exchange(graph_, nullptr);
    graph_exec exec = nullptr;
    bool is_made = driver_.graph_instantiate(&exec, made, 0) == 0;
    driver_.graph_destroy(made);
    return is_made ? std::make_unique<recorded_graph>(*this, exec) : nullptr;
  }

  void replay(const recording &recorded) override {
    context_scope scope(*gpu_);
    check(driver_.graph_launch(static_cast<const recorded_graph &>(recorded).exec, stream_), "starting a graph of kernels");
  }

  // Marks share events: one that has been recorded anew since is later than the mark, and waiting for it is enough.
  uint64_t mark() override {
    context_scope scope(*gpu_);
    ++marks_;
    check(driver_.event_record(events_[marks_ % kEvents], stream_), "marking a place in the GPU's work");
    return marks_;
  }

  void wait(uint64_t mark) override {
    if (mark <= passed_)
      return;
    context_scope scope(*gpu_);
    check(driver_.event_wait(events_[mark % kEvents]), "running the model on the GPU");
    passed_ = mark;
  }

private:
  static constexpr size_t kEvents = 8;

  struct recorded_graph final : recording {
    recorded_graph(cuda_device &d, graph_exec e) : owner(d), exec(e) {}
    ~recorded_graph() override {
      context_scope scope(*owner.gpu_, kNoThrow);
      if (!scope)
        return;
      owner.driver_.stream_wait(owner.stream_); // it may be under way
      owner.driver_.graph_exec_destroy(exec);
    }
    cuda_device &owner;
    graph_exec exec;
  };

  void close() {
    if (context_scope scope(*gpu_, kNoThrow); scope) {
      if (graph_)
        driver_.graph_destroy(graph_);
      if (stream_)
        driver_.stream_wait(stream_);
      for (event e : events_)
        if (e)
          driver_.event_destroy(e);
      if (stream_)
        driver_.stream_destroy(stream_);
    }
  }
  void check(result r, const char *what) const { cuda_check(driver_, r, what); }
  // Whether a recorded kernel starts before the one before it has ended: its code waits then.
  bool starts_early() const { return capability_ >= XF_PTX_MARKED_CAPABILITY && driver_.graph_add_edges; }
  // Whether so many blocks may start beside the launch before. If they are many they crowd where that has left room, while other
  // multiprocessors get none: measured on an H100, products with many rows took half as long again.
  bool fits_beside(uint32_t blocks) const {
    auto room = static_cast<uint32_t>(multiprocessors_);
    return blocks <= room / 4 * 3 && blocks + last_blocks_ <= room / 4 * 5;
  }

  const driver &driver_;
  int capability_ = 0; // 90 is 9.0
  int multiprocessors_ = 0;
  char name_[128] = "";
  std::shared_ptr<const primary_context> gpu_;
  stream stream_ = nullptr;
  event events_[kEvents] = {};
  uint64_t marks_ = 0, passed_ = 0;
  graph graph_ = nullptr; // that is being recorded, and its last kernel
  graph_node last_ = nullptr;
  uint32_t last_blocks_ = 0;
  std::shared_ptr<const cuda_program> program_;
};

} // namespace

std::unique_ptr<device> make_cuda(int capability) { return std::make_unique<cuda_device>(capability); }

} // namespace xf::rt
