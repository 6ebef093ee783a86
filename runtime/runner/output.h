// Standard output, buffered; a full disk or a closed pipe is an error.
#ifndef RUNTIME_RUNNER_OUTPUT_H
#define RUNTIME_RUNNER_OUTPUT_H

#include <string>
#include <string_view>

namespace xf::rt {

class output {
public:
  void write(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() > (1 << 16))
      flush();
  }
  // Throws when the text cannot be written.
  void flush();
  // Flushes and closes: some file systems say only then that the disk is full.
  void close();

private:
  std::string buffer_;
};

// The length of the character that begins at `at`, if text on one line cannot have it: a control character (newlines and tabs
// among them) or one of Unicode's line separators, at which some readers break lines, too. Else 0.
size_t breaking_length(std::string_view text, size_t at);

// The text as a JSON string, quotes included.
std::string json_string(std::string_view text);

} // namespace xf::rt

#endif
