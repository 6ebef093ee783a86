#include "runtime/text/text_stream.h"

#include "runtime/text/utf8.h"

namespace xf::rt {

void text_stream::push(int32_t token) {
  window_.push_back(token);
  std::string text, latest;
  decode_(window_, text);
  // A character may come in several tokens: half of one is no text yet.
  if (text.ends_with(kReplacement))
    return;
  if (text.size() > shown_)
    write(std::string_view(text).substr(shown_));
  shown_ = text.size();
  // A token's text depends only on whether there is text before it. So it is enough to keep the latest tokens that are text.
  decode_(std::span(window_).subspan(before_), latest);
  if (latest.empty())
    return;
  window_.erase(window_.begin(), window_.begin() + static_cast<ptrdiff_t>(before_));
  before_ = window_.size();
  shown_ = latest.size();
}

void text_stream::end(std::string_view text) {
  if (text.size() > written_)
    write(text.substr(written_));
}

void text_stream::write(std::string_view text) {
  written_ += text.size();
  write_(text);
}

} // namespace xf::rt
