// A tensor in ordinary memory, as the interpreter and the comparison with golden numbers pass it around.
#ifndef XF_COMPILER_IMPORT_TENSOR_H
#define XF_COMPILER_IMPORT_TENSOR_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace xf {

/// Row-major values. Floats are held as doubles whatever their precision was, so that an f64 interpreter, an f32
/// program and a file can be compared without a second type.
struct Tensor {
  enum class Kind { Float, Int, Bool };

  Kind kind = Kind::Float;
  std::vector<int64_t> shape;
  std::vector<double> floats; // Kind::Float
  std::vector<int64_t> ints;  // Kind::Int and Kind::Bool

  static Tensor ofFloats(std::vector<int64_t> shape, std::vector<double> values) { return {Kind::Float, std::move(shape), std::move(values), {}}; }
  static Tensor ofInts(std::vector<int64_t> shape, std::vector<int64_t> values, Kind kind = Kind::Int) {
    return {kind, std::move(shape), {}, std::move(values)};
  }
  int64_t size() const {
    int64_t n = 1;
    for (int64_t d : shape)
      n *= d;
    return n;
  }
};

using TensorMap = std::map<std::string, Tensor, std::less<>>;

/// "[3, 10, 64]", as messages print a shape.
std::string formatShape(const std::vector<int64_t> &shape);

} // namespace xf

#endif // XF_COMPILER_IMPORT_TENSOR_H
