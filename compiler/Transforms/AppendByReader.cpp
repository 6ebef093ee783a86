// A step's new keys and values are written by the attention that reads them.
//
// Each element of a new key, or pair of 16-bit ones, goes to a cache line of its own, which has to come from memory. Attention reads all
// these lines anyway, and prefetches those of its next heads while it works on others.
#include "compiler/Transforms/Passes.h"

namespace xf {
#define GEN_PASS_DEF_XFAPPENDBYREADER
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

struct AppendByReader : ::xf::impl::XfAppendByReaderBase<AppendByReader> {
  void runOnOperation() override {
    getOperation()->walk([](AppendOp append) {
      if (append.canBeByReader())
        append.setByReader(true);
    });
  }
};

} // namespace
