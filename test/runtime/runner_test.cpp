// A compiled program as its users meet it: a Unix filter. Runs xf-runner with the sample model attached.
#include "runtime/abi/xf_abi.h"
#include "test/runtime/runner_harness.h"
#include "test/runtime/sample_math.h"
#include "test/runtime/sample_model.h"
#include "test/runtime/sample_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using sample::ran;
using sample::shell;
using sample::temporary;

class runner : public testing::Test {
protected:
  void make(const sample::options &o) {
    program = temporary("toy");
    sample::write_file(program, sample::attach(sample::read_file(XF_RUNNER), sample::build(o)), 0755);
  }
  void TearDown() override { unlink(program.c_str()); }
  ran with(const std::string &input, const std::string &arguments) {
    std::string file = temporary("input");
    sample::write_file(file, {input.begin(), input.end()});
    ran result = shell(program + " " + arguments + " < " + file);
    unlink(file.c_str());
    return result;
  }
  // The best result of a sentence, without special tokens.
  static std::string expected(const sample::tokens &source, int beam = 1) {
    sample::search o;
    o.beam = beam;
    o.best = 1;
    o.max_length = static_cast<int>(2 * source.size() + 3);
    static const char *names[] = {"", "", "", "<unk>", "A", "B", "C", "D", "Ö", "E", "<unk>"};
    std::string text;
    sample::tokens ids = sample::run(&source, {SAMPLE_START}, o)[0].ids;
    for (int32_t id : ids)
      if (id > 2)
        text += (text.empty() ? "" : " ") + std::string(names[id]);
    return text;
  }

  std::string program;
};

std::string name_of(const std::string &path) { return path.substr(path.rfind('/') + 1); }

TEST_F(runner, answers_each_line_in_order) {
  make({});
  std::string input, wanted;
  std::vector<std::string> words = {"a", "b", "c", "d", "e", "f"};
  for (int i = 0; i < 300; ++i) {
    sample::tokens source;
    std::string line;
    for (int k = 0; k <= i * 7 % 11; ++k) {
      line += (k ? " " : "") + words[(i + k * k) % 6];
      source.push_back(4 + (i + k * k) % 6);
    }
    input += line + "\n";
    wanted += expected(source) + "\n";
  }
  for (const char *arguments : {"", "--threads 2 --batch 3", "--batch=1 --isa baseline", "-"}) {
    ran got = with(input, arguments);
    EXPECT_EQ(got.out, wanted) << arguments;
    EXPECT_EQ(got.status, 0);
  }
}

TEST_F(runner, goes_on_after_bad_lines) {
  make({});
  ran got = with("a\n\n\xff\nb c\r\na b c d e f a b c d e f a\nb\r", "");
  std::string name = name_of(program);
  EXPECT_EQ(got.status, 1);
  EXPECT_EQ(got.out, name + ": line 2: it is empty\n" + name + ": line 3: byte 1 is not UTF-8\n" + name +
                         ": line 5: it has 13 tokens; at most 12 are possible\n" + expected({4}) + "\n\n\n" + expected({5, 6}) + "\n\n" +
                         expected({5}) + "\n");
}

TEST_F(runner, takes_lines_of_a_mebibyte) {
  make({});
  std::string longest = "a" + std::string((1 << 20) - 1, ' '), mark = "\xEF\xBB\xBF", answer = expected({4}) + "\n";
  for (const std::string &line : {longest, longest + "\n", longest + "\r\n", mark + longest, mark + longest + "\r\n"})
    EXPECT_EQ(with(line, "").out, answer) << line.size();
  std::string refused = name_of(program) + ": line 1: it is longer than a mebibyte\n\n";
  for (const std::string &line :
       {longest + " ", longest + " \n", longest + "\r\r\n", mark + longest + " ", mark + longest + "\rb", mark + longest + "\r \r\n"})
    EXPECT_EQ(with(line, "").out, refused) << line.size();
  EXPECT_EQ(with("b\n" + mark + longest, "2> /dev/null").out, expected({5}) + "\n\n"); // a mark stands before the first line only
}

