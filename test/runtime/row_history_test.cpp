#include "runtime/core/row_history.h"

#include <gtest/gtest.h>

using namespace xf::rt;

namespace {

struct Rows {
  Rows() { memory.reserve(plan.bytes()), history.bind(memory); }

  arena_plan plan;
  row_history history{plan, 3, 8};
  arena memory;
};

TEST(row_history, knows_what_rows_share) {
  Rows rows;
  row_history &h = rows.history;
  for (int32_t row = 0; row < 3; ++row)
    h.append(row, 0, 4);
  EXPECT_EQ(h.shared(0, 1, 4), 0); // each has positions of its own
  h.copy(0, 1, 4);
  EXPECT_EQ(h.shared(0, 1, 4), 4);
  h.append(0, 4, 1);
  h.append(1, 4, 1);
  EXPECT_EQ(h.shared(0, 1, 5), 4);
  EXPECT_EQ(h.shared(1, 0, 5), 4);
  EXPECT_EQ(h.shared(1, 0, 3), 3); // no more than are asked for
  h.copy(1, 2, 5);
  EXPECT_EQ(h.shared(0, 2, 5), 4);
  EXPECT_EQ(h.shared(1, 2, 5), 5);
}

TEST(row_history, forgets_what_lies_behind_a_copy) {
  Rows rows;
  row_history &h = rows.history;
  h.append(0, 0, 6);
  h.copy(0, 1, 6);
  h.copy(0, 1, 2); // units that hold more than the positions may have been copied
  EXPECT_EQ(h.shared(0, 1, 6), 2);
  h.append(1, 4, 1); // what has been skipped is not what stood there
  EXPECT_EQ(h.shared(0, 1, 6), 2);
}

TEST(row_history, forgets_all_between_searches) {
  Rows rows;
  row_history &h = rows.history;
  EXPECT_EQ(h.shared(0, 1, 8), 0); // nothing has been written
  h.append(0, 0, 2);
  h.copy(0, 1, 2);
  h.forget();
  EXPECT_EQ(h.shared(0, 1, 2), 0);
  h.append(0, 0, 1);
  h.copy(0, 1, 1);
  EXPECT_EQ(h.shared(0, 1, 2), 1);
}

} // namespace
