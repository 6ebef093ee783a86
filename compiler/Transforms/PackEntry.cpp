// Writing the twin of one entry.
//
// What cannot be packed (a mask that is computed for 16 keys at a time, a mean over positions) is computed on padded rows: on the
// padded tokens or on packed values that are spread. So values have two versions, and both are written where they may be needed.
#include "compiler/Transforms/PackSentences.h"
#include "dialect/IR/Producers.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace xf::pack {
namespace {

class EntryPacker {
public:
  EntryPacker(ModuleOp module, EntryOp entry, Dims dims, bool mayPad, StringRef typesName)
      : module(module), entry(entry), dims(dims), mayPad(mayPad), typesName(typesName), builder(module.getContext()) {}

  EntryOp run() {
    EntryOp twin = makeTwin();
    if (!twin)
      return {};
    builder.setInsertionPointToStart(&twin.getBody().front());
    if (!packBlock(entry.getBody().front()) || !packReturn(twin) || !packsProducts) {
      twin.erase();
      return {};
    }
    twin.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op))
        op->erase();
    });
    return twin;
  }

private:
  EntryOp makeTwin() {
    SmallVector<Type> types;
    SmallVector<StringRef> names;
    std::optional<unsigned> tokens, tokenTypes;
    for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes())) {
      bool isInteger = getElementTypeOrSelf(type).isInteger(32), isRows = dims.isRows(type);
      if (dims.hasSource(type) && !isRows)
        return {};
      if (isRows && isInteger && cast<RankedTensorType>(type).getRank() == 2) {
        std::optional<unsigned> &argIndex = !typesName.empty() && entry.getArgName(i) == typesName ? tokenTypes : tokens;
        if (argIndex)
          return {}; // the caller has the tokens of one source only
        argIndex = i;
      } else if (isRows && isInteger) {
        return {};
      }
      types.push_back(isRows && !isInteger ? dims.packed(type) : type);
      names.push_back(entry.getArgName(i));
    }
    if (!tokens)
      return {};
    Type i32 = builder.getI32Type();
    types.push_back(dims.packed(entry.getArgumentTypes()[*tokens]));
    types.push_back(makeTensor({ShapedType::kDynamic}, {dims.tokens}, i32));
    types.push_back(makeTensor({ShapedType::kDynamic, 2}, {dims.batch, ""}, i32));
    llvm::append_range(names, ArrayRef<StringRef>{"xf.tokens", "xf.positions", "xf.spans"});
    if (tokenTypes) {
      types.push_back(dims.packed(entry.getArgumentTypes()[*tokenTypes]));
      names.push_back("xf.types");
    }
    SmallVector<Type> results;
    SmallVector<StringRef> resultNames;
    for (auto [i, type] : llvm::enumerate(entry.getResultTypes())) {
      results.push_back(versionType(type));
      resultNames.push_back(entry.getResultName(i));
    }
    builder.setInsertionPointAfter(entry);
    auto twin = EntryOp::create(builder, entry.getLoc(), (entry.getSymName() + ".packed").str(), builder.getFunctionType(types, results), names,
                                resultNames, EntryKind::packed);
    SymbolTable(module).insert(twin);
    Block *body = twin.addBody();
    for (auto [i, argument] : llvm::enumerate(entry.getBody().getArguments())) {
      Value copy = body->getArgument(i);
      bool isPacked = copy.getType() != argument.getType();
      if (!isPacked)
        padded[argument] = copy;
      if (isPacked || !dims.hasSource(argument.getType()))
        packed[argument] = copy;
    }
    unsigned count = entry.getArgumentTypes().size();
    packed[entry.getBody().getArgument(*tokens)] = body->getArgument(count);
    positions = body->getArgument(count + 1);
    spans = body->getArgument(count + 2);
    if (tokenTypes)
      packed[entry.getBody().getArgument(*tokenTypes)] = body->getArgument(count + 3);
    return twin;
  }

  bool packBlock(Block &block) {
    for (Operation &op : block.without_terminator())
      if (!pack(&op))
        return false;
    return true;
  }

  bool pack(Operation *op) {
    if (auto repeat = dyn_cast<RepeatOp>(op))
      return packRepeat(repeat);
    if (auto attend = dyn_cast<AttendOp>(op); attend && packAttend(attend))
      return true;
    if (auto pack = dyn_cast<PackOp>(op); pack && pack.getLayout() != Layout::plain)
      if (Value x = packed.lookup(pack.getX()); x && dims.hasSource(pack.getX().getType())) {
        padded[pack.getResult()] = SpreadOp::create(builder, op->getLoc(), pack.getResult().getType(), pack.getLayout(), x, spans);
        return true;
      }
    if (auto store = dyn_cast<StoreOp>(op); store && packStore(store))
      return true;
    auto positionsOp = dyn_cast<PositionsOp>(op);
    if (positionsOp && !positionsOp.getPast() && positionsOp.getOffset() == 0 && dims.hasSource(positionsOp.getResult().getType()))
      packed[positionsOp.getResult()] = positions;
    else if (clonePacked(op) && !isa_and_nonnull<IntegerType>(elementOf(op)))
      return true;
    // Integers are cheap, and masks need them padded.
    return clonePadded(op) || (op->getNumResults() == 1 && packed.contains(op->getResult(0)));
  }

  static Type elementOf(Operation *op) { return op->getNumResults() ? getElementTypeOrSelf(op->getResult(0).getType()) : Type(); }
  /// The version of a value that stacks carry and entries return: packed if it has source positions, else padded.
  Type versionType(Type type) { return dims.hasSource(type) ? dims.packed(type) : type; }
  Value versionOf(Value value) { return dims.hasSource(value.getType()) ? packed.lookup(value) : padded.lookup(value); }
  /// These versions of all values; false if one value lacks it.
  bool versionsOf(ValueRange values, SmallVectorImpl<Value> &versions) {
    for (Value value : values)
      versions.push_back(versionOf(value));
    return !llvm::is_contained(versions, Value());
  }

  bool packAttend(AttendOp attend) {
    auto q = cast<RankedTensorType>(attend.getQ().getType()), k = cast<RankedTensorType>(attend.getK().getType());
    Value query = packed.lookup(attend.getQ()), keys = padded.lookup(attend.getK()), values = padded.lookup(attend.getV());
    bool isSelfAttention = getDimName(q, 0) == dims.batch && getDimName(q, 2) == dims.source && getDimName(k, 0) == dims.batch &&
                           getDimName(k, 2) == dims.source;
    if (!query || !keys || !values || !isSelfAttention || attend.getProbabilities())
      return false;
    IRMapping mapping;
    for (Value value : valuesRead(attend)) {
      Value version = value == attend.getQ() ? query : getPadded(value);
      if (!version)
        return false;
      mapping.map(value, version);
    }
    auto twin = cast<AttendOp>(builder.clone(*attend, mapping));
    twin.getSpansMutable().assign(spans);
    twin.getOutput().setType(cast<RankedTensorType>(dims.packed(attend.getOutput().getType())));
    packed[attend.getOutput()] = twin.getOutput();
    return true;
  }

  bool packStore(StoreOp store) {
    auto state = module.lookupSymbol<StateOp>(store.getName());
    Value x = packed.lookup(store.getX()), slots = padded.lookup(store.getSlots()), layer = padded.lookup(store.getLayer());
    if (!x || !slots || !layer || !dims.hasSource(store.getX().getType()) || !state || state.getLayout() == Layout::plain)
      return false;
    StoreOp::create(builder, store.getLoc(), x, store.getNameAttr(), layer, slots, spans, TypedAttr());
    return true;
  }

  bool packRepeat(RepeatOp repeat) {
    SmallVector<Value> inits, yielded;
    if (!versionsOf(repeat.getInits(), inits))
      return false;
    auto types = llvm::map_to_vector(repeat.getResultTypes(), [&](Type type) { return versionType(type); });
    auto twin = RepeatOp::create(builder, repeat.getLoc(), types, repeat.getCount(), inits);
    Block &body = twin.getBody().emplaceBlock();
    registerVersion(repeat.getLayer(), body.addArgument(builder.getIndexType(), repeat.getLoc()));
    for (auto [old, init] : llvm::zip(repeat.getCarried(), inits))
      registerVersion(old, body.addArgument(init.getType(), repeat.getLoc()));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&body);
    Operation *yield = repeat.getBody().front().getTerminator();
    if (!packBlock(repeat.getBody().front()) || !versionsOf(yield->getOperands(), yielded))
      return false;
    YieldOp::create(builder, yield->getLoc(), yielded);
    for (auto [old, result] : llvm::zip(repeat.getResults(), twin.getResults()))
      registerVersion(old, result);
    return true;
  }

  /// Registers the only version of a value: the packed one if it has source positions, else both.
  void registerVersion(Value old, Value value) {
    packed[old] = value;
    if (!dims.hasSource(old.getType()))
      padded[old] = value;
  }

  bool packReturn(EntryOp twin) {
    Operation *terminator = entry.getBody().front().getTerminator();
    SmallVector<Value> results;
    if (!versionsOf(terminator->getOperands(), results))
      return false;
    builder.setInsertionPointToEnd(&twin.getBody().front());
    ReturnOp::create(builder, terminator->getLoc(), results);
    return true;
  }

  bool isAlongSource(Value value, int64_t axis) const { return getDimName(cast<RankedTensorType>(value.getType()), axis) == dims.source; }

  /// Whether each row of the op's results depends on the same row of its operands only.
  bool isRowWise(Operation *op) {
    // A statistic over a row of positions, whatever else the results are, would mix all sentences that lie back to back.
    if (auto row = dyn_cast<RowOp>(op))
      return llvm::none_of(row.getBody().getOps<ReduceOp>(), [&](ReduceOp reduce) { return dims.hasSource(reduce.getX().getType()); });
    if (auto slice = dyn_cast<SliceOp>(op))
      return !isAlongSource(slice.getX(), slice.getAxis());
    if (auto concat = dyn_cast<ConcatOp>(op))
      return !isAlongSource(concat.getResult(), concat.getAxis());
    if (auto pack = dyn_cast<PackOp>(op))
      return pack.getLayout() == Layout::plain;
    return isa<ContractOp, RearrangeOp>(op);
  }

  /// Writes the op on packed operands.
  bool clonePacked(Operation *op) {
    auto isOfRows = [&](Type type) { return dims.hasSource(type) || !dims.hasBatch(type); };
    SmallVector<Value> values = valuesRead(op).takeVector();
    if (!isRowWise(op) || !llvm::all_of(op->getResultTypes(), [&](Type type) { return dims.hasSourceOnce(type); }) ||
        !llvm::all_of(values, [&](Value value) { return isOfRows(value.getType()) && packed.contains(value); }))
      return false;
    if (auto rearrange = dyn_cast<RearrangeOp>(op); rearrange && !staysRearrangement(rearrange))
      return false;
    IRMapping mapping = mapped(values, packed);
    Operation *twin = builder.clone(*op, mapping);
    for (OpResult result : twin->getResults())
      result.setType(dims.packed(result.getType()));
    // Rows along the positions have that dimension in the regions, too.
    for (Region &region : twin->getRegions()) {
      for (BlockArgument argument : region.getArguments())
        argument.setType(dims.packed(argument.getType()));
      for (Operation &inner : region.getOps())
        for (OpResult result : inner.getResults())
          result.setType(dims.packed(result.getType()));
    }
    packsProducts |= isa<ContractOp>(op);
    for (auto [old, result] : llvm::zip(op->getResults(), twin->getResults()))
      packed[old] = result;
    return true;
  }

  /// Whether the pattern, which names its axes itself, gives the packed result of the packed operand.
  bool staysRearrangement(RearrangeOp op) {
    auto emit = [&] {
      InFlightDiagnostic none;
      return none;
    };
    auto pattern = Rearrangement::parse(op.getPattern(), emit);
    if (failed(pattern))
      return false;
    auto type = pattern->apply(cast<RankedTensorType>(dims.packed(op.getX().getType())), op.getSizes(), emit);
    return succeeded(type) && *type == dims.packed(op.getResult().getType());
  }

  /// Writes the op as it is, on padded operands.
  bool clonePadded(Operation *op) {
    SmallVector<Value> values = valuesRead(op).takeVector();
    for (Value value : values)
      if (!getPadded(value))
        return false;
    // A reverse scan would begin in the padding of short sentences.
    if (auto scan = dyn_cast<ScanOp>(op); scan && scan.getReverse() && isAlongSource(scan.getResult(0), scan.getAxis()))
      return false;
    // Without a padding token the positions after a sentence may hold anything: attention does not see them, but other ops would.
    bool isOfPositions = llvm::any_of(values, [&](Value value) { return dims.hasSource(value.getType()); });
    bool staysThere = isRowWise(op) && llvm::all_of(op->getResultTypes(), [&](Type type) { return dims.hasSource(type); });
    if (isa<RepeatOp>(op) || (!mayPad && isOfPositions && op->getNumResults() && !staysThere))
      return false;
    IRMapping mapping = mapped(values, padded);
    Operation *twin = builder.clone(*op, mapping);
    for (auto [old, result] : llvm::zip(op->getResults(), twin->getResults())) {
      padded[old] = result;
      if (!dims.hasSource(old.getType()))
        packed[old] = result;
    }
    return true;
  }

  IRMapping mapped(ArrayRef<Value> values, const llvm::DenseMap<Value, Value> &version) {
    IRMapping mapping;
    for (Value value : values)
      mapping.map(value, version.lookup(value));
    return mapping;
  }

  /// The padded version of a value, spread from the packed one if there is none yet; null if it cannot be had.
  Value getPadded(Value value) {
    if (Value known = padded.lookup(value))
      return known;
    Value rows = packed.lookup(value);
    if (!rows || !mayPad)
      return {};
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(rows);
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!dims.isRows(value.getType()) || type.getRank() != 3 || type.isDynamicDim(2)) {
      // A value with its positions elsewhere, as a mean over them reads it, is a rearrangement of rows that can be spread.
      auto rearrange = value.getDefiningOp<RearrangeOp>();
      return rearrange && clonePadded(rearrange) ? padded.lookup(value) : Value();
    }
    return padded[value] = SpreadOp::create(builder, value.getLoc(), type, Layout::plain, rows, spans);
  }

  ModuleOp module;
  EntryOp entry;
  Dims dims;
  bool mayPad;
  StringRef typesName;
  OpBuilder builder;
  Value positions, spans;
  llvm::DenseMap<Value, Value> packed, padded; // versions of the entry's values; the same for a value without source positions
  bool packsProducts = false;
};

} // namespace

EntryOp packEntry(ModuleOp module, EntryOp entry, Dims dims, bool mayPad, StringRef types) {
  return EntryPacker(module, entry, dims, mayPad, types).run();
}

} // namespace xf::pack
