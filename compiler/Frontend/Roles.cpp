// What a program does with its entries: generate(…), text(…), predict(…), and the bounds of all dimensions.
#include "compiler/Frontend/Evaluator.h"

#include <fmt/format.h>

using namespace xf::frontend;

namespace {
constexpr int64_t kDefaultBatch = 8, kDefaultLength = 512, kDefaultBeam = 4;

mlir::RankedTensorType typeOf(mlir::Type type) { return llvm::cast<mlir::RankedTensorType>(type); }

/// The name that an argument of a directive is, as `encode` in generate(encode, decode).
std::optional<std::string> nameOf(const Expr &expr) {
  if (expr.kind == ExprKind::Name || expr.kind == ExprKind::String)
    return expr.text;
  return std::nullopt;
}

bool isTokens(mlir::Type type) { return typeOf(type).getElementType().isInteger(32); }
} // namespace

mlir::xf::EntryOp Evaluator::findEntry(llvm::StringRef name, Loc loc) {
  for (EntryInfo &entry : entries)
    if (entry.function->name == name)
      return entry.op;
  error(loc, "'" + name.str() + "' is no entry of the model");
  return {};
}

void Evaluator::runDirectives(const InstanceRef &self) {
  std::set<std::string> seen;
  for (const Item *item : self.instance->directives) {
    const Expr &call = *item->value;
    const std::string &name = call.operands.empty() ? call.text : call.operands[0]->text;
    if (call.kind != ExprKind::Call) {
      error(item->loc, "'" + name + "' needs arguments");
      continue;
    }
    if (!seen.insert(name).second) {
      error(item->loc, "'" + name + "' is given twice");
      continue;
    }
    if (name == "generate")
      runGenerate(call, selfScope(self));
    else if (name == "text")
      runText(call, selfScope(self));
    else
      runPredict(call, selfScope(self));
  }
}

/// `3 * source + 10`: two lengths give the line, and others show whether it is one: short lengths, where roundings show,
/// and long ones, where least and greatest values do.
bool Evaluator::lengthExpression(const Argument &argument, const ScopePtr &scope, llvm::SmallVectorImpl<mlir::NamedAttribute> &attrs) {
  auto at = [&](int64_t source) {
    auto local = std::make_shared<Scope>();
    local->parent = scope;
    local->set("source", source, argument.loc);
    return asInt(eval(*argument.value, local), argument.value->loc, "max_length");
  };
  auto none = at(0), one = none ? at(1) : std::nullopt;
  if (!one)
    return false;
  int64_t base = *none, slope = 0;
  bool isLine = !__builtin_sub_overflow(*one, base, &slope) && base >= 0 && slope >= 0 && (slope > 0 || base > 0);
  for (int64_t source = 2; isLine && source <= 1 << 20; source < 64 ? ++source : source *= 2) {
    auto value = at(source);
    if (!value)
      return false;
    int64_t wanted = 0;
    isLine = !__builtin_mul_overflow(slope, source, &wanted) && !__builtin_add_overflow(wanted, base, &wanted) && *value == wanted;
  }
  if (!isLine) {
    error(argument.value->loc, "max_length must be a constant plus a multiple of source, neither below 0, for every length");
    return false;
  }
  for (int64_t number : {base, slope})
    if (number > INT32_MAX) {
      error(argument.value->loc, fmt::format("max_length cannot have {} in it; the largest is {}", number, INT32_MAX));
      return false;
    }
  attrs.push_back(builder.getNamedAttr("max_length_base", builder.getI64IntegerAttr(base)));
  attrs.push_back(builder.getNamedAttr("max_length_per_source", builder.getI64IntegerAttr(slope)));
  return true;
}

