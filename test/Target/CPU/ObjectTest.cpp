#include "test/Target/CPU/KernelHarness.h"

#include "compiler/Target/CPU/InterleavedRows.h"
#include "compiler/Target/CPU/MicroKernel.h"

#include "llvm/Object/ObjectFile.h"

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

/// Names that an object leaves to others, as llvm-nm -u lists them.
std::vector<std::string> undefinedSymbols(llvm::MemoryBufferRef buffer) {
  auto object = llvm::cantFail(llvm::object::ObjectFile::createObjectFile(buffer));
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef &symbol : object->symbols())
    if (llvm::cantFail(symbol.getFlags()) & llvm::object::SymbolRef::SF_Undefined)
      if (llvm::StringRef name = llvm::cantFail(symbol.getName()); !name.empty())
        names.push_back(name.str());
  return names;
}

mlir::OwningOpRef<mlir::ModuleOp> parse(mlir::MLIRContext &context, llvm::StringRef text) {
  loadCodeDialects(&context);
  return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
}

TEST(ObjectTest, NeedsNothingFromOutside) {
  // Every function that a model can name, and loops that look like memset and memcpy.
  KernelHarness harness(R"(
    module attributes {xf.bounds = {B = 8 : i64}} {
      xf.parameter @w : tensor<20x8xf32> path "w"
      xf.entry @run(%x: tensor<?x8xf32, #xf.dims<"B", "">> {xf.name = "x"}) -> (tensor<?x20xf32, #xf.dims<"B", "">> {xf.name = "y"}) {
        %w = xf.param @w : tensor<20x8xf32>
        %y = xf.contract %x, %w extras() maps [] : tensor<?x8xf32, #xf.dims<"B", "">>, tensor<20x8xf32> -> tensor<?x20xf32, #xf.dims<"B", "">> {
        ^bb0(%acc: f32):
          %exp = math.exp %acc : f32
          %tanh = math.tanh %exp : f32
          %erf = math.erf %tanh : f32
          %log = math.log %erf : f32
          %sin = math.sin %log : f32
          %cos = math.cos %sin : f32
          %pow = math.powf %cos, %acc : f32
          %sqrt = math.sqrt %pow : f32
          %rsqrt = math.rsqrt %sqrt : f32
          %floor = math.floor %rsqrt : f32
          %fma = math.fma %floor, %acc, %exp : f32
          xf.yield %fma : f32
        }
        xf.return %y : tensor<?x20xf32, #xf.dims<"B", "">>
      }
    })");
  auto op = harness.find<mlir::xf::ContractOp>();
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(harness.context, R"(
    llvm.func @plain(%to: !llvm.ptr, %from: !llvm.ptr, %count: i64) {
      %zero = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      %byte = arith.constant 0 : i8
      scf.for %i = %zero to %count step %one : i64 {
        %p = llvm.getelementptr %to[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i8
        llvm.store %byte, %p : i8, !llvm.ptr
      }
      scf.for %i = %zero to %count step %one : i64 {
        %p = llvm.getelementptr %to[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i8
        %q = llvm.getelementptr %from[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i8
        %v = llvm.load %q : !llvm.ptr -> i8
        llvm.store %v, %p : i8, !llvm.ptr
      }
      llvm.return
    })");
  ASSERT_TRUE(module);
  for (Isa isa : kAllIsas)
    ASSERT_TRUE(mlir::succeeded(emitKernel(*module, ("kernel." + isaName(isa)).str(), op, {{1, 1, 1}}, isa, *harness.root)));
  std::string error;
  auto objects = emitObjects(*module, error);
  ASSERT_TRUE(mlir::succeeded(objects)) << error;
  EXPECT_GT(objects->size(), 1u); // which refer to nothing of each other, then
  for (const Object &object : *objects)
    EXPECT_EQ(undefinedSymbols(object->getMemBufferRef()), std::vector<std::string>());
  auto code = linkObjects(*objects, error);
  ASSERT_TRUE(mlir::succeeded(code)) << error;
  for (const char *name : {"plain", "kernel.baseline", "kernel.avx2", "kernel.avx512"})
    EXPECT_TRUE(code->symbols.contains(name)) << name;

  MappedCode mapped(*code);
  char to[100], from[100];
  for (int i = 0; i < 100; ++i)
    to[i] = 1, from[i] = static_cast<char>(i);
  mapped.at<void (*)(char *, const char *, int64_t)>(code->symbols["plain"])(to, from, 99);
  EXPECT_EQ(std::memcmp(to, from, 99), 0);
  EXPECT_EQ(to[99], 1);
}

TEST(ObjectTest, LinkerNamesWhatIsMissing) {
  mlir::MLIRContext context;
  auto module = parse(context, R"(
    llvm.func @elsewhere()
    llvm.func @caller() {
      llvm.call @elsewhere() : () -> ()
      llvm.return
    })");
  std::string error;
  auto objects = emitObjects(*module, error);
  ASSERT_TRUE(mlir::succeeded(objects)) << error;
  EXPECT_TRUE(mlir::failed(linkObjects(*objects, error)));
  EXPECT_NE(error.find("'elsewhere'"), std::string::npos) << error;
}

TEST(ObjectTest, LinkerRefusesOtherFiles) {
  std::string error;
  Object none = llvm::MemoryBuffer::getMemBuffer("no object at all");
  EXPECT_TRUE(mlir::failed(linkObjects(none, error)));
  EXPECT_FALSE(error.empty());
}

TEST(ObjectTest, EveryFunctionHasItsInstructionSet) {
  mlir::MLIRContext context;
  auto module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  mlir::OwningOpRef<mlir::ModuleOp> owner(module);
  for (Isa isa : kAllIsas)
    getMicroKernel(module, isa, {}, 2, 1).setLinkage(mlir::LLVM::Linkage::External);
  getMicroKernel(module, Isa::avx2_vnni, {Factor::i8}, 6, 1).setLinkage(mlir::LLVM::Linkage::External);
  std::string error;
  auto text = emitAssembly(module, error);
  ASSERT_TRUE(mlir::succeeded(text)) << error;
  auto bodyOf = [&](const std::string &name) {
    size_t begin = text->find(name + ":");
    return text->substr(begin, text->find(".size", begin) - begin);
  };
  EXPECT_EQ(bodyOf("xf.product.2x1.baseline").find("%ymm"), std::string::npos);
  EXPECT_EQ(bodyOf("xf.product.2x1.baseline").find("fmadd"), std::string::npos);
  EXPECT_NE(bodyOf("xf.product.2x1.avx2").find("%ymm"), std::string::npos);
  EXPECT_EQ(bodyOf("xf.product.2x1.avx2").find("%zmm"), std::string::npos);
  EXPECT_NE(bodyOf("xf.product.2x1.avx512").find("%zmm"), std::string::npos);
  // AVX-VNNI has the instruction without masks and with half the registers.
  std::string bytes = bodyOf("xf.product.i8.6x1.avx2_vnni");
  EXPECT_NE(bytes.find("{vex}\tvpdpbusd"), std::string::npos) << bytes;
  EXPECT_EQ(bytes.find("%zmm"), std::string::npos);
  for (const char *absent : {"%ymm16", "%ymm31", "%k1"})
    EXPECT_EQ(bytes.find(absent), std::string::npos) << absent;
}

TEST(ObjectTest, FewRowsTakePanelsFromMemoryOneByOne) {
  for (Factor factor : {Factor::f32, Factor::bf16, Factor::i8})
    for (int64_t rows = 1; rows <= 12; ++rows) {
      PanelKind cached{.factor = factor}, streams{.factor = factor, .streams = true};
      Isa best = Isa::avx512_bf16;
      EXPECT_GT(panelsFor(best, rows, cached), 1);
      EXPECT_EQ(panelsFor(best, rows, streams), rows >= 2 && rows <= 8 ? 1 : panelsFor(best, rows, cached)) << rows;
      EXPECT_EQ(panelsFor(Isa::baseline, rows, streams), panelsFor(Isa::baseline, rows, cached));
    }
  // What takes arithmetic to be multiplied is not bound by memory.
  EXPECT_GT(panelsFor(Isa::avx512, 2, {.factor = Factor::bf16, .streams = true}), 1);
}

TEST(ObjectTest, FewRowsPrefetchPanelsFromMemoryInRuns) {
  PanelKind f32{.streams = true}, bytes{.factor = Factor::i8, .streams = true};
  for (Isa isa : {Isa::avx2, Isa::avx2_vnni})
    for (int64_t rows = 1; rows <= largestTile(isa).rows; ++rows) {
      EXPECT_EQ(prefetchesInRuns(isa, rows, f32), rows >= 3) << rows;
      EXPECT_EQ(panelsFor(isa, rows, f32), rows >= 3 ? 1 : panelsFor(isa, rows, {})) << rows;
      EXPECT_EQ(prefetchesInRuns(isa, rows, bytes), isa == Isa::avx2 ? rows <= 2 : rows >= 3) << rows;
      EXPECT_FALSE(prefetchesInRuns(isa, rows, {}) || prefetchesInRuns(isa, rows, {.factor = Factor::i8})) << rows;
    }
  EXPECT_FALSE(prefetchesInRuns(Isa::avx512, 4, f32));
  // Of each of the next four blocks of 16 KB a quarter: the first of the last one, … the last of the first one.
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  getMicroKernel(*module, Isa::avx2, f32, 4, 1);
  std::string error;
  auto text = emitAssembly(*module, error);
  ASSERT_TRUE(mlir::succeeded(text)) << error;
  EXPECT_EQ(llvm::StringRef(*text).count("prefetch"), 4u) << *text;
  for (int64_t run : {1, 2, 3})
    EXPECT_EQ(llvm::StringRef(*text).count("prefetcht0\t-" + std::to_string(run * (16 - 4) * 1024) + "("), 1u) << run << *text;
}

TEST(ObjectTest, InterleavedRowsHaveRoomForATile) {
  for (Isa isa : kAllIsas)
    for (int64_t rows = 1; rows <= largestTile(isa).rows; ++rows)
      EXPECT_TRUE(!takesInterleaved(isa, rows, Factor::f32) || rows <= InterleavedRows::kPitch) << isaName(isa).str() << " " << rows;
}

// Tiles and numbers of panels (largestTile, panelsFor) are chosen so that all sums stay in registers.
TEST(ObjectTest, MicroKernelsSpillNoVector) {
  for (Factor factor : {Factor::f32, Factor::bf16, Factor::i8, Factor::i8_weights, Factor::i16, Factor::i8_split}) {
    mlir::MLIRContext context;
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
    for (Isa isa : kAllIsas) {
      bool multiplies = factor == Factor::i8_split ? splitsBytes(isa, Factor::i8) : factor == Factor::i8_weights ? hasAvx512(isa) : hasAvx2(isa);
      for (int64_t rows = 1; multiplies && rows <= largestTile(isa, factor).rows; ++rows) {
        for (PanelKind kind : {PanelKind{}, PanelKind{.streams = true}, PanelKind{.isShared = true}}) {
          kind.factor = factor;
          // The groups that this takes at once are too many for the registers, but memory takes longer.
          if (factor == Factor::i16 && prefetchesInRuns(isa, rows, kind))
            continue;
          getMicroKernel(*module, isa, kind, rows, panelsFor(isa, rows, kind));
        }
      }
    }
    std::string error;
    auto text = emitAssembly(*module, error);
    ASSERT_TRUE(mlir::succeeded(text)) << error;
    llvm::StringRef function;
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(*text).split(lines, '\n');
    for (llvm::StringRef line : lines) {
      if (line.starts_with("xf.product."))
        function = line;
      bool isVector = line.contains("%xmm") || line.contains("%ymm") || line.contains("%zmm");
      EXPECT_FALSE(isVector && line.contains("(%rsp)")) << function.str() << line.str();
    }
  }
}

} // namespace
