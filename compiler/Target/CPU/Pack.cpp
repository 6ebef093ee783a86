// Kernels that bring a tensor into another physical order: pack, spread, append, store, concat.
//
// Attention reads keys as [T/16][d][16], 16 positions at once, and values as [T][e], rows of whole vectors. Of bf16 two
// elements share a word: keys' neighbouring columns, and values' neighbouring positions.
#include "compiler/Target/CPU/Chunks.h"
#include "compiler/Target/CPU/StridedCopy.h"

using namespace mlir;
using mlir::xf::Layout;

namespace xf::cpu {

namespace {
/// Copies [B, H, T, D] to keys or values; a thread's share is a range of (b, h).
class HeadCopy {
public:
  HeadCopy(KernelBuilder &b, RankedTensorType type, const Place &from, const Place &to)
      : b(b), from(from), to(to), element(type.getElementType()), word(b.getI32Type()), width(type.getDimSize(3)),
        group(mlir::xf::panelGroup(element)) {}

  void emit(Layout layout) {
    Value heads = b.size(from.view, 1);
    auto [begin, end] = b.share(b.mul(b.size(from.spans.value_or(from.view), 0), heads));
    b.loop(begin, end, 1, [&](Value task) {
      Value row = b.div(task, heads), head = b.rem(task, heads);
      if (from.spans) {
        auto [first, length] = loadSpan(b, *from.spans, row);
        source = from.address(b, {b.i64(0), head, first, b.i64(0)}, element);
        count = length;
      } else {
        source = from.address(b, {row, head, b.i64(0), b.i64(0)}, element);
        count = b.size(from.view, 2);
      }
      Value targetRow = to.rows ? loadIndex(b, *to.rows, row) : row;
      target = b.add(b.mul(targetRow, b.stride(to.view, 0)), b.mul(head, b.stride(to.view, 1)));
      target = b.at(b.data(to.view), target, element);
      Value past = to.past ? loadIndex(b, *to.past, row) : Value();
      if (layout == Layout::keys)
        past ? appendKeys(past) : wholeKeys();
      else if (group == 1)
        values(past ? past : b.i64(0));
      else
        past ? appendValuePairs(past) : wholeValuePairs();
    });
  }

private:
  Value positions() { return count; }
  Value step() { return b.stride(from.view, 2); }
  /// The source's address at a position and column.
  Value sourceAt(Value position, Value column) {
    return b.at(source, b.add(b.mul(position, step()), b.mul(column, from.elementStride(b, 4))), element);
  }
  /// 16 columns of a position.
  Value columnsAt(Value position, Value column, Value lanes) {
    return b.loadStrided(element, sourceAt(position, column), from.lastStride, from.elementStride(b, 4), lanes);
  }
  /// Runs `body` for 16 of `count` numbers each: the first, and how many there are (null: 16).
  void forSixteen(int64_t count, function_ref<void(Value, Value)> body) {
    b.loop(b.i64(0), b.i64(count / kLanes * kLanes), kLanes, [&](Value first) { body(first, nullptr); });
    if (count % kLanes)
      body(b.i64(count / kLanes * kLanes), b.i64(count % kLanes));
  }
  /// Words of two elements each.
  Value join(Value low, Value high) {
    Type type = isa<VectorType>(low.getType()) ? Type(b.vectorOf(word)) : word;
    TypedAttr sixteen = b.getI32IntegerAttr(16);
    if (auto vector = dyn_cast<VectorType>(type))
      sixteen = DenseElementsAttr::get(vector, Attribute(sixteen));
    Value upper = b.create<arith::ShLIOp>(b.create<arith::ExtUIOp>(type, high), b.create<arith::ConstantOp>(sixteen));
    return b.create<arith::OrIOp>(b.create<arith::ExtUIOp>(type, low), upper);
  }

