// Binding a checkpoint to a module, and reading through the binding.
#include "compiler/Import/Checkpoint.h"

#include "compiler/Import/Error.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/GlobPattern.h"

#include <cmath>

namespace xf {

using mlir::xf::ParameterOp;

llvm::Expected<std::unique_ptr<Checkpoint>> Checkpoint::open(llvm::StringRef path, mlir::ModuleOp module,
                                                             llvm::ArrayRef<std::string> ignore) {
  auto file = SafetensorsFile::open(path);
  if (!file)
    return file.takeError();
  return bind(std::move(*file), module, ignore);
}

llvm::Expected<std::unique_ptr<Checkpoint>> Checkpoint::bind(std::unique_ptr<SafetensorsFile> file, mlir::ModuleOp module,
                                                             llvm::ArrayRef<std::string> ignore) {
  std::unique_ptr<Checkpoint> checkpoint(new Checkpoint(std::move(file)));
  if (llvm::Error error = checkpoint->check(module, ignore))
    return error;
  return checkpoint;
}

static std::vector<int64_t> withoutOnes(llvm::ArrayRef<int64_t> shape) {
  std::vector<int64_t> result;
  llvm::copy_if(shape, std::back_inserter(result), [](int64_t d) { return d != 1; });
  return result;
}

/// A stored table may have more rows than are needed, and dimensions of size 1 anywhere; row-major order makes the
/// needed part its beginning. Other parameters have exactly the declared shape.
static bool shapeFits(ParameterOp parameter, llvm::ArrayRef<int64_t> stored) {
  llvm::ArrayRef<int64_t> wanted = parameter.getTensorType().getShape();
  if (stored == wanted)
    return true;
  if (!parameter.isTable() || wanted.empty())
    return false;
  std::vector<int64_t> have = withoutOnes(stored), row = withoutOnes(wanted.drop_front());
  if (have == withoutOnes(wanted))
    return true;
  return have.size() == row.size() + 1 && have[0] >= wanted[0] && std::equal(row.begin(), row.end(), have.begin() + 1);
}

/// What is wrong with the values of a tensor whose shape fits; empty if nothing.
static std::string checkValues(const SafetensorsFile &file, ParameterOp parameter, const TensorInfo &tensor) {
  std::vector<float> chunk(1 << 14);
  int64_t count = tensor.count();
  std::string problem;
  for (int64_t first = 0; first < count && problem.empty(); first += chunk.size()) {
    llvm::MutableArrayRef<float> part(chunk.data(), std::min<int64_t>(chunk.size(), count - first));
    file.readFloats(tensor, first, part);
    roundToDeclared(parameter, part);
    bool bad = false;
    for (float value : part)
      bad |= !std::isfinite(value);
    if (!bad)
      continue;
    int64_t flat = first + (llvm::find_if(part, [](float v) { return !std::isfinite(v); }) - part.begin());
    std::vector<int64_t> index(tensor.shape.size());
    int64_t rest = flat;
    for (int d = index.size() - 1; d >= 0; rest /= tensor.shape[d--])
      index[d] = rest % tensor.shape[d];
    problem = fmt::format("tensor '{}' holds {} at {}{}", tensor.name, part[flat - first], formatShape(index),
                          parameter.getTensorType().getElementType().isF32() ? "" : " (in the parameter's declared type)");
  }
  file.release(tensor);
  return problem;
}

llvm::Error Checkpoint::check(mlir::ModuleOp module, llvm::ArrayRef<std::string> ignore) const {
  std::vector<std::string> problems;
  llvm::StringSet<> used;
  for (auto parameter : module.getOps<ParameterOp>())
    forEachIndices(parameter, [&](llvm::ArrayRef<int64_t> indices) {
      if (!parameter.getPath())
        return;
      std::string path = expandPath(parameter, indices);
      bool first = used.insert(path).second;
      const TensorInfo *tensor = file->find(path);
      llvm::ArrayRef<int64_t> wanted = parameter.getTensorType().getShape();
      if (!tensor) {
        if (!parameter.isTable())
          problems.push_back(fmt::format("tensor '{}' of shape {} is missing", path, formatShape(wanted.vec())));
      } else if (!shapeFits(parameter, tensor->shape)) {
        problems.push_back(fmt::format("tensor '{}' has shape {}, but the model needs {}", path, formatShape(tensor->shape),
                                       formatShape(wanted.vec())));
      } else if (!isFloat(tensor->dtype)) {
        problems.push_back(fmt::format("tensor '{}' has dtype {}, but the model needs F64, F32, F16 or BF16", path,
                                       dtypeName(tensor->dtype).str()));
      } else if (first) {
        if (std::string problem = checkValues(*file, parameter, *tensor); !problem.empty())
          problems.push_back(problem);
      }
    });

  std::vector<llvm::GlobPattern> patterns;
  for (const std::string &text : ignore) {
    auto pattern = llvm::GlobPattern::create(text);
    if (!pattern)
      return makeError("--ignore '{}': {}", text, llvm::toString(pattern.takeError()));
    patterns.push_back(std::move(*pattern));
  }
  for (const TensorInfo &tensor : file->getTensors())
    if (!used.contains(tensor.name) && llvm::none_of(patterns, [&](auto &p) { return p.match(tensor.name); }))
      problems.push_back(fmt::format("tensor '{}' of shape {} is not used by the model (--ignore '{}' accepts it)", tensor.name,
                                     formatShape(tensor.shape), tensor.name));
  if (problems.empty())
    return llvm::Error::success();
  return makeError("{}: {} tensor{} not fit the model:\n  {}", file->getPath().str(), problems.size(),
                   problems.size() == 1 ? " does" : "s do", fmt::join(problems, "\n  "));
}

llvm::Error Checkpoint::read(ParameterOp parameter, llvm::ArrayRef<int64_t> indices, llvm::MutableArrayRef<float> out) {
  const TensorInfo *tensor = parameter.getPath() ? file->find(expandPath(parameter, indices)) : nullptr;
  if (!tensor && parameter.isTable())
    return evaluateTable(parameter, out);
  if (!tensor || !isFloat(tensor->dtype) || tensor->count() < static_cast<int64_t>(out.size()))
    return makeError("{}: no tensor for {} of shape {}", file->getPath().str(), describeParameter(parameter, indices),
                     formatShape(parameter.getTensorType().getShape().vec()));
  file->readFloats(*tensor, 0, out);
  file->release(*tensor);
  roundToDeclared(parameter, out);
  return llvm::Error::success();
}

} // namespace xf
