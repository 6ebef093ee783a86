// Products of activations and parameters in a type of fewer bits.
//
// int8. An activation's row x has the scale s = max|x| / 127, known when the row is: q = round(x / s) + 128, unsigned as
// the processors' instructions want it. A weight's row w has its scale when compiling, t, with signed elements p. The
// product gives Σ q p exactly, and Σ x w ≈ s t (Σ q p - 128 Σ p), in which Σ p is a constant of the weight.
//
// A scale for each row, not for a tensor: a row's result must not depend on what else is in the batch.
//
// int8-weights. The same weights, but x stays f32: Σ x w ≈ t (Σ x p), in which p is made f32 where it is multiplied.
//
// With `round-only` products keep their types, and their weights are rounded and widened again: the effect of the types above
// on weights alone, spelt out in the IR.
#include "compiler/Transforms/MapUtils.h"
#include "compiler/Transforms/Passes.h"
#include "dialect/IR/Producers.h"

#include "llvm/ADT/StringSet.h"

namespace xf {
#define GEN_PASS_DEF_XFQUANTIZELINEARS
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

/// Added to quantised activations to make them unsigned.
constexpr int64_t kZeroPoint = 128;
constexpr double kMaxInt8 = 127;
/// A row whose maximum is below it counts as zeros, as in `xf.quantize`: its scale's reciprocal would not be finite.
constexpr double kTiny = 0x1p-100;

/// The dimensions 0, 1 … of a tensor whose last one is of size 1.
SmallVector<int64_t> rowMap(int64_t rank) {
  auto map = ::xf::identityMap(rank);
  map.back() = -1;
  return map;
}

Value constant(OpBuilder &b, Location loc, double value) { return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value)); }
Value constant(OpBuilder &b, Location loc, int64_t value, Type type) { return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value)); }

/// The types that factors get.
struct Types {
  Type weights;   // i8, bf16 or f16
  bool isWidened; // only weights are narrowed, and widened where they are multiplied: activations stay f32
  bool onlyRounds;
};

class Quantizer {
public:
  Quantizer(ModuleOp module, Types types)
      : module(module), element(types.weights), isInt8(element.isInteger(8)), isWidened(types.isWidened), onlyRounds(types.onlyRounds),
        builder(module.getContext()) {}

  void run() {
    SmallVector<LinearOp> linears;
    SmallVector<EmbedOp> embeds;
    module.walk([&](LinearOp op) { linears.push_back(op); });
    module.walk([&](EmbedOp op) { embeds.push_back(op); });
    // A product of parameters is computed when compiling, in full precision; one that has narrower types already keeps them.
    llvm::erase_if(linears, [](LinearOp op) {
      return !dependsOnParametersOnly(op.getWeight()) || dependsOnParametersOnly(op.getX()) || !typeOf(op.getWeight()).getElementType().isF32();
    });
    // A look-up that is already part of a row kernel reads its table as it is.
    llvm::erase_if(embeds, [&](EmbedOp op) { return !isCheckpointTable(op) || isa<RowOp>(op->getParentOp()); });
    if (onlyRounds)
      return round(linears, embeds);
    for (LinearOp linear : linears)
      quantize(linear);
    for (EmbedOp embed : embeds)
      quantize(embed);
  }

private:
  /// Rounds weights and tables. Parameters that nothing but these products and look-ups reads are stored rounded, and stay as they are.
  void round(ArrayRef<LinearOp> linears, ArrayRef<EmbedOp> embeds) {
    SmallVector<OpOperand *> operands;
    for (LinearOp linear : linears)
      operands.push_back(&linear.getWeightMutable());
    for (EmbedOp embed : embeds)
      operands.push_back(&embed.getTableMutable());
    llvm::DenseSet<OpOperand *> weightOperands(operands.begin(), operands.end());
    llvm::StringSet<> readOtherwise;
    module.walk([&](ParamOp param) {
      for (OpOperand &use : param->getUses())
        if (!weightOperands.contains(&use))
          readOtherwise.insert(param.getName());
    });
    for (OpOperand *operand : operands) {
      auto param = operand->get().getDefiningOp<ParamOp>();
      if (param && !readOtherwise.contains(param.getName()))
        continue;
      builder.setInsertionPoint(operand->getOwner());
      operand->set(rounded(operand->get()));
    }
  }

  /// A weight as products multiply by it, in its own type.
  Value rounded(Value weight) {
    Location loc = weight.getLoc();
    QuantizeOp quantized = quantizeWeight(weight);
    ::xf::MapBuilder map{builder, loc};
    map.add(quantized->getResult(0), {0, 1});
    if (isInt8)
      map.add(quantized->getResult(1), {0});
    MapOp wide = map.create({weight.getType()}, [&](OpBuilder &b, ValueRange args) { return SmallVector<Value>{widen(b, loc, args)}; });
    return wide->getResult(0);
  }

