// Files of torch.save: what is read from them, what is not, and that no damage to one gets past the reader.
#include "compiler/Import/TorchFile.h"
#include "compiler/Import/Error.h"
#include "test/Import/ZipFiles.h"

#include <random>

using namespace xf;

namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// Instructions of pickles (Python's pickletools).
template <typename T>
std::string little(T value) {
  return {reinterpret_cast<const char *>(&value), sizeof(T)};
}
std::string number(int32_t value) { return "J" + little(value); }
std::string text(const std::string &value) { return "X" + little(uint32_t(value.size())) + value; }
std::string name(const std::string &module, const std::string &qualname) { return "c" + module + "\n" + qualname + "\n"; }
std::string tuple(const std::string &items) { return "(" + items + "t"; }
std::string numbers(const std::vector<int> &values) {
  std::string items;
  for (int value : values)
    items += number(value);
  return tuple(items);
}
std::string call(const std::string &function, const std::string &arguments) { return function + tuple(arguments) + "R"; }
std::string dictionary(const std::string &pairs) { return "}(" + pairs + "u"; }
std::string pickle(const std::string &value) { return "\x80\2" + value + "."; }
const std::string emptyOrdered = call(name("collections", "OrderedDict"), ""), yes = "\x88", no = "\x89", none = "N";

std::string storage(const std::string &type, const std::string &key, int count) {
  return tuple(text("storage") + name("torch", type + "Storage") + text(key) + text("cpu") + number(count)) + "Q";
}
/// What _rebuild_tensor_v2 takes.
std::string tensorArguments(const std::string &storage, int first, const std::vector<int> &shape, const std::vector<int> &strides) {
  return storage + number(first) + numbers(shape) + numbers(strides) + no + emptyOrdered;
}
std::string rebuilt(const std::string &arguments, const std::string &by = "_rebuild_tensor_v2") { return call(name("torch._utils", by), arguments); }
std::string tensor(const std::string &storage, int first, const std::vector<int> &shape, const std::vector<int> &strides) {
  return rebuilt(tensorArguments(storage, first, shape, strides));
}
/// The storage of six numbers 0, 1, … in f32, and a matrix that is all of it.
const std::string six = storage("Float", "0", 6), sixBytes = bytesOf<float>({0, 1, 2, 3, 4, 5}), matrix = tensor(six, 0, {2, 3}, {3, 1});

std::string archive(const std::string &root, Members more = {{"m/data/0", sixBytes}}) {
  more.insert(more.begin(), {"m/data.pkl", pickle(root)});
  return makeZip(more);
}
/// A file as PyTorch wrote it before 1.6, with storages by their keys.
std::string pickles(const std::string &root, const Members &storages, int elementSize = 4) {
  std::string keys = "](", data;
  for (const auto &[key, bytes] : storages) {
    keys += text(key);
    data += little(int64_t(bytes.size() / elementSize)) + bytes;
  }
  return pickle("\x8a\nl\xfc\x9c"
                "F\xf9 j\xa8P\x19") +
         pickle("M\xe9\3") + pickle(dictionary(text("little_endian") + yes)) + pickle(root) + pickle(keys + "e") + data;
}

using File = std::unique_ptr<TorchFile>;

/// Reads from `bytes`, which must outlive it.
llvm::Expected<File> open(const std::string &bytes) {
  if (bytes.starts_with("\x80"))
    return TorchFile::open(ByteFile::ofMemory("test.pt", bytes));
  auto archive = ZipArchive::parse("test.pt", bytes);
  if (!archive)
    return archive.takeError();
  auto pickle = TorchFile::findPickle(**archive);
  return pickle ? TorchFile::open(std::move(*archive), *pickle) : makeError("no archive of torch.save");
}

template <typename T>
std::string errorOf(llvm::Expected<T> result) {
  return result ? "" : llvm::toString(result.takeError());
}

