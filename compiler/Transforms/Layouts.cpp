#include "compiler/Transforms/Layouts.h"

#include "runtime/abi/xf_abi.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {

static int64_t roundUp(int64_t n) { return llvm::alignTo(n, XF_ABI_PANEL); }

Monomial Monomial::operator*(const Monomial &other) const {
  Monomial product{coefficient * other.coefficient, extents};
  llvm::append_range(product.extents, other.extents);
  llvm::sort(product.extents);
  return product;
}

int64_t Monomial::upperBound(ModuleOp module) const {
  int64_t product = coefficient;
  for (const Extent &extent : extents)
    product *= llvm::alignTo(getBound(module, extent.dim).value_or(1), extent.multiple);
  return product;
}

static Monomial constant(int64_t value) { return {value}; }

/// Size of dimension i, rounded up.
static Monomial sizeOf(RankedTensorType type, unsigned i, int64_t multiple, bool isCapacity) {
  if (type.isDynamicDim(i))
    return {1, {{getDimName(type, i), multiple, isCapacity}}};
  return constant(llvm::alignTo(type.getDimSize(i), multiple));
}

Monomial sizeOf(RankedTensorType type, unsigned i) { return sizeOf(type, i, 1, false); }

/// Strides for dimensions laid out in `order`, outermost first. `pitch`: the elements that the innermost one takes, if more
/// than its size; else 0.
static SmallVector<Monomial> orderedStrides(RankedTensorType type, ArrayRef<unsigned> order, int64_t pitch = 0) {
  SmallVector<Monomial> strides(type.getRank());
  Monomial stride = constant(1);
  for (auto [i, d] : llvm::enumerate(llvm::reverse(order))) {
    strides[d] = stride;
    stride = stride * (i == 0 && pitch ? constant(pitch) : sizeOf(type, d));
  }
  return strides;
}

SmallVector<Monomial> denseStrides(RankedTensorType type) { return orderedStrides(type, llvm::to_vector(llvm::seq<unsigned>(type.getRank()))); }

/// The padded size of dimension i in a layout: keys are whole panels of positions; values whole vectors, and whole groups of
/// positions that share 32-bit words.
static Monomial paddedSizeOf(RankedTensorType type, Layout layout, unsigned i, bool isCapacity) {
  bool isKeys = layout == Layout::keys, isValues = layout == Layout::values;
  int64_t multiple = 1;
  if (i == 2 && (isKeys || isValues))
    multiple = isKeys ? XF_ABI_PANEL : panelGroup(type.getElementType());
  if (i == 3 && isValues)
    multiple = XF_ABI_PANEL;
  return sizeOf(type, i, multiple, isCapacity);
}

static SmallVector<Monomial> stridesIn(Layout layout, RankedTensorType type, bool isCapacity) {
  SmallVector<Monomial> strides(type.getRank());
  Monomial stride = constant(1);
  for (unsigned i = type.getRank(); i-- > 0;) {
    strides[i] = stride;
    stride = stride * paddedSizeOf(type, layout, i, isCapacity);
  }
  return strides;
}

Monomial stateSize(StateOp state, unsigned i) { return sizeOf(state.getTensorType(), i, 1, true); }
Monomial paddedStateSize(StateOp state, unsigned i) { return paddedSizeOf(state.getTensorType(), state.getLayout(), i, true); }
SmallVector<Monomial> stateStrides(StateOp state) { return stridesIn(state.getLayout(), state.getTensorType(), true); }

Monomial elementsOf(RankedTensorType type, Layout layout) {
  if (layout == Layout::panels)
    return constant(roundUp(type.getDimSize(0)) * panelDepth(type.getElementType(), type.getDimSize(1)));
  return type.getRank() == 0 ? constant(1) : sizeOf(type, 0) * stridesIn(layout, type, false)[0];
}

