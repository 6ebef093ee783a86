// A step's new keys and values are written by the attention that reads them.
//
// Each position of a key goes to a cache line of its own, which memory has to bring; attention needs all these lines and has
// asked for them by the time it comes to a row.
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
