// Running small modules in the interpreter.
#ifndef XF_TEST_REFERENCE_FIXTURE_H
#define XF_TEST_REFERENCE_FIXTURE_H

#include "compiler/Import/Error.h"
#include "compiler/Reference/Interpreter.h"
#include "test/Import/Modules.h"

#include <cmath>
#include <gtest/gtest.h>

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

namespace xf {

/// Parameters by name, given in the test.
struct GivenParameters : ParameterSource {
  std::map<std::string, std::vector<float>> values;
  llvm::Error read(mlir::xf::ParameterOp parameter, llvm::ArrayRef<int64_t> indices, int64_t first, llvm::MutableArrayRef<float> out) override {
    if (parameter.isTable())
      return evaluateTable(parameter, first, out);
    auto it = values.find(expandPath(parameter, indices));
    if (it == values.end() || static_cast<int64_t>(it->second.size()) != parameter.getTensorType().getNumElements())
      return makeError("no values for {}", describeParameter(parameter, indices));
    std::copy_n(it->second.begin() + first, out.size(), out.begin());
    return llvm::Error::success();
  }
};

struct InterpreterTest : testing::Test, Modules {
  GivenParameters parameters;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  /// Parses `text`, plain IR without type aliases.
  void load(const std::string &text) {
    module = parse(text);
    ASSERT_TRUE(module);
  }
  /// Loads a module with one entry @run of these arguments, results and body, after the text `before`.
  void loadEntry(const std::string &arguments, const std::string &results, const std::string &body, const std::string &before = "") {
    load(before + "\nxf.entry @run(" + arguments + ") -> (" + results + ") {\n" + body + "\n}\n");
  }
  TensorMap run(const TensorMap &inputs, Precision precision = Precision::F64, State *state = nullptr, const char *entry = "run") {
    if (!module)
      return {};
    Interpreter interpreter(*module, parameters, precision);
    auto results = interpreter.run(entry, inputs, state);
    if (!results) {
      ADD_FAILURE() << llvm::toString(results.takeError());
      return {};
    }
    return std::move(*results);
  }
  std::string errorOf(const TensorMap &inputs, State *state = nullptr) {
    Interpreter interpreter(*module, parameters, Precision::F64);
    auto results = interpreter.run("run", inputs, state);
    return results ? "" : llvm::toString(results.takeError());
  }
};

inline Tensor floats(std::vector<int64_t> shape, std::vector<double> values) { return Tensor::ofFloats(shape, values); }
inline Tensor ints(std::vector<int64_t> shape, std::vector<int64_t> values) { return Tensor::ofInts(shape, values); }
inline Tensor bools(std::vector<int64_t> shape, std::vector<int64_t> values) { return Tensor::ofInts(shape, values, Tensor::Kind::Bool); }
/// 1, 2, 3, …
inline Tensor count(std::vector<int64_t> shape) {
  Tensor tensor = Tensor::ofFloats(shape, {});
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.floats.push_back(i + 1);
  return tensor;
}
inline void expectNear(const Tensor &got, const std::vector<double> &want, double tolerance = 1e-12) {
  ASSERT_EQ(got.floats.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got.floats[i], want[i], tolerance) << i;
}

} // namespace xf

#endif // XF_TEST_REFERENCE_FIXTURE_H
