// Binding the files of a checkpoint to a module, and reading through the binding.
#include "compiler/Import/Checkpoint.h"

#include "compiler/Import/Error.h"
#include "compiler/Import/Json.h"

#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <deque>
#include <memory>
#include <set>

namespace xf {

using mlir::xf::ParameterOp;

/// The paths of the files that an index gives tensors, by the tensors' names.
using Index = std::map<std::string, std::string, std::less<>>;

static bool isIndex(llvm::StringRef path) { return llvm::sys::path::extension(path) == ".json"; }

static llvm::Expected<Index> readIndex(const std::string &path) {
  auto root = readJsonObject(path);
  if (!root)
    return root.takeError();
  auto map = root->find("weight_map");
  if (map == root->end() || !map->is_object() || map->empty())
    return makeError("{}: is no index of a checkpoint: it has no 'weight_map' with tensors", path);
  Index index;
  for (auto &[tensor, file] : map->items()) {
    if (!file.is_string())
      return makeError("{}: '{}' has no file's name in 'weight_map'", path, tensor);
    llvm::SmallString<256> shard(llvm::sys::path::parent_path(path));
    llvm::sys::path::append(shard, file.get_ref<const std::string &>());
    index.emplace(tensor, shard.str().str());
  }
  return index;
}

/// The files that an index names, each once.
static std::set<std::string> shardsOf(const Index &index) {
  std::set<std::string> shards;
  for (const auto &[tensor, shard] : index)
    shards.insert(shard);
  return shards;
}

llvm::Expected<std::vector<std::string>> listShards(llvm::ArrayRef<std::string> paths) {
  std::vector<std::string> shards;
  for (const std::string &path : paths) {
    if (!isIndex(path)) {
      shards.push_back(path);
      continue;
    }
    auto index = readIndex(path);
    if (!index)
      return index.takeError();
    llvm::append_range(shards, shardsOf(*index));
  }
  return shards;
}

llvm::Expected<std::unique_ptr<Checkpoint>> Checkpoint::open(llvm::ArrayRef<std::string> paths, mlir::ModuleOp module,
                                                             llvm::ArrayRef<std::string> ignore) {
  auto checkpoint = std::make_unique<Checkpoint>();
  auto add = [&](const std::string &path, const Index *index) -> llvm::Error {
    auto file = openTensorFile(path);
    if (!file)
      return file.takeError();
    return checkpoint->add(std::move(*file), [&](llvm::StringRef name) {
      auto given = index ? index->find(name) : Index::const_iterator();
      return !index || given == index->end() || given->second == path;
    });
  };
  for (const std::string &path : paths) {
    if (!isIndex(path)) {
      if (llvm::Error error = add(path, nullptr))
        return error;
      continue;
    }
    auto index = readIndex(path);
    if (!index)
      return index.takeError();
    for (const std::string &shard : shardsOf(*index))
      if (llvm::Error error = add(shard, &*index))
        return error;
  }
  if (llvm::Error error = checkpoint->check(module, ignore))
    return error;
  return checkpoint;
}

llvm::Expected<std::unique_ptr<Checkpoint>> Checkpoint::bind(std::unique_ptr<TensorFile> file, mlir::ModuleOp module,
                                                             llvm::ArrayRef<std::string> ignore) {
  auto checkpoint = std::make_unique<Checkpoint>();
  if (llvm::Error error = checkpoint->add(std::move(file), [](llvm::StringRef) { return true; }))
    return error;
  if (llvm::Error error = checkpoint->check(module, ignore))
    return error;
  return checkpoint;
}

llvm::Error Checkpoint::add(std::unique_ptr<TensorFile> file, llvm::function_ref<bool(llvm::StringRef name)> accepts) {
  for (const TensorInfo &tensor : file->getTensors()) {
    if (!accepts(tensor.name)) {
      superseded.insert(&tensor);
      continue;
    }
    auto [it, isNew] = tensors.try_emplace(tensor.name, Entry{file.get(), &tensor});
    auto [other, same] = it->second;
    // Tensors that cannot be read may be in several files: a note on the files, say.
    if (!isNew && (tensor.problem.empty() || same->problem.empty()))
      return makeError("tensor '{}' is in {} and in {}", tensor.name, other->getPath().str(), file->getPath().str());
  }
  files.push_back(std::move(file));
  return llvm::Error::success();
}

Checkpoint::Entry Checkpoint::find(llvm::StringRef name) const { return tensors.lookup(name); }

/// The files' name in messages.
std::string Checkpoint::describe() const {
  std::string first = files.empty() ? "no file" : files.front()->getPath().str();
  return files.size() < 2 ? first : fmt::format("{} and {} more", first, files.size() - 1);
}

/// The prefix with which the files have all missing names, because the model was stored as a part of another; empty if there is none.
std::string Checkpoint::commonPrefix(llvm::ArrayRef<std::string> missing) const {
  for (const auto &file : files)
    for (const TensorInfo &tensor : file->getTensors()) {
      llvm::StringRef prefix = tensor.name;
      if (!missing.empty() && prefix.consume_back(missing.front()) && prefix.ends_with(".") &&
          llvm::all_of(missing, [&](const std::string &name) { return find(prefix.str() + name).tensor; }))
        return prefix.str();
    }
  return {};
}

static std::vector<int64_t> withoutOnes(llvm::ArrayRef<int64_t> shape) {
  std::vector<int64_t> result;
  llvm::copy_if(shape, std::back_inserter(result), [](int64_t d) { return d != 1; });
  return result;
}

/// A stored table may have more rows than are needed, and dimensions of size 1 anywhere; row-major order makes the
/// needed part its beginning. Other parameters have exactly the declared shape.
static bool shapeFits(ParameterOp parameter, llvm::ArrayRef<int64_t> stored) {
  llvm::ArrayRef<int64_t> expected = parameter.getTensorType().getShape();
  // PyTorch has parameters that are a number; here one has at least a dimension.
  if (stored == expected || (stored.empty() && expected == llvm::ArrayRef<int64_t>{1}))
    return true;
  if (!parameter.isTable() || expected.empty())
    return false;
  std::vector<int64_t> actual = withoutOnes(stored), row = withoutOnes(expected.drop_front());
  if (actual == withoutOnes(expected))
    return true;
  return actual.size() == row.size() + 1 && actual[0] >= expected[0] && std::equal(row.begin(), row.end(), actual.begin() + 1);
}

/// What is wrong with a parameter's tensor, null if it is missing, except for its values; empty if nothing.
static std::string describeMismatch(ParameterOp parameter, const std::string &path, const TensorInfo *tensor) {
  std::string expected = formatShape(parameter.getTensorType().getShape().vec());
  if (!tensor)
    return parameter.isTable() ? "" : fmt::format("tensor '{}' of shape {} is missing", path, expected);
  bool fits = !tensor->shapeKnown || shapeFits(parameter, tensor->shape);
  if (!tensor->problem.empty())
    return fmt::format("tensor '{}' {}", path, tensor->problem) +
           (fits ? "" : fmt::format(" (and has shape {}, but the model needs {})", formatShape(tensor->shape), expected));
  if (!fits)
    return fmt::format("tensor '{}' has shape {}, but the model needs {}", path, formatShape(tensor->shape), expected);
  if (!isFloat(tensor->dtype))
    return fmt::format("tensor '{}' has dtype {}, but the model needs F64, F32, F16 or BF16", path, dtypeName(tensor->dtype).str());
  return {};
}

/// What is wrong with the values of a tensor whose shape fits; empty if nothing.
static std::string checkValues(const TensorFile &file, ParameterOp parameter, const TensorInfo &tensor) {
  std::vector<float> chunk(1 << 14);
  int64_t count = tensor.count();
  std::string problem;
  for (int64_t first = 0; first < count && problem.empty(); first += chunk.size()) {
    llvm::MutableArrayRef<float> part(chunk.data(), std::min<int64_t>(chunk.size(), count - first));
    if (llvm::Error error = file.readFloats(tensor, first, part)) {
      problem = fmt::format("tensor '{}' cannot be read: {}", tensor.name, llvm::toString(std::move(error)));
      break;
    }
    roundToDeclared(parameter, part);
    bool hasNonFinite = false;
    for (float value : part)
      hasNonFinite |= !std::isfinite(value);
    if (!hasNonFinite)
      continue;
    int64_t linearIndex = first + (llvm::find_if(part, [](float v) { return !std::isfinite(v); }) - part.begin());
    std::vector<int64_t> index(tensor.shape.size());
    int64_t remaining = linearIndex;
    for (int d = index.size() - 1; d >= 0; remaining /= tensor.shape[d--])
      index[d] = remaining % tensor.shape[d];
    // A value may be finite in the file, but not in the type that the model needs.
    float value = part[linearIndex - first];
    const char *typeNote = !parameter.getTensorType().getElementType().isF32() ? " (in the parameter's declared type)"
                           : tensor.dtype == DType::F64 && std::isinf(value)   ? " (as f32)"
                                                                               : "";
    problem = fmt::format("tensor '{}' holds {} at {}{}", tensor.name, value, formatShape(index), typeNote);
  }
  file.release(tensor);
  return problem;
}

llvm::Error Checkpoint::check(mlir::ModuleOp module, llvm::ArrayRef<std::string> ignore) const {
  llvm::StringSet<> used, reported;
  std::vector<std::pair<ParameterOp, Entry>> uses; // the first one of each tensor
  std::vector<std::string> missing, problems;
  for (auto parameter : module.getOps<ParameterOp>())
    forEachIndices(parameter, [&](llvm::ArrayRef<int64_t> indices) {
      if (!parameter.getPath())
        return;
      std::string path = expandPath(parameter, indices);
      bool isFirst = used.insert(path).second;
      Entry entry = find(path);
      std::string problem = describeMismatch(parameter, path, entry.tensor);
      if (problem.empty() && entry.tensor && isFirst)
        uses.emplace_back(parameter, entry);
      if (problem.empty() || !reported.insert(problem).second)
        return;
      problems.push_back(problem);
      if (!entry.tensor)
        missing.push_back(path);
    });
  // One name alone says little: many end in "weight".
  if (std::string prefix = missing.size() > 1 && missing.size() == problems.size() ? commonPrefix(missing) : ""; !prefix.empty())
    return makeError(
        "{}: {} tensors that the model needs are there under '{}' only, the first as '{}{}'; 'as' gives a member its name in the checkpoint",
        describe(), missing.size(), prefix, prefix, missing.front());
  if (llvm::Error error = findUnused(used, ignore, problems))
    return error;
  // Checking values takes by far the longest: it comes when all else is right.
  if (problems.empty())
    for (auto [parameter, entry] : uses)
      if (std::string problem = checkValues(*entry.file, parameter, *entry.tensor); !problem.empty())
        problems.push_back(problem);
  return describeProblems(std::move(problems));
}

llvm::Error Checkpoint::findUnused(const llvm::StringSet<> &used, llvm::ArrayRef<std::string> ignore, std::vector<std::string> &problems) const {
  std::vector<llvm::GlobPattern> patterns;
  std::deque<std::string> texts; // which patterns refer to
  for (const std::string &text : ignore) {
    // Only * and ? are special: names contain the other characters that patterns know, and 'ema[0].w' stands for itself.
    std::string &escaped = texts.emplace_back();
    for (char c : text)
      escaped += llvm::StringRef("[]{}\\").contains(c) ? std::string("\\") + c : std::string(1, c);
    auto pattern = llvm::GlobPattern::create(escaped);
    if (!pattern)
      return makeError("--ignore '{}': {}", text, llvm::toString(pattern.takeError()));
    patterns.push_back(std::move(*pattern));
  }
  for (const auto &file : files) {
    llvm::StringSet<> usedIdentities; // the identities of tensors that are used, which may have other names as well
    for (const TensorInfo &tensor : file->getTensors())
      if (used.contains(tensor.name) && !tensor.identity.empty())
        usedIdentities.insert(tensor.identity);
    for (const TensorInfo &tensor : file->getTensors())
      if (!used.contains(tensor.name) && !usedIdentities.contains(tensor.identity) && !superseded.contains(&tensor) &&
          llvm::none_of(patterns, [&](auto &p) { return p.match(tensor.name); }))
        problems.push_back(fmt::format("tensor '{}'{} is not used by the model (--ignore '{}' accepts it)", tensor.name,
                                       tensor.shapeKnown ? " of shape " + formatShape(tensor.shape) : "", tensor.name));
  }
  return llvm::Error::success();
}

llvm::Error Checkpoint::describeProblems(std::vector<std::string> problems) const {
  constexpr size_t maxListed = 20; // enough to see what is wrong: a model of another family would fill screens
  if (problems.empty())
    return llvm::Error::success();
  size_t count = problems.size();
  if (count > maxListed) {
    problems.resize(maxListed);
    problems.push_back(fmt::format("and {} more", count - maxListed));
  }
  return makeError("{}: {} tensor{} not fit the model:\n  {}", describe(), count, count == 1 ? " does" : "s do", fmt::join(problems, "\n  "));
}

bool Checkpoint::readsInOrder() const {
  return llvm::any_of(files, [](const auto &file) { return file->readsInOrder(); });
}

llvm::Error Checkpoint::read(ParameterOp parameter, llvm::ArrayRef<int64_t> indices, int64_t first, llvm::MutableArrayRef<float> out) {
  auto [file, tensor] = parameter.getPath() ? find(expandPath(parameter, indices)) : Entry();
  if (!tensor && parameter.isTable())
    return evaluateTable(parameter, first, out);
  int64_t end = first + static_cast<int64_t>(out.size());
  if (!tensor || !isFloat(tensor->dtype) || tensor->count() < end)
    return makeError("{}: no tensor for {} of shape {}", describe(), describeParameter(parameter, indices),
                     formatShape(parameter.getTensorType().getShape().vec()));
  if (llvm::Error error = file->readFloats(*tensor, first, out))
    return error;
  if (end == parameter.getTensorType().getNumElements())
    file->release(*tensor);
  roundToDeclared(parameter, out);
  return llvm::Error::success();
}

} // namespace xf
