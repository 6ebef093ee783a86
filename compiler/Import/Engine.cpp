// Running a model's entries in the order that their inputs allow.
#include "compiler/Import/Engine.h"

#include "compiler/Import/Error.h"

#include "llvm/ADT/STLExtras.h"

using namespace xf;

llvm::Expected<Tensor> xf::convertInput(const Tensor &tensor, const Engine::Port &port) {
  int64_t lacking = port.rank - static_cast<int64_t>(tensor.shape.size());
  if (lacking < 0)
    return makeError("input '{}' has shape {}, but needs {} dimensions", port.name, formatShape(tensor.shape), port.rank);
  Tensor result = tensor;
  result.shape.insert(result.shape.begin(), lacking, 1);
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

/// Takes away up to `count` leading dimensions of size 1.
static void dropLeading(Tensor &tensor, int64_t count) {
  while (count-- > 0 && !tensor.shape.empty() && tensor.shape.front() == 1)
    tensor.shape.erase(tensor.shape.begin());
}

/// Runs one entry, whose inputs are all in `values`.
static llvm::Expected<TensorMap> runEntry(Engine &engine, const Engine::Entry &entry, const TensorMap &values) {
  TensorMap inputs;
  int64_t lacking = 0;
  for (const Engine::Port &port : entry.inputs) {
    const Tensor &value = values.find(port.name)->second;
    auto input = convertInput(value, port);
    if (!input)
      return makeError("entry '{}': {}", entry.name, llvm::toString(input.takeError()));
    lacking = std::max<int64_t>(lacking, port.rank - static_cast<int64_t>(value.shape.size()));
    inputs.emplace(port.name, std::move(*input));
  }
  auto results = engine.run(entry.name, inputs);
  if (results)
    for (auto &[name, tensor] : *results)
      dropLeading(tensor, lacking);
  return results;
}

llvm::Expected<int> xf::runEntries(Engine &engine, const TensorMap &given, llvm::StringRef only,
                                   llvm::function_ref<void(const Engine::Entry &, const std::string &, const Tensor &)> take) {
  TensorMap values = given;
  std::vector<Engine::Entry> entries = engine.entries();
  if (!only.empty()) {
    llvm::erase_if(entries, [&](const Engine::Entry &entry) { return entry.name != only; });
    if (entries.empty())
      return makeError("the model has no entry '{}'", only.str());
    for (const Engine::Port &port : entries.front().inputs)
      if (!given.contains(port.name))
        return makeError("the entry '{}' needs the input '{}'", only.str(), port.name);
  }
  int ran = 0;
  std::vector<bool> done(entries.size());
  // After each run the first entry in the model's order goes on, so that the order depends on the data alone.
  for (size_t i = 0; i < entries.size(); ++i) {
    bool ready = llvm::all_of(entries[i].inputs, [&](const Engine::Port &p) { return values.contains(p.name); });
    if (done[i] || !ready)
      continue;
    done[i] = true;
    auto results = runEntry(engine, entries[i], values);
    if (!results)
      return results.takeError();
    for (auto &[name, tensor] : *results) {
      take(entries[i], name, tensor);
      if (!given.contains(name))
        values.insert_or_assign(name, std::move(tensor));
    }
    ++ran;
    i = -1;
  }
  return ran;
}

std::string xf::lackingInputs(Engine &engine, const TensorMap &given) {
  std::string text;
  for (const Engine::Entry &entry : engine.entries())
    for (const Engine::Port &port : entry.inputs)
      if (!given.contains(port.name))
        text += (text.empty() ? "'" : ", '") + entry.name + "' needs '" + port.name + "'";
  return text;
}
