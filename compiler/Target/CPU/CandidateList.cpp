#include "compiler/Target/CPU/CandidateList.h"

#include "compiler/Target/CPU/SharedFunction.h"

#include <limits>

using namespace mlir;

namespace xf::cpu {

namespace {

/// A logit and its token.
struct Candidate {
  Value logit, token;
};

} // namespace

static Candidate candidateAt(CodeBuilder &b, Value values, Value tokens, Value index) {
  return {b.load(b.getF32Type(), b.at(values, index, b.getF32Type())), b.load(b.getI32Type(), b.at(tokens, index, b.getI32Type()))};
}

static Value isBetter(CodeBuilder &b, const Candidate &x, const Candidate &y) {
  Value isGreater = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, x.logit, y.logit);
  Value isEqual = b.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x.logit, y.logit);
  Value isEarlier = b.create<arith::CmpIOp>(arith::CmpIPredicate::slt, x.token, y.token);
  return b.create<arith::OrIOp>(isGreater, b.both(isEqual, isEarlier));
}

void clearList(CodeBuilder &b, const CandidateList &list, Value count) {
  Value none = b.i32(-1);
  b.loop(b.i64(0), count, 1, [&](Value i) {
    b.store(b.f32(-std::numeric_limits<double>::infinity()), b.at(list.values, i, b.getF32Type()));
    b.store(none, b.at(list.tokens, i, b.getI32Type()));
  });
}

Value worstOf(CodeBuilder &b, const CandidateList &list) { return b.load(b.getF32Type(), b.at(list.values, b.sub(list.wanted, 1), b.getF32Type())); }

/// `void(ptr values, ptr tokens, i64 wanted, f32 logit, i32 token)`: from the last entry on, each takes the candidate before it
/// if the offered one is better than that, else the offered one if it is better than its own.
static LLVM::LLVMFuncOp getInsertion(ModuleOp module, Isa isa) {
  std::string name = ("xf.insert." + isaName(isa)).str();
  loadCodeDialects(module.getContext());
  Type ptr = LLVM::LLVMPointerType::get(module.getContext()), f32 = Float32Type::get(module.getContext());
  Type i64 = IntegerType::get(module.getContext(), 64), i32 = IntegerType::get(module.getContext(), 32);
  return getSharedFunction(module, name, {ptr, ptr, i64, f32, i32}, isa, [&](CodeBuilder &b) {
    Value values = b.argument(0), tokens = b.argument(1), wanted = b.argument(2);
    Candidate offered{b.argument(3), b.argument(4)};
    b.loop(b.i64(1), wanted, 1, [&](Value i) {
      Value index = b.sub(wanted, i);
      Candidate own = candidateAt(b, values, tokens, index), other = candidateAt(b, values, tokens, b.sub(index, 1));
      Value moves = isBetter(b, offered, other), fits = isBetter(b, offered, own);
      auto choose = [&](Value first, Value second, Value third) -> Value {
        return b.create<arith::SelectOp>(moves, first, b.create<arith::SelectOp>(fits, second, third));
      };
      b.store(choose(other.logit, offered.logit, own.logit), b.at(values, index, f32));
      b.store(choose(other.token, offered.token, own.token), b.at(tokens, index, i32));
    });
    b.ifThen(isBetter(b, offered, candidateAt(b, values, tokens, b.i64(0))), [&] {
      b.store(offered.logit, values);
      b.store(offered.token, tokens);
    });
  });
}

void offer(CodeBuilder &b, const CandidateList &list, Value logit, Value token) {
  Candidate worst = candidateAt(b, list.values, list.tokens, b.sub(list.wanted, 1));
  b.ifThen(isBetter(b, {logit, token}, worst),
           [&] { b.create<LLVM::CallOp>(getInsertion(b.module(), b.isa()), ValueRange{list.values, list.tokens, list.wanted, logit, token}); });
}

} // namespace xf::cpu
