// Writing of safetensors files.
#include "compiler/Import/Error.h"
#include "compiler/Import/Safetensors.h"

#include "llvm/Support/Endian.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>

using namespace xf;

static DType fileType(const Tensor &tensor) {
  switch (tensor.kind) {
  case Tensor::Kind::Float:
    return DType::F32;
  case Tensor::Kind::Int:
    return DType::I64;
  case Tensor::Kind::Bool:
    return DType::Bool;
  }
  llvm_unreachable("all kinds are covered");
}

template <typename T, typename From>
static bool writeAs(std::FILE *file, const std::vector<From> &values) {
  std::vector<T> converted(values.begin(), values.end());
  return converted.empty() || std::fwrite(converted.data(), sizeof(T), converted.size(), file) == converted.size();
}

static bool writeData(std::FILE *file, const Tensor &tensor) {
  switch (tensor.kind) {
  case Tensor::Kind::Float:
    return writeAs<float>(file, tensor.floats);
  case Tensor::Kind::Int:
    return writeAs<int64_t>(file, tensor.ints);
  case Tensor::Kind::Bool:
    return writeAs<uint8_t>(file, tensor.ints);
  }
  llvm_unreachable("all kinds are covered");
}

llvm::Error xf::writeSafetensors(llvm::StringRef path, const TensorMap &tensors) {
  nlohmann::json header = nlohmann::json::object();
  uint64_t offset = 0;
  for (const auto &[name, tensor] : tensors) {
    DType type = fileType(tensor);
    uint64_t end = offset + tensor.size() * dtypeSize(type);
    header[name] = {{"dtype", dtypeName(type).str()}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  // A name that is no UTF-8 cannot stand in JSON; it is replaced rather than refused.
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  char length[8];
  llvm::support::endian::write64le(length, text.size());

  std::string name = path.str();
  std::FILE *file = std::fopen(name.c_str(), "wb");
  if (!file)
    return makeError("{}: {}", name, std::strerror(errno));
  bool good = std::fwrite(length, 1, 8, file) == 8 && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  for (const auto &[_, tensor] : tensors)
    good = good && writeData(file, tensor);
  int code = errno;
  if (std::fclose(file) != 0 && good) {
    good = false;
    code = errno;
  }
  if (!good)
    return makeError("{}: cannot be written: {}", name, std::strerror(code));
  return llvm::Error::success();
}
