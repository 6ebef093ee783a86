#include "compiler/Import/TorchFile.h"

#include "compiler/Import/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

using namespace xf;
using Kind = PickleValue::Kind;

/// More bytes than any pickle of names and shapes needs. Pickle limits what it makes.
static constexpr uint64_t kMaxPickleSize = 32 << 20;

/// The numbers with which a file of several pickles begins; the first is 0x1950a86a20f9469cfc6c, the lowest byte first.
static constexpr llvm::StringRef kMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
static constexpr int64_t kVersion = 1001;

std::optional<size_t> TorchFile::findPickle(const ZipArchive &archive) {
  for (auto [i, member] : llvm::enumerate(archive.getMembers()))
    if (llvm::StringRef name = member.name; name == "data.pkl" || name.ends_with("/data.pkl"))
      return i;
  return std::nullopt;
}

llvm::Expected<std::unique_ptr<TorchFile>> TorchFile::open(std::unique_ptr<ZipArchive> archive, size_t pickle) {
  std::unique_ptr<TorchFile> file(new TorchFile(archive->getPath()));
  file->archive = std::move(archive);
  if (llvm::Error error = file->readArchive(pickle))
    return error;
  return file;
}

llvm::Expected<std::unique_ptr<TorchFile>> TorchFile::open(std::unique_ptr<ByteFile> bytes) {
  std::unique_ptr<TorchFile> file(new TorchFile(bytes->getPath()));
  file->bytes = std::move(bytes);
  if (llvm::Error error = file->readPickles())
    return error;
  return file;
}

static llvm::Expected<Pickle> parsePickle(const std::string &path, llvm::ArrayRef<char> bytes) {
  auto pickle = Pickle::parse(bytes);
  if (!pickle)
    return makeError("{}: its pickle {}", path, llvm::toString(pickle.takeError()));
  return pickle;
}

llvm::Error TorchFile::readArchive(size_t pickle) {
  llvm::ArrayRef<ZipMember> members = archive->getMembers();
  if (members[pickle].size > kMaxPickleSize)
    return makeError("{}: its pickle of {} bytes is too large", path, members[pickle].size);
  std::vector<char> text(members[pickle].size);
  if (llvm::Error error = archive->read(pickle, 0, text))
    return error;
  std::string folder = llvm::StringRef(members[pickle].name).drop_back(llvm::StringRef("data.pkl").size()).str();
  Storages storages;
  for (auto [i, member] : llvm::enumerate(members)) {
    llvm::StringRef name = member.name;
    if (name == folder + "byteorder" && member.size == llvm::StringRef("big").size())
      return makeError("{}: its numbers have their highest byte first", path);
    if (name.consume_front(folder + "data/"))
      storages.try_emplace(name, Storage{i, member.size});
  }
  auto root = parsePickle(path, text);
  if (!root)
    return root.takeError();
  return addTensors(root->getRoot(), storages);
}

llvm::Error TorchFile::readPickles() {
  std::vector<char> text(std::min(bytes->getSize(), kMaxPickleSize));
  if (llvm::Error error = bytes->read(0, text))
    return error;
  // The magic number, the version, the machine, the dictionary, the storages' keys.
  std::vector<Pickle> pickles; // the last two
  size_t begin = 0;
  for (int i = 0; i < 5; ++i) {
    auto pickle = parsePickle(path, llvm::ArrayRef(text).drop_front(begin));
    if (!pickle)
      return pickle.takeError();
    begin += pickle->size();
    const PickleValue &value = pickle->getRoot();
    if ((i == 0 && !(value.is(Kind::bigInteger) && value.text == kMagic)) || (i == 1 && !(value.is(Kind::integer) && value.integer == kVersion)))
      return makeError("{}: is a pickle, but not one of torch.save, whose tensors are read; save them with safetensors.torch.save_file", path);
    if (const PickleValue *isLittle = i == 2 ? value.find("little_endian") : nullptr; isLittle && isLittle->is(Kind::boolean) && !isLittle->integer)
      return makeError("{}: its numbers have their highest byte first", path);
    if (i > 2)
      pickles.push_back(std::move(*pickle));
  }
  auto storages = listStorages(pickles[0], pickles[1].getRoot(), begin);
  if (!storages)
    return storages.takeError();
  return addTensors(pickles[0].getRoot(), *storages);
}

