// Binding checkpoints to modules: what fits, and that every problem is told at once.
#include "compiler/Import/Checkpoint.h"
#include "compiler/Import/Safetensors.h"
#include "test/Import/Modules.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace xf;
using mlir::xf::ParameterOp;

namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

class CheckpointTest : public testing::Test, protected Modules {
protected:
  std::string path = testing::TempDir() + "xf-checkpoint-" + std::to_string(getpid()) + ".safetensors";
  ~CheckpointTest() override { std::filesystem::remove(path); }

  llvm::Expected<std::unique_ptr<Checkpoint>> open(mlir::ModuleOp module, const TensorMap &tensors, std::vector<std::string> ignore = {}) {
    if (llvm::Error error = writeSafetensors(path, tensors))
      return std::move(error);
    return Checkpoint::open({path}, module, ignore);
  }
  std::string errorOf(mlir::ModuleOp module, const TensorMap &tensors, std::vector<std::string> ignore = {}) {
    auto checkpoint = open(module, tensors, ignore);
    return checkpoint ? "" : llvm::toString(checkpoint.takeError());
  }
};

const char *layers = R"(
  xf.parameter @w : tensor<2x3xf32> path "layers.{0}.heads.{1}.weight" counts [2, 2]
  xf.parameter @b : tensor<2xf32> path "bias"
)";

TensorMap layerTensors() {
  TensorMap tensors{{"bias", Tensor::ofFloats({2}, {1, 2})}};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      tensors["layers." + std::to_string(i) + ".heads." + std::to_string(j) + ".weight"] = Tensor::ofFloats({2, 3},
                                                                                                            std::vector<double>(6, 10 * i + j));
  return tensors;
}

TEST_F(CheckpointTest, ReadsByIndex) {
  auto module = parse(layers);
  auto checkpoint = open(*module, layerTensors());
  ASSERT_TRUE(bool(checkpoint)) << llvm::toString(checkpoint.takeError());
  std::vector<float> out(6);
  ASSERT_FALSE(bool((*checkpoint)->read(module->lookupSymbol<ParameterOp>("w"), {1, 0}, 0, out)));
  EXPECT_EQ(out, std::vector<float>(6, 10));
}

TEST_F(CheckpointTest, ReadsInPieces) {
  auto module = parse(R"(
    xf.parameter @w : tensor<2x3xf32> path "w"
    xf.parameter @t : tensor<2x3xf32> path "t" {
    ^bb0(%i: index, %j: index):
      %j32 = arith.index_cast %j : index to i32
      %v = arith.sitofp %j32 : i32 to f64
      xf.yield %v : f64
    }
  )");
  auto checkpoint = open(*module, {{"w", Tensor::ofFloats({2, 3}, {1, 2, 3, 4, 5, 6})}});
  ASSERT_TRUE(bool(checkpoint)) << llvm::toString(checkpoint.takeError());
  std::vector<float> out(3);
  auto w = module->lookupSymbol<ParameterOp>("w");
  for (float first : {0, 2, 3, 1}) { // in any order
    ASSERT_FALSE(bool((*checkpoint)->read(w, {}, static_cast<int64_t>(first), out)));
    EXPECT_EQ(out, (std::vector<float>{first + 1, first + 2, first + 3}));
  }
  EXPECT_HAS(llvm::toString((*checkpoint)->read(w, {}, 4, out)), "no tensor for 'w'");
  ASSERT_FALSE(bool((*checkpoint)->read(module->lookupSymbol<ParameterOp>("t"), {}, 1, out)));
  EXPECT_EQ(out, (std::vector<float>{1, 2, 0}));
}

TEST_F(CheckpointTest, TellsAllProblems) {
  auto module = parse(layers);
  TensorMap tensors = layerTensors();
  tensors.erase("layers.0.heads.1.weight");
  tensors["layers.1.heads.0.weight"] = Tensor::ofFloats({3, 2}, std::vector<double>(6));
  tensors["layers.1.heads.1.weight"].floats[4] = NAN;
  tensors["bias"] = Tensor::ofInts({2}, {1, 2});
  tensors["extra"] = Tensor::ofInts({1}, {1});
  tensors["buffers.mask"] = Tensor::ofInts({1}, {1});
  std::string error = errorOf(*module, tensors, {"buffers.*"});
  EXPECT_HAS(error, path);
  EXPECT_HAS(error, "4 tensors do not fit");
  EXPECT_HAS(error, "'layers.0.heads.1.weight' of shape [2, 3] is missing");
  EXPECT_HAS(error, "'layers.1.heads.0.weight' has shape [3, 2], but the model needs [2, 3]");
  EXPECT_HAS(error, "'bias' has dtype I64, but the model needs F64, F32, F16 or BF16");
  EXPECT_HAS(error, "'extra' of shape [1] is not used");
  EXPECT_EQ(error.find("buffers"), std::string::npos);
  // Values are looked at when all else is right.
  tensors = layerTensors();
  tensors["layers.1.heads.1.weight"].floats[4] = NAN;
  tensors["bias"].floats[0] = INFINITY;
  error = errorOf(*module, tensors);
  EXPECT_HAS(error, "2 tensors do not fit");
  EXPECT_HAS(error, "'layers.1.heads.1.weight' holds nan at [1, 1]");
  EXPECT_HAS(error, "'bias' holds inf at [0]");
}

