// A step that ends in choosing tokens: the logits' product becomes the vocabulary reduction.
//
// A search needs a few best tokens of each row and the sum of all exponentials. Where the step's logits are a product with
// its epilogue, a second step entry gives just that, so that no row as wide as the vocabulary is ever stored. What
// searches may ask for (tokens that are not allowed, how many candidates) are its arguments.
#include "compiler/Transforms/Passes.h"
#include "dialect/IR/ModuleRoles.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace xf {
#define GEN_PASS_DEF_XFCHOOSETOKENS
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

class Writer {
public:
  explicit Writer(ModuleOp module) : module(module), generate(module, kGenerateAttr), builder(module.getContext()) {}

  /// Adds the entry; does nothing where the logits are no product.
  void run() {
    EntryOp step = generate.entry("step");
    if (!step || generate.has("choose") || step.getResultTypes().size() != 1)
      return;
    Value logits = step.getBody().front().getTerminator()->getOperand(0);
    auto product = logits.getDefiningOp<ContractOp>();
    if (!product || !logits.hasOneUse() || !findAxis(product))
      return;
    writeEntry(step, product);
  }

private:
  /// The axis of the new positions, if the product's rows are those of a search.
  bool findAxis(ContractOp product) {
    auto x = cast<RankedTensorType>(product.getX().getType());
    StringRef batch = generate.name("batch"), fresh = generate.name("new");
    if (batch.empty() || fresh.empty() || !module->hasAttr(kBoundsAttr) || x.getRank() != 3 ||
        !product.getResult().getType().getElementType().isF32())
      return false;
    for (axis = 0; axis < 2; ++axis)
      if (getDimName(x, axis) == fresh && getDimName(x, 1 - axis) == batch)
        return true;
    return false;
  }

  /// Adds a dimension of classes of rows: one without any allowed token, and two for each sentence.
  std::string addClasses() {
    std::string name = freshDim(module, "C");
    // Larger bounds are refused when code is generated.
    int64_t sentences = std::clamp<int64_t>(generate.bound("batch").value_or(1) / generate.beams(), 1, int64_t(1) << 60);
    setBound(module, name, 2 * sentences + 1);
    return name;
  }

  void writeEntry(EntryOp step, ContractOp product) {
    auto x = cast<RankedTensorType>(product.getX().getType());
    int64_t columns = cast<RankedTensorType>(product.getWeight().getType()).getDimSize(0);
    // A beam that ends leaves its place to the next best.
    int64_t maxChosen = 2 * generate.beams();
    StringRef batch = getDimName(x, 1 - axis);
    std::string classes = addClasses();
    Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
    auto rows = [&](int64_t width, Type element) { return makeTensor({ShapedType::kDynamic, width}, {batch, ""}, element); };
    Type added[] = {makeTensor({ShapedType::kDynamic, ChooseOp::countWords(columns)}, {classes, ""}, i32),
                    makeTensor({ShapedType::kDynamic}, {batch}, i32), RankedTensorType::get({2}, i32)};
    Type results[] = {rows(maxChosen, f32), rows(maxChosen, i32), rows(2, f32)};

    SmallVector<Type> inputs(step.getArgumentTypes());
    SmallVector<StringRef> names;
    for (unsigned i = 0; i < inputs.size(); ++i)
      names.push_back(step.getArgName(i));
    llvm::append_range(inputs, added);
    llvm::append_range(names, ArrayRef<StringRef>{"xf.forbidden", "xf.classes", "xf.options"});
    builder.setInsertionPointAfter(step);
    StringRef base = generate.has("decode") ? generate.name("decode") : step.getSymName();
    auto entry = EntryOp::create(builder, step.getLoc(), (base + ".choose").str(), builder.getFunctionType(inputs, results), names,
                                 {"xf.values", "xf.tokens", "xf.norms"}, EntryKind::step);
    SymbolTable(module).insert(entry);
    IRMapping mapping;
    step.getBody().cloneInto(&entry.getBody(), mapping);
    Block &body = entry.getBody().front();
    SmallVector<Value> newArgs;
    for (Type type : added)
      newArgs.push_back(body.addArgument(type, step.getLoc()));

    auto copy = cast<ContractOp>(mapping.lookup(product.getResult()).getDefiningOp());
    builder.setInsertionPoint(copy);
    auto choose = ChooseOp::create(builder, copy.getLoc(), results[0], results[1], results[2], rows(ChooseOp::countParts(columns, maxChosen), f32),
                                   copy.getX(), copy.getWeight(), newArgs[0], newArgs[1], newArgs[2], copy.getExtras(), /*screen=*/ValueRange(),
                                   /*words=*/ValueRange(), axis, copy.getMaps());
    choose.getBody().takeBody(copy.getBody());
    auto terminator = cast<ReturnOp>(body.getTerminator());
    builder.setInsertionPoint(terminator);
    ReturnOp::create(builder, terminator.getLoc(), ValueRange{choose.getValues(), choose.getTokens(), choose.getNorms()});
    terminator.erase();
    copy.erase();

    generate.set("choose", FlatSymbolRefAttr::get(entry));
  }

  ModuleOp module;
  ModuleRoles generate;
  OpBuilder builder;
  unsigned axis = 0;
};

struct ChooseTokens : ::xf::impl::XfChooseTokensBase<ChooseTokens> {
  void runOnOperation() override { Writer(getOperation()).run(); }
};

} // namespace
