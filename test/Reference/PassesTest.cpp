// Every pass of the pipelines keeps what a model computes: the IR after each one is interpreted in f64 and compared with
// the model IR. Entries run whole, and the derived step a few positions at a time. A type of fewer bits changes what is
// computed, a little and at two places: what follows is compared with the IR there.
#include "compiler/Import/RandomWeights.h"
#include "compiler/Pipelines/Pipelines.h"
#include "test/Reference/Models.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"

#include <random>

using namespace xf;
using mlir::xf::EntryOp;

namespace {

constexpr int64_t kRows = 2;
/// What bytes may change, norm-wise, in models whose rows are far shorter than real ones.
constexpr double kQuantizationError = 0.1;

struct Case {
  const char *name, *file, *model, *settings; // settings: NAME=VALUE separated by blanks
  FactorType type = FactorType::f32;
};

const Case cases[] = {
    {"seed0", "seed0/seed0.xf", "", "vocab=40 d_model=16 h=4"},
    {"seed1_post", "seed1/seed1.xf", "", "vocab=40 d_model=16 h=2 layers=2 d_ff=24"},
    {"seed1_pre", "seed1/seed1.xf", "", "vocab=40 d_model=16 h=2 layers=2 d_ff=24 norm_first=true activation=gelu"},
    {"seed2", "seed2/seed2.xf", "", "d_model=16 num_heads=2 d_ff=20"},
    {"seed2_masked", "seed2/seed2.xf", "Seed2Masked", "d_model=16 num_heads=2 d_ff=20"},
    {"seed3", "seed3/seed3.xf", "", "src_vocab=40 trg_vocab=33 d_model=16 heads=4 n=3 d_ff=20"},
    {"seed4", "seed4/seed4.xf", "", "src_vocab=40 tgt_vocab=33 d_model=16 n_heads=2 d_k=5 d_v=7 d_ff=20 n=2"},
    {"transliteration", "aren-transliteration/aren-transliteration.xf", "", "layers=2"},
    {"antibody", "anarcii-antibody/anarcii-antibody.xf", "", "HID_DIM=16 LAYERS=2 HEADS=4"},
    {"stories", "stories260k/stories260k.xf", "", "dim=16 n_heads=4 n_kv_heads=2 n_layers=2 hidden_dim=12 max_seq_len=32"},
    {"g2p", "g2p/g2p.xf", "", "d_model=24 heads=3 d_ff=20 encoder_layers=2"},
    {"tagger", "tagger/tagger.xf", "", "vocab_size=40 hidden_size=16 num_attention_heads=4 num_hidden_layers=2 intermediate_size=20 num_labels=5"},
    {"classifier", "classifier/classifier.xf", "",
     "vocab_size=40 hidden_size=16 num_attention_heads=4 num_hidden_layers=2 intermediate_size=20 num_labels=5"},
    {"seed3_int8", "seed3/seed3.xf", "", "src_vocab=40 trg_vocab=33 d_model=16 heads=4 n=3 d_ff=20", FactorType::int8},
    {"seed4_int8", "seed4/seed4.xf", "", "src_vocab=40 tgt_vocab=33 d_model=16 n_heads=2 d_k=5 d_v=7 d_ff=20 n=2", FactorType::int8},
    {"stories_int8", "stories260k/stories260k.xf", "", "dim=16 n_heads=4 n_kv_heads=2 n_layers=2 hidden_dim=12 max_seq_len=32", FactorType::int8},
    {"g2p_int8", "g2p/g2p.xf", "", "d_model=24 heads=3 d_ff=20 encoder_layers=2", FactorType::int8},
    {"seed4_int8_weights", "seed4/seed4.xf", "", "src_vocab=40 tgt_vocab=33 d_model=16 n_heads=2 d_k=5 d_v=7 d_ff=20 n=2", FactorType::int8Weights},
    {"g2p_int8_weights", "g2p/g2p.xf", "", "d_model=24 heads=3 d_ff=20 encoder_layers=2", FactorType::int8Weights},
    {"seed4_bf16", "seed4/seed4.xf", "", "src_vocab=40 tgt_vocab=33 d_model=16 n_heads=2 d_k=5 d_v=7 d_ff=20 n=2", FactorType::bf16},
    {"tagger_bf16", "tagger/tagger.xf", "",
     "vocab_size=40 hidden_size=16 num_attention_heads=4 num_hidden_layers=2 intermediate_size=20 num_labels=5", FactorType::bf16},
    {"g2p_bf16", "g2p/g2p.xf", "", "d_model=24 heads=3 d_ff=20 encoder_layers=2", FactorType::bf16},
    {"tagger_f16", "tagger/tagger.xf", "", "vocab_size=40 hidden_size=16 num_attention_heads=4 num_hidden_layers=2 intermediate_size=20 num_labels=5",
     FactorType::f16},
    {"products", "../e2e/products.xf", "", "d=8"},
    {"products_int8", "../e2e/products.xf", "", "d=8", FactorType::int8},
    {"products_bf16", "../e2e/products.xf", "", "d=8", FactorType::bf16},
    {"g2p_f16", "g2p/g2p.xf", "", "d_model=24 heads=3 d_ff=20 encoder_layers=2", FactorType::f16},
};

/// Runs a module's entries on fixed inputs.
class Probe {
public:
  explicit Probe(mlir::ModuleOp module) : module(module) {}

