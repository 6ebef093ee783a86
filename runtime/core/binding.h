// Arguments that a caller made, matched with an entry: names, data types, ranks and sizes are checked, the
// dimensions' values are found, token values are checked against their bounds.
#ifndef RUNTIME_CORE_BINDING_H
#define RUNTIME_CORE_BINDING_H

#include "runtime/core/model.h"

#include <cstdint>
#include <span>

namespace xf::rt {

struct argument {
  const char *name; // null: by position
  int32_t dtype;    // xf_abi_dtype
  int32_t rank;
  const int64_t *shape;
  void *data;
};

// Binds the inputs: sets `dims` (one for each dimension of the model; -1 where no input says it) and the data
// pointers, in the entry's order. Throws naming the tensors and sizes at odds.
void bind_inputs(const model &m, const entry_info &entry, std::span<const argument> inputs, int64_t *dims, void **io);

// Binds the outputs to buffers whose shapes must be those that `dims` asks for.
void bind_outputs(const model &m, const entry_info &entry, std::span<const argument> outputs, const int64_t *dims, void **io);
// Throws where an output lies in memory of an input or of another output: kernels write what others have yet to read. `io`: the
// inputs, then the outputs.
void check_no_aliasing(const model &m, const entry_info &entry, const int64_t *dims, void *const *io);

// The argument's index in `tensors`; throws when there is none.
size_t index_of(const entry_info &entry, std::span<const tensor_info> tensors, const argument &given, size_t position, const char *role);

// The tensor's shape for these dimensions.
void shape_of(const tensor_info &tensor, const int64_t *dims, int64_t *shape);

} // namespace xf::rt

#endif
