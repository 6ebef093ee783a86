// What compiled programs print of predictions, and lines that are cut. Runs xf-runner with the sample model attached.
#include "test/runtime/runner_harness.h"
#include "test/runtime/sample_math.h"
#include "test/runtime/sample_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace {

using sample::ran;

class predictions : public testing::Test {
protected:
  void make(const sample::options &o) {
    program = sample::temporary("predictor");
    sample::write_file(program, sample::attach(sample::read_file(XF_RUNNER), sample::build(o)), 0755);
  }
  void TearDown() override { unlink(program.c_str()); }
  ran with(const std::string &input, const std::string &arguments) { return sample::shell("printf '" + input + "' | " + program + " " + arguments); }
  std::string said(const std::string &message) const { return program.substr(program.rfind('/') + 1) + ": " + message + "\n"; }
  // What printf makes of a probability: e^-`below` / `sum`.
  static std::string format_score(const char *format, double below, double sum) {
    char text[32];
    std::snprintf(text, sizeof(text), format, std::exp(-below) / sum);
    return text;
  }

  std::string program;
};

TEST_F(predictions, are_numbers_in_json) {
  sample::options o;
  o.model = sample::kind::pooler;
  make(o);
  EXPECT_EQ(with("a b\\n\\nc\\n", "--json 2> /dev/null").out,
            "{\"line\": 1, \"results\": [{\"values\": [2.25, 4.5, 6.75]}]}\n{\"line\": 2, \"error\": \"it is empty\"}\n"
            "{\"line\": 3, \"results\": [{\"values\": [1.5, 3, 4.5]}]}\n");
  EXPECT_EQ(with("a\\n", "--scores").out, said("--scores: this model predicts numbers, not labels"));
  EXPECT_EQ(with("a\\n", "--n-best 2").out, said("--n-best: this model predicts numbers, not labels"));
  EXPECT_NE(with("", "--help").out.find("{\"values\": [0.5, -2, ...]}"), std::string::npos);
}

TEST_F(predictions, have_scores_of_labels) {
  sample::options o;
  o.model = sample::kind::pooler;
  o.labels = true;
  make(o);
  // Of 1.5, 3 and 4.5.
  double sum = 1 + std::exp(-1.5) + std::exp(-3.0);
  auto text = [&](const char *format, double below) { return format_score(format, below, sum); };
  std::string first = "2\t" + text("%.6f", 0) + "\t</s>\n", second = "2\t" + text("%.6f", 1.5) + "\t<s>\n";
  EXPECT_EQ(with("\\nc\\n", "2> /dev/null").out, "\n</s>\n");
  EXPECT_EQ(with("\\nc\\n", "--scores 2> /dev/null").out, "\n" + first);
  EXPECT_EQ(with("\\nc\\n", "--n-best 2 2> /dev/null").out, "\n" + first + second);
  EXPECT_EQ(with("\\nc\\n", "--n-best 3 2> /dev/null").out, "\n" + first + second + "2\t" + text("%.6f", 3) + "\t<pad>\n");
  EXPECT_EQ(with("6\\n", "--ids --scores").out, "1\t" + text("%.6f", 0) + "\t2\n");
  EXPECT_EQ(with("c\\n", "--json").out, "{\"line\": 1, \"results\": [{\"label\": \"</s>\", \"score\": " + text("%.9g", 0) + "}]}\n");
  EXPECT_EQ(with("c\\n", "--json --n-best 2").out, "{\"line\": 1, \"results\": [{\"label\": \"</s>\", \"score\": " + text("%.9g", 0) +
                                                       "}, {\"label\": \"<s>\", \"score\": " + text("%.9g", 1.5) + "}]}\n");
  ran many = with("c\\n", "--n-best 4");
  EXPECT_EQ(many.out, said("--n-best: the number of labels must be between 1 and 3, not 4"));
  EXPECT_EQ(many.status, 2);
  EXPECT_EQ(with("c\\n", "--beam 2").out, said("--beam: this model predicts, it does not search"));
  std::string help = with("", "--help").out;
  for (const char *part : {"--scores ", "--n-best N ", "(at most 3)", "{\"label\": \"...\", \"score\": 0.9}", "--truncate "})
    EXPECT_NE(help.find(part), std::string::npos) << part;
}

