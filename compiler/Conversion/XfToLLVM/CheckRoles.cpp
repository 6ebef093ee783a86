// Checks that names in the module's attributes stand for something: entries, their arguments and results, dimensions with bounds.
#include "compiler/Conversion/XfToLLVM/CheckModule.h"

#include "dialect/IR/ModuleRoles.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {
namespace {

class RoleChecker {
public:
  explicit RoleChecker(ModuleOp module) : module(module) {}

  LogicalResult run() { return success(succeeded(checkGenerate()) && succeeded(checkPredict())); }

private:
  /// Checks that these members, if they are there, name entries.
  LogicalResult checkEntries(const ModuleRoles &roles, ArrayRef<StringRef> members) {
    for (StringRef member : members)
      if (roles.has(member) && !roles.entry(member))
        return module.emitError() << roles.attributeName() << " names @" << roles.name(member) << " as '" << member << "', which is no entry";
    return success();
  }

  LogicalResult checkPresent(const ModuleRoles &roles, ArrayRef<StringRef> members) {
    for (StringRef member : members)
      if (!roles.has(member))
        return module.emitError() << roles.attributeName() << " lacks '" << member << "'";
    return success();
  }

  /// Checks that the dimensions that these members name, if they are there, have bounds.
  LogicalResult checkDimensions(const ModuleRoles &roles, ArrayRef<StringRef> members) {
    for (StringRef member : members)
      if (roles.has(member) && !roles.bound(member))
        return module.emitError() << roles.attributeName() << " names dimension '" << roles.name(member) << "' as '" << member
                                  << "', which has no bound in xf.bounds";
    return success();
  }

  LogicalResult checkGenerate() {
    ModuleRoles generate(module, kGenerateAttr);
    if (!generate)
      return success();
    if (failed(checkEntries(generate, {"encode", "decode", "begin", "step", "choose", "align", "packed_encode", "packed_begin"})) ||
        failed(checkPresent(generate, {"step", "tokens", "logits", "batch", "target"})) ||
        failed(checkDimensions(generate, {"batch", "source", "target", "new"})))
      return failure();
    EntryOp step = generate.entry("step");
    StringRef tokens = generate.name("tokens"), batch = generate.name("batch"), logits = generate.name("logits");
    auto argIndex = step.findArg(tokens);
    auto type = argIndex ? dyn_cast<RankedTensorType>(step.getArgumentTypes()[*argIndex]) : RankedTensorType();
    if (!type || type.getRank() != 2 || !llvm::is_contained(getDimNames(type), batch))
      return step.emitError("has no argument '") << tokens << "' of rank 2 with dimension '" << batch << "', the tokens of a search";
    if (!step.findResult(logits))
      return step.emitError("has no result '") << logits << "', the logits of a search";
    return success();
  }

  LogicalResult checkPredict() {
    ModuleRoles predict(module, kPredictAttr);
    if (!predict)
      return success();
    if (failed(checkPresent(predict, {"entry", "result", "batch", "source"})) || failed(checkEntries(predict, {"entry", "packed"})) ||
        failed(checkDimensions(predict, {"batch", "source"})))
      return failure();
    EntryOp entry = predict.entry("entry");
    if (StringRef types = predict.name("types"); !types.empty() && !entry.findArg(types))
      return entry.emitError("has no argument '") << types << "', which " << predict.attributeName() << " names";
    StringRef result = predict.name("result");
    if (!entry.findResult(result))
      return entry.emitError("has no result '") << result << "', which " << predict.attributeName() << " names";
    return success();
  }

  ModuleOp module;
};

} // namespace

LogicalResult checkRoles(ModuleOp module) { return RoleChecker(module).run(); }

} // namespace xf
