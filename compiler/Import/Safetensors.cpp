// Reading of safetensors files.
#include "compiler/Import/Safetensors.h"

#include "compiler/Import/Error.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace xf;
using nlohmann::json;

namespace {
struct DTypeRow {
  DType type;
  const char *name;
  size_t size;
};
constexpr DTypeRow dtypes[] = {
    {DType::Bool, "BOOL", 1}, {DType::U8, "U8", 1},   {DType::I8, "I8", 1},   {DType::I16, "I16", 2}, {DType::U16, "U16", 2},
    {DType::I32, "I32", 4},   {DType::U32, "U32", 4}, {DType::I64, "I64", 8}, {DType::U64, "U64", 8}, {DType::F16, "F16", 2},
    {DType::BF16, "BF16", 2}, {DType::F32, "F32", 4}, {DType::F64, "F64", 8}};

/// The format's own limit on the header.
constexpr uint64_t maxHeader = 100'000'000;

float widenF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  if (exponent == 31)
    return llvm::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent == 0) // zero and subnormals: mantissa * 2^-24, exact
    return std::copysign(float(mantissa) * 0x1p-24f, llvm::bit_cast<float>(sign | 0x3f800000));
  return llvm::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

float widenBF16(uint16_t bits) { return llvm::bit_cast<float>(uint32_t(bits) << 16); }

template <typename T>
T load(const char *data, int64_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return value;
}

double loadFloat(DType type, const char *data, int64_t i) {
  switch (type) {
  case DType::F16:
    return widenF16(load<uint16_t>(data, i));
  case DType::BF16:
    return widenBF16(load<uint16_t>(data, i));
  case DType::F32:
    return load<float>(data, i);
  default:
    return load<double>(data, i);
  }
}

int64_t loadInt(DType type, const char *data, int64_t i) {
  switch (type) {
  case DType::Bool:
    return load<uint8_t>(data, i) != 0;
  case DType::U8:
    return load<uint8_t>(data, i);
  case DType::I8:
    return load<int8_t>(data, i);
  case DType::I16:
    return load<int16_t>(data, i);
  case DType::U16:
    return load<uint16_t>(data, i);
  case DType::I32:
    return load<int32_t>(data, i);
  case DType::U32:
    return load<uint32_t>(data, i);
  default:
    return load<int64_t>(data, i);
  }
}
} // namespace

llvm::StringRef xf::dtypeName(DType type) { return dtypes[static_cast<int>(type)].name; }
size_t xf::dtypeSize(DType type) { return dtypes[static_cast<int>(type)].size; }
bool xf::isFloat(DType type) { return type >= DType::F16; }

std::string xf::formatShape(const std::vector<int64_t> &shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

llvm::Expected<std::unique_ptr<SafetensorsFile>> SafetensorsFile::open(llvm::StringRef path) {
  std::string name = path.str();
  // A pipe cannot be mapped, and must not be waited for.
  int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return makeError("{}: {}", name, std::strerror(errno));
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return makeError("{}: not a regular file", name);
  }
  if (info.st_size < 8) {
    close(fd);
    return makeError("{}: not a safetensors file: it has only {} bytes", name, info.st_size);
  }
  void *mapping = mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (mapping == MAP_FAILED)
    return makeError("{}: cannot be mapped: {}", name, std::strerror(errno));
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile);
  file->path = std::move(name);
  file->mapping = mapping;
  file->bytes = {static_cast<const char *>(mapping), static_cast<size_t>(info.st_size)};
  if (llvm::Error error = file->parseHeader())
    return error;
  return file;
}

llvm::Expected<std::unique_ptr<SafetensorsFile>> SafetensorsFile::parse(llvm::StringRef path, llvm::ArrayRef<char> bytes) {
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile);
  file->path = path.str();
  file->bytes = bytes;
  if (llvm::Error error = file->parseHeader())
    return error;
  return file;
}

SafetensorsFile::~SafetensorsFile() {
  if (mapping)
    munmap(mapping, bytes.size());
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
  const auto *row = llvm::find_if(dtypes, [&](const DTypeRow &r) { return *dtype == r.name; });
  if (row == std::end(dtypes))
    return makeError("tensor '{}' has the unknown dtype '{}'", name, dtype->get<std::string>());
  info.dtype = row->type;
  uint64_t size = row->size;
  bool overflow = false, empty = false;
  for (const json &dim : *shape) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() > uint64_t(INT64_MAX))
      return makeError("tensor '{}' has a dimension that is not a natural number", name);
    uint64_t d = dim.get<uint64_t>();
    info.shape.push_back(d);
    empty |= d == 0;
    overflow |= __builtin_mul_overflow(size, d, &size);
  }
  if (empty)
    size = 0;
  else if (overflow)
    return makeError("tensor '{}' of shape {} is larger than any memory", name, formatShape(info.shape));
  if (!(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned())
    return makeError("tensor '{}' has data_offsets that are not natural numbers", name);
  info.begin = (*offsets)[0];
  info.end = (*offsets)[1];
  if (info.begin > info.end || info.end > dataSize)
    return makeError("tensor '{}' has data_offsets [{}, {}], but the file holds {} bytes of data (is it cut short?)", name,
                     info.begin, info.end, dataSize);
  if (info.end - info.begin != size)
    return makeError("tensor '{}' of dtype {} and shape {} needs {} bytes, but its data_offsets give {}", name, row->name,
                     formatShape(info.shape), size, info.end - info.begin);
  return info;
}

