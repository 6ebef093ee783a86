// Writes the step entry: each op over new positions, keys and values behind those of earlier calls.
#include "compiler/Transforms/DeriveStep.h"

#include "mlir/IR/SymbolTable.h"

namespace xf::step {

/// The pattern that brings dimension `axis` of `rank` to the front, or back.
static std::string rowsFirst(unsigned rank, unsigned axis, bool back) {
  std::string plain, moved = "d" + std::to_string(axis);
  for (unsigned i = 0; i < rank; ++i) {
    plain += (i ? " d" : "d") + std::to_string(i);
    if (i != axis)
      moved += " d" + std::to_string(i);
  }
  return back ? moved + " -> " + plain : plain + " -> " + moved;
}

Value moveRows(OpBuilder &builder, Value value, unsigned axis, bool back) {
  if (axis == 0)
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  auto pattern = rowsFirst(type.getRank(), axis, back);
  auto none = builder.getDictionaryAttr({});
  auto emit = [&] { return mlir::emitError(value.getLoc()); };
  // The pattern is a permutation of single axes: it fits any type.
  auto moved = *Rearrangement::parse(pattern, emit)->apply(type, none, emit);
  return RearrangeOp::create(builder, value.getLoc(), moved, value, builder.getStringAttr(pattern), none);
}

unsigned dimIndex(Type type, StringRef name) {
  auto names = getDimNames(cast<RankedTensorType>(type));
  return llvm::find(names, name) - names.begin();
}

int64_t countLayers(Block *block) {
  int64_t count = 1;
  for (Operation *op = block->getParentOp(); op; op = op->getParentOp())
    if (auto repeat = dyn_cast<RepeatOp>(op))
      count *= repeat.getCount();
  return count;
}

Value layerIndex(OpBuilder &builder, RepeatOp loop, Value layer, Value outer) {
  if (!loop->getParentOfType<RepeatOp>())
    return layer;
  Value count = arith::ConstantIndexOp::create(builder, loop.getLoc(), loop.getCount());
  Value first = arith::MulIOp::create(builder, loop.getLoc(), outer, count);
  return arith::AddIOp::create(builder, loop.getLoc(), first, layer);
}

LogicalResult copyStack(OpBuilder &builder, RepeatOp stack, const StackCopy &writer) {
  Block &from = stack.getBody().front();
  SmallVector<unsigned> kept;
  SmallVector<Value> inits;
  SmallVector<Type> results;
  for (unsigned k = 0; k < stack.getNumResults(); ++k) {
    bool isCarried = k < stack.getInits().size();
    if (!writer.isKept(stack.getResult(k)) && !(isCarried && writer.isKept(stack.getCarried()[k])))
      continue;
    kept.push_back(k);
    results.push_back(writer.typeOf(stack.getResult(k).getType()));
    if (isCarried)
      inits.push_back(writer.now(stack.getInits()[k]));
  }
  auto copy = RepeatOp::create(builder, stack.getLoc(), results, stack.getCountAttr(), inits);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&copy.getBody());
  writer.bind(stack.getLayer(), body->addArgument(builder.getIndexType(), stack.getLayer().getLoc()));
  for (auto [k, init] : llvm::zip(kept, inits))
    writer.bind(stack.getCarried()[k], body->addArgument(init.getType(), stack.getCarried()[k].getLoc()));
  if (failed(writer.writeBody(from)))
    return failure();
  auto *yield = from.getTerminator();
  YieldOp::create(builder, yield->getLoc(), llvm::map_to_vector(kept, [&](unsigned k) { return writer.now(yield->getOperand(k)); }));
  for (auto [i, k] : llvm::enumerate(kept))
    writer.bind(stack.getResult(k), copy.getResult(i));
  return success();
}

namespace {
class StepWriter : public StepBuilder {
public:
  StepWriter(Roles &roles, const Causality &causality, const BackwardSlice &needed, SmallVectorImpl<Stored> &stored)
      : StepBuilder(roles.decode.getContext()), roles(roles), causality(causality), needed(needed), stored(stored),
        symbols(roles.decode->getParentOp()) {
    batch = roles.batch;
    target = roles.target;
    fresh = roles.fresh;
  }

