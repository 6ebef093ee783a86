#include "compiler/Frontend/Evaluator.h"

#include "runtime/abi/xf_abi.h"

#include "llvm/Support/SaveAndRestore.h"
#include <fmt/format.h>

using namespace xf::frontend;

namespace {
const Function *findApply(const Instance &instance) {
  auto it = instance.methods.find("apply");
  return it == instance.methods.end() ? nullptr : it->second;
}

/// The size of a dimension of an entry's input: a name that means nothing yet is a free dimension.
std::optional<DimSize> entryDim(Evaluator &e, const DimExpr &dim, const ScopePtr &scope) {
  if (dim.size->kind != ExprKind::Name)
    return e.evalDim(*dim.size, scope);
  const std::string &name = dim.size->text;
  auto binding = e.lookup(scope.get(), name);
  if (binding && (holds<int64_t>(binding->value) || holds<DimName>(binding->value)))
    return e.evalDim(*dim.size, scope);
  scope->set(name, DimName{name}, dim.loc);
  return DimSize{mlir::ShapedType::kDynamic, name};
}
} // namespace

/// The type of an entry's parameter that has none: a result or parameter of an earlier entry. Null after an error.
mlir::RankedTensorType Entries::typeFromEarlier(const Param &param, const ScopePtr &scope) {
  const mlir::RankedTensorType *found = nullptr;
  for (const Entry &entry : built)
    for (auto &[name, port] : entry.ports)
      if (name == param.name && !found)
        found = &port;
  if (!found)
    e.error(param.loc, "input '" + param.name + "' needs a type, because no earlier entry has a result or input of that name");
  if (!found || !*found)
    return {}; // if the port has no type, its own error has been reported
  for (const DimSize &dim : dimsOf(*found))
    if (dim.isDynamic() && !e.lookup(scope.get(), dim.name))
      scope->set(dim.name, DimName{dim.name}, param.loc);
  return *found;
}

/// The declared type of an entry's parameter; null after an error.
mlir::RankedTensorType Entries::declaredType(const TypeExpr &type, const ScopePtr &scope) {
  mlir::Type element = e.elementType(type, false);
  if (!element)
    return {};
  std::vector<DimSize> shape;
  for (const DimExpr &dim : type.dims) {
    if (!dim.size && leading.empty()) {
      e.error(dim.loc, "an entry's inputs have a fixed number of dimensions; '..' stands in methods only");
      return {};
    }
    if (!dim.size) {
      shape.insert(shape.end(), leading.begin(), leading.end());
      continue;
    }
    auto size = entryDim(e, dim, scope);
    if (!size)
      return {};
    shape.push_back(*size);
  }
  if (shape.empty()) {
    e.error(type.loc, "an input needs a shape, such as " + type.name + "[B, S]");
    return {};
  }
  return tensorOf(shape, element);
}

Value Entries::addInput(const std::string &name, mlir::RankedTensorType type, Loc loc) {
  inputNames.push_back(name);
  return Tensor{body->addArgument(type, e.sources.toMlir(e.builder.getContext(), loc))};
}

/// Binds a parameter of an entry to an input, whose dimensions are free unless the model knows them.
bool Entries::bindParam(const Param &param, const ScopePtr &scope) {
  auto type = param.type ? declaredType(*param.type, scope) : typeFromEarlier(param, scope);
  if (!type)
    return false;
  scope->set(param.name, addInput(param.name, type, param.loc), param.loc);
  return true;
}

/// Begins an entry, in whose body operations are built from now on. The scope that is returned is that of its inputs.
std::pair<mlir::xf::EntryOp, ScopePtr> Entries::open(const InstanceRef &self, llvm::StringRef name, Loc loc) {
  e.builder.setInsertionPointToEnd(e.module->getBody());
  auto entry = mlir::xf::EntryOp::create(e.builder, e.at(loc), name, e.builder.getFunctionType({}, {}), {}, {});
  body = entry.addBody();
  inputNames.clear();
  e.builder.setInsertionPointToEnd(body);
  auto scope = std::make_shared<Scope>();
  scope->parent = e.selfScope(self);
  return {entry, scope};
}

