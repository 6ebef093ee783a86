#include "compiler/Target/GPU/RowEmitter.h"

#include "compiler/Target/RegionVectorizer.h"
#include "compiler/Target/RowReduction.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {

/// The elements of a lane that are under way together in rows that are not unrolled.
static constexpr int64_t kAtOnce = 8;
/// The most elements of a lane that are all read before anything is computed, in rows that are unrolled.
static constexpr int64_t kMaxReads = 128;

static Type elementOf(Value value) { return typeOf(value).getElementType(); }

RowEmitter::RowEmitter(GpuBuilder &builder, RowOp op, const KernelRequest &request)
    : b(builder), op(op), request(request), body(op.getBody().front()), schedule(op, request.root) {
  findLength();
  if (!canBeUnrolled(op))
    return;
  unrolled = *getConstantIntValue(length) / kLanes;
  int64_t rows = llvm::count_if(body.getArguments(), codegen::RowSchedule::isRow) + llvm::range_size(body.getOps<EmbedOp>());
  readsAll = unrolled * rows <= kMaxReads;
  elements.resize(unrolled);
}

bool RowEmitter::canBeUnrolled(RowOp op) {
  Block &body = op.getBody().front();
  SmallVector<Value> values(body.getArguments());
  llvm::append_range(values, body.getTerminator()->getOperands());
  for (auto embed : body.getOps<EmbedOp>())
    values.push_back(embed.getResult());
  llvm::erase_if(values, [](Value value) { return !codegen::RowSchedule::isRow(value); });
  return !values.empty() && llvm::all_of(values, [](Value value) {
    int64_t length = typeOf(value).getShape().back();
    return !ShapedType::isDynamic(length) && length % kLanes == 0 && length <= kMaxUnrolled;
  });
}

void RowEmitter::findLength() {
  auto consider = [&](Value value, unsigned view, unsigned dim) {
    if (length || !codegen::RowSchedule::isRow(value))
      return;
    int64_t known = typeOf(value).getShape().back();
    length = ShapedType::isDynamic(known) ? b.size(view, dim) : b.i64(known);
  };
  for (auto [i, argument] : llvm::enumerate(body.getArguments()))
    consider(argument, request.viewOf(op.getInputs()[i]), typeOf(op.getInputs()[i]).getRank() - 1);
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    consider(value, request.resultView() + i, leading());
  // Embeddings that only statistics read; their length is static.
  for (auto embed : body.getOps<EmbedOp>())
    consider(embed.getResult(), 0, 0);
}

/// The row of `tensor` at the results' leading `indices`.
RowEmitter::Memory RowEmitter::memoryOf(unsigned view, Value tensor, ArrayRef<int64_t> map, ArrayRef<Value> indices) {
  Value start = b.i64(0);
  for (auto [d, target] : llvm::enumerate(map)) {
    if (target < 0 || target >= static_cast<int64_t>(indices.size()))
      continue;
    Value index = indices[target];
    if (auto slots = d == 0 ? request.slotsOf(tensor) : std::nullopt)
      index = loadIndex(b, *slots, index);
    start = b.add(start, b.mul(index, b.stride(view, d)));
  }
  int64_t stride = map.empty() ? 1 : request.access.lastStride[view];
  Value step = ShapedType::isDynamic(stride) ? b.stride(view, map.size() - 1) : b.i64(stride);
  return {b.at(b.data(view), start, elementOf(tensor)), step};
}

/// The row of an embedding's table.
RowEmitter::Memory RowEmitter::tableMemory(EmbedOp embed) {
  Value table = embed.getTable(), id = b.toI64(scalars.lookup(embed.getIds()));
  unsigned view = request.viewOf(table);
  Type element = elementOf(table);
  if (!codegen::RowSchedule::isInPanels(table, request.root)) {
    int64_t stride = request.access.lastStride[view];
    Value step = ShapedType::isDynamic(stride) ? b.stride(view, 1) : b.i64(stride);
    return {b.at(b.data(view), b.mul(id, b.stride(view, 0)), element), step};
  }
  int64_t group = panelGroup(element);
  Value panel = b.mul(b.div(id, b.i64(kLanes)), panelDepth(element, typeOf(table).getDimSize(1)) * kLanes);
  Value first = b.mul(b.rem(id, b.i64(kLanes)), group);
  return {b.at(b.data(view), b.add(panel, first), element), b.i64(kLanes), group};
}

Value RowEmitter::rows() {
  Value rows = b.i64(1);
  for (unsigned d = 0; d < leading(); ++d)
    rows = b.mul(rows, b.size(request.resultView(), d));
  return rows;
}

/// Finds where the row lies in each tensor, and reads its scalars.
void RowEmitter::takeRow(Value row) {
  inputs.clear(), outputs.clear(), scalars.clear(), tableRows.clear();
  for (auto &known : elements)
    known.clear();
  unsigned view = request.resultView();
  SmallVector<Value> sizes;
  for (unsigned d = 0; d < leading(); ++d)
    sizes.push_back(b.size(view, d));
  SmallVector<Value> indices = b.delinearize(row, sizes);
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    Value tensor = op.getInputs()[i];
    inputs.push_back(memoryOf(request.viewOf(tensor), tensor, op.getMap(i), indices));
    if (!codegen::RowSchedule::isRow(argument))
      scalars[argument] = b.load(elementOf(argument), inputs.back().address);
  }
  SmallVector<int64_t> identity = llvm::to_vector(llvm::seq<int64_t>(0, leading() + 1));
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    outputs.push_back(memoryOf(view + i, result, identity, indices));
}

