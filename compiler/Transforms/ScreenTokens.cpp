// A choice of tokens gets copies of its weight in fewer bits, with which its kernel sees what cannot be chosen.
//
// A greedy search needs the largest logit only. Products of bytes, four times as fast as those of f32 and with a quarter of
// the memory to read, bound each logit from above; what stays below a logit that is known need not be computed. Scores need all
// logits, but those of improbable tokens only for a sum of thousands of them, for which products of 16 bits are good enough and take
// half as long as those of f32. For bf16, which rounds more, products of bytes are enough.
#include "compiler/Transforms/Passes.h"
#include "dialect/IR/Xf.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace xf {
#define GEN_PASS_DEF_XFSCREENTOKENS
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

class Screener {
public:
  Screener(ModuleOp module, int64_t minColumns) : module(module), symbols(module), minColumns(minColumns) {}

  void run() {
    SmallVector<ChooseOp> choices;
    module.walk([&](ChooseOp op) { choices.push_back(op); });
    for (ChooseOp choice : choices)
      if (WeightOp weight = weightOf(choice); weight && isProfitable(choice))
        screen(choice, weight);
  }

private:
  /// The weight, if it is one that is computed when compiling.
  WeightOp weightOf(ChooseOp choice) {
    auto param = choice.getWeight().getDefiningOp<ParamOp>();
    auto weight = param ? symbols.lookup<WeightOp>(param.getName()) : WeightOp();
    return weight && weight.getLayers() == 1 ? weight : WeightOp();
  }

  bool isProfitable(ChooseOp choice) const {
    auto type = cast<RankedTensorType>(choice.getWeight().getType());
    return choice.getScreen().empty() && type.getDimSize(0) >= minColumns && ChooseOp::isScreenable(type) && choice.isMonotone();
  }

  void screen(ChooseOp choice, WeightOp weight) {
    auto type = cast<RankedTensorType>(choice.getWeight().getType());
    OpBuilder builder(choice);
    Type f32 = builder.getF32Type();
    auto ofColumns = [&](Type element) { return RankedTensorType::get(type.getDimSize(0), element); };
    Type mean = RankedTensorType::get(type.getDimSize(1), f32);
    Type types[] = {RankedTensorType::get(type.getShape(), builder.getI8Type()),
                    ofColumns(f32),
                    ofColumns(builder.getI32Type()),
                    ofColumns(f32),
                    ofColumns(f32),
                    mean};
    WeightOp last = weight;
    auto quantized = [&](ArrayRef<Type> types, ArrayRef<StringRef> names) {
      SmallVector<Value> results;
      for (auto [i, name] : llvm::enumerate(names)) {
        WeightOp part = makeWeight(weight, types, i, name);
        symbols.insert(part, std::next(last->getIterator()));
        results.push_back(ParamOp::create(builder, choice.getLoc(), types[i], part.getSymName(), ValueRange()));
        last = part;
      }
      return results;
    };
    auto screen = quantized(types, {"bytes", "scales", "sums", "lengths", "errors", "mean"});
    choice.getScreenMutable().assign(screen);
    if (type.getElementType().isF32()) {
      Type int16Types[] = {RankedTensorType::get(type.getShape(), builder.getI16Type()), ofColumns(f32), ofColumns(f32), ofColumns(f32), mean};
      auto copy = quantized(int16Types, {"words", "word_scales", "word_lengths", "word_errors", "word_mean"});
      choice.getWordsMutable().assign(copy);
    }
    choice.getParts().setType(withDim(cast<RankedTensorType>(choice.getParts().getType()), 1, choice.getPartsWidth(), ""));
  }

  /// Result `resultIndex` of the quantised `weight`, not yet in the module.
  WeightOp makeWeight(WeightOp weight, ArrayRef<Type> types, unsigned resultIndex, StringRef name) {
    OpBuilder builder(weight->getContext());
    Layout layout = resultIndex == 0 ? Layout::panels : Layout::plain;
    auto part = WeightOp::create(builder, weight.getLoc(), (weight.getSymName() + "." + name).str(), types[resultIndex], /*layers=*/1, layout,
                                 /*scales=*/FlatSymbolRefAttr());
    IRMapping mapping;
    weight.getBody().cloneInto(&part.getBody(), mapping);
    auto yield = cast<YieldOp>(part.getBody().front().getTerminator());
    builder.setInsertionPoint(yield);
    auto quantized = QuantizeOp::create(builder, weight.getLoc(), types, yield.getOperand(0));
    yield->setOperand(0, quantized->getResult(resultIndex));
    return part;
  }

  ModuleOp module;
  SymbolTable symbols;
  int64_t minColumns;
};

struct ScreenTokens : ::xf::impl::XfScreenTokensBase<ScreenTokens> {
  using XfScreenTokensBase::XfScreenTokensBase;

  void runOnOperation() override { Screener(getOperation(), minColumns).run(); }
};

} // namespace
