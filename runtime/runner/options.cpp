#include "runtime/runner/options.h"

#include "runtime/core/cpu.h"
#include "runtime/core/error.h"
#include "runtime/core/predict.h"
#include "runtime/core/source_layout.h"
#include "runtime/runner/format.h"
#include "runtime/runner/line_reader.h"
#include "runtime/text/shortlist_file.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <span>
#include <string_view>

namespace xf::rt {

namespace {

template <typename T> T parse_number(std::string_view option, std::string_view text) {
  T value{};
  auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc::result_out_of_range && end == text.data() + text.size())
    fail(status::invalid_argument, "%.*s: '%.*s' is out of range", static_cast<int>(option.size()), option.data(), static_cast<int>(text.size()),
         text.data());
  if (problem != std::errc() || end != text.data() + text.size() || text.empty())
    fail(status::invalid_argument, "%.*s: '%.*s' is not a number", static_cast<int>(option.size()), option.data(), static_cast<int>(text.size()),
         text.data());
  return value;
}

int32_t parse_count(std::string_view option, std::string_view text, int32_t min_value) {
  auto value = parse_number<int32_t>(option, text);
  if (value < min_value)
    fail(status::invalid_argument, "%.*s must be at least %d, not %d", static_cast<int>(option.size()), option.data(), min_value, value);
  return value;
}

void parse_ids(std::string_view option, std::string_view text, std::vector<int32_t> &list) {
  for (bool more = true; more;) {
    size_t comma = text.find(',');
    list.push_back(parse_number<int32_t>(option, text.substr(0, comma)));
    more = comma != std::string_view::npos;
    text.remove_prefix(more ? comma + 1 : 0);
  }
}

// The index of the name.
int parse_choice(std::string_view option, std::string_view text, std::span<const char *const> names) {
  auto found = std::find(names.begin(), names.end(), text);
  if (found != names.end())
    return static_cast<int>(found - names.begin());
  std::string all;
  for (const char *name : names)
    all += (all.empty() ? "" : ", ") + std::string(name);
  fail(status::invalid_argument, "%.*s: '%.*s' is none of %s", static_cast<int>(option.size()), option.data(), static_cast<int>(text.size()),
       text.data(), all.c_str());
}

struct option {
  const char *name;
  bool takes_value;
  bool for_search; // not for a model that predicts, except --scores and --n-best for one that predicts labels
  std::function<void(std::string_view)> apply;
};

std::vector<option> table(run_options &o) {
  auto search = &o.search;
  return {
      {"--beam", true, true, [=](std::string_view v) { search->beam = parse_count("--beam", v, 1); }},
      {"--n-best", true, true,
       [search, &o](std::string_view v) {
         search->best = parse_count("--n-best", v, 1);
         o.numbered = true;
       }},
      {"--length-penalty", true, true, [=](std::string_view v) { search->length_penalty = parse_number<double>("--length-penalty", v); }},
      {"--no-early-stopping", false, true, [=](std::string_view) { search->early_stopping = false; }},
      {"--min-length", true, true, [=](std::string_view v) { search->min_length = parse_count("--min-length", v, 0); }},
      {"--max-length", true, true, [=](std::string_view v) { search->max_length = parse_count("--max-length", v, 1); }},
      {"--suppress", true, true, [&o](std::string_view v) { parse_ids("--suppress", v, o.suppress); }},
      {"--end", true, true, [&o](std::string_view v) { parse_ids("--end", v, o.ends); }},
      {"--shortlist", true, true, [&o](std::string_view v) { o.shortlist = v; }},
      {"--prefix", true, true, [&o](std::string_view v) { o.prefix = v; }},
      {"--source-prefix", true, false, [&o](std::string_view v) { o.source_prefix = v; }},
      {"--source-suffix", true, false, [&o](std::string_view v) { o.source_suffix = v; }},
      {"--prefixes", false, true, [=](std::string_view) { search->line_prefixes = true; }},
      {"--count-prefix", false, true, [=](std::string_view) { search->prefix_counts = true; }},
      {"--repetition-penalty", true, true, [=](std::string_view v) { search->repetition_penalty = parse_number<double>("--repetition-penalty", v); }},
      {"--no-repeat-ngram", true, true, [=](std::string_view v) { search->no_repeat_ngram = parse_count("--no-repeat-ngram", v, 1); }},
      {"--sample", false, true, [=](std::string_view) { search->samples = true; }},
      {"--temperature", true, true, [=](std::string_view v) { search->sample.temperature = parse_number<double>("--temperature", v); }},
      {"--top-k", true, true, [=](std::string_view v) { search->sample.top_k = parse_count("--top-k", v, 1); }},
      {"--top-p", true, true, [=](std::string_view v) { search->sample.top_p = parse_number<double>("--top-p", v); }},
      {"--min-p", true, true, [=](std::string_view v) { search->sample.min_p = parse_number<double>("--min-p", v); }},
      {"--seed", true, true, [=](std::string_view v) { search->seed = parse_number<uint64_t>("--seed", v); }},
      {"--alternatives", true, true,
       [search, &o](std::string_view v) {
         search->best = parse_count("--alternatives", v, 1);
         search->alternatives = o.numbered = true;
       }},
      {"--alignments", false, true, [=](std::string_view) { search->alignments = true; }},
      {"--coverage-penalty", true, true, [=](std::string_view v) { search->coverage_penalty = parse_number<double>("--coverage-penalty", v); }},
      {"--score", false, true, [search, &o](std::string_view) { search->line_targets = o.only_scores = true; }},
      {"--scores", false, true, [&o](std::string_view) { o.numbered = true; }},
      {"--ids", false, false, [&o](std::string_view) { o.ids = true; }},
      {"--truncate", false, false, [=](std::string_view) { search->truncates_lines = true; }},
      {"--stream", false, true, [&o](std::string_view) { o.stream = true; }},
      {"--json", false, false, [&o](std::string_view) { o.json = true; }},
      {"--threads", true, false, [&o](std::string_view v) { o.session.threads = parse_count("--threads", v, 1); }},
      {"--batch", true, false, [=](std::string_view v) { search->batch = parse_count("--batch", v, 1); }},
      {"--isa", true, false, [&o](std::string_view v) { o.session.isa = parse_choice("--isa", v, isa_names()); }},
      {"--device", true, false,
       [&o](std::string_view v) { o.session.device = static_cast<device_kind>(parse_choice("--device", v, device_names())); }},
      {"--limits", false, false, [&o](std::string_view) { o.limits = true; }},
      {"--help", false, false, [&o](std::string_view) { o.help = true; }},
      {"--version", false, false, [&o](std::string_view) { o.version = true; }},
  };
}

} // namespace

