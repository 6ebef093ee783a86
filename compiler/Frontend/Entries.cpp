// Entries: xf.entry operations from a model's entries, or from the `apply` of a block that is compiled by itself.
#include "compiler/Frontend/Evaluator.h"

#include "runtime/abi/xf_abi.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/SaveAndRestore.h"
#include <fmt/format.h>

using namespace xf::frontend;

namespace {
const Function *findApply(const Instance &instance) {
  auto it = instance.methods.find("apply");
  return it == instance.methods.end() ? nullptr : it->second;
}
} // namespace

/// Bounds that entries declare (`S <= 80`), before any entry is built: tables take their length from them.
void Evaluator::declareBounds(const Instance &instance) {
  auto scope = std::make_shared<Scope>();
  scope->self = InstanceRef{const_cast<Instance *>(&instance), {}};
  scope->parent = instance.scope;
  for (const Function *entry : instance.entries)
    for (const Param &param : entry->params)
      for (size_t i = 0; param.type && i < param.type->dims.size(); ++i) {
        const DimExpr &dim = param.type->dims[i];
        if (!dim.bound)
          continue;
        if (dim.size->kind != ExprKind::Name) {
          error(dim.loc, "only a dimension's name can have a bound");
          continue;
        }
        auto bound = asInt(eval(*dim.bound, scope), dim.bound->loc, "the bound");
        if (!bound)
          continue;
        if (*bound < 1 || *bound > INT32_MAX) {
          error(dim.bound->loc, fmt::format("a dimension's bound cannot be {}", *bound));
          continue;
        }
        DimInfo &info = dims[dim.size->text];
        if (info.declared && *info.declared != *bound) {
          error(dim.loc, fmt::format("'{}' has the bound {} here", dim.size->text, *bound));
          note(info.loc, fmt::format("but {} here", *info.declared));
        }
        info.declared = *bound;
        info.loc = dim.loc;
      }
}

