// The kernel of xf.row: each thread takes a contiguous range of rows, each row is walked over in passes (RowSchedule.h)
// of 16 elements at a time.
//
// A sum over a row is one chain of additions, each of which waits for the one before, and the next pass waits for the sum. Some rows are
// therefore walked over together: while one waits, the others go on.
//
// Sums are the same on every instruction set and for every way to split the rows: element i belongs to lane i mod 16,
// lanes outside the row count as the identity, and one tree combines the lanes.
#include "compiler/Target/CPU/Chunks.h"
#include "compiler/Target/CPU/KernelEmitters.h"
#include "compiler/Target/RegionVectorizer.h"
#include "compiler/Target/RowReduction.h"
#include "compiler/Target/RowSchedule.h"
#include "compiler/Target/VectorMath.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::cpu {
namespace {

Type elementOf(Value value) { return typeOf(value).getElementType(); }

/// Rows that are walked over together: as registers allow.
constexpr int64_t kMaxRows = 4;
int64_t rowsAtOnce(Isa isa) { return byRegisters<int64_t>(isa, 1, 2, kMaxRows); }

class RowEmitter {
public:
  RowEmitter(KernelBuilder &b, RowOp op, const KernelRequest &request)
      : b(b), op(op), request(request), body(op.getBody().front()), schedule(op, request.root) {}

  void emit();

private:
  /// Memory that holds a row: 16 elements are `stride` apart. `constantStride` is what is known of it. In a panel of
  /// elements of fewer bits, `group` of them stand together, and the stride is what it would be if they did not.
  struct Memory {
    Value address;
    int64_t constantStride;
    Value stride;
    int64_t group = 1;
  };

  /// One of the rows that are walked over together.
  struct Row {
    SmallVector<Memory> inputs, outputs;
    llvm::DenseMap<Operation *, Memory> tableRows;
    llvm::DenseMap<Value, Value> scalars; // values that are scalars
  };

  unsigned lastDim() { return typeOf(op.getResult(0)).getRank() - 1; }
  void findLength();
  Memory memoryOf(unsigned view, Value tensor, ArrayRef<int64_t> map, ArrayRef<Value> indices);
  Memory scratchMemory(unsigned index);
  Memory tableMemory(EmbedOp embed);
  /// The indices of the row behind that with `indices`.
  SmallVector<Value> nextIndices(ArrayRef<Value> indices);
  /// Finds the addresses of the row with `indices`.
  void beginRow(ArrayRef<Value> indices);
  /// Computes the rows that have been begun.
  void emitRows();
  void emitStatistics(unsigned level);
  void emitPass(unsigned pass);
  SmallVector<Value> emitChunk(ArrayRef<Value> running);
  Value emitValue(Value value);
  Value asVector(Value value) { return RegionVectorizer::isVector(value) ? value : b.splat(value); }
  Value chunkAddress(const Memory &memory, Type element);
  Value load(const Memory &memory, Type element);
  Value loadArgument(BlockArgument argument);
  Value loadGroups(const Memory &memory, Type element);
  void store(const Memory &memory, Value value);

  KernelBuilder &b;
  RowOp op;
  const KernelRequest &request;
  Block &body;
  RowSchedule schedule;
  Value length; // of a row; null if there are none

  SmallVector<Row, kMaxRows> rows;
  unsigned current = 0; // of `rows`
  Row &row() { return rows[current]; }

