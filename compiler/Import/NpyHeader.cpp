// Parsing of a .npy header, strictly: what NumPy would not write is refused.
#include "compiler/Import/NpyHeader.h"

#include "compiler/Import/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

using namespace xf;

namespace {

/// Reads the kinds of Python's literals that headers have. Blanks may precede anything.
class Scanner {
public:
  explicit Scanner(llvm::StringRef text) : rest(text) {}

  bool next(char c) {
    rest = rest.ltrim();
    return rest.starts_with(llvm::StringRef(&c, 1));
  }
  bool consume(char c) {
    bool found = next(c);
    rest = rest.drop_front(found);
    return found;
  }
  bool atEnd() { return rest.ltrim().empty(); }

  std::optional<llvm::StringRef> consumeString() {
    char quote = next('"') ? '"' : '\'';
    if (!consume(quote))
      return std::nullopt;
    auto [text, remaining] = rest.split(quote);
    if (text.size() == rest.size()) // not closed
      return std::nullopt;
    rest = remaining;
    return text;
  }
  std::optional<bool> consumeBool() {
    rest = rest.ltrim();
    if (rest.consume_front("True"))
      return true;
    return rest.consume_front("False") ? std::optional(false) : std::nullopt;
  }
  /// (), (3,), (3, 4), (3, 4,); (3) is a number in brackets.
  std::optional<std::vector<int64_t>> consumeShape() {
    std::vector<int64_t> shape;
    bool comma = true;
    if (!consume('('))
      return std::nullopt;
    while (!consume(')')) {
      int64_t dim;
      rest = rest.ltrim();
      if (!comma || shape.size() == kMaxDimensions || rest.empty() || !llvm::isDigit(rest.front()) || rest.consumeInteger(10, dim))
        return std::nullopt;
      shape.push_back(dim);
      comma = consume(',');
    }
    return comma || shape.size() > 1 ? std::optional(std::move(shape)) : std::nullopt;
  }

private:
  llvm::StringRef rest;
};

struct TypeRow {
  const char *text;
  DType type;
};
// NumPy has no bfloat16: arrays of ml_dtypes, whose type JAX uses, are saved as two bytes without a type.
constexpr TypeRow types[] = {{"|b1", DType::Bool}, {"|u1", DType::U8},  {"|i1", DType::I8},   {"<i2", DType::I16}, {"<u2", DType::U16},
                             {"<i4", DType::I32},  {"<u4", DType::U32}, {"<i8", DType::I64},  {"<u8", DType::U64}, {"<f2", DType::F16},
                             {"<f4", DType::F32},  {"<f8", DType::F64}, {"<V2", DType::BF16}, {"|V2", DType::BF16}};

llvm::Expected<DType> parseType(llvm::StringRef text) {
  const auto *row = llvm::find_if(types, [&](const TypeRow &r) { return text == r.text; });
  if (row != std::end(types))
    return row->type;
  if (text == "|O")
    return makeError("holds Python objects, which are pickles rather than numbers");
  if (text.starts_with(">"))
    return makeError("is big-endian (dtype '{}'); save it as '<{}'", text.str(), text.drop_front().str());
  return makeError("has the unknown dtype '{}'", text.str());
}

llvm::Error malformed() { return makeError("has a .npy header that does not describe an array"); }

/// Parses the dict, which has three values.
llvm::Error parseDict(llvm::StringRef text, NpyHeader &header) {
  Scanner scanner(text);
  std::optional<llvm::StringRef> type;
  std::optional<bool> isFortran;
  std::optional<std::vector<int64_t>> shape;
  if (!scanner.consume('{'))
    return malformed();
  for (bool comma = true; !scanner.consume('}'); comma = scanner.consume(',')) {
    auto key = comma ? scanner.consumeString() : std::nullopt;
    if (!key || !scanner.consume(':'))
      return malformed();
    bool isValid = false;
    if (*key == "descr" && !type) {
      if (scanner.next('['))
        return makeError("has fields (a structured dtype); save each as an array");
      isValid = (type = scanner.consumeString()).has_value();
    } else if (*key == "fortran_order" && !isFortran) {
      isValid = (isFortran = scanner.consumeBool()).has_value();
    } else if (*key == "shape" && !shape) {
      isValid = (shape = scanner.consumeShape()).has_value();
    }
    if (!isValid)
      return malformed();
  }
  if (!scanner.atEnd() || !type || !isFortran || !shape)
    return malformed();
  // With at most one dimension beyond 1, or no elements, both orders are the same.
  bool ordersDiffer = llvm::count_if(*shape, [](int64_t d) { return d > 1; }) > 1 && !llvm::is_contained(*shape, 0);
  header.isColumnMajor = *isFortran && ordersDiffer;
  header.shape = std::move(shape);
  auto dtype = parseType(*type);
  if (!dtype)
    return dtype.takeError();
  header.dtype = *dtype;
  return llvm::Error::success();
}

} // namespace

llvm::Error xf::parseNpyHeader(llvm::ArrayRef<char> bytes, NpyHeader &header) {
  llvm::StringRef text(bytes.data(), bytes.size());
  if (!text.consume_front("\x93NUMPY") || text.size() < 2)
    return makeError("is no array of NumPy's: its member does not begin as .npy files do");
  unsigned major = static_cast<uint8_t>(text[0]), minor = static_cast<uint8_t>(text[1]);
  if (major < 1 || major > 3 || minor != 0)
    return makeError("has version {}.{} of the .npy format; 1.0, 2.0 and 3.0 are known", major, minor);
  text = text.drop_front(2);
  size_t lengthSize = major == 1 ? 2 : 4;
  uint64_t length = 0;
  if (text.size() >= lengthSize)
    length = major == 1 ? llvm::support::endian::read16le(text.data()) : llvm::support::endian::read32le(text.data());
  if (text.size() < lengthSize || text.size() - lengthSize < length)
    return makeError("has a .npy header of {} bytes, which is cut short, or longer than an array of numbers needs", length);
  header.size = bytes.size() - text.size() + lengthSize + length;
  return parseDict(text.substr(lengthSize, length), header);
}
