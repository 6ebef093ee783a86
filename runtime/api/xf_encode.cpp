// The C API: encoding sentences.
#include "runtime/api/handles.h"

#include <algorithm>

using namespace xf::rt;

namespace {

// The rows that a session encodes to: a prediction's, or those of a search's encoder.
xf_encoding_info info_of(session &s) {
  xf_encoding_info info{};
  if (s.prediction()) {
    const predict_layout &layout = s.prediction()->layout();
    if (layout.problem)
      fail(status::unsupported, "%s", layout.problem);
    info.width = layout.width;
    info.by_token = layout.by_token;
  } else if (s.search()) {
    info.width = s.search()->encoding_width();
    info.by_token = 1;
  } else {
    fail(status::unsupported, "model '%s' has no encoder: its entries are called by name", s.get_model().name().c_str());
  }
  return info;
}

// Writes rows into the caller's array; keeps the first failure.
class row_sink : public predict_sink {
public:
  row_sink(const int64_t *offsets, const xf_encoding_info &info, float *rows) : offsets_(offsets), by_token_(info.by_token), out_(rows) {}

  void predicted(int64_t sentence, const float *values, int64_t rows, int64_t stride, int64_t width) override {
    float *to = out_ + (by_token_ ? offsets_[sentence] - offsets_[0] : sentence) * width;
    for (int64_t i = 0; i < rows; ++i)
      std::copy_n(values + i * stride, width, to + i * width);
  }
  void sentence_failed(int64_t sentence, const char *message) override { failure_.note(sentence, message); }
  xf_status result() const { return failure_.result(); }

private:
  const int64_t *offsets_;
  bool by_token_;
  float *out_;
  first_failure failure_;
};

} // namespace

xf_status xf_get_encoding_info(xf_session *s, xf_encoding_info *info) {
  return guard([&] {
    require(s, "the session is null");
    require_size(info, XF_FIRST_SIZE(xf_encoding_info, by_token), "the info is null or its size is not set");
    write_struct(info, info_of(s->impl));
    return XF_OK;
  });
}

xf_status xf_encode(xf_session *s, const int32_t *ids, const int64_t *offsets, int64_t count, float *rows, int64_t capacity) {
  return guard([&] {
    require(s, "the session is null");
    require_rows("sentences", ids, offsets, count);
    xf_encoding_info info = info_of(s->impl);
    int64_t wanted = count == 0 ? 0 : info.by_token ? offsets[count] - offsets[0] : count;
    require(rows || wanted == 0, "the rows are null");
    if (capacity < 0 || wanted > capacity / info.width)
      fail(status::invalid_argument, "there is room for %lld numbers; %lld rows of %lld are needed", static_cast<long long>(capacity),
           static_cast<long long>(wanted), static_cast<long long>(info.width));
    row_sink sink(offsets, info, rows);
    if (s->impl.prediction())
      s->impl.prediction()->predict({ids, offsets, count}, 0, sink);
    else
      s->impl.search()->encode({ids, offsets, count}, sink);
    return sink.result();
  });
}