TEST_F(CheckpointTest, IgnoresByNameWithStarsOnly) {
  auto module = parse(layers);
  for (const char *name : {"ema[0].w", "[a", "a]", "{a,b}", "a\\b", "!", "a*b", "a?b"}) {
    TensorMap tensors = layerTensors();
    tensors[name] = Tensor::ofInts({1}, {1});
    EXPECT_HAS(errorOf(*module, tensors), std::string("(--ignore '") + name + "' accepts it)");
    EXPECT_EQ(errorOf(*module, tensors, {name}), "");
    EXPECT_EQ(errorOf(*module, tensors, {"*" + std::string(name).substr(1)}), "");
    EXPECT_EQ(errorOf(*module, tensors, {"?" + std::string(name).substr(1)}), "");
    EXPECT_NE(errorOf(*module, tensors, {std::string(name) + "."}), "");
  }
  TensorMap tensors = layerTensors();
  tensors["ema0.w"] = Tensor::ofInts({1}, {1});
  EXPECT_NE(errorOf(*module, tensors, {"ema[0].w"}), "");
}

TEST_F(CheckpointTest, TakesDoubles) {
  auto module = parse(R"(xf.parameter @w : tensor<2xf32> path "w")");
  std::string header = R"({"w":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})";
  uint64_t size = header.size();
  double values[] = {1.0 / 3, -2};
  std::string bytes(reinterpret_cast<const char *>(&size), sizeof(size));
  bytes += header + std::string(reinterpret_cast<const char *>(values), sizeof(values));
  auto bind = [&] { return Checkpoint::bind(llvm::cantFail(SafetensorsFile::parse("doubles", bytes)), *module, {}); };
  auto checkpoint = bind();
  ASSERT_TRUE(bool(checkpoint)) << llvm::toString(checkpoint.takeError());
  std::vector<float> out(2);
  ASSERT_FALSE(bool((*checkpoint)->read(module->lookupSymbol<ParameterOp>("w"), {}, 0, out)));
  EXPECT_EQ(out, (std::vector<float>{1.0f / 3, -2}));
  double large = 1e300;
  std::memcpy(bytes.data() + bytes.size() - sizeof(large), &large, sizeof(large));
  auto refused = bind();
  ASSERT_FALSE(bool(refused));
  EXPECT_HAS(llvm::toString(refused.takeError()), "'w' holds inf at [1] (as f32)");
}

/// Tensors that are 0, but for some that cannot be read.
struct PartlyReadable : TensorFile {
  int &readings;
  PartlyReadable(const std::string &path, const std::vector<TensorInfo> &tensors, int &readings) : TensorFile(path), readings(readings) {
    for (const TensorInfo &tensor : tensors)
      add(tensor);
  }
  llvm::Error readStorage(size_t, uint64_t, llvm::MutableArrayRef<char> out) const override {
    ++readings;
    llvm::fill(out, 0);
    return llvm::Error::success();
  }
};