/// Rows of a product whose starts are this many bytes apart share a set of the first-level cache: a tile of rows then
/// evicts itself.
static constexpr int64_t kCacheSetPeriod = 4096;

/// Elements from one row of kernel result `value` to the next, 0 if rows are dense. Only values that stay among the kernels
/// of a block have padding after their rows: arguments, results and what layers hand on are dense.
static int64_t rowPitch(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!isa_and_nonnull<ContractOp, RowOp>(value.getDefiningOp()) || type.getRank() < 2 || type.isDynamicDim(type.getRank() - 1))
    return 0;
  if (type.getElementType().isInteger(1))
    return 0;
  int64_t width = type.getShape().back(), bytes = llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8), line = 64 / bytes;
  if ((width * bytes) % kCacheSetPeriod != 0)
    return 0;
  for (Operation *user : value.getUsers())
    if (isa<ReturnOp, YieldOp, RepeatOp>(user))
      return 0;
  return width + line;
}

Monomial rootElements(Value value, ModuleOp module) {
  auto type = cast<RankedTensorType>(value.getType());
  Monomial elements = elementsOf(type, viewOf(value, module)->packing);
  if (int64_t pitch = rowPitch(value))
    elements.coefficient = elements.coefficient / type.getShape().back() * pitch;
  return elements;
}

/// The order in which the only user of an attention's context wants its dimensions, so that its merge is a view.
static SmallVector<unsigned> contextOrder(Value context) {
  auto type = cast<RankedTensorType>(context.getType());
  SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(type.getRank()));
  if (!context.hasOneUse())
    return order;
  auto rearrange = dyn_cast<RearrangeOp>(*context.user_begin());
  if (!rearrange)
    return order;
  auto pattern = Rearrangement::parse(rearrange.getPattern(), [&] { return rearrange.emitError(); });
  if (failed(pattern))
    return order;
  SmallVector<unsigned> dimOfAxis(pattern->axes.size());
  for (auto [d, group] : llvm::enumerate(pattern->in)) {
    if (group.size() > 1)
      return order;
    if (!group.empty())
      dimOfAxis[group[0]] = d;
  }
  SmallVector<unsigned> wanted;
  for (auto &group : pattern->out)
    for (unsigned axis : group)
      wanted.push_back(dimOfAxis[axis]);
  // Kernels write vectors along the width, so that must stay innermost; size-1 dimensions may be missing.
  if (wanted.size() != order.size() || wanted.back() != order.back())
    return order;
  return wanted;
}

static View rootView(Value value, ModuleOp module) {
  auto type = cast<RankedTensorType>(value.getType());
  View view{value, Layout::plain, denseStrides(type), {}};
  if (int64_t pitch = rowPitch(value)) {
    SmallVector<unsigned> order(llvm::to_vector(llvm::seq<unsigned>(0, type.getRank())));
    view.strides = orderedStrides(type, order, pitch);
  }
  Operation *op = value.getDefiningOp();
  if (!op)
    return view;
  if (auto attend = dyn_cast<AttendOp>(op); attend && value == attend.getOutput()) {
    view.strides = orderedStrides(type, contextOrder(value));
  } else if (auto pack = dyn_cast<PackOp>(op)) {
    view.packing = pack.getLayout();
    view.strides = stridesIn(view.packing, type, false);
  } else if (auto spread = dyn_cast<SpreadOp>(op)) {
    view.packing = spread.getLayout();
    view.strides = stridesIn(view.packing, type, false);
  } else if (auto access = dyn_cast<StateAccess>(op)) {
    auto state = module.lookupSymbol<StateOp>(access.getStateName());
    view.packing = state.getLayout();
    view.strides = stateStrides(state);
  } else if (auto param = dyn_cast<ParamOp>(op)) {
    if (auto weight = module.lookupSymbol<WeightOp>(param.getName()))
      view.packing = weight.getLayout();
  }
  return view;
}

