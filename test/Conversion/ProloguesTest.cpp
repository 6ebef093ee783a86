// Which products may be launched with the row op before them.
#include "compiler/Conversion/XfToLLVM/Prologues.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using ::xf::findPrologues;
using ::xf::ProloguePair;

namespace {

const std::string kType = "tensor<?x16xf32, #rows>";

std::string row(const std::string &name, const std::string &x) {
  return name + " = xf.row(" + x + ") maps [[0, 1]] : (" + kType + ") -> " + kType +
         " {\n^bb0(%r: tensor<16xf32>):\nxf.yield %r : tensor<16xf32>\n}\n";
}

std::string product(const std::string &name, const std::string &x) {
  return name + " = xf.contract " + x + ", %w extras() maps [] : " + kType + ", tensor<16x16xf32> -> " + kType +
         " {\n^bb0(%s: f32):\nxf.yield %s : f32\n}\n";
}

std::string product(const std::string &name, const std::string &x, const std::string &extra) {
  return name + " = xf.contract " + x + ", %w extras(" + extra + ") maps [[0, 1]] : " + kType + ", tensor<16x16xf32> extras(" + kType + ") -> " +
         kType + " {\n^bb0(%s: f32, %e: f32):\nxf.yield %s : f32\n}\n";
}

/// The pairs' places: numbers of row ops and of products, each in their order.
std::vector<std::pair<int, int>> pairsOf(const std::string &body) {
  MLIRContext context;
  context.loadDialect<mlir::xf::XfDialect>();
  std::string text = "#rows = #xf.dims<\"B\", \"\">\nmodule attributes {xf.bounds = {B = 8 : i64}} {\nxf.entry full @run(%x: " + kType +
                     " {xf.name = \"x\"}, %w: tensor<16x16xf32> {xf.name = \"w\"}) -> (" + kType + " {xf.name = \"y\"}) {\n" + body +
                     "xf.return %y : " + kType + "\n}\n}\n";
  auto module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  std::vector<std::pair<int, int>> found;
  if (!module)
    return found;
  std::vector<Operation *> rows, products;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<mlir::xf::RowOp>(op))
      rows.push_back(op);
    if (isa<mlir::xf::ContractOp>(op))
      products.push_back(op);
  });
  auto place = [](const std::vector<Operation *> &all, Operation *op) {
    return static_cast<int>(std::find(all.begin(), all.end(), op) - all.begin());
  };
  for (const ProloguePair &pair : findPrologues(*module->getOps<mlir::xf::EntryOp>().begin()))
    found.push_back({place(rows, pair.row), place(products, pair.product)});
  return found;
}

std::string repeat(const std::string &body, const std::string &yielded) {
  return "%last = xf.repeat 3(%n) : (" + kType + ") -> " + kType + " {\n^bb0(%layer: index, %in: " + kType + "):\n" + body + "xf.yield " + yielded +
         " : " + kType + "\n}\n";
}

using Pairs = std::vector<std::pair<int, int>>;

TEST(ProloguesTest, NeighboursAreAPair) {
  EXPECT_EQ(pairsOf(row("%n", "%x") + product("%y", "%n")), (Pairs{{0, 0}}));
  // Another kernel between; another's rows; the row op's input; and what it makes is read beside its product, too.
  EXPECT_EQ(pairsOf(row("%n", "%x") + product("%m", "%x") + product("%y", "%n")), Pairs{});
  EXPECT_EQ(pairsOf(row("%n", "%x") + product("%y", "%x")), Pairs{});
  EXPECT_EQ(pairsOf(row("%n", "%x") + product("%y", "%n", "%n")), Pairs{});
  EXPECT_EQ(pairsOf(row("%n", "%x") + product("%y", "%n", "%x")), (Pairs{{0, 0}}));
}

TEST(ProloguesTest, LayersHandOn) {
  std::string before = row("%n", "%x"), norm = row("%z", "%m");
  // What enters the first layer, what a layer leaves to the next, and what the last one leaves.
  std::string other = product("%o", "%m");
  EXPECT_EQ(pairsOf(before + repeat(product("%m", "%in") + other + row("%z", "%o"), "%z") + product("%y", "%last")), (Pairs{{0, 0}, {1, 0}, {1, 2}}));
  // A layer's only product would write what the norm of the layer before still reads.
  EXPECT_EQ(pairsOf(before + repeat(product("%m", "%in") + norm, "%z") + product("%y", "%last")), (Pairs{{0, 0}, {1, 1}}));
  // A layer's first product writes to the place of the layer's input, which the layer before may still read.
  EXPECT_EQ(pairsOf(before + repeat(product("%m", "%in") + norm, "%m") + product("%y", "%last")), Pairs{});
  EXPECT_EQ(pairsOf(before + repeat(row("%z", "%in") + product("%m", "%z"), "%m") + product("%y", "%last")), (Pairs{{1, 0}}));
}

} // namespace
