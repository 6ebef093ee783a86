// The safetensors reader: what it reads, and that no damage to a file gets past it.
#include "compiler/Import/Safetensors.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace xf;

namespace {

std::string makeFile(const std::string &header, const std::string &data) {
  std::string bytes(8, '\0');
  uint64_t size = header.size();
  std::memcpy(bytes.data(), &size, 8);
  return bytes + header + data;
}

/// The error for a file of these bytes; empty if it is accepted.
std::string errorOf(const std::string &bytes) {
  auto file = SafetensorsFile::parse("test.safetensors", bytes);
  return file ? "" : llvm::toString(file.takeError());
}
std::string errorOf(const std::string &header, const std::string &data) { return errorOf(makeFile(header, data)); }

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

const std::string good = R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                         R"("b":{"dtype":"I64","shape":[1,1],"data_offsets":[8,16]},"c":{"dtype":"F32","shape":[0,3],"data_offsets":[16,16]}})";

TEST(Safetensors, ReadsEveryType) {
  float f32[2] = {1.5f, -0.0f};
  uint16_t f16[4] = {0x3c00, 0x0001, 0xfbff, 0x7c00}, bf16[2] = {0x3fc0, 0xff80};
  int64_t i64 = -5;
  int32_t i32 = -7;
  std::string data;
  auto add = [&](const void *p, size_t n) { data.append(static_cast<const char *>(p), n); };
  add(f32, 8), add(f16, 8), add(bf16, 4), add(&i64, 8), add(&i32, 4), data.append("\xff\x01", 2), data.append("\x02", 1);
  std::string bytes = makeFile(R"({"f32":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
      "f16":{"dtype":"F16","shape":[4],"data_offsets":[8,16]}, "bf16":{"dtype":"BF16","shape":[2],"data_offsets":[16,20]},
      "i64":{"dtype":"I64","shape":[],"data_offsets":[20,28]}, "i32":{"dtype":"I32","shape":[1],"data_offsets":[28,32]},
      "i8":{"dtype":"I8","shape":[2],"data_offsets":[32,34]}, "bool":{"dtype":"BOOL","shape":[1],"data_offsets":[34,35]}})",
                               data);
  auto file = SafetensorsFile::parse("t", bytes);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  auto read = [&](const char *name) { return llvm::cantFail((*file)->read(*(*file)->find(name))); };
  EXPECT_EQ(read("f32").floats, (std::vector<double>{1.5, 0}));
  EXPECT_TRUE(std::signbit(read("f32").floats[1]));
  EXPECT_EQ(read("f16").floats, (std::vector<double>{1, 0x1p-24, -65504, INFINITY}));
  EXPECT_EQ(read("bf16").floats, (std::vector<double>{1.5, -INFINITY}));
  EXPECT_EQ(read("i64").ints, (std::vector<int64_t>{-5}));
  EXPECT_EQ(read("i32").ints, (std::vector<int64_t>{-7}));
  EXPECT_EQ(read("i8").ints, (std::vector<int64_t>{-1, 1}));
  EXPECT_EQ(read("bool").ints, (std::vector<int64_t>{1}));
  EXPECT_EQ(read("bool").kind, Tensor::Kind::Bool);
  float part[2];
  ASSERT_FALSE(bool((*file)->readFloats(*(*file)->find("f16"), 1, part)));
  EXPECT_EQ(part[1], -65504.f);
}

TEST(Safetensors, WidensEveryHalf) {
  std::string data;
  for (unsigned i = 0; i < 65536; ++i)
    data += {char(i & 255), char(i >> 8)};
  std::string bytes = makeFile(R"({"h":{"dtype":"F16","shape":[65536],"data_offsets":[0,131072]}})", data);
  auto file = SafetensorsFile::parse("t", bytes);
  ASSERT_TRUE(bool(file));
  std::vector<float> floats(65536);
  ASSERT_FALSE(bool((*file)->readFloats((*file)->getTensors()[0], 0, floats)));
  for (unsigned i = 0; i < 65536; ++i) {
    float want = static_cast<float>(llvm::bit_cast<_Float16>(static_cast<uint16_t>(i)));
    ASSERT_TRUE(std::isnan(want) ? std::isnan(floats[i]) : llvm::bit_cast<uint32_t>(want) == llvm::bit_cast<uint32_t>(floats[i])) << i;
  }
}

