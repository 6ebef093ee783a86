// Who receives what a session makes of sentences.
#ifndef RUNTIME_CORE_SINKS_H
#define RUNTIME_CORE_SINKS_H

#include <cstdint>
#include <span>

namespace xf::rt {

// float[tokens of a result][tokens of its source]
struct alignment {
  const float *weights;
  int64_t rows, columns;
};

// Receives results, each sentence's best first, sentences in any order.
class search_sink {
public:
  virtual ~search_sink() = default;
  // `tokens` include the end token when the hypothesis ended with it.
  virtual void hypothesis_found(int64_t sentence, int32_t rank, std::span<const int32_t> tokens, bool ended, double score) = 0;
  // Behind it, where alignments are asked for: how much each of the result's tokens looks at each of the source.
  virtual void alignment_found(int64_t, int32_t, std::span<const int32_t>, bool, const alignment &) {}
  virtual void sentence_failed(int64_t sentence, const char *message) = 0;
};

// Receives rows of values.
class predict_sink {
public:
  virtual ~predict_sink() = default;
  // Row i of the sentence is the `width` floats from values + i * stride; as many rows as it has tokens, or one.
  virtual void predicted(int64_t sentence, const float *values, int64_t rows, int64_t stride, int64_t width) = 0;
  virtual void sentence_failed(int64_t sentence, const char *message) = 0;
};

} // namespace xf::rt

#endif
