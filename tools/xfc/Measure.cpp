#include "tools/xfc/Measure.h"

#include "compiler/Import/Error.h"
#include "runtime/core/cpu.h"
#include "runtime/core/error.h"
#include "runtime/core/session.h"

#include "llvm/TargetParser/Host.h"

#include <chrono>
#include <cstring>

namespace xf {
namespace {

using Clock = std::chrono::steady_clock;

/// What stands in front of the kernels that plans call: it notes how long each call takes. One session at a time.
class Stopwatch {
public:
  struct Lap {
    int64_t kernel;
    double nanoseconds;
  };

  explicit Stopwatch(std::span<const void *> table) : kernels(table.begin(), table.end()) {
    running = this;
    std::fill(table.begin(), table.end(), reinterpret_cast<const void *>(&call));
  }

  // Before a plan that calls so many kernels.
  void begin(size_t calls) {
    laps.clear();
    laps.reserve(calls);
    this->calls = 0;
  }

  std::vector<Lap> laps;
  size_t calls = 0;

private:
  static void call(const xf_abi_context *context, const xf_abi_view *views, int64_t kernel) {
    auto begin = Clock::now();
    reinterpret_cast<xf_abi_kernel_fn>(const_cast<void *>(running->kernels[static_cast<size_t>(kernel)]))(context, views, kernel);
    double time = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
    ++running->calls;
    if (running->laps.size() < running->laps.capacity()) // nothing may be thrown through a plan
      running->laps.push_back({kernel, time});
  }

  std::vector<const void *> kernels;
  static inline Stopwatch *running;
};

/// An entry's arguments, with contents that every model takes.
class Arguments {
public:
  Arguments(const rt::model &model, const rt::entry_info &entry, const Sizes &sizes) : model(model), sizes(sizes) {
    for (const rt::dim_info &dim : model.dims())
      dims.push_back(std::max<int64_t>(1, sizes.lookup(dim.name)));
    for (const rt::tensor_info &tensor : entry.inputs)
      fill(tensor);
    for (const rt::tensor_info &tensor : entry.outputs)
      add(tensor);
    for (std::vector<uint64_t> &tensor : tensors)
      pointers.push_back(tensor.data());
  }

  std::vector<int64_t> dims;
  std::vector<void *> pointers;

private:
  std::vector<uint64_t> &add(const rt::tensor_info &tensor) { return tensors.emplace_back(model.bytes(tensor, dims.data()) / 8 + 16); }

  void fill(const rt::tensor_info &tensor) {
    std::vector<uint64_t> &words = add(tensor);
    uint64_t count = model.bytes(tensor, dims.data()) / tensor.element_bytes();
    auto *integers = reinterpret_cast<int32_t *>(words.data());
    auto *numbers = reinterpret_cast<float *>(words.data());
    const xf_abi_generate &search = model.header().generate;
    // The step's last position is the target's last one.
    int64_t past = search.present && search.target_dim >= 0 ? dims[search.target_dim] - dims[search.new_dim] : 0;
    // Small tokens are special as a rule, and one of them may be padding.
    int64_t bound = tensor.bound > 0 ? tensor.bound : 100, least = bound > 8 ? 4 : 0;
    for (uint64_t i = 0; i < count; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      uint64_t bits = random >> 33;
      if (tensor.dtype == XF_ABI_I1)
        reinterpret_cast<uint8_t *>(words.data())[i] = 1;
      else if (tensor.dtype == XF_ABI_F32)
        numbers[i] = static_cast<float>(bits) * 0x1p-30f - 1.0f;
      else if (tensor.name == "xf.past")
        integers[i] = static_cast<int32_t>(std::max<int64_t>(past, 0));
      else if (tensor.name == "xf.slots")
        integers[i] = static_cast<int32_t>(i);
      else if (tensor.name == "xf.classes" || tensor.name == "xf.options")
        integers[i] = tensor.name == "xf.classes" || i == 0; // a greedy search without scores
      else if (tensor.name != "xf.forbidden")
        integers[i] = static_cast<int32_t>(least + static_cast<int64_t>(bits) % (bound - least));
    }
  }

  const rt::model &model;
  const Sizes &sizes;
  std::vector<std::vector<uint64_t>> tensors;
  uint64_t random = 1;
};

double median(std::vector<double> &values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Smaller inputs than an entry needs are read beyond their ends.
void checkSizes(const rt::model &model, const rt::entry_info &entry, const Sizes &sizes) {
  for (const rt::tensor_info &tensor : entry.inputs)
    for (size_t axis = 0; axis < tensor.dim.size(); ++axis)
      if (int dim = tensor.dimension(axis); dim >= 0)
        if (const std::string &name = model.dims()[dim].name; sizes.lookup(name) < tensor.least[axis])
          rt::fail(rt::status::invalid_argument, "entry '%s' needs at least %lld of dimension %s (--at %s=N)", entry.name.c_str(),
                   static_cast<long long>(tensor.least[axis]), name.c_str(), name.c_str());
}

void measureEntry(rt::session &session, Stopwatch &watch, const rt::entry_info &entry, ExplainedEntry &explained) {
  constexpr auto kEnough = std::chrono::milliseconds(250);
  constexpr size_t kLeast = 7, kMost = 300;
  Arguments arguments(session.get_model(), entry, explained.sizes);
  std::vector<std::vector<double>> times(explained.order.size());
  auto begin = Clock::now();
  for (size_t run = 0; run < kLeast || (run < kMost && Clock::now() - begin < kEnough); ++run) {
    watch.begin(explained.order.size());
    session.call(entry, arguments.dims.data(), arguments.pointers.data());
    bool asExplained = watch.calls == explained.order.size();
    for (size_t i = 0; asExplained && i < times.size(); ++i)
      asExplained = watch.laps[i].kernel == explained.lines[explained.order[i]].kernel;
    if (!asExplained)
      rt::fail(rt::status::internal, "the plan of '%s' calls other kernels than its explanation lists", entry.name.c_str());
    for (size_t i = 0; run >= 2 && i < times.size(); ++i) // memory is not warm at first
      times[i].push_back(watch.laps[i].nanoseconds);
  }
  for (size_t i = 0; i < times.size(); ++i) {
    double time = median(times[i]);
    explained.lines[explained.order[i]].nanoseconds += time;
    explained.nanoseconds += time;
  }
}

/// Rows and sentences as many as there are, and states that lie as a search of these sizes lays them out.
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

llvm::Expected<std::string> measure(const std::string &modelFile, Explanation &explanation) {
  try {
    rt::session session(rt::open_model(modelFile), {.threads = 1, .device = rt::device_kind::cpu});
    Stopwatch watch(session.kernels());
    for (ExplainedEntry &explained : explanation.entries) {
      makeRoom(session, explained.sizes);
      int number = session.get_model().find_entry(explained.name);
      if (number < 0)
        rt::fail(rt::status::internal, "the file has no entry '%s'", explained.name.c_str());
      checkSizes(session.get_model(), session.get_model().entries()[number], explained.sizes);
      measureEntry(session, watch, session.get_model().entries()[number], explained);
    }
    return (llvm::sys::getHostCPUName() + ", " + rt::isa_name(session.isa()) + ", 1 thread").str();
  } catch (const std::exception &problem) {
    return makeError("{}", problem.what());
  }
}

} // namespace xf
