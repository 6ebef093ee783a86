// What an entry is called with to see what its plan does: tensors of the wanted sizes, with contents that mean nothing.
#ifndef XF_TOOLS_XFC_ARGUMENTS_H
#define XF_TOOLS_XFC_ARGUMENTS_H

#include "compiler/Explain/Explanation.h"
#include "runtime/core/model.h"

namespace xf {

/// The entry of an opened file that is explained. Throws if it needs larger sizes than these: it would read beyond its arguments.
const rt::entry_info &entryOf(const rt::model &model, const ExplainedEntry &explained);

/// An entry's arguments, with contents that every model takes.
class Arguments {
public:
  Arguments(const rt::model &model, const rt::entry_info &entry, const Sizes &sizes);

  std::vector<int64_t> dims;    // by index
  std::vector<void *> pointers; // inputs, then outputs

private:
  std::vector<uint64_t> &add(const rt::tensor_info &tensor);
  void fill(const rt::tensor_info &tensor);

  const rt::model &model;
  std::vector<std::vector<uint64_t>> tensors;
  uint64_t random = 1;
};

} // namespace xf

#endif // XF_TOOLS_XFC_ARGUMENTS_H
