// The text of tokens that come one by one, written in pieces as soon as it is known.
#ifndef RUNTIME_TEXT_TEXT_STREAM_H
#define RUNTIME_TEXT_TEXT_STREAM_H

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace xf::rt {

class text_stream {
public:
  // `decode` appends the text of tokens, as tokenizer::decode does; `write` is given the pieces.
  using decoder = std::function<void(std::span<const int32_t>, std::string &)>;
  using writer = std::function<void(std::string_view)>;
  text_stream(decoder decode, writer write) : decode_(std::move(decode)), write_(std::move(write)) {}

  void push(int32_t token);
  // `text`: that of all tokens.
  void end(std::string_view text);

private:
  void write(std::string_view text);

  decoder decode_;
  writer write_;
  std::vector<int32_t> window_; // the tokens that the next one's text depends on
  size_t before_ = 0;           // of these, those that are text by themselves
  size_t shown_ = 0;            // bytes of the window's text that are written
  size_t written_ = 0;          // bytes in all
};

} // namespace xf::rt

#endif
