// The pass that derives a decoder's step: reads the roles, proves causality, writes the entries, says what is in the way.
#include "compiler/Transforms/DeriveStep.h"
#include "compiler/Transforms/Passes.h"
#include "dialect/IR/ModuleRoles.h"
#include "dialect/IR/Producers.h"

namespace xf {
#define GEN_PASS_DEF_XFDERIVESTEP
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace xf::step;

/// The roles that xf.generate gives; an error if the decoder doesn't fit them.
static FailureOr<Roles> findRoles(ModuleOp module, const ModuleRoles &generate) {
  auto missing = [&](const char *member) { return module.emitError("xf.generate lacks '") << member << "'"; };
  Roles roles;
  if (!generate.has("decode"))
    return missing("decode");
  roles.decode = generate.entry("decode");
  if (!roles.decode)
    return module.emitError("xf.generate names @") << generate.name("decode") << ", which is no entry";
  for (const char *member : {"tokens", "logits", "batch", "target"})
    if (!generate.has(member))
      return missing(member);
  roles.batch = generate.name("batch");
  roles.target = generate.name("target");

  EntryOp entry = roles.decode;
  StringRef tokensName = generate.name("tokens"), logitsName = generate.name("logits");
  std::optional<unsigned> tokensIndex = entry.findArg(tokensName), logitsIndex = entry.findResult(logitsName);
  if (!tokensIndex)
    return entry.emitError("has no argument '") << tokensName << "', the tokens of a search";
  if (!logitsIndex)
    return entry.emitError("has no result '") << logitsName << "', the logits of a search";
  roles.tokens = *tokensIndex, roles.logits = *logitsIndex;
  auto tokens = dyn_cast<RankedTensorType>(entry.getArgumentTypes()[roles.tokens]);
  if (!tokens)
    return entry.emitError("its tokens '") << tokensName << "' are no tensor";
  for (StringRef dim : {StringRef(roles.batch), StringRef(roles.target)})
    if (tokens.getRank() != 2 || !llvm::is_contained(getDimNames(tokens), dim))
      return entry.emitError("its tokens '") << tokensName << "' are " << describeShape(tokens) << ", but a search needs the dimensions '"
                                             << roles.batch << "' and '" << roles.target << "'";

  roles.fresh = freshDim(module, "N");
  return roles;
}

/// Reports each op that looks ahead and that the logits depend on, with the path from it to them.
static bool reportLookAheads(Roles &roles, const Causality &causality, const BackwardSlice &needed) {
  llvm::SmallPtrSet<Operation *, 4> reported;
  bool any = false;
  for (Value value : needed.all()) {
    const LookAhead *reason = causality.reason(value);
    if (!reason || (value.getDefiningOp() && !reported.insert(value.getDefiningOp()).second))
      continue;
    any = true;
    auto error = mlir::emitError(value.getLoc()) << reason->what << ", so no step can be derived from @" << roles.decode.getSymName();
    for (auto &[loc, text] : reason->notes)
      error.attachNote(loc) << text;
    Location last = value.getLoc();
    unsigned shown = 0;
    for (Value user : needed.pathFrom(value)) {
      if (user.getLoc() == last || shown == 3)
        continue;
      last = user.getLoc();
      error.attachNote(last) << (shown++ ? "and that here" : "it is used here");
    }
    error.attachNote(roles.decode.getBody().front().getTerminator()->getLoc())
        << "result '" << roles.decode.getResultName(roles.logits) << "' depends on it";
  }
  return any;
}

/// A value stored for a sentence needs the batch dimension, by which rows find their sentence.
static LogicalResult checkSentences(Roles &roles, const Causality &causality, const BackwardSlice &needed) {
  LogicalResult result = success();
  for (Value value : needed.all()) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (causality.get(value) != Dependence::sentence || (type && llvm::count(getDimNames(type), roles.batch) == 1))
      continue;
    result = mlir::emitError(value.getLoc()) << "the step of @" << roles.decode.getSymName() << " needs this value of the sentence, but "
                                             << (type ? describeShape(type) : std::string("it")) << " has no dimension '" << roles.batch << "'";
  }
  return result;
}

/// Moves layer-invariant values that depend on the entry's arguments (tokens that a mask compares, say) out of the
/// loops, so that they are kept once, not for each layer.
static void hoist(EntryOp decode, const Causality &causality) {
  decode.walk([&](RepeatOp repeat) {
    for (Operation &op : llvm::make_early_inc_range(repeat.getBody().front().without_terminator())) {
      llvm::SetVector<Value> read = valuesRead(&op);
      auto isOutside = [&](Value value) { return !repeat.getBody().isAncestor(value.getParentRegion()); };
      auto followsArguments = [&](Value value) { return causality.get(value) != Dependence::fixed; };
      if (isPure(&op) && llvm::all_of(read, isOutside) && llvm::any_of(read, followsArguments))
        op.moveBefore(repeat);
    }
  });
}

static LogicalResult derive(ModuleOp module, ModuleRoles generate) {
  auto roles = findRoles(module, generate);
  if (failed(roles))
    return failure();
  Causality causality(*roles);
  hoist(roles->decode, causality);
  Value logits = roles->decode.getBody().front().getTerminator()->getOperand(roles->logits);
  BackwardSlice needed(&causality);
  needed.add(logits);
  if (reportLookAheads(*roles, causality, needed))
    return failure();
  if (!isPerPosition(causality.get(logits)))
    return roles->decode.emitError("its result '") << roles->decode.getResultName(roles->logits) << "' does not depend on the target's tokens";
  if (failed(checkSentences(*roles, causality, needed)))
    return failure();

  SmallVector<Stored> stored;
  auto step = writeStep(*roles, causality, needed, stored);
  if (failed(step))
    return failure();
  if (!stored.empty())
    generate.set("begin", FlatSymbolRefAttr::get(writeBegin(*roles, *step, stored)));
  generate.set("step", FlatSymbolRefAttr::get(*step));
  generate.set("new", StringAttr::get(module.getContext(), roles->fresh));
  if (auto bound = getBound(module, roles->target))
    setBound(module, roles->fresh, *bound);
  return success();
}

namespace xf {
namespace {
struct DeriveStep : impl::XfDeriveStepBase<DeriveStep> {
  void runOnOperation() override {
    ModuleRoles generate(getOperation(), kGenerateAttr);
    if (!generate || generate.has("step"))
      return;
    if (failed(derive(getOperation(), generate)))
      signalPassFailure();
  }
};
} // namespace
} // namespace xf
