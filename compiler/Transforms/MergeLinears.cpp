// Linears that read the same tensor become one.
//
// Q, K and V of a layer read the same rows: one product reads them once, and has three times the columns to work on,
// which matters most when there are few rows. Where only some have a bias (Whisper's keys have none) the others' is zeros. A linear
// whose only use is a map is left alone: the map becomes its epilogue.
#include "compiler/Transforms/MapUtils.h"
#include "compiler/Transforms/Passes.h"
#include "dialect/IR/Producers.h"

#include "llvm/ADT/MapVector.h"

namespace xf {
#define GEN_PASS_DEF_XFMERGELINEARS
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

bool hasEpilogue(LinearOp linear) { return linear->hasOneUse() && isa<MapOp>(*linear->user_begin()); }

Value concatenate(OpBuilder &builder, Location loc, ValueRange parts) {
  auto first = cast<RankedTensorType>(parts[0].getType());
  int64_t rows = 0;
  for (Value part : parts)
    rows += cast<RankedTensorType>(part.getType()).getDimSize(0);
  return ConcatOp::create(builder, loc, withDim(first, 0, rows, ""), parts, builder.getI64IntegerAttr(0));
}

/// A bias that adds nothing.
Value zeros(OpBuilder &builder, LinearOp linear) {
  Location loc = linear.getLoc();
  int64_t size = cast<RankedTensorType>(linear.getWeight().getType()).getDimSize(0);
  return ::xf::MapBuilder{builder, loc}
      .create({RankedTensorType::get({size}, builder.getF32Type())},
              [&](OpBuilder &b, ValueRange) { return SmallVector<Value>{arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0))}; })
      .getResult(0);
}

void merge(ArrayRef<LinearOp> linears) {
  OpBuilder builder(linears.front());
  Location loc = FusedLoc::get(builder.getContext(), llvm::map_to_vector(linears, [](LinearOp l) { return l.getLoc(); }));
  SmallVector<Value> weights, biases;
  IRMapping mapping;
  bool hasBias = llvm::any_of(linears, [](LinearOp linear) { return bool(linear.getBias()); });
  for (LinearOp linear : linears) {
    weights.push_back(::xf::cloneParameterExpression(builder, linear.getWeight(), mapping));
    if (hasBias)
      biases.push_back(linear.getBias() ? ::xf::cloneParameterExpression(builder, linear.getBias(), mapping) : zeros(builder, linear));
  }
  Value weight = concatenate(builder, loc, weights);
  Value bias = biases.empty() ? Value() : concatenate(builder, loc, biases);
  LinearOp first = linears.front();
  auto type = cast<RankedTensorType>(first.getResult().getType()); // factors may have fewer bits
  int64_t axis = type.getRank() - 1, start = 0;
  auto whole = LinearOp::create(builder, loc, withDim(type, axis, cast<RankedTensorType>(weight.getType()).getDimSize(0), ""), first.getX(), weight,
                                bias);
  for (LinearOp linear : linears) {
    auto part = SliceOp::create(builder, linear.getLoc(), linear.getResult().getType(), whole, builder.getI64IntegerAttr(axis),
                                builder.getI64IntegerAttr(start), builder.getI64IntegerAttr(1));
    start += linear.getResult().getType().getShape().back();
    linear.replaceAllUsesWith(part.getResult());
  }
  for (LinearOp linear : linears)
    linear->erase();
}

struct MergeLinears : ::xf::impl::XfMergeLinearsBase<MergeLinears> {
  void runOnOperation() override {
    // What reads the same tensor in the same block.
    llvm::MapVector<std::pair<Block *, Value>, SmallVector<LinearOp>> groups;
    getOperation()->walk([&](LinearOp linear) {
      if (!hasEpilogue(linear) && !dependsOnParametersOnly(linear.getX()) && dependsOnParametersOnly(linear.getWeight()) &&
          (!linear.getBias() || dependsOnParametersOnly(linear.getBias())))
        groups[{linear->getBlock(), linear.getX()}].push_back(linear);
    });
    for (auto &[key, linears] : groups)
      if (linears.size() > 1)
        merge(linears);
  }
};

} // namespace