void Evaluator::runGenerate(const Expr &call, const ScopePtr &scope) {
  std::map<std::string, std::pair<std::string, Loc>> names;
  llvm::SmallVector<mlir::NamedAttribute> attrs;
  bool hasStart = false, hasEnd = false;
  size_t next = 0;
  for (const Argument &argument : call.arguments) {
    static const char *positional[] = {"encode", "decode"};
    std::string key = argument.name;
    if (key.empty()) {
      if (next > 1)
        return error(argument.loc, "generate takes two entries, encode and decode, and named arguments");
      key = positional[next++];
    }
    if (key == "encode" || key == "decode" || key == "tokens" || key == "logits") {
      auto name = nameOf(*argument.value);
      if (!name)
        return error(argument.loc, "'" + key + "' of generate must be a name");
      names[key] = {*name, argument.loc};
    } else if (key == "max_length") {
      if (!lengthExpression(argument, scope, attrs))
        return;
    } else if (key == "start" || key == "end" || key == "pad" || key == "min_length") {
      auto value = asInt(eval(*argument.value, scope), argument.value->loc, "'" + key + "' of generate");
      if (!value)
        return;
      if (*value < 0 || *value > INT32_MAX)
        return error(argument.value->loc, fmt::format("'{}' of generate cannot be {}", key, *value));
      attrs.push_back(builder.getNamedAttr(key, builder.getI64IntegerAttr(*value)));
      hasStart |= key == "start";
      hasEnd |= key == "end";
    } else {
      return error(argument.loc, "generate has no parameter '" + key + "' (encode, decode, tokens, logits, start, end, pad, min_length, max_length)");
    }
  }
  if (!hasStart || !hasEnd || !names.count("decode"))
    return error(call.loc, std::string("generate needs '") + (!names.count("decode") ? "decode" : hasStart ? "end" : "start") + "'");
  auto decode = findEntry(names["decode"].first, names["decode"].second);
  mlir::xf::EntryOp encode;
  if (names.count("encode") && !(encode = findEntry(names["encode"].first, names["encode"].second)))
    return;
  if (!decode)
    return;

  // The target's tokens: the decoder's token input that the encoder does not have.
  auto isSource = [&](llvm::StringRef name) {
    for (unsigned i = 0; encode && i < encode.getFunctionType().getNumInputs(); ++i)
      if (encode.getArgName(i) == name)
        return true;
    return false;
  };
  int64_t tokens = -1, source = -1;
  for (unsigned i = 0; i < decode.getFunctionType().getNumInputs(); ++i) {
    bool wanted = names.count("tokens") ? decode.getArgName(i) == names["tokens"].first
                                        : isTokens(decode.getFunctionType().getInput(i)) && !isSource(decode.getArgName(i));
    if (wanted && tokens < 0)
      tokens = i;
  }
  for (unsigned i = 0; encode && i < encode.getFunctionType().getNumInputs(); ++i)
    if (source < 0 && isTokens(encode.getFunctionType().getInput(i)))
      source = i;
  if (tokens < 0 || (encode && source < 0))
    return error(call.loc, std::string("generate finds no token input in '") + (tokens < 0 ? decode : encode).getSymName().str() + "'");
  auto target = typeOf(decode.getFunctionType().getInput(tokens));
  auto sourceType = encode ? typeOf(encode.getFunctionType().getInput(source)) : mlir::RankedTensorType();
  auto twoDims = [](mlir::RankedTensorType type) { return type.getRank() == 2 && type.isDynamicDim(0) && type.isDynamicDim(1); };
  if (!twoDims(target) || (sourceType && !twoDims(sourceType)))
    return error(call.loc, "generate needs tokens of two dimensions, batch and positions, not " +
                               mlir::xf::describeShape(twoDims(target) ? sourceType : target));
  // The batch is the dimension that both share; without a source it is the one called B, else the first.
  unsigned batch = 0;
  if (sourceType)
    batch = llvm::is_contained(mlir::xf::getDimNames(sourceType), mlir::xf::getDimName(target, 0)) ? 0 : 1;
  else
    batch = mlir::xf::getDimName(target, 1) == "B" ? 1 : 0;
  if (sourceType && mlir::xf::getDimName(sourceType, batch) != mlir::xf::getDimName(target, batch))
    return error(call.loc, "source " + mlir::xf::describeShape(sourceType) + " and target " + mlir::xf::describeShape(target) +
                               " of generate need the same batch dimension");
  int64_t logits = names.count("logits") ? -1 : 0;
  for (unsigned i = 0; i < decode.getFunctionType().getNumResults(); ++i)
    if (decode.getResultName(i) == (names.count("logits") ? names["logits"].first : "logits"))
      logits = i;
  if (logits < 0)
    return error(names["logits"].second, "'" + names["logits"].first + "' is no result of '" + decode.getSymName().str() + "'");
  auto rows = typeOf(decode.getFunctionType().getResult(logits));
  if (rows.getRank() != 3 || !mlir::xf::sameDim(rows, 0, target, 0) || !mlir::xf::sameDim(rows, 1, target, 1) || rows.isDynamicDim(2))
    return error(call.loc, "the logits " + mlir::xf::describeShape(rows) + " must be [" + dimOf(target, 0).str() + ", " + dimOf(target, 1).str() +
                               ", vocabulary]");

  auto add = [&](llvm::StringRef key, mlir::Attribute value) { attrs.push_back(builder.getNamedAttr(key, value)); };
  batchDim = mlir::xf::getDimName(target, batch).str();
  targetDim = mlir::xf::getDimName(target, 1 - batch).str();
  if (encode) {
    sourceDim = mlir::xf::getDimName(sourceType, 1 - batch).str();
    add("encode", mlir::FlatSymbolRefAttr::get(encode.getSymNameAttr()));
    add("source", builder.getStringAttr(sourceDim));
  }
  add("decode", mlir::FlatSymbolRefAttr::get(decode.getSymNameAttr()));
  add("tokens", builder.getStringAttr(decode.getArgName(tokens)));
  add("logits", builder.getStringAttr(decode.getResultName(logits)));
  add("batch", builder.getStringAttr(batchDim));
  add("target", builder.getStringAttr(targetDim));
  if (batch == 1)
    add("sequence_first", builder.getUnitAttr());
  int64_t beam = kDefaultBeam;
  for (auto &[name, value] : options.limits)
    if (name == "beam")
      beam = value;
  if (beam < 1 || beam > 1024)
    return error({}, fmt::format("--limit beam={}: a beam has 1 to 1024 hypotheses", beam));
  add("beam", builder.getI64IntegerAttr(beam));
  (*module)->setAttr(mlir::xf::kGenerateAttr, builder.getDictionaryAttr(attrs));
}