/// The results of an entry with their names; none after an error in its body.
Entries::Results Entries::resultsOf(const Function &function, const std::optional<Value> &returned, const ScopePtr &scope) {
  if (returned && isPoison(*returned))
    return {};
  // Without a return, results are the variables that have their names.
  ScopePtr from = scope;
  if (returned) {
    from = std::make_shared<Scope>();
    e.assign(function.results, *returned, from, function.loc);
  }
  Results results;
  for (const Target &target : function.results) {
    auto it = from->names.find(target.name);
    if (!returned && it == from->names.end())
      e.error(target.loc, "entry '" + function.name + "' neither returns nor sets its result '" + target.name + "'");
    results.push_back({target.name, it == from->names.end() ? Value(Poison{}) : it->second.value});
  }
  return results;
}

void Entries::build(const InstanceRef &model, const Function &function) {
  for (const Entry &entry : built)
    if (entry.function && entry.function->name == function.name) {
      e.error(function.loc, "entry '" + function.name + "' is declared twice");
      return e.note(entry.function->loc, "the first one is here");
    }
  mlir::OpBuilder::InsertionGuard guard(e.builder);
  llvm::SaveAndRestore inBody(e.inBody, true);
  auto [entry, scope] = open(model, function.name, function.loc);
  bool good = true;
  for (const Param &param : function.params) {
    if (!bindParam(param, scope)) {
      scope->set(param.name, Poison{}, param.loc);
      good = false;
    }
  }
  std::optional<Value> value;
  if (function.expr)
    value = e.eval(*function.expr, scope);
  else
    value = e.exec(function.body, scope);
  good &= !value || !isPoison(*value);
  auto results = resultsOf(function, value, scope);
  Entry info{&function, entry, {}};
  for (auto [name, argument] : llvm::zip(inputNames, body->getArguments()))
    info.ports.push_back({name, llvm::cast<mlir::RankedTensorType>(argument.getType())});
  for (const Param &param : function.params)
    if (!llvm::is_contained(inputNames, param.name))
      info.ports.push_back({param.name, {}});
  if (good || !results.empty())
    finish(entry, results, function.loc);
  auto types = entry.getFunctionType().getResults();
  for (auto [i, target] : llvm::enumerate(function.results))
    info.ports.push_back({target.name, i < types.size() ? llvm::cast<mlir::RankedTensorType>(types[i]) : mlir::RankedTensorType()});
  built.push_back(std::move(info));
}

/// Checks that no tensor has more dimensions than kernels can iterate over; reports the first that has.
bool Entries::checkRanks(mlir::xf::EntryOp entry) {
  auto check = [&](mlir::Value value) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
    if (!type || type.getRank() <= XF_ABI_MAX_RANK)
      return mlir::WalkResult::advance();
    e.error(e.locOf(value),
            fmt::format("a tensor has at most {} dimensions, but {} has {}", XF_ABI_MAX_RANK, mlir::xf::describeShape(type), type.getRank()));
    return mlir::WalkResult::interrupt();
  };
  for (mlir::Value argument : entry.getBody().getArguments())
    if (check(argument).wasInterrupted())
      return false;
  auto walked = entry.walk([&](mlir::Operation *op) {
    for (mlir::Value result : op->getResults())
      if (check(result).wasInterrupted())
        return mlir::WalkResult::interrupt();
    return mlir::WalkResult::advance();
  });
  return !walked.wasInterrupted();
}

/// Adds the return and gives the entry its type and names.
void Entries::finish(mlir::xf::EntryOp entry, const Results &results, Loc loc) {
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<mlir::Attribute> argAttrs, resultAttrs;
  auto named = [&](llvm::StringRef name) {
    return e.builder.getDictionaryAttr(e.builder.getNamedAttr(mlir::xf::kNameAttr, e.builder.getStringAttr(name)));
  };
  std::set<std::string> seen;
  for (auto &[name, value] : results) {
    if (isPoison(value))
      return;
    mlir::Value tensor = e.asTensor(value, loc, "the result '" + name + "'");
    if (!tensor)
      return;
    if (!seen.insert(name).second)
      return e.error(loc, "two results are named '" + name + "'");
    values.push_back(tensor);
    resultAttrs.push_back(named(name));
  }
  if (!checkRanks(entry))
    return;
  for (const std::string &name : inputNames)
    argAttrs.push_back(named(name));
  mlir::xf::ReturnOp::create(e.builder, e.at(loc), values);
  auto types = llvm::map_to_vector(values, [](mlir::Value v) { return v.getType(); });
  entry.setFunctionTypeAttr(mlir::TypeAttr::get(e.builder.getFunctionType(body->getArgumentTypes(), types)));
  entry.setArgAttrsAttr(e.builder.getArrayAttr(argAttrs));
  entry.setResAttrsAttr(e.builder.getArrayAttr(resultAttrs));
}