llvm::Error SafetensorsFile::parseHeader() {
  if (bytes.size() < 8)
    return makeError("{}: not a safetensors file: it has only {} bytes", path, bytes.size());
  uint64_t header = llvm::support::endian::read64le(bytes.data());
  if (header > maxHeader || header > bytes.size() - 8)
    return makeError("{}: not a safetensors file, or cut short: its header should have {} bytes, the file has {}", path, header,
                     bytes.size());
  data = bytes.drop_front(8 + header);

  // The parser keeps the last of two equal keys; they are noticed while it reads.
  llvm::StringSet<> names;
  std::string duplicate;
  auto notice = [&](int depth, json::parse_event_t event, json &value) {
    if (event == json::parse_event_t::key && depth == 1 && !names.insert(value.get_ref<std::string &>()).second)
      duplicate = value;
    return true;
  };
  const char *text = bytes.data() + 8;
  json root = json::parse(text, text + header, notice, /*allow_exceptions=*/false);
  if (root.is_discarded() || !root.is_object())
    return makeError("{}: its header is not a JSON object", path);
  if (!duplicate.empty())
    return makeError("{}: tensor '{}' is there twice", path, duplicate);

  for (auto &[name, entry] : root.items()) {
    if (name == "__metadata__")
      continue;
    auto info = parseTensor(name, entry, data.size());
    if (!info)
      return makeError("{}: {}", path, llvm::toString(info.takeError()));
    tensors.push_back(std::move(*info));
  }
  llvm::sort(tensors, [](const TensorInfo &a, const TensorInfo &b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t end = 0;
  for (auto [i, tensor] : llvm::enumerate(tensors)) {
    if (tensor.begin < end)
      return makeError("{}: tensors '{}' and '{}' overlap", path, tensors[i - 1].name, tensor.name);
    if (tensor.begin > end)
      return makeError("{}: bytes {} to {} of the data belong to no tensor", path, end, tensor.begin);
    end = tensor.end;
    index[tensor.name] = i;
  }
  if (end != data.size())
    return makeError("{}: bytes {} to {} of the data belong to no tensor", path, end, data.size());
  return llvm::Error::success();
}

const TensorInfo *SafetensorsFile::find(llvm::StringRef name) const {
  auto it = index.find(name);
  return it == index.end() ? nullptr : &tensors[it->second];
}

llvm::ArrayRef<char> SafetensorsFile::getBytes(const TensorInfo &tensor) const {
  return data.slice(tensor.begin, tensor.end - tensor.begin);
}

void SafetensorsFile::readFloats(const TensorInfo &tensor, int64_t first, llvm::MutableArrayRef<float> out) const {
  const char *source = getBytes(tensor).data() + first * dtypeSize(tensor.dtype);
  if (tensor.dtype == DType::F32) {
    std::memcpy(out.data(), source, out.size() * sizeof(float));
    return;
  }
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(loadFloat(tensor.dtype, source, i));
}

Tensor SafetensorsFile::read(const TensorInfo &tensor) const {
  Tensor result;
  result.shape = tensor.shape;
  const char *source = getBytes(tensor).data();
  int64_t count = tensor.count();
  if (isFloat(tensor.dtype)) {
    result.floats.resize(count);
    for (int64_t i = 0; i < count; ++i)
      result.floats[i] = loadFloat(tensor.dtype, source, i);
    return result;
  }
  result.kind = tensor.dtype == DType::Bool ? Tensor::Kind::Bool : Tensor::Kind::Int;
  result.ints.resize(count);
  for (int64_t i = 0; i < count; ++i)
    result.ints[i] = loadInt(tensor.dtype, source, i);
  return result;
}

void SafetensorsFile::release(const TensorInfo &tensor) const {
  if (!mapping)
    return;
  // Whole pages inside the tensor only: a neighbour may be in use.
  uintptr_t page = sysconf(_SC_PAGESIZE);
  llvm::ArrayRef<char> range = getBytes(tensor);
  uintptr_t begin = (reinterpret_cast<uintptr_t>(range.begin()) + page - 1) / page * page;
  uintptr_t end = reinterpret_cast<uintptr_t>(range.end()) / page * page;
  if (begin < end)
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}
