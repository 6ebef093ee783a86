// The stack machine of pickles.
#include "compiler/Import/Pickle.h"

#include "compiler/Import/Error.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Endian.h"

#include <optional>

using namespace xf;
using Kind = PickleValue::Kind;
using Values = std::vector<const PickleValue *>;

const PickleValue *PickleValue::find(llvm::StringRef key) const {
  if (is(Kind::dictionary))
    for (size_t i = items.size(); i >= 2; i -= 2) // the last of equal keys counts, as in Python
      if (items[i - 2]->isText(key))
        return items[i - 1];
  return nullptr;
}

/// A tensor takes some 16 values and 45 instructions. A value takes about 100 bytes, and any other instruction 16 to 40: a small archive may
/// have many instructions.
static constexpr size_t kMaxValues = 1 << 22, kMaxInstructions = 1 << 23;

namespace xf {

class PickleMachine {
public:
  explicit PickleMachine(llvm::ArrayRef<char> bytes) : bytes(bytes) {}
  llvm::Expected<Pickle> run();

private:
  // Each executes an instruction of its kind, and returns whether it is one.
  bool pushConstant(unsigned char opcode);
  bool changeStack(unsigned char opcode);
  bool makeContainer(unsigned char opcode);
  bool fillContainer(unsigned char opcode);
  bool makeObject(unsigned char opcode);

  /// Notes a problem, if it is the first. The instruction goes on with harmless values, and is the last one.
  void fail(std::string text) {
    if (problem.empty())
      problem = std::move(text);
  }

  llvm::StringRef read(uint64_t count);
  llvm::StringRef readLine();
  template <typename T>
  T readInt() {
    llvm::StringRef text = read(sizeof(T));
    return text.empty() ? T() : llvm::support::endian::read<T, llvm::endianness::little>(text.data());
  }

  PickleValue *push(Kind kind);
  void pushText(uint64_t length) { push(Kind::text)->text = read(length); }
  void pushInteger(Kind kind, int64_t integer) { push(kind)->integer = integer; }
  void pushLong(uint64_t length);
  void pushItems(Kind kind, Values items) { push(kind)->items = std::move(items); }
  void pushGlobal(llvm::StringRef module, llvm::StringRef name);
  void pushCall(const PickleValue *function, const PickleValue *arguments);

  PickleValue *top();
  PickleValue *pop();
  Values popItems(unsigned count);
  /// Pops the last mark, and all above it, which is returned.
  Values popToMark();
  void putMemo(uint64_t index) { memo[index] = top(); }
  void getMemo(uint64_t index);

  llvm::ArrayRef<char> bytes;
  size_t position = 0;
  std::string problem;
  Pickle result;
  std::vector<PickleValue *> stack; // null: a mark
  llvm::DenseMap<uint64_t, PickleValue *> memo;
};

} // namespace xf

llvm::StringRef PickleMachine::read(uint64_t count) {
  if (count > bytes.size() - position) {
    fail("ends in the middle (is the file cut short?)");
    return {};
  }
  llvm::StringRef text(bytes.data() + position, count);
  position += count;
  return text;
}

llvm::StringRef PickleMachine::readLine() {
  size_t length = llvm::StringRef(bytes.data() + position, bytes.size() - position).find('\n');
  llvm::StringRef line = read(length == llvm::StringRef::npos ? UINT64_MAX : length);
  read(1);
  return line;
}

PickleValue *PickleMachine::push(Kind kind) {
  if (result.values.size() == kMaxValues)
    fail("makes more values than any of names and shapes");
  result.values.emplace_back().kind = kind;
  stack.push_back(&result.values.back());
  return stack.back();
}

void PickleMachine::pushLong(uint64_t length) {
  llvm::StringRef digits = read(length);
  if (digits.size() > sizeof(int64_t)) {
    push(Kind::bigInteger)->text = digits;
    return;
  }
  uint64_t integer = !digits.empty() && (digits.back() & 0x80) ? UINT64_MAX : 0; // two's complement, as short as it can be
  for (char digit : llvm::reverse(digits))
    integer = integer << 8 | static_cast<unsigned char>(digit);
  pushInteger(Kind::integer, static_cast<int64_t>(integer));
}

