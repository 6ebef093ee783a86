// What is packed by rows, on several cores, is what the interpreter makes of the whole; and nothing is read more often than it need be.
#include "compiler/Target/Link/Packing.h"
#include "compiler/Reference/Interpreter.h"
#include "compiler/Transforms/Layouts.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"

#include <map>
#include <mutex>
#include <set>

using namespace xf;
using mlir::xf::ParameterOp;
using mlir::xf::WeightOp;

namespace {

/// Values that depend on the parameter and the position; notes what is read.
class NotingSource : public ParameterSource {
public:
  explicit NotingSource(bool wantsOrder) : wantsOrder(wantsOrder) {}

  bool readsInOrder() const override { return wantsOrder; }

  llvm::Error read(ParameterOp parameter, llvm::ArrayRef<int64_t> indices, int64_t first, llvm::MutableArrayRef<float> out) override {
    std::lock_guard lock(mutex);
    std::string name = describeParameter(parameter, indices);
    if (broken.contains(name))
      return llvm::createStringError(name + " is broken");
    elements[name] += out.size();
    isInOrder &= first >= ends[name] || first == 0;
    ends[name] = first + out.size();
    uint32_t seed = llvm::hash_value(llvm::StringRef(name)) % 1000;
    for (size_t i = 0; i < out.size(); ++i) {
      uint32_t bits = (first + i + seed) * 2654435761u;
      out[i] = static_cast<float>(static_cast<int32_t>(bits)) * 0x1p-31f;
    }
    return llvm::Error::success();
  }

  std::map<std::string, int64_t> elements; // that were read, of each parameter
  bool isInOrder = true;
  std::set<std::string> broken;

private:
  std::mutex mutex;
  bool wantsOrder;
  std::map<std::string, int64_t> ends;
};

struct Model {
  explicit Model(llvm::StringRef text) {
    context.loadDialect<mlir::xf::XfDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    for (auto weight : module->getOps<WeightOp>()) {
      auto type = weight.getTensorType();
      int64_t bytes = elementsOf(type, weight.getLayout()).upperBound(*module) * type.getElementTypeBitWidth() / 8;
      Placement placement{layout.weightBytes, static_cast<int64_t>(llvm::alignTo(bytes, 64)), static_cast<int64_t>(weight.getLayers())};
      layout.weights[weight] = placement;
      layout.weightBytes += placement.stride * placement.layers;
    }
  }

  std::string pack(ParameterSource &source) {
    std::string bytes;
    llvm::raw_string_ostream out(bytes);
    out << "before";
    EXPECT_EQ(llvm::toString(writeWeights(*module, layout, {}, layout.weightBytes, source, out)), "");
    return bytes.substr(6);
  }

  /// The same, element by element, from what the interpreter makes of each whole weight.
  std::string expected(ParameterSource &source) {
    std::string bytes(layout.weightBytes, '\0');
    for (auto &[op, placement] : layout.weights) {
      auto weight = llvm::cast<WeightOp>(op);
      auto type = weight.getTensorType();
      mlir::Type element = type.getElementType();
      int64_t width = type.getRank() == 2 ? type.getDimSize(1) : 1, group = mlir::xf::panelGroup(element), depth = llvm::alignTo(width, group);
      bool isPacked = weight.getLayout() == mlir::xf::Layout::panels;
      std::vector<float> values(type.getNumElements());
      for (int64_t layer = 0; layer < placement.layers; ++layer) {
        EXPECT_EQ(llvm::toString(evaluateWeight(weight, layer, source, values)), "");
        for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i) {
          int64_t n = i / width, k = i % width;
          put(bytes, placement.offset + layer * placement.stride,
              isPacked ? ((n / 16 * depth + k / group * group) * 16 + n % 16 * group + k % group) : i, values[i], element);
        }
      }
    }
    return bytes;
  }

private:
  static void put(std::string &bytes, int64_t start, int64_t index, float value, mlir::Type element) {
    auto store = [&](auto value) { memcpy(bytes.data() + start + index * sizeof(value), &value, sizeof(value)); };
    if (element.isInteger(8))
      store(static_cast<int8_t>(value));
    else if (element.isInteger(16))
      store(static_cast<int16_t>(value));
    else if (element.isBF16())
      store(static_cast<uint16_t>(llvm::bit_cast<uint32_t>(value) >> 16));
    else
      store(value);
  }

public:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  DataLayout layout;
};

/// A weight that holds `value` of its body.
std::string weight(const std::string &name, const std::string &type, const std::string &how, const std::string &body, const std::string &value) {
  return "xf.weight @" + name + " : " + type + " " + how + " {\n^bb0(%layer: index):\n" + body + "\nxf.yield " + value + " : " + type + "\n}\n";
}

/// A weight for each result of a quantised matrix of `rows` rows, %t.
std::string quantised(const std::string &name, const std::string &rows, const std::string &layers, const std::string &body,
                      const std::vector<std::string> &results) {
  std::string types, text;
  for (const std::string &type : results)
    types += (types.empty() ? "" : ", ") + type;
  for (size_t i = 0; i < results.size(); ++i)
    text += weight(name + std::to_string(i), results[i], layers + (i == 0 ? " layout panels" : ""),
                   body + "\n%q:" + std::to_string(results.size()) + " = xf.quantize %t : tensor<" + rows + "x70xf32> -> " + types,
                   "%q#" + std::to_string(i));
  return text;
}

