// The interpreter's inside: values of one precision, and one method for each op.
#ifndef XF_COMPILER_REFERENCE_MACHINE_H
#define XF_COMPILER_REFERENCE_MACHINE_H

#include "compiler/Import/Error.h"
#include "compiler/Reference/Interpreter.h"

#include "llvm/ADT/StringMap.h"

namespace xf {

/// A row-major tensor; T is the precision of floats (float or double).
template <typename T>
struct Array {
  llvm::SmallVector<int64_t> shape;
  bool isFloat = true;
  std::vector<T> floats;
  std::vector<int64_t> ints; // i32, i8 and i1

  Array(llvm::ArrayRef<int64_t> shape, bool isFloat) : shape(shape), isFloat(isFloat) { isFloat ? floats.resize(size()) : ints.resize(size()); }
  int64_t size() const {
    int64_t n = 1;
    for (int64_t d : shape)
      n *= d;
    return n;
  }
  /// Copies element `from` of `other` to element `to`.
  void copy(int64_t to, const Array &other, int64_t from) {
    if (isFloat)
      floats[to] = other.floats[from];
    else
      ints[to] = other.ints[from];
  }
};

template <typename T>
using Ref = std::shared_ptr<const Array<T>>;

/// Row-major strides.
llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape);

/// Walks over all elements of a shape in order, keeping for some operands the offset that belongs to each.
class Odometer {
public:
  /// strides[o] gives operand o's stride along each dimension of the shape.
  Odometer(llvm::ArrayRef<int64_t> shape, std::vector<llvm::SmallVector<int64_t>> strides)
      : shape(shape), index(shape.size()), strides(std::move(strides)), offsets(this->strides.size()) {}
  int64_t offset(unsigned operand) const { return offsets[operand]; }
  llvm::ArrayRef<int64_t> getIndex() const { return index; }
  void next();

private:
  llvm::SmallVector<int64_t> shape, index;
  std::vector<llvm::SmallVector<int64_t>> strides;
  llvm::SmallVector<int64_t> offsets;
};

/// A region, compiled, with its registers.
struct Compiled {
  ScalarProgram program;
  ScalarFrame frame;
  Compiled(ScalarProgram p, Precision precision) : program(std::move(p)), frame(program, precision) {}
};

class MachineBase {
public:
  virtual ~MachineBase() = default;
  virtual llvm::Expected<TensorMap> run(mlir::xf::EntryOp entry, const TensorMap &inputs, State *state) = 0;
  virtual llvm::Error evaluateWeight(mlir::xf::WeightOp weight, int64_t layer, llvm::MutableArrayRef<float> out) = 0;
};

template <typename T>
class Machine : public MachineBase {
public:
  Machine(mlir::ModuleOp module, ParameterSource &source);

  llvm::Expected<TensorMap> run(mlir::xf::EntryOp entry, const TensorMap &inputs, State *state) override;
  llvm::Error evaluateWeight(mlir::xf::WeightOp weight, int64_t layer, llvm::MutableArrayRef<float> out) override;
  /// evaluate() for a machine that runs no entries.
  llvm::Expected<Ref<T>> evaluateAlone(mlir::xf::WeightOp weight, int64_t layer);

private:
  static constexpr Precision precision = sizeof(T) == 4 ? Precision::F32 : Precision::F64;

  // Machine.cpp: values, dimensions, regions, the walk over a block.
  llvm::Error bindDim(llvm::StringRef name, int64_t size, llvm::StringRef user);
  llvm::Expected<llvm::SmallVector<int64_t>> shapeOf(mlir::RankedTensorType type);
  llvm::Expected<std::shared_ptr<Array<T>>> makeResult(mlir::Value result);
  llvm::Error define(mlir::Value value, Ref<T> array);
  /// An op's results while they are computed.
  struct Results {
    std::vector<std::shared_ptr<Array<T>>> arrays;
    std::vector<Array<T> *> pointers; // to the same
  };
  llvm::Expected<Results> makeResults(mlir::ResultRange values);
  llvm::Error define(mlir::ResultRange values, const Results &results);
  const Array<T> &get(mlir::Value value) { return *values.find(value)->second; }
  std::vector<const Array<T> *> getAll(mlir::ValueRange range) {
    std::vector<const Array<T> *> arrays;
    for (mlir::Value value : range)
      arrays.push_back(&get(value));
    return arrays;
  }
  llvm::Expected<Compiled *> compile(mlir::Block &block, Precision precision = Machine::precision);
  llvm::Error bind(Compiled &compiled);
  llvm::Expected<int64_t> scalar(mlir::Value value);
  llvm::Error execute(mlir::Block &block);
  llvm::Error execute(mlir::Operation &op);
  llvm::Error dispatch(mlir::Operation &op);
  llvm::Error executeScalar(mlir::Operation &op);
  llvm::Expected<Ref<T>> readInput(const Tensor &tensor, mlir::RankedTensorType type, llvm::StringRef name);
  static Tensor toTensor(const Array<T> &array, mlir::Type element);