  /// Inputs for the full entries, and what these give, by entry and result.
  void record() {
    std::mt19937 random(11);
    for (auto entry : module.getOps<EntryOp>())
      for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes()))
        if (std::string name = entry.getArgName(i).str(); !inputs.contains(name))
          inputs[name] = makeInput(llvm::cast<mlir::RankedTensorType>(type), random);
    results = runFull();
  }
  std::string compareFull(mlir::ModuleOp changed, double allowed = 1e-12) {
    Probe other(changed);
    other.inputs = inputs;
    auto now = other.runFull();
    std::string problems = other.problems;
    for (auto &[name, tensor] : results)
      compare(name, now[name], tensor, allowed, problems);
    return problems;
  }
  /// What `changed` gives for the same inputs is right from now on.
  void adopt(mlir::ModuleOp changed) {
    Probe other(changed);
    other.inputs = inputs;
    results = other.runFull();
    outputs = other.outputs;
  }
  /// The derived step against the logits of the whole decoder.
  std::string compareStep(mlir::ModuleOp changed);
  int stepsCompared = 0;

private:
  Tensor makeInput(mlir::RankedTensorType type, std::mt19937 &random) {
    Tensor tensor;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      llvm::StringRef name = mlir::xf::getDimName(type, d);
      int64_t size = name == "B" ? kRows : name == "S" || name == "K" ? 6 : 5;
      tensor.shape.push_back(type.isDynamicDim(d) ? size : type.getDimSize(d));
    }
    bool isFloat = llvm::isa<mlir::FloatType>(type.getElementType()), isBool = type.getElementType().isInteger(1);
    tensor.kind = isFloat ? Tensor::Kind::Float : isBool ? Tensor::Kind::Bool : Tensor::Kind::Int;
    bool sequenceFirst = type.getRank() == 2 && mlir::xf::getDimName(type, 1) == "B";
    for (int64_t i = 0; i < tensor.size(); ++i) {
      int64_t position = tensor.shape.size() < 2 ? i : sequenceFirst ? i / tensor.shape[1] : i % tensor.shape.back();
      if (isFloat)
        tensor.floats.push_back(std::uniform_real_distribution<double>(-1, 1)(random));
      else if (isBool) // no row without an allowed key
        tensor.ints.push_back(position == 0 || random() % 3 != 0);
      else // a pad in the middle of the second row, and at its end
        tensor.ints.push_back(position != 0 && random() % 4 == 0 ? 0 : 1 + random() % 20);
    }
    return tensor;
  }
  TensorMap runFull() {
    RandomWeights weights(5);
    Interpreter interpreter(module, weights, Precision::F64);
    TensorMap values = inputs, all;
    for (auto entry : module.getOps<EntryOp>()) {
      if (entry.getKind() != mlir::xf::EntryKind::full)
        continue;
      auto run = interpreter.run(entry.getSymName(), values);
      if (!run) {
        problems += llvm::toString(run.takeError()) + "\n";
        continue;
      }
      for (auto &[name, tensor] : *run) {
        all[entry.getSymName().str() + "." + name] = tensor;
        values.insert_or_assign(name, tensor);
      }
    }
    outputs = values;
    return all;
  }
  static void compare(const std::string &name, const Tensor &got, const Tensor &want, double allowed, std::string &problems) {
    GoldenOptions options;
    options.rtol = allowed;
    GoldenResult result = compareTensors(name, got, want, options);
    if (!result.problem.empty())
      problems += name + ": " + result.problem + " (" + std::to_string(result.relativeError) + ")\n";
  }

  mlir::ModuleOp module;
  TensorMap inputs, results, outputs;
  std::string problems;
};

