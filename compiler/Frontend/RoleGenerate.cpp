// generate(encode, decode, start = 1, end = 2, …): a program that searches for the best tokens.
#include "compiler/Frontend/Roles.h"
#include "runtime/abi/xf_abi.h"

#include <fmt/format.h>

using namespace xf::frontend;

namespace {
constexpr int64_t kDefaultBeam = 4, kMaxBeam = 1024;

mlir::RankedTensorType typeOf(mlir::Type type) { return llvm::cast<mlir::RankedTensorType>(type); }

/// `3 * source + 10`.
struct Line {
  int64_t base = 0, slope = 0;
};

class Generate : Directive {
public:
  using Directive::Directive;

  void run() {
    if (!readArguments() || !findEntries() || !findTokens() || !findBatch() || !findLogits() || !checkAlign())
      return;
    e.bounds.batch = mlir::xf::getDimName(target, batch).str();
    e.bounds.target = mlir::xf::getDimName(target, 1 - batch).str();
    if (source)
      e.bounds.source = mlir::xf::getDimName(source, 1 - batch).str();
    addRoles();
    if (addBeam())
      write(mlir::xf::kGenerateAttr);
  }

private:
  struct Name {
    std::string text;
    Loc loc;
  };

  // Reads the directive's arguments.

  bool readArguments() {
    size_t positional = 0;
    for (const Argument &argument : call.arguments) {
      if (!argument.name.empty()) {
        if (!readArgument(argument.name, argument))
          return false;
        continue;
      }
      if (positional > 1)
        return fail(argument.loc, "generate takes two entries, encode and decode, and named arguments");
      if (!readArgument(positional++ == 0 ? "encode" : "decode", argument))
        return false;
    }
    for (std::string needed : {"decode", "start", "end"}) {
      bool isPrompt = needed == "start" && !names.contains("encode"); // a model without an encoder may do without a start token
      if (!isPrompt && !names.contains(needed) && !has(needed))
        return fail(call.loc, "generate needs '" + needed + "'");
    }
    return true;
  }

  bool readArgument(const std::string &key, const Argument &argument) {
    std::string what = "'" + key + "' of generate";
    if (key == "encode" || key == "decode" || key == "align" || key == "tokens" || key == "logits") {
      auto name = needName(argument, what);
      if (name)
        names[key] = {*name, argument.loc};
      return name.has_value();
    }
    if (key == "max_length")
      return readMaxLength(argument);
    if (key == "end")
      return readEnds(argument);
    if (key == "start" || key == "pad" || key == "min_length")
      return addIntegerArgument(argument, key, what);
    return fail(argument.loc,
                "generate has no parameter '" + key + "' (encode, decode, align, tokens, logits, start, end, pad, min_length, max_length)");
  }

  /// A token, or a list of them.
  bool readEnds(const Argument &argument) {
    Loc loc = argument.value->loc;
    Value value = valueOf(argument);
    auto *list = getIf<std::shared_ptr<List>>(value);
    std::vector<Value> ends = list && !(*list)->element ? (*list)->elements : std::vector<Value>{value};
    if (ends.empty() || ends.size() > XF_ABI_MAX_ENDS)
      return fail(loc, fmt::format("'end' of generate is a token, or a list of 1 to {}, not of {}", XF_ABI_MAX_ENDS, ends.size()));
    llvm::SmallVector<mlir::Attribute> more;
    for (const auto &[i, end] : llvm::enumerate(ends)) {
      auto id = asNonNegative(end, loc, "'end' of generate");
      if (!id)
        return false;
      if (i == 0)
        addInteger("end", *id);
      else
        more.push_back(builder.getI64IntegerAttr(*id));
    }
    if (!more.empty())
      add("more_ends", builder.getArrayAttr(more));
    return true;
  }

  bool readMaxLength(const Argument &argument) {
    auto line = findLine(argument);
    if (!line)
      return false;
    for (int64_t coefficient : {line->base, line->slope})
      if (coefficient > INT32_MAX)
        return fail(argument.value->loc, fmt::format("max_length cannot have {} in it; the largest is {}", coefficient, INT32_MAX));
    addInteger("max_length_base", line->base);
    addInteger("max_length_per_source", line->slope);
    return true;
  }

  /// Two lengths determine the line, and others test whether it is one: short lengths, where rounding shows, and long ones,
  /// where minima and maxima do.
  std::optional<Line> findLine(const Argument &argument) {
    auto atZero = maxLengthAt(0, argument), atOne = atZero ? maxLengthAt(1, argument) : std::nullopt;
    if (!atOne)
      return std::nullopt;
    Line line{*atZero};
    bool isLine = !__builtin_sub_overflow(*atOne, line.base, &line.slope) && line.base >= 0 && line.slope >= 0 && (line.slope > 0 || line.base > 0);
    for (int64_t length = 2; isLine && length <= 1 << 20; length < 64 ? ++length : length *= 2) {
      auto value = maxLengthAt(length, argument);
      if (!value)
        return std::nullopt;
      int64_t expected = 0;
      isLine = !__builtin_mul_overflow(line.slope, length, &expected) && !__builtin_add_overflow(expected, line.base, &expected) &&
               *value == expected;
    }
    if (isLine)
      return line;
    e.error(argument.value->loc, "max_length must be a constant plus a multiple of source, neither below 0, for every length");
    return std::nullopt;
  }

