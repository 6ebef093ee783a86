// Golden numbers: running what can run, and comparing.
#include "compiler/Import/Golden.h"

#include "compiler/Import/Error.h"
#include "compiler/Import/TensorFile.h"

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
    text += r.exact ? fmt::format("{} differ", r.mismatches) : fmt::format("max abs {:.3e}  norm-wise {:.3e}", r.maxError, r.relativeError);
    text += r.problem.empty() ? "  ok\n" : fmt::format("  FAILED: {}\n", r.problem);
  }
  for (const std::string &problem : problems)
    text += fmt::format("FAILED: {}\n", problem);
  return text;
}

static void compareFloats(GoldenResult &result, const std::vector<double> &got, const std::vector<double> &want, const GoldenOptions &options) {
  double difference = 0, norm = 0;
  int64_t firstNonFinite = -1; // where a value that is not finite differs
  for (size_t i = 0; i < want.size(); ++i) {
    double a = got[i], b = want[i];
    if (!std::isfinite(a) || !std::isfinite(b)) {
      bool same = std::isnan(a) ? std::isnan(b) : a == b;
      if (!same && firstNonFinite < 0)
        firstNonFinite = i;
      continue;
    }
    result.maxError = std::max(result.maxError, std::fabs(a - b));
    difference += (a - b) * (a - b);
    norm += b * b;
  }
  result.relativeError = difference == 0 ? 0 : std::sqrt(difference / norm);
  if (firstNonFinite >= 0)
    result.problem = fmt::format("element {} is {}, but {} is expected", firstNonFinite, got[firstNonFinite], want[firstNonFinite]);
  else if (!(result.relativeError <= options.rtol))
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
    std::vector<double> converted; // of one of them at most
    auto asFloats = [&](const Tensor &t) -> const std::vector<double> & {
      if (t.kind == Tensor::Kind::Float)
        return t.floats;
      converted.assign(t.ints.begin(), t.ints.end());
      return converted;
    };
    compareFloats(result, asFloats(got), asFloats(want), options);
    return result;
  }
  result.exact = true;
  for (size_t i = 0; i < want.ints.size(); ++i) {
    if (got.ints[i] == want.ints[i])
      continue;
    if (result.mismatches++ == 0)
      result.problem = fmt::format("element {} is {}, but {} is expected", i, got.ints[i], want.ints[i]);
  }
  return result;
}

namespace {
/// One comparison, and which of the file's tensors have been used.
struct Run {
  Engine &engine;
  const TensorMap &expected; // out.NAME
  TensorMap &given;        // without "in."
  const GoldenOptions &options;
  GoldenReport report;
  std::set<std::string> consumed, produced;

  void addResult(const std::string &entry, const std::string &name, Tensor tensor) {
    if (auto want = expected.find("out." + name); want != expected.end()) {
      GoldenResult result = compareTensors(name, tensor, want->second, options);
      result.entry = entry;
      report.tensors.push_back(std::move(result));
      produced.insert(want->first);
    }
    if (options.results)
      options.results->insert_or_assign(name, std::move(tensor));
  }

  /// To be called last: moves the given tensors to the engine.
  llvm::Error runGreedy(const Tensor &want) {
    if (want.shape.size() != 2 || want.size() == 0 || want.kind == Tensor::Kind::Float)
      return makeError("out.greedy must hold integers [rows, length], not shape {}", formatShape(want.shape));
    TensorMap inputs;
    for (const Engine::Entry &entry : engine.entries())
      for (const Engine::Port &port : entry.inputs)
        if (auto value = given.find(port.name); value != given.end() && !inputs.contains(port.name)) {
          auto input = convertInput(std::move(value->second), port);
          if (!input)
            return input.takeError();
          inputs.emplace(port.name, std::move(*input));
        }
    auto tokens = engine.greedy(inputs, want.shape[0], want.shape[1]);
    if (!tokens)
      return makeError("greedy search: {}", llvm::toString(tokens.takeError()));
    addResult("greedy", "greedy", std::move(*tokens));
    return llvm::Error::success();
  }
};
} // namespace

llvm::Expected<GoldenReport> xf::runGolden(Engine &engine, TensorMap file, const GoldenOptions &options) {
  TensorMap given;
  Run run{engine, file, given, options, {}, {}, {}};
  for (auto it = file.begin(); it != file.end();) {
    auto tensor = it++;
    llvm::StringRef name = tensor->first;
    if (name.starts_with("in.")) {
      auto node = file.extract(tensor);
      node.key().erase(0, 3);
      given.insert(std::move(node));
    } else if (!name.starts_with("out.")) {
      run.report.problems.push_back(fmt::format("tensor '{}' is neither in.NAME nor out.NAME", tensor->first));
    }
  }
  auto count = runEntries(engine, given, "", [&](const Engine::Entry &entry, const std::string &name, Tensor tensor) {
    for (const Engine::Port &port : entry.inputs)
      run.consumed.insert(port.name);
    run.addResult(entry.name, name, std::move(tensor));
  });
  if (!count)
    return count.takeError();
  if (auto want = file.find("out.greedy"); want != file.end() && !run.produced.contains("out.greedy"))
    if (llvm::Error error = run.runGreedy(want->second))
      return error;

  if (llvm::none_of(file, [](const auto &tensor) { return llvm::StringRef(tensor.first).starts_with("out."); }))
    run.report.problems.push_back("there is no out.NAME to compare with");
  for (const auto &[name, _] : given)
    if (!run.consumed.contains(name))
      run.report.problems.push_back(fmt::format("in.{} is not an input of any entry that could run", name));
  for (const auto &[name, _] : file)
    if (llvm::StringRef(name).starts_with("out.") && !run.produced.contains(name))
      run.report.problems.push_back(fmt::format("{} is not produced by any entry that could run", name));
  return std::move(run.report);
}

llvm::Expected<GoldenReport> xf::runGolden(Engine &engine, llvm::StringRef path, const GoldenOptions &options) {
  auto file = openTensorFile(path);
  if (!file)
    return file.takeError();
  TensorMap tensors;
  for (const TensorInfo &info : (*file)->getTensors()) {
    auto tensor = (*file)->read(info);
    if (!tensor)
      return tensor.takeError();
    tensors.emplace(info.name, std::move(*tensor));
  }
  return runGolden(engine, std::move(tensors), options);
}
