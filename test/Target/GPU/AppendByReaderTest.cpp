// Only the CPU's attention appends: the GPU back end must refuse what leaves that to it.
#include "test/Target/CPU/KernelHarness.h"

#include "mlir/IR/Diagnostics.h"

using namespace xf::cpu::test;

namespace {

TEST(AppendByReaderTest, IsRefused) {
  std::string q = "tensor<?x2x?x8xf32, #xf.dims<\"B\", \"\", \"N\", \"\">>", k = "tensor<?x2x?x8xf32, #xf.dims<\"B\", \"\", \"T\", \"\">>";
  std::string past = "tensor<?xi32, #xf.dims<\"B\">>";
  KernelHarness harness("module attributes {xf.bounds = {B = 8 : i64, N = 4 : i64, T = 40 : i64}} {\n"
                        "xf.state @s : " + k + " layers 1 layout keys\n"
                        "xf.entry step @run(%q: " + q + " {xf.name = \"q\"}, %v: " + k + " {xf.name = \"v\"}, %p: " + past +
                        " {xf.name = \"xf.past\"}) -> (" + q + " {xf.name = \"o\"}) {\n%zero = arith.constant 0 : index\n"
                        "%k = xf.append %q to @s[%zero] axis 2 past %p by_reader : " + q + ", " + past + " -> " + k + "\n"
                        "%o = xf.attend %q, %k, %v scale 0.3 fill -1.0e9 : " + q + ", " + k + ", " + k + " -> (" + q + ")\n"
                        "xf.return %o : " + q + "\n}\n}\n");
  for (mlir::Operation *op : {harness.find<mlir::xf::AppendOp>().getOperation(), harness.find<mlir::xf::AttendOp>().getOperation()}) {
    std::string error;
    mlir::ScopedDiagnosticHandler handler(&harness.context, [&](mlir::Diagnostic &diagnostic) { error = diagnostic.str(); });
    EXPECT_THROW(harness.compile(op, xf::cpu::Isa::baseline, {llvm::SmallVector<int64_t>(12, 1)}), std::runtime_error);
    EXPECT_NE(error.find("the GPU back end has no kernels of attention that appends"), std::string::npos) << error;
  }
}

} // namespace
