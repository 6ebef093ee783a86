// predict(tag, logits, labels = true, pad = 0): what an encoder-only program prints for a line.
#include "compiler/Frontend/Roles.h"

using namespace xf::frontend;

namespace {

class Predict : Directive {
public:
  using Directive::Directive;

  void run() {
    for (const Argument &argument : call.arguments)
      if (!readArgument(argument))
        return;
    if (!entry)
      return e.error(call.loc, "predict needs an entry");
    if (!findResult() || !findTokens() || !checkRows())
      return;
    if (sequenceFirst)
      addFlag("sequence_first");
    addString("batch", e.batchDim);
    addString("source", e.sourceDim);
    addEntry("entry", entry);
    addString("result", result);
    write(mlir::xf::kPredictAttr);
  }

private:
  bool readArgument(const Argument &argument) {
    std::string key = argument.name;
    if (key.empty()) {
      key = positional == 0 ? "entry" : positional == 1 ? "result" : "";
      ++positional;
    }
    std::string what = "'" + key + "' of predict";
    if (key == "entry" || key == "result") {
      auto name = needName(argument, what);
      if (!name)
        return false;
      if (key == "entry")
        return bool(entry = e.findEntry(*name, argument.loc));
      result = *name;
      resultLoc = argument.loc;
      return true;
    }
    if (key == "labels") {
      auto known = e.asBool(valueOf(argument), argument.value->loc, what);
      if (known && *known)
        addFlag(key);
      return true;
    }
    if (key == "pad")
      return addNumber(argument, key, what);
    return fail(argument.loc, "predict has no parameter '" + key + "' (entry, result, labels, pad)");
  }

  /// The entry's result of that name, or its first.
  bool findResult() {
    auto type = entry.getFunctionType();
    if (result.empty() && type.getNumResults() > 0)
      result = entry.getResultName(0).str();
    for (unsigned i = 0; i < type.getNumResults(); ++i)
      if (entry.getResultName(i) == result)
        rows = llvm::cast<mlir::RankedTensorType>(type.getResult(i));
    return rows || fail(resultLoc, "'" + result + "' is no result of '" + entry.getSymName().str() + "'");
  }

  /// A line's tokens are the entry's only input.
  bool findTokens() {
    auto inputs = entry.getArgumentTypes();
    if (inputs.size() == 1)
      tokens = llvm::dyn_cast<mlir::RankedTensorType>(inputs[0]);
    if (!tokens || !isTokens(tokens) || !isTwoDynamicDims(tokens))
      return fail(call.loc, "predict needs an entry whose only input is token[B, S]");
    return true;
  }

  /// Which dimension of the tokens is the batch, the result may say.
  bool checkRows() {
    using namespace mlir::xf;
    bool perSentence = rows.getRank() == 2;
    sequenceFirst = perSentence ? sameDim(rows, 0, tokens, 1) : getDimName(tokens, 1) == "B";
    e.batchDim = getDimName(tokens, sequenceFirst ? 1 : 0).str();
    e.sourceDim = getDimName(tokens, sequenceFirst ? 0 : 1).str();
    bool fits = perSentence ? getDimName(rows, 0) == e.batchDim
                            : rows.getRank() == 3 && sameDim(rows, 0, tokens, 0) && sameDim(rows, 1, tokens, 1);
    if (!fits || !rows.getElementType().isF32())
      return fail(resultLoc, "predict needs a result [B, V] or [B, S, V] of numbers, not " + describeShape(rows));
    return true;
  }

  mlir::xf::EntryOp entry;
  std::string result;
  Loc resultLoc = call.loc;
  size_t positional = 0; // arguments without a name so far
  mlir::RankedTensorType tokens, rows;
  bool sequenceFirst = false;
};

} // namespace

void xf::frontend::runPredict(Evaluator &evaluator, const Expr &call, const ScopePtr &scope) { Predict(evaluator, call, scope).run(); }
