// Checks that every register has a value where it is read, on each path there. On a GPU one without a value holds what another
// kernel has left, and here what the emulator happens to have put there.
#include "runtime/core/error.h"
#include "runtime/device/emulator/decode.h"

#include <algorithm>
#include <set>

namespace xf::rt::emulator {

namespace {

// Which registers have a value, by their rows.
using registers = std::vector<bool>;

bool reads_targets(const instruction &i) { return i.op == op::store_global || i.op == op::store_shared || i.op == op::start_copy; }

template <typename F> void for_reads(const instruction &i, F f) {
  f(i.guard);
  std::for_each(std::begin(i.source), std::end(i.source), f);
  if (reads_targets(i))
    std::for_each(std::begin(i.target), std::end(i.target), f);
}

// A write with a guard counts as a write: the reads may have the same guard.
void add_writes(const instruction &i, registers &defined) {
  if (!reads_targets(i))
    for (int32_t row : i.target)
      if (row >= 0)
        defined[static_cast<size_t>(row)] = true;
}

bool ends_block(const instruction &i) { return i.op == op::branch || i.op == op::exit; }

} // namespace

void decoder::check_registers() const {
  const std::vector<instruction> &code = result_.code;
  registers first(static_cast<size_t>(result_.rows));
  for (const constant &c : result_.constants)
    first[static_cast<size_t>(c.row)] = true;
  for (int32_t row : {result_.thread_row, result_.block_row, result_.threads_row, result_.blocks_row, result_.lane_row})
    if (row >= 0)
      first[static_cast<size_t>(row)] = true;

  // For each basic block that can be reached, which registers have a value at its beginning: fewer and fewer, as paths to it are found.
  std::set<size_t> begins{0};
  for (size_t n = 0; n < code.size(); ++n) {
    if (code[n].op == op::branch)
      begins.insert(static_cast<size_t>(code[n].immediate));
    if (ends_block(code[n]))
      begins.insert(n + 1);
  }
  std::map<size_t, registers> defined{{0, first}};
  std::set<size_t> worklist{0};
  auto reach = [&](size_t begin, const registers &with) {
    auto [found, is_new] = defined.try_emplace(begin, with);
    bool changes = is_new;
    for (size_t row = 0; row < with.size(); ++row)
      if (found->second[row] && !with[row])
        found->second[row] = false, changes = true;
    if (changes)
      worklist.insert(begin);
  };
  auto end_of = [&](size_t begin) {
    auto next = begins.upper_bound(begin);
    return next == begins.end() ? code.size() : std::min(*next, code.size());
  };
  while (!worklist.empty()) {
    size_t begin = *worklist.begin(), end = end_of(begin);
    worklist.erase(worklist.begin());
    registers now = defined[begin];
    for (size_t n = begin; n < end; ++n)
      add_writes(code[n], now);
    const instruction &last = code[end - 1];
    if (last.op == op::branch)
      reach(static_cast<size_t>(last.immediate), now);
    if (end < code.size() && (!ends_block(last) || last.guard >= 0))
      reach(end, now);
  }

  for (auto &[begin, now] : defined)
    for (size_t n = begin; n < end_of(begin); ++n) {
      for_reads(code[n], [&, &now = now](int32_t row) {
        if (row < 0 || now[static_cast<size_t>(row)])
          return;
        auto name = std::find_if(registers_.begin(), registers_.end(), [&](const auto &entry) { return entry.second == row; });
        fail(status::unsupported, "kernel %s, PTX line %d: %s may be read before it is written", result_.name.c_str(), code[n].line,
             name->first.c_str());
      });
      add_writes(code[n], now);
    }
}

} // namespace xf::rt::emulator
