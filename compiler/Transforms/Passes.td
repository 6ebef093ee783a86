// The passes on xf IR. One .cpp each; their order stands in compiler/Pipelines.
#ifndef XF_TRANSFORMS_PASSES_TD
#define XF_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def XfCheckSentences : Pass<"xf-check-sentences", "::mlir::ModuleOp"> {
  let summary = "Refuse searches and predictions whose sentences see each other";
  let description = [{
    The entries that `xf.generate` and `xf.predict` name treat each sentence of a batch by itself: no value has two dimensions of the batch, none
    depends on several sentences or on a sentence's index.
  }];
}

def XfTabulateBiases : Pass<"xf-tabulate-biases", "::mlir::ModuleOp"> {
  let summary = "Compute biases of relative positions when compiling";
  let description = [{
    A bias of attention that is a function of the head and of the distance between key and query, as T5's, becomes a table
    [heads, distances], of which each query reads a piece. A short expression without look-ups by the distance stays.
  }];
}

def XfDeriveStep : Pass<"xf-derive-step", "::mlir::ModuleOp"> {
  let summary = "Derive the decoder's step from its full-sequence entry";
  let description = [{
    Proves that the decode entry named by `xf.generate` is causal along its target dimension, and adds the entry that
    computes n new positions from kept state, and the one that fills what holds for a whole sentence.
  }];
}

def XfRaggedSource : Pass<"xf-ragged-source", "::mlir::ModuleOp"> {
  let summary = "Let sentences be stored at their own length";
  let description = [{
    If the step cannot tell how far a sentence was padded when it was encoded, the begin entry's stores are told what
    padding would have left behind its last position, and `xf.generate` gets `ragged_source`.
  }];
}

def XfHoistInvariants : Pass<"xf-hoist-invariants", "::mlir::ModuleOp"> {
  let summary = "Compute once what is the same in all layers";
  let description = [{
    A description that makes a mask in the body of its loop means the same as one that makes it before. What depends on parameters only stays:
    it is computed when compiling.
  }];
}

def XfFuseMaps : Pass<"xf-fuse-maps", "::mlir::ModuleOp"> {
  let summary = "Merge element-wise maps into the maps that use them";
  let description = [{
    A map with one use, by a map over the same elements, moves into it. What several ops use stays a value of its
    own: whether it is recomputed or kept is decided when rows are formed.
  }];
}

def XfMergeLinears : Pass<"xf-merge-linears", "::mlir::ModuleOp"> {
  let summary = "One product for all linears that read the same tensor";
  let description = [{
    Their weights and biases are concatenated; each result becomes a slice. Queries, keys and values of a layer are the
    usual case. Where only some have a bias, the others' is zeros.
  }];
}

def XfQuantizeLinears : Pass<"xf-quantize-linears", "::mlir::ModuleOp"> {
  let summary = "Compute products of activations and parameters in a type of fewer bits";
  let description = [{
    bf16, f16: both factors are rounded, the sums are f32. int8: a row of activations and a row of the weight each have a
    scale, sums are exact integers, and a map behind the product multiplies by both scales. int8-weights: weights as in
    int8, activations stay f32, and the map multiplies by the weight's scales. Look-ups read the same table and widen
    it. The pass adds ordinary maps and row statistics only, which later passes fuse.

    `round-only` leaves products and activations as they are, and gives products and look-ups the rounded weights: the model IR
    that a compiled file stores for the reference. A parameter that nothing else reads is stored rounded, and left alone.
  }];
  let options = [Option<"type", "type", "std::string", "\"f32\"", "f32 (nothing to do), bf16, f16, int8 or int8-weights">,
                 Option<"roundOnly", "round-only", "bool", "false", "Round weights, and leave products as they are">];
}

def XfDropKeyBias : Pass<"xf-drop-key-bias", "::mlir::ModuleOp"> {
  let summary = "Compute keys without their bias";
  let description = [{
    A bias of the keys shifts all scores of a query alike, which a softmax does not see, but it takes bits of keys that are
    rounded. It becomes zeros, so that queries, keys and values can still be one product.
  }];
}

def XfNarrowAttention : Pass<"xf-narrow-attention", "::mlir::ModuleOp"> {
  let summary = "Let attention multiply factors of 16 bits";
  let description = [{
    Queries, keys and values are rounded where they are made, and states that attention alone reads keep them rounded. If
    all readers of a context round it, attention gives it rounded. Attention that gives its probabilities, has heads of odd
    width, or reads states that others read, too, stays f32. Attention of bf16 outside of decoders may multiply in int16.
  }];
  let options = [Option<"type", "type", "std::string", "\"bf16\"", "bf16 or f16">];
}

