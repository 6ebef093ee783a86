// Keys without their bias.
//
// A bias c of the keys adds q·c to all scores of a query alike, and a softmax does not see it: training leaves such a bias
// wherever it happens to drift. In f32 it does no harm. Rounded to bf16 a key keeps 8 bits of all of it, so that a large bias
// takes the bits of what tells keys apart.
//
// This holds where a masked score stays masked whatever the others are, and where attention's keys are the unchanged result of a
// linear, or some of its columns: after a rotation by positions the bias differs from key to key. Any other reader of the keys may
// depend on the bias, and so may a function of the score.
#include "compiler/Transforms/MapUtils.h"
#include "compiler/Transforms/Passes.h"
#include "dialect/IR/Producers.h"

#include "llvm/ADT/SetVector.h"

namespace xf {
#define GEN_PASS_DEF_XFDROPKEYBIAS
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

class KeyBiases {
public:
  explicit KeyBiases(ModuleOp module) : module(module) {}

  void drop() {
    module.walk([&](LinearOp linear) { addParts(linear); });
    for (StateOp state : module.getOps<StateOp>())
      if (isReadAsKeys(state))
        states.insert(state.getSymName());
    // All that is written into a state loses its bias, or nothing does.
    do
      parts.remove_if([&](Value part) { return !areKeys(part); });
    while (states.remove_if([&](StringRef state) { return !isWrittenByParts(state); }));
    for (Value part : parts)
      clear(part);
  }

private:
  static LinearOp linearOf(Value part) {
    auto slice = part.getDefiningOp<SliceOp>();
    return (slice ? slice.getX() : part).getDefiningOp<LinearOp>();
  }

  void addParts(LinearOp linear) {
    if (!linear.getBias() || !dependsOnParametersOnly(linear.getBias()))
      return;
    SmallVector<Value> slices = slicesOf(linear);
    if (slices.empty())
      slices.push_back(linear.getResult());
    parts.insert(slices.begin(), slices.end());
  }

  /// The slices of columns that read a linear, if they are disjoint and its only readers; else none.
  static SmallVector<Value> slicesOf(LinearOp linear) {
    SmallVector<SliceOp> slices;
    for (Operation *user : linear->getUsers()) {
      auto slice = dyn_cast<SliceOp>(user);
      if (!slice || static_cast<int64_t>(slice.getAxis()) != typeOf(linear.getResult()).getRank() - 1 || slice.getStep() != 1)
        return {};
      slices.push_back(slice);
    }
    llvm::sort(slices, [](SliceOp x, SliceOp y) { return x.getStart() < y.getStart(); });
    for (size_t i = 1; i < slices.size(); ++i)
      if (static_cast<int64_t>(slices[i].getStart()) <= slices[i - 1].getLast())
        return {};
    return llvm::map_to_vector(slices, [](SliceOp slice) { return Value(slice.getResult()); });
  }

  /// Whether `use` is as the keys of an attention that gives the same when something is added to all scores of a query.
  static bool isOfKeys(OpOperand &use) {
    auto attend = dyn_cast<AttendOp>(use.getOwner());
    return attend && &use == &attend.getKMutable() && !attend.isFillAScore() && attend.getScore().empty();
  }

  /// Whether all readers of `value` use it as keys, perhaps through a state.
  bool areKeys(Value value) const {
    return llvm::all_of(value.getUses(), [&](OpOperand &use) {
      Operation *reader = use.getOwner();
      if (isa<RearrangeOp>(reader))
        return areKeys(reader->getResult(0));
      auto access = dyn_cast<StateAccess>(reader);
      bool isWritten = access && use.getOperandNumber() == 0 && states.contains(access.getStateName());
      // A bias has no dynamic dimension: it is the same for all positions.
      return (isWritten || isOfKeys(use)) && typeOf(value).isDynamicDim(2);
    });
  }

  bool isReadAsKeys(StateOp state) {
    auto uses = SymbolTable::getSymbolUses(state, module);
    if (!uses)
      return false;
    bool isRead = false;
    for (const SymbolTable::SymbolUse &use : *uses) {
      Operation *access = use.getUser();
      if (!isa<StateAccess>(access) || !llvm::all_of(access->getUses(), isOfKeys))
        return false;
      isRead |= !access->use_empty();
    }
    return isRead;
  }

  bool isWrittenByParts(StringRef state) {
    bool only = true;
    module.walk([&](StateAccess access) {
      if (isa<LoadOp>(access) || access.getStateName() != state)
        return;
      Value written = access->getOperand(0);
      while (auto view = written.getDefiningOp<RearrangeOp>())
        written = view.getX();
      only &= parts.contains(written);
    });
    return only;
  }

  /// Zeroes the bias of a part's columns.
  static void clear(Value part) {
    LinearOp linear = linearOf(part);
    OpBuilder builder(linear);
    Value bias = linear.getBias();
    Location loc = bias.getLoc();
    RankedTensorType type = typeOf(bias);
    auto slice = part.getDefiningOp<SliceOp>();
    int64_t start = slice ? slice.getStart() : 0, end = start + typeOf(part).getShape().back(), size = type.getDimSize(0);
    auto columns = [&](int64_t from, int64_t to) -> Value {
      if (to - from == size)
        return bias;
      return SliceOp::create(builder, loc, withDim(type, 0, to - from, ""), bias, builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(from),
                             builder.getI64IntegerAttr(1));
    };
    ::xf::MapBuilder zeros{builder, loc};
    zeros.add(columns(start, end), ::xf::identityMap(1));
    MapOp map = zeros.create({withDim(type, 0, end - start, "")},
                             [&](OpBuilder &b, ValueRange) { return SmallVector<Value>{arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0))}; });
    SmallVector<Value> all{map->getResult(0)};
    if (start > 0)
      all.insert(all.begin(), columns(0, start));
    if (end < size)
      all.push_back(columns(end, size));
    linear.getBiasMutable().assign(all.size() == 1 ? all[0] : ConcatOp::create(builder, loc, type, all, builder.getI64IntegerAttr(0)).getResult());
  }

  ModuleOp module;
  llvm::SetVector<Value> parts;      // of linears with a bias: results, or slices of them
  llvm::SetVector<StringRef> states; // of keys
};

struct DropKeyBias : ::xf::impl::XfDropKeyBiasBase<DropKeyBias> {
  void runOnOperation() override { KeyBiases(getOperation()).drop(); }
};

} // namespace