void PickleMachine::pushGlobal(llvm::StringRef module, llvm::StringRef name) {
  PickleValue *value = push(Kind::global);
  value->text = module;
  value->qualname = name;
}

void PickleMachine::pushCall(const PickleValue *function, const PickleValue *arguments) {
  if (!arguments->is(Kind::tuple))
    fail("calls a function with what is no tuple");
  if (function->isGlobal("collections", "OrderedDict") && arguments->items.empty())
    push(Kind::dictionary);
  else
    pushItems(Kind::call, {function, arguments});
}

PickleValue *PickleMachine::top() {
  if (!stack.empty() && stack.back())
    return stack.back();
  fail("needs a value where there is none");
  return push(Kind::none);
}

PickleValue *PickleMachine::pop() {
  PickleValue *value = top();
  stack.pop_back();
  return value;
}

Values PickleMachine::popItems(unsigned count) {
  Values items(count);
  for (const PickleValue *&item : llvm::reverse(items))
    item = pop();
  return items;
}

Values PickleMachine::popToMark() {
  auto mark = std::find(stack.rbegin(), stack.rend(), nullptr);
  if (mark == stack.rend()) {
    fail("needs a mark where there is none");
    return {};
  }
  Values items(mark.base(), stack.end());
  stack.erase(mark.base() - 1, stack.end());
  return items;
}

void PickleMachine::getMemo(uint64_t index) {
  auto it = memo.find(index);
  if (it == memo.end())
    return fail(fmt::format("asks for object {}, which there is not", index));
  stack.push_back(it->second);
}

bool PickleMachine::pushConstant(unsigned char opcode) {
  switch (opcode) {
  case 'N': // NONE
    push(Kind::none);
    return true;
  case 0x88: // NEWTRUE
  case 0x89: // NEWFALSE
    pushInteger(Kind::boolean, opcode == 0x88);
    return true;
  case 'J': // BININT
    pushInteger(Kind::integer, readInt<int32_t>());
    return true;
  case 'K': // BININT1
    pushInteger(Kind::integer, readInt<uint8_t>());
    return true;
  case 'M': // BININT2
    pushInteger(Kind::integer, readInt<uint16_t>());
    return true;
  case 0x8a: // LONG1
    pushLong(readInt<uint8_t>());
    return true;
  case 0x8b: // LONG4
    pushLong(readInt<uint32_t>());
    return true;
  case 'G': // BINFLOAT
    read(8);
    push(Kind::real);
    return true;
  case 'U':  // SHORT_BINSTRING
  case 'C':  // SHORT_BINBYTES
  case 0x8c: // SHORT_BINUNICODE
    pushText(readInt<uint8_t>());
    return true;
  case 'T': // BINSTRING
  case 'B': // BINBYTES
  case 'X': // BINUNICODE
    pushText(readInt<uint32_t>());
    return true;
  case 0x8d: // BINUNICODE8
  case 0x8e: // BINBYTES8
  case 0x96: // BYTEARRAY8
    pushText(readInt<uint64_t>());
    return true;
  default:
    return false;
  }
}

bool PickleMachine::changeStack(unsigned char opcode) {
  switch (opcode) {
  case '(': // MARK
    stack.push_back(nullptr);
    return true;
  case '0': // POP, of a mark as well
    if (!stack.empty() && !stack.back())
      stack.pop_back();
    else
      pop();
    return true;
  case '1': // POP_MARK
    popToMark();
    return true;
  case '2': // DUP
    stack.push_back(top());
    return true;
  case 'q': // BINPUT
    putMemo(readInt<uint8_t>());
    return true;
  case 'r': // LONG_BINPUT
    putMemo(readInt<uint32_t>());
    return true;
  case 0x94: // MEMOIZE
    putMemo(memo.size());
    return true;
  case 'h': // BINGET
    getMemo(readInt<uint8_t>());
    return true;
  case 'j': // LONG_BINGET
    getMemo(readInt<uint32_t>());
    return true;
  case 0x80: // PROTO
    read(1);
    return true;
  case 0x95: // FRAME
    read(8);
    return true;
  default:
    return false;
  }
}