  // Of the current chunk.
  unsigned pass = 0;
  Value offset, count;
  llvm::DenseMap<Value, Value> vectors; // of the current row
  llvm::DenseMap<Value, Value> common;  // arguments that are the same in all rows
};

void RowEmitter::findLength() {
  std::optional<int64_t> staticLength;
  for (auto [i, argument] : llvm::enumerate(body.getArguments()))
    if (RowSchedule::isRow(argument) && !length) {
      staticLength = typeOf(argument).getDimSize(0);
      length = b.size(request.viewOf(op.getInputs()[i]), typeOf(op.getInputs()[i]).getRank() - 1);
    }
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    if (typeOf(result).getShape().back() != 1 && !length) {
      staticLength = typeOf(result).getShape().back();
      length = b.size(request.resultView() + i, lastDim());
    }
  // Embeddings that only a statistic is taken of.
  for (auto embed : body.getOps<EmbedOp>())
    if (!length && RowSchedule::isRow(embed.getResult()))
      staticLength = typeOf(embed.getResult()).getDimSize(0);
  if (staticLength && !ShapedType::isDynamic(*staticLength))
    length = b.i64(*staticLength);
}

/// The row of `tensor` at the results' leading `indices`.
RowEmitter::Memory RowEmitter::memoryOf(unsigned view, Value tensor, ArrayRef<int64_t> map, ArrayRef<Value> indices) {
  unsigned rank = map.size();
  Value start = b.i64(0);
  for (auto [d, target] : llvm::enumerate(map)) {
    if (target < 0 || target >= static_cast<int64_t>(indices.size()))
      continue;
    Value index = indices[target];
    if (auto slots = d == 0 ? request.slotsOf(tensor) : std::nullopt)
      index = b.loadIndex(*slots, index);
    start = b.add(start, b.mul(index, b.stride(view, d)));
  }
  Value address = b.at(b.data(view), start, elementOf(tensor));
  return {address, rank ? request.access.lastStride[view] : 1, rank ? b.stride(view, rank - 1) : Value()};
}

RowEmitter::Memory RowEmitter::scratchMemory(unsigned index) {
  Value rowElements = b.mul(b.ceilDiv(length, kLanes), kLanes);
  return {b.at(b.scratch(), b.mul(rowElements, current * schedule.scratchRows() + index), b.getF32Type()), 1, Value()};
}

/// The row of an embedding's table.
RowEmitter::Memory RowEmitter::tableMemory(EmbedOp embed) {
  Value table = embed.getTable(), id = b.toI64(row().scalars.lookup(embed.getIds()));
  unsigned view = request.viewOf(table);
  Type element = elementOf(table);
  if (!RowSchedule::isInPanels(table, request.root))
    return {b.at(b.data(view), b.mul(id, b.stride(view, 0)), element), request.access.lastStride[view], b.stride(view, 1)};
  int64_t group = panelGroup(element);
  Value panel = b.mul(b.div(id, b.i64(kLanes)), panelDepth(element, typeOf(table).getDimSize(1)) * kLanes);
  Value lane = b.mul(b.rem(id, b.i64(kLanes)), group);
  return {b.at(b.data(view), b.add(panel, lane), element), kLanes, b.i64(kLanes), group};
}

void RowEmitter::emit() {
  findLength();
  unsigned leading = lastDim(), view = request.resultView();
  Value total = b.i64(1);
  for (unsigned d = 0; d < leading; ++d)
    total = b.mul(total, b.size(view, d));
  auto [first, end] = b.share(total);
  // The rows' indices are counted up beside the row's index, which saves divisions.
  SmallVector<Value> indices(leading);
  Value rest = first;
  for (unsigned d = leading; d-- > 0;) {
    indices[d] = d == 0 ? rest : b.rem(rest, b.size(view, d));
    rest = d == 0 ? rest : b.div(rest, b.size(view, d));
  }
  auto walk = [&](Value from, Value to, int64_t together) {
    indices = b.loop(from, to, together, indices, [&](Value, ValueRange carried) {
      SmallVector<Value> next(carried);
      rows.clear();
      for (int64_t i = 0; i < together; ++i) {
        beginRow(next);
        next = nextIndices(next);
      }
      emitRows();
      return next;
    });
  };
  int64_t together = rowsAtOnce(b.isa());
  Value whole = b.sub(end, b.rem(b.sub(end, first), b.i64(together)));
  walk(first, whole, together);
  if (together > 1)
    walk(whole, end, 1);
}

SmallVector<Value> RowEmitter::nextIndices(ArrayRef<Value> indices) {
  SmallVector<Value> following(indices);
  Value carry = b.i64(1);
  for (unsigned d = following.size(); d-- > 0;) {
    Value next = b.add(following[d], carry);
    Value full = b.equal(next, b.size(request.resultView(), d));
    following[d] = d == 0 ? next : b.create<arith::SelectOp>(full, b.i64(0), next).getResult();
    carry = b.create<arith::ExtUIOp>(b.i64Type(), full);
  }
  return following;
}

void RowEmitter::beginRow(ArrayRef<Value> indices) {
  Row &begun = rows.emplace_back();
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    Value tensor = op.getInputs()[i];
    begun.inputs.push_back(memoryOf(request.viewOf(tensor), tensor, op.getMap(i), indices));
    if (!RowSchedule::isRow(argument))
      begun.scalars[argument] = b.load(elementOf(argument), begun.inputs.back().address);
  }
  SmallVector<int64_t> identityMap = llvm::to_vector(llvm::seq<int64_t>(0, lastDim() + 1));
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    begun.outputs.push_back(memoryOf(request.resultView() + i, result, identityMap, indices));
}

