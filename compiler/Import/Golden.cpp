// Golden numbers: running entries in the order that their inputs allow, and comparing.
#include "compiler/Import/Golden.h"

#include "compiler/Import/Error.h"
#include "compiler/Import/Safetensors.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <set>

using namespace xf;

bool GoldenReport::passed() const {
  return problems.empty() && llvm::all_of(tensors, [](const GoldenResult &r) { return r.problem.empty(); });
}

std::string GoldenReport::format() const {
  std::string text;
  for (const GoldenResult &r : tensors) {
    text += fmt::format("{:<24} {:<12} ", r.name, r.entry);
    text += r.exact ? fmt::format("{} differ", r.differing)
                    : fmt::format("max abs {:.3e}  norm-wise {:.3e}", r.largest, r.relative);
    text += r.problem.empty() ? "  ok\n" : fmt::format("  FAILED: {}\n", r.problem);
  }
  for (const std::string &problem : problems)
    text += fmt::format("FAILED: {}\n", problem);
  return text;
}

static void compareFloats(GoldenResult &result, const std::vector<double> &got, const std::vector<double> &want,
                          const GoldenOptions &options) {
  double difference = 0, norm = 0;
  int64_t odd = -1; // a value that is not finite on one side only
  for (size_t i = 0; i < want.size(); ++i) {
    double a = got[i], b = want[i];
    if (!std::isfinite(a) || !std::isfinite(b)) {
      bool same = std::isnan(a) ? std::isnan(b) : a == b;
      if (!same && odd < 0)
        odd = i;
      continue;
    }
    result.largest = std::max(result.largest, std::fabs(a - b));
    difference += (a - b) * (a - b);
    norm += b * b;
  }
  result.relative = difference == 0 ? 0 : std::sqrt(difference / norm);
  if (odd >= 0)
    result.problem = fmt::format("element {} is {}, but {} is expected", odd, got[odd], want[odd]);
  else if (!(result.relative <= options.rtol))
    result.problem = fmt::format("past the tolerance of {:g}", options.rtol);
}

GoldenResult xf::compareTensors(llvm::StringRef name, const Tensor &got, const Tensor &want, const GoldenOptions &options) {
  GoldenResult result;
  result.name = name.str();
  if (got.shape != want.shape) {
    result.problem = fmt::format("shape {}, but {} is expected", formatShape(got.shape), formatShape(want.shape));
    return result;
  }
  bool gotFloat = got.kind == Tensor::Kind::Float, wantFloat = want.kind == Tensor::Kind::Float;
  if (gotFloat || wantFloat) {
    auto asFloats = [](const Tensor &t) {
      return t.kind == Tensor::Kind::Float ? t.floats : std::vector<double>(t.ints.begin(), t.ints.end());
    };
    compareFloats(result, asFloats(got), asFloats(want), options);
    return result;
  }
  result.exact = true;
  for (size_t i = 0; i < want.ints.size(); ++i) {
    if (got.ints[i] == want.ints[i])
      continue;
    if (result.differing++ == 0)
      result.problem = fmt::format("element {} is {}, but {} is expected", i, got.ints[i], want.ints[i]);
  }
  return result;
}

llvm::Expected<Tensor> xf::convertInput(const Tensor &tensor, const Engine::Port &port) {
  if (static_cast<int64_t>(tensor.shape.size()) != port.rank)
    return makeError("input '{}' has shape {}, but needs {} dimensions", port.name, formatShape(tensor.shape), port.rank);
  Tensor result = tensor;
  if (tensor.kind == port.kind)
    return result;
  // Files have no one way to store booleans.
  if (port.kind == Tensor::Kind::Bool) {
    result.kind = port.kind;
    if (tensor.kind == Tensor::Kind::Float)
      result.ints.resize(tensor.floats.size());
    for (size_t i = 0; i < result.ints.size(); ++i)
      result.ints[i] = tensor.kind == Tensor::Kind::Float ? tensor.floats[i] != 0 : tensor.ints[i] != 0;
    result.floats.clear();
    return result;
  }
  const char *names[] = {"floats", "integers", "booleans"};
  return makeError("input '{}' holds {}, but needs {}", port.name, names[static_cast<int>(tensor.kind)],
                   names[static_cast<int>(port.kind)]);
}

