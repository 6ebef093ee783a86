#include "compiler/Target/Link/ParameterMap.h"

#include "compiler/Import/ParameterSource.h"
#include "compiler/Reference/WeightRows.h"
#include "compiler/Transforms/Layouts.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {
namespace {

/// Rows [row, row + rows) of a parameter, or all of its columns, standing at row `at` of a value.
struct Piece {
  ParamOp param;
  int64_t row, rows, at;
  bool isTransposed = false;
};

int64_t rowCount(RankedTensorType type) { return type.getRank() < 2 ? 1 : type.getNumElements() / type.getShape().back(); }

/// The rows of parameters that `value` copies, or their columns; other parts are left out.
void findPieces(Value value, SmallVectorImpl<Piece> &pieces) {
  Operation *op = value.getDefiningOp();
  auto type = cast<RankedTensorType>(value.getType());
  if (auto param = dyn_cast<ParamOp>(op)) {
    pieces.push_back({param, 0, rowCount(type), 0});
  } else if (auto quantize = dyn_cast<QuantizeOp>(op); quantize && value == quantize->getResult(0)) {
    findPieces(quantize.getX(), pieces);
  } else if (auto rearrange = dyn_cast<RearrangeOp>(op); rearrange && rearrange.getX().getDefiningOp<ParamOp>() && isTransposition(rearrange)) {
    pieces.push_back({rearrange.getX().getDefiningOp<ParamOp>(), 0, rowCount(type), 0, /*isTransposed=*/true});
  } else if (auto concat = dyn_cast<ConcatOp>(op); concat && concat.getAxis() == 0 && type.getRank() == 2) {
    int64_t at = 0;
    for (Value input : concat.getInputs()) {
      size_t first = pieces.size();
      findPieces(input, pieces);
      for (size_t i = first; i < pieces.size(); ++i)
        pieces[i].at += at;
      at += cast<RankedTensorType>(input.getType()).getDimSize(0);
    }
  } else if (auto slice = dyn_cast<SliceOp>(op); slice && slice.getAxis() == 0 && slice.getStep() == 1 && type.getRank() == 2) {
    SmallVector<Piece> all;
    findPieces(slice.getX(), all);
    int64_t begin = slice.getStart(), end = begin + type.getDimSize(0);
    for (Piece piece : all) {
      int64_t from = std::max(piece.at, begin), to = std::min(piece.at + piece.rows, end);
      bool isCut = to - from < piece.rows;
      if (from < to && !(piece.isTransposed && isCut))
        pieces.push_back({piece.param, piece.row + from - piece.at, to - from, from - begin, piece.isTransposed});
    }
  }
}

std::string key(StringRef symbol, ArrayRef<int64_t> indices) {
  std::string text = symbol.str();
  for (int64_t i : indices)
    text += "/" + std::to_string(i);
  return text;
}

bool covers(SmallVector<xf_abi_segment> segments, uint64_t rows) {
  llvm::sort(segments, [](auto &a, auto &b) { return a.row < b.row; });
  uint64_t covered = 0;
  for (auto &segment : segments)
    if (segment.row <= covered)
      covered = std::max(covered, segment.row + segment.rows);
  return covered >= rows;
}

/// What weights store of one parameter.
struct Stored {
  SmallVector<xf_abi_segment> segments;
  bool isReadOtherwise = false; // by a weight that is no copy of its rows: rounded rows do not tell what that computes
};

/// The segments that give the parameter back: its values if they are all there, else what they were rounded to.
SmallVector<xf_abi_segment> chooseSegments(const Stored &stored, uint64_t rows) {
  SmallVector<xf_abi_segment> exact;
  llvm::copy_if(stored.segments, std::back_inserter(exact), [](const xf_abi_segment &segment) { return segment.dtype == XF_ABI_F32; });
  // Rounded by rows and by columns, it is neither.
  bool isByRows = false, isByColumns = false;
  for (const xf_abi_segment &segment : stored.segments)
    if (segment.dtype != XF_ABI_F32)
      (segment.layout == XF_ABI_COLUMN_PANELS ? isByColumns : isByRows) = true;
  bool isAmbiguous = stored.isReadOtherwise || (isByRows && isByColumns);
  return covers(exact, rows) || isAmbiguous ? exact : stored.segments;
}

/// By the keys of parameters.
using StoredParts = llvm::StringMap<Stored>;

void addParameter(ParameterOp parameter, const Placement &placement, StoredParts &parts) {
  auto rows = uint64_t(rowCount(parameter.getTensorType())), offset = uint64_t(placement.offset);
  forEachIndices(parameter, [&](ArrayRef<int64_t> indices) {
    parts[key(parameter.getSymName(), indices)].segments.push_back({0, rows, offset, 0, XF_ABI_PLAIN, XF_ABI_F32, 0});
    offset += placement.stride;
  });
}

/// A screen stores nothing of its parameter, which stands elsewhere in full.
bool isScreen(WeightOp weight) {
  Type element = weight.getTensorType().getElementType();
  return (element.isInteger(8) && !weight.getScales()) || element.isInteger(16);
}

/// `scales`: of a quantised weight.
void addWeight(WeightOp weight, const Placement &placement, const Placement &scales, StoredParts &parts) {
  SmallVector<Piece> pieces;
  findPieces(weight.getBody().front().getTerminator()->getOperand(0), pieces);
  bool isPacked = weight.getLayout() == Layout::panels;
  if (!isPacked)
    llvm::erase_if(pieces, [](const Piece &piece) { return piece.isTransposed; });
  llvm::SmallDenseSet<Operation *> copied;
  for (Piece piece : pieces)
    copied.insert(piece.param);
  // Scales and sums of a quantised matrix say nothing that its elements do not.
  bool isBesideElements = false;
  weight.walk([&](QuantizeOp quantize) { isBesideElements |= quantize->getResult(0).use_empty(); });
  uint32_t dtype = dtypeOf(weight.getTensorType().getElementType());
  for (int64_t layer = 0; layer < placement.layers; ++layer) {
    auto partsOf = [&](ParamOp param) -> Stored & {
      return parts[key(param.getName(), llvm::map_to_vector(param.getIndices(), [&](Value index) { return indexAt(index, layer); }))];
    };
    weight.walk([&](ParamOp param) {
      if (!copied.contains(param) && !isBesideElements)
        partsOf(param).isReadOtherwise = true;
    });
    for (Piece piece : pieces) {
      uint32_t packing = piece.isTransposed ? XF_ABI_COLUMN_PANELS : isPacked ? XF_ABI_PANELS : XF_ABI_PLAIN;
      int64_t rows = piece.isTransposed ? rowCount(cast<RankedTensorType>(piece.param.getType())) : piece.rows;
      partsOf(piece.param)
          .segments.push_back({uint64_t(piece.row), uint64_t(rows), uint64_t(placement.offset + placement.stride * layer), uint64_t(piece.at),
                               packing, dtype, uint64_t(scales.offset + scales.stride * layer)});
    }
  }
}

} // namespace

