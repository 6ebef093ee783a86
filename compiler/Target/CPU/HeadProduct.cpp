#include "compiler/Target/CPU/HeadProduct.h"

#include "compiler/Target/CPU/FactorArithmetic.h"

#include "llvm/ADT/bit.h"

using namespace mlir;

namespace xf::cpu {

/// How many sums, each a vector's chain of dependent multiply-adds, to have at once: as many as leave registers for their operands.
static int64_t chains(Isa isa) { return byRegisters(isa, 2, 4, 8); }

int64_t headsTogether(Isa isa, int64_t heads, int64_t ratio, int64_t width) {
  // Wide heads have several panels, hence chains, of their own; and each head more is a stream more through the cache.
  int64_t maxTogether = std::min<int64_t>(chains(isa), width > kLanes ? 4 : kMaxHeads);
  for (int64_t together = maxTogether; together > 1; --together)
    if (heads % together == 0 && (together % ratio == 0 || ratio % together == 0))
      return together;
  return 1;
}

/// `width` panels from `first` on.
static void emitPanels(CodeBuilder &b, const HeadProduct &p, Value first, int64_t width) {
  FactorArithmetic factors(b, p.kind.factor);
  Type f32 = b.getF32Type(), element = factors.element();
  int64_t groups = llvm::divideCeil(p.heads, p.ratio), line = p.kind.pitch * kLanes * factors.group();
  SmallVector<Value> panels;
  for (int64_t group = 0; group < groups; ++group)
    for (int64_t i = 0; i < width; ++i) {
      Value offset = b.add(b.mul(p.headStride, group), b.mul(b.add(first, i), p.panelStride));
      panels.push_back(b.at(p.b, offset, element));
    }
  SmallVector<Value> sums(p.heads * width, b.splatF32(0));
  sums = b.loop(b.i64(0), p.depth, 1, sums, [&](Value k, ValueRange carried) {
    SmallVector<FactorArithmetic::Parts> columns;
    for (Value panel : panels) {
      Value address = b.at(panel, b.mul(k, line), element);
      if (p.ahead)
        b.prefetch(b.at(address, p.ahead, b.getI8Type()), CodeBuilder::Cache::secondLevel);
      columns.push_back(factors.loadPanel(address));
    }
    SmallVector<Value> next;
    for (int64_t head = 0; head < p.heads; ++head) {
      auto x = factors.loadRow(b.at(b.at(p.a, b.mul(k, factors.group()), element), head * p.aStride, element));
      for (int64_t i = 0; i < width; ++i)
        next.push_back(factors.multiplyAdd(x, columns[head / p.ratio * width + i], carried[next.size()]));
    }
    return next;
  });
  for (int64_t head = 0; head < p.heads; ++head)
    for (int64_t i = 0; i < width; ++i) {
      Value column = b.at(p.c, b.mul(b.add(first, i), kLanes), f32);
      b.storeVector(sums[head * width + i], b.at(column, head * p.cStride, f32));
    }
}

void emitHeadProduct(CodeBuilder &b, const HeadProduct &product) {
  int64_t width = llvm::bit_floor(static_cast<uint64_t>(std::max<int64_t>(chains(b.isa()) / product.heads, 1)));
  Value whole = b.sub(product.panels, b.rem(product.panels, b.i64(width)));
  b.loop(b.i64(0), whole, width, [&](Value first) { emitPanels(b, product, first, width); });
  if (width > 1)
    b.loop(whole, product.panels, 1, [&](Value first) { emitPanels(b, product, first, 1); });
}

} // namespace xf::cpu
