// predict(tag, logits, labels = true, pad = 0, types = types): what an encoder-only program prints for a line.
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
    addString("batch", e.bounds.batch);
    addString("source", e.bounds.source);
    addEntry("entry", entry);
    addString("result", result);
    if (!types.empty())
      addString("types", types);
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
    if (key == "entry" || key == "result" || key == "types") {
      auto name = needName(argument, what);
      if (!name)
        return false;
      if (key == "entry")
        return bool(entry = e.entries.find(*name, argument.loc));
      (key == "result" ? result : types) = *name;
      (key == "result" ? resultLoc : typesLoc) = argument.loc;
      return true;
    }
    if (key == "labels") {
      auto flag = e.asBool(valueOf(argument), argument.value->loc, what);
      if (flag && *flag)
        addFlag(key);
      return true;
    }
    if (key == "pad")
      return addIntegerArgument(argument, key, what);
    return fail(argument.loc, "predict has no parameter '" + key + "' (entry, result, labels, types, pad)");
  }

  /// The entry's result of that name, or its first.
  bool findResult() {
    auto results = entry.getResultTypes();
    if (result.empty() && !results.empty())
      result = entry.getResultName(0).str();
    if (auto found = entry.findResult(result))
      rows = llvm::cast<mlir::RankedTensorType>(results[*found]);
    return rows || fail(resultLoc, "'" + result + "' is no result of '" + entry.getSymName().str() + "'");
  }

  /// A line's tokens are the entry's only input, or the one beside their types.
  bool findTokens() {
    using mlir::xf::describeShape;
    mlir::RankedTensorType typesType;
    size_t others = 0;
    for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes())) {
      bool isTypes = !types.empty() && entry.getArgName(i) == types;
      (isTypes ? typesType : tokens) = llvm::dyn_cast<mlir::RankedTensorType>(type);
      others += !isTypes;
    }
    if (others != 1 || !tokens || !isTokens(tokens) || !isTwoDynamicDims(tokens))
      return fail(call.loc, types.empty()
                                ? "predict needs an entry whose only input is token[B, S], beside the tokens' types if it names them (types = …)"
                                : "predict needs an entry whose only input beside the types is token[B, S]");
    if (!types.empty() && typesType != tokens)
      return fail(typesLoc, typesType ? "the types must be token" + describeShape(tokens) + ", as the tokens are, not " + describeShape(typesType)
                                      : "'" + types + "' is no input of '" + entry.getSymName().str() + "'");
    return true;
  }

  /// Checks the result's shape, which may tell which dimension of the tokens is the batch.
  bool checkRows() {
    using namespace mlir::xf;
    bool perSentence = rows.getRank() == 2;
    sequenceFirst = perSentence ? sameDim(rows, 0, tokens, 1) : getDimName(tokens, 1) == "B";
    e.bounds.batch = getDimName(tokens, sequenceFirst ? 1 : 0).str();
    e.bounds.source = getDimName(tokens, sequenceFirst ? 0 : 1).str();
    bool fits = perSentence ? getDimName(rows, 0) == e.bounds.batch
                            : rows.getRank() == 3 && sameDim(rows, 0, tokens, 0) && sameDim(rows, 1, tokens, 1);
    // Rows have the same width for every line.
    if (!fits || rows.isDynamicDim(rows.getRank() - 1) || !rows.getElementType().isF32())
      return fail(resultLoc, "predict needs a result [B, V] or [B, S, V] of numbers, V known when compiling, not " + describeShape(rows));
    return true;
  }

  mlir::xf::EntryOp entry;
  std::string result, types;
  Loc resultLoc = call.loc, typesLoc = call.loc;
  size_t positional = 0; // arguments without a name so far
  mlir::RankedTensorType tokens, rows;
  bool sequenceFirst = false;
};

} // namespace

void xf::frontend::runPredict(Evaluator &evaluator, const Expr &call, const ScopePtr &scope) { Predict(evaluator, call, scope).run(); }