// Whatever begins a line to some reader: in text it is a blank, in JSON it is escaped.
TEST_F(runner, prints_each_result_on_one_line) {
  make({});
  std::string lines = "a b c\nd e f\na\nb d\n", plain = with(lines, "--max-length 9").out, json = with(lines, "--max-length 9 --json").out;
  using pairs = std::vector<std::pair<std::string, std::string>>;
  auto replace = [](std::string text, const pairs &all) {
    for (const auto &[what, by] : all)
      for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
        text.replace(at, what.size(), by);
    return text;
  };
  for (const char *word : {"C", "D", "Ö"})
    ASSERT_NE(plain.find(word), std::string::npos) << word;
  TearDown();
  std::vector<uint8_t> image = sample::build({});
  std::string bytes(image.begin(), image.end());
  bytes = replace(bytes, {{"<pad>\n<s>\n</s>\n<unk>\nA\nB\nC\nD\nÖ\n", "<p>\n<s>\n</s>\n<unk>\nA\nB\n\x7F\n\xE2\x80\xA8\n\xC2\x85\n"}});
  std::copy(bytes.begin(), bytes.end(), image.begin());
  sample::seal(image);
  sample::write_file(program, sample::attach(sample::read_file(XF_RUNNER), image), 0755);
  const pairs blanks = {{"C", " "}, {"D", " "}, {"Ö", " "}};
  EXPECT_EQ(with(lines, "--max-length 9").out, replace(plain, blanks));
  EXPECT_EQ(with(lines, "--max-length 9 --stream").out, replace(plain, blanks));
  EXPECT_EQ(with(lines, "--max-length 9 --json").out, replace(json, {{"C", "\\u007f"}, {"D", "\\u2028"}, {"Ö", "\\u0085"}}));
}

// What a model does not allow has a probability of zero.
TEST_F(runner, prints_scores_of_what_cannot_be) {
  sample::options o;
  o.min_length = 2;
  make(o);
  EXPECT_EQ(with("a\tC\n", "--score").out, "-inf\n");
  EXPECT_EQ(with("a\tC\n", "--score --json").out, "{\"line\": 1, \"results\": [{\"text\": \"C\", \"score\": null}]}\n");
}

TEST_F(runner, prints_scores_and_several_results) {
  make({});
  sample::search o;
  o.beam = o.best = 2;
  o.max_length = 5;
  sample::tokens source = {4};
  auto results = sample::run(&source, {SAMPLE_START}, o);
  std::string ids_form;
  for (const auto &found : results) {
    char score[32];
    std::snprintf(score, sizeof(score), "1\t%.6f\t", found.score);
    ids_form += score;
    std::string text;
    for (int32_t id : found.ids)
      if (id != SAMPLE_END)
        text += (text.empty() ? "" : " ") + std::to_string(id);
    ids_form += text + "\n";
  }
  ran got = with("4\n", "--ids --beam 2 --n-best 2");
  EXPECT_EQ(got.out, ids_form);
  EXPECT_EQ(with("4\n", "--ids --n-best 2").out, ids_form); // as many beams as results, if not said
  got = with("a\n\nb\n", "--scores 2>/dev/null");
  EXPECT_EQ(std::count(got.out.begin(), got.out.end(), '\t'), 4);
  EXPECT_NE(got.out.find("\n\n3\t-"), std::string::npos);
  got = with("a\n\n", "--json 2>/dev/null");
  EXPECT_EQ(got.out.rfind("{\"line\": 1, \"results\": [{\"text\": \"" + expected({4}) + "\", \"score\": -", 0), 0u);
  EXPECT_NE(got.out.find("\n{\"line\": 2, \"error\": \"it is empty\"}\n"), std::string::npos);
}

TEST_F(runner, explains_its_options) {
  make({});
  std::string name = name_of(program);
  EXPECT_EQ(with("", "--beams 3").out, name + ": unknown option --beams (--help lists all)\n");
  EXPECT_EQ(with("", "--beam").out, name + ": --beam needs a value\n");
  EXPECT_EQ(with("", "--json=1").out, name + ": --json takes no value\n");
  EXPECT_EQ(with("", "--beam x").out, name + ": --beam: 'x' is not a number\n");
  EXPECT_EQ(with("", "--beam 9999999999").out, name + ": --beam: '9999999999' is out of range\n");
  EXPECT_EQ(with("", "--beam 9").out, name + ": the number of beams must be between 1 and 4, not 9\n");
  EXPECT_EQ(with("", "--isa sse").out, name + ": --isa: 'sse' is none of baseline, avx2, avx2_vnni, avx512, avx512_vnni, avx512_bf16\n");
  EXPECT_EQ(with("", "--device gpu").out, name + ": --device: 'gpu' is none of best, cpu, cuda, emulator\n");
  EXPECT_EQ(with("", "--suppress 99").out, name + ": a suppressed token must be between 0 and 10, not 99\n");
  for (const char *wrong : {"--suppress ''", "--suppress ,", "--suppress 1,", "--suppress 1,,2", "--end 1,"})
    EXPECT_NE(with("", wrong).out.find(": '' is not a number\n"), std::string::npos) << wrong;
  EXPECT_EQ(with("", "one two").out, name + ": one file at most: 'one' and 'two'\n");
  EXPECT_EQ(with("", "/nowhere").out, name + ": /nowhere: No such file or directory\n");
  EXPECT_EQ(with("", "--beam 9").status, 2);
  ran help = with("", "--help");
  EXPECT_EQ(help.status, 0);
  for (const char *option : {"--beam K", "--n-best N", "--length-penalty A", "--min-length N", "--max-length N", "--suppress ID,...", "--scores",
                             "--ids", "--threads N", "--batch N", "--isa NAME", "--limits", "--version"})
    EXPECT_NE(help.out.find(option), std::string::npos) << option;
  EXPECT_EQ(with("", "--version").out.rfind("sample, compiled with xfc ", 0), 0u);
  ran limits = with("", "--limits --threads 3");
  for (const char *part : {"model sample", "  S                      12\n", "  beam                    4\n", "with 3 threads",
                           "  16 x batch + 8 x batch x beam + 16 x batch x beam x target (in 4s) bytes\n",
                           "  3 x 4096 bytes, whole pages for the largest of\n", " 200 of encode\n", " 400 of step\n", "  lines", "  total"})
    EXPECT_NE(limits.out.find(part), std::string::npos) << part << "\n" << limits.out;
}