  /// The f32 value of a narrow element; `args` are the element and, for i8, its row's scale.
  Value widen(OpBuilder &b, Location loc, ValueRange args) const {
    Type f32 = b.getF32Type();
    if (!isInt8)
      return arith::ExtFOp::create(b, loc, f32, args[0]);
    Value integer = arith::ExtSIOp::create(b, loc, b.getI32Type(), args[0]);
    return arith::MulFOp::create(b, loc, arith::SIToFPOp::create(b, loc, f32, integer), args[1]);
  }

  struct Activation {
    Value elements, scales;
  };

  /// Tables of the checkpoint that tokens choose from. Positions are few, and their tables are often computed.
  bool isCheckpointTable(EmbedOp embed) {
    auto param = embed.getTable().getDefiningOp<ParamOp>();
    auto parameter = param ? module.lookupSymbol<ParameterOp>(param.getName()) : ParameterOp();
    return parameter && !parameter.isTable() && !embed.getIds().getDefiningOp<PositionsOp>() && !dependsOnParametersOnly(embed);
  }

  /// x in the product's type, computed once, where x is.
  Activation activation(Value x) {
    auto [found, isNew] = activations.try_emplace(x);
    if (!isNew)
      return found->second;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(x);
    Activation result = isInt8 ? toInt8(x) : Activation{::xf::roundElements(builder, x, element), {}};
    return activations[x] = result;
  }

