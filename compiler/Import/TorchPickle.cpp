#include "compiler/Import/TorchPickle.h"

#include "compiler/Import/Error.h"

#include "llvm/ADT/STLExtras.h"

using namespace xf;
using Kind = PickleValue::Kind;

namespace {
struct TypeRow {
  const char *storage, *name; // torch.FloatStorage, torch.float32
  size_t size;
  std::optional<DType> type; // of those that can be read
};
constexpr TypeRow types[] = {
    {"BoolStorage", "bool", 1, DType::Bool},
    {"ByteStorage", "uint8", 1, DType::U8},
    {"CharStorage", "int8", 1, DType::I8},
    {"ShortStorage", "int16", 2, DType::I16},
    {"IntStorage", "int32", 4, DType::I32},
    {"LongStorage", "int64", 8, DType::I64},
    {"HalfStorage", "float16", 2, DType::F16},
    {"FloatStorage", "float32", 4, DType::F32},
    {"DoubleStorage", "float64", 8, DType::F64},
    {"BFloat16Storage", "bfloat16", 2, DType::BF16},
    {"", "uint16", 2, DType::U16},
    {"", "uint32", 4, DType::U32},
    {"", "uint64", 8, DType::U64},
    {"ComplexFloatStorage", "complex64", 8, {}},
    {"ComplexDoubleStorage", "complex128", 16, {}},
    {"QInt8Storage", "qint8", 1, {}},
    {"QUInt8Storage", "quint8", 1, {}},
    {"QInt32Storage", "qint32", 4, {}},
    {"UntypedStorage", "", 1, {}},
};

/// The keys of the state dictionary in checkpoints that hold more, the most usual first.
constexpr const char *stateKeys[] = {"state_dict", "model_state_dict", "model", "module"};
} // namespace

static std::string qualifiedName(const PickleValue &name) { return (name.text + "." + name.qualname).str(); }

/// Natural numbers of a tuple, or of the call of torch.Size with one.
static std::optional<std::vector<int64_t>> naturalNumbers(const PickleValue &value) {
  const PickleValue *tuple = &value;
  if (value.is(Kind::call) && value.items[0]->isGlobal("torch", "Size") && value.items[1]->items.size() == 1)
    tuple = value.items[1]->items[0];
  if ((!tuple->is(Kind::tuple) && !tuple->is(Kind::list)) || tuple->items.size() > kMaxDimensions)
    return std::nullopt;
  std::vector<int64_t> values;
  for (const PickleValue *item : tuple->items) {
    if (!item->is(Kind::integer) || item->integer < 0)
      return std::nullopt;
    values.push_back(item->integer);
  }
  return values;
}

std::optional<TorchStorage> xf::findTorchStorage(const PickleValue &value) {
  // ('storage', torch.FloatStorage, key, device, elements), and in a file of several pickles the part of another storage that it is, if any.
  if (!value.is(Kind::persistentId) || !value.items[0]->is(Kind::tuple))
    return std::nullopt;
  llvm::ArrayRef<const PickleValue *> items = value.items[0]->items;
  if (items.size() < 5 || !items[0]->isText("storage") || !items[1]->is(Kind::global) || !items[2]->is(Kind::text) ||
      (items.size() > 5 && !items[5]->is(Kind::none)))
    return std::nullopt;
  TorchStorage storage;
  storage.key = items[2]->text;
  storage.typeName = qualifiedName(*items[1]);
  for (const TypeRow &row : types)
    if (items[1]->qualname == row.storage) { // the module is torch, for untyped ones torch.storage
      storage.dtype = row.type;
      storage.elementSize = row.size;
    }
  return storage;
}

/// Checks that there is no metadata: bits that negate or conjugate a tensor's elements, which the storage holds unchanged.
static std::string checkMetadata(const PickleValue &metadata) {
  if (metadata.is(Kind::none) || (metadata.is(Kind::dictionary) && metadata.items.empty()))
    return {};
  if (!metadata.is(Kind::dictionary) || !metadata.items[0]->is(Kind::text))
    return "is not described as PyTorch describes tensors";
  llvm::StringRef name = metadata.items[0]->text;
  std::string advice = name == "neg" || name == "conj" ? fmt::format("; save it after resolve_{}()", name.str()) : ", which is not known here";
  return fmt::format("has the metadata '{}'{}", name.str(), advice);
}

