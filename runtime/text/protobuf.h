// Reads protocol buffers' wire format: fields of a message, one after the other.
#ifndef RUNTIME_TEXT_PROTOBUF_H
#define RUNTIME_TEXT_PROTOBUF_H

#include "runtime/core/error.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace xf::rt {

class protobuf_reader {
public:
  explicit protobuf_reader(std::string_view bytes) : rest_(bytes) {}

  // Goes to the next field; false at the end. Throws where the bytes are no message.
  bool next() {
    if (rest_.empty())
      return false;
    uint64_t key = varint();
    field_ = static_cast<uint32_t>(key >> 3);
    wire_ = key & 7;
    if (wire_ == 0)
      integer_ = varint();
    else if (wire_ == 1)
      take(8);
    else if (wire_ == 2)
      take(varint());
    else if (wire_ == 5)
      take(4);
    else
      damaged();
    return true;
  }

  uint32_t field() const { return field_; }
  // The field's value, of the type that the caller expects.
  uint64_t integer() const { return wire_ == 0 ? integer_ : (damaged(), 0); }
  bool flag() const { return integer() != 0; }
  std::string_view bytes() const { return wire_ == 2 ? bytes_ : (damaged(), bytes_); }
  float real() const {
    uint32_t bits;
    if (wire_ != 5)
      damaged();
    std::memcpy(&bits, bytes_.data(), sizeof(bits));
    return std::bit_cast<float>(bits);
  }

private:
  [[noreturn]] static void damaged() { fail(status::invalid_argument, "it is no SentencePiece model, or damaged"); }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty())
        damaged();
      auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return value;
    }
    damaged();
  }
  void take(uint64_t size) {
    if (size > rest_.size())
      damaged();
    bytes_ = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }

  std::string_view rest_, bytes_;
  uint64_t integer_ = 0, wire_ = 0;
  uint32_t field_ = 0;
};

} // namespace xf::rt

#endif
