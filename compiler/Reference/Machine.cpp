// Values, dimensions, compiled regions, and the walk over a block.
#include "compiler/Reference/Machine.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/TypeSwitch.h"

namespace xf {

llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size(), 1);
  for (int d = static_cast<int>(shape.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}

void Odometer::next() {
  for (int d = static_cast<int>(shape.size()) - 1; d >= 0; --d) {
    for (auto [o, offset] : llvm::enumerate(offsets))
      offset += strides[o][d];
    if (++index[d] < shape[d])
      return;
    for (auto [o, offset] : llvm::enumerate(offsets))
      offset -= strides[o][d] * shape[d];
    index[d] = 0;
  }
}

template <typename T>
Machine<T>::Machine(mlir::ModuleOp module, ParameterSource &source) : module(module), symbols(module), source(source) {}

template <typename T>
llvm::Error Machine<T>::bindDim(llvm::StringRef name, int64_t size, llvm::StringRef user) {
  auto [it, isNew] = dims.try_emplace(name, Binding{size, user.str()});
  if (!isNew && it->second.size != size)
    return makeError("dimension {} is {} in {}, but {} in {}", name.str(), it->second.size, it->second.user, size, user.str());
  return llvm::Error::success();
}

template <typename T>
llvm::Expected<llvm::SmallVector<int64_t>> Machine<T>::shapeOf(mlir::RankedTensorType type) {
  llvm::SmallVector<int64_t> shape(type.getShape());
  for (auto [d, size] : llvm::enumerate(shape)) {
    if (!mlir::ShapedType::isDynamic(size))
      continue;
    llvm::StringRef name = mlir::xf::getDimName(type, d);
    auto it = dims.find(name);
    if (it == dims.end())
      return makeError("the size of dimension {} of {} is not known", name.str(), mlir::xf::describeShape(type));
    size = it->second.size;
  }
  return shape;
}

template <typename T>
llvm::Expected<std::shared_ptr<Array<T>>> Machine<T>::makeResult(mlir::Value result) {
  auto type = llvm::cast<mlir::RankedTensorType>(result.getType());
  auto shape = shapeOf(type);
  if (!shape)
    return shape.takeError();
  return std::make_shared<Array<T>>(*shape, llvm::isa<mlir::FloatType>(type.getElementType()));
}

template <typename T>
llvm::Error Machine<T>::define(mlir::Value value, Ref<T> array) {
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  for (auto [d, size] : llvm::enumerate(array->shape)) {
    if (type.isDynamicDim(d)) {
      llvm::StringRef user = value.getDefiningOp() ? value.getDefiningOp()->getName().getStringRef() : "a region's argument";
      if (llvm::Error error = bindDim(mlir::xf::getDimName(type, d), size, user))
        return error;
    } else if (size != type.getDimSize(d)) {
      return makeError("dimension {} of {} has size {}", d, mlir::xf::describeShape(type), size);
    }
  }
  values[value] = std::move(array);
  roundedValues.erase(value); // of the previous layer or row
  return llvm::Error::success();
}

template <typename T>
llvm::Expected<typename Machine<T>::Results> Machine<T>::makeResults(mlir::ResultRange range) {
  Results results;
  for (mlir::Value value : range) {
    auto array = makeResult(value);
    if (!array)
      return array.takeError();
    results.pointers.push_back(array->get());
    results.arrays.push_back(std::move(*array));
  }
  return results;
}

template <typename T>
llvm::Error Machine<T>::define(mlir::ResultRange range, const Results &results) {
  for (auto [value, array] : llvm::zip(range, results.arrays))
    if (llvm::Error error = define(value, array))
      return error;
  return llvm::Error::success();
}

template <typename T>
llvm::Expected<Compiled *> Machine<T>::compile(mlir::Block &block, Precision precision) {
  std::unique_ptr<Compiled> &entry = compiled[{&block, static_cast<int>(precision)}];
  if (!entry) {
    auto program = ScalarProgram::compile(block);
    if (!program)
      return program.takeError();
    entry = std::make_unique<Compiled>(std::move(*program), precision);
  }
  if (llvm::Error error = bind(*entry))
    return error;
  return entry.get();
}

template <typename T>
llvm::Error Machine<T>::bind(Compiled &compiled) {
  for (auto [i, capture] : llvm::enumerate(compiled.program.getCaptures())) {
    auto value = scalar(capture);
    if (!value)
      return value.takeError();
    compiled.frame.bindCapture(i, *value);
  }
  for (auto [i, tensor] : llvm::enumerate(compiled.program.getTensors())) {
    const Array<T> &array = get(tensor);
    TensorView view{array.shape};
    if (!array.isFloat)
      view.ints = array.ints.data();
    else if constexpr (precision == Precision::F64)
      view.f64 = array.floats.data();
    else
      view.f32 = array.floats.data();
    compiled.frame.bindTensor(i, view);
  }
  return llvm::Error::success();
}

template <typename T>
llvm::Expected<int64_t> Machine<T>::scalar(mlir::Value value) {
  if (auto it = scalars.find(value); it != scalars.end())
    return it->second;
  // A constant may stand outside the block that runs: folding moves those of a weight's region to the module.
  llvm::APInt constant;
  if (mlir::matchPattern(value, mlir::m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return makeError("a scalar value is used before it is computed");
}

template <typename T>
llvm::Error Machine<T>::execute(mlir::Block &block) {
  for (mlir::Operation &op : block.without_terminator())
    if (llvm::Error error = execute(op))
      return error;
  return llvm::Error::success();
}

/// Where an op comes from, as a message's beginning.
static std::string locate(mlir::Operation &op) {
  std::string text;
  if (auto loc = op.getLoc()->findInstanceOf<mlir::FileLineColLoc>())
    text = fmt::format("{}:{}:{}: ", loc.getFilename().str(), loc.getLine(), loc.getColumn());
  return text + op.getName().getStringRef().str() + ": ";
}

template <typename T>
llvm::Error Machine<T>::execute(mlir::Operation &op) {
  llvm::Error error = dispatch(op);
  if (!error)
    return error;
  // An op that holds others passes their message on.
  if (op.getNumRegions() && llvm::isa<mlir::xf::RepeatOp, mlir::xf::RowOp>(op))
    return error;
  return makeError("{}{}", locate(op), llvm::toString(std::move(error)));
}

template <typename T>
llvm::Error Machine<T>::dispatch(mlir::Operation &op) {
  using namespace mlir::xf;
  return llvm::TypeSwitch<mlir::Operation *, llvm::Error>(&op)
      .template Case<PositionsOp, EmbedOp, QuantizeOp, LinearOp, MapOp, ReduceOp, AttendOp, RearrangeOp, SliceOp, ConcatOp, ScanOp, RepeatOp, ParamOp,
                     AppendOp, StoreOp, LoadOp, ScanStepOp, ContractOp, ChooseOp, RowOp, PackOp, SpreadOp>([&](auto typed) { return exec(typed); })
      .Default([&](mlir::Operation *) { return executeScalar(op); });
}

/// Arithmetic on layer indices between the tensor ops.
template <typename T>
llvm::Error Machine<T>::executeScalar(mlir::Operation &op) {
  if (op.getNumResults() == 1 && llvm::isa<mlir::FloatType>(op.getResult(0).getType()) && op.hasTrait<mlir::OpTrait::ConstantLike>())
    return llvm::Error::success(); // regions that use it hold it themselves
  std::unique_ptr<Compiled> &entry = compiled[{&op, static_cast<int>(precision)}];
  if (!entry) {
    auto program = ScalarProgram::compile(&op);
    if (!program)
      return program.takeError();
    entry = std::make_unique<Compiled>(std::move(*program), precision);
  }
  for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
    auto value = scalar(operand);
    if (!value)
      return value.takeError();
    *entry->frame.intArg(i) = *value;
  }
  if (llvm::Error error = entry->frame.run(1))
    return error;
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    if (entry->program.getResults()[i].isFloat)
      return makeError("gives a float, which only regions compute with");
    scalars[result] = *entry->frame.intResult(i);
  }
  return llvm::Error::success();
}

template <typename T>
llvm::Expected<Ref<T>> Machine<T>::readInput(const Tensor &tensor, mlir::RankedTensorType type, llvm::StringRef name) {
  mlir::Type element = type.getElementType();
  bool isFloat = llvm::isa<mlir::FloatType>(element), isBool = element.isInteger(1);
  if (isFloat != (tensor.kind == Tensor::Kind::Float))
    return makeError("input '{}' must be {}", name.str(), isFloat ? "floats" : isBool ? "booleans" : "integers");
  bool fits = static_cast<int64_t>(tensor.shape.size()) == type.getRank();
  for (int64_t d = 0; fits && d < type.getRank(); ++d)
    fits = type.isDynamicDim(d) || type.getDimSize(d) == tensor.shape[d];
  if (!fits)
    return makeError("input '{}' has shape {}, but the entry takes {}", name.str(), formatShape(tensor.shape), mlir::xf::describeShape(type));
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      if (llvm::Error error = bindDim(mlir::xf::getDimName(type, d), tensor.shape[d], fmt::format("input '{}'", name.str())))
        return error;
  auto array = std::make_shared<Array<T>>(tensor.shape, isFloat);
  for (int64_t i = 0; i < array->size(); ++i) {
    if (isFloat)
      array->floats[i] = static_cast<T>(tensor.floats[i]);
    else
      array->ints[i] = isBool ? tensor.ints[i] != 0 : tensor.ints[i];
  }
  return array;
}

template <typename T>
Tensor Machine<T>::toTensor(const Array<T> &array, mlir::Type element) {
  std::vector<int64_t> shape(array.shape.begin(), array.shape.end());
  if (array.isFloat)
    return Tensor::ofFloats(std::move(shape), {array.floats.begin(), array.floats.end()});
  return Tensor::ofInts(std::move(shape), array.ints, element.isInteger(1) ? Tensor::Kind::Bool : Tensor::Kind::Int);
}

template <typename T>
llvm::Expected<TensorMap> Machine<T>::run(mlir::xf::EntryOp entry, const TensorMap &inputs, State *callerState) {
  llvm::scope_exit clear([&] {
    dims.clear();
    values.clear();
    roundedValues.clear();
    scalars.clear();
  });
  state = callerState;
  mlir::Block &body = entry.getBody().front();
  for (mlir::BlockArgument arg : body.getArguments()) {
    llvm::StringRef name = entry.getArgName(arg.getArgNumber());
    auto it = inputs.find(name.str());
    if (it == inputs.end())
      return makeError("entry '{}' lacks its input '{}'", entry.getSymName().str(), name.str());
    auto array = readInput(it->second, llvm::cast<mlir::RankedTensorType>(arg.getType()), name);
    if (!array)
      return makeError("entry '{}': {}", entry.getSymName().str(), llvm::toString(array.takeError()));
    values[arg] = std::move(*array);
  }
  if (llvm::Error error = execute(body))
    return makeError("entry '{}': {}", entry.getSymName().str(), llvm::toString(std::move(error)));
  TensorMap results;
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    results[entry.getResultName(i).str()] = toTensor(get(value), llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType());
  return results;
}

template class Machine<float>;
template class Machine<double>;

} // namespace xf
