// Text to tokens and back by the C API: as lines of text are cut and written.
#include "test/runtime/allocations.h"
#include "test/runtime/search_harness.h"
#include "test/runtime/spm_files.h"
#include "test/runtime/tokenizer_tables.h"

#include <atomic>
#include <climits>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace sample;

tokens to_ids(const xf_model *model, std::string_view text, int32_t side = XF_SOURCE) {
  int64_t count = -1;
  EXPECT_EQ(xf_text_to_ids(model, side, text.data(), static_cast<int64_t>(text.size()), nullptr, 0, &count), XF_OK) << xf_message();
  tokens ids(static_cast<size_t>(count));
  EXPECT_EQ(xf_text_to_ids(model, side, text.data(), static_cast<int64_t>(text.size()), ids.data(), count, &count), XF_OK) << xf_message();
  return ids;
}

std::string to_text(const xf_model *model, const tokens &ids, bool more = false) {
  char text[512];
  int64_t length = -1;
  EXPECT_EQ(xf_ids_to_text(model, ids.data(), static_cast<int64_t>(ids.size()), more, text, sizeof(text), &length), XF_OK) << xf_message();
  EXPECT_EQ(std::string(text).size(), static_cast<size_t>(length));
  return text;
}

// What is said of a text that cannot be cut.
std::string refusal_of(const xf_model *model, std::string_view text, int32_t side = XF_SOURCE, xf_status status = XF_INVALID_ARGUMENT) {
  int64_t count = -5;
  EXPECT_EQ(xf_text_to_ids(model, side, text.data(), static_cast<int64_t>(text.size()), nullptr, 0, &count), status);
  EXPECT_EQ(count, -5);
  return xf_message();
}
std::string refusal_of(const xf_model *model, const tokens &ids, xf_status status = XF_INVALID_ARGUMENT) {
  int64_t length = -5;
  EXPECT_EQ(xf_ids_to_text(model, ids.data(), static_cast<int64_t>(ids.size()), 0, nullptr, 0, &length), status);
  EXPECT_EQ(length, -5);
  return xf_message();
}

sample::options of_subwords(std::string_view file) {
  sample::options o;
  o.split = XF_ABI_SUBWORDS, o.vocabulary = false, o.subwords = file, o.unknown = -1;
  return o;
}

// SentencePiece models whose tokens are as many as the sample's.
std::vector<std::string> piece_files() {
  using namespace spm;
  const std::string blank(xf::rt::kSpacePiece);
  std::vector<made> pieces = {{blank + "a", -1}, {"a", -2}, {"b", -2}, {blank, -1}, {"ab", -3}, {blank + blank, -3}};
  for (const char *byte : {"<0xC3>", "<0xA4>", "<0x78>"})
    pieces.push_back({byte, 0, xf::rt::piece_type::byte});
  std::vector<std::string> files;
  for (const std::string &blanks : {integer(3, 1) + integer(4, 1), integer(3, 1) + integer(4, 0), integer(3, 0) + integer(4, 0)})
    files.push_back(model_of(pieces, xf::rt::subword_kind::unigram, integer(35, 1), blanks));
  return files;
}

// Calls use(model's options) for every way in which text may be cut.
template <typename Use> void for_all_kinds(Use use) {
  for (uint32_t split : {XF_ABI_WORDS, XF_ABI_CHARACTERS}) {
    sample::options o;
    o.split = split;
    use(o);
  }
  for (const std::string &file : piece_files())
    use(of_subwords(file));
  using namespace tokenizers;
  for (tokenizers::made made : {bpe(), wordpiece(), characters(), unigrams(), whole_words()}) {
    auto table = made.build();
    use(of_subwords(bytes_of(table)));
  }
}

