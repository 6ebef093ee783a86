// The innermost loops of a matrix product: a register tile of rows x panels, one chain of multiply-adds an element.
//
// The order of additions in an element is k ascending from +0, whatever the tile, so that tiles can be chosen by speed
// alone. Independent chains come from more rows and columns, never from splitting k.
#include "compiler/Target/CPU/MicroKernel.h"

#include "compiler/Target/CPU/VectorMath.h"

using namespace mlir;

namespace xf::cpu {

/// Passes of the loop over k that are written out. Small tiles save jumps and address updates; in large ones they cost
/// nothing, and more passes would only tempt LLVM to load rows early and spill them.
static int64_t unrolling(int64_t chains) { return chains < 8 ? 4 : 1; }

namespace {
class MicroKernel {
public:
  MicroKernel(CodeBuilder &b, const PanelKind &kind, int64_t rows, int64_t panels)
      : b(b), ahead(b, kind, rows, panels), line(kind.pitch * kLanes), rows(rows), panels(panels), unroll(unrolling(rows * panels)) {}

  void emit() {
    Type f32 = b.getF32Type();
    Value a = b.argument(0), lda = b.argument(1), panel = b.argument(2), panelStride = b.argument(3);
    Value c = b.argument(4), ldc = b.argument(5), depth = b.argument(6);
    for (int64_t row = 0; row < rows; ++row)
      rowStart.push_back(b.at(a, b.mul(lda, row), f32));
    for (int64_t i = 0; i < panels; ++i)
      panelStart.push_back(b.at(panel, b.mul(panelStride, i), f32));

    auto place = [&](int64_t sum) { return b.at(b.at(c, b.mul(ldc, sum / panels), f32), sum % panels * kLanes, f32); };
    SmallVector<Value> sums = firstSums(b, rows * panels, f32, place);
    Value whole = b.sub(depth, b.rem(depth, b.i64(unroll)));
    sums = b.loop(b.i64(0), whole, unroll, sums, [&](Value k, ValueRange carried) {
      SmallVector<Value> next(carried);
      for (int64_t u = 0; u < unroll; ++u) {
        ahead.fetch(b.add(k, u));
        step(k, u, next);
      }
      return next;
    });
    if (unroll > 1)
      sums = b.loop(whole, depth, 1, sums, [&](Value k, ValueRange carried) {
        SmallVector<Value> next(carried);
        ahead.fetch(k);
        step(k, 0, next);
        return next;
      });

    for (auto [i, sum] : llvm::enumerate(sums))
      b.storeVector(sum, place(i));
  }

private:
  /// Whether a panel's line is used up before the first-level cache has the next one by itself: in AVX2 a line lasts for six
  /// cycles, with two panels of AVX-512 for twelve.
  bool readsPanelsFast() {
    return hasAvx2(b.isa()) && !hasAvx512(b.isa()) && rows >= fetchingRows(b.isa(), Factor::f32) && !ahead.fetchesBehind();
  }
  /// Positions that are then fetched ahead.
  static constexpr int64_t kAhead = 6;

  /// Adds the products of position k + u.
  void step(Value k, int64_t u, SmallVector<Value> &sums) {
    Type f32 = b.getF32Type();
    SmallVector<Value> columns;
    for (Value start : panelStart) {
      Value address = b.at(b.at(start, b.mul(k, line), f32), u * line, f32);
      ahead.fetchBehind(address);
      if (readsPanelsFast())
        b.prefetch(b.at(address, kAhead * line, f32), CodeBuilder::Cache::firstLevel);
      columns.push_back(b.loadVector(f32, address));
    }
    for (int64_t row = 0; row < rows; ++row) {
      Value element = b.splat(b.load(f32, b.at(b.at(rowStart[row], k, f32), u, f32)));
      for (int64_t i = 0; i < panels; ++i) {
        Value &sum = sums[row * panels + i];
        sum = fusedMultiplyAdd(b, element, columns[i], sum);
      }
    }
  }