// Whether the option also applies where given results are scored.
static bool decides_scores(std::string_view name) {
  constexpr std::string_view options[] = {"--score", "--length-penalty", "--coverage-penalty", "--prefix", "--count-prefix"};
  return std::ranges::find(options, name) != std::end(options);
}

// Throws if an option for searches means nothing to this model's predictions.
static void check_predicts(const model &m, const char *option) {
  bool several = std::string_view(option) == "--n-best", of_labels = several || std::string_view(option) == "--scores";
  if (!of_labels || !m.header().predict.present)
    fail(status::invalid_argument, "%s: this model predicts, it does not search", option);
  if (!m.header().predict.labels)
    fail(status::invalid_argument, "%s: this model predicts numbers, not labels", option);
  arena_plan plan;
  if (several && predict_layout(m, plan).by_token)
    fail(status::invalid_argument, "--n-best: this model predicts a label for each token, not one for a line");
}

namespace {

// Of the options that were given, those that others need or exclude.
struct given_options {
  bool beam = false;
  const char *for_samples = nullptr; // one that needs --sample
  const char *not_scored = nullptr;  // one that --score has no use for
  const char *counted = nullptr;     // one that says how many results there are

  void add(const option &given) {
    std::string_view name = given.name;
    beam |= name == "--beam";
    if (given.for_search && !decides_scores(name))
      not_scored = given.name;
    if (name == "--beam" || name == "--n-best")
      counted = given.name;
    if (name == "--temperature" || name == "--top-k" || name == "--top-p" || name == "--min-p" || name == "--seed")
      for_samples = given.name;
  }
};

const option &find_option(const std::vector<option> &options, std::string_view name, const char *word) {
  auto found = std::find_if(options.begin(), options.end(), [&](const option &candidate) { return name == candidate.name; });
  if (found == options.end())
    fail(status::invalid_argument, "unknown option %s (--help lists all)", word);
  return *found;
}

void check_combination(const given_options &given, const model &m, const run_options &o) {
  if (given.for_samples && !o.search.samples)
    fail(status::invalid_argument, "%s: it needs --sample", given.for_samples);
  if (!o.prefix.empty() && o.search.line_prefixes)
    fail(status::invalid_argument, "a prefix for all lines, or one on each: --prefix and --prefixes exclude each other");
  if (o.search.aligns() && m.header().generate.align < 0)
    fail(status::invalid_argument, "--alignments, --coverage-penalty: this model does not say how its results are aligned with their source");
  if (const char *problem = o.shortlist.empty() ? nullptr : refuses_shortlists(m))
    fail(status::invalid_argument, "--shortlist: the model cannot be searched with one: %s", problem);
  if (o.search.line_targets && given.not_scored)
    fail(status::invalid_argument, "--score prints the scores of what stands behind the lines' tabs, alone: not with %s", given.not_scored);
  if (o.search.alternatives && given.counted)
    fail(status::invalid_argument, "--alternatives says how many results there are: not with %s", given.counted);
  if (o.search.truncates_lines && takes_prompts(m.header().generate))
    fail(status::invalid_argument, "--truncate: this model goes on from its lines' ends, which would be cut");
  if (o.predicts && o.search.best > 1) {
    arena_plan plan;
    if (int64_t labels = predict_layout(m, plan).width; o.search.best > labels)
      fail(status::limit, "--n-best: the number of labels must be between 1 and %lld, not %d", static_cast<long long>(labels), o.search.best);
  }
  if (o.stream && (o.json || o.numbered || o.search.beam > 1 || o.search.alignments))
    fail(status::invalid_argument,
         "--stream shows one result as it comes: not with --beam, --n-best, --alternatives, --scores, --alignments or --json");
}

} // namespace

