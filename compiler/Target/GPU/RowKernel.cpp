// The kernel of xf.row: 16 lanes walk over a row in the passes that the CPU takes (RowSchedule.h), lane i taking the
// elements i, i + 16, …: each lane holds the partial sum that the dialect says, and exchanges between lanes are the tree.
//
// A row of known, moderate length is written out: its elements stay in registers from pass to pass, and all of them are read at once, where a
// loop would wait for memory again and again. Of other rows what the CPU keeps in scratch between passes is computed again: arithmetic is cheap.
#include "compiler/Target/CPU/RegionVectorizer.h"
#include "compiler/Target/CPU/RowSchedule.h"
#include "compiler/Target/CPU/VectorMath.h"
#include "compiler/Target/GPU/KernelEmitters.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {
namespace {

constexpr int64_t kThreads = 128, kLanes = cpu::kLanes, kRows = kThreads / kLanes;
/// Of rows that are written out, what a lane reads at most.
constexpr int64_t kMostReads = 128;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
Type elementOf(Value value) { return typeOf(value).getElementType(); }

class RowEmitter {
public:
  RowEmitter(GpuBuilder b, RowOp op, const KernelRequest &request)
      : b(std::move(b)), op(op), request(request), body(op.getBody().front()), schedule(op, request.root) {}

  void emit();

private:
  /// Memory that holds a row: elements are `stride` apart, or lie in a panel of groups of `group`.
  struct Place {
    Value address, stride;
    int64_t group = 1;
  };

  unsigned leading() { return typeOf(op.getResult(0)).getRank() - 1; }
  void findLength();
  void decideForm();
  /// Of a row that is written out: for each of the lane's elements.
  void forOwn(function_ref<void()> body) {
    for (current = 0; current < writtenOut; ++current) {
      offset = b.add(lane, current * kLanes);
      body();
    }
  }
  Place placeOf(unsigned view, Value tensor, ArrayRef<int64_t> map, ArrayRef<Value> indices);
  Place tablePlace(EmbedOp embed);
  void emitStatistics(unsigned level);
  void emitPass(unsigned number);
  SmallVector<Value> emitElement(unsigned number, ValueRange running);
  Value emitValue(Value value);
  Value load(const Place &place, Type element) {
    Value distance = b.mul(offset, place.stride);
    if (place.group > 1) {
      Value inGroup = b.rem(offset, b.i64(place.group));
      distance = b.add(b.mul(b.sub(offset, inGroup), place.stride), inGroup);
    }
    return b.load(element, b.at(place.address, distance, element));
  }
  /// Stores what has been made, if the lanes' row is one of the tensor's.
  void storeMade() {
    b.ifThen(exists, [&] {
      for (auto [value, address] : made)
        b.store(value, address);
    });
    made.clear();
  }

  GpuBuilder b;
  RowOp op;
  const KernelRequest &request;
  Block &body;
  cpu::RowSchedule schedule;
  Value length;       // of a row; null if there are none
  Value exists;       // whether the lanes' row is one of the tensor's
  Value lane;         // of the 16
  SmallVector<Place> inputs, outputs;
  DenseMap<Operation *, Place> tableRows;
  DenseMap<Value, Value> numbers; // values that are one number