TEST_F(CheckpointTest, NamesWhatCannotBeReadIfItMatters) {
  auto module = parse(R"(
    xf.parameter @v : tensor<2xf32> path "v"
    xf.parameter @w : tensor<2xf32> path "w.{0}" counts [3]
  )");
  TensorInfo v{"v", DType::F32, {2}, 0, 8}, note{"note", DType::U8, {}, 0, 0, "is no array", false};
  auto message = [&](const std::vector<TensorInfo> &tensors, std::vector<std::string> ignore = {}) {
    int readings = 0;
    auto checkpoint = Checkpoint::bind(std::make_unique<PartlyReadable>("file", tensors, readings), *module, ignore);
    EXPECT_EQ(readings, checkpoint ? 4 : 0); // of tensors
    return checkpoint ? "" : llvm::toString(checkpoint.takeError());
  };
  std::vector<TensorInfo> tensors{v, note, {"names", DType::U8, {5}, 0, 0, "is text"}};
  for (int i = 0; i < 3; ++i)
    tensors.push_back({"w." + std::to_string(i), DType::F32, {2}, 0, 8});
  EXPECT_EQ(message(tensors, {"n*"}), "");
  EXPECT_EQ(message(tensors), "file: 2 tensors do not fit the model:\n"
                              "  tensor 'note' is not used by the model (--ignore 'note' accepts it)\n"
                              "  tensor 'names' of shape [5] is not used by the model (--ignore 'names' accepts it)");
  for (int i : {3, 4, 5})
    tensors[i].problem = "is big-endian";
  tensors[4].shape = {3};
  tensors[5].shape = {};
  tensors[5].shapeKnown = false;
  tensors[0].shape = {1, 2};
  EXPECT_EQ(message(tensors, {"n*", "w*"}), "file: 4 tensors do not fit the model:\n"
                                            "  tensor 'v' has shape [1, 2], but the model needs [2]\n"
                                            "  tensor 'w.0' is big-endian\n"
                                            "  tensor 'w.1' is big-endian (and has shape [3], but the model needs [2])\n"
                                            "  tensor 'w.2' is big-endian");
}

TEST_F(CheckpointTest, NamesTheWholesOwner) {
  auto module = parse(layers);
  TensorMap tensors{{"head.weight", Tensor::ofFloats({1}, {1})}};
  for (auto &[name, tensor] : layerTensors())
    tensors["model.encoder." + name] = tensor;
  std::string error = errorOf(*module, tensors);
  EXPECT_HAS(error, "5 tensors that the model needs are there under 'model.encoder.' only, the first as 'model.encoder.layers.0.heads.0.weight'");
  EXPECT_EQ(error.find("head.weight'"), std::string::npos) << error;
  tensors.erase("model.encoder.bias");
  EXPECT_HAS(errorOf(*module, tensors), "'bias' of shape [2] is missing");
}

TEST_F(CheckpointTest, NamesAFewOfManyProblems) {
  auto module = parse(R"(xf.parameter @w : tensor<2xf32> path "w.{0}" counts [50])");
  std::string error = errorOf(*module, {});
  EXPECT_HAS(error, "50 tensors do not fit");
  EXPECT_HAS(error, "'w.19' of shape [2] is missing\n  and 30 more");
  EXPECT_EQ(error.find("'w.20'"), std::string::npos) << error;
}

TEST_F(CheckpointTest, ReadsSeveralFiles) {
  auto module = parse(layers);
  TensorMap first = layerTensors(), second{*first.find("bias")};
  first.erase("bias");
  std::string other = path + ".2", index = path + ".index.json", folder = std::filesystem::path(path).parent_path();
  auto write = [&](const TensorMap &a, const TensorMap &b) {
    EXPECT_FALSE(bool(writeSafetensors(path, a)));
    EXPECT_FALSE(bool(writeSafetensors(other, b)));
  };
  auto message = [&](const std::vector<std::string> &paths) {
    auto checkpoint = Checkpoint::open(paths, *module);
    return checkpoint ? "" : llvm::toString(checkpoint.takeError());
  };
  auto indexed = [&](const std::string &text) {
    std::ofstream(index) << text;
    return message({index});
  };
  write(first, second);
  EXPECT_EQ(message({path, other}), "");
  EXPECT_HAS(message({path}), "'bias' of shape [2] is missing");
  auto name = [](const std::string &file) { return std::filesystem::path(file).filename().string(); };
  EXPECT_EQ(indexed(R"({"weight_map": {"bias": ")" + name(other) + R"(", "layers.0.heads.0.weight": ")" + name(path) + R"("}})"), "");
  EXPECT_HAS(indexed(R"({"weight_map": {"bias": "nowhere"}})"), folder + "/nowhere: No such file");
  EXPECT_HAS(indexed(R"({"weight_map": {"bias": 3}})"), "'bias' has no file's name");
  EXPECT_HAS(indexed("{}"), "it has no 'weight_map'");
  EXPECT_HAS(indexed("[1]"), index + ": is no JSON object");
  EXPECT_HAS(indexed("{\"weight_map\": {\n  \"bias\": \"x\",\n}}"),
             index + ": is no JSON object: parse error at line 3, column 1: syntax error while parsing object key - unexpected '}'");
  std::filesystem::remove(index);
  ASSERT_EQ(mkfifo(index.c_str(), 0600), 0);
  EXPECT_EQ(message({index}), index + ": not a regular file");
  std::filesystem::remove(index);
  first.insert(*second.begin());
  first["bias"].floats[0] = 5;
  write(first, second);
  // The index says which of both counts.
  for (auto [file, want] : {std::pair(other, 1.f), std::pair(path, 5.f)}) {
    std::ofstream(index) << R"({"weight_map": {"layers.0.heads.0.weight": ")" + name(path) + R"(", "extra": ")" + name(other) + R"(", "bias": ")" +
                                name(file) + R"("}})";
    auto checkpoint = Checkpoint::open({index}, *module);
    ASSERT_TRUE(bool(checkpoint)) << llvm::toString(checkpoint.takeError());
    float value = 0;
    ASSERT_FALSE(bool((*checkpoint)->read(module->lookupSymbol<ParameterOp>("b"), {}, 0, value)));
    EXPECT_EQ(value, want);
  }
  EXPECT_HAS(message({path, other}), "tensor 'bias' is in " + path + " and in " + other);
  EXPECT_HAS(message({path, path}), "is in " + path + " and in " + path);
  std::filesystem::remove(other);
  std::filesystem::remove(index);
}

