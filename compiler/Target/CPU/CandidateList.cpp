#include "compiler/Target/CPU/CandidateList.h"

#include <limits>

using namespace mlir;

namespace xf::cpu {

static Value isGreater(CodeBuilder &b, Value x, Value y) {
  return b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, x, y);
}

void clearList(CodeBuilder &b, const CandidateList &list, Value count) {
  Value none = b.create<arith::ConstantIntOp>(b.getI32Type(), -1);
  b.loop(b.i64(0), count, 1, [&](Value i) {
    b.store(b.f32(-std::numeric_limits<double>::infinity()), b.at(list.values, i, b.getF32Type()));
    b.store(none, b.at(list.tokens, i, b.getI32Type()));
  });
}

Value worstOf(CodeBuilder &b, const CandidateList &list) {
  return b.load(b.getF32Type(), b.at(list.values, b.sub(list.wanted, 1), b.getF32Type()));
}

/// `void(ptr values, ptr tokens, i64 wanted, f32 logit, i32 token)`: from the last place on, each takes what stands before it
/// if the logit exceeds that, else the logit if it exceeds its own.
static LLVM::LLVMFuncOp getInsertion(ModuleOp module, Isa isa) {
  std::string name = ("xf.insert." + isaName(isa)).str();
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  loadCodeDialects(module.getContext());
  Type ptr = LLVM::LLVMPointerType::get(module.getContext()), f32 = Float32Type::get(module.getContext());
  Type i64 = IntegerType::get(module.getContext(), 64), i32 = IntegerType::get(module.getContext(), 32);
  CodeBuilder b(module, name, {ptr, ptr, i64, f32, i32}, isa, module.getLoc());
  b.function().setLinkage(LLVM::Linkage::Internal);
  b.function().setNoInline(true);
  Value values = b.argument(0), tokens = b.argument(1), wanted = b.argument(2), logit = b.argument(3), token = b.argument(4);
  b.loop(b.i64(1), wanted, 1, [&](Value i) {
    Value place = b.sub(wanted, i), before = b.sub(place, 1);
    Value own = b.load(f32, b.at(values, place, f32)), other = b.load(f32, b.at(values, before, f32));
    Value moves = isGreater(b, logit, other), fits = isGreater(b, logit, own);
    auto choose = [&](Value first, Value second, Value third) -> Value {
      return b.create<arith::SelectOp>(moves, first, b.create<arith::SelectOp>(fits, second, third));
    };
    b.store(choose(other, logit, own), b.at(values, place, f32));
    b.store(choose(b.load(i32, b.at(tokens, before, i32)), token, b.load(i32, b.at(tokens, place, i32))), b.at(tokens, place, i32));
  });
  b.ifThen(isGreater(b, logit, b.load(f32, values)), [&] {
    b.store(logit, values);
    b.store(token, tokens);
  });
  b.finish();
  return b.function();
}

void offer(CodeBuilder &b, const CandidateList &list, Value logit, Value token) {
  b.ifThen(isGreater(b, logit, worstOf(b, list)), [&] {
    b.create<LLVM::CallOp>(getInsertion(b.module(), b.isa()), ValueRange{list.values, list.tokens, list.wanted, logit, token});
  });
}

} // namespace xf::cpu