bool PickleMachine::makeContainer(unsigned char opcode) {
  switch (opcode) {
  case ')': // EMPTY_TUPLE
    push(Kind::tuple);
    return true;
  case 0x85: // TUPLE1
  case 0x86: // TUPLE2
  case 0x87: // TUPLE3
    pushItems(Kind::tuple, popItems(opcode - 0x84));
    return true;
  case 't': // TUPLE
    pushItems(Kind::tuple, popToMark());
    return true;
  case ']':  // EMPTY_LIST
  case 0x8f: // EMPTY_SET
    push(Kind::list);
    return true;
  case 0x91: // FROZENSET
    pushItems(Kind::list, popToMark());
    return true;
  case '}': // EMPTY_DICT
    push(Kind::dictionary);
    return true;
  default:
    return false;
  }
}

bool PickleMachine::fillContainer(unsigned char opcode) {
  std::optional<Kind> kind;
  Values items;
  switch (opcode) {
  case 'a': // APPEND
    kind = Kind::list;
    items = popItems(1);
    break;
  case 'e':  // APPENDS
  case 0x90: // ADDITEMS
    kind = Kind::list;
    items = popToMark();
    break;
  case 's': // SETITEM
    kind = Kind::dictionary;
    items = popItems(2);
    break;
  case 'u': // SETITEMS
    kind = Kind::dictionary;
    items = popToMark();
    break;
  default:
    return false;
  }
  PickleValue *container = top();
  if (kind == Kind::dictionary && items.size() % 2 != 0)
    fail("gives a dictionary a key without a value");
  else if (container->is(*kind))
    container->items.insert(container->items.end(), items.begin(), items.end());
  else if (!container->is(Kind::call)) // a call may return a container of some class
    fail("adds elements to what has none");
  return true;
}

bool PickleMachine::makeObject(unsigned char opcode) {
  switch (opcode) {
  case 'c': { // GLOBAL
    llvm::StringRef module = readLine();
    pushGlobal(module, readLine());
    return true;
  }
  case 0x93: { // STACK_GLOBAL
    Values items = popItems(2);
    pushGlobal(items[0]->text, items[1]->text);
    return true;
  }
  case 'R':    // REDUCE
  case 0x81: { // NEWOBJ
    Values items = popItems(2);
    pushCall(items[0], items[1]);
    return true;
  }
  case 0x92: { // NEWOBJ_EX
    Values items = popItems(3);
    pushCall(items[0], items[1]);
    return true;
  }
  case 'b': // BUILD: the object's attributes, none of which is used
    pop();
    top();
    return true;
  case 'Q': // BINPERSID
    pushItems(Kind::persistentId, popItems(1));
    return true;
  default:
    return false;
  }
}

llvm::Expected<Pickle> PickleMachine::run() {
  for (size_t executed = 0; problem.empty(); ++executed) {
    if (executed == kMaxInstructions)
      fail("has more instructions than any of names and shapes");
    size_t begin = position;
    auto opcode = readInt<unsigned char>();
    if (opcode == '.' && problem.empty()) { // STOP
      result.root = pop();
      result.length = position;
      if (problem.empty())
        return std::move(result);
    } else if (problem.empty() && !pushConstant(opcode) && !changeStack(opcode) && !makeContainer(opcode) && !fillContainer(opcode) &&
               !makeObject(opcode)) {
      fail(fmt::format("has the unknown instruction {:#04x} at byte {}", opcode, begin));
    }
  }
  return makeError("{}", problem);
}

llvm::Expected<Pickle> Pickle::parse(llvm::ArrayRef<char> bytes) { return PickleMachine(bytes).run(); }