  void values(Value past) {
    b.loop(b.i64(0), positions(), 1, [&](Value position) {
      forSixteen(width, [&](Value column, Value lanes) {
        b.storeVector(columnsAt(position, column, lanes), valuesAt(b.add(past, position), column));
      });
    });
  }
  /// Of a position that is the first in its words.
  Value valuesAt(Value position, Value column) {
    return b.at(b.at(target, b.mul(position, b.stride(to.view, 2)), element), b.mul(column, group), element);
  }

  /// Behind the last position of an odd number there are zeros.
  void wholeValuePairs() {
    Value rest = b.rem(positions(), b.i64(2)), whole = b.sub(positions(), rest);
    b.loop(b.i64(0), whole, 2, [&](Value first) {
      forSixteen(width, [&](Value column, Value lanes) {
        b.storeVector(join(columnsAt(first, column, lanes), columnsAt(b.add(first, 1), column, lanes)), valuesAt(first, column));
      });
    });
    b.ifThen(b.equal(rest, b.i64(1)), [&] {
      forSixteen(width, [&](Value column, Value lanes) {
        b.storeVector(b.create<arith::ExtUIOp>(b.vectorOf(word), columnsAt(whole, column, lanes)), valuesAt(whole, column));
      });
    });
  }

  /// The first of a pair brings a zero for the second, which then joins it.
  void appendValuePairs(Value past) {
    b.loop(b.i64(0), positions(), 1, [&](Value i) {
      Value position = b.add(past, i), second = b.rem(position, b.i64(2)), start = b.sub(position, second);
      auto forColumns = [&](function_ref<void(Value columns, Value pair)> body) {
        forSixteen(width, [&](Value column, Value lanes) { body(columnsAt(i, column, lanes), valuesAt(start, column)); });
      };
      b.ifElse(
          b.equal(second, b.i64(0)),
          [&] {
            forColumns([&](Value columns, Value pair) { b.storeVector(b.create<arith::ExtUIOp>(b.vectorOf(word), columns), pair); });
          },
          [&] {
            forColumns([&](Value columns, Value pair) {
              Value first = b.create<arith::TruncIOp>(b.vectorOf(b.getI16Type()), b.loadVector(word, pair));
              b.storeVector(join(first, columns), pair);
            });
          });
    });
  }

  // Keys are copied by words.
  Type keyWord() { return group > 1 ? word : element; }
  int64_t keyWords() { return width / group; }

  /// The word of a position at `address`.
  Value keyWordAt(Value address) {
    if (group == 1)
      return b.load(element, address);
    if (from.lastStride == 1)
      return b.create<LLVM::LoadOp>(word, address, /*alignment=*/2);
    return join(b.load(element, address), b.load(element, b.at(address, from.elementStride(b, 4), element)));
  }
  /// 16 words of a position from word `first` on.
  Value keyWordsAt(Value position, Value first, Value lanes) {
    Value column = b.mul(first, group);
    if (group == 1)
      return columnsAt(position, column, lanes);
    Value address = sourceAt(position, column), stride = from.elementStride(b, 4);
    if (from.lastStride == 1)
      return b.loadVector(word, address, lanes);
    Value pairs = b.mul(stride, 2);
    return join(b.loadStrided(element, address, ShapedType::kDynamic, pairs, lanes),
                b.loadStrided(element, b.at(address, stride, element), ShapedType::kDynamic, pairs, lanes));
  }
  /// A word of 16 positions `step()` apart; of the first `lanes`, zeros behind them.
  Value keyWordOfPositions(Value address, Value lanes) {
    return b.gather(keyWord(), lanes, [&](Value lane) { return keyWordAt(b.at(address, b.mul(step(), lane), element)); });
  }

  /// New keys go between old ones: one lane each.
  void appendKeys(Value past) {
    b.loop(b.i64(0), positions(), 1, [&](Value i) {
      Value position = b.add(past, i), lane = b.rem(position, b.i64(kLanes));
      Value start = b.at(target, b.add(b.mul(b.sub(position, lane), width), b.mul(lane, group)), element);
      forSixteen(keyWords(), [&](Value first, Value lanes) {
        b.storeStrided(keyWordsAt(i, first, lanes), b.at(start, b.mul(first, kLanes), keyWord()), kLanes, nullptr, lanes);
      });
    });
  }

