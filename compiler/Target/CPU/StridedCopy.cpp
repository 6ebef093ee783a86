#include "compiler/Target/CPU/StridedCopy.h"

#include "compiler/Target/CPU/Chunks.h"

using namespace mlir;

namespace xf::cpu {

Value TensorAccess::address(KernelBuilder &b, ArrayRef<Value> indices, Type element) const {
  Value sum = b.i64(0);
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value moved = index;
    if (dim == 0 && rows)
      moved = b.loadIndex(*rows, index);
    if (static_cast<int64_t>(dim) == axis && offset)
      moved = b.add(moved, offset);
    if (static_cast<int64_t>(dim) == axis && past)
      moved = b.add(moved, b.loadIndex(*past, indices.front()));
    sum = b.add(sum, b.mul(moved, dim + 1 == indices.size() ? elementStride(b, indices.size()) : b.stride(view, dim)));
  }
  return b.at(b.data(view), sum, element);
}

Value TensorAccess::elementStride(KernelBuilder &b, int64_t rank) const {
  return ShapedType::isDynamic(lastStride) ? b.stride(view, rank - 1) : b.i64(lastStride);
}

Elements TensorAccess::elements(KernelBuilder &b, ArrayRef<Value> indices, Type element) const {
  Value start = address(b, indices, element);
  return {start, elementStride(b, indices.size()), lastStride};
}

void copyElements(CodeBuilder &b, Type element, const Elements &from, const Elements &to, Value count) {
  forChunks(b, count, [&](Value first, Value lanes) {
    Value vector = b.loadStrided(element, b.at(from.start, b.mul(first, from.step), element), from.lastStride, from.step, lanes);
    b.storeStrided(vector, b.at(to.start, b.mul(first, to.step), element), to.lastStride, to.step, lanes);
  });
}

void copyTensor(KernelBuilder &b, RankedTensorType type, const TensorAccess &from, const TensorAccess &to) {
  int64_t rank = type.getRank();
  Type element = type.getElementType();
  if (rank == 0) {
    b.ifThen(b.equal(b.thread(), b.i64(0)), [&] { b.store(b.load(element, b.data(from.view)), b.data(to.view)); });
    return;
  }
  auto sizeOf = [&](int64_t dim) { return type.isDynamicDim(dim) ? b.size(from.view, dim) : b.i64(type.getDimSize(dim)); };
  // Elements that are alone in the last dimension, as those that are interleaved with others, are walked over along the one before it.
  int64_t inner = rank - 1;
  while (inner > 1 && type.getDimSize(inner) == 1)
    --inner;
  auto elementsOf = [&](const TensorAccess &access, ArrayRef<Value> indices) -> Elements {
    if (inner == rank - 1)
      return access.elements(b, indices, element);
    Value start = access.address(b, indices, element);
    return {start, b.stride(access.view, inner), ShapedType::kDynamic};
  };
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
    Elements source = elementsOf(from, indices);
    copyElements(b, element, source, elementsOf(to, indices), sizeOf(inner));
  });
}

} // namespace xf::cpu
