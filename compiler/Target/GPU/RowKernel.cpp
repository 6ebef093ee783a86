// The kernel of xf.row: 16 lanes walk over a row in the passes that the CPU takes (RowSchedule.h), lane i taking the
// elements i, i + 16, …: each lane holds the partial sum that the dialect says, and exchanges between lanes are the tree.
//
// What the CPU keeps in scratch between passes is computed again here: arithmetic is cheap.
#include "compiler/Target/CPU/RegionVectorizer.h"
#include "compiler/Target/CPU/RowSchedule.h"
#include "compiler/Target/CPU/VectorMath.h"
#include "compiler/Target/GPU/KernelEmitters.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {
namespace {

constexpr int64_t kThreads = 128, kLanes = cpu::kLanes, kRows = kThreads / kLanes;

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
  Place placeOf(unsigned view, Value tensor, ArrayRef<int64_t> map, ArrayRef<Value> indices);
  Place tablePlace(EmbedOp embed);
  void emitStatistics(unsigned level);
  void emitPass(unsigned number);
  Value emitValue(Value value);
  Value load(const Place &place, Type element) {
    Value distance = b.mul(offset, place.stride);
    if (place.group > 1) {
      Value inGroup = b.rem(offset, b.i64(place.group));
      distance = b.add(b.mul(b.sub(offset, inGroup), place.stride), inGroup);
    }
    return b.load(element, b.at(place.address, distance, element));
  }
  void store(const Place &place, Value value) {
    Type element = value.getType();
    b.ifThen(exists, [&] { b.store(value, b.at(place.address, b.mul(offset, place.stride), element)); });
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

  // Of the pass, and the element in it, that is being emitted.
  unsigned pass = 0;
  Value offset;
  DenseMap<Value, Value> elements;
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

void RowEmitter::emitPass(unsigned number) {
  pass = number;
  auto reductions = schedule.reductions(number);
  SmallVector<Value> running;
  for (ReduceOp reduce : reductions)
    running.push_back(cpu::identity(b, reduce.getKind(), elementOf(reduce.getX())));
  running = b.loop(lane, length, kLanes, running, [&](Value i, ValueRange carried) {
    offset = i;
    elements.clear();
    SmallVector<Value> next;
    for (auto [reduce, sum] : llvm::zip(reductions, carried))
      next.push_back(cpu::combine(b, reduce.getKind(), emitValue(reduce.getX()), sum));
    for (unsigned result : schedule.stores(number))
      store(outputs[result], emitValue(body.getTerminator()->getOperand(result)));
    return next;
  });
  for (auto [reduce, value] : llvm::zip(reductions, running))
    numbers[reduce.getResult()] = b.reduceOver(reduce.getKind(), value, kLanes);
}

/// A value of the body for the current element.
Value RowEmitter::emitValue(Value value) {
  if (!cpu::RowSchedule::isRow(value))
    return numbers.lookup(value);
  if (Value known = elements.lookup(value))
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
      region.bind(argument, emitValue(input));
    emitted = region.emit(map.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber()));
  }
  elements[value] = emitted;
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
