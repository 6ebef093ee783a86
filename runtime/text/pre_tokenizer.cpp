#include "runtime/text/pre_tokenizer.h"

#include <initializer_list>

namespace xf::rt {

namespace {

constexpr uint16_t kLetter = XF_TOKENIZER_LETTER, kNumber = XF_TOKENIZER_NUMBER, kSpace = XF_TOKENIZER_SPACE, kWord = XF_TOKENIZER_WORD,
                   kPunctuation = XF_TOKENIZER_PUNCTUATION;

bool breaks_line(uint32_t point) { return point == '\r' || point == '\n'; }

class scanner {
public:
  scanner(const unicode_text &unicode, std::string_view text, size_t at) : unicode_(unicode), text_(text), at_(at), first_(point(at)) {}

  // 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  size_t gpt2() const {
    if (size_t end = contraction(false))
      return end;
    size_t after_blank = at_ + (first_.value == ' ');
    uint16_t classes = unicode_.classes_at(text_, after_blank);
    for (uint16_t wanted : {kLetter, kNumber})
      if (classes & wanted)
        return unicode_.skip(text_, after_blank, wanted);
    if (size_t end = others(after_blank); end > after_blank)
      return end;
    return blanks();
  }

  // (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
  // with up to `digits` in place of 3.
  size_t llama3(int digits) const {
    if (size_t end = contraction(true))
      return end;
    uint16_t classes = unicode_.classes(first_);
    size_t letters = (classes & (kLetter | kNumber)) || breaks_line(first_.value) ? at_ : at_ + first_.size;
    if (size_t end = unicode_.skip(text_, letters, kLetter); end > letters)
      return end;
    if (classes & kNumber)
      return numbers(digits);
    size_t after_blank = at_ + (first_.value == ' ');
    if (size_t end = others(after_blank); end > after_blank) {
      while (end < text_.size() && breaks_line(static_cast<uint8_t>(text_[end])))
        ++end;
      return end;
    }
    if (size_t end = lines())
      return end;
    return blanks();
  }

  // Punctuation is a word by itself.
  size_t bert() const { return unicode_.classes(first_) & kPunctuation ? at_ + first_.size : without(kSpace | kPunctuation, at_); }

  // \w+|[^\w\s]+
  size_t run() const { return unicode_.classes(first_) & kWord ? unicode_.skip(text_, at_, kWord) : without(kSpace | kWord, at_); }

  // The end of the run of code points that are in none of these classes.
  size_t without(uint16_t classes, size_t at) const {
    for (code_point next; (next = point(at)).size > 0 && !(unicode_.classes(next) & classes); at += next.size)
      ;
    return at;
  }

private:
  code_point point(size_t at) const { return unicode_text::point_at(text_, at); }

  // The end of 's and the like; 0 if there is none. In small letters only, unless case is ignored, when the long s counts as an s, too.
  size_t contraction(bool ignores_case) const {
    if (first_.value != '\'')
      return 0;
    auto letter = [&](size_t at) {
      uint32_t value = point(at).value;
      if (ignores_case && value == 0x17f)
        return uint32_t('s');
      return ignores_case && value >= 'A' && value <= 'Z' ? value + 32 : value;
    };
    size_t second = at_ + 1 + point(at_ + 1).size;
    switch (letter(at_ + 1)) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return second;
    case 'r':
    case 'v':
      return letter(second) == 'e' ? second + 1 : 0;
    case 'l':
      return letter(second) == 'l' ? second + 1 : 0;
    default:
      return 0;
    }
  }

  // [^\s\p{L}\p{N}]*
  size_t others(size_t at) const { return without(kSpace | kLetter | kNumber, at); }

  // \p{N}{1,digits}
  size_t numbers(int digits) const {
    size_t at = at_;
    for (code_point next; digits > 0 && (unicode_.classes(next = point(at)) & kNumber); --digits)
      at += next.size;
    return at;
  }

  // \s*[\r\n]+: up to the last line break among the blanks; 0 where there is none.
  size_t lines() const {
    size_t last = 0, end = unicode_.skip(text_, at_, kSpace);
    for (size_t at = at_; at < end; at += point(at).size)
      if (breaks_line(point(at).value))
        last = at + 1;
    return last;
  }

  // \s+(?!\S)|\s+: the last blank before other text is left to it, unless it is the only one.
  size_t blanks() const {
    size_t end = unicode_.skip(text_, at_, kSpace), last = at_;
    for (size_t at = at_; at < end; at += point(at).size)
      last = at;
    return end == text_.size() || last == at_ ? end : last;
  }

  const unicode_text &unicode_;
  const std::string_view text_;
  const size_t at_;
  const code_point first_;
};

} // namespace

pre_tokenizer::range pre_tokenizer::next(std::string_view text, size_t at) const {
  const uint32_t pattern = table_.head().pattern;
  if (pattern >= XF_TOKENIZER_BERT)
    at = unicode_.skip(text, at, kSpace);
  if (at == text.size())
    return {at, at};
  scanner scan(unicode_, text, at);
  size_t end = text.size();
  if (pattern == XF_TOKENIZER_GPT2)
    end = scan.gpt2();
  else if (pattern == XF_TOKENIZER_LLAMA3)
    end = scan.llama3(3);
  else if (pattern == XF_TOKENIZER_QWEN2)
    end = scan.llama3(1);
  else if (pattern == XF_TOKENIZER_BERT)
    end = scan.bert();
  else if (pattern == XF_TOKENIZER_RUNS)
    end = scan.run();
  else if (pattern == XF_TOKENIZER_BLANKS)
    end = scan.without(kSpace, at);
  // With damaged classes nothing may match: then a code point is a word.
  return {at, std::max(end, at + unicode_text::point_at(text, at).size)};
}

std::string_view pre_tokenizer::escape(std::string_view word, bool adds, std::string &buffer) {
  buffer.clear();
  if (adds && !word.empty() && !word.starts_with(' ') && !word.starts_with(kSpacePiece))
    buffer += kSpacePiece;
  for (char c : word)
    if (c == ' ')
      buffer += kSpacePiece;
    else
      buffer += c;
  return buffer;
}

} // namespace xf::rt