  /// The elements of a lane, if the row is written out; else 0.
  int64_t writtenOut = 0;
  // Of the element that is being emitted, and of others if the row is written out.
  int64_t current = 0;
  Value offset;
  SmallVector<DenseMap<Value, Value>> elements{1};
  SmallVector<std::pair<Value, Value>> made; // values and where they go
};

void RowEmitter::findLength() {
  auto consider = [&](Value value, unsigned view, unsigned dim) {
    if (length || !cpu::RowSchedule::isRow(value))
      return;
    int64_t known = typeOf(value).getShape().back();
    length = ShapedType::isDynamic(known) ? b.size(view, dim) : b.i64(known);
  };
  for (auto [i, argument] : llvm::enumerate(body.getArguments()))
    consider(argument, request.viewOf(op.getInputs()[i]), typeOf(op.getInputs()[i]).getRank() - 1);
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    consider(value, request.resultView() + i, leading());
  // Embeddings that only a statistic is taken of; their length is static.
  for (auto embed : body.getOps<EmbedOp>())
    consider(embed.getResult(), 0, 0);
}

void RowEmitter::decideForm() {
  auto known = length ? getConstantIntValue(length) : std::nullopt;
  if (!known || *known % kLanes != 0)
    return;
  int64_t rows = llvm::count_if(body.getArguments(), cpu::RowSchedule::isRow) + llvm::range_size(body.getOps<EmbedOp>());
  if (*known / kLanes * rows > kMostReads)
    return;
  writtenOut = *known / kLanes;
  elements.resize(writtenOut);
  // The registers that this takes: ptxas would rather have more blocks.
  b.setBlocksTogether(2);
}

/// The row of `tensor` at the results' leading `indices`.
RowEmitter::Place RowEmitter::placeOf(unsigned view, Value tensor, ArrayRef<int64_t> map, ArrayRef<Value> indices) {
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
RowEmitter::Place RowEmitter::tablePlace(EmbedOp embed) {
  Value table = embed.getTable(), id = b.toI64(numbers.lookup(embed.getIds()));
  unsigned view = request.viewOf(table);
  Type element = elementOf(table);
  if (!cpu::RowSchedule::isInPanels(table, request.root)) {
    int64_t stride = request.access.lastStride[view];
    Value step = ShapedType::isDynamic(stride) ? b.stride(view, 1) : b.i64(stride);
    return {b.at(b.data(view), b.mul(id, b.stride(view, 0)), element), step};
  }
  int64_t group = panelGroup(element);
  Value panel = b.mul(b.div(id, b.i64(kLanes)), panelDepth(element, typeOf(table).getDimSize(1)) * kLanes);
  Value first = b.mul(b.rem(id, b.i64(kLanes)), group);
  return {b.at(b.data(view), b.add(panel, first), element), b.i64(kLanes), group};
}

void RowEmitter::emit() {
  findLength();
  decideForm();
  unsigned view = request.resultView();
  SmallVector<Value> sizes;
  Value rows = b.i64(1);
  for (unsigned d = 0; d < leading(); ++d) {
    sizes.push_back(b.size(view, d));
    rows = b.mul(rows, sizes.back());
  }
  Value row = b.add(b.mul(b.block(), kRows), b.div(b.thread(), b.i64(kLanes)));
  lane = b.rem(b.thread(), b.i64(kLanes));
  // Exchanges need whole warps: lanes without a row compute the last one and store nothing.
  exists = b.less(row, rows);
  SmallVector<Value> indices = b.split(b.min(row, b.sub(rows, 1)), sizes);
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    Value tensor = op.getInputs()[i];
    inputs.push_back(placeOf(request.viewOf(tensor), tensor, op.getMap(i), indices));
    if (!cpu::RowSchedule::isRow(argument))
      numbers[argument] = b.load(elementOf(argument), inputs.back().address);
  }
  SmallVector<int64_t> identity = llvm::to_vector(llvm::seq<int64_t>(0, leading() + 1));
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    outputs.push_back(placeOf(view + i, result, identity, indices));
  emitStatistics(0);
  // What is read is under way before anything is computed.
  for (Value argument : body.getArguments())
    if (cpu::RowSchedule::isRow(argument))
      forOwn([&] { emitValue(argument); });
  for (unsigned p = 0; p < schedule.passes(); ++p) {
    emitPass(p);
    emitStatistics(p + 1);
  }
  Value writes = b.create<arith::AndIOp>(exists, b.equal(lane, b.i64(0)));
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (!cpu::RowSchedule::isRow(value))
      b.ifThen(writes, [&, i = i, value = value] { b.store(numbers.lookup(value), outputs[i].address); });
  b.finish();
}

/// What can be known of the row once the passes below `level` are done.
void RowEmitter::emitStatistics(unsigned level) {
  schedule.emitNumbers(b, level, numbers, [&](EmbedOp embed) { return (tableRows[embed] = tablePlace(embed)).address; });
}

/// The current element in a pass: what its reductions are then.
SmallVector<Value> RowEmitter::emitElement(unsigned number, ValueRange running) {
  SmallVector<Value> next;
  for (auto [reduce, sum] : llvm::zip(schedule.reductions(number), running))
    next.push_back(cpu::combine(b, reduce.getKind(), emitValue(reduce.getX()), sum));
  for (unsigned result : schedule.stores(number)) {
    Value value = emitValue(body.getTerminator()->getOperand(result));
    const Place &place = outputs[result];
    made.push_back({value, b.at(place.address, b.mul(offset, place.stride), value.getType())});
  }
  return next;
}

void RowEmitter::emitPass(unsigned number) {
  auto reductions = schedule.reductions(number);
  SmallVector<Value> running;
  for (ReduceOp reduce : reductions)
    running.push_back(cpu::identity(b, reduce.getKind(), elementOf(reduce.getX())));
  if (writtenOut) {
    forOwn([&] { running = emitElement(number, running); });
    b.meetWarp(); // else LLVM and ptxas bring the reads to where they are needed, behind the branch
    storeMade();
  } else {
    running = b.loop(lane, length, kLanes, running, [&](Value i, ValueRange carried) {
      offset = i;
      elements[current].clear();
      SmallVector<Value> next = emitElement(number, carried);
      storeMade();
      return next;
    });
  }
  for (auto [reduce, value] : llvm::zip(reductions, running))
    numbers[reduce.getResult()] = b.reduceOver(reduce.getKind(), value, kLanes);
}

/// A value of the body for the current element.
Value RowEmitter::emitValue(Value value) {
  if (!cpu::RowSchedule::isRow(value))
    return numbers.lookup(value);
  if (Value known = elements[current].lookup(value))
    return known;
  Value emitted;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    emitted = load(inputs[argument.getArgNumber()], elementOf(value));
  } else if (auto embed = value.getDefiningOp<EmbedOp>()) {
    emitted = load(tableRows.lookup(embed), elementOf(value));
  } else {
    auto map = value.getDefiningOp<MapOp>();
    cpu::RegionVectorizer region(b);
    for (auto [argument, input] : llvm::zip(map.getBody().getArguments(), map.getInputs()))
      cpu::RowSchedule::isRow(input) ? region.bindElement(argument, emitValue(input)) : region.bind(argument, emitValue(input));
    emitted = region.emit(map.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber()));
  }
  elements[current][value] = emitted;
  return emitted;
}

} // namespace

LogicalResult emitRow(RowOp op, const KernelRequest &request, Kernel &kernel) {
  RowEmitter(request.start(request.name, kThreads, op.getLoc()), op, request).emit();
  Launch launch{request.name.str(), kThreads, {}, kRows, 1, std::nullopt};
  unsigned rank = cast<RankedTensorType>(op.getResult(0).getType()).getRank();
  for (unsigned d = 0; d + 1 < rank; ++d)
    launch.factors.push_back({request.resultView(), d, 1});
  kernel.launches.push_back(launch);
  return success();
}

} // namespace xf::gpu
