#include "tools/xfc/Measure.h"

#include "compiler/Import/Error.h"
#include "runtime/core/cpu.h"
#include "runtime/core/error.h"
#include "runtime/core/session.h"
#include "tools/xfc/Arguments.h"

#include "llvm/TargetParser/Host.h"

#include <chrono>

namespace xf {
namespace {

using Clock = std::chrono::steady_clock;

/// Takes the place of the kernels that plans call: calls them, and notes how long each call takes. One session at a time.
class KernelProfiler {
public:
  struct Sample {
    int64_t kernel;
    double nanoseconds;
  };

  explicit KernelProfiler(std::span<const void *> table) : kernels(table.begin(), table.end()) {
    running = this;
    std::fill(table.begin(), table.end(), reinterpret_cast<const void *>(&call));
  }

  // To be called before a plan that calls `calls` kernels.
  void begin(size_t calls) {
    samples.clear();
    samples.reserve(calls);
    this->calls = 0;
  }

  std::vector<Sample> samples;
  size_t calls = 0;

private:
  static void call(const xf_abi_context *context, const xf_abi_view *views, int64_t kernel) {
    auto begin = Clock::now();
    reinterpret_cast<xf_abi_kernel_fn>(const_cast<void *>(running->kernels[static_cast<size_t>(kernel)]))(context, views, kernel);
    double time = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
    ++running->calls;
    if (running->samples.size() < running->samples.capacity()) // nothing may be thrown through a plan
      running->samples.push_back({kernel, time});
  }

  std::vector<const void *> kernels;
  static inline KernelProfiler *running;
};

double median(std::vector<double> &values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void measureEntry(rt::session &session, KernelProfiler &profiler, const rt::entry_info &entry, ExplainedEntry &explained) {
  constexpr auto kTimeBudget = std::chrono::milliseconds(250);
  constexpr size_t kMinRuns = 7, kMaxRuns = 300;
  Arguments arguments(session.get_model(), entry, explained.sizes);
  std::vector<std::vector<double>> times(explained.order.size());
  auto begin = Clock::now();
  for (size_t run = 0; run < kMinRuns || (run < kMaxRuns && Clock::now() - begin < kTimeBudget); ++run) {
    profiler.begin(explained.order.size());
    session.call(entry, arguments.dims.data(), arguments.pointers.data());
    bool asExplained = profiler.calls == explained.order.size();
    for (size_t i = 0; asExplained && i < times.size(); ++i)
      asExplained = profiler.samples[i].kernel == explained.lines[explained.order[i]].kernel;
    if (!asExplained)
      rt::fail(rt::status::internal, "the plan of '%s' calls other kernels than its explanation lists", entry.name.c_str());
    for (size_t i = 0; run >= 2 && i < times.size(); ++i) // memory is not warm at first
      times[i].push_back(profiler.samples[i].nanoseconds);
  }
  for (size_t i = 0; i < times.size(); ++i) {
    double time = median(times[i]);
    explained.lines[explained.order[i]].nanoseconds += time;
    explained.nanoseconds += time;
  }
}

/// Makes room for as many rows and sentences as there are, with states as a search of these sizes lays them out.
void makeRoom(rt::session &session, const Sizes &sizes) {
  const rt::model &model = session.get_model();
  if (!model.header().generate.present)
    return;
  rt::state_room room = rt::largest_room(model);
  room.rows = room.sentences = sizes.lookup(model.dims()[model.header().generate.batch_dim].name);
  for (size_t dim = 0; dim < room.capacities.size(); ++dim)
    if (int64_t size = sizes.lookup(model.dims()[dim].name))
      room.capacities[dim] = size;
  session.make_room(room);
}

} // namespace

llvm::Expected<codegen::Isa> measuredIsa(llvm::ArrayRef<codegen::Isa> isas) {
  try {
    std::vector<int> available(isas.size());
    llvm::transform(isas, available.begin(), [](codegen::Isa isa) { return static_cast<int>(isa); });
    return isas[rt::choose_isa(available, rt::detect_isa(), /*requested=*/-1)];
  } catch (const std::exception &problem) {
    return makeError("{}", problem.what());
  }
}

llvm::Expected<std::string> measure(const std::string &modelFile, Explanation &explanation) {
  try {
    rt::session_options options;
    options.threads = 1;
    options.device = rt::device_kind::cpu;
    rt::session session(rt::open_model(modelFile), options);
    KernelProfiler profiler(session.kernels());
    for (ExplainedEntry &explained : explanation.entries) {
      makeRoom(session, explained.sizes);
      measureEntry(session, profiler, entryOf(session.get_model(), explained), explained);
    }
    return (llvm::sys::getHostCPUName() + ", " + rt::isa_name(session.isa()) + ", 1 thread").str();
  } catch (const std::exception &problem) {
    return makeError("{}", problem.what());
  }
}

} // namespace xf