std::vector<StoredParameter> mapParameters(ModuleOp module, const DataLayout &layout, int64_t &bytes) {
  StoredParts parts;
  for (auto &[op, placement] : layout.weights) {
    if (auto parameter = dyn_cast<ParameterOp>(op))
      addParameter(parameter, placement, parts);
    else if (auto weight = cast<WeightOp>(op); !isScreen(weight))
      addWeight(weight, placement, weight.getScales() ? layout.weights.find(module.lookupSymbol(weight.getScalesAttr()))->second : Placement(),
                parts);
  }
  bytes = layout.weightBytes;
  std::vector<StoredParameter> stored;
  for (auto parameter : module.getOps<ParameterOp>()) {
    if (!parameter.getPath())
      continue; // a table that is always computed
    forEachIndices(parameter, [&](ArrayRef<int64_t> indices) {
      StoredParameter entry{parameter, SmallVector<int64_t>(indices), expandPath(parameter, indices), {}, std::nullopt};
      auto type = parameter.getTensorType();
      entry.segments = chooseSegments(parts[key(parameter.getSymName(), indices)], rowCount(type));
      if (!covers(entry.segments, rowCount(type))) {
        entry.raw = bytes;
        entry.segments = {{0, uint64_t(rowCount(type)), uint64_t(bytes), 0, XF_ABI_PLAIN, XF_ABI_F32, 0}};
        bytes += llvm::alignTo(type.getNumElements() * 4, 64);
      }
      stored.push_back(std::move(entry));
    });
  }
  return stored;
}

} // namespace xf
