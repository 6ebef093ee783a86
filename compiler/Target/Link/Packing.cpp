// Tensors are written one behind the other, some elements at a time: pieces, which all cores compute, each taking the next as soon as its last
// one is written. Pieces are taken and written in order, so that there is one a core in memory, and the file does not depend on how many there are.
#include "compiler/Target/Link/Packing.h"

#include "compiler/Import/Error.h"
#include "compiler/Reference/Interpreter.h"
#include "compiler/Reference/WeightRows.h"
#include "compiler/Support/OnAllCores.h"
#include "compiler/Target/Link/PackedElements.h"
#include "compiler/Target/Link/RowResults.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <mutex>

using namespace mlir;
using namespace mlir::xf;

namespace xf {
namespace {

/// Elements of a piece, but that it has whole panels.
constexpr int64_t kPiece = 1 << 16;
/// Columns of parameters that are read together: what lies behind each other is then worth a reading.
constexpr int64_t kColumns = 512;

/// What is written: a parameter as it is, or a weight's layer.
struct Tensor {
  int64_t offset;
  RankedTensorType type;
  Type element;
  ParameterOp parameter = nullptr;
  SmallVector<int64_t> indices = {};
  WeightOp weight = nullptr;
  int64_t layer = 0;
  std::optional<WeightRows> rows = std::nullopt; // of the weight, if it consists of some
  RowResults *results = nullptr;                 // of its quantised matrix
  bool isKnown = false;                          // from these, once it is its turn

  bool hasColumns() const { return rows && rows->hasColumns(); }
  /// Elements for each index along the first dimension.
  int64_t width() const { return ShapedType::getNumElements(type.getShape().drop_front()); }
};

struct Piece {
  size_t index = 0;
  const Tensor *tensor = nullptr;
  int64_t first = 0, count = 0; // of its elements
  // Memory that the next one takes over.
  std::vector<float> values, elements, panels;
  std::vector<char> buffer;
  llvm::ArrayRef<char> bytes;
};

/// What is to be written, in order.
class Tensors {
public:
  Tensors(const DataLayout &layout, llvm::ArrayRef<StoredParameter> stored) {
    for (auto &[op, placement] : layout.weights) {
      if (auto weight = dyn_cast<WeightOp>(op)) {
        add(weight, placement);
        continue;
      }
      int64_t index = 0;
      forEachIndices(cast<ParameterOp>(op),
                     [&](llvm::ArrayRef<int64_t> indices) { add(cast<ParameterOp>(op), indices, placement.offset + placement.stride * index++); });
    }
    for (const StoredParameter &parameter : stored)
      if (parameter.raw)
        add(parameter.parameter, parameter.indices, *parameter.raw);
  }

  std::vector<Tensor> list;

private:
  void add(ParameterOp parameter, llvm::ArrayRef<int64_t> indices, int64_t offset) {
    auto type = parameter.getTensorType();
    list.push_back({offset, type, Float32Type::get(type.getContext()), parameter, SmallVector<int64_t>(indices)});
  }

  void add(WeightOp weight, const Placement &placement) {
    auto type = weight.getTensorType();
    Tensor tensor{.offset = placement.offset, .type = type, .element = type.getElementType(), .weight = weight, .rows = findRows(weight)};
    if (tensor.rows && tensor.rows->quantize)
      findResults(tensor);
    for (; tensor.layer < placement.layers; ++tensor.layer, tensor.offset += placement.stride)
      list.push_back(tensor);
  }

  /// Elements stand before all else of their matrix.
  void findResults(Tensor &tensor) {
    unsigned result = tensor.rows->result;
    RowResults *&known = ofMatrix[describe(tensor.weight, tensor.rows->quantize)];
    if (result == 0) {
      matrices.push_back(std::make_unique<RowResults>(tensor.rows->quantize, tensor.weight.getLayers()));
      tensor.results = matrices.back().get();
      if (!known)
        known = tensor.results;
    } else if (known) {
      known->keep(result);
      tensor.results = known;
      tensor.isKnown = true;
    } else {
      tensor.rows.reset(); // the interpreter computes it
    }
  }

  /// The matrix that a weight quantises: the same text for the same one.
  static std::string describe(WeightOp weight, QuantizeOp quantize) {
    std::string text = std::to_string(weight.getLayers());
    llvm::raw_string_ostream os(text);
    AsmState names(weight);
    for (Operation &op : weight.getBody().front()) {
      op.print(os, names);
      if (&op == quantize)
        break;
    }
    return text;
  }

  std::vector<std::unique_ptr<RowResults>> matrices;
  llvm::StringMap<RowResults *> ofMatrix;
};

class WeightWriter {
public:
  WeightWriter(ModuleOp module, llvm::ArrayRef<Tensor> tensors, ParameterSource &source, llvm::raw_ostream &out,
               llvm::function_ref<std::error_code()> outError)
      : symbols(module), tensors(tensors), source(source), out(out), outError(outError), begin(out.tell()) {}

  llvm::Error run(int64_t bytes) {
    onAllCores(bytes / kPiece + 1, [&] { work(); });
    if (problem)
      return std::move(*problem);
    moveTo(bytes);
    return llvm::Error::success();
  }

private:
  void work() {
    Piece piece;
    while (true) {
      std::unique_lock inOrder(taking);
      if (!take(piece))
        return;
      bool isWhole = isOnePiece(*piece.tensor);
      if (!isWhole && !source.readsInOrder())
        inOrder.unlock();
      llvm::Error error = read(piece);
      if (!isWhole && inOrder)
        inOrder.unlock();
      if (!error && !piece.tensor->isKnown)
        error = pack(piece);
      write(piece, std::move(error));
      if (isWhole) // nothing is taken meanwhile, and none of its memory stays
        piece = Piece();
    }
  }

