// Biases of relative positions as tables.
//
// A bias that is a function of a head and of the distance j - i is computed for each pair of a query and a key, in all layers, although there
// are only twice as many distances as positions. It becomes a table [heads, distances] that is computed when compiling: a query's row
// of biases is then a contiguous piece of the table.
#include "compiler/Transforms/MapUtils.h"
#include "compiler/Transforms/Passes.h"
#include "dialect/IR/Producers.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringMap.h"

namespace xf {
#define GEN_PASS_DEF_XFTABULATEBIASES
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

/// A bias of fewer ops that looks nothing up by the distance, as one by slopes, is computed as fast as it is read.
constexpr int64_t kFewOps = 8;
/// Of a table; the file has one for each layer with biases of its own.
constexpr int64_t kMaxElements = 1 << 20;

/// Parameters that hold consecutive integers, from which tables are computed, by name.
using Iotas = llvm::StringMap<ParameterOp>;

class Tabulation {
public:
  Tabulation(AttendOp op, SymbolTable &symbols, Iotas &iotas)
      : op(op), symbols(symbols), iotas(iotas), body(op.getBias().front()), builder(op), loc(op.getBias().getLoc()),
        heads(typeOf(op.getQ()).getDimSize(1)) {}

  void run() {
    auto module = op->getParentOfType<ModuleOp>();
    std::optional<int64_t> queries = maxPositions(module, op.getQ()), keys = maxPositions(module, op.getK());
    if (!queries || !keys || ShapedType::isDynamic(heads) || std::max(*queries, *keys) > kMaxElements / 2 / heads)
      return;
    Value bias = body.getTerminator()->getOperand(0);
    if (!isOfDistance(bias) || !llvm::all_of(reads, [&](AtOp at) { return tableOf(at) != Table::none; }))
      return;
    bool looksUp = llvm::any_of(reads, [&](AtOp at) { return tableOf(at) != Table::byHead; });
    if (!looksUp && distanceValues.size() < kFewOps)
      return;
    if (!usesHead)
      heads = 1;
    before = *queries - 1;
    distances = iota("distances", *queries + *keys - 1, -before);
    read(tabulate(bias));
  }

private:
  /// How the tensor of a read is indexed, if it can be looked up: f is a function of the distance, h the head.
  enum class Table { none, byHead /* [h] */, byDistance /* [f] */, distanceFirst /* [f, h] */, headFirst /* [h, f] */ };

  /// The most positions that q or k can have.
  static std::optional<int64_t> maxPositions(ModuleOp module, Value x) {
    RankedTensorType type = typeOf(x);
    return type.isDynamicDim(2) ? getBound(module, getDimName(type, 2)) : type.getDimSize(2);
  }

  Value head() { return body.getArgument(1); }
  Value query() { return body.getArgument(2); }
  Value key() { return body.getArgument(3); }
  /// j - i, i - j, or a comparison of the two that their distance decides.
  bool isDistance(Value value) {
    Operation *def = value.getDefiningOp();
    auto compare = dyn_cast_or_null<arith::CmpIOp>(def);
    if (!isa_and_nonnull<arith::SubIOp>(def) && (!compare || compare.getPredicate() >= arith::CmpIPredicate::ult))
      return false;
    Value a = def->getOperand(0), b = def->getOperand(1);
    return (a == key() && b == query()) || (a == query() && b == key());
  }

  /// Whether `value` is computed from the distance, the head, constants and parameters only.
  bool isOfDistance(Value value) {
    usesHead |= value == head();
    if (distanceValues.contains(value) || value == head() || isDistance(value) || matchPattern(value, m_Constant()))
      return true;
    Operation *def = value.getDefiningOp();
    if (!def || def->getBlock() != &body || !isPure(def) || def->getNumRegions() > 0 || def->getNumResults() != 1)
      return false;
    auto at = dyn_cast<AtOp>(def);
    OperandRange operands = at ? OperandRange(at.getIndices()) : def->getOperands();
    if ((at && !dependsOnParametersOnly(at.getTensor())) || !llvm::all_of(operands, [&](Value x) { return isOfDistance(x); }))
      return false;
    distanceValues[value] = !at && llvm::all_of(operands, [&](Value x) { return isOfDistanceAlone(x); });
    if (at)
      reads.push_back(at);
    return true;
  }

