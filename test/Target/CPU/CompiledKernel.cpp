#include "test/Target/CPU/CompiledKernel.h"

#include "gtest/gtest.h"

#include <barrier>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <sys/mman.h>
#include <thread>

using namespace xf::cpu;
using namespace xf::cpu::test;

MappedCode::MappedCode(const Code &code) : size(code.bytes.size() + 1) {
  memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(memory, code.bytes.data(), code.bytes.size());
  mprotect(memory, size, PROT_READ | PROT_EXEC);
}

MappedCode::~MappedCode() { munmap(memory, size); }

SharedProducts &SharedProducts::instance() {
  static SharedProducts products;
  return products;
}

/// Makes `function` a call of the code at `to`.
static void jump(mlir::LLVM::LLVMFuncOp function, const void *to) {
  function.eraseBody();
  mlir::OpBuilder b(function.getContext());
  mlir::Location loc = function.getLoc();
  mlir::Block *body = function.addEntryBlock(b);
  b.setInsertionPointToStart(body);
  mlir::Value address = mlir::LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(reinterpret_cast<intptr_t>(to)));
  llvm::SmallVector<mlir::Value> operands{mlir::LLVM::IntToPtrOp::create(b, loc, mlir::LLVM::LLVMPointerType::get(function.getContext()), address)};
  operands.append(body->args_begin(), body->args_end());
  mlir::LLVM::CallOp::create(b, loc, function.getFunctionType(), operands);
  mlir::LLVM::ReturnOp::create(b, loc, mlir::ValueRange());
}

void SharedProducts::reuse(mlir::ModuleOp module) {
  for (auto function : module.getOps<mlir::LLVM::LLVMFuncOp>()) {
    llvm::StringRef name = function.getSymName();
    // LLVM may change an internal function, for example specialise it.
    if (!name.starts_with("xf.product.") || function.getLinkage() == mlir::LLVM::Linkage::Internal)
      continue;
    std::string text;
    llvm::raw_string_ostream(text) << function;
    const Product &compiled = products.try_emplace(name, Product{text, nullptr, nullptr}).first->second;
    if (compiled.text != text)
      throw std::runtime_error("there are two products of the name " + name.str());
    if (compiled.code)
      jump(function, compiled.code);
  }
}

void SharedProducts::keep(const std::shared_ptr<MappedCode> &mapped, const Code &code) {
  for (const auto &symbol : code.symbols) {
    auto found = products.find(symbol.getKey());
    if (found != products.end() && !found->second.code)
      found->second.mapped = mapped, found->second.code = mapped->at<const void *>(symbol.getValue());
  }
}

namespace {
/// A thread's scratch memory, aligned and filled with NaN, and some memory after it.
struct Scratch {
  explicit Scratch(int64_t bytes) : memory(bytes / 4 + 64, std::numeric_limits<float>::quiet_NaN()) {}
  uintptr_t start() const { return (reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64; }
  uintptr_t end() const { return reinterpret_cast<uintptr_t>(memory.data() + memory.size()); }
  std::vector<float> memory;
};
} // namespace

static xf_abi_context contextOf(const Scratch &scratch, int thread, int threads, std::barrier<> *all) {
  xf_abi_context context = {};
  context.scratch = reinterpret_cast<uint8_t *>(scratch.start());
  context.thread = thread;
  context.threads = threads;
  context.runtime = all;
  context.barrier = [](const xf_abi_context *c) { static_cast<std::barrier<> *>(c->runtime)->arrive_and_wait(); };
  return context;
}

/// Makes one thread's call.
static void run(xf_abi_kernel_fn function, int64_t scratchBytes, std::vector<xf_abi_view> views, int thread, int threads, std::barrier<> *all) {
  views.push_back({}); // there is no following product
  Scratch scratch(scratchBytes);
  xf_abi_context context = contextOf(scratch, thread, threads, all);
  function(&context, views.data(), 0);
  for (uintptr_t i = scratch.start() + scratchBytes; i + 4 <= scratch.end(); i += 4)
    ASSERT_TRUE(std::isnan(*reinterpret_cast<float *>(i))) << "the kernel writes behind its scratch memory";
}

void Kernel::operator()(const std::vector<xf_abi_view> &views, int threads) const {
  for (int thread = 0; thread < threads; ++thread)
    run(function, scratchBytes, views, thread, threads, nullptr);
}

void Kernel::inTurn(llvm::ArrayRef<std::vector<xf_abi_view>> calls) const {
  Scratch scratch(scratchBytes);
  xf_abi_context context = contextOf(scratch, 0, 1, nullptr);
  for (auto &views : calls)
    function(&context, views.data(), 0);
}

void Kernel::together(const std::vector<xf_abi_view> &views, int threads) const {
  std::barrier<> all(threads);
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread)
    others.emplace_back([&, thread] { run(function, scratchBytes, views, thread, threads, &all); });
  run(function, scratchBytes, views, 0, threads, &all);
  for (std::thread &other : others)
    other.join();
}
