#include "compiler/Target/Link/Vocabularies.h"

#include "compiler/Import/Error.h"
#include "compiler/Target/Link/TokenBounds.h"
#include "runtime/abi/xf_abi.h"

#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {

static llvm::Error check(StringRef which, StringRef text, int64_t most) {
  if (text.empty())
    return llvm::Error::success();
  size_t offset = 0;
  if (!llvm::json::isUTF8(text, &offset))
    return makeError("the {} vocabulary: line {} is not UTF-8", which.str(), text.take_front(offset).count('\n') + 1);
  int64_t lines = text.count('\n') + !text.ends_with("\n");
  if (most > 0 && lines > most)
    return makeError("the {} vocabulary has {} lines, but the model has {} {} tokens", which.str(), lines, most, which.str());
  return llvm::Error::success();
}

/// The smallest table that any of the entry's tokens look up; 0 if there is none.
static int64_t sourceTokens(EntryOp entry) {
  int64_t least = 0;
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes())) {
    int64_t bound = cast<RankedTensorType>(type).getElementType().isInteger(32) ? tokenBound(entry, i) : 0;
    if (bound > 0)
      least = least == 0 ? bound : std::min(least, bound);
  }
  return least;
}

/// The last dimension of the entry's result of that name.
static int64_t columns(EntryOp entry, StringAttr name) {
  for (auto [i, type] : llvm::enumerate(entry.getResultTypes()))
    if (name && entry.getResultName(i) == name.getValue())
      return std::max<int64_t>(cast<RankedTensorType>(type).getShape().back(), 0);
  return 0;
}

/// The ids that an attribute's list holds, or its only one; of none there is nothing to check.
static llvm::SmallVector<int64_t> idsOf(DictionaryAttr attr, StringRef key) {
  llvm::SmallVector<int64_t> ids;
  Attribute value = attr ? attr.get(key) : Attribute();
  if (auto list = dyn_cast_or_null<ArrayAttr>(value))
    for (auto id : list.getAsRange<IntegerAttr>())
      ids.push_back(id.getInt());
  else if (auto id = dyn_cast_or_null<IntegerAttr>(value))
    ids.push_back(id.getInt());
  return ids;
}

/// Ids of `attr` are below `most`, where that is known.
static llvm::Error checkIds(StringRef role, DictionaryAttr attr, ArrayRef<StringRef> keys, StringRef which, int64_t most) {
  for (StringRef key : keys)
    for (int64_t id : idsOf(attr, key))
      if (most > 0 && id >= most)
        return makeError("'{}' of {} is {}, but the model has {} {} tokens", key.str(), role.str(), id, most, which.str());
  return llvm::Error::success();
}

llvm::Error checkVocabularies(ModuleOp module, StringRef source, StringRef target) {
  auto generate = module->getAttrOfType<DictionaryAttr>(kGenerateAttr);
  auto predict = module->getAttrOfType<DictionaryAttr>(kPredictAttr);
  auto text = module->getAttrOfType<DictionaryAttr>(kTextAttr);
  auto find = [&](DictionaryAttr attr, StringRef key) -> EntryOp {
    auto name = attr ? attr.getAs<FlatSymbolRefAttr>(key) : FlatSymbolRefAttr();
    return name ? module.lookupSymbol<EntryOp>(name) : EntryOp();
  };
  EntryOp reads = find(generate, "encode"), writes = find(generate, "decode");
  StringAttr result = generate ? generate.getAs<StringAttr>("logits") : StringAttr();
  if (!generate) {
    reads = writes = find(predict, "entry");
    // Labels have names; other predictions are numbers.
    result = predict && predict.contains("labels") ? predict.getAs<StringAttr>("result") : StringAttr();
  }
  if (!reads)
    reads = writes;
  int64_t sources = reads ? sourceTokens(reads) : 0, targets = writes ? columns(writes, result) : 0;
  if (llvm::Error error = checkIds("generate", generate, {"start", "end"}, "target", targets))
    return error;
  if (llvm::Error error = checkIds(generate ? "generate" : "predict", generate ? generate : predict, {"pad"}, "source", sources))
    return error;
  if (llvm::Error error = checkIds("text", text, {"prefix", "suffix", "unknown"}, "source", sources))
    return error;
  for (StringRef key : {"prefix", "suffix"})
    if (size_t count = idsOf(text, key).size(); count > XF_ABI_MAX_AFFIX)
      return makeError("'{}' of text has {} tokens; at most {} are possible", key.str(), count, XF_ABI_MAX_AFFIX);
  if (llvm::Error error = check("source", source, sources))
    return error;
  return check("target", target, targets);
}

} // namespace xf