void Entries::buildBlock(const InstanceRef &block) {
  const Function *apply = findApply(*block.instance);
  if (!apply)
    return e.error(block.instance->block->loc, "block '" + block.instance->block->name + "' has no method 'apply' to run by itself");
  mlir::OpBuilder::InsertionGuard guard(e.builder);
  llvm::SaveAndRestore inBody(e.inBody, true);
  auto [entry, scope] = open(block, "apply", apply->loc);
  bool taken = false;
  for (const Param &param : apply->params)
    for (size_t i = 0; param.type && i < param.type->dims.size(); ++i)
      if (const Expr *size = param.type->dims[i].size.get())
        taken |= size->kind == ExprKind::Name && (size->text == "B" || size->text == "S");
  for (const char *name : {"B", "S"})
    leading.push_back({mlir::ShapedType::kDynamic, std::string(name) + (taken ? "_" : "")});
  Args args;
  for (const Param &param : apply->params) {
    if (param.type && param.type->hasShape) {
      if (!bindParam(param, scope))
        return;
      args.push_back({param.loc, param.name, scope->names[param.name].value});
    } else if (!param.value) {
      lazyInputs.push_back(std::make_unique<LazyInput>(LazyInput{param.name, param.loc, {}}));
      args.push_back({param.loc, param.name, lazyInputs.back().get()});
    }
  }
  Value value = e.call(block, std::move(args), apply->loc);
  if (isPoison(value))
    return;
  Results results;
  if (auto *tuple = getIf<std::shared_ptr<Tuple>>(value)) {
    for (auto [i, element] : llvm::enumerate((*tuple)->elements))
      results.push_back({fmt::format("r{}", i), element});
  } else {
    results.push_back({"result", value});
  }
  finish(entry, results, apply->loc);
  built.push_back({apply, entry, {}});
}

bool Entries::bindLazy(LazyInput &input, const TypeExpr &type, const ScopePtr &scope, Loc loc) {
  if (!input.value) {
    mlir::Type element = e.elementType(type, false);
    std::vector<DimSize> shape;
    for (const DimExpr &dim : type.dims) {
      if (!dim.size) {
        if (scope->leading)
          shape.insert(shape.end(), scope->leading->begin(), scope->leading->end());
        else
          shape.insert(shape.end(), leading.begin(), leading.end());
        continue;
      }
      std::optional<Binding> binding;
      if (dim.size->kind == ExprKind::Name)
        binding = e.lookup(scope.get(), dim.size->text);
      bool isFree = dim.size->kind == ExprKind::Name && (!binding || (!holds<int64_t>(binding->value) && !holds<DimName>(binding->value)));
      auto size = isFree ? DimSize{mlir::ShapedType::kDynamic, dim.size->text} : e.evalDim(*dim.size, scope);
      if (!size)
        return false;
      shape.push_back(*size);
    }
    input.value = addInput(input.name, tensorOf(shape, element), input.loc);
  }
  auto actual = std::get<Tensor>(*input.value).type();
  if (actual.getElementType() != e.elementType(type, false)) {
    e.error(loc, "'" + input.name + "' is used as " + describe(*input.value) + " and as a tensor of " + type.name);
    return false;
  }
  return e.bindShape(type, actual, scope, "'" + input.name + "'", loc);
}

mlir::xf::EntryOp Entries::find(llvm::StringRef name, Loc loc) {
  for (const Entry &entry : built)
    if (entry.function->name == name)
      return entry.op;
  e.error(loc, "'" + name.str() + "' is no entry of the model");
  return {};
}

std::set<std::string> Entries::inputDims() {
  std::set<std::string> dims;
  for (Entry &entry : built)
    for (mlir::Type type : entry.op.getFunctionType().getInputs())
      for (llvm::StringRef name : mlir::xf::getDimNames(llvm::cast<mlir::RankedTensorType>(type)))
        if (!name.empty())
          dims.insert(name.str());
  return dims;
}