void parse_options(int argc, char **argv, const model &m, run_options &o) {
  std::vector<option> options = table(o);
  o.predicts = !m.header().generate.present;
  bool only_files = false, has_file = false;
  given_options given;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (only_files || word == "-" || word.empty() || word[0] != '-') {
      if (has_file)
        fail(status::invalid_argument, "one file at most: '%s' and '%s'", o.file.c_str(), argv[i]);
      has_file = true;
      o.file = word;
      continue;
    }
    if (word == "--") {
      only_files = true;
      continue;
    }
    if (word == "-h")
      word = "--help";
    size_t equals = word.find('=');
    const option &found = find_option(options, word.substr(0, equals), argv[i]);
    if (found.for_search && o.predicts)
      check_predicts(m, found.name);
    std::string_view value;
    if (found.takes_value) {
      if (equals != std::string_view::npos)
        value = word.substr(equals + 1);
      else if (i + 1 < argc)
        value = argv[++i];
      else
        fail(status::invalid_argument, "%s needs a value", found.name);
    } else if (equals != std::string_view::npos) {
      fail(status::invalid_argument, "%s takes no value", found.name);
    }
    found.apply(value);
    given.add(found);
  }
  if (!given.beam)
    o.search.beam = o.search.best;
  check_combination(given, m, o);
  o.search.suppress = o.suppress;
  o.search.ends = o.ends;
  o.search.scores = o.numbered || o.json;
  o.search.predicted_rows = o.predicts && o.search.scores;
}

