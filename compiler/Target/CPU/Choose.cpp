// The kernel of xf.choose.
//
// Threads split rows and columns as for a matrix product. Of each row and each block of columns the maximum and the sum
// of exponentials are kept, and of each row and thread a list of the best candidates: a block is searched only if its
// maximum beats the worst of the list. When all threads have arrived they share the rows, add the blocks' sums in order
// and join the lists, whose outcome does not depend on who had which columns.
//
// With copies of the weight in fewer bits few logits are computed: the best ones (ChooseFew.h), and if anybody requests sums also
// those that weigh most in them (ChooseSums.h).
#include "compiler/Target/CPU/ChooseFew.h"
#include "compiler/Target/CPU/ChooseSums.h"

#include <optional>

using namespace mlir;
using mlir::xf::ChooseOp;

namespace xf::cpu {

int64_t chooseScratchBytes(ChooseOp op, Isa isa) {
  int64_t bytes = ChooseAll::scratchBytes(op, isa), bytesOfRow = ChooseOp::kBlock * 4;
  if (!op.getScreen().empty())
    bytes = std::max(bytes, blockRows(isa, Factor::i8) * bytesOfRow);
  if (!op.getWords().empty())
    bytes = std::max(bytes, blockRows(isa, Factor::i16) * bytesOfRow);
  return bytes;
}

namespace {

/// The screens that are used where nobody requests sums, and where somebody does.
struct Screens {
  std::optional<ChooseScreen> ofBest, ofSums;
};

} // namespace

static Screens findScreens(ChooseState &state) {
  ChooseOp op = state.op;
  KernelBuilder &b = state.b;
  auto screen = [&](Factor factor) {
    Value firstRow = b.at(state.keptOf(b.i64(0)), ChooseOp::countParts(op.getColumns(), state.maxCandidates), b.getF32Type());
    return ChooseScreen(b, op, factor, firstRow, b.stride(state.keptView, 0));
  };
  Screens screens;
  // Elsewhere products of bytes take as long as others.
  if (!op.getScreen().empty() && (hasVnni(b.isa()) || splitsBytes(b.isa(), Factor::i8)))
    screens.ofBest.emplace(screen(Factor::i8));
  // Sums of f32 are the same on all instruction sets, and so are products of int16. For bf16, which differs anyway, bytes are enough.
  if (!op.getWords().empty())
    screens.ofSums.emplace(screen(Factor::i16));
  else if (screens.ofBest && state.logits.factors().weight.factor == Factor::bf16)
    screens.ofSums.emplace(*screens.ofBest);
  return screens;
}

/// The best logits, and sums if `state.sums` is set, of all or of few logits.
static void emitBest(const ChooseState &state, const std::optional<ChooseScreen> &screen) {
  KernelBuilder &b = state.b;
  ChooseAll all(state);
  auto lookAtAll = [&] { all.look(); };
  if (screen) {
    Value needsAll = b.chooseOne(state.sums, [&] { return state.sums; }, [&] { return ChooseFew(state, *screen).look(); });
    b.ifThen(needsAll, lookAtAll);
  } else {
    lookAtAll();
  }
  b.barrier();
  auto [first, end] = b.share(state.rows);
  b.loop(first, end, 1, [&](Value row) { all.join(row); });
}

LogicalResult emitChoose(KernelBuilder &b, ChooseOp op, const KernelRequest &request) {
  if (request.operands.size() != op->getNumOperands())
    return op.emitError("a matrix product reads per-sentence states through a copy only");
  ChooseState state(b, op, request);
  Screens screens = findScreens(state);
  if (screens.ofSums)
    b.ifElse(state.sums, [&] { ChooseSums(state, *screens.ofSums).emit(); }, [&] { emitBest(state, screens.ofBest); });
  else
    emitBest(state, screens.ofBest);
  return success();
}

} // namespace xf::cpu