  CodeBuilder &b;
  AheadFetcher ahead;
  int64_t line; // elements from one k to the next
  int64_t rows, panels, unroll;
  SmallVector<Value> rowStart, panelStart;
};
} // namespace

AheadFetcher::AheadFetcher(CodeBuilder &b, const PanelKind &kind, int64_t rows, int64_t panels)
    : b(b), streams(streamsPanels(b.isa(), rows, kind)), count(rows >= fetchingRows(b.isa(), kind.factor) && !streams ? panels : 0) {}

void AheadFetcher::fetch(Value k) {
  Value line = b.at(b.argument(7), b.mul(b.argument(9), k), b.getI8Type());
  for (int64_t i = 0; i < count; ++i)
    b.prefetch(b.at(line, b.mul(b.argument(8), i), b.getI8Type()), CodeBuilder::Cache::secondLevel);
}

void AheadFetcher::fetchBehind(Value address) {
  // 128 lines: 160 ns at 50 GB/s. Fewer come late, more are gone from the cache again. Where the first level has room for few misses that wait for
  // memory (16 lines in Intel's Golden Cove), the second level has to have them by then.
  constexpr int64_t kBytes = 8192;
  if (!streams)
    return;
  b.prefetch(b.atByte(address, 2 * kBytes), CodeBuilder::Cache::secondLevel);
  b.prefetch(b.atByte(address, kBytes), CodeBuilder::Cache::firstLevel);
}

SmallVector<Value> firstSums(CodeBuilder &b, int64_t count, Type type, llvm::function_ref<Value(int64_t)> place) {
  SmallVector<Value> zeros(count, b.create<arith::ConstantOp>(b.getZeroAttr(b.vectorOf(type))));
  auto former = [&](int64_t sum) { return b.loadVector(type, place(sum)); };
  return b.choose(b.argument(10), [&] { return llvm::map_to_vector(llvm::seq(count), former); }, [&] { return zeros; });
}

void emitMicroKernel(CodeBuilder &b, const PanelKind &kind, int64_t rows, int64_t panels) { MicroKernel(b, kind, rows, panels).emit(); }

/// A part of the functions' names.
static StringRef nameOf(Factor factor) {
  switch (factor) {
  case Factor::f32:
    return "";
  case Factor::bf16:
    return "bf16.";
  case Factor::i8:
    return "i8.";
  case Factor::i8_weights:
    return "i8_weights.";
  case Factor::i16:
    return "i16.";
  }
  llvm_unreachable("unknown factor");
}

std::string productName(const PanelKind &kind) {
  std::string name = ("xf.product." + nameOf(kind.factor)).str();
  if (kind.tail)
    name += "t" + std::to_string(kind.tail) + ".";
  if (kind.pitch > 1)
    name += "p" + std::to_string(kind.pitch) + ".";
  if (kind.streams)
    name += "streams.";
  return name;
}

LLVM::LLVMFuncOp getMicroKernel(ModuleOp module, Isa isa, const PanelKind &wanted, int64_t rows, int64_t panels) {
  PanelKind kind = wanted;
  kind.streams = streamsPanels(isa, rows, wanted);
  std::string name = productName(kind) + std::to_string(rows) + "x" + std::to_string(panels) + "." + isaName(isa).str();
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  loadCodeDialects(module.getContext());
  Type ptr = LLVM::LLVMPointerType::get(module.getContext());
  Type i64 = IntegerType::get(module.getContext(), 64);
  Type i1 = IntegerType::get(module.getContext(), 1);
  SmallVector<Type> arguments{ptr, i64, ptr, i64, ptr, i64, i64, ptr, i64, i64, i1};
  CodeBuilder b(module, name, arguments, isa, module.getLoc());
  // Seen from outside, LLVM does not make it another one for the arguments of its only caller, which a measurement would then be of.
  b.function().setVisibility_(LLVM::Visibility::Hidden);
  b.function().setNoInline(true);
  for (unsigned pointer : {0, 2, 4})
    b.function().setArgAttr(pointer, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
  if (kind.factor == Factor::f32)
    emitMicroKernel(b, kind, rows, panels);
  else if (kind.factor == Factor::i8_weights)
    emitByteWeightMicroKernel(b, kind.tail, rows, panels);
  else
    emitGroupedMicroKernel(b, kind, rows, panels);
  b.finish();
  return b.function();
}

} // namespace xf::cpu
