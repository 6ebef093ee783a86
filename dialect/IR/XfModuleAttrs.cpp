// Verifies the module's attributes by the table in dialect/README.md. Whether the names in them refer to anything is checked
// where they are used: passes run on incomplete modules.
#include "dialect/IR/Xf.h"

using namespace mlir;
using namespace mlir::xf;

namespace {
/// What a member of an attribute may be.
enum class Member { entry, name, integer, integers, positive, flag, split };

struct MemberRule {
  StringRef name;
  Member kind;
};

constexpr MemberRule kGenerateMembers[] = {{"encode", Member::entry},
                                           {"decode", Member::entry},
                                           {"begin", Member::entry},
                                           {"step", Member::entry},
                                           {"choose", Member::entry},
                                           {"align", Member::entry},
                                           {"tokens", Member::name},
                                           {"logits", Member::name},
                                           {"batch", Member::name},
                                           {"source", Member::name},
                                           {"target", Member::name},
                                           {"new", Member::name},
                                           {"start", Member::integer},
                                           {"end", Member::integer},
                                           {"more_ends", Member::integers},
                                           {"pad", Member::integer},
                                           {"min_length", Member::integer},
                                           {"beam", Member::positive},
                                           {"max_length_base", Member::integer},
                                           {"max_length_per_source", Member::integer},
                                           {"sequence_first", Member::flag},
                                           {"ragged_source", Member::flag},
                                           {"packed_encode", Member::entry},
                                           {"packed_begin", Member::entry}};
constexpr MemberRule kTextMembers[] = {{"source", Member::split},    {"target", Member::split},     {"prefix", Member::integers},
                                       {"suffix", Member::integers}, {"between", Member::integers}, {"unknown", Member::integer},
                                       {"lowercase", Member::flag}};
constexpr MemberRule kPredictMembers[] = {{"entry", Member::entry}, {"packed", Member::entry},        {"result", Member::name},
                                          {"labels", Member::flag}, {"pad", Member::integer},         {"batch", Member::name},
                                          {"source", Member::name}, {"sequence_first", Member::flag}, {"types", Member::name}};

/// The value of an i64; nullopt if it is something else.
std::optional<int64_t> integerOf(Attribute value) {
  auto integer = dyn_cast<IntegerAttr>(value);
  return integer && integer.getType().isSignlessInteger(64) ? std::optional<int64_t>(integer.getInt()) : std::nullopt;
}

/// Tokens, lengths and beams are kept in 32 bits.
bool isInt32(Attribute value, int64_t min) {
  auto integer = integerOf(value);
  return integer && *integer >= min && *integer <= std::numeric_limits<int32_t>::max();
}

/// What the value should have been; empty if it is right.
StringRef expectedValue(Member kind, Attribute value) {
  constexpr int64_t any = std::numeric_limits<int32_t>::min();
  auto string = dyn_cast<StringAttr>(value);
  auto list = dyn_cast<ArrayAttr>(value);
  switch (kind) {
  case Member::entry:
    return isa<FlatSymbolRefAttr>(value) ? "" : "the symbol of an entry";
  case Member::name:
    return string && !string.empty() ? "" : "a name";
  case Member::integer:
    return isInt32(value, any) ? "" : "an i64 that fits in 32 bits";
  case Member::positive:
    return isInt32(value, 1) ? "" : "a positive i64 that fits in 32 bits";
  case Member::integers:
    return list && llvm::all_of(list, [](Attribute each) { return isInt32(each, any); }) ? "" : "a list of i64 that fit in 32 bits";
  case Member::flag:
    return isa<UnitAttr>(value) ? "" : "a unit attribute";
  case Member::split:
    return string && llvm::is_contained({"characters", "words", "subwords", "ids"}, string.getValue())
               ? ""
               : "\"characters\", \"words\", \"subwords\" or \"ids\"";
  }
  llvm_unreachable("unknown kind of member");
}

LogicalResult verifyMembers(Operation *op, NamedAttribute attribute, ArrayRef<MemberRule> rules) {
  auto members = dyn_cast<DictionaryAttr>(attribute.getValue());
  if (!members)
    return op->emitOpError("needs a dictionary as ") << attribute.getName();
  for (NamedAttribute member : members) {
    auto *rule = llvm::find_if(rules, [&](const MemberRule &rule) { return rule.name == member.getName(); });
    if (rule == rules.end())
      return op->emitOpError() << attribute.getName() << " has no member '" << member.getName().getValue() << "'";
    if (StringRef expected = expectedValue(rule->kind, member.getValue()); !expected.empty())
      return op->emitOpError("needs ") << expected << " as '" << member.getName().getValue() << "' of " << attribute.getName();
  }
  return success();
}

LogicalResult verifyBounds(Operation *op, Attribute value) {
  auto bounds = dyn_cast<DictionaryAttr>(value);
  if (!bounds)
    return op->emitOpError("needs a dictionary as ") << kBoundsAttr;
  for (NamedAttribute bound : bounds)
    if (auto integer = integerOf(bound.getValue()); !integer || *integer < 1)
      return op->emitOpError("needs a positive i64 as the bound of dimension '") << bound.getName().getValue() << "'";
  return success();
}
} // namespace

LogicalResult XfDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (!llvm::is_contained({kBoundsAttr, kGenerateAttr, kTextAttr, kPredictAttr, kNameAttr, kPhaseAttr}, name))
    return op->emitOpError("has ") << attribute.getName() << ", which is no attribute of the xf dialect";
  if (!isa<ModuleOp>(op))
    return op->emitOpError("cannot have ") << attribute.getName() << ", an attribute of modules";
  if (name == kBoundsAttr)
    return verifyBounds(op, attribute.getValue());
  if (name == kGenerateAttr)
    return verifyMembers(op, attribute, kGenerateMembers);
  if (name == kTextAttr)
    return verifyMembers(op, attribute, kTextMembers);
  if (name == kPredictAttr)
    return verifyMembers(op, attribute, kPredictMembers);
  auto string = dyn_cast<StringAttr>(attribute.getValue());
  if (name == kPhaseAttr)
    return string && llvm::is_contained({kStepPhase, kKernelPhase}, string.getValue())
               ? success()
               : op->emitOpError("needs \"step\" or \"kernel\" as ") << kPhaseAttr;
  return string ? success() : op->emitOpError("needs a string as ") << kNameAttr;
}
