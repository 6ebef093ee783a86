// NumPy's .npz files: what is read, that no damage to a file gets past the reader, and what is not read at all.
#include "compiler/Import/Npz.h"
#include "compiler/Import/Safetensors.h"
#include "compiler/Import/ZipArchive.h"
#include "test/Import/ZipFiles.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>

using namespace xf;

namespace {

/// Bytes of an array with that text for a header.
std::string makeNpy(const std::string &header, const std::string &data, int version = 1) {
  std::string bytes("\x93NUMPY");
  uint32_t size = header.size();
  bytes += {char(version), '\0'};
  bytes.append(reinterpret_cast<const char *>(&size), version == 1 ? 2 : 4);
  return bytes + header + data;
}
std::string makeNpy(const std::string &type, const std::string &shape, const std::string &data) {
  return makeNpy("{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }   \n", data, 1);
}

llvm::Expected<std::unique_ptr<NpzFile>> open(const std::string &bytes) {
  auto archive = ZipArchive::parse("test.npz", bytes);
  if (!archive)
    return archive.takeError();
  return NpzFile::open(std::move(*archive));
}

template <typename T>
std::string errorOf(llvm::Expected<T> result) {
  return result ? "" : llvm::toString(result.takeError());
}
/// The error for a tensor of this array; empty if it can be read. The file can be opened whatever is in it.
std::string errorOf(const std::string &npy) {
  std::string bytes = makeZip({{"a.npy", npy}});
  auto file = open(bytes);
  if (!file)
    return "not opened: " + llvm::toString(file.takeError());
  const TensorInfo &tensor = (*file)->getTensors()[0];
  std::string error = errorOf((*file)->read(tensor)), same = llvm::toString((*file)->readFloats(tensor, 0, {}));
  EXPECT_EQ(error, same);
  return error;
}

#define EXPECT_HAS(text, part) EXPECT_PRED2(has, text, part)
bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

class NpzMethods : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Npz, NpzMethods, testing::Values(ZIP_CM_STORE, ZIP_CM_DEFLATE),
                         [](auto &info) { return info.param == ZIP_CM_STORE ? "stored" : "compressed"; });

