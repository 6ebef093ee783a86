// Greedy search over the whole prefix: the plainest form of what programs do with a derived step.
#include "compiler/Import/Error.h"
#include "compiler/Reference/Interpreter.h"

namespace xf {

namespace {
/// The members of `xf.generate` that a search needs.
struct Roles {
  std::string encode, decode, tokens, logits;
  int64_t start = 0, pad = -1;
  std::vector<int64_t> ends;
  bool sequenceFirst = false;
};
} // namespace

static std::string textOf(mlir::DictionaryAttr dict, llvm::StringRef name) {
  mlir::Attribute attr = dict.get(name);
  if (auto symbol = llvm::dyn_cast_or_null<mlir::FlatSymbolRefAttr>(attr))
    return symbol.getValue().str();
  auto text = llvm::dyn_cast_or_null<mlir::StringAttr>(attr);
  return text ? text.getValue().str() : "";
}

static int64_t numberOf(mlir::DictionaryAttr dict, llvm::StringRef name, int64_t otherwise) {
  auto attr = dict.getAs<mlir::IntegerAttr>(name);
  return attr ? attr.getInt() : otherwise;
}

static llvm::Expected<Roles> readRoles(mlir::ModuleOp module) {
  auto dict = module->getAttrOfType<mlir::DictionaryAttr>(mlir::xf::kGenerateAttr);
  if (!dict)
    return makeError("the model does not say how to generate");
  Roles roles;
  roles.encode = textOf(dict, "encode"), roles.decode = textOf(dict, "decode");
  roles.tokens = textOf(dict, "tokens"), roles.logits = textOf(dict, "logits");
  roles.start = numberOf(dict, "start", 0);
  roles.pad = numberOf(dict, "pad", numberOf(dict, "end", -1));
  roles.ends.push_back(numberOf(dict, "end", -1));
  if (auto more = dict.getAs<mlir::ArrayAttr>("more_ends"))
    for (auto id : more.getAsRange<mlir::IntegerAttr>())
      roles.ends.push_back(id.getInt());
  roles.sequenceFirst = static_cast<bool>(dict.get("sequence_first"));
  if (roles.decode.empty() || roles.tokens.empty() || roles.logits.empty())
    return makeError("the model's xf.generate lacks decode, tokens or logits");
  return roles;
}

llvm::Expected<Tensor> Interpreter::greedy(const TensorMap &inputs, int64_t rows, int64_t length) {
  auto roles = readRoles(module);
  if (!roles)
    return roles.takeError();
  TensorMap values = inputs;
  if (!roles->encode.empty()) {
    auto encoded = run(roles->encode, inputs);
    if (!encoded)
      return encoded.takeError();
    for (auto &[name, tensor] : *encoded)
      values.emplace(name, std::move(tensor)); // what the caller gives wins
  }
  Tensor result = Tensor::ofInts({rows, length}, std::vector<int64_t>(rows * length, roles->pad));
  std::vector<bool> finished(rows, false);
  for (int64_t row = 0; row < rows && length; ++row)
    result.ints[row * length] = roles->start;
  for (int64_t t = 1; t < length; ++t) {
    Tensor prefix = Tensor::ofInts({rows, t}, std::vector<int64_t>(rows * t));
    if (roles->sequenceFirst)
      prefix.shape = {t, rows};
    auto at = [&](int64_t row, int64_t i) { return roles->sequenceFirst ? i * rows + row : row * t + i; };
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < t; ++i)
        prefix.ints[at(row, i)] = result.ints[row * length + i];
    values.insert_or_assign(roles->tokens, std::move(prefix));
    auto outputs = run(roles->decode, values);
    if (!outputs)
      return outputs.takeError();
    auto logits = outputs->find(roles->logits);
    if (logits == outputs->end() || logits->second.shape.size() != 3 || logits->second.size() % (rows * t) != 0)
      return makeError("entry '{}' gives no '{}' of rank 3", roles->decode, roles->logits);
    int64_t vocabulary = logits->second.shape.back();
    for (int64_t row = 0; row < rows; ++row) {
      if (finished[row])
        continue;
      auto first = logits->second.floats.begin() + at(row, t - 1) * vocabulary;
      int64_t token = std::max_element(first, first + vocabulary) - first;
      result.ints[row * length + t] = token;
      finished[row] = llvm::is_contained(roles->ends, token);
    }
    if (llvm::all_of(finished, [](bool f) { return f; }))
      break;
  }
  return result;
}

} // namespace xf
