// The tokenizers of tables (xf_tokenizer.h).
#ifndef RUNTIME_TEXT_TABLE_TOKENIZER_H
#define RUNTIME_TEXT_TABLE_TOKENIZER_H

#include "runtime/text/added_tokens.h"
#include "runtime/text/pre_tokenizer.h"
#include "runtime/text/text_normaliser.h"
#include "runtime/text/tokenizer.h"
#include "runtime/text/tokenizer_table.h"
#include "runtime/text/unicode_text.h"

namespace xf::rt {

class table_tokenizer : public tokenizer {
public:
  explicit table_tokenizer(std::string_view bytes)
      : table_(bytes), unicode_(table_), normaliser_(table_, unicode_), pre_tokenizer_(table_, unicode_), added_(table_, unicode_, table_.added),
        normalised_(table_, unicode_, table_.normalised), names_(table_, unicode_, table_.names) {}

  size_t encode(std::string_view text, size_t max_tokens, int32_t unknown, std::vector<int32_t> &ids) const override;
  void decode(std::span<const int32_t> ids, std::string &text) const override;
  std::span<const int32_t> settled(std::span<const int32_t> ids) const override;
  int32_t find(std::string_view name) const override;
  int32_t find_marker(std::string_view word) const override;
  bool is_special(int32_t id) const override { return table_.is_special(id); }
  // Including the blank before it. A byte that is no text is written as three.
  size_t longest() const override { return 3 * table_.longest() + 1; }
  uint64_t memory(uint64_t length) const override;

private:
  // Calls visit(id) for each token whose text is written.
  template <typename Visit> void for_written(std::span<const int32_t> ids, Visit visit) const;
  void decode_parts(std::span<const int32_t> ids, std::string &bytes) const;
  void decode_pieces(std::span<const int32_t> ids, std::string &bytes) const;

  const tokenizer_table table_;
  const unicode_text unicode_;
  const text_normaliser normaliser_;
  const pre_tokenizer pre_tokenizer_;
  const added_tokens added_, normalised_, names_;
};

} // namespace xf::rt

#endif
