#include "compiler/Target/CPU/HeadCopy.h"

#include "compiler/Target/CPU/Chunks.h"

using namespace mlir;
using mlir::xf::Layout;

namespace xf::cpu {

namespace {
/// Copies [B, H, T, D] to keys or values.
class HeadCopy {
public:
  HeadCopy(KernelBuilder &b, RankedTensorType type, const TensorAccess &from, const TensorAccess &to, Layout layout)
      : b(b), from(from), to(to), layout(layout), element(type.getElementType()), word(b.getI32Type()), width(type.getDimSize(3)),
        group(mlir::xf::panelGroup(element)) {}

  /// A thread's share is a range of (b, h).
  void copyAll() {
    Value heads = b.size(from.view, 1);
    auto [begin, end] = b.share(b.mul(b.size(from.spans.value_or(from.view), 0), heads));
    b.loop(begin, end, 1, [&](Value task) {
      Value row = b.div(task, heads), head = b.rem(task, heads);
      if (!from.spans)
        return copy(row, head, b.i64(0), row, b.size(from.view, 2));
      auto [first, length] = b.loadSpan(*from.spans, row);
      copy(b.i64(0), head, first, row, length);
    });
  }

  /// `positions` of a head from (row, first) on.
  void copy(Value row, Value head, Value first, Value toRow, Value positions) {
    source = from.address(b, {row, head, first, b.i64(0)}, element);
    count = positions;
    Value targetRow = to.rows ? b.loadIndex(*to.rows, toRow) : toRow;
    target = b.add(b.mul(targetRow, b.stride(to.view, 0)), b.mul(head, b.stride(to.view, 1)));
    target = b.at(b.data(to.view), target, element);
    Value past = to.past ? b.loadIndex(*to.past, toRow) : Value();
    if (layout == Layout::keys)
      past ? appendKeys(past) : wholeKeys();
    else if (group == 1)
      values(past ? past : b.i64(0));
    else
      past ? appendValuePairs(past) : wholeValuePairs();
  }

private:
  Value step() { return b.stride(from.view, 2); }
  /// The source's address at a position and column.
  Value sourceAt(Value position, Value column) {
    return b.at(source, b.add(b.mul(position, step()), b.mul(column, from.elementStride(b, 4))), element);
  }
  /// 16 columns of a position.
  Value columnsAt(Value position, Value column, Value lanes) {
    return b.loadStrided(element, sourceAt(position, column), from.lastStride, from.elementStride(b, 4), lanes);
  }
  /// Runs `body` for 16 of `count` elements each: the first, and how many there are (null: 16).
  void forSixteen(int64_t count, function_ref<void(Value, Value)> body) {
    b.loop(b.i64(0), b.i64(count / kLanes * kLanes), kLanes, [&](Value first) { body(first, nullptr); });
    if (count % kLanes)
      body(b.i64(count / kLanes * kLanes), b.i64(count % kLanes));
  }
  /// Words of two elements each.
  Value join(Value low, Value high) {
    Type type = isa<VectorType>(low.getType()) ? Type(b.vectorOf(word)) : word;
    Value upper = b.create<arith::ShLIOp>(b.create<arith::ExtUIOp>(type, high), b.integer(type, 16));
    return b.create<arith::OrIOp>(b.create<arith::ExtUIOp>(type, low), upper);
  }

  void values(Value past) {
    b.loop(b.i64(0), count, 1, [&](Value position) {
      forSixteen(width,
                 [&](Value column, Value lanes) { b.storeVector(columnsAt(position, column, lanes), valuesAt(b.add(past, position), column)); });
    });
  }
  /// The address of a position that is the first in its words.
  Value valuesAt(Value position, Value column) {
    return b.at(b.at(target, b.mul(position, b.stride(to.view, 2)), element), b.mul(column, group), element);
  }

  /// Behind the last position of an odd number there are zeros.
  void wholeValuePairs() {
    Value rest = b.rem(count, b.i64(2)), whole = b.sub(count, rest);
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
    b.loop(b.i64(0), count, 1, [&](Value i) {
      Value position = b.add(past, i), second = b.rem(position, b.i64(2)), start = b.sub(position, second);
      b.ifElse(b.equal(second, b.i64(0)), [&] { beginPairs(i, start); }, [&] { completePairs(i, start); });
    });
  }
  /// The source's position `from` becomes the first of the pairs at `to`.
  void beginPairs(Value from, Value to) {
    forSixteen(width, [&](Value column, Value lanes) {
      Value first = columnsAt(from, column, lanes), pair = valuesAt(to, column);
      b.storeVector(b.create<arith::ExtUIOp>(b.vectorOf(word), first), pair);
    });
  }
  void completePairs(Value from, Value to) {
    forSixteen(width, [&](Value column, Value lanes) {
      Value second = columnsAt(from, column, lanes), pair = valuesAt(to, column);
      Value first = b.create<arith::TruncIOp>(b.vectorOf(b.getI16Type()), b.loadVector(word, pair));
      b.storeVector(join(first, second), pair);
    });
  }

  // Keys are copied by words.
  Type keyWord() { return group > 1 ? word : element; }
  int64_t keyWords() const { return width / group; }

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
    b.loop(b.i64(0), count, 1, [&](Value i) {
      Value position = b.add(past, i), lane = b.rem(position, b.i64(kLanes));
      Value start = b.at(target, b.add(b.mul(b.sub(position, lane), width), b.mul(lane, group)), element);
      forSixteen(keyWords(), [&](Value first, Value lanes) {
        b.storeStrided(keyWordsAt(i, first, lanes), b.at(start, b.mul(first, kLanes), keyWord()), kLanes, nullptr, lanes);
      });
    });
  }

  /// Whole blocks of 16 positions; lanes behind the last position become 0.
  void wholeKeys() {
    forChunks(b, count, [&](Value first, Value lanes) {
      Value panel = b.at(target, b.mul(first, width), element);
      b.loop(b.i64(0), b.i64(keyWords()), 1,
             [&](Value i) { b.storeVector(keyWordOfPositions(sourceAt(first, b.mul(i, group)), lanes), b.at(panel, b.mul(i, kLanes), keyWord())); });
    });
  }

  KernelBuilder &b;
  const TensorAccess &from, &to;
  Layout layout;
  Type element, word;
  int64_t width, group;
  Value source, target; // of the current (b, h)
  Value count;          // of its positions
};
} // namespace

void copyHeads(KernelBuilder &b, RankedTensorType type, const TensorAccess &from, const TensorAccess &to, Layout layout) {
  HeadCopy(b, type, from, to, layout).copyAll();
}

void appendHead(KernelBuilder &b, RankedTensorType type, const TensorAccess &from, const TensorAccess &to, Layout layout, Value row, Value head) {
  HeadCopy(b, type, from, to, layout).copy(row, head, b.i64(0), row, b.i64(1));
}

} // namespace xf::cpu