// Before a line is read, and whether there is one or not.
TEST_F(runner, tells_wrong_options_from_what_cannot_be) {
  sample::options o;
  o.model = sample::kind::tagger;
  make(o);
  auto said = [&](const std::string &options, int status) {
    for (const char *input : {"", "a\n"}) {
      ran got = with(input, options);
      EXPECT_EQ(got.status, status) << options;
      EXPECT_EQ(got.out.rfind(name_of(program) + ": ", 0), 0u) << got.out;
      EXPECT_EQ(got.out.find(": line "), std::string::npos) << got.out;
      if (*input)
        return got.out.substr(name_of(program).size() + 2);
    }
    return std::string();
  };
  EXPECT_EQ(said("--batch 999", 2), "the batch must be between 1 and 4, not 999\n");
  EXPECT_EQ(said("--device cuda", 1), "the model was compiled without code for GPUs (compile with --target cpu,cuda)\n");
  said("--isa avx512_bf16", 1); // of another model, or another CPU
  said("/nowhere", 1);
  EXPECT_NE(with("", "--help").out.find("It is 2 if the options are wrong, and 1 if this file or machine cannot do"), std::string::npos);
  TearDown();
  o.model = sample::kind::translator;
  make(o);
  EXPECT_EQ(said("--batch 999", 2), "the batch must be between 1 and 4, not 999\n");
  said("--shortlist /nowhere", 1);
  TearDown();
  o.model = sample::kind::continuer;
  make(o);
  EXPECT_EQ(said("--shortlist /nowhere", 2), "--shortlist: the model cannot be searched with one: it has no source\n");
  TearDown();
  o.model = sample::kind::translator;
  o.features = true;
  make(o);
  EXPECT_EQ(said("--shortlist /nowhere", 2), "--shortlist: the model cannot be searched with one: its source is not made of tokens\n");
}

TEST_F(runner, says_when_nothing_can_be_written) {
  make({});
  ran full = with("a\n", "2>&1 > /dev/full");
  EXPECT_EQ(full.out, name_of(program) + ": standard output: No space left on device\n");
  EXPECT_EQ(full.status, 1);
  ran limited = shell("ulimit -f 1; yes a | head -n 5000 | " + program + " > " + temporary("limited"));
  EXPECT_EQ(limited.out, name_of(program) + ": standard output: File too large\n");
  EXPECT_EQ(limited.status, 1);
  unlink(temporary("limited").c_str());
  // The reader goes away after one line.
  ran closed = shell("{ { yes a | head -n 100000; } | " + program + "; echo status $? >&2; } | head -n 1");
  EXPECT_NE(closed.out.find("standard output: Broken pipe"), std::string::npos) << closed.out;
  EXPECT_NE(closed.out.find("status 1"), std::string::npos) << closed.out;
}

// A terminal that is closed has an error behind its last line.
TEST_F(runner, answers_the_lines_before_an_error) {
  make({});
  int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
  int other = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  ASSERT_GE(other, 0);
  std::string lines = "a\nb\nhalf of";
  ASSERT_EQ(write(other, lines.data(), lines.size()), static_cast<ssize_t>(lines.size()));
  close(other);
  ran got = shell(program + " <&" + std::to_string(terminal));
  close(terminal);
  EXPECT_EQ(got.out, expected({4}) + "\n" + expected({5}) + "\n" + name_of(program) + ": standard input: Input/output error\n");
  EXPECT_EQ(got.status, 1);
}

TEST_F(runner, does_not_keep_a_slow_writer_waiting) {
  make({});
  // An answer within the pause: what the first line was, and when it came, in the shell's own clock.
  ran timed = shell("begin=$(date +%s%N); { echo a; sleep 2; echo b; } | " + program +
                    " | { read -r line; echo \"$line\"; echo $(( ($(date +%s%N) - begin) / 1000000 )); cat > /dev/null; }");
  size_t end = timed.out.find('\n');
  EXPECT_EQ(timed.out.substr(0, end), expected({4}));
  EXPECT_LT(std::atoi(timed.out.c_str() + end + 1), 1500) << timed.out;
}