  /// Whether `value`, for which isOfDistance holds, is the same for all heads, and computed without tables.
  bool isOfDistanceAlone(Value value) { return isDistance(value) || matchPattern(value, m_Constant()) || distanceValues.lookup(value); }

  Table tableOf(AtOp at) {
    auto isHead = [&](unsigned d) { return at.getIndices()[d] == head() && typeOf(at.getTensor()).getDimSize(d) == heads; };
    auto isOther = [&](unsigned d) { return isOfDistanceAlone(at.getIndices()[d]); };
    if (!typeOf(at.getTensor()).getElementType().isF32())
      return Table::none;
    if (at.getIndices().size() == 1)
      return isHead(0) ? Table::byHead : isOther(0) ? Table::byDistance : Table::none;
    if (at.getIndices().size() == 2)
      return isOther(0) && isHead(1) ? Table::distanceFirst : isHead(0) && isOther(1) ? Table::headFirst : Table::none;
    return Table::none;
  }

  RankedTensorType tensorOf(ArrayRef<int64_t> shape, Type element) { return makeTensor(shape, SmallVector<StringRef>(shape.size(), ""), element); }

  /// first, first + 1, … as a parameter, one for all equal requests.
  Value iota(StringRef name, int64_t size, int64_t first) {
    auto type = tensorOf({size}, builder.getF32Type());
    std::string symbol = (name + "." + Twine(size) + "." + Twine(-first)).str();
    ParameterOp &parameter = iotas[symbol];
    if (!parameter) {
      OpBuilder::InsertionGuard guard(builder);
      builder.clearInsertionPoint();
      parameter = ParameterOp::create(builder, loc, symbol, type, /*path=*/StringAttr(), ArrayRef<int64_t>());
      Block &init = parameter.getInit().emplaceBlock();
      Value index = init.addArgument(builder.getIndexType(), loc);
      builder.setInsertionPointToStart(&init);
      Value value = arith::AddIOp::create(builder, loc, index, arith::ConstantIndexOp::create(builder, loc, first));
      Value integer = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
      YieldOp::create(builder, loc, ValueRange(arith::SIToFPOp::create(builder, loc, builder.getF64Type(), integer)));
      // The symbol table may rename it.
      symbols.insert(parameter, symbols.getOp()->getRegion(0).front().begin());
    }
    return ParamOp::create(builder, loc, type, FlatSymbolRefAttr::get(parameter), ValueRange());
  }

  /// Clones the region's ops that compute `value` into a map; `mapping` has the values that they start from.
  Value clone(OpBuilder &b, Value value, IRMapping &mapping) {
    if (Value done = mapping.lookupOrNull(value))
      return done;
    Operation *def = value.getDefiningOp();
    for (Value operand : def->getOperands())
      mapping.map(operand, clone(b, operand, mapping));
    Value copy = b.clone(*def, mapping)->getResult(0);
    mapping.map(value, copy);
    return copy;
  }

