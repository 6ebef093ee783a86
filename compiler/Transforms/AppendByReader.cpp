// A step's new keys and values are written by the attention that reads them.
//
// Each element of a new key, or pair of 16 bits, goes to a cache line of its own, which memory has to bring. Attention needs all these
// lines anyway, and asks for those of its next heads while it works on others.
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