/// Whatever the source's kind: the bytes are those of whole matrices, and of each parameter so many elements are read.
void expectPacked(const std::string &text, const std::map<std::string, int64_t> &elements) {
  Model model("module {\n" + text + "}\n");
  for (bool wantsOrder : {false, true}) {
    NotingSource source(wantsOrder), other(false);
    std::string packed = model.pack(source), expected = model.expected(other);
    ASSERT_EQ(packed.size(), expected.size());
    EXPECT_EQ(std::mismatch(packed.begin(), packed.end(), expected.begin()).first - packed.begin(), ptrdiff_t(packed.size())) << "where they differ";
    EXPECT_EQ(source.elements, elements);
    EXPECT_TRUE(source.isInOrder || !wantsOrder);
  }
}

// 5000 rows are several pieces, the last one with part of a panel.
const std::string kTable = "xf.parameter @table : tensor<5000x70xf32> path \"table\"\n";
const std::string kReadTable = "%t = xf.param @table : tensor<5000x70xf32>";

TEST(PackingTest, ResultsOfRowsAreFoundWithTheElements) {
  std::string bytes = quantised(
      "bytes", "5000", "layers 1", kReadTable,
      {"tensor<5000x70xi8>", "tensor<5000xf32>", "tensor<5000xi32>", "tensor<5000xf32>", "tensor<5000xf32>", "tensor<70xf32>"});
  std::string int16 = quantised("words", "5000", "layers 1", kReadTable,
                                {"tensor<5000x70xi16>", "tensor<5000xf32>", "tensor<5000xf32>", "tensor<5000xf32>", "tensor<70xf32>"});
  expectPacked(kTable + weight("whole", "tensor<5000x70xf32>", "layers 1 layout panels", kReadTable, "%t") + bytes + int16,
               {{"'table'", 3 * 350000}});
}

TEST(PackingTest, LayersHaveTheirOwn) {
  std::string parameters =
      "xf.parameter @a : tensor<40x70xf32> path \"a.{0}\" counts [3]\nxf.parameter @b : tensor<60x70xf32> path \"b.{0}\" counts [3]\n";
  std::string joined = R"(%a = xf.param @a[%layer] : tensor<40x70xf32>
    %b = xf.param @b[%layer] : tensor<60x70xf32>
    %part = xf.slice %b axis 0 start 7 step 1 : tensor<60x70xf32> -> tensor<20x70xf32>
    %t = xf.concat(%a, %part) axis 0 : (tensor<40x70xf32>, tensor<20x70xf32>) -> tensor<60x70xf32>)";
  std::map<std::string, int64_t> elements;
  for (std::string layer : {"0", "1", "2"})
    elements["'a." + layer + "'"] = 40 * 70, elements["'b." + layer + "'"] = 20 * 70;
  expectPacked(parameters + quantised("w", "60", "layers 3", joined, {"tensor<60x70xi8>", "tensor<60xf32>", "tensor<60xi32>"}), elements);
}

TEST(PackingTest, MatricesAreTurnedOverInPieces) {
  std::string turned = "xf.parameter @turned : tensor<70x5000xf32> path \"turned\"\n";
  std::string read = R"(%p = xf.param @turned : tensor<70x5000xf32>
    %t = xf.rearrange %p "k n -> n k" {} : tensor<70x5000xf32> -> tensor<5000x70xf32>)";
  expectPacked(turned + weight("plain", "tensor<5000x70xf32>", "layers 1 layout panels", read, "%t"), {{"'turned'", 350000}});
  expectPacked(turned + weight("rounded", "tensor<5000x70xbf16>", "layers 1 layout panels",
                               read + "\n%r = xf.quantize %t : tensor<5000x70xf32> -> tensor<5000x70xbf16>", "%r"),
               {{"'turned'", 350000}});
  expectPacked(turned + quantised("bytes", "5000", "layers 1", read, {"tensor<5000x70xi8>", "tensor<5000xf32>", "tensor<5000xi32>"}),
               {{"'turned'", 350000}});
}

TEST(PackingTest, TheFirstErrorCounts) {
  std::string text = kTable;
  for (std::string name : {"a", "b", "c"})
    text += "xf.parameter @" + name + " : tensor<64x64xf32> path \"" + name + "\"\n";
  text += weight("w.table", "tensor<5000x70xf32>", "layers 1 layout panels", kReadTable, "%t");
  for (std::string name : {"a", "b", "c"})
    text += weight("w." + name, "tensor<64x64xf32>", "layers 1 layout panels", "%w = xf.param @" + name + " : tensor<64x64xf32>", "%w");
  Model model("module {\n" + text + "}\n");
  for (int repeat = 0; repeat < 50; ++repeat) {
    NotingSource source(false);
    source.broken = {"'b'", "'c'"};
    std::string bytes;
    llvm::raw_string_ostream out(bytes);
    EXPECT_EQ(llvm::toString(writeWeights(*model.module, model.layout, {}, model.layout.weightBytes, source, out)), "'b' is broken");
  }
}

TEST(PackingTest, NothingIsReadForAFullDisk) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    std::string name = std::to_string(i);
    text += "xf.parameter @p" + name + " : tensor<64x64xf32> path \"" + name + "\"\n";
    text += weight("w" + name, "tensor<64x64xf32>", "layers 1 layout panels", "%w = xf.param @p" + name + " : tensor<64x64xf32>", "%w");
  }
  Model model("module {\n" + text + "}\n");
  NotingSource source(false);
  std::error_code code;
  llvm::raw_fd_ostream out("/dev/full", code);
  ASSERT_FALSE(code);
  out.SetUnbuffered();
  auto error = writeWeights(*model.module, model.layout, {}, model.layout.weightBytes, source, out, [&] { return out.error(); });
  EXPECT_EQ(llvm::toString(std::move(error)), "No space left on device");
  EXPECT_LT(source.elements.size(), 500u); // a few a core
  out.clear_error();
}

} // namespace
