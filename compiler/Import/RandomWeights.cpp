// Random parameters.
#include "compiler/Import/RandomWeights.h"

#include <cmath>

namespace xf {

/// What the splitmix64 generator adds to its state for each number.
static constexpr uint64_t step = 0x9e3779b97f4a7c15;

static uint64_t next(uint64_t &state) {
  uint64_t z = state += step;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

/// FNV-1a.
static uint64_t hash(llvm::StringRef text) {
  uint64_t h = 0xcbf29ce484222325;
  for (unsigned char c : text)
    h = (h ^ c) * 0x100000001b3;
  return h;
}

static bool isScale(llvm::StringRef path) {
  llvm::StringRef last = path.substr(path.rfind('.') + 1);
  return llvm::any_of(llvm::ArrayRef<llvm::StringRef>{"weight", "alpha", "gamma", "scale"}, [&](llvm::StringRef end) { return last.ends_with(end); });
}

llvm::Error RandomWeights::read(mlir::xf::ParameterOp parameter, llvm::ArrayRef<int64_t> indices, int64_t first, llvm::MutableArrayRef<float> out) {
  if (parameter.isTable())
    return evaluateTable(parameter, first, out);
  std::string path = expandPath(parameter, indices);
  llvm::ArrayRef<int64_t> shape = parameter.getTensorType().getShape();
  double mean = 0, bound = 0.1;
  if (shape.size() >= 2)
    bound = std::sqrt(6.0 / (shape[shape.size() - 1] + shape[shape.size() - 2]));
  else if (isScale(path))
    mean = 1;
  uint64_t state = hash(path);
  state = next(state) ^ seed;
  state = next(state) + first * step;
  for (float &value : out) {
    double unit = (next(state) >> 11) * 0x1p-53; // [0, 1)
    value = static_cast<float>(mean + bound * (2 * unit - 1));
  }
  roundToDeclared(parameter, out);
  return llvm::Error::success();
}

} // namespace xf