TEST(text_api, cuts_texts_as_lines_are) {
  sample::options o;
  o.suffix = true;
  machine words(o);
  EXPECT_EQ(to_ids(words.model, "A b  \tÄ "), (tokens{4, 5, 10, SAMPLE_END})) << "in small letters";
  EXPECT_EQ(to_ids(words.model, "a\nb"), (tokens{3, SAMPLE_END})) << "a line's end is no blank";
  EXPECT_EQ(to_ids(words.model, "A  Ö", XF_TARGET), (tokens{4, 8})) << "nothing is put around a target, and it stays as it is";
  EXPECT_EQ(to_ids(words.model, "", XF_TARGET), (tokens{}));
  EXPECT_EQ(to_ids(words.model, "a b", XF_SOURCE_TOKENS), (tokens{4, 5})) << "nor around the source's tokens";
  EXPECT_EQ(refusal_of(words.model, "A", XF_SOURCE_TOKENS), "the text: 'A' is not in the source vocabulary") << "which stay as they are";
  o.split = XF_ABI_CHARACTERS;
  EXPECT_EQ(to_ids(machine(o).model, "aB?"), (tokens{4, 5, 3, SAMPLE_END}));
  o.split = XF_ABI_WORDS, o.model = kind::pooler, o.pairs = true;
  EXPECT_EQ(to_ids(machine(o).model, "a b\tc"), (tokens{4, 5, SAMPLE_BETWEEN, 6, SAMPLE_END}));
  o = {};
  o.model = kind::continuer;
  EXPECT_EQ(to_ids(machine(o).model, "a b"), (tokens{4, 5})) << "a prompt";
}

TEST(text_api, does_what_lines_do) {
  for_all_kinds([](const sample::options &o) {
    machine m(o);
    for (const char *line : {"a b a", "b", "ab a ba", "ab1 a", "A"}) {
      xf_lines *lines = nullptr;
      ASSERT_EQ(xf_process_lines(m.session, &line, 1, 0, nullptr, &lines), XF_OK) << xf_message();
      if (const char *problem = xf_line_error(lines, 0)) {
        int64_t count;
        bool cut = xf_text_to_ids(m.model, XF_SOURCE, line, -1, nullptr, 0, &count) == XF_OK;
        EXPECT_TRUE(cut || xf_message() == std::string("the text: ") + problem) << xf_message();
      } else {
        std::string wanted = xf_line_text(lines, 0, 0);
        EXPECT_EQ(to_text(m.model, generate(m.session, {to_ids(m.model, line)}, defaults()).sentences[0][0].ids), wanted) << line;
      }
      xf_lines_free(lines);
    }
  });
}

TEST(text_api, text_of_the_first_tokens_begins_that_of_all) {
  std::mt19937 random(1);
  for_all_kinds([&](sample::options o) {
    o.pad = -1, o.end = SAMPLE_VOCABULARY - 1;
    machine m(o);
    size_t early = 0;
    for (int round = 0; round < 1000; ++round) {
      tokens ids;
      std::string shown;
      for (size_t left = random() % 12; left > 0; --left) {
        ids.push_back(static_cast<int32_t>(random() % SAMPLE_VOCABULARY));
        std::string text = to_text(m.model, ids, true);
        ASSERT_TRUE(text.starts_with(shown)) << round;
        early += text.size() > shown.size();
        shown = text;
      }
      ASSERT_TRUE(to_text(m.model, ids).starts_with(shown)) << round;
    }
    EXPECT_GT(early, 100u);
  });
}

TEST(text_api, half_a_character_waits_for_the_other) {
  auto table = tokenizers::bpe().build();
  machine m(of_subwords(tokenizers::bytes_of(table)));
  EXPECT_EQ(to_text(m.model, {3, 8}), "c\xef\xbf\xbd");
  EXPECT_EQ(to_text(m.model, {3, 8}, true), "c");
  EXPECT_EQ(to_text(m.model, {3, 8, 9}, true), "c\xc3\xa4");
  table = tokenizers::characters().build();
  machine bytes(of_subwords(tokenizers::bytes_of(table)));
  EXPECT_EQ(to_text(bytes.model, {3, 8}, true), "") << "bytes that follow each other are text together, or not at all";
  EXPECT_EQ(to_text(bytes.model, {4, 8, 10}, true), "ab") << "nor do tokens without a name part them";
  EXPECT_EQ(to_text(bytes.model, {4, 8, 10, 6, 4}), "ab\xef\xbf\xbd\xef\xbf\xbd"
                                                    "ab");
}

// As it is used: inside on_token.
TEST(text_api, tells_results_as_they_come) {
  struct received {
    const xf_model *model;
    tokens ids;
    std::string text;
  };
  for_all_kinds([](const sample::options &o) {
    machine m(o);
    for (const tokens &source : random_sources(3, 20)) {
      received so_far{m.model, {}, ""};
      xf_generate_options options = defaults();
      options.on_token = [](void *context, int64_t, int32_t token) {
        auto &to = *static_cast<received *>(context);
        to.ids.push_back(token);
        std::string text = to_text(to.model, to.ids, true);
        EXPECT_TRUE(text.starts_with(to.text));
        to.text = text;
      };
      options.token_context = &so_far;
      tokens result = generate(m.session, {source}, options).sentences[0][0].ids;
      EXPECT_EQ(so_far.ids, result);
      EXPECT_TRUE(to_text(m.model, result).starts_with(so_far.text));
    }
  });
}