TEST_F(runner, runs_from_a_folder_with_a_newline) {
  make({});
  std::string folder = temporary("new\nline");
  ASSERT_EQ(mkdir(folder.c_str(), 0755), 0);
  ASSERT_EQ(rename(program.c_str(), (folder + "/toy").c_str()), 0);
  EXPECT_EQ(shell("echo a | '" + folder + "/toy'").out, expected({4}) + "\n");
  unlink((folder + "/toy").c_str());
  rmdir(folder.c_str());
}

TEST_F(runner, tells_when_the_file_is_cut_short) {
  make({});
  std::vector<uint8_t> bytes = sample::read_file(program);
  bytes.resize(bytes.size() - 5000);
  sample::write_file(program, bytes, 0755);
  ran got = with("a\n", "");
  EXPECT_EQ(got.status, 1);
  EXPECT_NE(got.out.find("holds no compiled model (cut short, or a runner without one)"), std::string::npos);
}

TEST_F(runner, predicts_labels_and_numbers) {
  sample::options o;
  o.model = sample::kind::tagger;
  o.suffix = true; // tokens put around the line have no label
  make(o);
  auto label = [](int32_t id, int s) {
    // The value of label l is -((id + (s * 5 + l)) % 5) / 4: the best is where the remainder is 0.
    for (int l = 0; l < SAMPLE_LABELS; ++l)
      if ((id + s * SAMPLE_LABELS + l) % SAMPLE_LABELS == 0)
        return l;
    return -1;
  };
  static const char *names[] = {"<pad>", "<s>", "</s>", "<unk>", "A"};
  std::string wanted = std::string(names[label(4, 0)]) + " " + names[label(5, 1)] + "\n" + names[label(6, 0)] + "\n";
  EXPECT_EQ(with("a b\nc\n", "").out, wanted);
  EXPECT_EQ(with("4 5\n6\n", "--ids").out,
            std::to_string(label(4, 0)) + " " + std::to_string(label(5, 1)) + "\n" + std::to_string(label(6, 0)) + "\n");
  EXPECT_EQ(with("a\n", "--beam 2").out, name_of(program) + ": --beam: this model predicts, it does not search\n");
  TearDown();
  o.model = sample::kind::pooler;
  o.suffix = false;
  make(o);
  EXPECT_EQ(with("a b\nc\n", "").out, "2.25 4.5 6.75\n1.5 3 4.5\n");
  std::string lines = "a b\nc\na a a b\nb\nc c c c c c c\n", padded = with(lines, "").out;
  TearDown();
  o.packed = true;
  make(o);
  EXPECT_EQ(with(lines, "").out, padded);
}

TEST_F(runner, predicts_of_two_texts) {
  sample::options o;
  o.model = sample::kind::pooler;
  o.pairs = true;
  std::string lines = "a b\nc\ta\na\tb c\nb\nc c c\tc\n";
  // Of ids a, b, c, ... = 4, 5, 6, ... and 7 between texts: all of them, those of the second text twice, each sum / 4 and its multiples.
  std::string wanted = "2.25 4.5 6.75\n5.25 10.5 15.75\n8.25 16.5 24.75\n1.25 2.5 3.75\n9.25 18.5 27.75\n";
  for (bool packed : {false, true}) {
    o.packed = packed;
    make(o);
    EXPECT_EQ(with(lines, "").out, wanted) << packed;
    EXPECT_EQ(with(lines, "--batch 1").out, wanted) << packed;
    EXPECT_EQ(with("4 7 5 6\n", "--ids").out, "8.25 16.5 24.75\n") << packed;
    EXPECT_NE(with("a d\tb\n", "").out.find("it has a token in it that stands between two texts"), std::string::npos) << packed;
    TearDown();
  }
  make(o);
}

TEST_F(runner, says_why_a_line_is_not_predicted) {
  sample::options o;
  o.model = sample::kind::tagger;
  o.min_source = 2;
  make(o);
  ran got = with("4 5\n6\n4 31\n0 0\n4 4 4 4 4 4 4 4 4 4 4 4 4\n", "--ids");
  std::string line = name_of(program) + ": line ";
  EXPECT_EQ(got.status, 1);
  EXPECT_EQ(got.out, line + "2: it has 1 token; at least 2 are needed\n" + line + "3: there is no token 31; the last is 29\n" + line +
                         "4: it has nothing but padding\n" + line + "5: it has 13 tokens; at most 12 are possible\n" + with("4 5\n", "--ids").out +
                         "\n\n\n\n");
}

} // namespace