  /// Whole blocks of 16 positions; lanes behind the last position become 0.
  void wholeKeys() {
    Value rest = b.rem(positions(), b.i64(kLanes)), whole = b.sub(positions(), rest);
    auto block = [&](Value first, Value lanes) {
      Value panel = b.at(target, b.mul(first, width), element);
      b.loop(b.i64(0), b.i64(keyWords()), 1, [&](Value i) {
        b.storeVector(keyWordOfPositions(sourceAt(first, b.mul(i, group)), lanes), b.at(panel, b.mul(i, kLanes), keyWord()));
      });
    };
    b.loop(b.i64(0), whole, kLanes, [&](Value first) { block(first, nullptr); });
    b.ifThen(b.less(b.i64(0), rest), [&] { block(whole, rest); });
  }

  KernelBuilder &b;
  const Place &from, &to;
  Type element, word;
  int64_t width, group;
  Value source, target; // of the current (b, h)
  Value count;          // of its positions
};
} // namespace

/// Sets what lies behind the last position of each stored row, up to the state's bound.
static void fillBehind(KernelBuilder &b, const Place &from, const Place &to, TypedAttr padding) {
  Type element = padding.getType();
  Value filling = b.create<arith::ConstantOp>(padding), positions = b.size(from.view, 1), bound = b.size(to.view, 1);
  auto [begin, end] = b.share(b.size(from.view, 0));
  b.loop(begin, end, 1, [&](Value row) {
    Value start = to.address(b, {row, positions}, element), step = to.elementStride(b, 2);
    b.loop(b.i64(0), b.sub(bound, positions), kLanes, [&](Value i) {
      Value lanes = b.min(b.i64(kLanes), b.sub(b.sub(bound, positions), i));
      b.storeStrided(b.splat(filling), b.at(start, b.mul(i, step), element), to.lastStride, step, lanes);
    });
  });
}

/// Where a kernel's operand lies.
static Place placeOf(Value value, const KernelRequest &request) {
  unsigned view = request.viewOf(value);
  return {view, request.access.lastStride[view], request.slotsOf(value)};
}

static LogicalResult copyTo(KernelBuilder &b, Operation *op, RankedTensorType type, Layout layout, const Place &from,
                            const Place &to) {
  if (layout == Layout::plain) {
    copyTensor(b, type, from, to);
    return success();
  }
  bool isPossible = type.getRank() == 4 && !type.isDynamicDim(3) && (type.getElementType().isF32() || type.getElementType().isBF16()) &&
                    (layout == Layout::values || (layout == Layout::keys && type.getDimSize(3) % mlir::xf::panelGroup(type.getElementType()) == 0));
  if (!isPossible)
    return op->emitError("layout ") << stringifyLayout(layout) << " is not for a tensor "
                                    << mlir::xf::describeShape(type);
  HeadCopy(b, type, from, to).emit(layout);
  return success();
}

LogicalResult emitPack(KernelBuilder &b, mlir::xf::PackOp op, const KernelRequest &request) {
  unsigned result = request.resultView();
  Place to{result, request.access.lastStride[result], std::nullopt};
  return copyTo(b, op, cast<RankedTensorType>(op.getX().getType()), op.getLayout(), placeOf(op.getX(), request), to);
}

/// Copies [1, P, width] to rows [B, S, width], with zeros behind the sentences.
static void spreadRows(KernelBuilder &b, RankedTensorType type, const Place &from, const Place &to) {
  Type element = type.getElementType();
  Value longest = b.size(to.view, 1), zero = b.create<arith::ConstantOp>(b.getZeroAttr(element));
  auto [begin, end] = b.share(b.mul(b.size(to.view, 0), longest));
  b.loop(begin, end, 1, [&](Value task) {
    Value row = b.div(task, longest), position = b.rem(task, longest);
    auto [first, length] = loadSpan(b, *from.spans, row);
    Value target = to.address(b, {row, position, b.i64(0)}, element);
    auto forColumns = [&](function_ref<Value(Value, Value)> columns) {
      forChunks(b, b.i64(type.getDimSize(2)), ValueRange(), [&](Value column, Value lanes, ValueRange) -> SmallVector<Value> {
        Value step = to.elementStride(b, 3);
        b.storeStrided(columns(column, lanes), b.at(target, b.mul(column, step), element), to.lastStride, step, lanes);
        return {};
      });
    };
    b.ifElse(
        b.less(position, length),
        [&] {
          Value source = from.address(b, {b.i64(0), b.add(first, position), b.i64(0)}, element), step = from.elementStride(b, 3);
          forColumns([&](Value column, Value lanes) {
            return b.loadStrided(element, b.at(source, b.mul(column, step), element), from.lastStride, step, lanes);
          });
        },
        [&] { forColumns([&](Value, Value) { return b.splat(zero); }); });
  });
}

LogicalResult emitSpread(KernelBuilder &b, mlir::xf::SpreadOp op, const KernelRequest &request) {
  unsigned result = request.resultView();
  Place from = placeOf(op.getX(), request), to{result, request.access.lastStride[result], std::nullopt};
  from.spans = request.viewOf(op.getSpans());
  auto type = cast<RankedTensorType>(op.getX().getType());
  if (op.getLayout() != Layout::plain)
    return copyTo(b, op, type, op.getLayout(), from, to);
  spreadRows(b, type, from, to);
  return success();
}

static mlir::xf::StateOp stateOf(Operation *op, StringRef name, const KernelRequest &request) {
  auto state = mlir::ModuleOp(request.root).lookupSymbol<mlir::xf::StateOp>(name);
  if (!state)
    op->emitError("names no state: ") << name;
  return state;
}

LogicalResult emitAppend(KernelBuilder &b, mlir::xf::AppendOp op, const KernelRequest &request) {
  mlir::xf::StateOp state = stateOf(op, op.getName(), request);
  if (!state)
    return failure();
  int64_t axis = op.getAxis();
  if (state.getLayout() != Layout::plain && axis != 2)
    return op.emitError("packed states grow along dimension 2, not ") << axis;
  unsigned result = request.resultView();
  Place to{result, request.access.lastStride[result], std::nullopt};
  to.axis = axis;
  to.past = request.viewOf(op.getPast());
  return copyTo(b, op, cast<RankedTensorType>(op.getX().getType()), state.getLayout(), placeOf(op.getX(), request), to);
}

LogicalResult emitStore(KernelBuilder &b, mlir::xf::StoreOp op, const KernelRequest &request) {
  mlir::xf::StateOp state = stateOf(op, op.getName(), request);
  if (!state)
    return failure();
  unsigned result = request.resultView();
  Place from = placeOf(op.getX(), request), to{result, request.access.lastStride[result], request.viewOf(op.getSlots())};
  if (op.getSpans())
    from.spans = request.viewOf(op.getSpans());
  if (op.getPadding())
    fillBehind(b, from, to, *op.getPadding());
  return copyTo(b, op, cast<RankedTensorType>(op.getX().getType()), state.getLayout(), from, to);
}

LogicalResult emitConcat(KernelBuilder &b, mlir::xf::ConcatOp op, const KernelRequest &request) {
  unsigned result = request.resultView();
  int64_t axis = op.getAxis();
  Value offset = b.i64(0);
  for (Value input : op.getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    Place to{result, request.access.lastStride[result], std::nullopt, axis, offset, std::nullopt};
    copyTensor(b, type, placeOf(input, request), to);
    offset = b.add(offset, type.isDynamicDim(axis) ? b.size(request.viewOf(input), axis) : b.i64(type.getDimSize(axis)));
  }
  return success();
}

} // namespace xf::cpu
