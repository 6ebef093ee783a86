// What a program is compiled for, and the memory that it takes at most: what the states and the workspace are made of, so that one sees which
// limit to lower.
#include "runtime/core/states.h"
#include "runtime/runner/format.h"
#include "runtime/runner/line_reader.h"
#include "runtime/runner/options.h"
#include "runtime/text/line_memory.h"

#include <map>
#include <string>

namespace xf::rt {

namespace {

constexpr size_t kNameWidth = 31; // of the columns before a line's notes

// "source", "target" or the dimension's own name, and what it is rounded up to.
std::string name_of(const model &m, int64_t dim, int64_t multiple) {
  const xf_abi_generate &g = m.header().generate;
  std::string name = dim == g.source_dim ? "source" : dim == g.target_dim ? "target" : m.dims()[static_cast<size_t>(dim)].name;
  return multiple > 1 ? name + " (in " + std::to_string(multiple) + "s)" : name;
}

// The states' bytes as a sum of products of limits: "6144 x batch x beam x target + ...".
std::string polynomial(const model &m) {
  std::map<std::string, uint64_t> terms; // by their dimensions
  for (const xf_abi_state &state : m.states()) {
    std::string dims = state.per_sentence ? " x batch" : " x batch x beam";
    uint64_t bytes = state.layers * xf_abi_dtype_bytes(state.dtype);
    for (uint32_t axis = 0; axis < state.rank; ++axis)
      if (state.size[axis] < 0)
        dims += " x " + name_of(m, -(state.size[axis] + 1), state.multiple[axis]);
      else
        bytes *= xf_abi_state_size(&state, axis, nullptr);
    terms[dims] += bytes;
  }
  std::string text;
  for (const auto &[dims, bytes] : terms)
    text += (text.empty() ? "" : " + ") + std::to_string(bytes) + dims;
  return text;
}

double mebibytes(uint64_t bytes) { return static_cast<double>(bytes) / 1048576.0; }

} // namespace

std::string limits_text(const model &m, int threads) {
  std::string text;
  append(text, "model %s\n\nlargest sizes\n", m.name().c_str());
  for (const dim_info &dim : m.dims())
    append(text, "  %-12s %12lld\n", dim.name.c_str(), static_cast<long long>(dim.max));
  const xf_abi_generate &g = m.header().generate;
  if (g.present) {
    append(text, "\nsearch\n  %-12s %12lld\n  %-12s %12lld\n", "batch", static_cast<long long>(g.batch), "beam", static_cast<long long>(g.beam));
    append(text, "  %-12s %12lld\n  %-12s %12lld\n", "source", static_cast<long long>(g.source), "target", static_cast<long long>(g.target));
  }
  memory_bound memory = memory_of(m);
  auto row = [&](const char *what, uint64_t bytes, const std::string &note = "") {
    append(text, "  %-12s %12.2f MiB", what, mebibytes(bytes));
    text += (note.empty() ? "" : "  " + note) + "\n";
  };
  auto shares = [threads](uint64_t bytes) { return std::to_string(threads) + " x " + std::to_string(bytes) + " bytes"; };
  append(text, "\nmemory at most, with %d thread%s\n", threads, threads == 1 ? "" : "s");
  row("weights", memory.weights, "mapped read-only, shared by processes");
  row("state", memory.state, m.states().empty() ? "" : polynomial(m) + " bytes");
  row("workspace", memory.workspaces(threads),
      (memory.by_thread ? shares(memory.workspace) + ", whole pages for" : "whole pages for") + " the largest of");
  for (const entry_info &entry : m.entries())
    text += "  " + std::string(kNameWidth, ' ') + std::to_string(entry.workspace_bytes) + " of " + entry.name + "\n";
  row("scratch", memory.scratch * static_cast<uint64_t>(threads), shares(memory.scratch));
  row("search", memory.search);
  int64_t count = g.batch * kWindowBatches;
  uint64_t lines = bytes_of_lines(m, count, kMaxReadBytes + kMaxLineBytes, kMaxLineBytes);
  row("lines", lines, "up to " + std::to_string(count) + " at a time, their tokens and results, and vocabularies");
  row("total", memory.total(threads) + lines);
  return text;
}

} // namespace xf::rt