def XfRotateLayers : Pass<"xf-rotate-layers", "::mlir::ModuleOp"> {
  let summary = "Compute what a layer makes of its input alone where that input is made";
  let description = [{
    Where a norm ends the body of an `xf.repeat`, values that the body computes from that carried value alone by maps and row statistics
    (a rounded or quantised copy) are carried beside it: the norm's row kernel makes them, instead of another at the start of each layer.
  }];
}

def XfFormContracts : Pass<"xf-form-contracts", "::mlir::ModuleOp"> {
  let summary = "Turn linears into contracts with their epilogue";
  let description = [{
    The bias and a map that is the linear's only use (activation, residual, gate) move into the contract's region.
    Needs xf-fuse-maps before, so that a chain of maps is one op.
  }];
}

def XfFormRows : Pass<"xf-form-rows", "::mlir::ModuleOp"> {
  let summary = "Group maps, row statistics and look-ups into row kernels";
  let description = [{
    Ops over the same rows that feed each other become one xf.row: a norm, a softmax, an embedding with its scale,
    position and norm. Runs after contracts have taken their epilogues.
  }];
}

def XfPackAttention : Pass<"xf-pack-attention", "::mlir::ModuleOp"> {
  let summary = "Give attention its keys and values in packed order";
  let description = [{
    Keys and values that come from a state fix the state's layout; others are packed.
  }];
}

def XfHoistWeights : Pass<"xf-hoist-weights", "::mlir::ModuleOp"> {
  let summary = "Name what depends on parameters only, to be packed when compiling";
  let description = [{
    Each expression of parameters that a kernel reads becomes an xf.weight: in panels where a contract reads it, else
    plain. A table that a contract and a look-up share is stored once, in panels.
  }];
}

def XfMaterializeViews : Pass<"xf-materialize-views", "::mlir::ModuleOp"> {
  let summary = "Copy where a view cannot be read in place";
  let description = [{
    Rearranges and slices are strides. A copy is made where merged dimensions are not adjacent in memory, where a
    contract's rows have no single stride, where a loop would carry a view, and where an entry returns one.
  }];
}

def XfChooseTokens : Pass<"xf-choose-tokens", "::mlir::ModuleOp"> {
  let summary = "Let the derived step end in the vocabulary reduction";
  let description = [{
    Where the logits of the step entry are a product, a copy of the entry gives the best tokens and the log-sum-exp of
    each row's last position instead. `xf.generate` names it `choose`.
  }];
}

def XfScreenTokens : Pass<"xf-screen-tokens", "::mlir::ModuleOp"> {
  let summary = "Give choices of tokens copies of their weight in fewer bits";
  let description = [{
    Where an `xf.choose` multiplies f32 or bf16 and its logits do not decrease when the product grows, it gets the `screen` with
    which its kernel may leave out what cannot be chosen, and for f32 the `words` by which it may estimate the share of improbable
    columns in the sums. Small vocabularies would not gain by it.
  }];
  let options = [Option<"minColumns", "least-columns", "int64_t", "4096", "The smallest vocabulary that is screened">];
}

def XfPackSentences : Pass<"xf-pack-sentences", "::mlir::ModuleOp"> {
  let summary = "Let sentences of different lengths be encoded without padding";
  let description = [{
    The entries over sources (encode and begin of a search, the entry of a prediction) get twins of kind `packed` for the tokens of all
    sentences back to back. Besides the entry's own inputs, which are packed except for tokens and types, they take `xf.tokens` i32 [1, P],
    `xf.positions` i32 [P] and `xf.spans` i32 [B, 2], and `xf.types` i32 [1, P] where the entry takes types. `xf.generate` names them
    `packed_encode` and `packed_begin`, `xf.predict` `packed`. Nothing is added where some op must see whole sentences and there is no
    padding token.
  }];
}

def XfAppendByReader : Pass<"xf-append-by-reader", "::mlir::ModuleOp"> {
  let summary = "Let a step's attention write its own key and value";
  let description = [{
    Marks an `xf.append` whose only reader is an attention with as many heads of keys as of queries (no two tasks of its kernel then
    share a head of keys): with one new position, the usual step, the attention's kernel writes it, which saves a pass through
    memory and a barrier.
  }];
}

def XfSinkConstants : Pass<"xf-sink-constants", "::mlir::ModuleOp"> {
  let summary = "Put constants inside the kernel regions that read them";
  let description = [{
    Canonicalisation moves constants out of regions. A kernel is emitted from its op alone, so they move back in.
  }];
}

#endif // XF_TRANSFORMS_PASSES_TD
