#include "dialect/IR/ModuleRoles.h"

using namespace mlir;
using namespace mlir::xf;

ModuleRoles::ModuleRoles(ModuleOp module, StringRef attribute)
    : module(module), attribute(attribute), members(module->getAttrOfType<DictionaryAttr>(attribute)) {}

EntryOp ModuleRoles::entry(StringRef member) const {
  StringRef symbol = name(member);
  return symbol.empty() ? EntryOp() : ModuleOp(module).lookupSymbol<EntryOp>(symbol);
}

StringRef ModuleRoles::name(StringRef member) const {
  Attribute value = members ? members.get(member) : Attribute();
  if (auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(value))
    return symbol.getValue();
  auto string = dyn_cast_or_null<StringAttr>(value);
  return string ? string.getValue() : StringRef();
}

std::optional<int64_t> ModuleRoles::integer(StringRef member) const {
  auto value = members ? members.getAs<IntegerAttr>(member) : IntegerAttr();
  return value ? std::optional(value.getInt()) : std::nullopt;
}

SmallVector<int64_t> ModuleRoles::integers(StringRef member) const {
  SmallVector<int64_t> result;
  if (auto list = members ? members.getAs<ArrayAttr>(member) : ArrayAttr())
    for (auto each : list.getAsRange<IntegerAttr>())
      result.push_back(each.getInt());
  else if (auto one = integer(member))
    result.push_back(*one);
  return result;
}

std::optional<int64_t> ModuleRoles::bound(StringRef member) const {
  StringRef dimension = name(member);
  return dimension.empty() ? std::nullopt : getBound(module, dimension);
}

// Attributes have no locations: members' are parts of the module's, by names like "xf.text.prefix".
StringAttr ModuleRoles::locName(StringRef member) const { return StringAttr::get(module->getContext(), attribute + "." + member); }

Location ModuleRoles::locOf(StringRef member, Location otherwise) const {
  Location loc = otherwise;
  module->getLoc()->walk([&, name = locName(member)](Location part) {
    auto named = dyn_cast<NameLoc>(part);
    if (!named || named.getName() != name)
      return WalkResult::advance();
    loc = named.getChildLoc();
    return WalkResult::interrupt();
  });
  return loc;
}

void ModuleRoles::setLoc(StringRef member, Location loc) {
  module->setLoc(FusedLoc::get(module->getContext(), {module->getLoc(), NameLoc::get(locName(member), loc)}));
}

void ModuleRoles::set(StringRef member, Attribute value) {
  NamedAttrList list(members);
  list.set(member, value);
  members = list.getDictionary(module.getContext());
  module->setAttr(attribute, members);
}
