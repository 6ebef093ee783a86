// Trained models against the numbers and tokens of the programs that they come from.
//
// Greedy tokens are checked without a search: a causal decoder that is given the expected tokens must prefer, at each
// position, the next one. Only the first items of each list run, unless XF_TEST_ALL is set.
#include "test/Reference/Models.h"

using namespace xf;
using nlohmann::json;

namespace {

struct Family {
  std::string description, shared;
  bool hasEncoder = true;
  std::string tokens = "tgt";
  int64_t firstStepSuppressed = -1;
  double logitTolerance;
  size_t items;
};

class TrainedTest : public testing::Test {
protected:
  LoadedModel model;
  std::unique_ptr<Interpreter> interpreter;
  std::unique_ptr<TensorFile> expected;
  json items;

  std::string find(const Family &family, const std::string &name) {
    std::string folder = family.description.substr(0, family.description.find('/'));
    return findData(folder, "models/" + family.shared, name);
  }
  /// False if the data are not here (the test is skipped then) or something failed.
  bool load(const Family &family) {
    std::string weights = find(family, "weights.safetensors"), list = find(family, "expected.json");
    if (weights.empty() || list.empty())
      return false;
    if (!model.load(family.description, find(family, "config.json"), weights))
      return false;
    auto file = openTensorFile(find(family, "expected.safetensors"));
    if (!file) {
      ADD_FAILURE() << llvm::toString(file.takeError());
      return false;
    }
    expected = std::move(*file);
    items = json::parse(readText(list))["items"];
    interpreter = std::make_unique<Interpreter>(*model.module, *model.checkpoint, Precision::F64);
    return true;
  }

  static Tensor row(const std::vector<int64_t> &ids) { return Tensor::ofInts({1, int64_t(ids.size())}, ids); }

  /// The values of the decoder that is given `ids`, and of the encoder that is given `source`.
  TensorMap runAll(const Family &family, const std::vector<int64_t> &source, const std::vector<int64_t> &ids) {
    TensorMap values{{family.tokens, row(ids)}};
    if (family.hasEncoder)
      values.emplace("src", row(source));
    for (const char *entry : {"encode", "decode"}) {
      if (!family.hasEncoder && entry == std::string("encode"))
        continue;
      auto results = interpreter->run(entry, values);
      if (!results) {
        ADD_FAILURE() << llvm::toString(results.takeError());
        return {};
      }
      for (auto &[name, tensor] : *results)
        values.insert_or_assign(name, std::move(tensor));
    }
    return values;
  }

  std::vector<double> want(const std::string &name) { return llvm::cantFail(expected->read(*expected->find(name))).floats; }
  std::vector<int64_t> wantIds(const std::string &name) { return llvm::cantFail(expected->read(*expected->find(name))).ints; }

  static void expectClose(const std::string &what, const std::vector<double> &got, size_t from, const std::vector<double> &want, double tolerance) {
    ASSERT_LE(from + want.size(), got.size()) << what;
    double largest = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      double off = std::fabs(got[from + i] - want[i]);
      ASSERT_LE(off, tolerance) << what << ", number " << i;
      largest = std::max(largest, off);
    }
    testing::Test::RecordProperty(what, std::to_string(largest));
  }

  /// After ids[0 .. t] the best token must be ids[t + 1], for every t >= first.
  void expectGreedy(const Family &family, const std::vector<int64_t> &source, std::vector<int64_t> ids, size_t first, const std::string &what) {
    TensorMap values = runAll(family, source, {ids.begin(), ids.end() - 1});
    if (values.empty())
      return;
    const Tensor &logits = values["logits"];
    int64_t vocabulary = logits.shape.back();
    for (size_t t = first; t + 1 < ids.size(); ++t) {
      std::vector<double> at(logits.floats.begin() + t * vocabulary, logits.floats.begin() + (t + 1) * vocabulary);
      if (t == 0 && family.firstStepSuppressed >= 0)
        at[family.firstStepSuppressed] = -INFINITY;
      ASSERT_EQ(std::max_element(at.begin(), at.end()) - at.begin(), ids[t + 1]) << what << ", token " << t;
    }
  }
  size_t itemCount(const Family &family) { return std::getenv("XF_TEST_ALL") ? items.size() : std::min(items.size(), family.items); }
};

