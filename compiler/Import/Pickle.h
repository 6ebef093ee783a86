// Python's pickles, as far as they are data.
//
// A pickle is a program: a stack machine's instructions that make objects, by calls of functions which it names. Here nothing is called. A
// call stays a value that says what would be called with what; whoever reads the result knows the few functions that mean something to them.
// The instructions are those of Python's pickletools, protocols 2 to 5.
#ifndef XF_COMPILER_IMPORT_PICKLE_H
#define XF_COMPILER_IMPORT_PICKLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <deque>
#include <vector>

namespace xf {

struct PickleValue {
  /// A `bigInteger` has more than 64 bits. A `global` is a class or function by its name, a `persistentId` an object that is stored elsewhere.
  /// Sets count as lists.
  enum class Kind { none, boolean, integer, bigInteger, real, text, tuple, list, dictionary, global, call, persistentId };
  Kind kind = Kind::none;
  int64_t integer = 0;      // of an integer; 0 or 1 of a boolean
  llvm::StringRef text;     // of a text or bytes; the bytes of a big integer, the lowest first; a global's module
  llvm::StringRef qualname; // a global's name within its module
  /// The elements of a tuple or list; a dictionary's keys and values in turn; a call's function and tuple of arguments; the value that a
  /// persistent id consists of. A list may hold itself, and so may a dictionary; all others hold only what was made before them.
  std::vector<const PickleValue *> items;

  bool is(Kind other) const { return kind == other; }
  bool isGlobal(llvm::StringRef module, llvm::StringRef name) const { return is(Kind::global) && text == module && qualname == name; }
  bool isText(llvm::StringRef other) const { return is(Kind::text) && text == other; }
  /// The value of that key in a dictionary; null if there is none.
  const PickleValue *find(llvm::StringRef key) const;
};

/// Values point to one another: those of a copy would point to the original's.
class Pickle {
public:
  Pickle(Pickle &&) = default;
  Pickle &operator=(Pickle &&) = default;
  /// The pickle that `bytes` begin with, which must outlive the result. An error does not name the file.
  static llvm::Expected<Pickle> parse(llvm::ArrayRef<char> bytes);

  const PickleValue &getRoot() const { return *root; }
  /// All values that the pickle makes.
  const std::deque<PickleValue> &getValues() const { return values; }
  /// Its length in bytes.
  size_t size() const { return length; }

private:
  friend class PickleMachine;
  Pickle() = default;

  std::deque<PickleValue> values;
  const PickleValue *root = nullptr;
  size_t length = 0;
};

} // namespace xf

#endif // XF_COMPILER_IMPORT_PICKLE_H
