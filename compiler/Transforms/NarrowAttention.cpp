// Attention with factors of 16 bits.
//
// Queries, keys and values are rounded where they are computed, so that the product that makes them writes them rounded, and
// states keep keys and values so: half the memory to read in every step. An attention whose keys and values are kept in
// a state that something else reads, too, stays f32, as do those that give their probabilities.
//
// Rounding changes scores by little compared with what tells keys apart, if their bias is no part of them (xf-drop-key-bias).
//
// Where many queries share keys and values, kernels may turn these into int16: not those of states, nor in a decoder, whose step gives the same bits.
#include "compiler/Transforms/MapUtils.h"
#include "compiler/Transforms/Passes.h"
#include "dialect/IR/ModuleRoles.h"

#include "llvm/ADT/SetVector.h"

namespace xf {
#define GEN_PASS_DEF_XFNARROWATTENTION
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

/// Whether `op` does nothing but round each element to `element`.
bool isRounding(Operation *op, Type element) {
  auto map = dyn_cast<MapOp>(op);
  if (!map || map.getInputs().size() != 1 || map->getNumResults() != 1 || !::xf::isIdentityMap(map.getMap(0)))
    return false;
  Operation *first = &map.getBody().front().front();
  return isa<arith::TruncFOp>(first) && first->getNextNode() == map.getBody().front().getTerminator() &&
         typeOf(map->getResult(0)).getElementType() == element;
}

class Narrower {
public:
  Narrower(ModuleOp module, Type element) : module(module), symbols(module), builder(module.getContext()), element(element) {}

  void run() {
    choose();
    for (StateOp state : states)
      state.setType(withElement(state.getTensorType(), element));
    for (Operation *access : accesses)
      narrow(access);
    for (AttendOp attend : attends) {
      for (OpOperand *factor : {&attend.getQMutable(), &attend.getKMutable(), &attend.getVMutable()})
        factor->set(narrow(factor->get()));
      narrowContext(attend);
      if (element.isBF16() && !stateOf(attend.getK().getDefiningOp()) && !stateOf(attend.getV().getDefiningOp()) && !isOfDecoder(attend))
        attend.setWords(true);
    }
    // Views that nobody reads any more would keep the rounding out of the product's epilogue.
    for (Operation *view : llvm::reverse(replaced))
      if (view->use_empty())
        view->erase();
  }

private:
  /// Finds the attentions that can be narrowed, and the states that they alone read.
  void choose() {
    llvm::SetVector<Operation *> candidates;
    module.walk([&](AttendOp op) {
      // Two elements of a key share a 32-bit word.
      if (!op.getProbabilities() && typeOf(op.getQ()).getElementType().isF32() && typeOf(op.getQ()).getDimSize(3) % 2 == 0)
        candidates.insert(op);
    });
    DenseMap<StateOp, SmallVector<Operation *>> users;
    module.walk([&](StateAccess access) { users[stateOf(access)].push_back(access); });
    auto isOnlyRead = [&](StateOp state) {
      return llvm::all_of(users[state], [&](Operation *op) {
        return llvm::all_of(op->getUses(), [&](OpOperand &use) { return candidates.contains(use.getOwner()) && use.getOperandNumber() > 0; });
      });
    };
    // A state that one attention keeps f32 keeps the others that read it f32, and so on.
    auto isFixed = [&](Operation *op) {
      auto attend = cast<AttendOp>(op);
      return llvm::any_of(ValueRange{attend.getK(), attend.getV()}, [&](Value value) {
        StateOp state = stateOf(value.getDefiningOp());
        return state && !isOnlyRead(state);
      });
    };
    while (candidates.remove_if(isFixed))
      ;
    for (Operation *op : candidates) {
      attends.push_back(cast<AttendOp>(op));
      for (Value value : {attends.back().getK(), attends.back().getV()})
        if (StateOp state = stateOf(value.getDefiningOp()); state && states.insert(state))
          llvm::append_range(accesses, users[state]);
    }
  }

