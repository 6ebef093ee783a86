#include "tools/xfc/Launches.h"

#include "compiler/Import/Error.h"
#include "runtime/core/error.h"
#include "runtime/device/executor.h"
#include "tools/xfc/Arguments.h"

namespace xf {
namespace {

struct TracedLaunch {
  size_t function;
  uint32_t blocks, threads;
};

struct TracedProgram : rt::device::program {
  explicit TracedProgram(uint8_t *weights) : at(weights) {}
  uint8_t *weights() const override { return at; }

  uint8_t *at;
};

/// A device that only traces launches. Its memory has addresses, but no contents.
class TracingDevice : public rt::device {
public:
  explicit TracingDevice(std::vector<TracedLaunch> &launches) : launches(launches) {}

  const char *name() const override { return "none"; }
  std::shared_ptr<program> load(std::string_view, const std::vector<std::string> &, uint64_t weightBytes) override {
    return std::make_shared<TracedProgram>(allocate(weightBytes));
  }
  bool shares_programs() const override { return false; }
  void use(std::shared_ptr<const program>) override {}
  uint8_t *allocate(uint64_t bytes) override {
    uint64_t begin = next;
    next += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return reinterpret_cast<uint8_t *>(begin);
  }
  void release(uint8_t *) override {}
  uint8_t *allocate_host(uint64_t bytes) override { return new uint8_t[bytes]; }
  void release_host(uint8_t *memory) override { delete[] memory; }
  void upload(uint8_t *, const void *, uint64_t) override {}
  void download(void *, const uint8_t *, uint64_t) override {}
  void clear(uint8_t *, uint64_t) override {}
  void launch(size_t function, uint32_t blocks, uint32_t threads, const void *, size_t) override { launches.push_back({function, blocks, threads}); }
  bool begin_recording() override { return false; }
  std::unique_ptr<recording> end_recording() override { return nullptr; }
  void replay(const recording &) override {}
  uint64_t mark() override { return 0; }
  void wait(uint64_t) override {}

private:
  static constexpr uint64_t kAlignment = 256;

  std::vector<TracedLaunch> &launches;
  uint64_t next = kAlignment;
};

/// What a function does: a stage of a kernel; for two kernels that are launched together, the second one's.
struct Work {
  size_t kernel, stage;
  bool withRow; // and the kernel before it
};

std::vector<Work> workOf(const rt::gpu_table &table) {
  std::vector<Work> work(table.functions.size());
  for (size_t kernel = 0; kernel < table.kernels.size(); ++kernel)
    for (size_t stage = 0; stage < table.kernels[kernel].stages.size(); ++stage)
      for (const rt::gpu_launch &launch : table.kernels[kernel].stages[stage])
        work[launch.function] = {kernel, stage, false};
  for (const rt::gpu_pair &pair : table.pairs)
    work[pair.launch.function] = {pair.product, 0, true};
  return work;
}

/// Adds a launch to those of a line: equal ones are counted.
void add(ExplainedLine &line, const TracedLaunch &launch) {
  for (ExplainedLine::Launch &existing : line.launches)
    if (existing.blocks == launch.blocks && existing.threads == launch.threads) {
      ++existing.times;
      return;
    }
  line.launches.push_back({1, launch.blocks, launch.threads});
}

/// Assigns launches, which are in the order of the calls, to lines; a call without any had nothing to do.
void assign(const std::vector<TracedLaunch> &launches, const std::vector<Work> &work, ExplainedEntry &explained) {
  const std::vector<unsigned> &order = explained.order;
  size_t call = 0, stages = 0; // stages: of the call, launched so far
  for (const TracedLaunch &launch : launches) {
    const Work &done = work[launch.function];
    if (stages > 0 && (done.stage < stages || done.withRow))
      ++call, stages = 0;
    while (call < order.size() && explained.lines[order[call]].kernel != done.kernel)
      ++call, stages = 0;
    if (call == order.size())
      rt::fail(rt::status::internal, "the plan of '%s' launches other kernels than its explanation lists", explained.name.c_str());
    add(explained.lines[order[call]], launch);
    if (done.withRow && call > 0)
      explained.lines[order[call - 1]].isLaunchedWithNext = true;
    stages = done.stage + 1;
  }
}

} // namespace

llvm::Error countLaunches(const std::string &modelFile, Explanation &explanation) {
  try {
    std::shared_ptr<const rt::model> model = rt::open_model(modelFile);
    std::vector<TracedLaunch> launches;
    rt::device_executor executor(model, std::make_unique<TracingDevice>(launches));
    std::vector<Work> work = workOf(model->gpu());
    for (ExplainedEntry &explained : explanation.entries) {
      const rt::entry_info &entry = entryOf(*model, explained);
      Arguments arguments(*model, entry, explained.sizes);
      launches.clear();
      executor.call(entry, arguments.dims.data(), arguments.pointers.data());
      assign(launches, work, explained);
    }
    return llvm::Error::success();
  } catch (const std::exception &problem) {
    return makeError("{}", problem.what());
  }
}

} // namespace xf
