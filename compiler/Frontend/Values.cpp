// Descriptions of values and helpers on shapes.
#include "compiler/Frontend/Values.h"

#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>

using namespace xf::frontend;

Value::Value() = default;
Value::Value(const Value &other) = default;
Value::Value(Value &&other) noexcept = default;
Value &Value::operator=(const Value &other) = default;
Value &Value::operator=(Value &&other) noexcept = default;
Value::~Value() = default;

/// A whole number is written as 4.0, to tell it from an integer.
static std::string describeReal(double value) {
  std::string text = fmt::format("{}", value);
  bool looksWhole = text.find_first_not_of("-0123456789") == std::string::npos;
  return "the number " + text + (looksWhole ? ".0" : "");
}

std::string xf::frontend::describe(const Value &value) {
  struct Visitor {
    std::string operator()(Poison) { return "something wrong"; }
    std::string operator()(None) { return "none"; }
    std::string operator()(ScanPosition) { return "the position of the scan"; }
    std::string operator()(bool b) { return b ? "true" : "false"; }
    std::string operator()(int64_t i) { return fmt::format("the integer {}", i); }
    std::string operator()(double d) { return describeReal(d); }
    std::string operator()(const std::string &s) { return "the string \"" + s + "\""; }
    std::string operator()(const DimName &d) { return "the dimension " + d.name; }
    std::string operator()(const Tensor &t) {
      mlir::Type element = t.type().getElementType();
      std::string kind = element.isInteger(1) ? "a boolean tensor " : element.isInteger(32) ? "an integer tensor " : "a tensor ";
      return kind + mlir::xf::describeShape(t.type());
    }
    std::string operator()(const Scalar &) { return "an element"; }
    std::string operator()(const WeightRef &w) { return "a parameter " + mlir::xf::describeShape(w.parameter->type); }
    std::string operator()(const InstanceRef &i) { return "a member of block '" + i.instance->block->name + "'"; }
    std::string operator()(const BoundMethod &m) { return "the method '" + m.method->name + "'"; }
    std::string operator()(const BlockRef &b) { return "the block '" + b.block->name + "'"; }
    std::string operator()(const Builtin *) { return "a built-in function"; }
    std::string operator()(const LazyInput *l) { return "the input '" + l->name + "'"; }
    std::string operator()(const std::shared_ptr<List> &l) { return fmt::format("a list of {}", l->size()); }
    std::string operator()(const std::shared_ptr<Tuple> &t) { return fmt::format("{} values", t->elements.size()); }
    std::string operator()(const std::shared_ptr<Closure> &) { return "a function"; }
    std::string operator()(const std::shared_ptr<Term> &t) { return t->isBias ? "a bias" : "a mask"; }
    std::string operator()(const std::shared_ptr<Spec> &s) { return "the block '" + s->block->name + "'"; }
    std::string operator()(const std::shared_ptr<TableUse> &t) { return "the table '" + t->function->name + "'"; }
  };
  return std::visit(Visitor{}, value);
}

namespace {
/// Prints values that compare by content as that content, and all others as their addresses, as equal ones may lie at two.
struct Printer {
  template <typename T> std::string operator()(const T &value) { return describe(value); }
  std::string operator()(double d) { return fmt::format("{:a}", d); }
  std::string operator()(const DimName &dim) { return dim.name; }
  std::string operator()(const Tensor &tensor) { return address(tensor.value.getAsOpaquePointer()); }
  std::string operator()(const Scalar &scalar) { return address(scalar.value.getAsOpaquePointer()); }
  std::string operator()(const WeightRef &weight) { return address(weight.parameter) + print(weight.indices); }
  std::string operator()(const InstanceRef &member) { return address(member.instance) + print(member.indices); }
  std::string operator()(const BoundMethod &method) { return (*this)(method.self) + address(method.method); }
  std::string operator()(const BlockRef &block) { return address(block.block); }
  std::string operator()(const Builtin *builtin) { return address(builtin); }
  std::string operator()(LazyInput *input) { return address(input); }
  std::string operator()(const std::shared_ptr<List> &list) {
    return list->element ? fmt::format("[{}*{}]", printValue(*list->element), list->count) : print(list->elements);
  }
  std::string operator()(const std::shared_ptr<Tuple> &tuple) { return print(tuple->elements); }
  std::string operator()(const std::shared_ptr<Closure> &closure) {
    return fmt::format("{}/{}/{}", address(closure->function), address(closure->lambda), address(closure->scope.get()));
  }
  std::string operator()(const std::shared_ptr<Term> &term) {
    // A mask without parameters is created again at each use of its name.
    bool isNamed = term->function && term->function->params.empty();
    return isNamed ? address(term->function) + address(term->scope->parent.get()) : address(term.get());
  }
  std::string operator()(const std::shared_ptr<Spec> &spec) { return address(spec.get()); }
  std::string operator()(const std::shared_ptr<TableUse> &table) { return table->key; }

private:
  static std::string address(const void *at) { return fmt::format("{}", at); }
  std::string print(const std::vector<Value> &values) {
    std::string text = "[";
    for (const Value &value : values)
      text += printValue(value) + ",";
    return text + "]";
  }
  std::string print(const Indices &indices) {
    std::string text;
    for (const Index &index : indices) {
      auto *constant = std::get_if<int64_t>(&index);
      text += constant ? fmt::format(".{}", *constant) : "." + address(std::get<mlir::Value>(index).getAsOpaquePointer());
    }
    return text;
  }
};
} // namespace

std::string xf::frontend::printValue(const Value &value) { return std::visit(Printer(), value); }

Value xf::frontend::rebase(const Value &value, const Indices &indices) {
  if (auto *weight = getIf<WeightRef>(value))
    return WeightRef{weight->parameter, indices};
  if (auto *instance = getIf<InstanceRef>(value))
    return InstanceRef{instance->instance, indices};
  if (auto *list = getIf<std::shared_ptr<List>>(value)) {
    auto copy = std::make_shared<List>(**list);
    for (Value &element : copy->elements)
      element = rebase(element, indices);
    if (copy->element)
      copy->element = rebase(*copy->element, indices);
    return copy;
  }
  return value;
}

DimSize xf::frontend::dimOf(mlir::RankedTensorType type, unsigned i) { return {type.getDimSize(i), mlir::xf::getDimName(type, i).str()}; }

std::vector<DimSize> xf::frontend::dimsOf(mlir::RankedTensorType type) {
  std::vector<DimSize> dims;
  for (int64_t i = 0; i < type.getRank(); ++i)
    dims.push_back(dimOf(type, i));
  return dims;
}

mlir::RankedTensorType xf::frontend::tensorOf(llvm::ArrayRef<DimSize> dims, mlir::Type element) {
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<llvm::StringRef> names;
  for (const DimSize &dim : dims) {
    sizes.push_back(dim.size);
    names.push_back(dim.name);
  }
  return mlir::xf::makeTensor(sizes, names, element);
}

Value xf::frontend::dimValue(const DimSize &dim) {
  if (dim.isDynamic())
    return DimName{dim.name};
  return dim.size;
}

std::string xf::frontend::describeDims(llvm::ArrayRef<DimSize> dims) {
  std::string text = "[";
  for (auto [i, dim] : llvm::enumerate(dims))
    text += (i ? ", " : "") + dim.str();
  return text + "]";
}
