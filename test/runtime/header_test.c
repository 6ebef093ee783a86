/* The public header is plain C, and these are the sizes that callers from other languages rely on. */
#include "runtime/include/xf/xf.h"

_Static_assert(sizeof(xf_tensor) == 72, "xf_tensor");
_Static_assert(sizeof(xf_tensor_info) == 72, "xf_tensor_info");
_Static_assert(sizeof(xf_session_options) == 40, "xf_session_options");
_Static_assert(sizeof(xf_generate_options) == 256, "xf_generate_options");
_Static_assert(sizeof(xf_hypotheses) == 56, "xf_hypotheses");
_Static_assert(sizeof(xf_limits) == 88, "xf_limits");
_Static_assert(sizeof(xf_search_info) == 32, "xf_search_info");

/* So are those that the compiler shares with the runtime. */
#include "runtime/abi/xf_abi.h"
#include "runtime/abi/xf_tokenizer.h"
