// Lines to tokens and back.
#include "runtime/core/error.h"
#include "runtime/text/codec.h"
#include "runtime/text/text_index.h"
#include "runtime/text/utf8.h"
#include "test/runtime/sample_math.h"
#include "test/runtime/sample_model.h"

#include <gtest/gtest.h>

namespace {

using namespace xf::rt;

class text : public testing::Test {
protected:
  text_codec &open(const sample::options &o, bool ids = false) {
    image_ = std::make_unique<sample::aligned_bytes>(sample::build(o));
    model_ = open_model(image_->data(), image_->size());
    codec_ = std::make_unique<text_codec>(*model_, ids);
    return *codec_;
  }
  std::vector<int32_t> encode(std::string_view line) {
    std::vector<int32_t> tokens = {-9};
    codec_->encode(line, codec_->model_affixes(), tokens);
    EXPECT_EQ(tokens.front(), -9);
    return {tokens.begin() + 1, tokens.end()};
  }
  std::string message(std::string_view line) {
    std::vector<int32_t> tokens = {-9};
    try {
      codec_->encode(line, codec_->model_affixes(), tokens);
    } catch (const error &problem) {
      EXPECT_EQ(tokens.size(), 1u);
      return problem.what();
    }
    return "";
  }
  std::string decode(std::vector<int32_t> tokens) {
    std::string line;
    codec_->decode(tokens, line);
    return line;
  }

private:
  std::unique_ptr<sample::aligned_bytes> image_;
  std::shared_ptr<const model> model_;
  std::unique_ptr<text_codec> codec_;
};

using ids = std::vector<int32_t>;

TEST_F(text, of_two) {
  sample::options o;
  o.model = sample::kind::pooler;
  open(o);
  EXPECT_EQ(encode("a b\tc"), (ids{4, 5, 6})); // a tab is a blank
  o.pairs = o.suffix = true;
  const text_codec &codec = open(o);
  EXPECT_EQ(codec.between(), 1u);
  EXPECT_EQ(encode("a b\tc"), (ids{4, 5, SAMPLE_BETWEEN, 6, SAMPLE_END}));
  EXPECT_EQ(encode("a\tb\tc"), (ids{4, SAMPLE_BETWEEN, 5, 6, SAMPLE_END}));
  EXPECT_EQ(encode("a b c"), (ids{4, 5, 6, SAMPLE_END}));
  EXPECT_EQ(encode("a\tb d"), (ids{4, SAMPLE_BETWEEN, 5, SAMPLE_BETWEEN, SAMPLE_END}));
  EXPECT_EQ(message("a d"), "it has a token in it that stands between two texts");
  EXPECT_EQ(message("d\ta"), "it has a token in it that stands between two texts");
  EXPECT_EQ(message("a\t "), "its second text is empty");
  EXPECT_EQ(message(" \ta"), "its first text is empty");
  EXPECT_EQ(message(""), "it is empty");
  open(o, true);
  EXPECT_EQ(encode("4\t5"), (ids{4, 5}));
}

TEST_F(text, is_cut_where_it_has_more_tokens_than_are_possible) {
  sample::options o;
  o.model = sample::kind::pooler;
  o.pairs = o.suffix = true;
  const text_codec &codec = open(o);
  ASSERT_EQ(codec.max_tokens(), 12u);
  auto cut = [&](std::string_view line, bool wanted) {
    ids tokens;
    EXPECT_EQ(codec.encode(line, codec.model_affixes(), tokens, true), wanted) << line;
    return tokens;
  };
  const int32_t tab = SAMPLE_BETWEEN, end = SAMPLE_END;
  EXPECT_EQ(cut("a a a a a a a a a a b", false), (ids{4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, end}));
  EXPECT_EQ(cut("a a a a a a a a a a b c e f", true), (ids{4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, end}));
  EXPECT_EQ(cut("a a a a a\tb b b b b", false), (ids{4, 4, 4, 4, 4, tab, 5, 5, 5, 5, 5, end}));
  EXPECT_EQ(cut("a a\tb b b b b b b b c", true), (ids{4, 4, tab, 5, 5, 5, 5, 5, 5, 5, 5, end})) << "the longer one is";
  EXPECT_EQ(cut("a a a a a a a a a c\tb", true), (ids{4, 4, 4, 4, 4, 4, 4, 4, 4, tab, 5, end}));
  EXPECT_EQ(cut("a a a a a c c\tb b b b b c c c c", true), (ids{4, 4, 4, 4, 4, tab, 5, 5, 5, 5, 5, end})) << "both are";
  EXPECT_EQ(encode("a a a a a a a a a a a a a").size(), 14u) << "not if nobody asks for it";
  o.pairs = false;
  EXPECT_EQ(open(o).max_tokens(), 12u);
}

TEST_F(text, words) {
  open({});
  EXPECT_EQ(encode("a b  \tÄ "), (ids{4, 5, 10}));
  EXPECT_EQ(encode("a zebra"), (ids{4, 3}));
  EXPECT_EQ(message(""), "it is empty");
  EXPECT_EQ(message(" \t "), "it is empty");
  EXPECT_EQ(message("a \xff"), "byte 3 is not UTF-8");
  EXPECT_EQ(decode({1, 4, 8, 0, 5, 2}), "A Ö B");
  EXPECT_EQ(decode({10}), "<unk>"); // a row of the table without a line in the vocabulary
  EXPECT_EQ(decode({3}), "<unk>");
  EXPECT_EQ(decode({}), "");
}

TEST_F(text, characters) {
  sample::options o;
  o.split = XF_ABI_CHARACTERS;
  o.suffix = true;
  open(o);
  EXPECT_EQ(encode("aBÄ?"), (ids{4, 5, 10, 3, 2}));
  EXPECT_EQ(message(""), "it is empty");
  EXPECT_EQ(decode({4, 8, 2}), "AÖ");
}

TEST_F(text, unknown_tokens_are_an_error_without_a_token_for_them) {
  sample::options o;
  o.unknown = -1;
  open(o);
  EXPECT_EQ(message("a zebra b"), "'zebra' is not in the source vocabulary");
  EXPECT_EQ(message(std::string(100, 'z')), "'" + std::string(60, 'z') + "…' is not in the source vocabulary");
}

TEST_F(text, plain_ids) {
  for (bool requested : {false, true}) {
    sample::options o;
    o.vocabulary = requested;
    open(o, requested);
    EXPECT_EQ(encode(" 12 0\t7"), (ids{12, 0, 7}));
    EXPECT_EQ(message(""), "it is empty");
    EXPECT_EQ(message("5 x"), "'x' is not a token id");
    EXPECT_EQ(message("5 -1"), "'-1' is not a token id");
    EXPECT_EQ(message("99999999999"), "'99999999999' is not a token id");
    EXPECT_EQ(decode({1, 0, 7, 2}), "1 0 7 2");
  }
}

TEST(text_index, finds_each_texts_first_number) {
  std::vector<std::string> texts(5000);
  for (size_t i = 1; i < texts.size(); ++i)
    texts[i] = std::to_string(i % 4000) + (i % 2 ? "" : std::string(1, '\0'));
  auto text_of = [&](int32_t index) { return std::string_view(texts[static_cast<size_t>(index)]); };
  EXPECT_EQ(text_index().find("", text_of), -1);
  text_index index(texts.size());
  for (size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(index.add(texts[i], static_cast<int32_t>(i), text_of), i <= 4000);
  for (size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(index.find(texts[i], text_of), static_cast<int32_t>(i > 4000 ? i - 4000 : i));
  EXPECT_EQ(index.find("4000", text_of), -1);
}

TEST(utf8, accepts_exactly_what_the_standard_does) {
  for (const char *good :
       {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(find_invalid_utf8(good), std::string_view::npos) << good;
  for (const char *bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe1\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                          "\xf5\x80\x80\x80", "\xff"})
    EXPECT_EQ(find_invalid_utf8(bad), 0u);
}

TEST(utf8, lowers) {
  std::string lowered;
  to_lower("ABCxyz ÄÖÜß ÇŁŸ АБВЯ ΑΒΩ Ǆ İ 𐐀 ẞ 日本", lowered);
  EXPECT_EQ(lowered, "abcxyz äöüß çłÿ абвя αβω ǆ i 𐐨 ß 日本");
}

} // namespace