  /// Whether `op` is in a decoder or in an entry derived from one.
  bool isOfDecoder(Operation *op) {
    ModuleRoles generate(module, kGenerateAttr);
    StringRef entry = op->getParentOfType<EntryOp>().getSymName();
    return llvm::is_contained({generate.name("decode"), generate.name("begin"), generate.name("step")}, entry);
  }

  StateOp stateOf(Operation *op) {
    auto access = dyn_cast_or_null<StateAccess>(op);
    return access ? symbols.lookup<StateOp>(access.getStateName()) : StateOp();
  }

  /// An access to a narrowed state: what is written, what is read.
  void narrow(Operation *access) {
    if (auto append = dyn_cast<AppendOp>(access))
      append.getXMutable().assign(narrow(append.getX()));
    else if (auto store = dyn_cast<StoreOp>(access))
      store.getXMutable().assign(narrow(store.getX()));
    for (Value result : access->getResults())
      result.setType(withElement(typeOf(result), element));
  }

  /// Whether all that reads `value` wants it rounded.
  bool isWantedNarrow(Value value) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      if (isa<RearrangeOp, SliceOp>(user))
        return isWantedNarrow(user->getResult(0));
      return llvm::is_contained(attends, user) || llvm::is_contained(accesses, user);
    });
  }

  /// `value` rounded. A view of a value that is wanted rounded as a whole becomes a view of the rounded one.
  Value narrow(Value value) {
    if (typeOf(value).getElementType() == element)
      return value;
    if (Value existing = rounded.lookup(value))
      return existing;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(value);
    Operation *view = value.getDefiningOp();
    Value result;
    if (isa_and_nonnull<RearrangeOp, SliceOp>(view) && (rounded.contains(view->getOperand(0)) || isWantedNarrow(view->getOperand(0)))) {
      Value source = narrow(view->getOperand(0));
      replaced.push_back(view);
      Operation *same = builder.clone(*view);
      same->setOperand(0, source);
      same->getResult(0).setType(withElement(typeOf(value), element));
      result = same->getResult(0);
    } else {
      result = ::xf::roundElements(builder, value, element);
    }
    return rounded[value] = result;
  }

  /// Makes attention give its context rounded, if all readers round it.
  void narrowContext(AttendOp attend) {
    Value context = attend.getOutput();
    SmallVector<Operation *> views;
    while (context.hasOneUse() && isa<RearrangeOp>(*context.user_begin())) {
      views.push_back(*context.user_begin());
      context = views.back()->getResult(0);
    }
    SmallVector<Operation *> users(context.getUsers());
    if (users.empty() || !llvm::all_of(users, [&](Operation *user) { return isRounding(user, element); }))
      return;
    attend.getOutput().setType(withElement(typeOf(attend.getOutput()), element));
    for (Operation *view : views)
      view->getResult(0).setType(withElement(typeOf(view->getResult(0)), element));
    for (Operation *rounding : users) {
      rounding->getResult(0).replaceAllUsesWith(context);
      rounding->erase();
    }
  }

  ModuleOp module;
  SymbolTable symbols;
  OpBuilder builder;
  Type element;
  SmallVector<AttendOp> attends;
  llvm::SetVector<StateOp> states;
  SmallVector<Operation *> accesses;
  DenseMap<Value, Value> rounded;
  SmallVector<Operation *> replaced; // views of rounded values, sources before their readers
};

struct NarrowAttention : ::xf::impl::XfNarrowAttentionBase<NarrowAttention> {
  using XfNarrowAttentionBase::XfNarrowAttentionBase;

  void runOnOperation() override {
    if (type != "bf16" && type != "f16") {
      getOperation()->emitError("type '") << type << "' of xf-narrow-attention is none of bf16, f16";
      return signalPassFailure();
    }
    MLIRContext *context = &getContext();
    Narrower(getOperation(), type == "f16" ? Type(Float16Type::get(context)) : Type(BFloat16Type::get(context))).run();
  }
};

} // namespace
