// What the files of the C API share: the handles, and exceptions turned into a status and a message.
#ifndef RUNTIME_API_HANDLES_H
#define RUNTIME_API_HANDLES_H

#include "runtime/include/xf/xf.h"

#include "runtime/core/binding.h"
#include "runtime/core/error.h"
#include "runtime/core/session.h"
#include "runtime/text/codec.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <vector>

// xf.h stands alone, so constants that it shares with the ABI and the runtime are defined twice, and compared here.
static_assert(XF_MAX_RANK == XF_ABI_MAX_RANK);
static_assert(int(XF_F32) == XF_ABI_F32 && int(XF_I32) == XF_ABI_I32 && int(XF_I1) == XF_ABI_I1);
static_assert(int(XF_ISA_BASELINE) == XF_ABI_BASELINE && int(XF_ISA_AVX512_BF16) == XF_ABI_AVX512_BF16);
static_assert(int(XF_DEVICE_EMULATOR) == int(xf::rt::device_kind::emulator) && int(XF_DEVICE_CPU) == int(xf::rt::device_kind::cpu));
static_assert(XF_BAD_IMAGE == xf_status(xf::rt::status::bad_image));
static_assert(XF_INTERNAL == xf_status(xf::rt::status::internal));

namespace xf::rt {

// The codecs for lines of text and of ids, made when they are first needed, as vocabularies take long to read. A model shares them with its sessions.
class text_codecs {
public:
  explicit text_codecs(std::shared_ptr<const model> m) : model_(std::move(m)) {}
  text_codec &get(bool ids) {
    std::lock_guard lock(mutex_);
    std::unique_ptr<text_codec> &codec = codecs_[ids];
    if (!codec)
      codec = std::make_unique<text_codec>(*model_, ids);
    return *codec;
  }

private:
  const std::shared_ptr<const model> model_;
  std::mutex mutex_;
  std::unique_ptr<text_codec> codecs_[2];
};

} // namespace xf::rt

struct xf_model {
  std::shared_ptr<const xf::rt::model> impl;
  std::shared_ptr<xf::rt::text_codecs> codecs;
  std::vector<int> entries; // those that are called by name
  xf::rt::entry_info source; // the inputs of a search
};

struct xf_session {
  xf_session(const xf_model &m, xf::rt::session_options options) : impl(m.impl, options), codecs(m.codecs) {}

  xf::rt::session impl;
  std::shared_ptr<xf::rt::text_codecs> codecs;
};

namespace xf::rt {

// Keeps the message for xf_message() and returns the code.
xf_status report(xf_status code, const char *message);

template <typename F> xf_status guard(F &&function) {
  try {
    return function();
  } catch (const error &problem) {
    return report(static_cast<xf_status>(problem.code), problem.what());
  } catch (const std::bad_alloc &) {
    return report(XF_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception &problem) {
    return report(XF_INTERNAL, problem.what());
  } catch (...) {
    return report(XF_INTERNAL, "an unknown error");
  }
}

inline void require(bool condition, const char *what) {
  if (!condition)
    fail(status::invalid_argument, "%s", what);
}

// `what` names the constants in the message.
inline void require_choice(const char *what, int value, int min, int max) {
  if (value < min || value > max)
    fail(status::invalid_argument, "there is no %s %d: they have the numbers %d to %d", what, value, min, max);
}

// For structs that begin with `size`, of callers that were built with this version's header, an older or a newer one. XF_FIRST_SIZE
// is the size in the first version, up to its last field: fields of later versions come after it, and a caller may lack them.
#define XF_FIRST_SIZE(type, last) (offsetof(type, last) + sizeof(type::last))
constexpr size_t kLargestSize = 4096; // more is a size that was not set

// In every version a struct's size is a multiple of its alignment: another size might end within a field, in the middle of a pointer.
template <typename T> void require_size(const T *given, size_t first_size, const char *what) {
  require(given && given->size >= first_size && given->size <= kLargestSize && given->size % alignof(T) == 0, what);
}
// Sets the fields that the caller has, `size` bytes in all; those that are not known here become zero.
template <typename T> void init_struct(T *to, size_t size, const T &values) {
  if (!to)
    return;
  std::memset(static_cast<void *>(to), 0, size);
  std::memcpy(static_cast<void *>(to), &values, std::min(size, sizeof(T)));
}
// The caller's struct; fields that it lacks are as in `otherwise`.
template <typename T> T read_struct(const T *given, const T &otherwise) {
  T result = otherwise;
  std::memcpy(static_cast<void *>(&result), given, std::min(given->size, sizeof(T)));
  return result;
}
// Writes the fields that the caller has, but its size; fields that are not known here stay as they are.
template <typename T> void write_struct(T *to, T values) {
  values.size = to->size;
  std::memcpy(static_cast<void *>(to), &values, std::min(to->size, sizeof(T)));
}

inline void require_rows(const char *what, const int32_t *ids, const int64_t *offsets, int64_t count) {
  if (count < 0 || (count > 0 && !offsets))
    fail(status::invalid_argument, "the %s are null", what);
  for (int64_t i = 0; i < count; ++i)
    if (offsets[i] < 0 || offsets[i] > offsets[i + 1])
      fail(status::invalid_argument, "the %s' offsets descend, or are negative: number %lld is %lld, the next %lld", what, static_cast<long long>(i),
           static_cast<long long>(offsets[i]), static_cast<long long>(offsets[i + 1]));
  if (count > 0 && offsets[count] > 0 && !ids)
    fail(status::invalid_argument, "the %s are null", what);
}

// The first of the sentences that could not be served, and why.
class first_failure {
public:
  void note(int64_t sentence, const char *message) {
    if (sentence_ >= 0 && sentence_ < sentence)
      return;
    sentence_ = sentence;
    message_ = message;
  }
  xf_status result() const {
    if (sentence_ < 0)
      return XF_OK;
    return report(XF_INVALID_ARGUMENT, ("sentence " + std::to_string(sentence_) + ": " + message_).c_str());
  }

private:
  int64_t sentence_ = -1;
  std::string message_;
};

// Arguments as the runtime takes them. `role` names them in messages: "inputs".
struct arguments {
  arguments(const char *role, const xf_tensor *tensors, int32_t count) {
    if (count < 0 || count > XF_ABI_MAX_ARGUMENTS)
      fail(status::invalid_argument, "there are 0 to %d %s, not %d", XF_ABI_MAX_ARGUMENTS, role, count);
    if (count > 0 && !tensors)
      fail(status::invalid_argument, "the %s are null", role);
    for (int32_t i = 0; i < count; ++i)
      list[i] = {tensors[i].name, tensors[i].dtype, tensors[i].rank, tensors[i].shape, tensors[i].data};
    given = std::span<const argument>(list, static_cast<size_t>(count));
  }
  argument list[XF_ABI_MAX_ARGUMENTS];
  std::span<const argument> given;
};

} // namespace xf::rt

#endif
