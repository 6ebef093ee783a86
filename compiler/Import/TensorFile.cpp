// Types of elements, and tensors from bytes.
#include "compiler/Import/TensorFile.h"

#include "compiler/Import/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <cmath>
#include <cstring>

using namespace xf;

namespace {
struct DTypeRow {
  DType type;
  const char *name;
  size_t size;
};
constexpr DTypeRow dtypes[] = {{DType::Bool, "BOOL", 1}, {DType::U8, "U8", 1},   {DType::I8, "I8", 1},     {DType::I16, "I16", 2},
                               {DType::U16, "U16", 2},   {DType::I32, "I32", 4}, {DType::U32, "U32", 4},   {DType::I64, "I64", 8},
                               {DType::U64, "U64", 8},   {DType::F16, "F16", 2}, {DType::BF16, "BF16", 2}, {DType::F32, "F32", 4},
                               {DType::F64, "F64", 8}};

/// Elements that are converted at a time.
constexpr int64_t chunkElements = 1 << 14;

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

std::optional<DType> xf::findDType(llvm::StringRef name) {
  const auto *row = llvm::find_if(dtypes, [&](const DTypeRow &r) { return name == r.name; });
  return row == std::end(dtypes) ? std::nullopt : std::optional(row->type);
}

std::optional<uint64_t> xf::byteSize(DType type, llvm::ArrayRef<int64_t> shape) {
  if (llvm::is_contained(shape, 0))
    return 0;
  uint64_t size = dtypeSize(type);
  for (int64_t d : shape)
    if (__builtin_mul_overflow(size, d, &size) || size > uint64_t(INT64_MAX))
      return std::nullopt;
  return size;
}

std::string xf::formatShape(const std::vector<int64_t> &shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

bool TensorFile::add(TensorInfo tensor) {
  bool isNew = index.try_emplace(tensor.name, tensors.size()).second;
  tensors.push_back(std::move(tensor));
  return isNew;
}

const TensorInfo *TensorFile::find(llvm::StringRef name) const {
  auto it = index.find(name);
  return it == index.end() ? nullptr : &tensors[it->second];
}

llvm::Error TensorFile::checkReadable(const TensorInfo &tensor) const {
  if (tensor.problem.empty())
    return llvm::Error::success();
  return makeError("{}: tensor '{}' {}", path, tensor.name, tensor.problem);
}

llvm::Error TensorFile::readBytes(const TensorInfo &tensor, uint64_t first, llvm::MutableArrayRef<char> out) const {
  auto read = [&](uint64_t from, llvm::MutableArrayRef<char> bytes) { return readStorage(tensor.storage, tensor.begin + from, bytes); };
  // Where there are no elements, there is no order.
  return tensor.strides.empty() || out.empty() ? read(first, out) : rowMajorReader.read(tensor, read, first, out);
}

llvm::Error TensorFile::readChunks(const TensorInfo &tensor, int64_t first, int64_t count,
                                   llvm::function_ref<void(const char *elements, int64_t count)> visit) const {
  size_t size = dtypeSize(tensor.dtype);
  std::vector<char> chunk(std::min(count, chunkElements) * size);
  int64_t done = 0;
  do { // once for a tensor without elements, too: it may be damaged
    int64_t chunkCount = std::min(count - done, chunkElements);
    if (llvm::Error error = readBytes(tensor, (first + done) * size, {chunk.data(), chunkCount * size}))
      return error;
    visit(chunk.data(), chunkCount);
    done += chunkCount;
  } while (done < count);
  return llvm::Error::success();
}

llvm::Error TensorFile::readFloats(const TensorInfo &tensor, int64_t first, llvm::MutableArrayRef<float> out) const {
  if (llvm::Error error = checkReadable(tensor))
    return error;
  if (tensor.dtype == DType::F32)
    return readBytes(tensor, first * sizeof(float), {reinterpret_cast<char *>(out.data()), out.size() * sizeof(float)});
  return readChunks(tensor, first, out.size(), [&, to = out.data()](const char *elements, int64_t count) mutable {
    for (int64_t i = 0; i < count; ++i)
      *to++ = static_cast<float>(loadFloat(tensor.dtype, elements, i));
  });
}

llvm::Expected<Tensor> TensorFile::read(const TensorInfo &tensor) const {
  if (llvm::Error error = checkReadable(tensor))
    return error;
  Tensor result;
  result.shape = tensor.shape;
  if (!isFloat(tensor.dtype))
    result.kind = tensor.dtype == DType::Bool ? Tensor::Kind::Bool : Tensor::Kind::Int;
  // For an archive it grows as bytes arrive: there may be fewer than promised.
  if (!readsInOrder() && isFloat(tensor.dtype))
    result.floats.reserve(tensor.count());
  else if (!readsInOrder())
    result.ints.reserve(tensor.count());
  llvm::Error error = readChunks(tensor, 0, tensor.count(), [&](const char *elements, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      if (isFloat(tensor.dtype))
        result.floats.push_back(loadFloat(tensor.dtype, elements, i));
      else
        result.ints.push_back(loadInt(tensor.dtype, elements, i));
  });
  if (error)
    return error;
  return result;
}