/// The tensor 'w' of a file, or why there is none.
std::string errorOfTensor(const std::string &bytes) {
  auto file = open(bytes);
  if (!file)
    return "not opened: " + llvm::toString(file.takeError());
  const TensorInfo *info = (*file)->find("w");
  return info ? errorOf((*file)->read(*info)) : "no tensor 'w'";
}

std::vector<double> floatsOf(const TorchFile &file, const std::string &name) {
  const TensorInfo *info = file.find(name);
  if (!info)
    return {};
  return llvm::cantFail(file.read(*info)).floats;
}

TEST(TorchFile, ReadsBothFormats) {
  std::string value = dictionary(text("w") + matrix + text("epoch") + number(3) + text("b") + tensor(storage("Float", "1", 2), 0, {2}, {1}));
  std::string two = bytesOf<float>({7, 8});
  for (const std::string &bytes : {archive(value, {{"m/byteorder", "little"}, {"m/data/0", sixBytes}, {"m/data/1", two}, {"m/version", "3\n"}}),
                                   pickles(value, {{"1", two}, {"0", sixBytes}})}) {
    auto file = open(bytes);
    ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
    ASSERT_EQ((*file)->getTensors().size(), 2u); // numbers beside them are none
    const TensorInfo *w = (*file)->find("w");
    ASSERT_TRUE(w);
    EXPECT_EQ(w->dtype, DType::F32);
    EXPECT_EQ(w->shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(floatsOf(**file, "w"), (std::vector<double>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(floatsOf(**file, "b"), (std::vector<double>{7, 8}));
    std::vector<float> part(3);
    ASSERT_FALSE(bool((*file)->readFloats(*w, 2, part)));
    EXPECT_EQ(part, (std::vector<float>{2, 3, 4}));
  }
}

TEST(TorchFile, ReadsPartsOfStoragesInAnyOrder) {
  std::string value = dictionary(text("w") + matrix + text("same") + matrix + text("turned") + tensor(six, 0, {3, 2}, {1, 3}) + text("row") +
                                 tensor(six, 3, {3}, {1}) + text("column") + tensor(six, 1, {2}, {3}) + text("one") + tensor(six, 5, {}, {}) +
                                 text("cube") + tensor(six, 0, {1, 3, 2}, {9, 1, 3}) + text("none") + tensor(six, 6, {0, 4}, {4, 1}) + text("huge") +
                                 tensor(six, 6, {1 << 30, 1 << 30, 1 << 30, 0}, {0, 0, 0, 1}));
  for (const std::string &bytes : {archive(value), pickles(value, {{"0", sixBytes}})}) {
    auto file = open(bytes);
    ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
    EXPECT_EQ(floatsOf(**file, "turned"), (std::vector<double>{0, 3, 1, 4, 2, 5}));
    EXPECT_EQ(floatsOf(**file, "row"), (std::vector<double>{3, 4, 5}));
    EXPECT_EQ(floatsOf(**file, "column"), (std::vector<double>{1, 4}));
    EXPECT_EQ(floatsOf(**file, "one"), (std::vector<double>{5}));
    EXPECT_EQ(floatsOf(**file, "cube"), (std::vector<double>{0, 3, 1, 4, 2, 5}));
    for (const char *name : {"none", "huge"}) {
      ASSERT_TRUE((*file)->find(name));
      EXPECT_EQ(floatsOf(**file, name), (std::vector<double>{})) << name;
    }
    EXPECT_EQ((*file)->find("same")->identity, (*file)->find("w")->identity);
    EXPECT_NE((*file)->find("turned")->identity, (*file)->find("w")->identity);
    (*file)->release(*(*file)->find("cube"));
    EXPECT_EQ(floatsOf(**file, "cube"), (std::vector<double>{0, 3, 1, 4, 2, 5}));
  }
}

TEST(TorchFile, ReadsAllTypes) {
  auto one = [](const std::string &type, int elementSize, const std::string &bytes) {
    std::string whole = pickles(dictionary(text("w") + tensor(storage(type, "0", 1), 0, {1}, {1})), {{"0", bytes}}, elementSize);
    auto file = open(whole);
    EXPECT_TRUE(bool(file)) << llvm::toString(file.takeError());
    return llvm::cantFail((*file)->read(*(*file)->find("w")));
  };
  EXPECT_EQ(one("Float", 4, little(1.5f)).floats, std::vector<double>{1.5});
  EXPECT_EQ(one("Double", 8, little(2.5)).floats, std::vector<double>{2.5});
  EXPECT_EQ(one("Half", 2, little(uint16_t(0x3c00))).floats, std::vector<double>{1});
  EXPECT_EQ(one("BFloat16", 2, little(uint16_t(0x4000))).floats, std::vector<double>{2});
  EXPECT_EQ(one("Long", 8, little(int64_t(-3))).ints, std::vector<int64_t>{-3});
  EXPECT_EQ(one("Int", 4, little(int32_t(-4))).ints, std::vector<int64_t>{-4});
  EXPECT_EQ(one("Short", 2, little(int16_t(-5))).ints, std::vector<int64_t>{-5});
  EXPECT_EQ(one("Char", 1, little(int8_t(-6))).ints, std::vector<int64_t>{-6});
  EXPECT_EQ(one("Byte", 1, little(uint8_t(200))).ints, std::vector<int64_t>{200});
  EXPECT_EQ(one("Bool", 1, little(uint8_t(1))).ints, std::vector<int64_t>{1});
}

TEST(TorchFile, ReadsWhatOtherFunctionsAndProtocolsMake) {
  // Attributes of the dictionary, a parameter, a shape that is a torch.Size, an older function, and one that names the type.
  std::string size = call(name("torch", "Size"), numbers({2, 3}));
  std::string untyped = tuple(text("storage") + name("torch.storage", "UntypedStorage") + text("0") + text("cpu") + number(24)) + "Q";
  std::string ofClass = name("torch._utils", "_rebuild_tensor_v2") + name("its", "Class") + tuple(tensorArguments(six, 0, {6}, {1})) + none;
  std::string values = text("w") + rebuilt(matrix + yes + emptyOrdered, "_rebuild_parameter") + text("v") +
                       rebuilt(six + number(0) + size + numbers({3, 1}), "_rebuild_tensor") + text("u") +
                       rebuilt(tensorArguments(untyped, 0, {2, 3}, {3, 1}) + name("torch", "float32"), "_rebuild_tensor_v3") + text("t") +
                       call(name("torch._tensor", "_rebuild_from_type_v2"), ofClass);
  std::string bytes = archive(emptyOrdered + "(" + values + "u" + dictionary(text("_metadata") + emptyOrdered) + "b");
  auto file = open(bytes);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  for (const char *tensor : {"w", "v", "u", "t"})
    EXPECT_EQ(floatsOf(**file, tensor), (std::vector<double>{0, 1, 2, 3, 4, 5})) << tensor;

  // Protocol 4: names and numbers from the stack, memory without numbers, integers of any length.
  auto brief = [](const std::string &value) { return "\x8c" + std::string(1, char(value.size())) + value + "\x94"; };
  std::string stackName = brief("torch._utils") + brief("_rebuild_tensor_v2") + "\x93\x94";
  std::string arguments = "((" + brief("storage") + brief("torch") + brief("FloatStorage") + "\x93" + brief("0") + brief("cpu") + "K\6t\x94Q" +
                          std::string("\x8a\0", 2) + "K\2K\3\x86\x8a\1\3\x8b" + std::string("\1\0\0\0\1", 5) + "\x86\x89N";
  std::string root = std::string("\x95\0\0\0\0\0\0\0\0", 9) + "}\x94(" + brief("w") + stackName + arguments + "t\x94Ru";
  EXPECT_EQ(errorOfTensor(archive(root)), "");
}

TEST(TorchFile, FindsTheStateDictionary) {
  std::string state = dictionary(text("w") + matrix), rest = text("optimizer") + dictionary(text("state") + matrix) + text("args") +
                                                             call(name("argparse", "Namespace"), "") + dictionary(text("lr") + none) + "b";
  for (const char *key : {"state_dict", "model_state_dict", "model", "module"}) {
    EXPECT_EQ(errorOfTensor(archive(dictionary(rest + text(key) + state))), "") << key;
    std::string bytes = archive(dictionary(text("loss") + matrix + text(key) + state));
    auto file = open(bytes);
    ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
    ASSERT_EQ((*file)->getTensors().size(), 1u) << key;
    EXPECT_TRUE((*file)->find("w")) << key;
    // Tensors whose names begin so are a model's own.
    EXPECT_EQ(errorOfTensor(archive(dictionary(text("w") + matrix + text(key) + dictionary(text("lr") + none)))), "") << key;
  }
  EXPECT_HAS(errorOfTensor(archive(dictionary(rest))),
             "not opened: test.pt: holds no tensors by name, as a state dictionary does, nor has it one as 'state_dict', 'model_state_dict', ");
  EXPECT_HAS(errorOfTensor(archive(matrix)), "holds no tensors by name");
  EXPECT_HAS(errorOfTensor(archive(none)), "holds no tensors by name");
  EXPECT_HAS(errorOfTensor(archive(name("my.models", "Net") + ")\x81" + dictionary("") + "b")),
             "test.pt: holds an object of my.models.Net, which only the program that defines it can read; save its state_dict()");
  EXPECT_HAS(errorOfTensor(archive(dictionary(text("w") + matrix + text("w") + matrix))), "test.pt: tensor 'w' is there twice");
}

TEST(TorchFile, SaysWhyATensorCannotBeRead) {
  auto problem = [](const std::string &value) { return errorOfTensor(archive(dictionary(text("w") + value + text("other") + matrix))); };
  EXPECT_HAS(problem(tensor(storage("ComplexFloat", "0", 3), 0, {3}, {1})),
             "test.pt: tensor 'w' is of torch.ComplexFloatStorage, which is no type that can be read");
  EXPECT_HAS(problem(rebuilt(none, "_rebuild_sparse_tensor")), "tensor 'w' is made by torch._utils._rebuild_sparse_tensor, which is not done here");
  EXPECT_EQ(problem(tensor(six, 0, std::vector<int>(64, 1), std::vector<int>(64, 1))), "");
  EXPECT_HAS(problem(tensor(six, 0, {2, 4}, {4, 1})), "tensor 'w' of dtype F32 and shape [2, 4] needs 8 elements from 0 on, but its storage holds 6");
  EXPECT_HAS(problem(tensor(six, 5, {2}, {1})), "needs 2 elements from 5 on, but its storage holds 6");
  EXPECT_HAS(problem(tensor(six, 7, {0}, {1})), "needs 0 elements from 7 on");
  EXPECT_HAS(problem(tensor(six, 0, {1 << 30}, {0})), "of shape [1073741824] has elements that are one in memory");
  EXPECT_HAS(problem(tensor(six, 0, {1 << 30, 1 << 30, 1 << 30}, {1, 1, 1})), "is larger than any memory");
  EXPECT_HAS(problem(tensor(storage("Float", "1", 6), 0, {6}, {1})), "is a part of storage '1', which is not there");
  auto with = [&](const std::string &metadata, const std::string &type = "") {
    return problem(rebuilt(tensorArguments(six, 0, {2, 3}, {3, 1}) + type + metadata, type.empty() ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3"));
  };
  const std::string f32 = name("torch", "float32"), negative = dictionary(text("neg") + yes);
  for (const std::string &type : {std::string(), f32}) {
    EXPECT_HAS(with(negative, type), "tensor 'w' has the metadata 'neg'; save it after resolve_neg()");
    EXPECT_HAS(with(dictionary(text("odd") + none), type), "tensor 'w' has the metadata 'odd', which is not known here");
    EXPECT_HAS(with(text("neg"), type), "tensor 'w' is not described as PyTorch describes tensors");
    EXPECT_EQ(with(dictionary(""), type), "");
    EXPECT_EQ(with(none, type), "");
  }
  for (const std::string &bad :
       {rebuilt(""), rebuilt(six + number(0) + numbers({2, 3})), rebuilt(six + number(-1) + numbers({6}) + numbers({1})),
        rebuilt(six + number(0) + numbers({6}) + numbers({1, 1})), rebuilt(six + number(0) + numbers({-6}) + numbers({1})),
        tensor(six, 0, std::vector<int>(65, 1), std::vector<int>(65, 1)), rebuilt(none + number(0) + numbers({6}) + numbers({1})),
        rebuilt(number(1) + "Q" + number(0) + numbers({6}) + numbers({1}))})
    EXPECT_HAS(problem(bad), "tensor 'w' is not described as PyTorch describes tensors");
}

TEST(TorchFile, SaysWhatIsWrongWithAFile) {
  std::string good = dictionary(text("w") + matrix);
  auto error = [](const std::string &bytes) { return errorOf(open(bytes)); };
  EXPECT_HAS(error(archive(good, {{"m/byteorder", "big"}, {"m/data/0", sixBytes}})), "test.pt: its numbers have their highest byte first");
  std::string damaged = archive(good);
  damaged[damaged.find("torch._utils")] ^= 1;
  EXPECT_EQ(error(damaged), "test.pt: member 'm/data.pkl': CRC error");
  EXPECT_HAS(error(pickle(dictionary(""))), "test.pt: is a pickle, but not one of torch.save");
  EXPECT_HAS(error(pickles(good, {{"5", sixBytes}})), "test.pt: its storage '5' belongs to no tensor");
  EXPECT_HAS(error(pickles(dictionary(text("w") + tensor(storage("Strange", "0", 3), 0, {3}, {1})), {{"0", sixBytes}})),
             "holds a storage of torch.StrangeStorage, whose size is not known");
  std::string quantised = text("c") + tensor(storage("QInt32", "1", 1), 0, {1}, {1}) + text("w") + matrix;
  EXPECT_EQ(errorOfTensor(pickles(dictionary(quantised), {{"1", std::string(4, '\1')}, {"0", sixBytes}})), "");
  std::string old = pickles(good, {{"0", sixBytes}});
  EXPECT_HAS(error(old.substr(0, old.size() - 1)), "test.pt: ends in the middle of storage '0' (is it cut short?)");
  EXPECT_HAS(error(old.substr(0, old.size() - sixBytes.size() - 1)), "ends in the middle of storage '0'");
  for (auto [instructions, message] :
       std::vector<std::pair<std::string, std::string>>{{"", "needs a value where there is none"},
                                                        {"0", "needs a value where there is none"},
                                                        {"t", "needs a mark where there is none"},
                                                        {"N(", "needs a value where there is none"},
                                                        {"h\7", "asks for object 7, which there is not"},
                                                        {"NNa", "adds elements to what has none"},
                                                        {"}(Nu", "gives a dictionary a key without a value"},
                                                        {"cx\ny\n]R", "calls a function with what is no tuple"},
                                                        {"\xff", "has the unknown instruction 0xff at byte 2"},
                                                        {"X\5\0", "ends in the middle (is the file cut short?)"},
                                                        {std::string("\x8d\xff\xff\xff\xff\xff\xff\xff\xff", 9), "ends in the middle"},
                                                        {"cno line's end", "ends in the middle"}})
    EXPECT_HAS(error(archive(instructions)), "test.pt: its pickle " + message);
}

TEST(TorchFile, MakesNoMoreValuesThanTensorsNeed) {
  std::string good = dictionary(text("w") + matrix), opens(1 << 23, '(');
  EXPECT_HAS(errorOf(open(archive(std::string(1 << 22, 'N') + good))), "test.pt: its pickle makes more values than any of names and shapes");
  EXPECT_HAS(errorOf(open(archive("N" + std::string(1 << 22, '\x85') + good))), "makes more values than any");
  EXPECT_HAS(errorOf(open(archive(opens + good))), "test.pt: its pickle has more instructions than any of names and shapes");
  EXPECT_EQ(errorOfTensor(archive(std::string(1 << 21, 'N') + good)), "");
}

TEST(TorchFile, ReadsContainersThatHoldThemselves) {
  std::string loops = text("list") + "]q\1h\1a" + text("dictionary") + "}q\2" + text("w") + "h\2s";
  EXPECT_EQ(errorOfTensor(archive(dictionary(text("w") + matrix + loops))), "");
  // A call's arguments that hold the call.
  std::string arguments = "(" + name("torch._utils", "_rebuild_parameter") + none + "]q\1t";
  std::string holdsItself = name("torch._tensor", "_rebuild_from_type_v2") + arguments + "Rq\2h\1h\2a0";
  EXPECT_HAS(errorOfTensor(archive(dictionary(text("w") + holdsItself + text("other") + matrix))), "no tensor 'w'");
}

TEST(TorchFile, SurvivesAnyDamage) {
  std::string value = dictionary(text("w") + matrix + text("turned") + tensor(six, 0, {3, 2}, {1, 3}));
  for (const std::string &good : {archive(value), pickles(value, {{"0", sixBytes}})}) {
    auto readAll = [](const std::string &bytes) {
      auto file = open(bytes);
      if (!file)
        return llvm::consumeError(file.takeError());
      for (const TensorInfo &tensor : (*file)->getTensors())
        llvm::consumeError((*file)->read(tensor).takeError());
    };
    for (size_t i = 0; i < good.size(); ++i)
      for (unsigned char change : {0x01, 0x10, 0x80, 0xff}) {
        std::string bad = good;
        bad[i] ^= change;
        readAll(bad);
      }
    for (size_t length = 0; length < good.size(); ++length)
      readAll(good.substr(0, length));
  }
}

TEST(TorchFile, SurvivesAnyInstructions) {
  // Whole pieces among single instructions, so that some of it comes far.
  const std::vector<std::string> pieces = {"(",
                                           "0",
                                           "1",
                                           "2",
                                           "N",
                                           yes,
                                           ")",
                                           "]",
                                           "}",
                                           "t",
                                           "\x85",
                                           "\x86",
                                           "\x87",
                                           "\x8f",
                                           "\x90",
                                           "\x91",
                                           "a",
                                           "e",
                                           "s",
                                           "u",
                                           "R",
                                           "b",
                                           "Q",
                                           "\x81",
                                           "\x92",
                                           "\x93",
                                           "\x94",
                                           "q\1",
                                           "h\1",
                                           "K\2",
                                           number(-1),
                                           text("w"),
                                           text("model"),
                                           six,
                                           matrix,
                                           tuple(""),
                                           numbers({2, 3}),
                                           emptyOrdered,
                                           name("torch._utils", "_rebuild_tensor_v2"),
                                           name("torch._utils", "_rebuild_parameter"),
                                           name("torch._tensor", "_rebuild_from_type_v2"),
                                           name("torch", "Size")};
  std::minstd_rand random(1);
  int opened = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string instructions = "}(";
    for (unsigned count = random() % 24; count > 0; --count)
      instructions += pieces[random() % pieces.size()];
    std::string bytes = pickles(instructions + (i % 2 ? "" : "u"), {{"0", sixBytes}});
    auto file = open(bytes);
    if (!file) {
      llvm::consumeError(file.takeError());
      continue;
    }
    ++opened;
    for (const TensorInfo &tensor : (*file)->getTensors())
      llvm::consumeError((*file)->read(tensor).takeError());
  }
  EXPECT_GT(opened, 0);
}

} // namespace
