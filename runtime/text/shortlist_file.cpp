#include "runtime/text/shortlist_file.h"

#include "runtime/core/error.h"
#include "runtime/core/owned_file.h"
#include "runtime/core/source_layout.h"
#include "runtime/text/codec.h"
#include "runtime/text/utf8.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace xf::rt {

namespace {

std::string read_text(const std::string &path) {
  owned_file file(std::fopen(path.c_str(), "rb"));
  if (!file)
    fail(status::io, "%s: %s", path.c_str(), std::strerror(errno));
  std::string text;
  char chunk[1 << 16];
  while (size_t count = std::fread(chunk, 1, sizeof(chunk), file.get()))
    text.append(chunk, count);
  if (std::ferror(file.get()))
    fail(status::io, "%s: %s", path.c_str(), std::strerror(errno));
  return text;
}

// The number of source tokens that the model knows: its embedding's rows, or its vocabulary's lines.
int64_t source_size(const model &m, const vocabulary &vocab) {
  const xf_abi_generate &g = m.header().generate;
  int64_t size = static_cast<int64_t>(vocab.size());
  for (int32_t entry : {g.encode, g.begin})
    if (entry >= 0)
      for (const tensor_info &input : m.entries()[static_cast<size_t>(entry)].inputs)
        if (input.dtype == XF_ABI_I32)
          size = std::max(size, input.bound);
  return size;
}

class table_reader {
public:
  table_reader(const model &m, const std::string &path, bool ids)
      : path_(path), source_(m, true, ids), target_(m, false, ids, &source_), source_size_(source_size(m, *source_.vocab)),
        target_size_(
            m.entries()[static_cast<size_t>(m.header().generate.step)].outputs[static_cast<size_t>(m.header().generate.logits_output)].dim[2]) {}

  std::unique_ptr<shortlist> read() {
    std::string text = read_text(path_);
    std::string_view rest = text;
    if (rest.starts_with(kByteOrderMark))
      rest.remove_prefix(kByteOrderMark.size());
    while (!rest.empty()) {
      std::string_view line = take_line(rest);
      ++line_number_;
      if (!line.empty())
        add(line);
    }
    auto table = std::make_unique<shortlist>(source_size_, target_size_);
    table->fill(std::move(pairs_));
    return table;
  }

private:
  void add(std::string_view line) {
    size_t tab = line.find('\t');
    if (tab == std::string_view::npos)
      fail(status::invalid_argument, "%s:%lld: no tab stands between the source token and its targets", path_.c_str(), line_number_);
    int32_t source = tab == 0 ? -1 : token(line.substr(0, tab), source_, source_size_);
    line.remove_prefix(tab + 1);
    while (!line.empty()) {
      size_t length = line.find_first_of(" \t");
      if (length != 0)
        pairs_.push_back({source, token(line.substr(0, length), target_, target_size_)});
      line.remove_prefix(length == std::string_view::npos ? line.size() : length + 1);
    }
  }

  int32_t token(std::string_view word, const text_side &side, int64_t size) const {
    int32_t id = -1;
    if (side.ids) {
      auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), id);
      if (problem != std::errc() || end != word.data() + word.size())
        id = -1;
    } else {
      id = side.subwords ? side.subwords->find(word) : side.vocab->find(word);
    }
    if (id < 0 || id >= size)
      fail(status::invalid_argument, "%s:%lld: the model has no %s token '%s'", path_.c_str(), line_number_, side.name, shown(word).c_str());
    return id;
  }

  const std::string &path_;
  text_side source_, target_;
  int64_t source_size_, target_size_;
  std::vector<shortlist::pair> pairs_;
  long long line_number_ = 0;
};

} // namespace

const char *refuses_shortlists(const model &m) {
  if (!m.header().generate.present)
    return "it does not generate";
  arena_plan plan;
  source_layout source(m, plan);
  if (!source.exists())
    return "it has no source";
  return source.tokens < 0 ? "its source is not made of tokens" : nullptr;
}

std::unique_ptr<shortlist> read_shortlist(const model &m, const std::string &path, bool ids) {
  if (const char *problem = refuses_shortlists(m))
    fail(status::unsupported, "model '%s' cannot be searched with a shortlist: %s", m.name().c_str(), problem);
  return table_reader(m, path, ids).read();
}

} // namespace xf::rt
