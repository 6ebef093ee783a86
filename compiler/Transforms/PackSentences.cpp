// Sentences of different lengths, encoded behind each other without padding.
//
// Padded to the length of the longest, short sentences cost as much as long ones; called one length at a time, they read all
// weights for a few rows. Most kernels do not care which sentence a row belongs to: products, norms and look-ups take the
// tokens of all sentences as one long one. Only attention, and what stores a sentence's keys and values, has to know where each
// begins and ends. So the entries over sources get a twin (PackEntry.cpp), in which [B, S, ..] is [1, P, ..].
#include "compiler/Transforms/PackSentences.h"

#include "compiler/Transforms/Passes.h"
#include "dialect/IR/ModuleRoles.h"

#include "llvm/Support/MathExtras.h"

namespace xf {
#define GEN_PASS_DEF_XFPACKSENTENCES
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

class SentencePacker {
public:
  explicit SentencePacker(ModuleOp module) : module(module) {}

  void run() {
    pack({module, kGenerateAttr}, {{"encode", "packed_encode"}, {"begin", "packed_begin"}});
    pack({module, kPredictAttr}, {{"entry", "packed"}});
  }

private:
  /// Adds twins of the entries in these roles, of all or none; each pair says where its twin is named.
  void pack(ModuleRoles roles, ArrayRef<std::pair<StringRef, StringRef>> pairs) {
    StringRef batch = roles.name("batch"), source = roles.name("source");
    bool hasTwins = llvm::any_of(pairs, [&](const auto &pair) { return roles.has(pair.second); });
    if (batch.empty() || source.empty() || batch == source || roles.has("sequence_first") || hasTwins)
      return;
    int64_t sentences = roles.bound("batch").value_or(0) / roles.beams(), tokens;
    if (sentences < 1 || llvm::MulOverflow(sentences, roles.bound("source").value_or(0), tokens) || tokens < 1)
      return;
    std::string name = freshDim(module, "P");
    SmallVector<std::pair<StringRef, EntryOp>> twins;
    for (auto [role, packed] : pairs) {
      EntryOp entry = roles.entry(role);
      if (!entry)
        continue;
      EntryOp twin = ::xf::pack::packEntry(module, entry, {batch, source, name}, roles.integer("pad").value_or(-1) >= 0, roles.name("types"));
      if (!twin) {
        for (auto &other : twins)
          other.second.erase();
        return;
      }
      twins.push_back({packed, twin});
    }
    for (auto &[packed, twin] : twins)
      roles.set(packed, FlatSymbolRefAttr::get(twin));
    if (!twins.empty())
      setBound(module, name, tokens);
  }

  ModuleOp module;
};

struct PackSentences : ::xf::impl::XfPackSentencesBase<PackSentences> {
  void runOnOperation() override { SentencePacker(getOperation()).run(); }
};

} // namespace