static std::string help_without_lines(const char *program, const std::string &problem) {
  std::string text;
  append(text, "Usage: %s [OPTION]\n\nReads no lines: %s.\nThe C API searches it (xf_generate_from in xf.h).\n\n", program, problem.c_str());
  append(text, "  --limits             print the model's limits and how much memory it needs at most\n"
               "  --help, --version\n");
  return text;
}

// Options that only predictions have, and what their JSON looks like.
static void append_predictions(std::string &text, const model &m) {
  if (!m.header().predict.present)
    return;
  arena_plan plan;
  predict_layout layout(m, plan);
  if (!m.header().predict.labels)
    append(text,
           "  --json               an object for each line: {\"line\": 1, \"results\": [{\"values\": %s}]},\n"
           "                       with as many digits as each f32 is read back from, and null for what JSON has no number for,\n",
           layout.by_token ? "[[0.5, -2, ...], ...]" : "[0.5, -2, ...]");
  else if (layout.by_token)
    append(text, "  --scores             print line-number<TAB>scores<TAB>labels: of each label the softmax of what the model gives its token,\n"
                 "                       which is its probability if that is logits\n"
                 "  --json               an object for each line:\n"
                 "                       {\"line\": 1, \"results\": [{\"labels\": [\"...\", ...], \"scores\": [0.9, ...]}]},\n");
  else
    append(text,
           "  --scores             print line-number<TAB>score<TAB>label: the score is the softmax of what the model gives, which is the\n"
           "                       label's probability if that is logits\n"
           "  --n-best N           print the N most likely labels of each line in that form (at most %lld)\n"
           "  --json               an object for each line: {\"line\": 1, \"results\": [{\"label\": \"...\", \"score\": 0.9}, ...]},\n",
           static_cast<long long>(layout.width));
  if (layout.by_token && m.header().text.between_count)
    append(text, "                       of two texts with \"first\": how many tokens of the line are of the first one,\n");
}