void RowEmitter::emit(Value row, Value stores, std::optional<Copy> copy, Value copies) {
  this->copy = copy, this->copies = copies;
  lane = b.rem(b.thread(), b.i64(kLanes));
  Value all = rows();
  exists = b.less(row, all);
  if (stores)
    exists = b.both(exists, stores);
  takeRow(b.min(row, b.sub(all, 1)));
  emitStatistics(0);
  if (readsAll)
    for (Value argument : body.getArguments())
      if (codegen::RowSchedule::isRow(argument))
        forOwn([&] { emitValue(argument); });
  for (unsigned p = 0; p < schedule.passes(); ++p) {
    emitPass(p);
    emitStatistics(p + 1);
  }
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (!codegen::RowSchedule::isRow(value))
      made.push_back({scalars.lookup(value), outputs[i].address});
  store(made, b.both(exists, b.equal(lane, b.i64(0))));
}

Value RowEmitter::load(const Memory &memory, Type element) {
  Value distance = b.mul(offset, memory.stride);
  if (memory.group > 1) {
    Value inGroup = b.rem(offset, b.i64(memory.group));
    distance = b.add(b.mul(b.sub(offset, inGroup), memory.stride), inGroup);
  }
  return b.load(element, b.at(memory.address, distance, element));
}

void RowEmitter::store(SmallVector<Made> &made, Value condition) {
  auto storeAll = [&] {
    for (auto [value, address] : made)
      b.store(value, address);
  };
  if (!made.empty())
    condition ? b.ifThen(condition, storeAll) : storeAll();
  made.clear();
}

void RowEmitter::storeMade() {
  store(copied, copies);
  store(made, exists);
}

/// Computes the row's scalars that are known once the passes below `level` are done.
void RowEmitter::emitStatistics(unsigned level) {
  schedule.emitScalars(b, level, scalars, [&](EmbedOp embed) { return (tableRows[embed] = tableMemory(embed)).address; });
}

/// Computes the current element in a pass; returns the running reductions with it.
SmallVector<Value> RowEmitter::emitElement(unsigned pass, ValueRange running) {
  SmallVector<Value> next;
  for (auto [reduce, sum] : llvm::zip(schedule.reductions(pass), running))
    next.push_back(codegen::RowReduction(reduce).combine(b, emitValue(reduce.getX()), sum));
  for (unsigned result : schedule.stores(pass)) {
    Value value = emitValue(body.getTerminator()->getOperand(result));
    const Memory &memory = outputs[result];
    made.push_back({value, b.at(memory.address, b.mul(offset, memory.stride), value.getType())});
    if (copy && copy->result == result)
      copied.push_back({value, b.at(copy->address, offset, value.getType())});
  }
  return next;
}

void RowEmitter::emitPass(unsigned pass) {
  auto reductions = schedule.reductions(pass);
  SmallVector<Value> running;
  for (ReduceOp reduce : reductions)
    running.push_back(codegen::RowReduction(reduce).identity(b));
  if (unrolled) {
    forOwn([&] { running = emitElement(pass, running); });
    if (readsAll)
      b.syncWarp(); // otherwise LLVM and ptxas move the reads to their uses, past the branch
    storeMade();
  } else {
    // Several elements of a lane are computed before the first is stored: compilers move no read across a store that may alias it.
    auto emitSome = [&](Value from, ValueRange carried, int64_t count) {
      SmallVector<Value> next(carried);
      for (int64_t i = 0; i < count; ++i) {
        offset = b.add(from, i * kLanes);
        elements[current].clear();
        next = emitElement(pass, next);
      }
      storeMade();
      return next;
    };
    constexpr int64_t kStep = kAtOnce * kLanes;
    Value whole = b.mul(b.div(length, kStep), kStep);
    running = b.loop(lane, whole, kStep, running, [&](Value i, ValueRange carried) { return emitSome(i, carried, kAtOnce); });
    running = b.loop(b.add(whole, lane), length, kLanes, running, [&](Value i, ValueRange carried) { return emitSome(i, carried, 1); });
  }
  for (auto [reduce, value] : llvm::zip(reductions, running))
    scalars[reduce.getResult()] = b.reduceOver(value, kLanes,
                                               [&](Value other, Value own) { return codegen::RowReduction(reduce).combine(b, other, own); });
}

/// A value of the body for the current element.
Value RowEmitter::emitValue(Value value) {
  if (!codegen::RowSchedule::isRow(value))
    return scalars.lookup(value);
  if (Value found = elements[current].lookup(value))
    return found;
  Value emitted;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    emitted = load(inputs[argument.getArgNumber()], elementOf(value));
  } else if (auto embed = value.getDefiningOp<EmbedOp>()) {
    emitted = load(tableRows.lookup(embed), elementOf(value));
  } else {
    auto map = value.getDefiningOp<MapOp>();
    codegen::RegionVectorizer region(b);
    for (auto [argument, input] : llvm::zip(map.getBody().getArguments(), map.getInputs()))
      region.bind(argument, emitValue(input), /*isElement=*/codegen::RowSchedule::isRow(input));
    emitted = region.emit(map.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber()));
  }
  elements[current][value] = emitted;
  return emitted;
}

} // namespace xf::gpu
