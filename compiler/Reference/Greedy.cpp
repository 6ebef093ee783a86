// Greedy search over the whole prefix: the plainest form of what programs do with a derived step.
#include "compiler/Import/Error.h"
#include "compiler/Reference/Interpreter.h"
#include "dialect/IR/ModuleRoles.h"

namespace xf {

/// Where the token at `position` of a row stands in a prefix of `positions` for each of `rows`.
static int64_t prefixIndex(bool sequenceFirst, int64_t rows, int64_t positions, int64_t row, int64_t position) {
  return sequenceFirst ? position * rows + row : row * positions + position;
}

/// The first `positions` tokens of each row.
static Tensor takePrefix(const Tensor &tokens, int64_t positions, bool sequenceFirst) {
  int64_t rows = tokens.shape[0], length = tokens.shape[1];
  Tensor prefix = Tensor::ofInts({rows, positions}, std::vector<int64_t>(rows * positions));
  if (sequenceFirst)
    prefix.shape = {positions, rows};
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < positions; ++i)
      prefix.ints[prefixIndex(sequenceFirst, rows, positions, row, i)] = tokens.ints[row * length + i];
  return prefix;
}

llvm::Expected<Tensor> Interpreter::greedy(const TensorMap &inputs, int64_t rows, int64_t length) {
  mlir::xf::ModuleRoles roles(module, mlir::xf::kGenerateAttr);
  if (!roles)
    return makeError("the model does not say how to generate");
  llvm::StringRef decode = roles.name("decode"), tokens = roles.name("tokens"), logitsName = roles.name("logits");
  if (decode.empty() || tokens.empty() || logitsName.empty())
    return makeError("the model's xf.generate lacks decode, tokens or logits");
  llvm::SmallVector<int64_t> ends = roles.integers("more_ends");
  if (auto end = roles.integer("end"))
    ends.push_back(*end);
  int64_t pad = roles.integer("pad").value_or(roles.integer("end").value_or(-1)), start = roles.integer("start").value_or(0);
  bool sequenceFirst = roles.has("sequence_first");

  TensorMap values = inputs;
  if (roles.has("encode")) {
    auto encoded = run(roles.name("encode"), inputs);
    if (!encoded)
      return encoded.takeError();
    for (auto &[name, tensor] : *encoded)
      values.emplace(name, std::move(tensor)); // what the caller gives wins
  }
  Tensor result = Tensor::ofInts({rows, length}, std::vector<int64_t>(rows * length, pad));
  std::vector<bool> finished(rows, false);
  for (int64_t row = 0; row < rows && length; ++row)
    result.ints[row * length] = start;
  for (int64_t t = 1; t < length; ++t) {
    values.insert_or_assign(tokens.str(), takePrefix(result, t, sequenceFirst));
    auto outputs = run(decode, values);
    if (!outputs)
      return outputs.takeError();
    auto logits = outputs->find(logitsName.str());
    if (logits == outputs->end() || logits->second.shape.size() != 3 || logits->second.size() % (rows * t) != 0)
      return makeError("entry '{}' gives no '{}' of rank 3", decode.str(), logitsName.str());
    int64_t vocabulary = logits->second.shape.back();
    for (int64_t row = 0; row < rows; ++row) {
      if (finished[row])
        continue;
      auto first = logits->second.floats.begin() + prefixIndex(sequenceFirst, rows, t, row, t - 1) * vocabulary;
      int64_t token = std::max_element(first, first + vocabulary) - first;
      result.ints[row * length + t] = token;
      finished[row] = llvm::is_contained(ends, token);
    }
    if (llvm::all_of(finished, [](bool f) { return f; }))
      break;
  }
  return result;
}

} // namespace xf