std::string help_text(const char *program, const model &m) {
  const xf_abi_generate &g = m.header().generate;
  if (g.present) {
    arena_plan plan;
    if (std::string problem = source_layout(m, plan).refuses_tokens(); !problem.empty())
      return help_without_lines(program, problem);
  }
  bool prompts = takes_prompts(g);
  std::string text;
  append(text, "Usage: %s [OPTION]... [FILE]\n\n", program);
  if (prompts)
    append(text, "Continues each line of FILE (standard input without one): the continuation alone is printed.\n");
  else if (g.present)
    append(text, "Reads FILE (standard input without one) and prints a result for each line, in order.\n");
  else
    append(text, "Reads FILE (standard input without one) and prints a prediction for each line, in order.\n");
  append(text,
         "A line that cannot be read, or has more than %zu bytes, gives an empty line and a message; the exit status is then 1.\n"
         "It is 2 if the options are wrong, and 1 if this file or machine cannot do what they ask for.\n\n",
         kMaxLineBytes);
  if (g.present) {
    append(text,
           "  --beam K             search with K beams (default 1: greedy; at most %lld)\n"
           "  --n-best N           print the N best results of each line as line-number<TAB>score<TAB>text;\n"
           "                       N is at most K, and K is N where --beam does not say\n"
           "  --scores             print results in that form\n",
           static_cast<long long>(g.beam));
    if (g.beam > 1)
      append(text,
             "  --alternatives N     the N most probable first tokens (at most %lld), each with what is most probable behind it, in that\n"
             "                       form, best scored first\n",
             static_cast<long long>(g.beam));
    append(text,
           "  --score              lines are text<TAB>result: print the score of each result, to which the end is added\n"
           "  --length-penalty A   score = (sum of log p) / (tokens, the end included)^A (default 1)\n"
           "  --no-early-stopping  with K results, search on while the best beam scores more, as long as it is, than the worst of them\n"
           "  --min-length N       at least N tokens before the end (default %d)\n"
           "  --max-length N       at most N tokens (at most %lld)\n"
           "  --suppress ID,...    never choose these tokens\n"
           "  --end ID,...         tokens that end a result, beside the model's\n",
           g.min_length, static_cast<long long>(g.target));
  }
  if (g.align >= 0)
    append(text, "  --alignments         behind each text a tab and, for each of its tokens, SOURCE-TOKEN: the numbers of the token that\n"
                 "                       it looks at most and its own (characters, words or pieces), from 0; none where that is one which is put\n"
                 "                       around the text; with --json \"alignment\": [[source, token], ...]\n"
                 "  --coverage-penalty B\n"
                 "                       score + B * (sum over source tokens of log(min(1, how much all tokens together look at it)))\n");
  if (g.present) {
    if (!prompts)
      append(text, "  --shortlist FILE     lines of source<TAB>target target ...: choose only targets of a line's source tokens, of\n"
                   "                       lines with nothing before the tab, and the end\n"
                   "  --prefix TEXT        what the decoder is given first, in target tokens: results go on from there and do not hold it\n"
                   "  --prefixes           lines are text<TAB>prefix\n"
                   "  --count-prefix       the length penalty counts its tokens, as where other programs force them on a result\n");
    append(text, "  --repetition-penalty P\n"
                 "                       logits of tokens that the decoder has read are divided by P, or multiplied if negative\n"
                 "  --no-repeat-ngram N  no N tokens that it reads stand behind each other twice\n"
                 "  --sample             draw results, as many as beams, instead of searching for the most probable; the best\n"
                 "                       scored come first\n"
                 "  --temperature T      draw with probabilities p^(1/T) (default 1)\n"
                 "  --top-k K            among the K most probable tokens\n"
                 "  --top-p P            among the most probable that have together the share P of all probability\n"
                 "  --min-p P            among those that are at least P times as probable as the most probable one\n"
                 "  --seed N             other numbers draw other results (default 0)\n"
                 "  --stream             print a line's result as it comes, one line after the other\n");
  }
  append(text, "  --ids                read and write token ids (the default without a vocabulary or subwords); ids that are read are all of the\n"
               "                       model's input: the prefix and suffix that text gets are not added\n");
  append(text, "  --source-prefix TEXT\n"
               "  --source-suffix TEXT what is put before and behind a line's text instead of what the model says, in source tokens; may be empty\n");
  if (!prompts)
    append(text,
           "  --truncate           of lines with more than %lld tokens, leave out the text's last ones%s, and say at the end\n"
           "                       on standard error how many lines were cut; not of ids\n",
           static_cast<long long>(g.source), m.header().text.between_count ? ", of two texts those of the longer" : "");
  if (g.present)
    append(text, "  --json               an object for each line: {\"line\": 1, \"results\": [{\"text\": \"...\", \"score\": -0.5}, ...]},\n");
  else
    append_predictions(text, m);
  append(text, "                       or {\"line\": 1, \"error\": \"...\"}\n"
               "  --threads N          default: the CPUs that this process may use\n");
  if (g.batch > 0)
    append(text, "  --batch N            lines at once, at most %lld (default: as many as are worth it); results do not depend on it\n",
           static_cast<long long>(g.batch));
  append(text, "  --isa NAME           baseline, avx2 or avx512; avx2_vnni, avx512_vnni or avx512_bf16 of a model that has a use for it\n"
               "                       (default: the best that this CPU has)\n"
               "  --device NAME        cpu, cuda, emulator or best (the default: cuda where there is a GPU and code for it, else cpu)\n"
               "  --limits             print the model's limits and how much memory it needs at most, a shortlist's aside\n"
               "  --help, --version\n");
  return text;
}

} // namespace xf::rt
