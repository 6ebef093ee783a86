#include "runtime/runner/line_reader.h"

#include "runtime/core/error.h"
#include "runtime/runner/retry.h"
#include "runtime/text/utf8.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace xf::rt {

// Bytes that may stand around a line and are no part of it: the byte order mark and a carriage return.
constexpr size_t kMaxAround = kByteOrderMark.size() + 1;

line_reader::line_reader(const std::string &path)
    : name_(path == "-" ? "standard input" : path), file_(path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC)), buffer_(1 << 16) {
  if (file_ < 0)
    fail(status::io, "%s: %s", name_.c_str(), std::strerror(errno));
  struct stat info;
  if (fstat(file_, &info) == 0 && S_ISREG(info.st_mode))
    size_ = info.st_size;
}

line_reader::~line_reader() {
  if (file_ > STDIN_FILENO)
    close(file_);
}

bool line_reader::available() const {
  struct pollfd waiting = {file_, POLLIN, 0};
  return poll(&waiting, 1, 0) > 0;
}

bool line_reader::fill() {
  while (true) {
    ssize_t n = ::read(file_, buffer_.data(), buffer_.size());
    if (n < 0 && should_retry(file_, POLLIN))
      continue;
    problem_ = n < 0 ? errno : 0;
    begin_ = 0;
    end_ = static_cast<size_t>(std::max<ssize_t>(n, 0));
    consumed_ += static_cast<int64_t>(end_);
    ended_ = n <= 0;
    return !ended_;
  }
}

bool line_reader::take_line(input_line &line) {
  if (begin_ == end_)
    return false;
  const char *from = buffer_.data() + begin_;
  auto *newline = static_cast<const char *>(std::memchr(from, '\n', end_ - begin_));
  size_t length = newline ? static_cast<size_t>(newline - from) : end_ - begin_;
  size_t room = kMaxLineBytes + kMaxAround - partial_.text.size();
  partial_.text.append(from, std::min(length, room));
  partial_.too_long |= length > room;
  begin_ += length + (newline ? 1 : 0);
  started_ = newline == nullptr;
  if (!newline)
    return false;
  end_line(line);
  return true;
}

void line_reader::end_line(input_line &line) {
  if (is_first_ && partial_.text.starts_with(kByteOrderMark))
    partial_.text.erase(0, kByteOrderMark.size());
  is_first_ = false;
  if (!partial_.text.empty() && partial_.text.back() == '\r')
    partial_.text.pop_back();
  partial_.too_long |= partial_.text.size() > kMaxLineBytes;
  std::swap(line, partial_);
  partial_.text.clear();
  partial_.too_long = false;
}

void line_reader::read(size_t max_lines, std::vector<input_line> &lines) {
  lines.clear();
  input_line line;
  size_t text = 0;
  while (lines.size() < max_lines && text < kMaxReadBytes) {
    if (take_line(line)) {
      text += line.text.size();
      lines.push_back(std::move(line));
      continue;
    }
    if (ended_ || (!lines.empty() && !available()))
      break;
    if (!fill() && started_ && !problem_) {
      end_line(line); // the last line lacks its newline
      lines.push_back(std::move(line));
      started_ = false;
    }
  }
  // Lines that were read before the error are answered first.
  if (problem_ && lines.empty())
    fail(status::io, "%s: %s", name_.c_str(), std::strerror(problem_));
}

} // namespace xf::rt
