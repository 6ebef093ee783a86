#include "compiler/Frontend/Messages.h"
#include "dialect/IR/Producers.h"

#include <set>

using namespace xf::frontend;

Loc Messages::userLoc(Loc loc) const {
  if (loc.isValid() && !sources.isLibrary(loc))
    return loc;
  for (const Call &call : llvm::reverse(calls))
    if (call.loc.isValid() && !sources.isLibrary(call.loc))
      return call.loc;
  return loc;
}

void Messages::error(Loc loc, const std::string &message) {
  Loc shown = userLoc(loc);
  diagnostics.error(shown, message);
  if (sources.isLibrary(loc) && !sources.isLibrary(shown))
    diagnostics.note(loc, "in the library, here");
  std::set<Loc> noted{shown}; // the calls of a recursive function come from few locations
  for (const Call &call : llvm::reverse(calls))
    if (call.isInside && call.loc.isValid() && !sources.isLibrary(call.loc) && noted.insert(call.loc).second)
      diagnostics.note(call.loc, "called from here");
}

void Messages::note(Loc loc, const std::string &message) {
  if (loc.isValid())
    diagnostics.note(loc, message);
}

void Messages::noteValue(mlir::Value value, llvm::StringRef what) {
  // The declaration of a transposed weight says more than where it is transposed.
  if (auto transposeOp = value.getDefiningOp<mlir::xf::RearrangeOp>(); transposeOp && mlir::xf::dependsOnParametersOnly(value))
    value = transposeOp.getX();
  note(locOf(value), (what + " " + mlir::xf::describeShape(llvm::cast<mlir::RankedTensorType>(value.getType())) + " comes from here").str());
}