  FailureOr<EntryOp> write();

  Value now(Value value, StateRole role) override;
  Value history(Value value, StateRole role) override;
  void bind(Value value, Value now) override { values[value] = now; }
  bool isNeeded(Value value) const override { return needed.has(value); }
  Dependence get(Value value) const override { return causality.get(value); }
  std::pair<FlatSymbolRefAttr, Value> addState(Operation *op, RankedTensorType type, StringRef purpose) override {
    StateOp state = createState(op->getLoc(), op->getBlock(), type, purpose, false);
    return {FlatSymbolRefAttr::get(state), layers.lookup(op->getBlock())};
  }

private:
  LogicalResult writeBlock(Block &from);
  LogicalResult writeRepeat(RepeatOp repeat);
  StateOp createState(Location loc, Block *block, RankedTensorType type, StringRef purpose, bool sentences);
  /// Moves the insertion point to where a block's loads and appends go: before its own ops, behind those that are there already.
  void setToPrologue(Block *from);
  bool isKept(Value value) const { return needed.has(value) && get(value) != Dependence::sentence; }

  Roles &roles;
  const Causality &causality;
  const BackwardSlice &needed;
  SmallVectorImpl<Stored> &stored;
  EntryOp entry;
  SymbolTable symbols;
  llvm::DenseMap<Value, Value> values;
  llvm::DenseMap<std::pair<Value, unsigned>, Value> loads, appends; // by role
  llvm::DenseMap<Block *, Value> layers;                            // of a block of decode: its layer in the step
  llvm::DenseMap<Block *, Operation *> prologues;                   // of a block of decode: the step's op before its ops
  llvm::StringMap<unsigned> counts;
};

StringRef roleName(StateRole role) { return role == StateRole::keys ? "keys" : role == StateRole::values ? "values" : "past"; }

StateOp StepWriter::createState(Location loc, Block *block, RankedTensorType type, StringRef purpose, bool sentences) {
  std::string name = (Twine(roles.decode.getSymName()) + (sentences ? ".sentence." : ".") + purpose).str();
  name += "." + std::to_string(counts[name]++);
  OpBuilder b(entry);
  auto state = StateOp::create(b, loc, name, type, countLayers(block), sentences, Layout::plain);
  symbols.insert(state);
  return state;
}

void StepWriter::setToPrologue(Block *from) { builder.setInsertionPointAfter(prologues.lookup(from)); }

Value StepWriter::now(Value value, StateRole role) {
  if (get(value) != Dependence::sentence)
    return values.lookup(value);
  Value &load = loads[{value, unsigned(role)}];
  if (load)
    return load;
  auto type = cast<RankedTensorType>(value.getType());
  unsigned rows = dimIndex(type, batch);
  Block *from = value.getParentBlock();
  OpBuilder::InsertionGuard guard(builder);
  setToPrologue(from);
  // The state's type is what begin stores.
  SmallVector<int64_t> sizes(type.getShape());
  SmallVector<StringRef> names = getDimNames(type);
  std::rotate(sizes.begin(), sizes.begin() + rows, sizes.begin() + rows + 1);
  std::rotate(names.begin(), names.begin() + rows, names.begin() + rows + 1);
  auto first = makeTensor(sizes, names, type.getElementType());
  StateOp state = createState(value.getLoc(), from, first, role == StateRole::other ? "given" : roleName(role), true);
  stored.push_back({value, state});
  load = LoadOp::create(builder, value.getLoc(), first, FlatSymbolRefAttr::get(state), layers.lookup(from), slots);
  load = moveRows(builder, load, rows, true);
  prologues[from] = load.getDefiningOp();
  return load;
}

Value StepWriter::history(Value value, StateRole role) {
  Value &all = appends[{value, unsigned(role)}];
  if (all)
    return all;
  Value x = now(value, StateRole::other);
  Block *from = value.getParentBlock();
  OpBuilder::InsertionGuard guard(builder);
  if (isa<BlockArgument>(value))
    setToPrologue(from);
  else
    builder.setInsertionPointAfterValue(x);
  unsigned rows = dimIndex(x.getType(), batch);
  x = moveRows(builder, x, rows);
  unsigned axis = dimIndex(x.getType(), fresh);
  auto type = withDim(cast<RankedTensorType>(x.getType()), axis, ShapedType::kDynamic, target);
  StateOp state = createState(value.getLoc(), from, type, roleName(role), false);
  all = AppendOp::create(builder, value.getLoc(), type, x, FlatSymbolRefAttr::get(state), layers.lookup(from), builder.getI64IntegerAttr(axis), past);
  all = moveRows(builder, all, rows, true);
  if (isa<BlockArgument>(value))
    prologues[from] = all.getDefiningOp();
  return all;
}

LogicalResult StepWriter::writeBlock(Block &from) {
  for (Operation &op : from.without_terminator()) {
    if (llvm::none_of(op.getResults(), [&](Value v) { return isKept(v); }))
      continue;
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      if (failed(writeRepeat(repeat)))
        return failure();
    } else if (llvm::any_of(op.getResults(), [&](Value v) { return isPerPosition(get(v)); })) {
      if (failed(cast<CausalOpInterface>(op).buildStep(*this)))
        return failure();
    } else {
      clone(&op);
    }
  }
  return success();
}