void Evaluator::runText(const Expr &call, const ScopePtr &scope) {
  llvm::SmallVector<mlir::NamedAttribute> attrs;
  for (const Argument &argument : call.arguments) {
    const std::string &key = argument.name;
    if (key == "source" || key == "target") {
      auto kind = nameOf(*argument.value);
      if (!kind || (*kind != "characters" && *kind != "words" && *kind != "ids"))
        return error(argument.value->loc, "'" + key + "' of text is characters, words or ids");
      attrs.push_back(builder.getNamedAttr(key, builder.getStringAttr(*kind)));
      continue;
    }
    Value value = eval(*argument.value, scope);
    if (isPoison(value))
      return;
    auto id = [&](const Value &v) -> std::optional<int64_t> {
      auto known = asInt(v, argument.value->loc, "an id of text");
      if (known && (*known < 0 || *known > INT32_MAX))
        return error(argument.value->loc, fmt::format("{} is no token id", *known)), std::nullopt;
      return known;
    };
    if (key == "prefix" || key == "suffix") {
      auto *list = getIf<std::shared_ptr<List>>(value);
      if (!list || (*list)->element)
        return error(argument.value->loc, "'" + key + "' of text is a list of ids, such as [2]");
      llvm::SmallVector<mlir::Attribute> ids;
      for (const Value &element : (*list)->elements) {
        auto known = id(element);
        if (!known)
          return;
        ids.push_back(builder.getI64IntegerAttr(*known));
      }
      attrs.push_back(builder.getNamedAttr(key, builder.getArrayAttr(ids)));
    } else if (key == "unknown") {
      auto known = id(value);
      if (!known)
        return;
      attrs.push_back(builder.getNamedAttr(key, builder.getI64IntegerAttr(*known)));
    } else if (key == "lowercase") {
      auto known = asBool(value, argument.value->loc, "'lowercase' of text");
      if (known && *known)
        attrs.push_back(builder.getNamedAttr(key, builder.getUnitAttr()));
    } else {
      return error(argument.loc, "text has no parameter '" + key + "' (source, target, prefix, suffix, unknown, lowercase)");
    }
  }
  (*module)->setAttr(mlir::xf::kTextAttr, builder.getDictionaryAttr(attrs));
}