  Value indexOf(OpBuilder &b, Value value) {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), arith::FPToSIOp::create(b, loc, b.getI32Type(), value));
  }
  /// Query 0 and the key at that distance from it.
  IRMapping atDistance(OpBuilder &b, Value distance) {
    IRMapping mapping;
    mapping.map(query(), arith::ConstantIndexOp::create(b, loc, 0).getResult());
    mapping.map(key(), indexOf(b, distance));
    return mapping;
  }

  /// What a read gives for each distance: [distances, heads], or [distances, 1] of a table without heads.
  Value lookUp(AtOp at, Table table) {
    Value index = at.getIndices()[table == Table::headFirst ? 1 : 0], rows = at.getTensor();
    auto type = typeOf(rows);
    int64_t size = type.getDimSize(table == Table::headFirst ? 1 : 0), width = table == Table::byDistance ? 1 : heads;
    if (table != Table::distanceFirst)
      rows = RearrangeOp::create(builder, loc, tensorOf({size, width}, type.getElementType()), rows,
                                 builder.getStringAttr(table == Table::headFirst ? "h n -> n h" : "n -> n 1"), builder.getDictionaryAttr({}));
    ::xf::MapBuilder indices{builder, loc};
    indices.add(distances, {0});
    int64_t count = typeOf(distances).getDimSize(0);
    MapOp ids = indices.create({tensorOf({count}, builder.getI32Type())}, [&](OpBuilder &b, ValueRange args) {
      IRMapping mapping = atDistance(b, args[0]);
      Value row = clone(b, index, mapping), first = arith::ConstantIndexOp::create(b, loc, 0),
            last = arith::ConstantIndexOp::create(b, loc, size - 1);
      // A select may guard the read: here it has to stay inside the tensor without.
      row = arith::MaxSIOp::create(b, loc, arith::MinSIOp::create(b, loc, row, last), first);
      return SmallVector<Value>{arith::IndexCastOp::create(b, loc, b.getI32Type(), row)};
    });
    return EmbedOp::create(builder, loc, tensorOf({count, width}, type.getElementType()), rows, ids->getResult(0));
  }

  /// `bias` for each head and distance.
  Value tabulate(Value bias) {
    ::xf::MapBuilder table{builder, loc};
    // Looked-up tensors first: weights are named after their first parameter.
    for (AtOp at : reads) {
      Table kind = tableOf(at);
      if (kind == Table::byHead)
        table.add(at.getTensor(), {0});
      else
        table.add(lookUp(at, kind), {1, kind == Table::byDistance ? -1 : 0});
    }
    table.add(distances, {1});
    if (usesHead)
      table.add(iota("heads", heads, 0), {0});
    auto type = tensorOf({heads, typeOf(distances).getDimSize(0)}, builder.getF32Type());
    return table
        .create({type},
                [&](OpBuilder &b, ValueRange args) {
                  IRMapping mapping = atDistance(b, args[reads.size()]);
                  if (usesHead)
                    mapping.map(head(), indexOf(b, args.back()));
                  for (auto [at, value] : llvm::zip(reads, args))
                    mapping.map(at.getResult(), value);
                  return SmallVector<Value>{clone(b, bias, mapping)};
                })
        ->getResult(0);
  }

  /// Makes the bias a read of its table.
  void read(Value table) {
    while (!body.empty())
      body.back().erase();
    OpBuilder inside = OpBuilder::atBlockEnd(&body);
    Value distance = arith::SubIOp::create(inside, loc, key(), query());
    Value index = arith::AddIOp::create(inside, loc, distance, arith::ConstantIndexOp::create(inside, loc, before));
    Value row = usesHead ? head() : arith::ConstantIndexOp::create(inside, loc, 0).getResult();
    YieldOp::create(inside, loc, ValueRange(AtOp::create(inside, loc, inside.getF32Type(), table, {row, index})));
  }

  AttendOp op;
  SymbolTable &symbols;
  Iotas &iotas;
  Block &body;
  OpBuilder builder;
  Location loc;
  int64_t heads, before = 0; // rows of the table, and elements before the distance 0
  bool usesHead = false;
  Value distances;
  llvm::SmallDenseMap<Value, bool> distanceValues; // values of the region that isOfDistance holds for: whether isOfDistanceAlone does, too
  SmallVector<AtOp> reads;
};

struct TabulateBiases : ::xf::impl::XfTabulateBiasesBase<TabulateBiases> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    Iotas iotas;
    getOperation()->walk([&](AttendOp op) {
      if (!op.getBias().empty())
        Tabulation(op, symbols, iotas).run();
    });
  }
};

} // namespace