void RowEmitter::emitRows() {
  emitStatistics(0);
  for (unsigned p = 0; p < schedule.passes(); ++p) {
    emitPass(p);
    emitStatistics(p + 1);
  }
  for (Row &done : rows)
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      if (!RowSchedule::isRow(value))
        b.store(done.scalars.lookup(value), done.outputs[i].address);
}

/// Computes the rows' scalars that can be known once the passes below `level` are done.
void RowEmitter::emitStatistics(unsigned level) {
  for (current = 0; current < rows.size(); ++current)
    schedule.emitScalars(b, level, row().scalars, [&](EmbedOp embed) { return (row().tableRows[embed] = tableMemory(embed)).address; });
}

void RowEmitter::emitPass(unsigned p) {
  pass = p;
  ArrayRef<ReduceOp> reductions = schedule.reductions(p);
  SmallVector<Value> running;
  for (size_t i = 0; i < rows.size(); ++i)
    for (ReduceOp reduce : reductions)
      running.push_back(b.splat(RowReduction(reduce).identity(b)));
  running = forChunks(b, length, running, [&](Value at, Value lanes, ValueRange carried) {
    offset = at, count = lanes;
    common.clear();
    SmallVector<Value> sums(carried), next;
    for (current = 0; current < rows.size(); ++current)
      llvm::append_range(next, emitChunk(ArrayRef(sums).slice(current * reductions.size(), reductions.size())));
    return next;
  });
  for (auto [i, value] : llvm::enumerate(running)) {
    ReduceOp reduce = reductions[i % reductions.size()];
    rows[i / reductions.size()].scalars[reduce.getResult()] = RowReduction(reduce).reduceLanes(b, value);
  }
}

/// Elements offset … offset + 15 of the current row, or the first `count` of them.
SmallVector<Value> RowEmitter::emitChunk(ArrayRef<Value> running) {
  vectors.clear();
  SmallVector<Value> next;
  for (auto [reduce, sum] : llvm::zip(schedule.reductions(pass), running)) {
    RowReduction reduction(reduce);
    Value vector = asVector(emitValue(reduce.getX()));
    if (count) {
      Value nothing = b.splat(reduction.identity(b));
      vector = b.create<arith::SelectOp>(b.firstLanes(count), vector, nothing);
    }
    next.push_back(reduction.combine(b, vector, sum));
  }
  for (unsigned i : schedule.stores(pass))
    store(row().outputs[i], emitValue(body.getTerminator()->getOperand(i)));
  return next;
}

Value RowEmitter::chunkAddress(const Memory &memory, Type element) {
  Value distance = ShapedType::isDynamic(memory.constantStride) ? b.mul(offset, memory.stride) : b.mul(offset, memory.constantStride);
  return b.at(memory.address, distance, element);
}

