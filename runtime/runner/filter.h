// The filter: lines in, lines out, in order.
#ifndef RUNTIME_RUNNER_FILTER_H
#define RUNTIME_RUNNER_FILTER_H

#include "runtime/core/session.h"
#include "runtime/runner/options.h"

namespace xf::rt {

// Returns whether every line could be read.
bool run_filter(const char *program, session &s, const run_options &options);

} // namespace xf::rt

#endif