std::string Probe::compareStep(mlir::ModuleOp changed) {
  auto generate = changed->getAttrOfType<mlir::DictionaryAttr>(mlir::xf::kGenerateAttr);
  auto nameOf = [&](llvm::StringRef key) {
    auto symbol = generate.getAs<mlir::FlatSymbolRefAttr>(key);
    return symbol ? symbol.getValue().str() : "";
  };
  if (!generate || nameOf("step").empty())
    return "";
  std::string tokens = generate.getAs<mlir::StringAttr>("tokens").str(), logits = generate.getAs<mlir::StringAttr>("logits").str();
  bool sequenceFirst = generate.contains("sequence_first");
  Tensor whole = outputs[logits], ids = inputs[tokens];
  int64_t length = ids.size() / kRows, width = whole.shape.back();
  auto at = [&](int64_t b, int64_t t, int64_t count) { return sequenceFirst ? t * kRows + b : b * count + t; };

  RandomWeights weights(5);
  Interpreter interpreter(changed, weights, Precision::F64);
  State state;
  TensorMap values = outputs;
  values["xf.slots"] = Tensor::ofInts({kRows}, {1, 0});
  if (std::string begin = nameOf("begin"); !begin.empty())
    if (auto run = interpreter.run(begin, values, &state); !run)
      return begin + ": " + llvm::toString(run.takeError());
  Tensor got = whole;
  for (int64_t past = 0; past < length;) {
    int64_t count = past == 1 ? std::min<int64_t>(2, length - past) : 1;
    Tensor fresh = Tensor::ofInts({kRows, count}, std::vector<int64_t>(kRows * count));
    if (sequenceFirst)
      fresh.shape = {count, kRows};
    for (int64_t b = 0; b < kRows; ++b)
      for (int64_t n = 0; n < count; ++n)
        fresh.ints[at(b, n, count)] = ids.ints[at(b, past + n, length)];
    values[tokens] = fresh;
    values["xf.past"] = Tensor::ofInts({kRows}, std::vector<int64_t>(kRows, past));
    auto run = interpreter.run(nameOf("step"), values, &state);
    if (!run)
      return nameOf("step") + ": " + llvm::toString(run.takeError());
    for (int64_t b = 0; b < kRows; ++b)
      for (int64_t n = 0; n < count; ++n)
        std::copy_n((*run)[logits].floats.begin() + at(b, n, count) * width, width, got.floats.begin() + at(b, past + n, length) * width);
    past += count;
  }
  std::string problems;
  compare("step." + logits, got, whole, 1e-12, problems);
  ++stepsCompared;
  return problems;
}

/// Compares after each pass.
struct Watch : mlir::PassInstrumentation {
  Probe &probe;
  int passes = 0;
  explicit Watch(Probe &probe) : probe(probe) {}
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    auto module = llvm::dyn_cast<mlir::ModuleOp>(op);
    if (!module)
      return;
    ++passes;
    bool quantizes = pass->getArgument() == "xf-quantize-linears";
    if (quantizes) {
      EXPECT_NE(probe.compareFull(module), "") << "nothing was quantised";
    }
    if (quantizes || pass->getArgument() == "xf-narrow-attention") {
      EXPECT_EQ(probe.compareFull(module, kQuantizationError), "");
      probe.adopt(module);
    }
    EXPECT_EQ(probe.compareFull(module), "") << "after pass " << passes << ", " << pass->getName().str();
    EXPECT_EQ(probe.compareStep(module), "") << "after pass " << passes << ", " << pass->getName().str();
  }
};

class Passes : public testing::TestWithParam<Case> {};

TEST_P(Passes, KeepWhatModelsCompute) {
  const Case &c = GetParam();
  FrontendOptions options;
  options.model = c.model;
  llvm::SmallVector<llvm::StringRef> settings;
  llvm::StringRef(c.settings).split(settings, ' ');
  for (llvm::StringRef setting : settings)
    options.set.push_back({setting.split('=').first.str(), setting.split('=').second.str()});
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string path = std::string(XF_SOURCE_DIR) + "/test/models/" + c.file, messages;
  llvm::raw_string_ostream stream(messages);
  auto module = compileDescription(context, path, readText(path), options, stream);
  ASSERT_TRUE(module) << messages;
  mlir::OwningOpRef<mlir::ModuleOp> original = module->clone();
  Probe probe(*original);
  probe.record();
  ASSERT_EQ(probe.compareFull(*original), "");

  mlir::PassManager passes(&context);
  buildStepPipeline(passes);
  buildKernelPipeline(passes, c.type);
  auto watch = std::make_unique<Watch>(probe);
  Watch &watched = *watch;
  passes.addInstrumentation(std::move(watch));
  EXPECT_TRUE(mlir::succeeded(passes.run(*module)));
  EXPECT_GE(watched.passes, 10);
  if ((*module)->hasAttr(mlir::xf::kGenerateAttr)) {
    EXPECT_GE(probe.stepsCompared, 10);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Passes, testing::ValuesIn(cases), [](const auto &info) { return std::string(info.param.name); });

} // namespace