namespace {
/// One comparison: the values at hand, and what of the file has been used.
struct Run {
  Engine &engine;
  const TensorMap &file;
  const GoldenOptions &options;
  GoldenReport report;
  TensorMap values; // by input name; the file's in. ones first
  std::set<std::string> given, consumed, produced;

  /// Takes a result: compares it, and keeps it for other entries.
  void take(const std::string &entry, const std::string &name, Tensor tensor) {
    if (auto want = file.find("out." + name); want != file.end()) {
      GoldenResult result = compareTensors(name, tensor, want->second, options);
      result.entry = entry;
      report.tensors.push_back(std::move(result));
      produced.insert(want->first);
    }
    if (!given.contains(name))
      values.insert_or_assign(name, std::move(tensor));
  }

  llvm::Error runEntry(const Engine::Entry &entry) {
    TensorMap inputs;
    for (const Engine::Port &port : entry.inputs) {
      auto input = convertInput(values.find(port.name)->second, port);
      if (!input)
        return makeError("entry '{}': {}", entry.name, llvm::toString(input.takeError()));
      inputs.emplace(port.name, std::move(*input));
      consumed.insert(port.name);
    }
    auto results = engine.run(entry.name, inputs);
    if (!results)
      return results.takeError();
    for (auto &[name, tensor] : *results)
      take(entry.name, name, std::move(tensor));
    return llvm::Error::success();
  }

  llvm::Error runGreedy(const Tensor &want, const std::vector<Engine::Entry> &entries) {
    if (want.shape.size() != 2 || want.kind == Tensor::Kind::Float)
      return makeError("out.greedy must hold integers [rows, length], not shape {}", formatShape(want.shape));
    TensorMap inputs;
    for (const Engine::Entry &entry : entries)
      for (const Engine::Port &port : entry.inputs)
        if (auto value = file.find("in." + port.name); value != file.end()) {
          auto input = convertInput(value->second, port);
          if (!input)
            return input.takeError();
          inputs.insert_or_assign(port.name, std::move(*input));
        }
    auto tokens = engine.greedy(inputs, want.shape[0], want.shape[1]);
    if (!tokens)
      return makeError("greedy search: {}", llvm::toString(tokens.takeError()));
    take("greedy", "greedy", std::move(*tokens));
    return llvm::Error::success();
  }
};
} // namespace

llvm::Expected<GoldenReport> xf::runGolden(Engine &engine, const TensorMap &file, const GoldenOptions &options) {
  Run run{engine, file, options, {}, {}, {}, {}, {}};
  for (const auto &[name, tensor] : file) {
    if (llvm::StringRef(name).starts_with("in.")) {
      run.values.emplace(name.substr(3), tensor);
      run.given.insert(name.substr(3));
    } else if (!llvm::StringRef(name).starts_with("out.")) {
      run.report.problems.push_back(fmt::format("tensor '{}' is neither in.NAME nor out.NAME", name));
    }
  }
  std::vector<Engine::Entry> entries = engine.entries();
  std::vector<bool> done(entries.size());
  // After each run the first entry in the model's order goes on, so that the order depends on the data alone.
  for (size_t i = 0; i < entries.size(); ++i) {
    bool ready = llvm::all_of(entries[i].inputs, [&](const Engine::Port &p) { return run.values.contains(p.name); });
    if (done[i] || !ready)
      continue;
    done[i] = true;
    if (llvm::Error error = run.runEntry(entries[i]))
      return error;
    i = -1;
  }
  if (auto want = file.find("out.greedy"); want != file.end() && !run.produced.contains("out.greedy"))
    if (llvm::Error error = run.runGreedy(want->second, entries))
      return error;

  for (const std::string &name : run.given)
    if (!run.consumed.contains(name))
      run.report.problems.push_back(fmt::format("in.{} is not an input of any entry that could run", name));
  for (const auto &[name, _] : file)
    if (llvm::StringRef(name).starts_with("out.") && !run.produced.contains(name))
      run.report.problems.push_back(fmt::format("{} is not produced by any entry that could run", name));
  return std::move(run.report);
}

llvm::Expected<GoldenReport> xf::runGolden(Engine &engine, llvm::StringRef path, const GoldenOptions &options) {
  auto file = SafetensorsFile::open(path);
  if (!file)
    return file.takeError();
  TensorMap tensors;
  for (const TensorInfo &info : (*file)->getTensors())
    tensors.emplace(info.name, (*file)->read(info));
  return runGolden(engine, tensors, options);
}
