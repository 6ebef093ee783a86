// Reads lexical tables. A line is
//   source<TAB>target target ...
// with the tokens that a sentence may be translated with if it holds the source token; a line with nothing before the
// tab lists what every sentence may be translated with. Several lines of one source token add up. Tokens are those of
// the model's vocabularies, or ids where it has none or `ids` is set. The end token is always allowed.
#ifndef RUNTIME_TEXT_SHORTLIST_FILE_H
#define RUNTIME_TEXT_SHORTLIST_FILE_H

#include "runtime/core/model.h"
#include "runtime/core/shortlist.h"

#include <memory>
#include <string>

namespace xf::rt {

// Why the model cannot be searched with a shortlist, or null.
const char *refuses_shortlists(const model &m);
// Throws what is wrong with the file, naming the line.
std::unique_ptr<shortlist> read_shortlist(const model &m, const std::string &path, bool ids);

} // namespace xf::rt

#endif
