// Helpers that every source of parameters needs: paths, tables, rounding.
#include "compiler/Import/ParameterSource.h"

#include "compiler/Import/Error.h"
#include "compiler/Reference/Scalar.h"

#include "llvm/ADT/StringExtras.h"

namespace xf {

std::string expandPath(mlir::xf::ParameterOp parameter, llvm::ArrayRef<int64_t> indices) {
  std::string path = parameter.getPath().value_or("").str();
  for (auto [i, index] : llvm::enumerate(indices)) {
    std::string placeholder = fmt::format("{{{}}}", i), value = std::to_string(index);
    for (size_t pos = path.find(placeholder); pos != std::string::npos; pos = path.find(placeholder, pos + value.size()))
      path.replace(pos, placeholder.size(), value);
  }
  return path;
}

std::string describeParameter(mlir::xf::ParameterOp parameter, llvm::ArrayRef<int64_t> indices) {
  return parameter.getPath() ? "'" + expandPath(parameter, indices) + "'" : "@" + parameter.getSymName().str();
}

void forEachIndices(mlir::xf::ParameterOp parameter, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit) {
  llvm::ArrayRef<int64_t> counts = parameter.getCounts();
  if (llvm::is_contained(counts, 0))
    return;
  llvm::SmallVector<int64_t> indices(counts.size());
  while (true) {
    visit(indices);
    int d = static_cast<int>(counts.size()) - 1;
    while (d >= 0 && ++indices[d] == counts[d])
      indices[d--] = 0;
    if (d < 0)
      return;
  }
}

void roundToDeclared(mlir::xf::ParameterOp parameter, llvm::MutableArrayRef<float> values) {
  mlir::Type type = parameter.getTensorType().getElementType();
  if (type.isBF16())
    for (float &value : values)
      value = roundToBF16(value);
  else if (type.isF16())
    for (float &value : values)
      value = roundToF16(value);
}

llvm::Error evaluateTable(mlir::xf::ParameterOp table, int64_t first, llvm::MutableArrayRef<float> out) {
  auto program = ScalarProgram::compile(table.getInit().front());
  if (!program)
    return makeError("table @{}: {}", table.getSymName().str(), llvm::toString(program.takeError()));
  if (!program->getCaptures().empty() || !program->getTensors().empty())
    return makeError("table @{} depends on values from outside its region", table.getSymName().str());
  ScalarFrame frame(*program, Precision::F64);
  llvm::ArrayRef<int64_t> shape = table.getTensorType().getShape();
  for (size_t done = 0; done < out.size(); done += ScalarFrame::maxLanes) {
    int lanes = std::min<size_t>(ScalarFrame::maxLanes, out.size() - done);
    for (int l = 0; l < lanes; ++l) {
      int64_t linearIndex = first + done + l;
      for (int d = shape.size() - 1; d >= 0; linearIndex /= shape[d--])
        frame.intArg(d)[l] = linearIndex % shape[d];
    }
    if (llvm::Error error = frame.run(lanes))
      return makeError("table @{}: {}", table.getSymName().str(), llvm::toString(std::move(error)));
    for (int l = 0; l < lanes; ++l)
      out[done + l] = static_cast<float>(frame.floatResult(0)[l]);
  }
  roundToDeclared(table, out);
  return llvm::Error::success();
}

} // namespace xf