llvm::Expected<TorchFile::Storages> TorchFile::listStorages(const Pickle &dictionary, const PickleValue &keys, uint64_t begin) {
  llvm::StringMap<TorchStorage> storagesByKey;
  for (const PickleValue &value : dictionary.getValues())
    if (auto storage = findTorchStorage(value))
      storagesByKey.try_emplace(storage->key, *storage);
  Storages storages;
  for (const PickleValue *key : keys.items) {
    auto it = key->is(Kind::text) ? storagesByKey.find(key->text) : storagesByKey.end();
    if (it == storagesByKey.end())
      return makeError("{}: its storage '{}' belongs to no tensor", path, key->text.str());
    uint64_t elementSize = it->second.elementSize;
    if (elementSize == 0)
      return makeError("{}: holds a storage of {}, whose size is not known", path, it->second.typeName);
    char count[8] = {};
    bool isThere = bytes->getSize() - begin >= sizeof(count);
    if (isThere)
      if (llvm::Error error = bytes->read(begin, count))
        return error;
    uint64_t elements = llvm::support::endian::read64le(count);
    if (!isThere || elements > (bytes->getSize() - begin - sizeof(count)) / elementSize)
      return makeError("{}: ends in the middle of storage '{}' (is it cut short?)", path, key->text.str());
    begin += sizeof(count);
    storages.try_emplace(key->text, Storage{storageOffsets.size(), elements * elementSize});
    storageOffsets.push_back(begin);
    begin += elements * elementSize;
  }
  return storages;
}

/// What is wrong with a tensor's layout; empty if nothing.
static std::string checkLayout(const TorchTensor &tensor, std::optional<uint64_t> storageSize) {
  std::string shape = formatShape(tensor.shape);
  auto size = byteSize(tensor.dtype, tensor.shape);
  auto span = countSpan(tensor.shape, tensor.strides);
  if (!size || !span)
    return fmt::format("of shape {} is larger than any memory", shape);
  uint64_t elementSize = dtypeSize(tensor.dtype);
  if (*size / elementSize > uint64_t(*span))
    return fmt::format("of shape {} has elements that are one in memory; save a copy, as contiguous() makes it", shape);
  if (!storageSize)
    return fmt::format("is a part of storage '{}', which is not there", tensor.key.str());
  uint64_t elements = *storageSize / elementSize;
  if (uint64_t(tensor.storageOffset) > elements || uint64_t(*span) > elements - tensor.storageOffset)
    return fmt::format("of dtype {} and shape {} needs {} elements from {} on, but its storage holds {}", dtypeName(tensor.dtype).str(), shape, *span,
                       tensor.storageOffset, elements);
  return {};
}

llvm::Error TorchFile::addTensors(const PickleValue &root, const Storages &storages) {
  auto dictionary = findStateDictionary(root);
  if (!dictionary)
    return makeError("{}: {}", path, llvm::toString(dictionary.takeError()));
  std::vector<TensorInfo> found;
  llvm::ArrayRef<const PickleValue *> items = (*dictionary)->items;
  for (; !items.empty(); items = items.drop_front(2)) {
    auto tensor = items[0]->is(Kind::text) ? findTorchTensor(*items[1]) : std::nullopt;
    if (!tensor)
      continue;
    auto storage = storages.find(tensor->key);
    bool isThere = storage != storages.end();
    if (tensor->problem.empty())
      tensor->problem = checkLayout(*tensor, isThere ? std::optional(storage->second.size) : std::nullopt);
    TensorInfo &info = found.emplace_back();
    info.name = items[0]->text.str();
    info.problem = tensor->problem;
    info.shapeKnown = tensor->shapeKnown;
    info.shape = tensor->shape;
    if (!info.problem.empty())
      continue;
    info.dtype = tensor->dtype;
    info.begin = tensor->storageOffset * dtypeSize(info.dtype);
    info.end = info.begin + *byteSize(info.dtype, info.shape);
    info.identity = fmt::format("{} {} {} {} {}", tensor->key.str(), tensor->storageOffset, static_cast<int>(info.dtype), formatShape(info.shape),
                                formatShape(tensor->strides));
    info.storage = storage->second.index;
    if (info.begin != info.end && !isRowMajor(info.shape, tensor->strides))
      info.strides = tensor->strides;
  }
  llvm::sort(found, [](const auto &a, const auto &b) { return std::tie(a.storage, a.begin, a.name) < std::tie(b.storage, b.begin, b.name); });
  for (TensorInfo &info : found) {
    std::string name = info.name;
    if (!add(std::move(info)))
      return makeError("{}: tensor '{}' is there twice", path, name);
  }
  return llvm::Error::success();
}

llvm::Error TorchFile::readStorage(size_t storage, uint64_t first, llvm::MutableArrayRef<char> out) const {
  return archive ? archive->read(storage, first, out) : bytes->read(storageOffsets[storage] + first, out);
}