/// The tensor that _rebuild_tensor (without a version), _v2 or _v3 makes of its arguments.
static TorchTensor rebuildTensor(llvm::StringRef function, llvm::ArrayRef<const PickleValue *> arguments) {
  TorchTensor tensor;
  auto storage = arguments.empty() ? std::nullopt : findTorchStorage(*arguments[0]);
  auto shape = arguments.size() < 4 ? std::nullopt : naturalNumbers(*arguments[2]);
  auto strides = arguments.size() < 4 ? std::nullopt : naturalNumbers(*arguments[3]);
  if (!storage || !shape || !strides || shape->size() != strides->size() || !arguments[1]->is(Kind::integer) || arguments[1]->integer < 0) {
    tensor.problem = "is not described as PyTorch describes tensors";
    return tensor;
  }
  tensor.key = storage->key;
  tensor.storageOffset = arguments[1]->integer;
  tensor.shape = *shape;
  tensor.shapeKnown = true;
  tensor.strides = *strides;
  size_t metadata = 6; // after the shape, strides, gradient and hooks
  if (function == "_rebuild_tensor_v3") { // the type stands there, and the storage has none
    metadata = 7;
    storage->dtype = std::nullopt;
    if (arguments.size() > 6 && arguments[6]->is(Kind::global)) {
      storage->typeName = qualifiedName(*arguments[6]);
      for (const TypeRow &row : types)
        if (arguments[6]->isGlobal("torch", row.name))
          storage->dtype = row.type;
    }
  }
  if (storage->dtype)
    tensor.dtype = *storage->dtype;
  else
    tensor.problem = fmt::format("is of {}, which is no type that can be read", storage->typeName);
  if (tensor.problem.empty() && arguments.size() > metadata)
    tensor.problem = checkMetadata(*arguments[metadata]);
  return tensor;
}

std::optional<TorchTensor> xf::findTorchTensor(const PickleValue &value) {
  const PickleValue *call = &value;
  // A parameter is a call with its tensor, and a tensor of a class derived from torch.Tensor with the function that makes it. Only tuples are
  // followed, which hold what was made before them: this ends.
  while (call->is(Kind::call) && call->items[0]->is(Kind::global)) {
    llvm::StringRef module = call->items[0]->text, function = call->items[0]->qualname;
    llvm::ArrayRef<const PickleValue *> arguments = call->items[1]->items;
    bool isOfClass = module == "torch._tensor" && function == "_rebuild_from_type_v2";
    if (isOfClass && arguments.size() >= 3 && arguments[0]->is(Kind::global) && arguments[2]->is(Kind::tuple)) {
      module = arguments[0]->text, function = arguments[0]->qualname;
      arguments = arguments[2]->items;
    }
    if (module != "torch._utils" || !function.starts_with("_rebuild_"))
      return std::nullopt;
    if (function == "_rebuild_tensor" || function == "_rebuild_tensor_v2" || function == "_rebuild_tensor_v3")
      return rebuildTensor(function, arguments);
    if (!function.starts_with("_rebuild_parameter") || arguments.empty()) {
      TorchTensor tensor;
      tensor.problem = fmt::format("is made by torch._utils.{}, which is not done here: only dense tensors are read", function.str());
      return tensor;
    }
    call = arguments[0];
  }
  return std::nullopt;
}

static bool hasTensors(const PickleValue &dictionary) {
  if (!dictionary.is(Kind::dictionary))
    return false;
  for (size_t i = 0; i < dictionary.items.size(); i += 2)
    if (dictionary.items[i]->is(Kind::text) && findTorchTensor(*dictionary.items[i + 1]))
      return true;
  return false;
}

llvm::Expected<const PickleValue *> xf::findStateDictionary(const PickleValue &root) {
  // A checkpoint with other things beside the dictionary may have a tensor among these, such as a loss.
  for (const char *key : stateKeys)
    if (const PickleValue *inner = root.find(key); inner && hasTensors(*inner))
      return inner;
  if (hasTensors(root))
    return &root;
  if (root.is(Kind::call) && !findTorchTensor(root)) {
    // Before PyTorch 1.6 a class of modules was a persistent id: ('module', class, file, source).
    const PickleValue *type = root.items[0];
    if (type->is(Kind::persistentId) && type->items[0]->items.size() > 1)
      type = type->items[0]->items[1];
    if (type->is(Kind::global))
      return makeError("holds an object of {}, which only the program that defines it can read; save its state_dict()", qualifiedName(*type));
  }
  return makeError("holds no tensors by name, as a state dictionary does, nor has it one as '{}'", fmt::join(stateKeys, "', '"));
}