  /// The value of the expression for a source of that length.
  std::optional<int64_t> maxLengthAt(int64_t length, const Argument &argument) {
    auto local = std::make_shared<Scope>();
    local->parent = scope;
    local->set("source", length, argument.loc);
    return e.asInt(e.eval(*argument.value, local), argument.value->loc, "max_length");
  }

  // Finds the entries, and their tensors that a search needs.

  bool findEntries() {
    decode = e.entries.find(names["decode"].text, names["decode"].loc);
    for (auto [name, entry] : {std::pair("encode", &encode), std::pair("align", &align)})
      if (names.contains(name) && !(*entry = e.entries.find(names[name].text, names[name].loc)))
        return false;
    return bool(decode);
  }

  bool findTokens() {
    auto tokenInput = findTargetInput();
    if (!tokenInput && names.contains("tokens"))
      return fail(names["tokens"].loc, "'" + names["tokens"].text + "' is no input of '" + decode.getSymName().str() + "'");
    if (!tokenInput)
      return fail(call.loc, "generate finds no token input in '" + decode.getSymName().str() + "'");
    tokens = *tokenInput;
    target = typeOf(decode.getFunctionType().getInput(tokens));
    if (encode && !(source = findSource()))
      return fail(
          call.loc,
          "generate finds neither tokens nor features whose first two dimensions are batch and positions, not constant, among the inputs of '" +
              encode.getSymName().str() + "'");
    if (!isTwoDynamicDims(target) || (source && isTokens(source) && !isTwoDynamicDims(source)))
      return fail(call.loc, "generate needs tokens of two dimensions, batch and positions, not " +
                                mlir::xf::describeShape(isTwoDynamicDims(target) ? source : target));
    return true;
  }

  /// The target's tokens: those that are named, or the decoder's first token input that the encoder does not have.
  std::optional<unsigned> findTargetInput() {
    auto inputs = decode.getFunctionType().getInputs();
    for (unsigned i = 0; i < inputs.size(); ++i) {
      llvm::StringRef name = decode.getArgName(i);
      if (names.contains("tokens") ? name == names["tokens"].text : isTokens(typeOf(inputs[i])) && !encoderInput(name))
        return i;
    }
    return std::nullopt;
  }

  /// The type of the encoder's input of that name; null if there is none.
  mlir::Type encoderInput(llvm::StringRef name) {
    auto found = encode ? encode.findArg(name) : std::nullopt;
    return found ? encode.getArgumentTypes()[*found] : mlir::Type();
  }

  /// The encoder's first token input; without one, its first input whose two leading dimensions are the target's batch and another one.
  mlir::RankedTensorType findSource() {
    auto inputs = encode.getFunctionType().getInputs();
    auto hasPositions = [&](mlir::Type type) {
      mlir::RankedTensorType tensor = typeOf(type);
      auto isBatch = [&](unsigned dim) { return llvm::is_contained(mlir::xf::getDimNames(target), mlir::xf::getDimName(tensor, dim)); };
      return tensor.getRank() >= 2 && tensor.isDynamicDim(0) && tensor.isDynamicDim(1) && isBatch(0) != isBatch(1);
    };
    auto found = llvm::find_if(inputs, [](mlir::Type type) { return isTokens(typeOf(type)); });
    if (found == inputs.end())
      found = llvm::find_if(inputs, hasPositions);
    return found == inputs.end() ? mlir::RankedTensorType() : typeOf(*found);
  }

  /// The batch is the dimension that source and target share; without a source it is the one called B, else the first.
  bool findBatch() {
    using namespace mlir::xf;
    if (!source) {
      batch = getDimName(target, 1) == "B" ? 1 : 0;
      return true;
    }
    batch = llvm::is_contained(getDimNames(source), getDimName(target, 0)) ? 0 : 1;
    if (getDimName(source, batch) == getDimName(target, batch))
      return true;
    return fail(call.loc, "source " + describeShape(source) + " and target " + describeShape(target) + " of generate need the same batch dimension");
  }

  /// Finds the decoder's result that the directive names; without a name, the one called logits, else the first.
  bool findLogits() {
    using namespace mlir::xf;
    bool named = names.contains("logits");
    std::string name = named ? names["logits"].text : "logits";
    auto results = decode.getFunctionType().getResults();
    std::optional<unsigned> found = decode.findResult(name);
    if (!found && !named)
      found = 0;
    if (!found)
      return fail(names["logits"].loc, "'" + name + "' is no result of '" + decode.getSymName().str() + "'");
    logits = *found;
    auto rows = typeOf(results[logits]);
    if (rows.getRank() != 3 || !sameDim(rows, 0, target, 0) || !sameDim(rows, 1, target, 1) || rows.isDynamicDim(2))
      return fail(call.loc,
                  "the logits " + describeShape(rows) + " must be [" + dimOf(target, 0).str() + ", " + dimOf(target, 1).str() + ", vocabulary]");
    return checkTokens(rows.getDimSize(2));
  }