TEST(text_api, writes_as_much_as_there_is_room_for) {
  machine m({});
  int32_t ids[] = {-7, -7, -7};
  int64_t count = 0;
  ASSERT_EQ(xf_text_to_ids(m.model, XF_SOURCE, "a b c d", -1, ids, 2, &count), XF_OK);
  EXPECT_EQ(count, 4);
  EXPECT_EQ(tokens(ids, ids + 3), (tokens{4, 5, -7}));
  ASSERT_EQ(xf_text_to_ids(m.model, XF_SOURCE, "a b c d", 3, ids, 3, &count), XF_OK);
  EXPECT_EQ(count, 2) << "what stands behind its length is no part of the text";
  ASSERT_EQ(xf_text_to_ids(m.model, XF_SOURCE, "a", -1, ids, INT64_MAX, &count), XF_OK);
  EXPECT_EQ(count, 1);
  const int32_t result[] = {4, 8, 5, SAMPLE_END};
  char text[] = "~~~~~~~~";
  int64_t length = 0;
  for (auto [room, wanted] : {std::pair(0, "~~~~~~~~"), {1, ""}, {3, "A "}, {6, "A Ö "}, {7, "A Ö B"}}) {
    ASSERT_EQ(xf_ids_to_text(m.model, result, 4, 0, room ? text : nullptr, room, &length), XF_OK);
    EXPECT_EQ(length, 6);
    EXPECT_STREQ(text, wanted);
  }
  EXPECT_EQ(text[7], '~');
  ASSERT_EQ(xf_ids_to_text(m.model, result, 4, 0, text, INT64_MAX, &length), XF_OK);
  ASSERT_EQ(xf_ids_to_text(m.model, nullptr, 0, 1, text, 1, &length), XF_OK);
  EXPECT_EQ(length, 0);
}

TEST(text_api, names_labels) {
  sample::options o;
  o.model = kind::tagger;
  machine m(o);
  EXPECT_EQ(to_text(m.model, {4, 0, 2, 900}), "A <pad> </s> 900") << "a label beyond the vocabulary is written as lines write it";
  EXPECT_EQ(refusal_of(m.model, {4, -1}), "an id of a result's must be between 0 and 2147483647, not -1");
  o.vocabulary = false;
  EXPECT_EQ(refusal_of(machine(o).model, tokens{4}, XF_UNSUPPORTED), "model 'sample' has no vocabulary for the text of its results");
  o.vocabulary = true, o.model = kind::pooler;
  EXPECT_EQ(refusal_of(machine(o).model, tokens{4}, XF_UNSUPPORTED), "model 'sample' has no vocabulary for the text of its results");
}

TEST(text_api, refuses_what_is_no_text) {
  sample::options o;
  o.unknown = -1;
  machine m(o);
  EXPECT_EQ(refusal_of(m.model, ""), "the text: it is empty");
  EXPECT_EQ(refusal_of(m.model, "a \xff"), "the text: byte 3 is not UTF-8");
  EXPECT_EQ(refusal_of(m.model, "a zebra"), "the text: 'zebra' is not in the source vocabulary");
  EXPECT_EQ(refusal_of(m.model, std::string_view("a \0", 3)), "the text: ' ' is not in the source vocabulary");
  EXPECT_EQ(refusal_of(m.model, "a", XF_TARGET), "the text: 'a' is not in the target vocabulary");
  for (int32_t side : {-1, 3, INT_MAX})
    EXPECT_EQ(refusal_of(m.model, "a", side), "there is no side " + std::to_string(side) + ": they have the numbers 0 to 2");
  for (int32_t id : {-1, 11, INT_MAX, INT_MIN})
    EXPECT_EQ(refusal_of(m.model, {4, id}), "an id of a result's must be between 0 and 10, not " + std::to_string(id));
  o.vocabulary = false;
  machine of_ids(o);
  EXPECT_EQ(refusal_of(of_ids.model, "4", XF_SOURCE, XF_UNSUPPORTED), "model 'sample' has no vocabulary for text: its source is ids");
  EXPECT_EQ(refusal_of(of_ids.model, "4", XF_TARGET, XF_UNSUPPORTED), "model 'sample' has no vocabulary for text: its target is ids");
  EXPECT_EQ(refusal_of(of_ids.model, tokens{4}, XF_UNSUPPORTED), "model 'sample' has no vocabulary for text: its target is ids");
}

