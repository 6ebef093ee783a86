// Writing of safetensors files.
#include "compiler/Import/Safetensors.h"
#include "compiler/Import/WriteFile.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

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
static void writeAs(llvm::raw_ostream &out, const std::vector<From> &values) {
  std::vector<T> converted(values.begin(), values.end());
  out.write(reinterpret_cast<const char *>(converted.data()), converted.size() * sizeof(T));
}

static void writeData(llvm::raw_ostream &out, const Tensor &tensor) {
  switch (tensor.kind) {
  case Tensor::Kind::Float:
    return writeAs<float>(out, tensor.floats);
  case Tensor::Kind::Int:
    return writeAs<int64_t>(out, tensor.ints);
  case Tensor::Kind::Bool:
    return writeAs<uint8_t>(out, tensor.ints);
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

  return writeFile(path, /*executable=*/false, [&](llvm::raw_ostream &out) {
    out.write(length, sizeof(length)) << text;
    for (const auto &[_, tensor] : tensors)
      writeData(out, tensor);
    return llvm::Error::success();
  });
}