/// predict(tag, logits, labels = true, pad = 0): what an encoder-only program prints for a line.
void Evaluator::runPredict(const Expr &call, const ScopePtr &scope) {
  llvm::SmallVector<mlir::NamedAttribute> attrs;
  mlir::xf::EntryOp entry;
  std::string result;
  Loc resultLoc = call.loc;
  size_t next = 0;
  for (const Argument &argument : call.arguments) {
    std::string key = argument.name;
    if (key.empty())
      key = next == 0 ? "entry" : next == 1 ? "result" : "";
    next += argument.name.empty();
    if (key == "entry" || key == "result") {
      auto name = nameOf(*argument.value);
      if (!name)
        return error(argument.loc, "'" + key + "' of predict must be a name");
      if (key == "result")
        result = *name, resultLoc = argument.loc;
      else if (!(entry = findEntry(*name, argument.loc)))
        return;
    } else if (key == "labels") {
      auto known = asBool(eval(*argument.value, scope), argument.value->loc, "'labels' of predict");
      if (known && *known)
        attrs.push_back(builder.getNamedAttr(key, builder.getUnitAttr()));
    } else if (key == "pad") {
      auto known = asInt(eval(*argument.value, scope), argument.value->loc, "'pad' of predict");
      if (!known)
        return;
      if (*known < 0 || *known > INT32_MAX)
        return error(argument.value->loc, fmt::format("'pad' of predict cannot be {}", *known));
      attrs.push_back(builder.getNamedAttr(key, builder.getI64IntegerAttr(*known)));
    } else {
      return error(argument.loc, "predict has no parameter '" + key + "' (entry, result, labels, pad)");
    }
  }
  if (!entry)
    return error(call.loc, "predict needs an entry");
  if (result.empty() && entry.getFunctionType().getNumResults() > 0)
    result = entry.getResultName(0).str();
  int resultNumber = -1;
  for (unsigned i = 0; i < entry.getFunctionType().getNumResults(); ++i)
    if (entry.getResultName(i) == result)
      resultNumber = i;
  if (resultNumber < 0)
    return error(resultLoc, "'" + result + "' is no result of '" + entry.getSymName().str() + "'");
  // A line's tokens are the entry's only input; which of its dimensions is the batch, the result may say.
  auto inputs = entry.getArgumentTypes();
  auto tokens = inputs.size() == 1 ? llvm::dyn_cast<mlir::RankedTensorType>(inputs[0]) : mlir::RankedTensorType();
  if (!tokens || !tokens.getElementType().isInteger(32) || tokens.getRank() != 2 || !tokens.isDynamicDim(0) || !tokens.isDynamicDim(1))
    return error(call.loc, "predict needs an entry whose only input is token[B, S]");
  auto rows = typeOf(entry.getFunctionType().getResult(resultNumber));
  bool sequenceFirst = rows.getRank() == 2 ? mlir::xf::sameDim(rows, 0, tokens, 1) : mlir::xf::getDimName(tokens, 1) == "B";
  batchDim = mlir::xf::getDimName(tokens, sequenceFirst ? 1 : 0).str();
  sourceDim = mlir::xf::getDimName(tokens, sequenceFirst ? 0 : 1).str();
  bool fits = rows.getRank() == 2 ? mlir::xf::getDimName(rows, 0) == batchDim
                                  : rows.getRank() == 3 && mlir::xf::sameDim(rows, 0, tokens, 0) && mlir::xf::sameDim(rows, 1, tokens, 1);
  if (!fits || !rows.getElementType().isF32())
    return error(resultLoc, "predict needs a result [B, V] or [B, S, V] of numbers, not " + mlir::xf::describeShape(rows));
  if (sequenceFirst)
    attrs.push_back(builder.getNamedAttr("sequence_first", builder.getUnitAttr()));
  attrs.push_back(builder.getNamedAttr("batch", builder.getStringAttr(batchDim)));
  attrs.push_back(builder.getNamedAttr("source", builder.getStringAttr(sourceDim)));
  attrs.push_back(builder.getNamedAttr("entry", mlir::FlatSymbolRefAttr::get(entry.getSymNameAttr())));
  attrs.push_back(builder.getNamedAttr("result", builder.getStringAttr(result)));
  (*module)->setAttr(mlir::xf::kPredictAttr, builder.getDictionaryAttr(attrs));
}