Value RowEmitter::load(const Memory &memory, Type element) {
  if (memory.group > 1)
    return loadGroups(memory, element);
  return b.loadStrided(element, chunkAddress(memory, element), memory.constantStride, memory.stride, count);
}

/// 16 elements of a panel's lane, a word of four bytes for each group.
Value RowEmitter::loadGroups(const Memory &memory, Type element) {
  int64_t words = kLanes / memory.group;
  std::optional<int64_t> wanted = count ? getConstantIntValue(count) : kLanes;
  assert(wanted && "a table's width is static");
  Value address = chunkAddress(memory, element), nothing = b.i32(0);
  SmallVector<Value> parts(words, nothing);
  for (int64_t i = 0; i * memory.group < *wanted; ++i)
    parts[i] = b.load(b.getI32Type(), b.at(address, i * kLanes, b.getI32Type()));
  Value vector = b.create<vector::FromElementsOp>(VectorType::get({words}, b.getI32Type()), parts);
  Type bits = b.getIntegerType(32 / memory.group);
  return b.create<vector::BitCastOp>(b.vectorOf(bits), vector);
}

void RowEmitter::store(const Memory &memory, Value value) {
  value = asVector(value);
  Type element = cast<VectorType>(value.getType()).getElementType();
  b.storeStrided(value, chunkAddress(memory, element), memory.constantStride, memory.stride, count);
}

Value RowEmitter::loadArgument(BlockArgument argument) {
  unsigned argNumber = argument.getArgNumber();
  auto loaded = [&] { return load(row().inputs[argNumber], elementOf(argument)); };
  if (llvm::any_of(op.getMap(argNumber), [&](int64_t dim) { return dim >= 0 && dim < lastDim(); }))
    return loaded();
  Value &cached = common[argument];
  return cached = cached ? cached : loaded();
}

/// A value of the body for the current chunk: a vector, or a scalar if all elements share it.
Value RowEmitter::emitValue(Value value) {
  if (!RowSchedule::isRow(value))
    return row().scalars.lookup(value);
  if (Value found = vectors.lookup(value))
    return found;
  Value emitted;
  auto argument = dyn_cast<BlockArgument>(value);
  auto scratch = schedule.scratchRow(value);
  bool isKept = !argument && schedule.firstUse(value) < pass;
  if (argument)
    emitted = loadArgument(argument);
  else if (auto stored = schedule.storedAs(value); isKept && stored)
    emitted = load(row().outputs[*stored], elementOf(value));
  else if (isKept && scratch)
    emitted = load(scratchMemory(*scratch), elementOf(value));
  else if (auto embed = value.getDefiningOp<EmbedOp>())
    emitted = load(row().tableRows.lookup(embed), elementOf(value));
  else {
    auto map = value.getDefiningOp<MapOp>();
    RegionVectorizer region(b);
    for (auto [regionArgument, input] : llvm::zip(map.getBody().getArguments(), map.getInputs()))
      region.bind(regionArgument, emitValue(input));
    emitted = region.emit(map.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber()));
  }
  if (scratch && !isKept)
    store(scratchMemory(*scratch), emitted);
  vectors[value] = emitted;
  return emitted;
}

} // namespace

LogicalResult emitRow(KernelBuilder &b, RowOp op, const KernelRequest &request) {
  RowEmitter(b, op, request).emit();
  return success();
}

int64_t rowScratchBytes(RowOp op, ModuleOp root) {
  RowSchedule schedule(op, root);
  if (schedule.scratchRows() == 0)
    return 0;
  int64_t length = 1;
  auto consider = [&](Value value) {
    auto type = typeOf(value);
    length = std::max(length, type.isDynamicDim(0) ? getBound(root, getDimName(type, 0)).value_or(0) : type.getDimSize(0));
  };
  for (Operation &inner : op.getBody().front().without_terminator())
    for (Value result : inner.getResults())
      consider(result);
  return llvm::alignTo(length, kLanes) * sizeof(float) * schedule.scratchRows() * kMaxRows;
}

} // namespace xf::cpu