  // ElementOps.cpp
  llvm::Error apply(mlir::Block &body, llvm::ArrayRef<const Array<T> *> inputs, llvm::ArrayRef<llvm::ArrayRef<int64_t>> maps,
                    llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<Array<T> *> results, Precision precision = Machine::precision);
  llvm::Expected<Ref<T>> rounded(mlir::Value value, int depth = 0);
  llvm::Error applyMap(mlir::xf::MapOp op, llvm::ArrayRef<const Array<T> *> inputs, const Results &results, Precision precision);
  llvm::Error exec(mlir::xf::MapOp op);
  llvm::Error exec(mlir::xf::ReduceOp op);
  llvm::Error exec(mlir::xf::RowOp op);
  llvm::Error exec(mlir::xf::ScanOp op);
  llvm::Error scan(mlir::Block &body, llvm::ArrayRef<const Array<T> *> inputs, int64_t axis, bool isReversed,
                   llvm::MutableArrayRef<std::vector<T>> states, llvm::ArrayRef<Array<T> *> results);

  // ProductOps.cpp
  void multiply(const Array<T> &x, const Array<T> &weight, Array<T> &result);
  llvm::Error exec(mlir::xf::QuantizeOp op);
  llvm::Error exec(mlir::xf::LinearOp op);
  llvm::Error exec(mlir::xf::ContractOp op);
  llvm::Error exec(mlir::xf::EmbedOp op);

  // ChooseOp.cpp
  llvm::Error exec(mlir::xf::ChooseOp op);

  // AttendOp.cpp
  llvm::Error exec(mlir::xf::AttendOp op);
  llvm::Error runPositions(Compiled &compiled, int64_t b, int64_t h, int64_t i, int64_t keys, const std::vector<T> *scores,
                           llvm::function_ref<void(int64_t, const ScalarFrame &, int)> consume);

  // ShapeOps.cpp
  /// An error unless all spans lie within `tokens` tokens, and none is longer than `maxLength`.
  static llvm::Error checkSpans(const Array<T> &spans, int64_t tokens, int64_t maxLength);
  /// Sentences' rows of `maxLength` positions, from `x` with all sentences packed along `axis`, as xf.spread does it.
  llvm::Expected<std::shared_ptr<Array<T>>> spread(const Array<T> &x, const Array<T> &spans, unsigned axis, int64_t maxLength);
  llvm::Error exec(mlir::xf::PositionsOp op);
  llvm::Error exec(mlir::xf::RearrangeOp op);
  llvm::Error exec(mlir::xf::SliceOp op);
  llvm::Error exec(mlir::xf::ConcatOp op);
  llvm::Error exec(mlir::xf::SpreadOp op);
  llvm::Error exec(mlir::xf::PackOp op) { return define(op.getResult(), values.find(op.getX())->second); }

  // ControlOps.cpp
  llvm::Error exec(mlir::xf::ParamOp op);
  llvm::Error exec(mlir::xf::RepeatOp op);
  llvm::Expected<Ref<T>> evaluate(mlir::xf::WeightOp weight, int64_t layer);

  // StateOps.cpp
  llvm::Error exec(mlir::xf::AppendOp op);
  llvm::Error exec(mlir::xf::StoreOp op);
  llvm::Error exec(mlir::xf::LoadOp op);
  llvm::Error exec(mlir::xf::ScanStepOp op);
  llvm::Expected<State::Slot *> findSlot(llvm::StringRef name, mlir::Value layer);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  ParameterSource &source;

  // Kept between runs.
  llvm::DenseMap<std::pair<void *, int>, std::unique_ptr<Compiled>> compiled; // by block, or by op at the top level; and by precision
  llvm::StringMap<Ref<T>> parameters;
  int64_t parameterBytes = 0;
  std::unique_ptr<Machine<double>> exact; // Machine<float>: evaluates weights

  // State of the current run.
  struct Binding {
    int64_t size;
    std::string user;
  };
  llvm::StringMap<Binding> dims;
  llvm::DenseMap<mlir::Value, Ref<T>> values;
  llvm::DenseMap<mlir::Value, Ref<T>> roundedValues; // in Precision::F64: some of the same, as maps in f32 compute them
  llvm::DenseMap<mlir::Value, int64_t> scalars;
  State *state = nullptr;
};

} // namespace xf

#endif // XF_COMPILER_REFERENCE_MACHINE_H
