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

// The text as a JSON string, quotes included.
std::string json_string(std::string_view text);

} // namespace xf::rt

#endif