#define LOAD_OR_SKIP(family)                                                                                                                         \
  if (!load(family)) {                                                                                                                               \
    if (!HasFailure())                                                                                                                               \
      GTEST_SKIP() << "the weights of " << family.shared << " are not here";                                                                         \
    return;                                                                                                                                          \
  }

TEST_F(TrainedTest, G2P) {
  Family family{"g2p/g2p.xf", "g2p", true, "tgt", -1, 2e-5, 40};
  LOAD_OR_SKIP(family);
  for (std::string name : {"case0", "case1", "case2"}) {
    TensorMap values = runAll(family, wantIds(name + ".source_ids"), wantIds(name + ".target_ids"));
    expectClose(name + "_memory", values["memory"].floats, 0, want(name + ".encoder_output"), 1e-5);
    expectClose(name + "_logits", values["logits"].floats, 0, want(name + ".logits"), family.logitTolerance);
  }
  for (size_t i = 0; i < itemCount(family); ++i) {
    std::vector<int64_t> ids{1};
    for (int64_t id : items[i]["greedy"]["ids"])
      ids.push_back(id);
    expectGreedy(family, items[i]["source_ids"], ids, 0, items[i]["word"]);
  }
}

TEST_F(TrainedTest, Transliteration) {
  Family family{"aren-transliteration/aren-transliteration.xf", "aren-transliteration", true, "tgt", 2, 2e-5, 105};
  LOAD_OR_SKIP(family);
  for (std::string name : {"case0", "case1", "case2"}) {
    TensorMap values = runAll(family, wantIds(name + ".source_ids"), wantIds(name + ".greedy_ids"));
    expectClose(name + "_memory", values["memory"].floats, 0, want(name + ".encoder_output"), 1e-5);
    expectClose(name + "_logits", values["logits"].floats, 0, want(name + ".logits"), family.logitTolerance);
  }
  for (size_t i = 0; i < itemCount(family); ++i) {
    std::vector<int64_t> ids{1};
    for (int64_t id : items[i]["greedy"]["ids"])
      ids.push_back(id);
    ids.push_back(2);
    expectGreedy(family, items[i]["source_ids"], ids, 0, items[i]["text"]);
  }
}

TEST_F(TrainedTest, Antibody) {
  Family family{"anarcii-antibody/anarcii-antibody.xf", "anarcii-antibody", true, "tgt", -1, 0.05, 8};
  LOAD_OR_SKIP(family);
  for (std::string name : {"case0", "case1"}) {
    TensorMap values = runAll(family, wantIds(name + ".source_ids"), wantIds(name + ".ids"));
    expectClose(name + "_memory", values["memory"].floats, 0, want(name + ".encoder_output"), 1e-5);
    expectClose(name + "_logits", values["logits"].floats, 0, want(name + ".logits"), family.logitTolerance);
  }
  for (size_t i = 0; i < itemCount(family); ++i)
    expectGreedy(family, items[i]["source_ids"], items[i]["ids"], 0, items[i]["name"]);
}

TEST_F(TrainedTest, Stories) {
  Family family{"stories260k/stories260k.xf", "stories260K", false, "tokens", -1, 2e-5, 3};
  LOAD_OR_SKIP(family);
  for (size_t i = 0; i < items.size(); ++i) {
    std::string name = "case" + std::to_string(i);
    std::vector<int64_t> ids = wantIds(name + ".ids");
    size_t prompt = items[i]["prompt_ids"].size();
    TensorMap values = runAll(family, {}, ids);
    expectClose(name + "_prompt", values["logits"].floats, 0, want(name + ".prompt_logits"), family.logitTolerance);
    expectClose(name + "_first8", values["logits"].floats, (prompt - 1) * 512, want(name + ".first8_logits"), family.logitTolerance);
    expectGreedy(family, {}, ids, prompt - 1, name);
  }
}

} // namespace