  /// Checks the entry that says how much each target token looks at each source token. Its inputs are inputs and results of the
  /// encoder, and the target's tokens as the decoder takes them.
  bool checkAlign() {
    using namespace mlir::xf;
    if (!align)
      return true;
    Loc loc = names["align"].loc;
    std::string name = "'" + align.getSymName().str() + "'";
    if (!encode)
      return fail(loc, "a model without an encoder has no source to align results with");
    auto inputs = align.getFunctionType().getInputs();
    bool reads = false;
    for (unsigned i = 0; i < inputs.size(); ++i) {
      bool isTarget = align.getArgName(i) == decode.getArgName(tokens);
      reads |= isTarget;
      mlir::Type expected = isTarget ? mlir::Type(target) : encoderTensor(align.getArgName(i));
      if (!expected)
        return fail(loc, "the input '" + align.getArgName(i).str() + "' of " + name + " is neither the target's tokens, '" +
                             decode.getArgName(tokens).str() + "', nor the encoder's");
      if (expected != inputs[i])
        return fail(loc, "the input '" + align.getArgName(i).str() + "' of " + name + " is " + describeShape(typeOf(inputs[i])) + ", but " +
                             describeShape(typeOf(expected)) + " elsewhere");
    }
    if (!reads)
      return fail(loc, name + " does not take the target's tokens, '" + decode.getArgName(tokens).str() + "'");
    auto results = align.getFunctionType().getResults();
    auto weights = typeOf(results[0]);
    bool fits = results.size() == 1 && weights.getElementType().isF32() && weights.getRank() == 3 && sameDim(weights, 2, source, 1 - batch) &&
                ((sameDim(weights, 0, target, 0) && sameDim(weights, 1, target, 1)) ||
                 (sameDim(weights, 0, target, 1) && sameDim(weights, 1, target, 0)));
    return fits || fail(loc, name + " must have one result, f32 [" + dimOf(target, batch).str() + ", " + dimOf(target, 1 - batch).str() + ", " +
                                 dimOf(source, 1 - batch).str() + "] of batch, target and source, not " + describeShape(weights) +
                                 (results.size() == 1 ? "" : " and more"));
  }

  /// The type of the encoder's result or input of that name; null if there is none.
  mlir::Type encoderTensor(llvm::StringRef name) {
    auto found = encode.findResult(name);
    return found ? encode.getResultTypes()[*found] : encoderInput(name);
  }

  /// Checks that the start and end tokens have logits. The tables in which entries look tokens up are known only when these are compiled.
  bool checkTokens(int64_t vocabulary) {
    bool good = true;
    auto check = [&](const std::string &name, mlir::Attribute value) {
      if (int64_t id = llvm::cast<mlir::IntegerAttr>(value).getInt(); id >= vocabulary)
        good = fail(argumentLoc(name), fmt::format("'{}' of generate is {}, but the model has {} target tokens", name, id, vocabulary));
    };
    for (mlir::NamedAttribute member : members) {
      if (member.getName() == "start" || member.getName() == "end")
        check(member.getName().str(), member.getValue());
      else if (member.getName() == "more_ends")
        for (mlir::Attribute id : llvm::cast<mlir::ArrayAttr>(member.getValue()))
          check("end", id);
    }
    return good;
  }

  // Writes the module's attribute.

  void addRoles() {
    if (encode) {
      addEntry("encode", encode);
      addString("source", e.bounds.source);
    }
    addEntry("decode", decode);
    if (align)
      addEntry("align", align);
    addString("tokens", decode.getArgName(tokens));
    addString("logits", decode.getResultName(logits));
    addString("batch", e.bounds.batch);
    addString("target", e.bounds.target);
    if (batch == 1)
      addFlag("sequence_first");
  }

  bool addBeam() {
    int64_t beam = kDefaultBeam;
    for (auto &[name, value] : e.options.limits)
      if (name == "beam")
        beam = value;
    if (beam < 1 || beam > kMaxBeam)
      return fail({}, fmt::format("--limit beam={}: a beam has 1 to {} hypotheses", beam, kMaxBeam));
    addInteger("beam", beam);
    return true;
  }

  std::map<std::string, Name> names;
  mlir::xf::EntryOp encode, decode, align;
  unsigned tokens = 0, logits = 0; // an input and a result of `decode`
  mlir::RankedTensorType source, target; // of the tokens; `source` is null without an encoder
  unsigned batch = 0; // the batch dimension of both
};

} // namespace

void xf::frontend::runGenerate(Evaluator &evaluator, const Expr &call, const ScopePtr &scope) { Generate(evaluator, call, scope).run(); }
