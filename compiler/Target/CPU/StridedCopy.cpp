#include "compiler/Target/CPU/StridedCopy.h"

using namespace mlir;

namespace xf::cpu {

Value loadIndex(KernelBuilder &b, unsigned view, Value index) {
  Type i32 = b.getI32Type();
  return b.toI64(b.load(i32, b.at(b.data(view), b.mul(index, b.stride(view, 0)), i32)));
}

std::pair<Value, Value> loadSpan(KernelBuilder &b, unsigned view, Value index) {
  Type i32 = b.getI32Type();
  auto member = [&](Value offset) { return b.toI64(b.load(i32, b.at(b.data(view), offset, i32))); };
  Value first = b.mul(index, b.stride(view, 0));
  return {member(first), member(b.add(first, b.stride(view, 1)))};
}

Value Place::address(KernelBuilder &b, ArrayRef<Value> indices, Type element) const {
  Value sum = b.i64(0);
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value moved = index;
    if (dim == 0 && rows)
      moved = loadIndex(b, *rows, index);
    if (static_cast<int64_t>(dim) == axis && offset)
      moved = b.add(moved, offset);
    if (static_cast<int64_t>(dim) == axis && past)
      moved = b.add(moved, loadIndex(b, *past, indices.front()));
    sum = b.add(sum, b.mul(moved, dim + 1 == indices.size() ? elementStride(b, indices.size()) : b.stride(view, dim)));
  }
  return b.at(b.data(view), sum, element);
}

Value Place::elementStride(KernelBuilder &b, int64_t rank) const {
  return ShapedType::isDynamic(lastStride) ? b.stride(view, rank - 1) : b.i64(lastStride);
}

/// Copies `count` elements.
static void copyRow(KernelBuilder &b, Type element, Value from, int64_t fromStride, Value fromStep, Value to,
                    int64_t toStride, Value toStep, Value count) {
  auto copy = [&](Value first, Value lanes) {
    Value vector = b.loadStrided(element, b.at(from, b.mul(first, fromStep), element), fromStride, fromStep, lanes);
    b.storeStrided(vector, b.at(to, b.mul(first, toStep), element), toStride, toStep, lanes);
  };
  Value rest = b.rem(count, b.i64(kLanes)), whole = b.sub(count, rest);
  b.loop(b.i64(0), whole, kLanes, [&](Value first) { copy(first, nullptr); });
  std::optional<int64_t> known = getConstantIntValue(rest);
  if (known == 0)
    return;
  if (known)
    copy(whole, rest);
  else
    b.ifThen(b.less(b.i64(0), rest), [&] { copy(whole, rest); });
}

void copyTensor(KernelBuilder &b, RankedTensorType type, const Place &from, const Place &to) {
  int64_t rank = type.getRank();
  Type element = type.getElementType();
  if (rank == 0) {
    b.ifThen(b.equal(b.thread(), b.i64(0)), [&] { b.store(b.load(element, b.data(from.view)), b.data(to.view)); });
    return;
  }
  auto sizeOf = [&](int64_t dim) {
    return type.isDynamicDim(dim) ? b.size(from.view, dim) : b.i64(type.getDimSize(dim));
  };
  // Elements that are alone in the last dimension, as those that are interleaved with others, are walked over along the one before it.
  int64_t inner = rank - 1;
  while (inner > 1 && type.getDimSize(inner) == 1)
    --inner;
  auto strideOf = [&](const Place &place) { return inner == rank - 1 ? place.lastStride : ShapedType::kDynamic; };
  auto stepOf = [&](const Place &place) { return inner == rank - 1 ? place.elementStride(b, rank) : b.stride(place.view, inner); };
  Value tasks = b.i64(1);
  for (int64_t dim = 0; dim < inner; ++dim)
    tasks = b.mul(tasks, sizeOf(dim));
  auto [begin, end] = b.share(tasks);
  b.loop(begin, end, 1, [&](Value task) {
    SmallVector<Value> indices(rank, b.i64(0));
    for (int64_t dim = inner - 1; dim > 0; --dim) {
      indices[dim] = b.rem(task, sizeOf(dim));
      task = b.div(task, sizeOf(dim));
    }
    if (rank > 1)
      indices[0] = task;
    copyRow(b, element, from.address(b, indices, element), strideOf(from), stepOf(from), to.address(b, indices, element), strideOf(to), stepOf(to),
            sizeOf(inner));
  });
}

} // namespace xf::cpu
