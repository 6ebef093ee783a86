// The derived step, a few positions at a time, gives what the whole decoder gives: on the modules of derive-step.mlir.
#include "compiler/Import/RandomWeights.h"
#include "compiler/Reference/Interpreter.h"
#include "compiler/Transforms/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <random>

using namespace xf;
using mlir::xf::EntryOp;

namespace {
constexpr int64_t kRows = 3, kSource = 5, kTarget = 7, kVocabulary = 11;

struct Decoder {
  Decoder(llvm::StringRef text, bool canonical) {
    context.loadDialect<mlir::xf::XfDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    mlir::PassManager passes(&context);
    if (canonical) { // constants leave the regions of masks
      passes.addPass(mlir::createCanonicalizerPass());
      passes.addPass(mlir::createCSEPass());
    }
    passes.addPass(createXfDeriveStep());
    EXPECT_TRUE(module && mlir::succeeded(passes.run(*module)));
    interpreter = std::make_unique<Interpreter>(*module, weights, Precision::F64);
  }

  TensorMap run(llvm::StringRef entry, const TensorMap &inputs, State *state = nullptr) {
    auto results = interpreter->run(entry, inputs, state);
    if (results)
      return *results;
    ADD_FAILURE() << entry.str() << ": " << llvm::toString(results.takeError());
    return {};
  }

  /// Random inputs of decode. Pad tokens (0) may stand anywhere but in front.
  TensorMap randomInputs(EntryOp decode) {
    std::mt19937 random(7);
    TensorMap inputs;
    for (unsigned i = 0; i < decode.getArgumentTypes().size(); ++i) {
      auto type = llvm::cast<mlir::RankedTensorType>(decode.getArgumentTypes()[i]);
      Tensor tensor;
      for (unsigned d = 0; d < type.getRank(); ++d) {
        llvm::StringRef name = mlir::xf::getDimName(type, d);
        tensor.shape.push_back(name == "B" ? kRows : name == "S" ? kSource : name == "T" ? kTarget : type.getDimSize(d));
      }
      bool tokens = type.getElementType().isInteger(32);
      tensor.kind = tokens ? Tensor::Kind::Int : Tensor::Kind::Float;
      int64_t batch = mlir::xf::getDimName(type, 0) == "B" ? 0 : 1;
      for (int64_t k = 0; k < tensor.size(); ++k) {
        int64_t position = batch == 0 ? k % tensor.shape[1] : k / tensor.shape[1];
        if (tokens)
          tensor.ints.push_back(position == 0 ? 1 + random() % (kVocabulary - 1) : random() % kVocabulary);
        else
          tensor.floats.push_back(std::uniform_real_distribution<double>(-1, 1)(random));
      }
      inputs[decode.getArgName(i).str()] = std::move(tensor);
    }
    return inputs;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  RandomWeights weights{3};
  std::unique_ptr<Interpreter> interpreter;
};

/// The index of row b's position t in a tensor of tokens or logits.
int64_t at(int64_t b, int64_t t, int64_t positions, bool sequenceFirst) { return sequenceFirst ? t * kRows + b : b * positions + t; }

class DeriveStep : public testing::TestWithParam<std::tuple<int, bool>> {};

TEST_P(DeriveStep, AgreesWithTheWholeDecoder) {
  auto file = llvm::MemoryBuffer::getFile(XF_TEST_DIR "/derive-step.mlir");
  ASSERT_TRUE(bool(file));
  llvm::SmallVector<llvm::StringRef> modules;
  (*file)->getBuffer().split(modules, "// -----");
  auto [number, canonical] = GetParam();
  ASSERT_LT(static_cast<size_t>(number), modules.size());
  Decoder decoder(modules[number], canonical);
  auto generate = (*decoder.module)->getAttrOfType<mlir::DictionaryAttr>(mlir::xf::kGenerateAttr);
  ASSERT_TRUE(generate.contains("step"));
  bool sequenceFirst = generate.contains("sequence_first");
  TensorMap inputs = decoder.randomInputs(decoder.module->lookupSymbol<EntryOp>("decode"));
  Tensor whole = decoder.run("decode", inputs)["logits"], tokens = inputs["tgt"];
  ASSERT_EQ(whole.shape.size(), 3u);
  int64_t width = whole.shape[2];

  // Each call's past positions of every row, and how many are new. The last ones go back, each row to another place.
  struct Call {
    std::vector<int64_t> past;
    int64_t count;
  };
  std::vector<Call> calls;
  for (auto [past, count] : std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {0, 3}, {3, 1}, {4, 3}})
    calls.push_back({{past, past, past}, count});
  if (number < 2) { // what a recurrence holds cannot be taken back
    calls.push_back({{5, 1, 3}, 2});
    calls.push_back({{0, 6, 2}, 1});
  }
  Tensor slots = Tensor::ofInts({kRows}, {2, 0, 1});
  inputs["xf.slots"] = slots;
  State state;
  if (generate.contains("begin"))
    decoder.run("decode.begin", inputs, &state);
  for (const Call &call : calls) {
    Tensor fresh = Tensor::ofInts(sequenceFirst ? std::vector{call.count, kRows} : std::vector{kRows, call.count}, {});
    fresh.ints.resize(fresh.size());
    for (int64_t b = 0; b < kRows; ++b)
      for (int64_t n = 0; n < call.count; ++n)
        fresh.ints[at(b, n, call.count, sequenceFirst)] = tokens.ints[at(b, call.past[b] + n, kTarget, sequenceFirst)];
    Tensor logits = decoder.run("decode.step", {{"tgt", fresh}, {"xf.past", Tensor::ofInts({kRows}, call.past)}, {"xf.slots", slots}},
                                &state)["logits"];
    ASSERT_EQ(logits.size(), kRows * call.count * width);
    for (int64_t b = 0; b < kRows; ++b)
      for (int64_t n = 0; n < call.count; ++n)
        for (int64_t c = 0; c < width; ++c)
          EXPECT_NEAR(logits.floats[at(b, n, call.count, sequenceFirst) * width + c],
                      whole.floats[at(b, call.past[b] + n, kTarget, sequenceFirst) * width + c], 1e-12)
              << "row " << b << ", position " << call.past[b] + n << ", column " << c;
  }
}

INSTANTIATE_TEST_SUITE_P(Modules, DeriveStep, testing::Combine(testing::Values(0, 1, 2, 3, 4), testing::Bool()));
} // namespace