static std::optional<View> rearranged(RearrangeOp op, View in) {
  auto emit = [&] { return op.emitError(); };
  auto pattern = Rearrangement::parse(op.getPattern(), emit);
  SmallVector<int64_t> sizes;
  SmallVector<StringRef> names;
  auto type = cast<RankedTensorType>(op.getX().getType());
  if (failed(pattern) || failed(pattern->bind(type, op.getSizes(), sizes, names, emit)))
    return std::nullopt;
  auto axisSize = [&](unsigned axis) { return ShapedType::isDynamic(sizes[axis]) ? Monomial{1, {{names[axis]}}} : constant(sizes[axis]); };
  SmallVector<Monomial> axisStrides(sizes.size());
  for (auto [d, group] : llvm::enumerate(pattern->in)) {
    Monomial stride = in.strides[d];
    for (unsigned axis : llvm::reverse(group)) {
      axisStrides[axis] = stride;
      stride = stride * axisSize(axis);
    }
  }
  View out{in.root, in.packing, {}, in.offset};
  for (auto &group : pattern->out) {
    std::optional<Monomial> stride; // of the group's innermost axis
    Monomial next;                  // the stride that the axis before must have
    for (unsigned axis : llvm::reverse(group)) {
      if (sizes[axis] == 1)
        continue;
      if (!stride)
        stride = axisStrides[axis];
      else if (!(axisStrides[axis] == next))
        return std::nullopt;
      next = axisStrides[axis] * axisSize(axis);
    }
    out.strides.push_back(stride.value_or(constant(1)));
  }
  return out;
}

std::optional<View> viewOf(Value value, ModuleOp module) {
  Operation *op = value.getDefiningOp();
  if (auto rearrange = dyn_cast_or_null<RearrangeOp>(op)) {
    auto in = viewOf(rearrange.getX(), module);
    return in && in->packing == Layout::plain ? rearranged(rearrange, *in) : std::nullopt;
  }
  if (auto slice = dyn_cast_or_null<SliceOp>(op)) {
    auto view = viewOf(slice.getX(), module);
    if (!view || view->packing != Layout::plain)
      return std::nullopt;
    Monomial &stride = view->strides[slice.getAxis()];
    if (slice.getStart() != 0)
      view->offset.push_back(stride * constant(slice.getStart()));
    stride = stride * constant(slice.getStep());
    return view;
  }
  return rootView(value, module);
}

std::optional<Monomial> collapseRows(RankedTensorType type, const View &view) {
  int64_t last = type.getRank() - 1;
  if (view.packing != Layout::plain || (!(view.strides[last] == constant(1)) && type.getDimSize(last) != 1))
    return std::nullopt;
  std::optional<Monomial> row;
  Monomial next;
  for (int64_t d = last - 1; d >= 0; --d) {
    if (type.getDimSize(d) == 1)
      continue;
    if (!row)
      row = view.strides[d];
    else if (!(view.strides[d] == next))
      return std::nullopt;
    next = view.strides[d] * sizeOf(type, d);
  }
  return row.value_or(constant(type.getDimSize(last)));
}

bool hasRowStride(Value value, ModuleOp module) {
  auto view = viewOf(value, module);
  return view && collapseRows(cast<RankedTensorType>(value.getType()), *view);
}

bool isOwnBuffer(Value value, Block *block, ModuleOp module) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != block || isa<RearrangeOp, SliceOp, ParamOp, AppendOp, LoadOp, RepeatOp>(op))
    return false;
  auto view = viewOf(value, module);
  return view && view->packing == Layout::plain && view->strides == denseStrides(cast<RankedTensorType>(value.getType()));
}

bool canBeCarried(Value init, Block *block, ModuleOp module) {
  bool isArgument = isa<BlockArgument>(init) && isa<EntryOp>(init.getParentBlock()->getParentOp());
  return isArgument || isOwnBuffer(init, block, module);
}

} // namespace xf