const char *table = R"(
  xf.parameter @position : tensor<4x2xf32> path "encoder.pe" {
  ^bb0(%p: index, %i: index):
    %pi = arith.index_cast %p : index to i64
    %ii = arith.index_cast %i : index to i64
    %pf = arith.sitofp %pi : i64 to f64
    %if = arith.sitofp %ii : i64 to f64
    %ten = arith.constant 10.0 : f64
    %a = arith.mulf %pf, %ten : f64
    %v = arith.addf %a, %if : f64
    xf.yield %v : f64
  }
)";

TEST_F(CheckpointTest, ComputesOrTakesTables) {
  auto module = parse(table);
  auto position = module->lookupSymbol<ParameterOp>("position");
  auto readWith = [&](const TensorMap &tensors) {
    std::vector<float> out(8);
    auto checkpoint = open(*module, tensors);
    if (!checkpoint)
      ADD_FAILURE() << llvm::toString(checkpoint.takeError());
    else
      EXPECT_FALSE(bool((*checkpoint)->read(position, {}, 0, out)));
    return out;
  };
  EXPECT_EQ(readWith({}), (std::vector<float>{0, 1, 10, 11, 20, 21, 30, 31}));
  std::vector<double> stored{9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  std::vector<float> first(stored.begin(), stored.begin() + 8);
  EXPECT_EQ(readWith({{"encoder.pe", Tensor::ofFloats({1, 5, 2}, stored)}}), first);
  EXPECT_EQ(readWith({{"encoder.pe", Tensor::ofFloats({5, 1, 2}, stored)}}), first);
  EXPECT_HAS(errorOf(*module, {{"encoder.pe", Tensor::ofFloats({3, 2}, std::vector<double>(6))}}), "has shape [3, 2], but the model needs [4, 2]");
  EXPECT_HAS(errorOf(*module, {{"encoder.pe", Tensor::ofFloats({2, 5}, stored)}}), "has shape [2, 5]");
}

TEST_F(CheckpointTest, RoundsToTheDeclaredType) {
  auto module = parse(R"(
    xf.parameter @h : tensor<2xbf16> path "h"
    xf.parameter @f : tensor<2xf16> path "f"
  )");
  auto checkpoint = open(*module, {{"h", Tensor::ofFloats({2}, {1.00390625, 1.01171875})}, {"f", Tensor::ofFloats({2}, {1.0 / 3, 65504})}});
  ASSERT_TRUE(bool(checkpoint)) << llvm::toString(checkpoint.takeError());
  std::vector<float> out(2);
  ASSERT_FALSE(bool((*checkpoint)->read(module->lookupSymbol<ParameterOp>("h"), {}, 0, out)));
  EXPECT_EQ(out, (std::vector<float>{1.0f, 1.015625f})); // ties to even
  ASSERT_FALSE(bool((*checkpoint)->read(module->lookupSymbol<ParameterOp>("f"), {}, 0, out)));
  EXPECT_EQ(out[0], 0.333251953125f);
  EXPECT_HAS(errorOf(*module, {{"h", Tensor::ofFloats({2}, {0, 0})}, {"f", Tensor::ofFloats({2}, {0, 70000})}}), "'f' holds inf at [1]");
}

} // namespace
