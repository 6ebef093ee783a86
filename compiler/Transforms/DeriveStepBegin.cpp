// Writes the begin entry: what the step needs of a sentence, computed once and stored in its slot.
#include "compiler/Transforms/DeriveStep.h"

namespace xf::step {
namespace {
class BeginWriter {
public:
  BeginWriter(Roles &roles, ArrayRef<Stored> stored) : roles(roles), stored(stored), builder(roles.decode.getContext()) {
    for (const Stored &each : stored)
      needed.add(each.value);
  }

  EntryOp write(EntryOp step);

private:
  void writeBlock(Block &from, Value layer);
  void writeRepeat(RepeatOp repeat, Value outer);
  void store(Value value, Value layer);

  Roles &roles;
  ArrayRef<Stored> stored;
  BackwardSlice needed;
  OpBuilder builder;
  IRMapping mapping;
  Value slots;
};

void BeginWriter::store(Value value, Value layer) {
  for (const Stored &each : stored)
    if (each.value == value) {
      Value x = moveRows(builder, mapping.lookup(value), dimIndex(value.getType(), roles.batch));
      StoreOp::create(builder, value.getLoc(), x, FlatSymbolRefAttr::get(each.state), layer, slots,
                      /*spans=*/Value(), TypedAttr());
    }
}

void BeginWriter::writeBlock(Block &from, Value layer) {
  for (BlockArgument argument : from.getArguments())
    store(argument, layer);
  for (Operation &op : from.without_terminator()) {
    if (!needed.has(&op))
      continue;
    if (auto repeat = dyn_cast<RepeatOp>(op))
      writeRepeat(repeat, layer);
    else
      builder.clone(op, mapping);
    for (Value result : op.getResults())
      store(result, layer);
  }
}

void BeginWriter::writeRepeat(RepeatOp repeat, Value outer) {
  auto writeBody = [&](Block &from) {
    writeBlock(from, layerIndex(builder, repeat, mapping.lookup(repeat.getLayer()), outer));
    return success();
  };
  (void)copyStack(builder, repeat,
                  {[&](Value value) { return needed.has(value); }, [](Type type) { return type; }, [&](Value value) { return mapping.lookup(value); },
                   [&](Value value, Value copy) { mapping.map(value, copy); }, writeBody});
}

EntryOp BeginWriter::write(EntryOp step) {
  EntryOp decode = roles.decode;
  Block &from = decode.getBody().front();
  SmallVector<Type> types;
  SmallVector<StringRef> names;
  SmallVector<BlockArgument> arguments;
  for (BlockArgument argument : from.getArguments())
    if (needed.has(argument)) {
      arguments.push_back(argument);
      types.push_back(argument.getType());
      names.push_back(decode.getArgName(argument.getArgNumber()));
    }
  names.push_back("xf.slots");
  types.push_back(makeTensor({ShapedType::kDynamic}, {roles.batch}, builder.getI32Type()));
  SymbolTable symbols(decode->getParentOp());
  builder.setInsertionPoint(step);
  auto begin = EntryOp::create(builder, decode.getLoc(), (decode.getSymName() + ".begin").str(), builder.getFunctionType(types, {}), names, {},
                               EntryKind::begin);
  symbols.insert(begin);
  Block *body = begin.addBody();
  for (auto [argument, copy] : llvm::zip(arguments, body->getArguments())) {
    copy.setLoc(argument.getLoc());
    mapping.map(argument, copy);
  }
  slots = body->getArguments().back();
  builder.setInsertionPointToStart(body);
  auto zero = arith::ConstantIndexOp::create(builder, decode.getLoc(), 0);
  writeBlock(from, zero);
  ReturnOp::create(builder, from.getTerminator()->getLoc(), ValueRange());
  if (zero->use_empty())
    zero->erase();
  return begin;
}
} // namespace

EntryOp writeBegin(Roles &roles, EntryOp step, ArrayRef<Stored> stored) { return BeginWriter(roles, stored).write(step); }

} // namespace xf::step
