#include "tools/xf-run/CompiledEngine.h"

#include "compiler/Import/Error.h"

#include <algorithm>
#include <deque>

namespace xf {
namespace {

llvm::Error lastError() { return makeError("{}", xf_message()); }

Tensor::Kind kindOf(int32_t dtype) { return dtype == XF_F32 ? Tensor::Kind::Float : dtype == XF_I32 ? Tensor::Kind::Int : Tensor::Kind::Bool; }

/// Tensors in the C API's form, with the memory behind them.
class Tensors {
public:
  llvm::Error addInput(const xf_tensor_info &info, const Tensor &value) {
    xf_tensor t{};
    t.name = info.name;
    t.dtype = info.dtype;
    if (value.shape.size() > XF_MAX_RANK)
      return makeError("'{}' has {} dimensions", info.name, value.shape.size());
    t.rank = value.shape.size();
    std::copy(value.shape.begin(), value.shape.end(), t.shape);
    auto &bytes = allocate(t);
    for (int64_t i = 0, n = value.size(); i < n; ++i) {
      if (info.dtype == XF_F32) {
        reinterpret_cast<float *>(bytes.data())[i] = value.floats[i];
        continue;
      }
      int64_t integer = value.ints[i];
      if (info.dtype == XF_I1)
        bytes[i] = integer != 0;
      else if (integer != int32_t(integer))
        return makeError("'{}' has the value {}, which is no 32-bit integer", info.name, integer);
      else
        reinterpret_cast<int32_t *>(bytes.data())[i] = integer;
    }
    t.data = bytes.data();
    list.push_back(t);
    return llvm::Error::success();
  }

  void allocateOutputs(std::vector<xf_tensor> outputs) {
    for (xf_tensor &t : outputs)
      t.data = allocate(t).data();
    list = std::move(outputs);
  }

  static Tensor toTensor(const xf_tensor &t) {
    Tensor value;
    value.kind = kindOf(t.dtype);
    value.shape.assign(t.shape, t.shape + t.rank);
    if (t.dtype == XF_F32)
      value.floats.reserve(value.size());
    else
      value.ints.reserve(value.size());
    for (int64_t i = 0, n = value.size(); i < n; ++i) {
      if (t.dtype == XF_F32)
        value.floats.push_back(static_cast<float *>(t.data)[i]);
      else
        value.ints.push_back(t.dtype == XF_I32 ? static_cast<int32_t *>(t.data)[i] : static_cast<uint8_t *>(t.data)[i]);
    }
    return value;
  }

