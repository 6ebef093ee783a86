#include "compiler/Frontend/Evaluator.h"

#include <fmt/format.h>

using namespace xf::frontend;

namespace {
std::string joined(const std::string &path, const std::string &name) { return path.empty() ? name : name.empty() ? path : path + "." + name; }

/// A path as descriptions write it: with {i} for the index of any layer.
std::string written(std::string path) {
  for (size_t pos = path.find('{'); pos != std::string::npos; pos = path.find('{', pos + 1))
    path.replace(pos, path.find('}', pos) + 1 - pos, "{i}");
  return path;
}
} // namespace

std::string Instances::newSymbol(const std::string &name, llvm::StringRef separator) {
  std::string symbol = name;
  for (unsigned i = 2; !symbols.insert(symbol).second; ++i)
    symbol = fmt::format("{}{}{}", name, separator.str(), i);
  return symbol;
}

Instance *Instances::make(const Spec &spec, std::string path, std::string symbol, std::vector<int64_t> counts, const Indices &outer) {
  DepthGuard guard(e);
  if (path.size() > 2000 || guard.tooDeep()) {
    e.error(spec.loc, "blocks are too deeply nested; does '" + spec.block->name + "' contain itself?");
    return nullptr;
  }
  if (instances.size() > 50'000) {
    e.error(spec.loc, "the model has too many members");
    return nullptr;
  }
  e.depth += 20; // a nested block needs more of the stack than an expression
  instances.push_back(std::make_unique<Instance>());
  Instance &instance = *instances.back();
  instance.block = spec.block;
  instance.scope = spec.scope;
  instance.path = std::move(path);
  instance.symbol = std::move(symbol);
  instance.counts = std::move(counts);
  for (auto &[param, value] : spec.arguments)
    instance.params[param->name] = {value, param->loc};
  e.calls.push_back({spec.loc});
  addItems(instance, spec.block->items, e.selfScope({&instance, outer}), outer);
  e.calls.pop_back();
  e.depth -= 20;
  return &instance;
}

/// Whether a block has no member, method or parameter of that name yet; reports an error otherwise.
bool Instances::isNew(const Instance &instance, const std::string &name, Loc loc) {
  Loc first;
  std::string what = "the first one";
  if (auto it = instance.members.find(name); it != instance.members.end())
    first = it->second.loc;
  else if (auto it = instance.methods.find(name); it != instance.methods.end())
    first = it->second->loc;
  else if (auto it = instance.params.find(name); it != instance.params.end())
    first = it->second.loc, what = "the parameter of that name";
  else
    return true;
  e.error(loc, "'" + name + "' is declared twice");
  e.note(first, what + " is here");
  return false;
}

void Instances::addItems(Instance &instance, const std::vector<Item> &items, const ScopePtr &scope, const Indices &indices) {
  for (const Item &item : items) {
    if (e.diagnostics.reachedErrorLimit())
      return;
    switch (item.kind) {
    case ItemKind::Method: {
      const Function &method = *item.method;
      if (method.kind == FunctionKind::Entry) {
        if (!instance.block->isModel)
          e.error(method.loc, "entries stand in a model only");
        instance.entries.push_back(&method);
      } else if (isNew(instance, method.name, method.loc)) {
        instance.methods[method.name] = &method;
      }
      break;
    }
    case ItemKind::If: {
      auto condition = e.asBool(e.eval(*item.value, scope), item.value->loc, "the condition");
      if (condition)
        addItems(instance, *condition ? item.items : item.otherwise, scope, indices);
      break;
    }
    case ItemKind::Directive:
      instance.directives.push_back(&item);
      break;
    case ItemKind::Weight:
    case ItemKind::Member:
      for (const Target &target : item.names) {
        if (!isNew(instance, target.name, target.loc))
          continue;
        if (item.kind == ItemKind::Weight) {
          addWeight(instance, item, target, scope);
        } else {
          addMember(instance, item, target, scope, indices);
        }
      }
      break;
    }
  }
}

void Instances::addWeight(Instance &instance, const Item &item, const Target &target, const ScopePtr &scope) {
  Binding binding{Poison{}, target.loc, true};
  mlir::Type element = e.elementType(item.type, true);
  std::vector<DimSize> shape;
  bool good = element != nullptr;
  for (const DimExpr &dim : item.type.dims) {
    if (!dim.size || dim.bound) {
      e.error(dim.loc, "a parameter's dimensions must be known");
      good = false;
      continue;
    }
    auto size = e.evalDim(*dim.size, scope);
    good &= size.has_value();
    if (size)
      shape.push_back(*size);
  }
  if (good && item.type.dims.empty()) {
    e.error(item.type.loc, "a parameter needs a shape, such as f32[d]");
    good = false;
  }
  if (good) {
    std::string path = joined(instance.path, item.path.value_or(target.name));
    auto *parameter = makeParameter(joined(instance.symbol, item.path.value_or(target.name)), path, instance.counts, tensorOf(shape, element),
                                    target.loc);
    if (parameter)
      binding.value = WeightRef{parameter, {}};
  }
  instance.members[target.name] = binding;
}

