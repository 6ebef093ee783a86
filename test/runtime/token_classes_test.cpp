#include "runtime/core/token_classes.h"

#include <gtest/gtest.h>

#include <vector>

using namespace xf::rt;

namespace {

constexpr int32_t kTokens = 40, kEnd = 33;
constexpr int64_t kWords = 2, kSlots = 3;

struct Classes {
  Classes() { classes.bind(words.data(), kWords, kSlots); }

  std::vector<int32_t> allowed(int32_t which) const {
    std::vector<int32_t> result;
    for (int32_t token = 0; token < kTokens; ++token)
      if (!(classes.forbidden(which)[token / 32] >> (token % 32) & 1))
        result.push_back(token);
    return result;
  }

  std::vector<uint32_t> words = std::vector<uint32_t>((1 + 2 * kSlots) * kWords, 0xabcdu); // of a search before
  token_classes classes;
};

TEST(token_classes, are_three_for_all_sentences) {
  Classes c;
  std::vector<int32_t> suppressed = {0, 39};
  c.classes.start(suppressed, nullptr, {kEnd, {}, {}});
  EXPECT_EQ(c.classes.count(kSlots), 3);
  EXPECT_TRUE(c.allowed(token_classes::kNone).empty());
  for (int32_t slot : {0, 2}) {
    c.classes.open(slot, {});
    std::vector<int32_t> may_end = c.allowed(c.classes.of(slot, true)), may_not = c.allowed(c.classes.of(slot, false));
    EXPECT_EQ(may_end.size(), kTokens - 2u);
    EXPECT_EQ(may_not.size(), kTokens - 3u);
    EXPECT_EQ(std::count(may_not.begin(), may_not.end(), kEnd), 0);
    c.classes.close(slot);
  }
  EXPECT_EQ(c.allowed(c.classes.of(0, true)).size(), kTokens - 2u); // others go on
}

TEST(token_classes, follow_each_sentence_with_a_shortlist) {
  shortlist list(10, kTokens);
  list.fill({{-1, 7}, {4, 20}, {4, 35}, {5, 21}});
  Classes c;
  std::vector<int32_t> suppressed = {20}, more = {1}, source = {4}, other = {5};
  c.classes.start(suppressed, &list, {kEnd, more, {}});
  EXPECT_EQ(c.classes.count(kSlots), 7);
  for (int32_t slot = 0; slot < kSlots; ++slot)
    EXPECT_TRUE(c.allowed(c.classes.of(slot, true)).empty());
  c.classes.open(1, source);
  c.classes.open(2, other);
  EXPECT_EQ(c.allowed(c.classes.of(1, true)), (std::vector<int32_t>{1, 7, kEnd, 35}));
  EXPECT_EQ(c.allowed(c.classes.of(1, false)), (std::vector<int32_t>{7, 35}));
  EXPECT_EQ(c.allowed(c.classes.of(2, true)), (std::vector<int32_t>{1, 7, 21, kEnd}));
  EXPECT_TRUE(c.allowed(c.classes.of(0, true)).empty());
  c.classes.open(1, other); // another sentence takes the slot
  EXPECT_EQ(c.allowed(c.classes.of(1, false)), (std::vector<int32_t>{7, 21}));
  c.classes.close(1);
  EXPECT_TRUE(c.allowed(c.classes.of(1, true)).empty());
  EXPECT_TRUE(c.allowed(c.classes.of(1, false)).empty());
}

} // namespace