LogicalResult StepWriter::writeRepeat(RepeatOp repeat) {
  YieldOp mark; // a placeholder to put loads and appends behind, erased when the body is complete
  auto writeBody = [&](Block &from) -> LogicalResult {
    Block *body = builder.getBlock();
    mark = YieldOp::create(builder, repeat.getLoc(), ValueRange());
    builder.setInsertionPoint(mark);
    layers[&from] = layerIndex(builder, repeat, values.lookup(repeat.getLayer()), layers.lookup(repeat->getBlock()));
    prologues[&from] = mark;
    builder.setInsertionPointToEnd(body);
    return writeBlock(from);
  };
  auto copied = copyStack(builder, repeat,
                          {[&](Value value) { return isKept(value); }, [&](Type type) { return stepType(type); },
                           [&](Value value) { return now(value, StateRole::other); }, [&](Value value, Value copy) { bind(value, copy); },
                           writeBody});
  mark.erase();
  return copied;
}

FailureOr<EntryOp> StepWriter::write() {
  EntryOp decode = roles.decode;
  builder.setInsertionPointAfter(decode);
  Value tokens = decode.getArgument(roles.tokens);
  auto rows = makeTensor({ShapedType::kDynamic}, {batch}, builder.getI32Type());
  Type result = stepType(decode.getResultTypes()[roles.logits]);
  auto type = builder.getFunctionType({stepType(tokens.getType()), rows, rows}, {result});
  StringRef names[] = {decode.getArgName(roles.tokens), "xf.past", "xf.slots"};
  entry = EntryOp::create(builder, decode.getLoc(), (decode.getSymName() + ".step").str(), type, names, {decode.getResultName(roles.logits)},
                          EntryKind::step);
  symbols.insert(entry);
  Block *body = entry.addBody(), &from = decode.getBody().front();
  bind(tokens, body->getArgument(0));
  past = body->getArgument(1);
  slots = body->getArgument(2);
  builder.setInsertionPointToStart(body);
  auto zero = arith::ConstantIndexOp::create(builder, decode.getLoc(), 0);
  layers[&from] = zero;
  prologues[&from] = zero;
  builder.setInsertionPointToEnd(body);
  if (failed(writeBlock(from))) {
    entry.erase();
    return failure();
  }
  auto terminator = cast<ReturnOp>(from.getTerminator());
  ReturnOp::create(builder, terminator.getLoc(), now(terminator.getOperand(roles.logits), StateRole::other));
  if (zero->use_empty())
    zero.erase();
  return entry;
}
} // namespace

FailureOr<EntryOp> writeStep(Roles &roles, const Causality &causality, const BackwardSlice &needed, SmallVectorImpl<Stored> &stored) {
  return StepWriter(roles, causality, needed, stored).write();
}

} // namespace xf::step
