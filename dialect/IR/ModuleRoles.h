// The module's dictionaries xf.generate, xf.predict and xf.text, read by their members' names (listed in dialect/README.md).
#ifndef XF_DIALECT_IR_MODULEROLES_H
#define XF_DIALECT_IR_MODULEROLES_H

#include "dialect/IR/Xf.h"

namespace mlir::xf {

/// A view of one of these dictionaries, which the dialect has verified; empty if the module lacks it.
class ModuleRoles {
public:
  /// `attribute`: kGenerateAttr, kPredictAttr or kTextAttr.
  ModuleRoles(ModuleOp module, StringRef attribute);

  StringRef attributeName() const { return attribute; }
  /// Whether the module has the attribute at all.
  explicit operator bool() const { return static_cast<bool>(members); }
  bool has(StringRef member) const { return members && members.contains(member); }
  /// The entry that `member` names; null if there is no such member or no such entry.
  EntryOp entry(StringRef member) const;
  /// What `member` names: an entry, an argument, a result or a dimension. Empty if it is not there.
  StringRef name(StringRef member) const;
  std::optional<int64_t> integer(StringRef member) const;
  /// The integers of a list, or of a member that is one integer.
  SmallVector<int64_t> integers(StringRef member) const;
  /// The largest value of the dimension that `member` names.
  std::optional<int64_t> bound(StringRef member) const;
  /// How many rows a search has for a sentence: its beams, or one.
  int64_t beams() const { return std::max<int64_t>(1, integer("beam").value_or(1)); }

  /// Sets a member, here and in the module.
  void set(StringRef member, Attribute value);

  /// The location in the description that sets `member`; `otherwise` if there is none, as for IR that was read from text.
  Location locOf(StringRef member, Location otherwise) const;
  void setLoc(StringRef member, Location loc);

private:
  StringAttr locName(StringRef member) const;

  ModuleOp module;
  StringRef attribute;
  DictionaryAttr members;
};

} // namespace mlir::xf

#endif // XF_DIALECT_IR_MODULEROLES_H