  /// Whether it is in memory as a whole: the interpreter computes it, or its columns are read from a source that does not go back.
  bool isOnePiece(const Tensor &tensor) { return !tensor.parameter && (!tensor.rows || (tensor.hasColumns() && source.readsInOrder())); }

  bool take(Piece &piece) {
    while (next != tensors.end() && nextElement == next->type.getNumElements())
      ++next, nextElement = 0;
    if (next == tensors.end() || hasFailed)
      return false;
    piece.index = taken++;
    piece.tensor = next;
    piece.first = nextElement;
    piece.count = std::min(next->type.getNumElements() - nextElement, maxElements(*next));
    nextElement += piece.count;
    return true;
  }

  int64_t maxElements(const Tensor &tensor) {
    if (tensor.parameter)
      return kPiece;
    if (tensor.isKnown || isOnePiece(tensor))
      return tensor.type.getNumElements();
    int64_t panels = std::max(kPiece / XF_ABI_PANEL / tensor.width(), tensor.hasColumns() ? kColumns / XF_ABI_PANEL : 1);
    return panels * XF_ABI_PANEL * tensor.width();
  }

  llvm::Error read(Piece &piece) {
    const Tensor &tensor = *piece.tensor;
    piece.values.resize(tensor.isKnown ? 0 : piece.count);
    if (tensor.isKnown)
      return llvm::Error::success();
    if (tensor.parameter)
      return source.read(tensor.parameter, tensor.indices, piece.first, piece.values);
    if (!tensor.rows)
      return evaluateWeight(tensor.weight, tensor.layer, source, piece.values);
    return readRows(tensor.rows->rows, tensor.layer, symbols, source, piece.first / tensor.width(), piece.values);
  }

  llvm::Error pack(Piece &piece) {
    const Tensor &tensor = *piece.tensor;
    if (!tensor.results)
      return pack(piece, piece.values);
    tensor.results->quantize(piece.values, tensor.layer, piece.first / tensor.width(), piece.elements);
    return pack(piece, piece.elements);
  }

  llvm::Error pack(Piece &piece, llvm::ArrayRef<float> values) {
    const Tensor &tensor = *piece.tensor;
    if ((tensor.element.isF16() || tensor.element.isBF16()) && llvm::any_of(values, [](float value) { return std::isinf(value); }))
      return makeError("a weight is beyond the largest number of {}",
                       tensor.element.isF16() ? "f16, 65504: --type bf16 has the range of f32" : "bf16, 3.3895e38");
    if (tensor.weight && WeightOp(tensor.weight).getLayout() == Layout::panels) {
      packPanels(values, tensor.width(), panelGroup(tensor.element), piece.panels);
      values = piece.panels;
    }
    piece.bytes = bytesOf(values, tensor.element, piece.buffer);
    return llvm::Error::success();
  }

  /// When all pieces before are written.
  void write(Piece &piece, llvm::Error error) {
    const Tensor &tensor = *piece.tensor;
    std::unique_lock lock(writing);
    turn.wait(lock, [&] { return written == piece.index; });
    if (!error && tensor.isKnown)
      error = pack(piece, tensor.results->get(tensor.rows->result, tensor.layer));
    if (hasFailed) {
      llvm::consumeError(std::move(error)); // the first in order counts
    } else if (error) {
      problem = std::move(error);
      hasFailed = true;
    } else {
      if (tensor.results && !tensor.isKnown)
        tensor.results->addToMean(piece.values, tensor.layer);
      if (piece.first == 0)
        moveTo(tensor.offset);
      out.write(piece.bytes.data(), piece.bytes.size());
      // Of a full disk the stream knows at once, and would be written to for all that remains.
      if (std::error_code code = outError ? outError() : std::error_code()) {
        problem = llvm::errorCodeToError(code);
        hasFailed = true;
      }
    }
    ++written;
    turn.notify_all();
  }

  /// Zeros up to there.
  void moveTo(int64_t offset) {
    assert(begin + offset >= out.tell() && "weights are written in order");
    out.write_zeros(begin + offset - out.tell());
  }

  SymbolTable symbols;
  llvm::ArrayRef<Tensor> tensors;
  ParameterSource &source;

  std::mutex taking; // of these
  const Tensor *next = tensors.begin();
  int64_t nextElement = 0;
  size_t taken = 0;

  std::mutex writing; // of these
  std::condition_variable turn;
  llvm::raw_ostream &out;
  llvm::function_ref<std::error_code()> outError;
  uint64_t begin; // of the weights
  size_t written = 0;
  std::optional<llvm::Error> problem;
  std::atomic<bool> hasFailed = false;
};

} // namespace

llvm::Error writeWeights(ModuleOp module, const DataLayout &layout, llvm::ArrayRef<StoredParameter> stored, int64_t bytes, ParameterSource &source,
                         llvm::raw_ostream &out, llvm::function_ref<std::error_code()> outError) {
  Tensors tensors(layout, stored);
  return WeightWriter(module, tensors.list, source, out, outError).run(bytes);
}

} // namespace xf
