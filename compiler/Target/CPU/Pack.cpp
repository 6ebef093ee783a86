// Kernels that bring a tensor into another physical order: pack, append, store, concat.
//
// Attention reads keys as [T/16][d][16], 16 positions at once, and values as [e/16][T][16], 16 columns at once.
#include "compiler/Target/CPU/StridedCopy.h"

using namespace mlir;
using mlir::xf::Layout;

namespace xf::cpu {

namespace {
/// Copies [B, H, T, D] to keys or values; a thread's share is a range of (b, h).
class HeadCopy {
public:
  HeadCopy(KernelBuilder &b, RankedTensorType type, const Place &from, const Place &to)
      : b(b), from(from), to(to), element(type.getElementType()), width(type.getDimSize(3)) {}

  void emit(Layout layout) {
    Value heads = b.size(from.view, 1);
    auto [begin, end] = b.share(b.mul(b.size(from.view, 0), heads));
    b.loop(begin, end, 1, [&](Value task) {
      Value row = b.div(task, heads), head = b.rem(task, heads);
      source = from.address(b, {row, head, b.i64(0), b.i64(0)}, element);
      Value targetRow = to.rows ? loadIndex(b, *to.rows, row) : row;
      target = b.add(b.mul(targetRow, b.stride(to.view, 0)), b.mul(head, b.stride(to.view, 1)));
      target = b.at(b.data(to.view), target, element);
      if (layout == Layout::values)
        values(to.past ? loadIndex(b, *to.past, row) : b.i64(0));
      else if (to.past)
        appendKeys(loadIndex(b, *to.past, row));
      else
        wholeKeys();
    });
  }

private:
  Value positions() { return b.size(from.view, 2); }
  Value step() { return b.stride(from.view, 2); }
  /// The source's address at a position and column.
  Value sourceAt(Value position, Value column) {
    return b.at(source, b.add(b.mul(position, step()), b.mul(column, from.elementStride(b, 4))), element);
  }
  /// 16 columns of a position.
  Value columnsAt(Value position, Value column, Value lanes) {
    return b.loadStrided(element, sourceAt(position, column), from.lastStride, from.elementStride(b, 4), lanes);
  }
  /// Runs `body` for each 16 columns: first column, and how many there are (null: 16).
  void forColumns(function_ref<void(Value, Value)> body) {
    b.loop(b.i64(0), b.i64(width / kLanes * kLanes), kLanes, [&](Value column) { body(column, nullptr); });
    if (width % kLanes)
      body(b.i64(width / kLanes * kLanes), b.i64(width % kLanes));
  }

  void values(Value past) {
    forColumns([&](Value column, Value lanes) {
      Value panel = b.at(target, b.mul(b.div(column, b.i64(kLanes)), b.stride(to.view, 2)), element);
      b.loop(b.i64(0), positions(), 1, [&](Value position) {
        Value address = b.at(panel, b.mul(b.add(past, position), kLanes), element);
        b.storeVector(columnsAt(position, column, lanes), address);
      });
    });
  }

  /// New keys go between old ones: one lane each.
  void appendKeys(Value past) {
    b.loop(b.i64(0), positions(), 1, [&](Value i) {
      Value position = b.add(past, i), lane = b.rem(position, b.i64(kLanes));
      Value start = b.at(target, b.add(b.mul(b.sub(position, lane), width), lane), element);
      forColumns([&](Value column, Value lanes) {
        b.storeStrided(columnsAt(i, column, lanes), b.at(start, b.mul(column, kLanes), element), kLanes, nullptr, lanes);
      });
    });
  }

  /// Whole blocks of 16 positions; lanes behind the last position become 0.
  void wholeKeys() {
    Value rest = b.rem(positions(), b.i64(kLanes)), whole = b.sub(positions(), rest);
    auto block = [&](Value first, Value lanes) {
      b.loop(b.i64(0), b.i64(width), 1, [&](Value column) {
        Value keys = b.loadStrided(element, sourceAt(first, column), ShapedType::kDynamic, step(), lanes);
        b.storeVector(keys, b.at(target, b.add(b.mul(first, width), b.mul(column, kLanes)), element));
      });
    };
    b.loop(b.i64(0), whole, kLanes, [&](Value first) { block(first, nullptr); });
    b.ifThen(b.less(b.i64(0), rest), [&] { block(whole, rest); });
  }

  KernelBuilder &b;
  const Place &from, &to;
  Type element;
  int64_t width;
  Value source, target; // of the current (b, h)
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
  if (layout == Layout::panels || type.getRank() != 4 || type.isDynamicDim(3))
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