TEST(text_api, takes_null_and_senseless_sizes) {
  machine m({});
  int32_t id = 5;
  int64_t count = -5;
  char text[4] = "";
  for (xf_status status :
       {xf_text_to_ids(nullptr, XF_SOURCE, "a", -1, &id, 1, &count), xf_text_to_ids(m.model, XF_SOURCE, nullptr, -1, &id, 1, &count),
        xf_text_to_ids(m.model, XF_SOURCE, nullptr, 1, &id, 1, &count), xf_text_to_ids(m.model, XF_SOURCE, nullptr, 0, &id, 1, &count),
        xf_text_to_ids(m.model, XF_SOURCE, "a", -2, &id, 1, &count), xf_text_to_ids(m.model, XF_SOURCE, "a", INT64_MIN, &id, 1, &count),
        xf_text_to_ids(m.model, XF_SOURCE, "a", -1, nullptr, 1, &count), xf_text_to_ids(m.model, XF_SOURCE, "a", -1, &id, -1, &count),
        xf_text_to_ids(m.model, XF_SOURCE, "a", -1, &id, 1, nullptr), xf_ids_to_text(nullptr, &id, 1, 0, text, 4, &count),
        xf_ids_to_text(m.model, nullptr, 1, 0, text, 4, &count), xf_ids_to_text(m.model, &id, -1, 0, text, 4, &count),
        xf_ids_to_text(m.model, &id, INT64_MIN, 0, text, 4, &count), xf_ids_to_text(m.model, &id, 1, 0, nullptr, 4, &count),
        xf_ids_to_text(m.model, &id, 1, 0, text, -1, &count), xf_ids_to_text(m.model, &id, 1, 0, text, 4, nullptr)}) {
    EXPECT_EQ(status, XF_INVALID_ARGUMENT);
    EXPECT_STRNE(xf_message(), "");
  }
  EXPECT_EQ(id, 5);
  EXPECT_EQ(count, -5);
  EXPECT_STREQ(text, "");
}

TEST(text_api, lines_do_not_tell_tokens) {
  machine m({});
  const char *line = "a";
  xf_generate_options options = defaults();
  options.on_token = [](void *, int64_t, int32_t) {};
  xf_lines *lines = nullptr;
  EXPECT_EQ(xf_process_lines(m.session, &line, 1, 0, &options, &lines), XF_INVALID_ARGUMENT);
  EXPECT_STREQ(xf_message(), "lines are given when they are done (on_token is of xf_generate, and xf_ids_to_text tells the text of its tokens)");
  EXPECT_FALSE(lines);
}

TEST(text_api, serves_any_number_of_threads) {
  machine m({});
  std::atomic<int> good{0};
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user)
    users.emplace_back([&] {
      for (int i = 0; i < 50; ++i)
        good += to_ids(m.model, "A zebra Ä") == tokens{4, 3, 10} && to_text(m.model, {4, 8}) == "A Ö";
    });
  for (std::thread &user : users)
    user.join();
  EXPECT_EQ(good, 200);
}

TEST(text_api, reads_a_models_vocabularies_once) {
  if (!xf_test_counts_allocations())
    GTEST_SKIP() << "allocations are not counted in this build";
  machine m({});
  auto allocations = [&](xf_session *session) {
    long before = xf_test_allocations();
    xf_lines *lines = nullptr;
    const char *line = "a b";
    EXPECT_EQ(xf_process_lines(session, &line, 1, 0, nullptr, &lines), XF_OK) << xf_message();
    xf_lines_free(lines);
    return xf_test_allocations() - before;
  };
  to_ids(m.model, "a");
  long first = allocations(m.session);
  EXPECT_EQ(allocations(m.session), first);
  xf_session *other = nullptr;
  ASSERT_EQ(xf_session_create(m.model, nullptr, &other), XF_OK);
  EXPECT_LE(allocations(other), first + 8) << "but for what the session grows by";
  xf_session_free(other);
}

} // namespace