TEST_F(predictions, have_scores_of_labels_of_tokens) {
  sample::options o;
  o.model = sample::kind::tagger;
  o.suffix = true;
  make(o);
  // Each token's values are 0, -0.25, ... -1 in some order.
  double sum = 1 + std::exp(-0.25) + std::exp(-0.5) + std::exp(-0.75) + std::exp(-1.0);
  std::string score = format_score("%.6f", 0, sum), digits = format_score("%.9g", 0, sum), labels = with("a b\\n", "").out;
  ASSERT_EQ(labels, "<s> <pad>\n");
  EXPECT_EQ(with("a b\\nb\\n", "--scores").out, "1\t" + score + " " + score + "\t" + labels + "2\t" + score + "\t" + with("b\\n", "").out);
  EXPECT_EQ(with("a b\\n", "--json").out,
            "{\"line\": 1, \"results\": [{\"labels\": [\"<s>\", \"<pad>\"], \"scores\": [" + digits + ", " + digits + "]}]}\n");
  EXPECT_EQ(with("a\\n", "--n-best 2").out, said("--n-best: this model predicts a label for each token, not one for a line"));
  EXPECT_NE(with("", "--help").out.find("{\"labels\": [\"...\", ...], \"scores\": [0.9, ...]}"), std::string::npos);
}

TEST_F(predictions, of_long_lines_are_of_their_first_tokens) {
  sample::options o;
  o.model = sample::kind::tagger;
  o.suffix = true;
  make(o);
  std::string eleven = "a a a a a a a a a a a", thirteen = eleven + " b b", good = with(eleven + "\\n", "").out;
  EXPECT_EQ(with(thirteen + "\\n", "").out, said("line 1: it has 14 tokens; at most 12 are possible") + "\n");
  for (const std::string &lines : {eleven, eleven + "\\n" + eleven}) {
    ran got = with(lines + "\\n", "--truncate");
    EXPECT_EQ(got.status, 0);
    EXPECT_EQ(got.out.find("cut"), std::string::npos) << "nothing was";
  }
  ran got = with(thirteen + "\\na\\n" + eleven + " b\\n", "--truncate");
  EXPECT_EQ(got.out, good + with("a\\n", "").out + good + said("2 lines were cut to 12 tokens"));
  EXPECT_EQ(got.status, 0);
  got = with("4 4\\n", "--truncate --ids");
  EXPECT_EQ(got.out, said("--truncate cuts text: of token ids nobody knows which are the text's"));
  EXPECT_EQ(got.status, 2);
}

TEST_F(predictions, of_lines_with_other_tokens_around_them) {
  sample::options o;
  o.model = sample::kind::pooler;
  o.suffix = true;
  make(o);
  // Of ids a, b, c, ... = 4, 5, 6, ... and the end's 2: their sum / 4, and its multiples.
  EXPECT_EQ(with("a\\n", "").out, "1.5 3 4.5\n");
  EXPECT_EQ(with("a\\n", "--source-suffix ''").out, "1 2 3\n");
  EXPECT_EQ(with("a\\n", "--source-suffix= --source-prefix 'c  b'").out, "3.75 7.5 11.25\n");
  for (const auto &[option, problem] : {std::pair("--source-prefix X", "--source-prefix: 'X' is not in the source vocabulary"),
                                        std::pair("--source-suffix 'a a a a a a a a a'", "a source's suffix has 9 tokens; at most 8 are possible"),
                                        std::pair("--source-suffix 4 --ids", "a source's suffix: nothing is put around lines of token ids")}) {
    ran got = with("", option);
    EXPECT_EQ(got.out, said(problem));
    EXPECT_EQ(got.status, 2) << option;
  }
  EXPECT_NE(with("", "--help").out.find("--source-suffix TEXT "), std::string::npos);
}

TEST_F(predictions, searches_cut_their_source) {
  sample::options o;
  o.suffix = true;
  make(o);
  std::string eleven = "a b c d a b c d a b c", good = with(eleven + "\\n", "").out;
  for (const char *how : {"", " --stream"})
    EXPECT_EQ(with(eleven + " d d\\n", std::string("--truncate") + how).out, good + said("1 line was cut to 12 tokens")) << how;
  EXPECT_EQ(with(eleven + " d\\tA\\n", "--prefixes --truncate").out,
            with(eleven + "\\tA\\n", "--prefixes").out + said("1 line was cut to 12 tokens"));
  EXPECT_NE(with("", "--help").out.find("--truncate "), std::string::npos);
  TearDown();
  o.suffix = false;
  o.model = sample::kind::continuer;
  make(o);
  ran got = with("A\\n", "--truncate");
  EXPECT_EQ(got.out, said("--truncate: this model goes on from its lines' ends, which would be cut"));
  EXPECT_EQ(got.status, 2);
  EXPECT_EQ(with("", "--help").out.find("--truncate "), std::string::npos);
}

} // namespace
