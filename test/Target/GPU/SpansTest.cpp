// Spans are the CPU's: the GPU back end must refuse them, as it would take all tokens for one sentence.
#include "test/Target/CPU/KernelHarness.h"

#include "mlir/IR/Diagnostics.h"

using namespace xf::cpu::test;

namespace {

TEST(SpansTest, AreRefused) {
  std::string q = "tensor<1x2x?x8xf32, #xf.dims<\"\", \"\", \"P\", \"\">>", k = "tensor<?x2x?x8xf32, #xf.dims<\"B\", \"\", \"S\", \"\">>";
  std::string spans = "tensor<?x2xi32, #xf.dims<\"B\", \"\">>", slots = "tensor<?xi32, #xf.dims<\"B\">>";
  KernelHarness harness("module attributes {xf.bounds = {B = 8 : i64, S = 40 : i64, P = 320 : i64}} {\n"
                        "xf.state @s : " + k + " layers 1 sentences layout keys\n"
                        "xf.entry packed @run(%q: " + q + " {xf.name = \"q\"}, %v: " + k + " {xf.name = \"v\"}, %slots: " + slots +
                        " {xf.name = \"slots\"}, %spans: " + spans + " {xf.name = \"spans\"}) -> (" + q + " {xf.name = \"o\"}) {\n"
                        "%zero = arith.constant 0 : index\n"
                        "%k = xf.spread keys %q spans %spans : " + q + ", " + spans + " -> " + k + "\n"
                        "xf.store %q to @s[%zero] slots %slots spans %spans : " + q + ", " + slots + ", " + spans + "\n"
                        "%o = xf.attend %q, %k, %v spans %spans scale 0.3 fill -1.0e9 : " + q + ", " + k + ", " + k + ", " + spans + " -> (" + q + ")\n"
                        "xf.return %o : " + q + "\n}\n}\n");
  std::vector<std::string> errors;
  mlir::ScopedDiagnosticHandler handler(&harness.context, [&](mlir::Diagnostic &diagnostic) { errors.push_back(diagnostic.str()); });
  for (mlir::Operation *op : {harness.find<mlir::xf::SpreadOp>().getOperation(), harness.find<mlir::xf::StoreOp>().getOperation(),
                              harness.find<mlir::xf::AttendOp>().getOperation()}) {
    errors.clear();
    EXPECT_THROW(harness.compile(op, xf::cpu::Isa::baseline, {llvm::SmallVector<int64_t>(12, 1)}), std::runtime_error) << op->getName().getStringRef().str();
    EXPECT_EQ(errors.size(), 1u);
    EXPECT_NE(errors.empty() ? std::string::npos : errors[0].find("the GPU back end has no kernels for sentences without padding"), std::string::npos)
        << (errors.empty() ? "" : errors[0]);
  }
}

} // namespace
