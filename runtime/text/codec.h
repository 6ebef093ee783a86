// Lines of text to token ids and back, for any number of threads at once, as the image says: characters or words looked up in a vocabulary, or
// a tokenizer's subwords, tokens put before and after, an unknown token; or plain ids.
#ifndef RUNTIME_TEXT_CODEC_H
#define RUNTIME_TEXT_CODEC_H

#include "runtime/core/model.h"
#include "runtime/text/tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xf::rt {

// The tokens around a line's text.
struct affixes {
  std::span<const int32_t> prefix, suffix;
};

// The tokens of one side's text.
struct text_side {
  // `ids`: lines are ids whatever the image says. `other`: the other side, or null; what is the same on both is read once. Throws where the
  // image's subwords are damaged.
  text_side(const model &m, bool source, bool ids, const text_side *other = nullptr);

  const char *name; // "source" or "target"
  uint32_t split;
  size_t max_tokens; // tokens of a line of subwords
  std::shared_ptr<const vocabulary> vocab;   // shared by both sides if they have the same tokens
  std::shared_ptr<const tokenizer> subwords; // may refer to `vocab`; null: the text is not split into subwords
  bool ids;                                  // lines are ids, not text
};

class text_codec {
public:
  // `ids`: lines are ids whatever the image says.
  text_codec(const model &m, bool ids);

  // How many tokens a line may need room for; only a line with more subwords than bytes needs more.
  size_t room(std::string_view line, const affixes &around) const {
    return room(source_, line, between() ? 2 : 1) + around.prefix.size() + between() + around.suffix.size();
  }
  size_t target_room(std::string_view line) const { return room(target_, line, 1); }
  // What the model puts around a line's text: nothing around ids.
  affixes model_affixes() const;
  // How many tokens encode() puts between the two texts of a line with a tab; 0: a line is one text, and a tab is a blank.
  size_t between() const { return source_.ids ? 0 : text_.between_count; }

  // The most tokens that a line may have, including those put around it.
  size_t max_tokens() const { return static_cast<size_t>(takes_prompts(generate_) ? generate_.target : generate_.source); }

  // Appends the line's tokens, of one text or two, with those `around` it. Throws what is wrong with it; nothing is appended then. `truncates`: of a
  // line with more than max_tokens() tokens, its text's last tokens are left out, of two texts those of the longer one. Returns whether some were.
  bool encode(std::string_view line, const affixes &around, std::vector<int32_t> &tokens, bool truncates = false) const;
  // Appends the tokens of a text in a side's language, which may be empty; as encode(), but nothing is put around them, and their letters stay as
  // they are. With subwords, a word that is the name of a token which no text is cut into (a control piece, say) becomes that token.
  void encode_tokens(bool source, std::string_view line, std::vector<int32_t> &tokens) const;
  // Appends the text of the tokens, special ones left out where they are not ids.
  void decode(std::span<const int32_t> tokens, std::string &text) const;
  // The same for the first tokens of a result: text that further tokens could change is left out (tokenizer::settled).
  void decode_settled(std::span<const int32_t> tokens, std::string &text) const;
  // Whether lines of a side are text, not ids.
  bool is_text(bool source) const { return !(source ? source_ : target_).ids; }
  // Whether the token is part of a result's text.
  bool is_written(int32_t token) const { return target_.ids || !special(token); }
  // The name of a label.
  void append_label(int64_t label, std::string &text) const;

private:
  static size_t room(const text_side &side, std::string_view line, size_t texts) {
    return side.subwords ? std::min(line.size(), side.max_tokens * texts) : line.size();
  }
  // Whether both sides have the same tokens.
  bool shared() const { return source_.vocab == target_.vocab; }
  bool special(int32_t token) const;
  // Both return how many tokens there are, of which those of subwords are appended up to the side's most.
  size_t append(std::string_view line, const text_side &side, int32_t unknown, std::vector<int32_t> &tokens) const;
  size_t append_text(std::string_view text, const char *when_empty, std::vector<int32_t> &tokens) const;
  std::vector<int32_t> written(std::span<const int32_t> tokens) const;

  const bool ids_; // wanted, whatever the model has
  const xf_abi_text &text_;
  const xf_abi_generate &generate_;
  text_side source_, target_;
};

} // namespace xf::rt

#endif
