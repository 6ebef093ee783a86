// That the names in the module's attributes stand for something: entries, their arguments and results, dimensions with bounds.
#include "compiler/Conversion/XfToLLVM/CheckModule.h"

#include "dialect/IR/Xf.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {
namespace {

class RoleChecker {
public:
  explicit RoleChecker(ModuleOp module) : module(module) {}

  LogicalResult run() { return success(succeeded(checkGenerate()) && succeeded(checkPredict())); }

private:
  LogicalResult missing(StringRef attribute, StringRef member) {
    return module.emitError() << attribute << " lacks '" << member << "'";
  }

  /// The entry that a member names; null, and an error, if there is none.
  EntryOp entryOf(StringRef attribute, DictionaryAttr members, StringRef member) {
    auto name = members.getAs<FlatSymbolRefAttr>(member);
    auto entry = name ? module.lookupSymbol<EntryOp>(name.getValue()) : EntryOp();
    if (!name)
      (void)missing(attribute, member);
    else if (!entry)
      module.emitError() << attribute << " names " << name << " as '" << member << "', which is no entry";
    return entry;
  }

  /// The dimensions that members name, if they are there, have bounds.
  LogicalResult checkDimensions(StringRef attribute, DictionaryAttr members, ArrayRef<StringRef> names) {
    for (StringRef member : names)
      if (auto dim = members.getAs<StringAttr>(member); dim && !getBound(module, dim.getValue()))
        return module.emitError() << attribute << " names dimension '" << dim.getValue() << "' as '" << member
                                  << "', which has no bound in xf.bounds";
    return success();
  }

  LogicalResult checkGenerate() {
    auto generate = module->getAttrOfType<DictionaryAttr>(kGenerateAttr);
    if (!generate)
      return success();
    for (StringRef member : {"encode", "decode", "begin", "step", "choose", "align", "packed_encode", "packed_begin"})
      if (generate.contains(member) && !entryOf(kGenerateAttr, generate, member))
        return failure();
    if (!generate.contains("step"))
      return missing(kGenerateAttr, "step");
    for (StringRef member : {"tokens", "logits", "batch", "target"})
      if (!generate.contains(member))
        return missing(kGenerateAttr, member);
    if (failed(checkDimensions(kGenerateAttr, generate, {"batch", "source", "target", "new"})))
      return failure();
    EntryOp step = entryOf(kGenerateAttr, generate, "step");
    StringRef tokens = generate.getAs<StringAttr>("tokens").getValue(), batch = generate.getAs<StringAttr>("batch").getValue();
    auto place = step.findArg(tokens);
    auto type = place ? dyn_cast<RankedTensorType>(step.getArgumentTypes()[*place]) : RankedTensorType();
    if (!type || type.getRank() != 2 || !llvm::is_contained(getDimNames(type), batch))
      return step.emitError("has no argument '") << tokens << "' of rank 2 with dimension '" << batch << "', the tokens of a search";
    StringRef logits = generate.getAs<StringAttr>("logits").getValue();
    if (!step.findResult(logits))
      return step.emitError("has no result '") << logits << "', the logits of a search";
    return success();
  }

  LogicalResult checkPredict() {
    auto predict = module->getAttrOfType<DictionaryAttr>(kPredictAttr);
    if (!predict)
      return success();
    EntryOp entry = entryOf(kPredictAttr, predict, "entry");
    if (!entry || (predict.contains("packed") && !entryOf(kPredictAttr, predict, "packed")))
      return failure();
    for (StringRef member : {"result", "batch", "source"})
      if (!predict.contains(member))
        return missing(kPredictAttr, member);
    if (failed(checkDimensions(kPredictAttr, predict, {"batch", "source"})))
      return failure();
    if (auto types = predict.getAs<StringAttr>("types"); types && !entry.findArg(types.getValue()))
      return entry.emitError("has no argument '") << types.getValue() << "', which " << kPredictAttr << " names";
    StringRef result = predict.getAs<StringAttr>("result").getValue();
    if (entry.findResult(result))
      return success();
    return entry.emitError("has no result '") << result << "', which " << kPredictAttr << " names";
  }

  ModuleOp module;
};

} // namespace

LogicalResult checkRoles(ModuleOp module) { return RoleChecker(module).run(); }

} // namespace xf