namespace {
/// The type of an entry's parameter that has none: a result or parameter of an earlier entry. Null after an error.
mlir::RankedTensorType typeFromEarlier(Evaluator &e, const Param &param, const ScopePtr &scope) {
  const mlir::RankedTensorType *found = nullptr;
  for (auto &entry : e.entries)
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

/// The size of a dimension of an entry's input: a name that means nothing yet is a free dimension.
std::optional<DimSize> entryDim(Evaluator &e, const DimExpr &dim, const ScopePtr &scope) {
  if (dim.size->kind != ExprKind::Name)
    return e.evalDim(*dim.size, scope);
  const std::string &name = dim.size->text;
  auto known = e.lookup(scope.get(), name);
  if (known && (holds<int64_t>(known->value) || holds<DimName>(known->value)))
    return e.evalDim(*dim.size, scope);
  scope->set(name, DimName{name}, dim.loc);
  return DimSize{mlir::ShapedType::kDynamic, name};
}

/// The declared type of an entry's parameter; null after an error.
mlir::RankedTensorType declaredType(Evaluator &e, const TypeExpr &type, const ScopePtr &scope) {
  mlir::Type element = e.elementType(type, false);
  if (!element)
    return {};
  std::vector<DimSize> shape;
  for (const DimExpr &dim : type.dims) {
    if (!dim.size && e.blockLeading.empty()) {
      e.error(dim.loc, "an entry's inputs have a fixed number of dimensions; '..' stands in methods only");
      return {};
    }
    if (!dim.size) {
      shape.insert(shape.end(), e.blockLeading.begin(), e.blockLeading.end());
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
} // namespace

/// Gives a parameter of an entry its argument; its dimensions are free unless the model knows them.
bool Evaluator::bindEntryParam(const Param &param, const ScopePtr &scope) {
  auto type = param.type ? declaredType(*this, *param.type, scope) : typeFromEarlier(*this, param, scope);
  if (!type)
    return false;
  mlir::Value argument = entryBlock->addArgument(type, sources.toMlir(builder.getContext(), param.loc));
  entryArgNames.push_back(param.name);
  scope->set(param.name, Tensor{argument}, param.loc);
  return true;
}

/// Begins an entry: what is built from now on stands in its body, and the scope that it gives is that of its inputs.
std::pair<mlir::xf::EntryOp, ScopePtr> Evaluator::openEntry(const InstanceRef &self, llvm::StringRef name, Loc loc) {
  builder.setInsertionPointToEnd(module->getBody());
  auto entry = mlir::xf::EntryOp::create(builder, at(loc), name, builder.getFunctionType({}, {}), {}, {});
  entryBlock = entry.addBody();
  entryArgNames.clear();
  builder.setInsertionPointToEnd(entryBlock);
  auto scope = std::make_shared<Scope>();
  scope->parent = selfScope(self);
  return {entry, scope};
}

/// The results of an entry with their names; none where its body gave an error.
static std::vector<std::pair<std::string, Value>> entryResults(Evaluator &e, const Function &function, const std::optional<Value> &returned,
                                                               const ScopePtr &scope) {
  if (returned && isPoison(*returned))
    return {};
  // Without a return the results are the variables of their names.
  ScopePtr from = scope;
  if (returned) {
    from = std::make_shared<Scope>();
    e.assign(function.results, *returned, from, function.loc);
  }
  std::vector<std::pair<std::string, Value>> results;
  for (const Target &target : function.results) {
    auto it = from->names.find(target.name);
    if (!returned && it == from->names.end())
      e.error(target.loc, "entry '" + function.name + "' neither returns nor sets its result '" + target.name + "'");
    results.push_back({target.name, it == from->names.end() ? Value(Poison{}) : it->second.value});
  }
  return results;
}

void Evaluator::buildEntry(const InstanceRef &self, const Function &function) {
  for (const EntryInfo &entry : entries)
    if (entry.function && entry.function->name == function.name) {
      error(function.loc, "entry '" + function.name + "' is declared twice");
      return note(entry.function->loc, "the first one is here");
    }
  mlir::OpBuilder::InsertionGuard guard(builder);
  llvm::SaveAndRestore body(inBody, true);
  auto [entry, scope] = openEntry(self, function.name, function.loc);
  bool good = true;
  for (const Param &param : function.params) {
    if (!bindEntryParam(param, scope)) {
      scope->set(param.name, Poison{}, param.loc);
      good = false;
    }
  }
  std::optional<Value> value;
  if (function.expr)
    value = eval(*function.expr, scope);
  else
    value = exec(function.body, scope);
  good &= !value || !isPoison(*value);
  auto results = entryResults(*this, function, value, scope);
  EntryInfo info{&function, entry, {}};
  for (auto [name, argument] : llvm::zip(entryArgNames, entryBlock->getArguments()))
    info.ports.push_back({name, llvm::cast<mlir::RankedTensorType>(argument.getType())});
  for (const Param &param : function.params)
    if (!llvm::is_contained(entryArgNames, param.name))
      info.ports.push_back({param.name, {}});
  if (good || !results.empty())
    finishEntry(entry, results, function.loc);
  auto types = entry.getFunctionType().getResults();
  for (auto [i, target] : llvm::enumerate(function.results))
    info.ports.push_back({target.name, i < types.size() ? llvm::cast<mlir::RankedTensorType>(types[i]) : mlir::RankedTensorType()});
  entries.push_back(std::move(info));
}

/// Kernels walk over as many dimensions; the first tensor with more is shown.
bool Evaluator::checkRanks(mlir::xf::EntryOp entry) {
  auto check = [&](mlir::Value value) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
    if (!type || type.getRank() <= XF_ABI_MAX_RANK)
      return mlir::WalkResult::advance();
    error(locOf(value), fmt::format("a tensor has at most {} dimensions, but {} has {}", XF_ABI_MAX_RANK, mlir::xf::describeShape(type), type.getRank()));
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
void Evaluator::finishEntry(mlir::xf::EntryOp entry, std::vector<std::pair<std::string, Value>> results, Loc loc) {
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<mlir::Attribute> argAttrs, resultAttrs;
  auto named = [&](llvm::StringRef name) {
    return builder.getDictionaryAttr(builder.getNamedAttr(mlir::xf::kNameAttr, builder.getStringAttr(name)));
  };
  std::set<std::string> seen;
  for (auto &[name, value] : results) {
    if (isPoison(value))
      return;
    mlir::Value tensor = asTensor(value, loc, "the result '" + name + "'");
    if (!tensor)
      return;
    if (!seen.insert(name).second)
      return error(loc, "two results are named '" + name + "'");
    values.push_back(tensor);
    resultAttrs.push_back(named(name));
  }
  if (!checkRanks(entry))
    return;
  for (const std::string &name : entryArgNames)
    argAttrs.push_back(named(name));
  mlir::xf::ReturnOp::create(builder, at(loc), values);
  auto types = llvm::map_to_vector(values, [](mlir::Value v) { return v.getType(); });
  entry.setFunctionTypeAttr(mlir::TypeAttr::get(builder.getFunctionType(entryBlock->getArgumentTypes(), types)));
  entry.setArgAttrsAttr(builder.getArrayAttr(argAttrs));
  entry.setResAttrsAttr(builder.getArrayAttr(resultAttrs));
}

/// A block by itself: `apply` becomes the entry "apply". What `..` stands for is batch and positions, [B, S].
void Evaluator::buildBlockEntry(const InstanceRef &self) {
  const Function *apply = findApply(*self.instance);
  if (!apply)
    return error(self.instance->block->loc, "block '" + self.instance->block->name + "' has no method 'apply' to run by itself");
  mlir::OpBuilder::InsertionGuard guard(builder);
  llvm::SaveAndRestore body(inBody, true);
  auto [entry, scope] = openEntry(self, "apply", apply->loc);
  bool taken = false;
  for (const Param &param : apply->params)
    for (size_t i = 0; param.type && i < param.type->dims.size(); ++i)
      if (const Expr *size = param.type->dims[i].size.get())
        taken |= size->kind == ExprKind::Name && (size->text == "B" || size->text == "S");
  for (const char *name : {"B", "S"})
    blockLeading.push_back({mlir::ShapedType::kDynamic, std::string(name) + (taken ? "_" : "")});
  Args args;
  for (const Param &param : apply->params) {
    if (param.type && param.type->hasShape) {
      if (!bindEntryParam(param, scope))
        return;
      args.push_back({param.loc, param.name, scope->names[param.name].value});
    } else if (!param.value) {
      lazyInputs.push_back(std::make_unique<LazyInput>(LazyInput{param.name, param.loc, {}}));
      args.push_back({param.loc, param.name, lazyInputs.back().get()});
    }
  }
  Value value = call(self, std::move(args), apply->loc);
  if (isPoison(value))
    return;
  std::vector<std::pair<std::string, Value>> results;
  if (auto *tuple = getIf<std::shared_ptr<Tuple>>(value)) {
    for (auto [i, element] : llvm::enumerate((*tuple)->elements))
      results.push_back({fmt::format("r{}", i), element});
  } else {
    results.push_back({"result", value});
  }
  finishEntry(entry, std::move(results), apply->loc);
  entries.push_back({apply, entry, {}});
}

/// An input without a declared shape takes that of the first parameter it is given to.
bool Evaluator::bindLazy(LazyInput &input, const TypeExpr &type, const ScopePtr &scope, Loc loc) {
  if (!input.value) {
    mlir::Type element = elementType(type, false);
    std::vector<DimSize> shape;
    for (const DimExpr &dim : type.dims) {
      if (!dim.size) {
        if (scope->leading)
          shape.insert(shape.end(), scope->leading->begin(), scope->leading->end());
        else
          shape.insert(shape.end(), blockLeading.begin(), blockLeading.end());
        continue;
      }
      std::optional<Binding> known;
      if (dim.size->kind == ExprKind::Name)
        known = lookup(scope.get(), dim.size->text);
      bool isFree = dim.size->kind == ExprKind::Name && (!known || (!holds<int64_t>(known->value) && !holds<DimName>(known->value)));
      auto size = isFree ? DimSize{mlir::ShapedType::kDynamic, dim.size->text} : evalDim(*dim.size, scope);
      if (!size)
        return false;
      shape.push_back(*size);
    }
    mlir::Value argument = entryBlock->addArgument(tensorOf(shape, element), sources.toMlir(builder.getContext(), input.loc));
    entryArgNames.push_back(input.name);
    input.value = Tensor{argument};
  }
  auto actual = std::get<Tensor>(*input.value).type();
  if (actual.getElementType() != elementType(type, false)) {
    error(loc, "'" + input.name + "' is used as " + describe(*input.value) + " and as a tensor of " + type.name);
    return false;
  }
  return bindShape(type, actual, scope, "'" + input.name + "'", loc);
}

/// Operations without effect and uses go, and so do the results of repeats that nobody reads.
void Evaluator::cleanUp() {
  for (auto &[old, twin] : replaced) {
    old.getOutput().replaceAllUsesWith(twin.getOutput());
    old.erase();
  }
  auto sweep = [&] {
    bool changed = false;
    module->walk([&](mlir::Operation *op) {
      if (op->getParentOp() != *module && mlir::isOpTriviallyDead(op)) {
        op->erase();
        changed = true;
      }
    });
    return changed;
  };
  auto prune = [&] {
    bool changed = false;
    llvm::SmallVector<mlir::xf::RepeatOp> repeats;
    module->walk([&](mlir::xf::RepeatOp op) { repeats.push_back(op); });
    for (mlir::xf::RepeatOp op : repeats) {
      unsigned kept = op.getInits().size();
      llvm::SmallVector<unsigned> used;
      for (unsigned i = 0; i < op.getNumResults(); ++i)
        if (i < kept || !op.getResult(i).use_empty())
          used.push_back(i);
      if (used.size() == op.getNumResults())
        continue;
      changed = true;
      mlir::Operation *yield = op.getBody().front().getTerminator();
      llvm::SmallVector<mlir::Value> values;
      for (unsigned i : used)
        values.push_back(yield->getOperand(i));
      yield->setOperands(values);
      mlir::OpBuilder at(op);
      mlir::OperationState state(op.getLoc(), mlir::xf::RepeatOp::getOperationName());
      mlir::xf::RepeatOp::build(at, state, mlir::ValueRange(values).getTypes(), op.getCount(), op.getInits());
      state.regions[0]->takeBody(op.getBody());
      mlir::Operation *twin = at.create(state);
      for (auto [i, old] : llvm::enumerate(used))
        op.getResult(old).replaceAllUsesWith(twin->getResult(i));
      op.erase();
    }
    return changed;
  };
  for (bool changed = true; changed;) {
    changed = sweep();
    changed |= prune();
  }
}