  Activation toInt8(Value x) {
    Location loc = x.getLoc();
    auto type = typeOf(x), one = withDim(type, type.getRank() - 1, 1, "");
    auto all = ::xf::identityMap(type.getRank());
    ::xf::MapBuilder magnitudes{builder, loc};
    magnitudes.add(x, all);
    Value magnitude = magnitudes
                          .create({type}, [&](OpBuilder &b, ValueRange args) { return SmallVector<Value>{math::AbsFOp::create(b, loc, args[0])}; })
                          ->getResult(0);
    Value largest = ReduceOp::create(builder, loc, one, ReduceKind::max, magnitude);
    ::xf::MapBuilder ofRow{builder, loc};
    ofRow.add(largest, all);
    MapOp scales = ofRow.create({one, one}, [&](OpBuilder &b, ValueRange args) {
      Value zero = constant(b, loc, 0.0);
      Value isZero = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, args[0], constant(b, loc, kTiny));
      Value scale = arith::MulFOp::create(b, loc, args[0], constant(b, loc, 1 / kMaxInt8));
      Value reciprocal = arith::DivFOp::create(b, loc, constant(b, loc, kMaxInt8), args[0]);
      return SmallVector<Value>{arith::SelectOp::create(b, loc, isZero, zero, scale), arith::SelectOp::create(b, loc, isZero, zero, reciprocal)};
    });
    ::xf::MapBuilder elements{builder, loc};
    elements.add(x, all);
    elements.add(scales->getResult(1), rowMap(type.getRank()));
    Type i32 = builder.getI32Type(), i8 = builder.getI8Type();
    MapOp quantized = elements.create({withElement(type, i8)}, [&](OpBuilder &b, ValueRange args) {
      Value rounded = math::RoundEvenOp::create(b, loc, arith::MulFOp::create(b, loc, args[0], args[1]));
      Value integer = arith::FPToSIOp::create(b, loc, i32, rounded);
      Value shifted = arith::AddIOp::create(b, loc, integer, constant(b, loc, kZeroPoint, i32));
      return SmallVector<Value>{arith::TruncIOp::create(b, loc, i8, shifted)};
    });
    return {quantized->getResult(0), scales->getResult(0)};
  }

  QuantizeOp quantizeWeight(Value weight) {
    auto type = typeOf(weight);
    SmallVector<Type> types{withElement(type, element)};
    if (isInt8)
      types = {withElement(type, builder.getI8Type()), RankedTensorType::get(type.getDimSize(0), builder.getF32Type()),
               RankedTensorType::get(type.getDimSize(0), builder.getI32Type())};
    return QuantizeOp::create(builder, weight.getLoc(), types, weight);
  }

  void quantize(LinearOp linear) {
    Location loc = linear.getLoc();
    Activation x = isWidened ? Activation{linear.getX(), {}} : activation(linear.getX());
    builder.setInsertionPoint(linear);
    QuantizeOp weight = quantizeWeight(linear.getWeight());
    auto type = cast<RankedTensorType>(linear.getResult().getType());
    if (isWidened)
      return scaleColumns(linear, weight);
    if (!isInt8) {
      linear.getXMutable().assign(x.elements);
      linear.getWeightMutable().assign(weight->getResult(0));
      return;
    }
    Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
    Value sums = LinearOp::create(builder, loc, withElement(type, i32), x.elements, weight->getResult(0), Value());
    int64_t rank = type.getRank();
    ::xf::MapBuilder map{builder, loc};
    map.add(sums, ::xf::identityMap(rank));
    map.add(x.scales, rowMap(rank));
    map.add(weight->getResult(1), {rank - 1});
    map.add(weight->getResult(2), {rank - 1});
    if (linear.getBias())
      map.add(linear.getBias(), {rank - 1});
    MapOp result = map.create({type}, [&](OpBuilder &b, ValueRange args) {
      Value zeroPointTerm = arith::MulIOp::create(b, loc, args[3], constant(b, loc, kZeroPoint, i32));
      Value exact = arith::SubIOp::create(b, loc, args[0], zeroPointTerm);
      Value scale = arith::MulFOp::create(b, loc, args[1], args[2]);
      Value y = arith::MulFOp::create(b, loc, arith::SIToFPOp::create(b, loc, f32, exact), scale);
      if (linear.getBias())
        y = arith::AddFOp::create(b, loc, y, args[4]);
      return SmallVector<Value>{y};
    });
    linear.replaceAllUsesWith(result->getResult(0));
    linear->erase();
  }

  /// The product with the weight's i8 elements, followed by a map that multiplies its columns by their scales.
  void scaleColumns(LinearOp linear, QuantizeOp weight) {
    Location loc = linear.getLoc();
    auto type = cast<RankedTensorType>(linear.getResult().getType());
    int64_t rank = type.getRank();
    ::xf::MapBuilder map{builder, loc};
    map.add(LinearOp::create(builder, loc, type, linear.getX(), weight->getResult(0), Value()), ::xf::identityMap(rank));
    map.add(weight->getResult(1), {rank - 1});
    if (linear.getBias())
      map.add(linear.getBias(), {rank - 1});
    MapOp result = map.create({type}, [&](OpBuilder &b, ValueRange args) {
      Value y = arith::MulFOp::create(b, loc, args[0], args[1]);
      if (linear.getBias())
        y = arith::AddFOp::create(b, loc, y, args[2]);
      return SmallVector<Value>{y};
    });
    linear.replaceAllUsesWith(result->getResult(0));
    linear->erase();
  }

  void quantize(EmbedOp embed) {
    Location loc = embed.getLoc();
    builder.setInsertionPoint(embed);
    QuantizeOp table = quantizeWeight(embed.getTable());
    auto type = cast<RankedTensorType>(embed.getResult().getType());
    int64_t rank = type.getRank();
    Type f32 = builder.getF32Type();
    Value table0 = table->getResult(0);
    Value row = EmbedOp::create(builder, loc, withElement(type, typeOf(table0).getElementType()), table0, embed.getIds());
    ::xf::MapBuilder map{builder, loc};
    map.add(row, ::xf::identityMap(rank));
    if (isInt8) {
      // A column of scales is a table of its own.
      auto column = RankedTensorType::get({typeOf(table0).getDimSize(0), 1}, f32);
      Value scales = RearrangeOp::create(builder, loc, column, table->getResult(1), builder.getStringAttr("n -> n 1"), builder.getDictionaryAttr({}));
      map.add(EmbedOp::create(builder, loc, withDim(type, rank - 1, 1, ""), scales, embed.getIds()), rowMap(rank));
    }
    MapOp wide = map.create({type}, [&](OpBuilder &b, ValueRange args) { return SmallVector<Value>{widen(b, loc, args)}; });
    embed.replaceAllUsesWith(wide->getResult(0));
    embed->erase();
  }

  ModuleOp module;
  Type element;
  bool isInt8, isWidened, onlyRounds;
  OpBuilder builder;
  DenseMap<Value, Activation> activations;
};

struct QuantizeLinears : ::xf::impl::XfQuantizeLinearsBase<QuantizeLinears> {
  using XfQuantizeLinearsBase::XfQuantizeLinearsBase;

  void runOnOperation() override {
    if (type == "f32")
      return;
    MLIRContext *context = &getContext();
    bool isWidened = type == "int8-weights";
    Type element = isWidened || type == "int8" ? Type(IntegerType::get(context, 8))
                   : type == "bf16"            ? Type(BFloat16Type::get(context))
                   : type == "f16"             ? Type(Float16Type::get(context))
                                               : Type();
    if (!element) {
      getOperation()->emitError("type '") << type << "' of xf-quantize-linears is none of f32, bf16, f16, int8, int8-weights";
      return signalPassFailure();
    }
    Quantizer(getOperation(), {element, isWidened, roundOnly}).run();
  }
};

} // namespace
