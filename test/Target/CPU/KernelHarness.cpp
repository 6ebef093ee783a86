#include "test/Target/CPU/KernelHarness.h"

#include "mlir/Parser/Parser.h"

using namespace xf;
using namespace xf::cpu;
using namespace xf::cpu::test;

KernelHarness::KernelHarness(llvm::StringRef text) {
  context.loadDialect<mlir::xf::XfDialect>();
  root = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!root)
    throw std::runtime_error("the test's module does not parse");
}

mlir::OwningOpRef<mlir::ModuleOp> KernelHarness::emit(mlir::Operation *op, Isa isa, const KernelAccess &access, llvm::StringRef name) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  if (mlir::failed(emitKernel(*module, name, op, access, isa, *root)))
    throw std::runtime_error("the kernel cannot be emitted");
  return module;
}

#ifndef XF_TEST_GPU_KERNELS
std::vector<Isa> xf::cpu::test::machineIsas() {
  std::vector<Isa> isas = {Isa::baseline};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    isas.push_back(Isa::avx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq"))
    isas.push_back(Isa::avx512);
  return isas;
}

bool xf::cpu::test::hasAvxVnni() { return machineIsas().back() >= Isa::avx2 && __builtin_cpu_supports("avxvnni"); }

bool xf::cpu::test::machineHas(Isa isa) {
  bool general = machineIsas().back() == Isa::avx512, vnni = __builtin_cpu_supports("avx512vnni");
  if (isa == Isa::avx512_vnni)
    return general && vnni;
  if (isa == Isa::avx512_bf16)
    return general && vnni && __builtin_cpu_supports("avx512bf16");
  // AVX-512 VNNI has AVX-VNNI's instructions, too, in other encodings.
  if (isa == Isa::avx2_vnni)
    return hasAvxVnni() || (general && vnni);
  return isa <= machineIsas().back();
}

std::vector<Isa> xf::cpu::test::runnableIsas(mlir::Operation *op) {
  std::vector<Isa> isas;
  for (Isa isa : kernelIsas(op))
    if (machineHas(isa))
      isas.push_back(isa);
  return isas;
}

Kernel KernelHarness::compile(mlir::Operation *op, Isa isa, KernelAccess access, bool isAlone) {
  std::string error;
  std::string name = ("kernel." + isaName(isa)).str();
  auto module = emit(op, isa, access, name);
  SharedProducts &products = SharedProducts::instance();
  if (!isAlone)
    products.reuse(*module);
  auto objects = isa == Isa::avx2_vnni && !hasAvxVnni() ? emitForAvx512(*module, error) : emitObjects(*module, error);
  if (mlir::failed(objects))
    throw std::runtime_error(error);
  auto code = linkObjects(*objects, error);
  if (mlir::failed(code) || !code->symbols.contains(name))
    throw std::runtime_error("linking failed: " + error);
  auto mapped = std::make_shared<MappedCode>(*code);
  if (!isAlone)
    products.keep(mapped, *code);
  return Kernel(mapped, code->symbols.lookup(name), kernelScratchBytes(op, isa, *root));
}

mlir::FailureOr<std::vector<Object>> KernelHarness::emitForAvx512(mlir::ModuleOp module, std::string &error) {
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(error);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = lowerToLLVM(module, context, *machine, error);
  if (!code)
    return mlir::failure();
  for (llvm::Function &function : *code)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", "x86-64-v4");
      function.addFnAttr("target-features", "+avx512vnni");
    }
  auto object = emitObject(*code, *machine, error);
  if (mlir::failed(object))
    return mlir::failure();
  std::vector<Object> objects;
  objects.push_back(std::move(*object));
  return objects;
}
#endif // XF_TEST_GPU_KERNELS

xf_abi_view xf::cpu::test::view(void *data, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
  xf_abi_view result;
  std::memset(&result, 0x5a, sizeof(result)); // no kernel may read sizes and strides beyond the rank
  result.data = data;
  int64_t dense = 1;
  for (size_t i = sizes.size(); i-- > 0; dense *= sizes[i]) {
    result.size[i] = sizes[i];
    result.stride[i] = strides.empty() ? dense : strides[i];
  }
  return result;
}

std::vector<float> xf::cpu::test::randomValues(size_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = static_cast<float>(generator()) / 2147483648.0f - 1.0f;
  return values;
}

std::vector<float> xf::cpu::test::packPanels(const std::vector<float> &weight, int64_t columns, int64_t depth) {
  std::vector<float> packed((columns + 15) / 16 * depth * 16, 0.0f);
  for (int64_t n = 0; n < columns; ++n)
    for (int64_t k = 0; k < depth; ++k)
      packed[(n / 16 * depth + k) * 16 + n % 16] = weight[n * depth + k];
  return packed;
}
