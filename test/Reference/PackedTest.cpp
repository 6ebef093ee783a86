// Entries of kind packed, interpreted: sentences behind each other give, bit for bit, what each gives alone.
#include "compiler/Import/RandomWeights.h"
#include "compiler/Pipelines/Pipelines.h"
#include "test/Reference/Models.h"

#include "mlir/Pass/PassManager.h"

using namespace xf;
using mlir::xf::EntryOp;

namespace {

struct Case {
  const char *name, *file, *settings;
  FactorType type = FactorType::f32;
};

const Case cases[] = {
    {"seed3", "seed3/seed3.xf", "src_vocab=40 trg_vocab=33 d_model=16 heads=4 n=3 d_ff=20"},
    {"antibody", "anarcii-antibody/anarcii-antibody.xf", "HID_DIM=16 LAYERS=2 HEADS=4"},
    {"g2p", "g2p/g2p.xf", "d_model=24 heads=3 d_ff=20 encoder_layers=2"},
    {"g2p_int8", "g2p/g2p.xf", "d_model=24 heads=3 d_ff=20 encoder_layers=2", FactorType::int8},
    {"g2p_bf16", "g2p/g2p.xf", "d_model=24 heads=3 d_ff=20 encoder_layers=2", FactorType::bf16},
    {"tagger", "tagger/tagger.xf", "vocab_size=40 hidden_size=16 num_attention_heads=4 num_hidden_layers=2 intermediate_size=20 num_labels=5"},
    {"classifier", "classifier/classifier.xf",
     "vocab_size=40 hidden_size=16 num_attention_heads=4 num_hidden_layers=2 intermediate_size=20 num_labels=5"},
};

using Sentence = std::vector<int64_t>;
const std::vector<Sentence> sentences = {{5, 9, 3, 7, 11, 13, 4}, {8}, {6, 7, 5, 3}, {9, 2, 2}};

class Packed : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    const Case &c = GetParam();
    FrontendOptions options;
    llvm::SmallVector<llvm::StringRef> settings;
    llvm::StringRef(c.settings).split(settings, ' ');
    for (llvm::StringRef setting : settings)
      options.set.push_back({setting.split('=').first.str(), setting.split('=').second.str()});
    std::string path = std::string(XF_SOURCE_DIR) + "/test/models/" + c.file, messages;
    llvm::raw_string_ostream stream(messages);
    module = compileDescription(context, path, readText(path), options, stream);
    ASSERT_TRUE(module) << messages;
    mlir::PassManager passes(&context);
    buildStepPipeline(passes);
    buildKernelPipeline(passes, c.type);
    ASSERT_TRUE(mlir::succeeded(passes.run(*module)));
    for (llvm::StringRef name : {mlir::xf::kGenerateAttr, mlir::xf::kPredictAttr})
      if (auto members = (*module)->getAttrOfType<mlir::DictionaryAttr>(name))
        roles = members;
  }

  std::string entryName(llvm::StringRef role) {
    auto symbol = roles.getAs<mlir::FlatSymbolRefAttr>(role);
    return symbol ? symbol.getValue().str() : "";
  }
  EntryOp entryOf(llvm::StringRef role) { return module->lookupSymbol<EntryOp>(entryName(role)); }

  /// The tokens of a source have the first input's name.
  TensorMap inputsFor(llvm::ArrayRef<Sentence> group, llvm::StringRef tokens) {
    int64_t count = group.size(), longest = 0;
    for (const Sentence &sentence : group)
      longest = std::max<int64_t>(longest, sentence.size());
    auto pad = roles.getAs<mlir::IntegerAttr>("pad");
    Sentence padded, packed, positions, spans, slots;
    for (const Sentence &sentence : group) {
      slots.push_back(slots.size());
      spans.push_back(packed.size());
      spans.push_back(sentence.size());
      for (int64_t i = 0; i < longest; ++i)
        padded.push_back(i < int64_t(sentence.size()) ? sentence[i] : pad.getInt());
      for (size_t i = 0; i < sentence.size(); ++i)
        positions.push_back(i);
      packed.insert(packed.end(), sentence.begin(), sentence.end());
    }
    int64_t all = packed.size();
    TensorMap values;
    values[tokens.str()] = Tensor::ofInts({count, longest}, padded);
    values["xf.tokens"] = Tensor::ofInts({1, all}, packed);
    values["xf.positions"] = Tensor::ofInts({all}, positions);
    values["xf.spans"] = Tensor::ofInts({count, 2}, spans);
    values["xf.slots"] = Tensor::ofInts({count}, slots);
    return values;
  }

  /// Runs the entry of a role; its results are inputs of those that come later.
  TensorMap run(llvm::StringRef role, TensorMap &values, State *state = nullptr) {
    Interpreter interpreter(*module, weights, Precision::F32);
    auto results = interpreter.run(entryName(role), values, state);
    EXPECT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
    if (!results)
      return {};
    for (auto &[name, tensor] : *results)
      values.insert_or_assign(name, tensor);
    return *results;
  }

  /// Of each row's first new position.
  std::vector<double> logits(TensorMap values, State &state, int64_t rows) {
    values[roles.getAs<mlir::StringAttr>("tokens").str()] = Tensor::ofInts({rows, 1}, Sentence(rows, 1));
    values["xf.past"] = Tensor::ofInts({rows}, Sentence(rows, 0));
    TensorMap results = run("step", values, &state);
    return results[roles.getAs<mlir::StringAttr>("logits").str()].floats;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::DictionaryAttr roles;
  RandomWeights weights{5};
};

TEST_P(Packed, SentencesGiveWhatEachGivesAlone) {
  bool generates = !entryName("step").empty();
  llvm::StringRef full = generates ? "encode" : "entry", packed = generates ? "packed_encode" : "packed";
  ASSERT_TRUE(entryOf(packed));
  ASSERT_EQ(entryOf(packed).getKind(), mlir::xf::EntryKind::packed);
  llvm::StringRef tokens = entryOf(full).getArgName(0);
  TensorMap together = inputsFor(sentences, tokens);
  TensorMap got = run(packed, together);
  State state;
  std::vector<double> allLogits;
  if (generates) {
    run("packed_begin", together, &state);
    allLogits = logits(together, state, sentences.size());
  }
  for (auto [b, sentence] : llvm::enumerate(sentences)) {
    TensorMap alone = inputsFor(sentence, tokens);
    for (auto &[name, want] : run(full, alone)) {
      const Tensor &all = got[name];
      int64_t first = want.shape.size() == 3 ? together["xf.spans"].ints[2 * b] * want.shape.back() : b * want.shape.back();
      ASSERT_LE(first + want.size(), all.size());
      EXPECT_EQ(std::vector<double>(all.floats.begin() + first, all.floats.begin() + first + want.size()), want.floats) << name << ", sentence " << b;
    }
    if (!generates)
      continue;
    State own;
    run("begin", alone, &own);
    std::vector<double> want = logits(alone, own, 1);
    EXPECT_EQ(std::vector<double>(allLogits.begin() + b * want.size(), allLogits.begin() + (b + 1) * want.size()), want) << "sentence " << b;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Packed, testing::ValuesIn(cases), [](const auto &info) { return std::string(info.param.name); });

} // namespace