TEST(Safetensors, RefusesEveryTruncation) {
  std::string bytes = makeFile(good, std::string(16, 'x'));
  ASSERT_EQ(errorOf(bytes), "");
  for (size_t n = 0; n < bytes.size(); ++n)
    EXPECT_NE(errorOf(bytes.substr(0, n)), "") << n;
  EXPECT_HAS(errorOf(bytes + "y"), "belong to no tensor");
}

TEST(Safetensors, SurvivesEveryByteFlip) {
  std::string bytes = makeFile(good, std::string(16, 'x'));
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      auto file = SafetensorsFile::parse("t", damaged);
      if (!file) {
        llvm::consumeError(file.takeError());
        continue;
      }
      for (const TensorInfo &tensor : (*file)->getTensors()) // what was accepted can be read, or says why not
        if (tensor.problem.empty())
          EXPECT_EQ(llvm::cantFail((*file)->read(tensor)).size(), tensor.count());
        else
          EXPECT_HAS(llvm::toString((*file)->read(tensor).takeError()), "has the unknown dtype");
    }
}

TEST(Safetensors, ManyTensors) {
  std::string header = "{";
  for (int i = 0; i < 50000; ++i) // minutes, if the time were quadratic
    header += llvm::formatv(R"({0}"w.{1}":{{"dtype":"U8","shape":[1],"data_offsets":[{1},{2}]})", i ? "," : "", i, i + 1).str();
  auto file = SafetensorsFile::parse("t", makeFile(header + "}", std::string(50000, 'x')));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ((*file)->getTensors().size(), 50000u);
}

TEST(Safetensors, ListsWhatItCannotRead) {
  std::string bytes = makeFile(R"({"a":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})",
                               "123\4");
  auto file = SafetensorsFile::parse("t", bytes);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(llvm::cantFail((*file)->read(*(*file)->find("b"))).ints, (std::vector<int64_t>{4}));
  EXPECT_EQ(llvm::toString((*file)->read(*(*file)->find("a")).takeError()), "t: tensor 'a' has the unknown dtype 'F8_E4M3'");
  EXPECT_HAS(errorOf(R"({"a":{"dtype":"F9","shape":[1],"data_offsets":[0,9]}})", "1234"), "holds 4 bytes");
}