const Parameter *Instances::makeParameter(const std::string &name, const std::string &path, llvm::ArrayRef<int64_t> counts,
                                          mlir::RankedTensorType type, Loc loc) {
  double elements = 1;
  for (int64_t size : type.getShape())
    elements *= static_cast<double>(size);
  for (int64_t count : counts)
    elements *= static_cast<double>(count);
  if (elements > 1e12) {
    e.error(loc, fmt::format("parameter '{}' would have {:.3g} elements", written(path), elements));
    return nullptr;
  }
  if (auto it = parameters.find(path); it != parameters.end()) {
    // The same path means the same weight.
    if (it->second->type == type && llvm::ArrayRef(it->second->counts) == counts)
      return it->second.get();
    e.error(loc, "parameter '" + written(path) + "' of shape " + mlir::xf::describeShape(type) + " has another shape elsewhere");
    e.note(it->second->loc, "here it has shape " + mlir::xf::describeShape(it->second->type));
    return nullptr;
  }
  auto parameter = std::make_unique<Parameter>();
  parameter->symbol = newSymbol(name, ".");
  parameter->type = type;
  parameter->counts.assign(counts.begin(), counts.end());
  parameter->loc = loc;
  mlir::OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPointToEnd(e.module->getBody());
  parameter->op = mlir::xf::ParameterOp::create(e.builder, e.at(loc), parameter->symbol, type, e.builder.getStringAttr(path), counts);
  return (parameters[path] = std::move(parameter)).get();
}

void Instances::addMember(Instance &instance, const Item &item, const Target &target, const ScopePtr &scope, const Indices &indices) {
  Value value = e.eval(*item.value, scope);
  std::string name = item.path.value_or(target.name);
  if (auto *block = getIf<BlockRef>(value))
    value = e.makeSpec(*block, {}, item.value->loc); // `norm: Norm` with no arguments
  Binding binding{Poison{}, target.loc, true};
  bool foreign = holds<InstanceRef>(value) || holds<WeightRef>(value);
  auto *list = getIf<std::shared_ptr<List>>(value);
  if (foreign || (list && (*list)->element && !(*list)->indexed)) {
    binding.value = value; // another block's member under a name of its own
    binding.needsRebase = false;
  } else if (!isPoison(value)) {
    // Symbols are paths without the layers' indices.
    std::string symbol = name;
    if (size_t brace = symbol.find("{i}"); brace != std::string::npos)
      symbol = target.name;
    binding.value = makeMember(instance, value, joined(instance.path, name), joined(instance.symbol, symbol), indices, item.value->loc);
  }
  instance.members[target.name] = binding;
}

/// Makes the instances of a block, or of a list of blocks, that a member describes.
Value Instances::makeMember(Instance &owner, const Value &value, const std::string &path, const std::string &symbol, const Indices &indices,
                            Loc loc) {
  auto list = getIf<std::shared_ptr<List>>(value);
  size_t brace = path.rfind("{i}");
  if (!list && brace != std::string::npos)
    return e.poison(loc, "the name \"" + path + "\" has '{i}', but the member is no list");
  if (auto *spec = getIf<std::shared_ptr<Spec>>(value)) {
    Instance *instance = make(**spec, path, symbol, owner.counts, indices);
    return instance ? Value(InstanceRef{instance, indices}) : Value(Poison{});
  }
  if (!list)
    return e.poison(loc, "a member must be a block such as Linear(d, d) or a list of blocks, not " + describe(value));
  auto pathOf = [&](const std::string &index) {
    return brace == std::string::npos ? path + "." + index : path.substr(0, brace) + index + path.substr(brace + 3);
  };
  auto result = std::make_shared<List>();
  if ((*list)->element) {
    result->count = (*list)->count;
    result->indexed = true;
    result->element = None{};
    if (result->count == 0)
      return result;
    std::vector<int64_t> counts = owner.counts;
    std::string placeholder = fmt::format("{{{}}}", counts.size());
    counts.push_back(result->count);
    // Inside, the layer's index is not known yet.
    Indices inner = indices;
    inner.push_back(int64_t(0));
    auto *spec = getIf<std::shared_ptr<Spec>>(*(*list)->element);
    if (!spec)
      return e.poison(loc, "a list member holds blocks, not " + describe(*(*list)->element));
    Instance *instance = make(**spec, pathOf(placeholder), symbol, counts, inner);
    if (!instance)
      return Poison{};
    result->element = InstanceRef{instance, indices};
    return result;
  }
  for (auto [i, element] : llvm::enumerate((*list)->elements)) {
    if (holds<InstanceRef>(element)) {
      result->elements.push_back(element);
      continue;
    }
    Value block = element;
    if (auto *ref = getIf<BlockRef>(element))
      block = e.makeSpec(*ref, {}, loc);
    auto *spec = getIf<std::shared_ptr<Spec>>(block);
    if (!spec)
      return e.poison(loc, "a list member holds blocks, not " + describe(element));
    Instance *instance = make(**spec, pathOf(std::to_string(i)), fmt::format("{}.{}", symbol, i), owner.counts, indices);
    if (!instance)
      return Poison{};
    result->elements.push_back(InstanceRef{instance, indices});
  }
  return result;
}
