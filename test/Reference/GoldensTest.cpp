// The seeds against PyTorch's numbers, and padding that must not matter.
#include "test/Reference/Models.h"

using namespace xf;

namespace {

struct Seed {
  const char *folder, *local, *golden; // of the description, of the numbers in the repository and in the shared folder
};

class Goldens : public testing::TestWithParam<std::tuple<Seed, Precision>> {};

TEST_P(Goldens, AgreeWithPyTorch) {
  auto [seed, precision] = GetParam();
  std::string shared = std::string("goldens/") + seed.golden, folder = seed.folder;
  auto find = [&](const std::string &name) { return findData(seed.local, shared, name); };
  std::string io = find("io.safetensors");
  if (io.empty())
    GTEST_SKIP() << "the golden numbers of " << seed.golden << " are not here";
  LoadedModel model;
  if (!model.load(folder + "/" + folder + ".xf", find("config.json"), find("weights.safetensors")))
    return;
  ReferenceEngine engine(*model.module, *model.checkpoint, precision);
  GoldenOptions options;
  options.rtol = 1e-6; // the numbers themselves are f32
  auto report = runGolden(engine, io, options);
  ASSERT_TRUE(bool(report)) << llvm::toString(report.takeError());
  EXPECT_TRUE(report->passed()) << report->format();
}

INSTANTIATE_TEST_SUITE_P(Seeds, Goldens,
                         testing::Combine(testing::Values(Seed{"seed0", "seed0", "seed0"}, Seed{"seed1", "seed1/postnorm", "seed1_postnorm"},
                                                          Seed{"seed1", "seed1/prenorm", "seed1_prenorm"}, Seed{"seed2", "seed2", "seed2"},
                                                          Seed{"seed3", "seed3", "seed3"}, Seed{"seed4", "seed4", "seed4"}),
                                          testing::Values(Precision::F32, Precision::F64)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param).golden) + (std::get<1>(info.param) == Precision::F32 ? "_f32" : "_f64");
                         });

} // namespace