TEST(Safetensors, NamesWhatIsWrong) {
  EXPECT_HAS(errorOf("[1]", ""), "its header is no JSON object");
  EXPECT_HAS(errorOf("{\"a\"", ""), "its header is no JSON object");
  EXPECT_HAS(errorOf(std::string(100000, '['), ""), "its header is no JSON object");
  EXPECT_HAS(errorOf("{\n\"a\",", ""), "its header is no JSON object: parse error at line 2, column 4: ");
  EXPECT_HAS(errorOf(R"({"a":3})", ""), "'a' is not described");
  EXPECT_HAS(errorOf(R"({"a":[]})", ""), "'a' is not described");
  EXPECT_HAS(errorOf(R"({"a":)" + std::string(1 << 20, '['), ""), "'a' is not described");
  EXPECT_HAS(errorOf(R"({"a":{"dtype":"F32"}})", ""), "'a' lacks");
  EXPECT_HAS(errorOf(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234"), "natural number");
  EXPECT_HAS(errorOf(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", "1234"), "natural number");
  EXPECT_HAS(errorOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,-4]}})", "1234"), "natural numbers");
  EXPECT_HAS(errorOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "1234"), "data_offsets [4, 0]");
  EXPECT_HAS(errorOf(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234"), "needs 8 bytes");
  EXPECT_HAS(errorOf(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "1234"), "holds 4 bytes");
  EXPECT_HAS(errorOf(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", "1234"), "larger than any memory");
  EXPECT_HAS(errorOf(R"({"a":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4]}})", "1234"), "natural number");
  EXPECT_HAS(errorOf(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})", "1234"),
             "'a' and 'b' overlap");
  EXPECT_HAS(errorOf(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})", "1234"),
             "bytes 1 to 2");
  EXPECT_HAS(errorOf(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "1234"),
             "'a' is there twice");
  EXPECT_HAS(errorOf(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)), "header should have 18446744073709551615 bytes");
  EXPECT_HAS(errorOf("{\"a\xff\":{}}", ""), "its header is no JSON object"); // invalid UTF-8
}

TEST(Safetensors, LeavesOutWhatItDoesNotKnow) {
  std::string before = R"({"__metadata__":{"x":[1,2],"y":{"shape":1},"shape":[-1]},"a":{"note":{"z":1},"notes":[null,"",-1.5],)";
  const std::string behind = R"("dtype":"U8","shape":[4],"data_offsets":[0,4]})", last = R"(,"__metadata__":{"x":[1]}})";
  EXPECT_EQ(errorOf(before + behind + "}", "1234"), "");
  EXPECT_EQ(errorOf("{\"a\":{" + behind + last, "1234"), "");
  EXPECT_HAS(errorOf(before + behind + last, "1234"), "'__metadata__' is there twice");
  EXPECT_HAS(errorOf(before + R"("shape":[4],)" + behind + "}", "1234"), "tensor 'a' has its shape twice");
  for (const char *deep : {R"({"__metadata__":{"x":[[]]}})", R"({"a":{"x":{"y":[]}}})"})
    EXPECT_HAS(errorOf(deep, ""), "its header is nested too deeply");
  EXPECT_HAS(errorOf(R"({"a":{"shape":[[]]}})", ""), "natural number");
  EXPECT_HAS(errorOf(R"({"a":{"shape":{}}})", ""), "'a' lacks");
  EXPECT_HAS(errorOf(R"({"a":{"data_offsets":[0,0,0]}})", ""), "'a' lacks");
  auto ones = [&](int count) {
    std::string dims = "1";
    for (int i = 1; i < count; ++i)
      dims += ",1";
    return errorOf(R"({"a":{"dtype":"U8","shape":[)" + dims + R"(],"data_offsets":[0,1]}})", "1");
  };
  EXPECT_EQ(ones(64), "");
  EXPECT_HAS(ones(65), "tensor 'a' has more than 64 dimensions");
}

TEST(Safetensors, NamesFilesThatCannotBeRead) {
  auto missing = openTensorFile("/nowhere/x.safetensors");
  ASSERT_FALSE(bool(missing));
  EXPECT_HAS(llvm::toString(missing.takeError()), "/nowhere/x.safetensors: No such file");
  auto folder = openTensorFile("/tmp");
  ASSERT_FALSE(bool(folder));
  EXPECT_HAS(llvm::toString(folder.takeError()), "not a regular file");
  std::string path = testing::TempDir() + "xf-pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  auto pipe = openTensorFile(path);
  std::remove(path.c_str());
  ASSERT_FALSE(bool(pipe));
  EXPECT_HAS(llvm::toString(pipe.takeError()), "not a regular file");
}

TEST(Safetensors, SaysThatAFileWasCutShort) {
  std::string path = testing::TempDir() + "xf-cut.safetensors";
  ASSERT_FALSE(bool(writeSafetensors(path, {{"x", Tensor::ofFloats({4096}, std::vector<double>(4096))}})));
  auto file = openTensorFile(path);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  std::filesystem::resize_file(path, 5000); // while it is open
  EXPECT_EQ(llvm::toString((*file)->read(*(*file)->find("x")).takeError()), path + ": was cut short while it was read");
  std::filesystem::remove(path);
}

TEST(Safetensors, WritesWhatItReads) {
  std::string path = testing::TempDir() + "xf-roundtrip.safetensors";
  TensorMap tensors{{"in.x", Tensor::ofFloats({2, 2}, {1, -2.5, 3, NAN})},
                    {"in.ids", Tensor::ofInts({3}, {1, -1, int64_t(1) << 40})},
                    {"keep", Tensor::ofInts({2}, {0, 1}, Tensor::Kind::Bool)},
                    {"none", Tensor::ofFloats({0, 4}, {})}};
  ASSERT_FALSE(bool(writeSafetensors(path, tensors)));
  auto file = openTensorFile(path);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  for (const auto &[name, tensor] : tensors) {
    const TensorInfo *info = (*file)->find(name);
    ASSERT_NE(info, nullptr);
    Tensor back = llvm::cantFail((*file)->read(*info));
    EXPECT_EQ(back.shape, tensor.shape);
    EXPECT_EQ(back.kind, tensor.kind);
    EXPECT_EQ(back.ints, tensor.ints);
    EXPECT_EQ(back.floats.size(), tensor.floats.size());
  }
  EXPECT_EQ((*file)->find("absent"), nullptr);
  std::filesystem::remove(path);
  EXPECT_HAS(llvm::toString(writeSafetensors("/nowhere/x", tensors)), "/nowhere/x");
  EXPECT_HAS(llvm::toString(writeSafetensors("/dev/full", tensors)), "/dev/full: No space left on device");
}

} // namespace
