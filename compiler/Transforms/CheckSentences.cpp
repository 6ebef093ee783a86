// The pass that refuses entries of a search or of predictions whose sentences see each other.
//
// A batch is whatever sentences happen to wait together, so no result may depend on it. The check is local to each op: sentences stay apart
// if no value has more than one dimension of the batch, no op removes that dimension, and none tells one sentence from another.
#include "compiler/Transforms/DeriveStep.h"
#include "compiler/Transforms/Passes.h"
#include "dialect/IR/ModuleRoles.h"
#include "dialect/IR/Producers.h"

namespace xf {
#define GEN_PASS_DEF_XFCHECKSENTENCES
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;
using ::xf::step::BackwardSlice;

namespace {

/// The check of entries whose sentences are the dimension `batch`.
class Sentences {
public:
  explicit Sentences(StringRef batch) : batch(batch) {}

  /// Reports where `results` of the entry depend on other sentences, so that `user` (as "a search") cannot use them.
  LogicalResult check(EntryOp entry, ArrayRef<Value> results, StringRef user) const;

private:
  /// The dimensions of a value that are sentences.
  SmallVector<int64_t, 1> axes(Value value) const;
  bool has(Value value) const { return !axes(value).empty(); }
  /// Why the op's results depend on other sentences; empty if they do not.
  StringRef problem(Operation *op) const;
  StringRef problem(AttendOp op) const;
  bool readsOthers(Region &region) const;

  StringRef batch;
};

} // namespace

SmallVector<int64_t, 1> Sentences::axes(Value value) const {
  SmallVector<int64_t, 1> found;
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  for (int64_t i = 0; tensor && i < tensor.getRank(); ++i)
    if (getDimName(tensor, i) == batch)
      found.push_back(i);
  return found;
}

/// Whether a region of an attention over sentences uses a sentence's index for anything but reading that sentence's elements.
bool Sentences::readsOthers(Region &region) const {
  if (region.empty())
    return false;
  Value sentence = region.getArgument(0);
  return llvm::any_of(region.front(), [&](Operation &op) {
    auto at = dyn_cast<AtOp>(op);
    if (!at)
      return llvm::is_contained(op.getOperands(), sentence);
    SmallVector<int64_t, 1> sentenceAxes = axes(at.getTensor());
    return llvm::any_of(llvm::enumerate(at.getIndices()),
                        [&](auto index) { return llvm::is_contained(sentenceAxes, int64_t(index.index())) != (index.value() == sentence); });
  });
}

StringRef Sentences::problem(AttendOp op) const {
  for (Value value : {op.getQ(), op.getK(), op.getV()})
    if (axes(value) != SmallVector<int64_t, 1>{0} && has(value))
      return "this attention mixes the sentences of a batch";
  if (has(op.getQ()) && llvm::any_of(op->getRegions(), [&](Region &region) { return readsOthers(region); }))
    return "a mask, bias or score of this attention depends on which sentence of a batch it is for";
  return "";
}

StringRef Sentences::problem(Operation *op) const {
  if (isa<PositionsOp>(op) && has(op->getResult(0)) && op->getNumOperands() == 0)
    return "this counts the sentences of a batch";
  if (auto scan = dyn_cast<ScanOp>(op); scan && llvm::is_contained(axes(scan.getResult(0)), int64_t(scan.getAxis())))
    return "this scan runs over the sentences of a batch";
  if (auto attend = dyn_cast<AttendOp>(op); attend)
    if (StringRef found = problem(attend); !found.empty())
      return found;
  bool isOfSentences = llvm::any_of(valuesRead(op), [&](Value value) { return has(value); });
  for (Value result : op->getResults()) {
    if (axes(result).size() > 1)
      return "this value holds pairs of the sentences of a batch";
    if (isOfSentences && !has(result))
      return "this value mixes the sentences of a batch";
  }
  return "";
}

LogicalResult Sentences::check(EntryOp entry, ArrayRef<Value> results, StringRef user) const {
  BackwardSlice needed;
  for (Value result : results)
    needed.add(result);
  LogicalResult result = success();
  llvm::DenseSet<Value> tainted; // results of ops that were reported or depend on those
  entry.getBody().front().walk([&](Operation *op) {
    if (isa<RepeatOp>(op) || llvm::none_of(op->getResults(), [&](Value value) { return needed.has(value); }))
      return; // a stack's results are checked in its body
    bool isConsequence = llvm::any_of(valuesRead(op), [&](Value value) { return tainted.contains(value); });
    StringRef found = isConsequence ? "" : problem(op);
    if (!found.empty())
      result = op->emitError() << found << ", so @" << entry.getSymName() << " cannot serve " << user << ": its results would depend on the batch";
    if (isConsequence || !found.empty())
      tainted.insert(op->result_begin(), op->result_end());
  });
  return result;
}

namespace xf {
namespace {
struct CheckSentences : impl::XfCheckSentencesBase<CheckSentences> {
  void runOnOperation() override {
    ModuleRoles generate(getOperation(), kGenerateAttr), predict(getOperation(), kPredictAttr);
    bool areIndependent = true;
    for (const char *member : {"encode", "decode", "align"})
      areIndependent &= isIndependent(generate, member, member == StringRef("decode") ? "logits" : "", "a search");
    if (!(areIndependent & isIndependent(predict, "entry", "result", "predictions")))
      signalPassFailure();
  }

private:
  /// Checks the result that the member `result` names, or all results if there is none.
  static bool isIndependent(const ModuleRoles &roles, StringRef member, StringRef result, StringRef user) {
    EntryOp entry = roles.entry(member);
    if (!entry || !roles.has("batch"))
      return true;
    auto results = llvm::to_vector(entry.getBody().front().getTerminator()->getOperands());
    if (std::optional<unsigned> resultIndex = entry.findResult(roles.name(result)))
      results = {results[*resultIndex]};
    return succeeded(Sentences(roles.name("batch")).check(entry, results, user));
  }
};
} // namespace
} // namespace xf