TEST_P(NpzMethods, ReadsEveryType) {
  std::string bytes = makeZip({{"f64.npy", makeNpy("<f8", "(2,)", bytesOf<double>({1.0 / 3, -2}))},
                               {"f32.npy", makeNpy("<f4", "(2, 1)", bytesOf<float>({1.5f, -0.0f}))},
                               {"f16.npy", makeNpy("<f2", "(4,)", bytesOf<uint16_t>({0x3c00, 0x0001, 0xfbff, 0x7c00}))},
                               {"bf16.npy", makeNpy("<V2", "(2,)", bytesOf<uint16_t>({0x3fc0, 0xff80}))},
                               {"v2.npy", makeNpy("|V2", "()", bytesOf<uint16_t>({0x3fc0}))},
                               {"i64.npy", makeNpy("<i8", "()", bytesOf<int64_t>({-5}))},
                               {"u32.npy", makeNpy("<u4", "(1,)", bytesOf<uint32_t>({0xffffffff}))},
                               {"i8.npy", makeNpy("|i1", "(2,)", "\xff\x01")},
                               {"layers.0/bool.npy", makeNpy("|b1", "(1,)", "\x02")},
                               {"none.npy", makeNpy("<f4", "(3, 0)", "")}},
                              GetParam());
  auto file = open(bytes);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  auto read = [&](const char *name) { return llvm::cantFail((*file)->read(*(*file)->find(name))); };
  EXPECT_EQ(read("f64").floats, (std::vector<double>{1.0 / 3, -2}));
  EXPECT_EQ(read("f32").floats, (std::vector<double>{1.5, 0}));
  EXPECT_EQ(read("f32").shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(read("f16").floats, (std::vector<double>{1, 0x1p-24, -65504, INFINITY}));
  EXPECT_EQ(read("bf16").floats, (std::vector<double>{1.5, -INFINITY}));
  EXPECT_EQ(read("v2").floats, (std::vector<double>{1.5}));
  EXPECT_EQ(read("i64").ints, (std::vector<int64_t>{-5}));
  EXPECT_EQ(read("i64").shape, (std::vector<int64_t>{}));
  EXPECT_EQ(read("u32").ints, (std::vector<int64_t>{0xffffffff}));
  EXPECT_EQ(read("i8").ints, (std::vector<int64_t>{-1, 1}));
  EXPECT_EQ(read("layers.0/bool").ints, (std::vector<int64_t>{1}));
  EXPECT_EQ(read("layers.0/bool").kind, Tensor::Kind::Bool);
  EXPECT_EQ(read("none").shape, (std::vector<int64_t>{3, 0}));
  EXPECT_EQ((*file)->find("absent"), nullptr);
  EXPECT_EQ((*file)->getTensors().front().name, "f64");
  float part[2];
  ASSERT_FALSE(bool((*file)->readFloats(*(*file)->find("f64"), 0, part)));
  EXPECT_EQ(part[0], 1.0f / 3);
}

/// Two tensors that take many pieces, the second with the half of each of the first's numbers.
std::string makeLarge(int method) {
  std::vector<float> floats(100'000);
  std::vector<double> doubles(floats.size());
  for (size_t i = 0; i < floats.size(); ++i)
    doubles[i] = (floats[i] = i) / 2;
  return makeZip({{"a.npy", makeNpy("<f4", "(1000, 100)", bytesOf(floats))}, {"b.npy", makeNpy("<f8", "(100000,)", bytesOf(doubles))}}, method);
}

/// Whether `count` numbers of such a tensor from `first` on are right.
testing::AssertionResult readsRight(const TensorFile &file, const char *name, int64_t first, int64_t count) {
  std::vector<float> out(count);
  if (llvm::Error error = file.readFloats(*file.find(name), first, out))
    return testing::AssertionFailure() << llvm::toString(std::move(error));
  for (int64_t i = 0; i < count; ++i)
    if (out[i] != (first + i) / (*name == 'a' ? 1.0f : 2.0f))
      return testing::AssertionFailure() << name << " holds " << out[i] << " at " << first + i;
  return testing::AssertionSuccess();
}

TEST_P(NpzMethods, ReadsPiecesInAnyOrder) {
  std::string bytes = makeLarge(GetParam());
  auto file = open(bytes);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  for (auto [name, first, count] : {std::tuple("a", 0, 10),
                                    {"a", 10, 20},
                                    {"a", 70'000, 5},
                                    {"b", 3, 1},
                                    {"a", 70'005, 29'995},
                                    {"b", 0, 100'000},
                                    {"b", 99'999, 1},
                                    {"a", 5, 99'995},
                                    {"a", 100'000, 0}})
    EXPECT_TRUE(readsRight(**file, name, first, count));
}

TEST_P(NpzMethods, ReadsInSeveralThreads) {
  std::string bytes = makeLarge(GetParam());
  auto file = open(bytes);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  std::vector<std::thread> threads;
  for (const char *name : {"a", "b", "a"})
    threads.emplace_back([&, name] { EXPECT_TRUE(readsRight(**file, name, 0, 100'000)); });
  for (std::thread &thread : threads)
    thread.join();
}

std::string makeSmall(int method) {
  return makeZip({{"ab.npy", makeNpy("<f4", "(2, 3)", bytesOf<float>({1, 2, 3, 4, 5, 6}))},
                  {"c.npy", makeNpy("<i8", "(2,)", bytesOf<int64_t>({7, 7}))},
                  {"d.npy", makeNpy("<f2", "(0,)", "")}},
                 method);
}

TEST_P(NpzMethods, RefusesEveryTruncation) {
  std::string bytes = makeSmall(GetParam());
  ASSERT_EQ(errorOf(open(bytes)), "");
  for (size_t n = 1; n < bytes.size(); ++n) // libzip takes no bytes for an empty archive
    EXPECT_NE(errorOf(open(bytes.substr(0, n))), "") << n;
}

/// Checksums stand for headers and numbers: what can be read is what was written, whatever its name is now.
void expectUnharmed(const std::string &damaged, const std::vector<Tensor> &tensors) {
  auto file = open(damaged);
  if (!file)
    return llvm::consumeError(file.takeError());
  ASSERT_LE((*file)->getTensors().size(), tensors.size());
  for (const TensorInfo &info : (*file)->getTensors()) {
    auto tensor = (*file)->read(info);
    if (!tensor) {
      llvm::consumeError(tensor.takeError());
      continue;
    }
    EXPECT_TRUE(
        llvm::any_of(tensors, [&](const Tensor &t) { return t.shape == tensor->shape && t.floats == tensor->floats && t.ints == tensor->ints; }));
  }
}

TEST_P(NpzMethods, SurvivesEveryByte) {
  std::string bytes = makeSmall(GetParam());
  std::vector<Tensor> tensors;
  auto file = open(bytes);
  ASSERT_TRUE(bool(file));
  for (const TensorInfo &info : (*file)->getTensors())
    tensors.push_back(llvm::cantFail((*file)->read(info)));
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int change : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      SCOPED_TRACE(testing::Message() << "byte " << i << " changed by " << change);
      expectUnharmed(damaged, tensors);
    }
}

TEST(Npz, TakesEveryHeaderOfNumPy) {
  std::string eight(8, 'x');
  EXPECT_EQ(errorOf(makeNpy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", eight)), "");
  EXPECT_EQ(errorOf(makeNpy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}\n", eight, 2)), "");
  EXPECT_EQ(errorOf(makeNpy(R"( { "shape" : ( 1 , 2 ) , "fortran_order":True,"descr":"<f4" } )", eight, 3)), "");
  EXPECT_EQ(errorOf(makeNpy("{'descr':'<f4','fortran_order':True,'shape':(1,2,1,),}", eight)), "");
}

TEST(Npz, NamesWhatIsWrongWithAHeader) {
  auto typeError = [](const std::string &type) { return errorOf(makeNpy(type, "(2,)", "12345678")); };
  EXPECT_HAS(typeError(">f4"), "test.npz: tensor 'a' is big-endian (dtype '>f4'); save it as '<f4'");
  EXPECT_HAS(typeError("|O"), "tensor 'a' holds Python objects");
  EXPECT_HAS(typeError("<c8"), "tensor 'a' has the unknown dtype '<c8'");
  EXPECT_HAS(typeError("|V1"), "unknown dtype '|V1'");
  EXPECT_HAS(typeError("<f8"), "tensor 'a' of dtype F64 and shape [2] needs 16 bytes, but its member holds 8");
  EXPECT_HAS(errorOf(makeNpy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,), }", "12345678")), "tensor 'a' has fields");

  auto shapeError = [](const std::string &shape) { return errorOf(makeNpy("<f4", shape, "12345678")); };
  EXPECT_HAS(shapeError("(4294967296, 4294967296)"), "shape [4294967296, 4294967296] is larger than any memory");
  EXPECT_HAS(shapeError("(2305843009213693952,)"), "larger than any memory"); // 2^63 bytes
  EXPECT_HAS(shapeError("(3,)"), "needs 12 bytes, but its member holds 8");
  EXPECT_HAS(shapeError("(0,)"), "needs 0 bytes, but its member holds 8");
  std::string ones = "2";
  for (int i = 1; i < 64; ++i)
    ones += ", 1";
  EXPECT_EQ(shapeError("(" + ones + ")"), "");
  EXPECT_HAS(shapeError("(" + ones + ", 1)"), "tensor 'a' has a .npy header that does not describe an array");
  for (const char *shape :
       {"(2)", "2", "[2]", "(-2,)", "(+2,)", "(2.0,)", "(2L,)", "(,)", "(1 2)", "(2,,)", "(2", "(0x2,)", "(9223372036854775808,)"})
    EXPECT_HAS(shapeError(shape), "tensor 'a' has a .npy header that does not describe an array");
  for (const char *header :
       {"", "{", "{}", "[]", "{'descr': '<f4', 'shape': (2,)}", "{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", "{'descr': '<f4, 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", "{,'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "{'descr': '<f4",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}", "{'descr': '<f4', 'fortran_order': Falsehood, 'shape': (2,)}"})
    EXPECT_HAS(errorOf(makeNpy(header, "12345678")), "does not describe an array");

  EXPECT_HAS(errorOf(""), "tensor 'a' is no array of NumPy's");
  EXPECT_HAS(errorOf("\x93NUMPY"), "is no array of NumPy's");
  EXPECT_HAS(errorOf(makeNpy("{}", "", 4)), "has version 4.0 of the .npy format");
  EXPECT_HAS(errorOf(std::string("\x93NUMPY\1\0\x40", 9)), "cut short");
  EXPECT_HAS(errorOf(std::string("\x93NUMPY\1\0\x40\0{", 11)), "a .npy header of 64 bytes, which is cut short");
  EXPECT_HAS(errorOf(makeNpy(std::string(5000, ' '), "")), "longer than an array of numbers needs");
  EXPECT_HAS(errorOf(makeNpy(std::string(100'000, ' '), "", 2)), "longer than an array of numbers needs");
}

/// The archive with `from` replaced by `to` wherever it stands.
std::string replaced(std::string bytes, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = bytes.find(from, at)) != std::string::npos; at += to.size())
    bytes.replace(at, from.size(), to);
  return bytes;
}

TEST(Npz, ListsWhatCannotBeRead) {
  std::string npy = makeNpy("<f4", "(2,)", bytesOf<float>({1, 2}));
  std::string bytes = makeZip({{"folder/", ""},
                               {"names.npy", makeNpy("<U5", "(3, 1)", std::string(60, '\0'))},
                               {"a.npy", npy},
                               {"folder/config.json", "{}"},
                               {"b.npy", "oh"},
                               {"last.npy", npy}});
  auto file = open(bytes);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  ASSERT_EQ((*file)->getTensors().size(), 5u);
  for (const char *name : {"a", "last"})
    EXPECT_EQ(llvm::cantFail((*file)->read(*(*file)->find(name))).floats, (std::vector<double>{1, 2})) << name;
  EXPECT_EQ((*file)->find("names")->shape, (std::vector<int64_t>{3, 1}));
  EXPECT_FALSE((*file)->find("b")->shapeKnown);
  EXPECT_EQ(errorOf((*file)->read(*(*file)->find("folder/config.json"))),
            "test.npz: tensor 'folder/config.json' is no array: its member's name does not end in .npy");
  EXPECT_HAS(errorOf(open(makeZip({{"a.npy", npy}, {"a", npy}}))), "test.npz: tensor 'a' is there twice");
}

/// Element by element, from the definition of the order.
template <typename T>
std::string columnMajor(const std::vector<int64_t> &shape, const std::vector<T> &rows) {
  std::vector<T> columns(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    size_t index = 0, rest = i, size = rows.size();
    for (int d = shape.size() - 1; d >= 0; rest /= shape[d--])
      index += rest % shape[d] * (size /= shape[d]);
    columns[index] = rows[i];
  }
  return bytesOf(columns);
}
std::string makeFortran(const std::string &type, const std::vector<int64_t> &shape, const std::string &data) {
  std::string text;
  for (int64_t d : shape)
    text += std::to_string(d) + ",";
  return makeNpy("{'descr': '" + type + "', 'fortran_order': True, 'shape': (" + text + "), }", data);
}

template <typename T>
void expectTransposed(const char *type, const std::vector<int64_t> &shape, int method) {
  SCOPED_TRACE(testing::Message() << type << " " << formatShape(shape));
  std::vector<T> values(std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>()));
  std::iota(values.begin(), values.end(), T(0));
  std::string bytes = makeZip({{"a.npy", makeFortran(type, shape, columnMajor(shape, values))}}, method);
  auto file = open(bytes);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  auto tensor = (*file)->read((*file)->getTensors()[0]);
  ASSERT_TRUE(bool(tensor)) << llvm::toString(tensor.takeError());
  EXPECT_EQ(tensor->shape, shape);
  EXPECT_EQ(tensor->ints, std::vector<int64_t>(values.begin(), values.end()));
}

TEST_P(NpzMethods, ReadsColumnsAsRows) {
  EXPECT_EQ(columnMajor<uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6}), "\1\4\2\5\3\6");
  for (const std::vector<int64_t> &shape : std::vector<std::vector<int64_t>>{{2, 3},
                                                                             {33, 70},
                                                                             {64, 32},
                                                                             {1, 5, 4},
                                                                             {5, 1, 4},
                                                                             {5, 4, 1},
                                                                             {3, 4, 5},
                                                                             {2, 3, 4, 5},
                                                                             {40, 2, 1, 3, 2, 35},
                                                                             {2, 2, 2, 2, 2, 2, 2},
                                                                             {7},
                                                                             {},
                                                                             {3, 0, 2}}) {
    expectTransposed<uint8_t>("|u1", shape, GetParam());
    expectTransposed<uint16_t>("<u2", shape, GetParam());
    expectTransposed<uint32_t>("<u4", shape, GetParam());
    expectTransposed<int64_t>("<i8", shape, GetParam());
  }
  expectTransposed<uint32_t>("<u4", {700, 1000}, GetParam()); // read in several pieces
}

TEST_P(NpzMethods, ReadsColumnsWithoutElements) {
  // The other dimensions may be larger than any memory.
  std::string bytes = makeZip({{"a.npy", makeFortran("<f4", {int64_t(1) << 40, int64_t(1) << 40, 0}, "")}}, GetParam());
  auto file = open(bytes);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(llvm::cantFail((*file)->read((*file)->getTensors()[0])).floats, std::vector<double>{});
}

TEST_P(NpzMethods, ReadsPiecesOfColumns) {
  std::vector<float> floats(100'000);
  std::iota(floats.begin(), floats.end(), 0.0f);
  std::vector<double> doubles(floats.begin(), floats.end());
  for (double &d : doubles)
    d /= 2;
  std::string bytes = makeZip({{"a.npy", makeFortran("<f4", {1000, 100}, columnMajor({1000, 100}, floats))},
                               {"b.npy", makeFortran("<f8", {10, 100, 100}, columnMajor({10, 100, 100}, doubles))}},
                              GetParam());
  auto file = open(bytes);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  for (auto [name, first, count] :
       {std::tuple("a", 0, 10), {"a", 10, 20}, {"b", 3, 1}, {"a", 70'005, 29'995}, {"b", 0, 100'000}, {"a", 100'000, 0}}) {
    EXPECT_TRUE(readsRight(**file, name, first, count));
    (*file)->release(*(*file)->find("a"));
  }
  std::vector<std::thread> threads;
  for (const char *name : {"a", "b", "a"})
    threads.emplace_back([&, name] {
      EXPECT_TRUE(readsRight(**file, name, 0, 100'000));
      (*file)->release(*(*file)->find(name));
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Npz, NoticesDamageInColumns) {
  std::string damaged = makeZip({{"a.npy", makeFortran("<f4", {64, 32}, std::string(8192, 'x'))}});
  damaged[5000] = 'y';
  auto file = open(damaged);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  for (int time = 0; time < 2; ++time) // with the first numbers, as all are read for them
    EXPECT_HAS(errorOf((*file)->read((*file)->getTensors()[0])), "test.npz: member 'a.npy': CRC error");
}

TEST(Npz, NamesMembersThatAreNotRead) {
  std::string npy = makeNpy("<f4", "(2,)", "12345678");
  EXPECT_HAS(errorOf(open(replaced(makeZip({{"a.npy", npy}, {"b.npy", npy}}), "b.npy", "a.npy"))), "test.npz: tensor 'a' is there twice");
  std::string encrypted = makeZip({{"a.npy", npy}}, ZIP_CM_STORE,
                                  [](zip_t *archive) { EXPECT_EQ(zip_file_set_encryption(archive, 0, ZIP_EM_TRAD_PKWARE, "secret"), 0); });
  EXPECT_HAS(errorOf(open(encrypted)), "test.npz: member 'a.npy': No password provided");
  // Method 97 in both of the member's records; the local one has the name behind 30 bytes, the other behind 46.
  std::string method = makeZip({{"a.npy", npy}});
  size_t local = method.find("PK\3\4"), central = method.find("PK\1\2");
  method[local + 8] = method[central + 10] = 97;
  EXPECT_HAS(errorOf(open(method)), "test.npz: member 'a.npy': Compression method not supported");
  std::string damaged = makeZip({{"a.npy", makeNpy("<f4", "(2048,)", std::string(8192, 'x'))}});
  damaged[5000] = 'y';
  auto file = open(damaged);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError()); // it is noticed where the numbers are read
  EXPECT_HAS(errorOf((*file)->read((*file)->getTensors()[0])), "test.npz: member 'a.npy': CRC error");
  EXPECT_HAS(errorOf(open("PK\3\4")), "test.npz: cannot be read as a zip archive");
}

TEST(Npz, TakesNoMoreMemoryThanThereAreNumbers) {
  // A tensor of a terabyte, of which there are 8 KB: size and shape agree.
  std::string data(8192, 'x');
  for (const std::string &npy : {makeNpy("<f4", "(274877906944,)", data), makeFortran("<f4", {1 << 19, 1 << 19}, data)}) {
    std::string bytes = makeZip({{"a.npy", npy}}, ZIP_CM_DEFLATE, [&](zip_t *archive) {
      // The size is beyond 32 bits, so an extra field holds it.
      uint64_t size = npy.size() - 8192 + (uint64_t(1) << 40);
      EXPECT_EQ(zip_file_extra_field_set(archive, 0, 0x7777, 0, reinterpret_cast<const zip_uint8_t *>(&size), 8, ZIP_FL_CENTRAL), 0);
    });
    size_t central = bytes.find("PK\1\2");
    bytes.replace(central + 24, 4, "\xff\xff\xff\xff");
    bytes.replace(bytes.find("ww", central), 2, std::string("\1\0", 2));
    auto file = open(bytes);
    ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
    EXPECT_EQ((*file)->getTensors()[0].count(), int64_t(1) << 38);
    EXPECT_HAS(errorOf((*file)->read((*file)->getTensors()[0])), "test.npz: member 'a.npy'");
  }
}

class OpenTensorFile : public testing::Test {
protected:
  std::string path = testing::TempDir() + "xf-open-" + std::to_string(getpid());
  ~OpenTensorFile() override { std::filesystem::remove(path); }

  llvm::Expected<std::unique_ptr<TensorFile>> open(const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return openTensorFile(path);
  }
};

TEST_F(OpenTensorFile, GoesByTheBytes) {
  std::string npz = makeZip({{"a.npy", makeNpy("<f4", "(2,)", bytesOf<float>({1, 2}))}}, ZIP_CM_DEFLATE);
  auto file = open(npz);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(llvm::cantFail((*file)->read((*file)->getTensors()[0])).floats, (std::vector<double>{1, 2}));
  EXPECT_EQ((*file)->getPath(), path);
  EXPECT_HAS(errorOf(open(npz.substr(0, npz.size() - 1))), path + ": cannot be read as a zip archive");
  EXPECT_EQ(errorOf(open(std::string("PK\5\6") + std::string(18, '\0'))), ""); // without any member
  // The length of a safetensors header may begin as a pickle does.
  std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  header.resize(0x280, ' ');
  EXPECT_EQ(errorOf(open(std::string("\x80\2\0\0\0\0\0\0", 8) + header + "x")), "");
  EXPECT_HAS(errorOf(open(std::string("\x80\2\0\0\0\0\0\0", 8) + header)), "is it cut short?");
  EXPECT_HAS(errorOf(open("")), path + ": not a file of tensors: it has only 0 bytes");
  EXPECT_HAS(errorOf(open(makeNpy("<f4", "(2,)", "12345678"))), path + ": is one array without a name (.npy); save it with numpy.savez");
  EXPECT_HAS(errorOf(openTensorFile("/nowhere/x.npz")), "/nowhere/x.npz: No such file");
  EXPECT_HAS(errorOf(openTensorFile("/tmp")), "not a regular file");
  // Pickles, in archives and one behind the other.
  EXPECT_HAS(errorOf(open(makeZip({{"archive/data.pkl", "x"}, {"archive/data/0", "y"}}))), path + ": its pickle has the unknown instruction 0x78");
  EXPECT_HAS(errorOf(open(makeZip({{"data.pkl", "x"}}))), path + ": its pickle has the unknown instruction 0x78");
  EXPECT_HAS(errorOf(open("\x80\2\x8a\nl\xfc\x9c"
                          "F\xf9 j\xa8P\x19.")),
             path + ": its pickle ends in the middle");
  EXPECT_HAS(errorOf(open(std::string("\x80\4\x95\x10\0\0\0\0\0\0\0}\x94.", 14))), path + ": is a pickle, but not one of torch.save");
}

} // namespace
