// How the runtime reports a problem: one exception type with a status and a sentence. It is thrown inside,
// and turned into a status code and a message where the C API or a program begins.
#ifndef RUNTIME_CORE_ERROR_H
#define RUNTIME_CORE_ERROR_H

#include <stdexcept>
#include <string>

namespace xf::rt {

// The values are those of xf_status in xf.h.
enum class status : int { ok = 0, invalid_argument = 1, bad_image = 2, unsupported = 3, limit = 4, io = 5, out_of_memory = 6, internal = 7 };

class error : public std::runtime_error {
public:
  error(status code, const std::string &message) : std::runtime_error(message), code(code) {}
  const status code;
};

// Throws an error whose message is formatted as by printf.
[[noreturn]] void fail(status code, const char *format, ...) __attribute__((format(printf, 2, 3)));

} // namespace xf::rt

#endif
