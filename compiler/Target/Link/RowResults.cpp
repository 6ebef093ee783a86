#include "compiler/Target/Link/RowResults.h"

#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {

RowResults::RowResults(QuantizeOp quantize, int64_t layers)
    : layers(layers), height(typeOf(quantize.getX()).getDimSize(0)), depth(typeOf(quantize.getX()).getDimSize(1)), toInt16(quantize.isToInt16()) {}

void RowResults::keep(unsigned result) {
  Kind kind = kindOf(result);
  kept[kind].resize(layers * countOf(kind));
  if (kind == mean)
    means.assign(layers, MeanRow(depth));
}

void RowResults::quantize(llvm::ArrayRef<float> rows, int64_t layer, int64_t first, std::vector<float> &elements) {
  elements.resize(rows.size());
  for (int64_t r = 0; r * depth < int64_t(rows.size()); ++r) {
    QuantizedRow row(rows.slice(r * depth, depth), toInt16);
    llvm::copy(row.getElements(), elements.begin() + r * depth);
    auto note = [&](Kind kind, auto value) {
      if (!kept[kind].empty())
        kept[kind][layer * height + first + r] = value();
    };
    note(scales, [&] { return row.getScale(); });
    note(sums, [&] { return llvm::bit_cast<float>(static_cast<int32_t>(row.sum())); });
    note(lengths, [&] { return row.norm(); });
    note(errors, [&] { return row.errorNorm(); });
  }
}

void RowResults::addToMean(llvm::ArrayRef<float> rows, int64_t layer) {
  if (!means.empty())
    for (size_t at = 0; at < rows.size(); at += depth)
      means[layer].add(rows.slice(at, depth));
}

llvm::ArrayRef<float> RowResults::get(unsigned result, int64_t layer) {
  Kind kind = kindOf(result);
  auto values = llvm::MutableArrayRef(kept[kind]).slice(layer * countOf(kind), countOf(kind));
  for (int64_t k = 0; kind == mean && k < depth; ++k)
    values[k] = means[layer].element(k);
  return values;
}

} // namespace xf
