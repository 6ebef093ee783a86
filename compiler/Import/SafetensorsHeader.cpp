// Reads a safetensors header while it is parsed: as a tree of values it would take seventy times its memory before it could be checked.
#include "compiler/Import/SafetensorsHeader.h"

#include "compiler/Import/Error.h"
#include "compiler/Support/ParseJson.h"

#include "llvm/ADT/StringSet.h"

using namespace xf;
using nlohmann::json;

namespace {

class HeaderReader : public nlohmann::json_sax<json> {
public:
  explicit HeaderReader(uint64_t dataSize) : dataSize(dataSize) {}

  std::vector<TensorInfo> tensors;
  std::string problem;

  bool null() override { return handleOther(); }
  bool boolean(bool) override { return handleOther(); }
  bool number_integer(number_integer_t) override { return handleOther(); } // a negative one
  bool number_float(number_float_t, const string_t &) override { return handleOther(); }
  bool binary(binary_t &) override { return handleOther(); }
  bool number_unsigned(number_unsigned_t value) override {
    if (depth < 3 || member == Member::other)
      return handleOther();
    if (member == Member::offsets)
      return offsets->size() < 2 ? (offsets->push_back(value), true) : failIncomplete();
    if (value > uint64_t(INT64_MAX))
      return failDimension();
    if (shape->size() == kMaxDimensions)
      return fail("tensor '{}' has more than {} dimensions", name, kMaxDimensions);
    shape->push_back(int64_t(value));
    return true;
  }
  bool string(string_t &text) override {
    if (depth != 2 || member != Member::dtype)
      return handleOther();
    dtype = text;
    return true;
  }

  bool start_object(size_t) override {
    if (depth > 0 && !isMetadata && !(depth == 1 || member == Member::other))
      return handleOther();
    return enter();
  }
  bool start_array(size_t) override {
    if (depth == 2 && member == Member::shape)
      shape.emplace();
    else if (depth == 2 && member == Member::offsets)
      offsets.emplace();
    else if (!isMetadata && !(depth > 1 && member == Member::other))
      return handleOther();
    return enter();
  }
  bool end_object() override { return leave() && (depth != 1 || isMetadata || finishTensor()); }
  bool end_array() override { return leave(); }
  bool key(string_t &text) override { return depth == 1 ? beginTensor(text) : depth != 2 || isMetadata || selectMember(text); }
  bool parse_error(size_t, const std::string &, const json::exception &error) override {
    return fail("its header is no JSON object: {}", describeProblem(error));
  }

private:
  enum class Member { other, dtype, shape, offsets };

  template <typename... Args>
  bool fail(fmt::format_string<Args...> format, Args &&...args) {
    problem = fmt::format(format, std::forward<Args>(args)...);
    return false;
  }
  bool failIncomplete() { return fail("tensor '{}' lacks a dtype, a shape or two data_offsets", name); }
  bool failDimension() { return fail("tensor '{}' has a dimension that is not a natural number", name); }

  bool enter() { return ++depth <= 3 || fail("its header is nested too deeply"); }
  bool leave() {
    --depth;
    return true;
  }

  /// Handles a value that is none of those expected here.
  bool handleOther() {
    if (depth == 0)
      return fail("its header is no JSON object");
    if (isMetadata || (depth > 1 && member == Member::other))
      return true;
    if (depth == 1)
      return fail("tensor '{}' is not described by an object", name);
    if (depth == 2)
      return failIncomplete();
    return member == Member::shape ? failDimension() : fail("tensor '{}' has data_offsets that are not natural numbers", name);
  }

  bool beginTensor(const std::string &key) {
    name = key;
    isMetadata = name == "__metadata__";
    member = Member::other;
    dtype.reset(), shape.reset(), offsets.reset();
    return names.insert(name).second || fail("tensor '{}' is there twice", name);
  }

  bool selectMember(const std::string &key) {
    member = key == "dtype" ? Member::dtype : key == "shape" ? Member::shape : key == "data_offsets" ? Member::offsets : Member::other;
    bool isDuplicate = (member == Member::dtype && dtype) || (member == Member::shape && shape) || (member == Member::offsets && offsets);
    return !isDuplicate || fail("tensor '{}' has its {} twice", name, key);
  }

  /// Adds the tensor, which has been read completely.
  bool finishTensor() {
    if (!dtype || !shape || !offsets || offsets->size() != 2)
      return failIncomplete();
    TensorInfo info;
    info.name = name;
    info.shape = std::move(*shape);
    auto type = findDType(*dtype);
    if (type)
      info.dtype = *type;
    else
      info.problem = fmt::format("has the unknown dtype '{}'", *dtype);
    auto size = byteSize(info.dtype, info.shape);
    if (!size)
      return fail("tensor '{}' of shape {} is larger than any memory", name, formatShape(info.shape));
    info.begin = (*offsets)[0];
    info.end = (*offsets)[1];
    if (info.begin > info.end || info.end > dataSize)
      return fail("tensor '{}' has data_offsets [{}, {}], but the file holds {} bytes of data (is it cut short?)", name, info.begin, info.end,
                  dataSize);
    if (type && info.end - info.begin != *size)
      return fail("tensor '{}' of dtype {} and shape {} needs {} bytes, but its data_offsets give {}", name, dtypeName(*type).str(),
                  formatShape(info.shape), *size, info.end - info.begin);
    tensors.push_back(std::move(info));
    return true;
  }

  uint64_t dataSize;
  int depth = 0; // 1: among tensors, 2: among a tensor's members, 3: in one of these
  llvm::StringSet<> names;
  // The tensor that is being read.
  std::string name;
  bool isMetadata = false; // it is no tensor, but notes of programs about the file
  Member member = Member::other;
  std::optional<std::string> dtype;
  std::optional<std::vector<int64_t>> shape;
  std::optional<std::vector<uint64_t>> offsets;
};

} // namespace

llvm::Expected<std::vector<TensorInfo>> xf::parseSafetensorsHeader(llvm::ArrayRef<char> text, uint64_t dataSize) {
  HeaderReader reader(dataSize);
  if (!json::sax_parse(text.begin(), text.end(), &reader))
    return makeError("{}", reader.problem);
  return std::move(reader.tensors);
}
