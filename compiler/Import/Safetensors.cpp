// Reading of safetensors files.
#include "compiler/Import/Safetensors.h"

#include "compiler/Import/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"

#include <nlohmann/json.hpp>

using namespace xf;
using nlohmann::json;

/// The format's own limit on the header.
static constexpr uint64_t maxHeader = 100'000'000;

llvm::Expected<std::unique_ptr<SafetensorsFile>> SafetensorsFile::parse(llvm::StringRef path, llvm::ArrayRef<char> bytes) {
  return open(ByteFile::ofMemory(path, bytes));
}

llvm::Expected<std::unique_ptr<SafetensorsFile>> SafetensorsFile::open(std::unique_ptr<ByteFile> bytes) {
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile(std::move(bytes)));
  if (llvm::Error error = file->parseHeader())
    return error;
  return file;
}

/// One tensor's description; everything but its place among the others is checked here.
static llvm::Expected<TensorInfo> parseTensor(const std::string &name, const json &entry, uint64_t dataSize) {
  if (!entry.is_object())
    return makeError("tensor '{}' is not described by an object", name);
  TensorInfo info;
  info.name = name;
  auto dtype = entry.find("dtype"), shape = entry.find("shape"), offsets = entry.find("data_offsets");
  if (dtype == entry.end() || !dtype->is_string() || shape == entry.end() || !shape->is_array() ||
      offsets == entry.end() || !offsets->is_array() || offsets->size() != 2)
    return makeError("tensor '{}' lacks a dtype, a shape or two data_offsets", name);
  auto type = findDType(dtype->get_ref<const std::string &>());
  if (type)
    info.dtype = *type;
  else
    info.problem = fmt::format("has the unknown dtype '{}'", dtype->get_ref<const std::string &>());
  for (const json &dim : *shape) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() > uint64_t(INT64_MAX))
      return makeError("tensor '{}' has a dimension that is not a natural number", name);
    info.shape.push_back(dim.get<uint64_t>());
  }
  auto size = byteSize(info.dtype, info.shape);
  if (!size)
    return makeError("tensor '{}' of shape {} is larger than any memory", name, formatShape(info.shape));
  if (!(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned())
    return makeError("tensor '{}' has data_offsets that are not natural numbers", name);
  info.begin = (*offsets)[0];
  info.end = (*offsets)[1];
  if (info.begin > info.end || info.end > dataSize)
    return makeError("tensor '{}' has data_offsets [{}, {}], but the file holds {} bytes of data (is it cut short?)", name,
                     info.begin, info.end, dataSize);
  if (type && info.end - info.begin != *size)
    return makeError("tensor '{}' of dtype {} and shape {} needs {} bytes, but its data_offsets give {}", name,
                     dtypeName(*type).str(), formatShape(info.shape), *size, info.end - info.begin);
  return info;
}

namespace {
/// Looks for a key of the outermost object that is there twice: json::parse keeps the last of them, and with a callback, which could tell,
/// takes quadratic time.
class DuplicateKey : public nlohmann::json_sax<json> {
public:
  std::string found;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(size_t) override { return enter(); }
  bool start_array(size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(string_t &name) override {
    if (depth == 1 && !names.insert(name).second)
      found = name;
    return true;
  }
  bool parse_error(size_t, const std::string &, const json::exception &) override { return false; }

private:
  bool enter() { return ++depth; }
  bool leave() {
    --depth;
    return true;
  }

  size_t depth = 0;
  llvm::StringSet<> names;
};
} // namespace

llvm::Error SafetensorsFile::parseHeader() {
  uint64_t size = bytes->getSize();
  if (size < 8)
    return makeError("{}: not a safetensors file: it has only {} bytes", path, size);
  char length[8];
  if (llvm::Error error = bytes->read(0, length))
    return error;
  uint64_t header = llvm::support::endian::read64le(length);
  if (header > maxHeader || header > size - 8)
    return makeError("{}: not a safetensors file, or cut short: its header should have {} bytes, the file has {}", path, header, size);
  data = 8 + header;

  std::vector<char> text(header);
  if (llvm::Error error = bytes->read(8, text))
    return error;
  json root = json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded() || !root.is_object())
    return makeError("{}: its header is not a JSON object", path);
  DuplicateKey duplicate;
  json::sax_parse(text, &duplicate);
  if (!duplicate.found.empty())
    return makeError("{}: tensor '{}' is there twice", path, duplicate.found);

  std::vector<TensorInfo> tensors;
  for (auto &[name, entry] : root.items()) {
    if (name == "__metadata__")
      continue;
    auto info = parseTensor(name, entry, size - data);
    if (!info)
      return makeError("{}: {}", path, llvm::toString(info.takeError()));
    tensors.push_back(std::move(*info));
  }
  llvm::sort(tensors, [](const TensorInfo &a, const TensorInfo &b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t end = 0;
  for (TensorInfo &tensor : tensors) {
    if (tensor.begin < end)
      return makeError("{}: tensors '{}' and '{}' overlap", path, getTensors().back().name, tensor.name);
    if (tensor.begin > end)
      return makeError("{}: bytes {} to {} of the data belong to no tensor", path, end, tensor.begin);
    end = tensor.end;
    add(std::move(tensor));
  }
  if (end != size - data)
    return makeError("{}: bytes {} to {} of the data belong to no tensor", path, end, size - data);
  return llvm::Error::success();
}

llvm::Error SafetensorsFile::readBytes(const TensorInfo &tensor, uint64_t first, llvm::MutableArrayRef<char> out) const {
  return bytes->read(data + tensor.begin + first, out);
}
