// Sentences of different lengths, encoded behind each other without padding.
//
// Padded to the length of the longest, short sentences cost as much as long ones; called one length at a time, they read all
// weights for a few rows. Most kernels do not care which sentence a row belongs to: products, norms and look-ups take the
// tokens of all sentences as one long one. Only attention, and what stores a sentence's keys and values, has to know where each
// begins and ends. So the entries over sources get a twin (PackEntry.cpp), in which [B, S, ..] is [1, P, ..].
#include "compiler/Transforms/PackSentences.h"

#include "compiler/Transforms/Passes.h"

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
    if (auto generate = module->getAttrOfType<DictionaryAttr>(kGenerateAttr))
      pack(kGenerateAttr, generate, {{"encode", "packed_encode"}, {"begin", "packed_begin"}});
    if (auto predict = module->getAttrOfType<DictionaryAttr>(kPredictAttr))
      pack(kPredictAttr, predict, {{"entry", "packed"}});
  }

private:
  using Roles = ArrayRef<std::pair<StringRef, StringRef>>;

  /// Adds twins of the entries in these roles, of all or none.
  void pack(StringRef attribute, DictionaryAttr members, Roles roles) {
    auto batch = members.getAs<StringAttr>("batch"), source = members.getAs<StringAttr>("source");
    if (!batch || !source || batch == source || members.contains("sequence_first"))
      return;
    auto beam = members.getAs<IntegerAttr>("beam");
    int64_t sentences = getBound(module, batch).value_or(0) / std::max<int64_t>(1, beam ? beam.getInt() : 1), tokens;
    if (sentences < 1 || llvm::MulOverflow(sentences, getBound(module, source).value_or(0), tokens) || tokens < 1)
      return;
    std::string name = freshDim(module, "P");
    auto pad = members.getAs<IntegerAttr>("pad");
    auto types = members.getAs<StringAttr>("types");
    NamedAttrList list(members);
    SmallVector<EntryOp> twins;
    for (auto [role, packed] : roles) {
      auto symbol = members.getAs<FlatSymbolRefAttr>(role);
      auto entry = symbol ? module.lookupSymbol<EntryOp>(symbol.getValue()) : EntryOp();
      if (!entry)
        continue;
      EntryOp twin = ::xf::pack::packEntry(module, entry, {batch.getValue(), source.getValue(), name}, pad && pad.getInt() >= 0,
                                           types ? types.getValue() : "");
      if (!twin) {
        for (EntryOp other : twins)
          other.erase();
        return;
      }
      twins.push_back(twin);
      list.set(packed, FlatSymbolRefAttr::get(twin));
    }
    if (twins.empty())
      return;
    module->setAttr(attribute, list.getDictionary(module.getContext()));
    setBound(module, name, tokens);
  }

  ModuleOp module;
};

struct PackSentences : ::xf::impl::XfPackSentencesBase<PackSentences> {
  void runOnOperation() override { SentencePacker(getOperation()).run(); }
};

} // namespace
