// Running a model's entries in the order that their inputs allow.
#include "compiler/Import/Engine.h"

#include "compiler/Import/Error.h"

#include "llvm/ADT/STLExtras.h"

using namespace xf;

llvm::Expected<Tensor> xf::convertInput(Tensor tensor, const Engine::Port &port) {
  int64_t missing = port.rank - static_cast<int64_t>(tensor.shape.size());
  if (missing < 0)
    return makeError("input '{}' has shape {}, but needs {} dimensions", port.name, formatShape(tensor.shape), port.rank);
  tensor.shape.insert(tensor.shape.begin(), missing, 1);
  if (tensor.kind == port.kind)
    return tensor;
  // There is no single way in which files store booleans.
  if (port.kind == Tensor::Kind::Bool) {
    if (tensor.kind == Tensor::Kind::Float)
      tensor.ints.assign(tensor.floats.size(), 0);
    for (size_t i = 0; i < tensor.ints.size(); ++i)
      tensor.ints[i] = tensor.kind == Tensor::Kind::Float ? tensor.floats[i] != 0 : tensor.ints[i] != 0;
    tensor.kind = port.kind;
    tensor.floats.clear();
    return tensor;
  }
  const char *names[] = {"floats", "integers", "booleans"};
  return makeError("input '{}' holds {}, but needs {}", port.name, names[static_cast<int>(tensor.kind)], names[static_cast<int>(port.kind)]);
}

/// Takes away up to `count` leading dimensions of size 1.
static void dropLeading(Tensor &tensor, int64_t count) {
  while (count-- > 0 && !tensor.shape.empty() && tensor.shape.front() == 1)
    tensor.shape.erase(tensor.shape.begin());
}

/// Runs one entry on the tensors that `find` returns for its inputs.
static llvm::Expected<TensorMap> runEntry(Engine &engine, const Engine::Entry &entry, llvm::function_ref<Tensor *(const std::string &)> find) {
  TensorMap inputs;
  std::vector<std::pair<const std::string *, int64_t>> lent; // names and ranks
  int64_t missing = 0;
  for (const Engine::Port &port : entry.inputs) {
    Tensor &value = *find(port.name);
    int64_t rank = value.shape.size();
    bool isCopy = value.kind != port.kind;
    auto input = convertInput(isCopy ? Tensor(value) : std::move(value), port);
    if (!input)
      return makeError("entry '{}': {}", entry.name, llvm::toString(input.takeError()));
    missing = std::max(missing, port.rank - rank);
    inputs.emplace(port.name, std::move(*input));
    if (!isCopy)
      lent.emplace_back(&port.name, rank);
  }
  auto results = engine.run(entry.name, inputs);
  for (auto [name, rank] : lent) {
    Tensor &value = *find(*name);
    value = std::move(inputs.find(*name)->second);
    value.shape.erase(value.shape.begin(), value.shape.end() - rank);
  }
  if (results)
    for (auto &[name, tensor] : *results)
      dropLeading(tensor, missing);
  return results;
}

llvm::Expected<int> xf::runEntries(Engine &engine, TensorMap &given, llvm::StringRef only,
                                   llvm::function_ref<void(const Engine::Entry &, const std::string &, Tensor)> onResult) {
  TensorMap intermediates; // results that are inputs of further entries
  auto find = [&](const std::string &name) -> Tensor * {
    for (TensorMap *values : {&given, &intermediates})
      if (auto value = values->find(name); value != values->end())
        return &value->second;
    return nullptr;
  };
  std::vector<Engine::Entry> entries = engine.entries();
  if (!only.empty()) {
    llvm::erase_if(entries, [&](const Engine::Entry &entry) { return entry.name != only; });
    if (entries.empty())
      return makeError("the model has no entry '{}'", only.str());
    for (const Engine::Port &port : entries.front().inputs)
      if (!given.contains(port.name))
        return makeError("the entry '{}' needs the input '{}'", only.str(), port.name);
  }
  int count = 0;
  std::vector<bool> done(entries.size());
  auto isNeeded = [&](const std::string &name) {
    return llvm::any_of(llvm::enumerate(entries), [&](const auto &entry) {
      return !done[entry.index()] && llvm::any_of(entry.value().inputs, [&](const Engine::Port &port) { return port.name == name; });
    });
  };
  // After each run, starts again at the model's first entry, so that the order depends on the data alone.
  for (size_t i = 0; i < entries.size(); ++i) {
    bool ready = llvm::all_of(entries[i].inputs, [&](const Engine::Port &p) { return find(p.name); });
    if (done[i] || !ready)
      continue;
    done[i] = true;
    auto results = runEntry(engine, entries[i], find);
    if (!results)
      return results.takeError();
    for (auto &[name, tensor] : *results) {
      if (!given.contains(name) && isNeeded(name))
        intermediates.insert_or_assign(name, tensor);
      onResult(entries[i], name, std::move(tensor));
    }
    ++count;
    i = -1;
  }
  return count;
}

std::string xf::missingInputs(Engine &engine, const TensorMap &given) {
  std::string text;
  for (const Engine::Entry &entry : engine.entries())
    for (const Engine::Port &port : entry.inputs)
      if (!given.contains(port.name))
        text += (text.empty() ? "'" : ", '") + entry.name + "' needs '" + port.name + "'";
  return text;
}