  std::vector<xf_tensor> list;

private:
  std::vector<uint8_t> &allocate(const xf_tensor &t) {
    size_t count = 1;
    for (int32_t d = 0; d < t.rank; ++d)
      count *= t.shape[d];
    return memory.emplace_back(std::max<size_t>(count, 1) * (t.dtype == XF_I1 ? 1 : 4));
  }
  std::deque<std::vector<uint8_t>> memory;
};

} // namespace

llvm::Expected<std::unique_ptr<CompiledEngine>> CompiledEngine::open(llvm::StringRef path, int threads, int isa, int device) {
  std::unique_ptr<CompiledEngine> engine(new CompiledEngine);
  xf_session_options options;
  xf_session_options_init(&options, sizeof(options));
  options.threads = threads;
  options.isa = isa;
  options.device = device;
  if (xf_open(path.str().c_str(), &engine->model) != XF_OK || xf_session_create(engine->model, &options, &engine->session) != XF_OK)
    return lastError();
  return engine;
}

CompiledEngine::~CompiledEngine() {
  xf_session_free(session);
  xf_model_free(model);
}

int CompiledEngine::findEntry(llvm::StringRef name) const {
  for (int e = 0; e < xf_entry_count(model); ++e)
    if (name == xf_entry_name(model, e))
      return e;
  return -1;
}

std::vector<Engine::Entry> CompiledEngine::entries() {
  std::vector<Entry> list;
  for (int e = 0; e < xf_entry_count(model); ++e) {
    Entry &entry = list.emplace_back();
    entry.name = xf_entry_name(model, e);
    xf_tensor_info info;
    for (int i = 0; i < xf_input_count(model, e); ++i)
      if (xf_input_info(model, e, i, &info) == XF_OK)
        entry.inputs.push_back({info.name, kindOf(info.dtype), info.rank});
    for (int i = 0; i < xf_output_count(model, e); ++i)
      if (xf_output_info(model, e, i, &info) == XF_OK)
        entry.outputs.push_back({info.name, kindOf(info.dtype), info.rank});
  }
  return list;
}

llvm::Expected<TensorMap> CompiledEngine::run(llvm::StringRef name, const TensorMap &values) {
  int e = findEntry(name);
  if (e < 0)
    return makeError("the model has no entry '{}'", name.str());
  Tensors inputs, outputs;
  xf_tensor_info info;
  for (int i = 0; i < xf_input_count(model, e); ++i) {
    if (xf_input_info(model, e, i, &info) != XF_OK)
      return lastError();
    auto found = values.find(std::string_view(info.name));
    if (found == values.end())
      return makeError("entry '{}' needs the input '{}'", name.str(), info.name);
    if (auto error = inputs.addInput(info, found->second))
      return error;
  }
  std::vector<xf_tensor> shapes(xf_output_count(model, e));
  std::string entry = name.str();
  if (xf_output_shapes(session, entry.c_str(), inputs.list.data(), inputs.list.size(), shapes.data(), shapes.size()) != XF_OK)
    return lastError();
  outputs.allocateOutputs(std::move(shapes));
  if (xf_run(session, entry.c_str(), inputs.list.data(), inputs.list.size(), outputs.list.data(), outputs.list.size()) != XF_OK)
    return lastError();
  TensorMap results;
  for (const xf_tensor &t : outputs.list)
    results[t.name] = Tensors::toTensor(t);
  return results;
}

llvm::Expected<Tensor> CompiledEngine::greedy(const TensorMap &values, int64_t rows, int64_t length) {
  xf_search_info search;
  search.size = sizeof(search);
  if (xf_get_search_info(model, &search) != XF_OK)
    return lastError();
  if (!search.generates)
    return makeError("the model does not generate");
  int64_t steps = length - 1;
  xf_generate_options options;
  xf_generate_options_init(&options, sizeof(options));
  options.min_length = 0;
  options.max_length = steps;
  if (steps == 0)
    return Tensor::ofInts({rows, length}, std::vector<int64_t>(rows, search.start));
  // The source says how many sentences there are: no more than its largest dimension.
  constexpr int32_t none = -2;
  int64_t maxRows = rows;
  for (const auto &[name, tensor] : values)
    for (int64_t size : tensor.shape)
      maxRows = std::max(maxRows, size);
  std::vector<int32_t> tokens(maxRows * steps), lengths(maxRows, none);
  xf_hypotheses results{};
  results.size = sizeof(results);
  results.tokens = tokens.data();
  results.capacity = steps;
  results.lengths = lengths.data();
  xf_status status;
  if (search.source_inputs == 0) {
    std::vector<int32_t> ids(rows, search.start);
    std::vector<int64_t> offsets(rows + 1);
    for (int64_t r = 0; r <= rows; ++r)
      offsets[r] = r;
    status = xf_generate(session, ids.data(), offsets.data(), rows, &options, &results);
  } else {
    Tensors inputs;
    for (int i = 0; i < search.source_inputs; ++i) {
      xf_tensor_info info;
      if (xf_source_info(model, i, &info) != XF_OK)
        return lastError();
      auto found = values.find(std::string_view(info.name));
      if (found == values.end())
        return makeError("the search needs the input '{}'", info.name);
      if (auto error = inputs.addInput(info, found->second))
        return error;
    }
    status = xf_generate_from(session, inputs.list.data(), inputs.list.size(), &options, &results);
  }
  if (status != XF_OK)
    return lastError();
  if (int64_t found = maxRows - std::count(lengths.begin(), lengths.end(), none); found != rows)
    return makeError("out.greedy has {} rows, but there are {} sentences", rows, found);
  std::vector<int64_t> out(rows * length, search.pad >= 0 ? search.pad : search.end);
  for (int64_t r = 0; r < rows; ++r) {
    out[r * length] = search.start;
    for (int64_t t = 0; t < std::min<int64_t>(lengths[r], steps); ++t)
      out[r * length + 1 + t] = tokens[r * steps + t];
  }
  return Tensor::ofInts({rows, length}, std::move(out));
}

} // namespace xf
