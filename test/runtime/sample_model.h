// The sample model: a toy that exercises every part of the interface between compiler and runtime, and shows
// how an image is put together. It is the executable specification of runtime/abi/xf_abi.h.
#ifndef TEST_RUNTIME_SAMPLE_MODEL_H
#define TEST_RUNTIME_SAMPLE_MODEL_H

#include "runtime/abi/xf_abi.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace sample {

// Bytes that start at a page boundary, as an image must in memory.
class aligned_bytes {
public:
  explicit aligned_bytes(const std::vector<uint8_t> &bytes) : storage_(bytes.size() + XF_ABI_PAGE), size_(bytes.size()) {
    offset_ = XF_ABI_PAGE - reinterpret_cast<uintptr_t>(storage_.data()) % XF_ABI_PAGE;
    std::copy(bytes.begin(), bytes.end(), data());
  }
  uint8_t *data() { return storage_.data() + offset_; }
  uint64_t size() const { return size_; }

private:
  std::vector<uint8_t> storage_;
  uint64_t offset_, size_;
};

enum class kind {
  translator,     // encode, begin, step: source -> target
  sequence_first, // the same with [S, B], [T, B]
  continuer,      // step alone: prompt -> continuation
  tagger,         // a label for each token
  pooler          // numbers for each sentence
};

struct options {
  kind model = kind::translator;
  bool chooses = false; // its step chooses tokens itself
  bool aligns = false;  // has an entry that aligns results with their source
  bool labels = false;  // the pooler's numbers are logits of labels
  bool packed = false;  // the pooler has a second entry for packed sentences
  bool pairs = false;   // the pooler takes lines of two texts, with SAMPLE_BETWEEN between them
  int32_t pad = 0; // -1: the model has no padding token
  int32_t end = 2;
  uint32_t split = XF_ABI_WORDS;
  int32_t unknown = 3;
  bool vocabulary = true;
  std::string_view subwords; // of both sides
  bool features = false; // the source is declared as numbers, though the code reads tokens
  bool suffix = false; // the source ends with the end token
  int64_t min_source = 0, min_batch = 0; // sizes of the source
  int64_t source_bound = 30; // 0: any token
  int64_t begin_bound = -1; // the bound of begin's source, if begin reads it; -1: it does not
  int32_t max_length_per_source = 2, max_length_base = 3, min_length = 0;
};

constexpr int64_t kBatch = 4, kBeam = 4, kSource = 12, kTarget = 40, kSourceBound = options().source_bound, kClasses = 9;

std::vector<uint8_t> build(const options &o);
// Recomputes the checksum.
void seal(std::vector<uint8_t> &image);
// A program or library: the ELF file, padding, the image, the trailer.
std::vector<uint8_t> attach(std::vector<uint8_t> carrier, const std::vector<uint8_t> &image);

std::vector<uint8_t> read_file(const std::string &path);
void write_file(const std::string &path, const std::vector<uint8_t> &bytes, int mode = 0644);

} // namespace sample

#endif
