// What a model predicts for a line, as values and labels instead of text.
#ifndef RUNTIME_TEXT_LINE_ROWS_H
#define RUNTIME_TEXT_LINE_ROWS_H

#include <cstdint>
#include <span>
#include <vector>

namespace xf::rt {

// One row of the line, or one for each of its own tokens.
struct line_rows {
  bool by_token = false;
  int64_t count = 0;
  int64_t first = -1;         // how many of them are of the first of two texts; -1: the line is one text
  std::vector<float> values;   // of a model without labels: one row after the other
  std::vector<int32_t> labels; // of one with labels: each row's most likely one; of a single row the most likely ones, best first
  std::vector<double> scores;  // their probabilities
};

// Appends a row's `best` most likely labels and their probabilities: the softmax of its values, of which none is NaN. Of equal ones the
// first comes first.
void append_likeliest(std::span<const float> row, int64_t best, line_rows &rows);

} // namespace xf::rt

#endif
