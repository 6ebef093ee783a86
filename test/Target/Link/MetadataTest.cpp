// Which kernels an image's tables hold for the instruction sets that code is made for.
#include "compiler/Target/Link/Metadata.h"

#include "mlir/IR/Builders.h"
#include "gtest/gtest.h"

using namespace xf;
using codegen::Isa;

namespace {

/// The kernels of an image by instruction set.
using Tables = std::map<Isa, std::vector<uint64_t>>;

/// Of a row's kernel (number 1), which no instruction set for products adds anything to, and of a product of bytes (number 2): their offsets are
/// their number and, as last digit, the instruction set.
Tables tables(llvm::ArrayRef<Isa> isas) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::xf::XfDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  CodeModule codeModule;
  codeModule.targets.isas.assign(isas.begin(), isas.end());
  codeModule.kernels = {"row", "product"};
  cpu::Code code;
  auto add = [&](llvm::StringRef name, uint64_t number, Isa isa) {
    code.symbols[(name + "." + codegen::isaName(isa)).str()] = 10 * number + static_cast<uint64_t>(isa);
  };
  for (Isa isa : isas) {
    add("row", 1, codegen::byRegisters(isa, Isa::baseline, Isa::avx2, Isa::avx512));
    add("product", 2, isa == Isa::avx512_bf16 ? Isa::avx512_vnni : isa);
  }
  Vocabulary none;
  std::vector<char> head = buildImageHead({*module, codeModule, code, "", "", none, none}, {}, 0);
  auto *image = reinterpret_cast<const xf_abi_image *>(head.data());
  auto *sets = reinterpret_cast<const xf_abi_kernels *>(head.data() + image->kernels.offset);
  Tables found;
  for (const xf_abi_kernels &set : llvm::ArrayRef(sets, image->kernels.count)) {
    auto *offsets = reinterpret_cast<const uint64_t *>(head.data() + set.offsets.offset);
    EXPECT_TRUE(found.insert({static_cast<Isa>(set.isa), std::vector(offsets, offsets + set.offsets.count)}).second) << set.isa << " twice";
  }
  return found;
}

TEST(Metadata, AnImageHasKernelsForAllInstructionSets) {
  EXPECT_EQ(
      tables(codegen::kAllIsas),
      (Tables{{Isa::baseline, {10, 20}}, {Isa::avx2, {11, 21}}, {Isa::avx2_vnni, {11, 22}}, {Isa::avx512, {13, 23}}, {Isa::avx512_vnni, {13, 24}}}));
}

TEST(Metadata, AnImageHasKernelsForTheInstructionSetsThatWereAskedFor) {
  EXPECT_EQ(tables({Isa::avx2}), (Tables{{Isa::avx2, {11, 21}}}));
  EXPECT_EQ(tables({Isa::avx2_vnni, Isa::avx512_vnni}), (Tables{{Isa::avx2_vnni, {11, 22}}, {Isa::avx512_vnni, {13, 24}}}));
}

/// CPUs without BF16 can use what needs none.
TEST(Metadata, ATableIsForTheInstructionSetThatItNeeds) {
  EXPECT_EQ(tables({Isa::avx512_bf16}), (Tables{{Isa::avx512_vnni, {13, 24}}}));
  EXPECT_EQ(tables({Isa::avx512_vnni, Isa::avx512_bf16}), (Tables{{Isa::avx512_vnni, {13, 24}}}));
}

} // namespace
