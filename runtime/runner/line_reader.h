// Lines of a file or pipe. Those that are available are not held back by waiting for more, so that a person at a
// terminal, or a slow program before the pipe, gets an answer to every line at once.
#ifndef RUNTIME_RUNNER_LINE_READER_H
#define RUNTIME_RUNNER_LINE_READER_H

#include <cstdint>
#include <string>
#include <vector>

namespace xf::rt {

// The most bytes of a line; the rest of a longer one is skipped.
constexpr size_t kMaxLineBytes = size_t(1) << 20;
// The most bytes of the lines that are read at a time, not counting the last of them.
constexpr size_t kMaxReadBytes = size_t(1) << 20;

struct input_line {
  std::string text;
  bool too_long = false; // the rest was skipped
};

class line_reader {
public:
  // "-" is standard input. Throws when the file cannot be opened.
  explicit line_reader(const std::string &path);
  ~line_reader();
  line_reader(const line_reader &) = delete;
  line_reader &operator=(const line_reader &) = delete;

  // Reads the next lines: waits for one, then takes those that are available, at most `max_lines`, until they have kMaxReadBytes bytes. None at
  // the end. Throws if the file cannot be read on.
  void read(size_t max_lines, std::vector<input_line> &lines);

  int64_t consumed() const { return consumed_; }
  int64_t size() const { return size_; } // of a regular file, else -1

private:
  bool take_line(input_line &line);
  void end_line(input_line &line);
  bool fill();
  bool available() const;

  std::string name_;
  int file_;
  bool ended_ = false;
  int problem_ = 0; // the errno with which reading ended, if it did
  int64_t size_ = -1, consumed_ = 0;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  input_line partial_;
  bool started_ = false; // partial_ holds a line without its end
  bool is_first_ = true;
};

} // namespace xf::rt

#endif