int64_t Evaluator::boundOf(llvm::StringRef dim) const {
  bool isBatch = batchDim.empty() ? dim == "B" : dim == batchDim;
  std::optional<int64_t> role;
  for (auto &[name, value] : options.limits) {
    if (name == dim)
      return value;
    if ((name == "batch" && isBatch) || (name == "source" && dim == sourceDim) || (name == "target" && dim == targetDim))
      role = value;
  }
  if (role)
    return *role;
  if (auto it = dims.find(dim.str()); it != dims.end() && (it->second.declared || it->second.table))
    return it->second.declared ? *it->second.declared : *it->second.table;
  return isBatch ? kDefaultBatch : kDefaultLength;
}

/// Checks the limits, writes `xf.bounds`, and gives tables without a length as many rows as their dimensions need.
void Evaluator::setBounds() {
  std::set<std::string> names;
  for (EntryInfo &entry : entries)
    for (mlir::Type type : entry.op.getFunctionType().getInputs())
      for (llvm::StringRef name : mlir::xf::getDimNames(typeOf(type)))
        if (!name.empty())
          names.insert(name.str());
  for (auto &[name, value] : options.limits) {
    bool isRole = name == "batch" || name == "beam" || (name == "source" && !sourceDim.empty()) || (name == "target" && !targetDim.empty());
    if (!names.count(name) && !isRole)
      error({}, "--limit " + name + ": the model has no dimension '" + name + "'");
    else if (value < 1 || value > INT32_MAX)
      error({}, fmt::format("--limit {}={}: a limit must be between 1 and {}", name, value, INT32_MAX));
  }
  llvm::SmallVector<mlir::NamedAttribute> attrs;
  for (const std::string &name : names) {
    int64_t bound = boundOf(name);
    if (auto it = dims.find(name); it != dims.end() && it->second.table && bound > *it->second.table) {
      error(it->second.declared == bound ? it->second.loc : Loc{},
            fmt::format("'{}' may be up to {}, but the position table has {} rows for it", name, bound, *it->second.table));
      note(it->second.tableLoc, "the table is declared here");
    }
    attrs.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(bound)));
  }
  (*module)->setAttr(mlir::xf::kBoundsAttr, builder.getDictionaryAttr(attrs));
  for (auto &[key, parameter] : tables) {
    if (parameter->uses.empty())
      continue;
    int64_t rows = 1;
    for (auto &[dim, offset] : parameter->uses)
      rows = std::max(rows, (dim.isDynamic() ? boundOf(dim.name) : dim.size) + offset);
    auto type = mlir::xf::withDim(parameter->type, 0, rows, "");
    if (static_cast<double>(rows) * static_cast<double>(type.getNumElements() / rows) > 1e9) {
      error(parameter->loc, fmt::format("the table would have {} rows", rows));
      continue;
    }
    llvm::cast<mlir::xf::ParameterOp>(parameter->op).setType(type);
    module->walk([&](mlir::xf::ParamOp op) {
      if (op.getName() == parameter->symbol)
        op.getResult().setType(type);
    });
  }
}
