// Kernel ops: what a fused group becomes, for every target.
#ifndef XF_KERNEL_OPS_TD
#define XF_KERNEL_OPS_TD

include "dialect/IR/XfStateOps.td"

def Xf_WeightOp : Xf_Op<"weight", [Xf_InModule, Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>, SingleBlock]> {
  let summary = "A constant that is computed from parameters when compiling, and packed";
  let description = [{
    One tensor for each of `layers`; the region computes it from parameters with model ops. It takes the layer's index.
    `scales` names the weight with the scales of an i8 weight's rows, so that tools can read the parameters back.

    ```mlir
    xf.parameter @k : tensor<64x64xf32> path "k.{0}" counts [6]
    xf.weight @qk : tensor<128x64xf32> layers 6 layout panels {
    ^bb0(%layer: index):
      %w = xf.param @k[%layer] : tensor<64x64xf32>
      %c = xf.concat(%w, %w) axis 0 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
      xf.yield %c : tensor<128x64xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type, I64Attr:$layers,
                       DefaultValuedAttr<Xf_LayoutAttr, "Layout::plain">:$layout, OptionalAttr<FlatSymbolRefAttr>:$scales);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `:` $type `layers` $layers (`layout` $layout^)? (`scales` $scales^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    RankedTensorType getTensorType() { return llvm::cast<RankedTensorType>(getType()); }
  }];
}

def Xf_ContractOp : Xf_Op<"contract", [Xf_InBody, Pure, SingleBlock]> {
  let summary = "A matrix product with its epilogue";
  let description = [{
    acc = Σ_k x[.., k] * weight[n, k], k ascending, with the types of `xf.linear`; the region takes acc and the extras' elements
    (`maps` as in `xf.map`) and yields the result's element.

    ```mlir
    %y = xf.contract %x, %w extras(%b) maps [[1]] : tensor<?x64xf32, #xf.dims<"B", "">>, tensor<256x64xf32> extras(tensor<256xf32>) -> tensor<?x256xf32, #xf.dims<"B", "">> {
    ^bb0(%acc: f32, %bias: f32):
      %s = arith.addf %acc, %bias : f32
      xf.yield %s : f32
    }
    ```
  }];
  let arguments = (ins Xf_Tensor:$x, Xf_Tensor:$weight, Variadic<Xf_Tensor>:$extras, Xf_IndexMaps:$maps);
  let results = (outs Xf_Tensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $x `,` $weight `extras` `(` $extras `)` `maps` custom<IndexMaps>($maps) attr-dict `:`
    type($x) `,` type($weight) (`extras` `(` type($extras)^ `)`)? `->` type($result) $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ArrayRef<int64_t> getMap(unsigned i) { return llvm::cast<DenseI64ArrayAttr>(getMaps()[i]).asArrayRef(); }
  }];
}

def Xf_ChooseOp : Xf_Op<"choose", [Xf_InBody, Pure, SingleBlock, AttrSizedOperandSegments]> {
  let summary = "The best columns of a matrix product, and its log-sum-exp, without the product";
  let description = [{
    The vocabulary reduction of a search. For each row's last position along `axis` (0 or 1 of x [.., .., k]) the region
    computes the logits [.., .., n] as that of `xf.contract` does. Column n of row b counts as -inf where bit n of
    forbidden[classes[b]] is set (bit n mod 32 of word n div 32; bits behind the last column are ignored).
    options = [wanted, sums]. values and tokens hold the `wanted` largest logits above -inf and their columns, largest
    first, equal ones by ascending column, and behind them -inf and -1. norms is [m, s]: m the largest logit, or NaN if
    one is +inf or NaN; s = Σ exp(logit - m) where `sums` is not 0, else undefined. Columns are summed in fixed blocks of 128, whose
    sums are added in order: who computes which columns does not show. A block without an allowed column costs nothing.
    `parts` is where threads exchange what they found; its contents mean nothing.

    `screen`, the results of `xf.quantize` of the weight to i8 with bounds, changes nothing of the results: with it a kernel may find
    by products of bytes which columns cannot be among the best, and multiply only the others. The region must not decrease when
    acc grows, but for the rounding of a tanh to which nothing is added.

    Nor do `words`, the results of `xf.quantize` of the weight to i16, change `values`, `tokens` and m. But in s a kernel may take the
    smallest terms from products of fewer bits: of int16, or of int8 where x is bf16. Their errors are independent, and enough columns,
    those with the largest terms, are computed in full for the sum's error to have a standard deviation of at most kLostOfSums (with bf16
    kLostOfSumsBF16) of the sum. Which ones depends on the row alone.

    ```mlir
    %v, %t, %m, %p = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras(%b) maps [[2]] : tensor<?x?x64xf32, #xf.dims<"B", "N", "">>, tensor<256x64xf32>, tensor<?x8xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> extras(tensor<256xf32>) -> tensor<?x4xf32, #xf.dims<"B", "">>, tensor<?x4xi32, #xf.dims<"B", "">>, tensor<?x2xf32, #xf.dims<"B", "">>, tensor<?x288xf32, #xf.dims<"B", "">> {
    ^bb0(%acc: f32, %bias: f32):
      %s = arith.addf %acc, %bias : f32
      xf.yield %s : f32
    }
    ```
  }];
  let arguments = (ins Xf_Tensor:$x, Xf_Tensor:$weight, Xf_Tensor:$forbidden, Xf_Tensor:$classes,
                       Xf_Tensor:$options, Variadic<Xf_Tensor>:$extras, Variadic<Xf_Tensor>:$screen, Variadic<Xf_Tensor>:$words, I64Attr:$axis, Xf_IndexMaps:$maps);
  let results = (outs Xf_Tensor:$values, Xf_Tensor:$tokens, Xf_Tensor:$norms, Xf_Tensor:$parts);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $x `,` $weight `axis` $axis `forbidden` $forbidden `by` $classes `options` $options `extras` `(` $extras `)` `maps`
    custom<IndexMaps>($maps) (`screen` `(` $screen^ `)`)? (`words` `(` $words^ `)`)? attr-dict `:` type($x) `,` type($weight) `,` type($forbidden) `,` type($classes) `,`
    type($options) (`extras` `(` type($extras)^ `)`)? (`screen` `(` type($screen)^ `)`)? (`words` `(` type($words)^ `)`)? `->` type($values) `,` type($tokens) `,` type($norms) `,` type($parts) $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ArrayRef<int64_t> getMap(unsigned i) { return llvm::cast<DenseI64ArrayAttr>(getMaps()[i]).asArrayRef(); }
    /// The product whose columns are chosen from.
    RankedTensorType getLogitsType();
    int64_t getColumns() { return llvm::cast<RankedTensorType>(getWeight().getType()).getDimSize(0); }
    /// Whether a logit never decreases when its product grows and the extras stay the same, but for a function's rounding.
    bool isMonotone();
    /// Whether there is such a function: a logit may then decrease by kRounding of itself.
    bool isRounded();
    static constexpr double kRounding = 0x1p-18;
    /// Whether such a weight can have a screen: its rows are whole groups of four bytes, and the sums of their products exact in 32 bits.
    static bool isScreenable(RankedTensorType weight) {
      Type element = weight.getElementType();
      int64_t depth = weight.getDimSize(1);
      return (element.isF32() || element.isBF16()) && depth % 4 == 0 && depth <= (1 << 15);
    }
    /// The most columns that can be chosen.
    int64_t getMaxChosen() { return llvm::cast<RankedTensorType>(getValues().getType()).getDimSize(1); }

    /// Columns whose exponentials are summed before others are.
    static constexpr int64_t kBlock = 128;
    /// Threads of a CPU that can share a row.
    static constexpr int64_t kMaxThreads = 32;
    static int64_t countBlocks(int64_t columns) { return (columns + kBlock - 1) / kBlock; }
    /// Words of a row of `forbidden`: those of whole blocks.
    static int64_t countWords(int64_t columns) { return countBlocks(columns) * kBlock / 32; }
    /// Elements of a row of `parts`: each block's maximum and sum, and a list for each of those that share the row,
    /// which are threads on a CPU and blocks on a GPU.
    static int64_t countParts(int64_t columns, int64_t maxChosen) {
      int64_t blocks = countBlocks(columns);
      return 2 * ((blocks + 15) / 16 * 16) + 2 * std::max(kMaxThreads, blocks) * maxChosen;
    }
    /// Elements that follow these with a screen: a bound and a sum for each panel of 16 columns, 16 values for the row as a whole,
    /// and its `depth` elements of int8 or int16.
    static int64_t countScreened(int64_t columns, int64_t depth, bool withInt16) {
      return (columns + 255) / 256 * 32 + 16 + (depth * (withInt16 ? 2 : 1) + 63) / 64 * 16;
    }
    static constexpr double kLostOfSums = 0x1p-17, kLostOfSumsBF16 = 0x1p-10;
    /// Elements of a row of `parts` of this op.
    int64_t getPartsWidth();
  }];
}

def Xf_RowOp : Xf_Op<"row", [Xf_InBody, Pure, SingleBlock]> {
  let summary = "Any mixture of element-wise maths, row statistics and look-ups, in one pass over rows";
  let description = [{
    The results' leading dimensions are the rows. For each row the region runs on rank-1 tensors: an operand whose last
    dimension follows the results' last one arrives as a row, any other as tensor<1>. It holds `xf.map`, `xf.reduce` and
    `xf.embed` (table captured from outside, id of shape [1]) only. Results' last dimensions are the row's length or 1.

    ```mlir
    %y = xf.row(%x) maps [[0, 1]] : (tensor<?x64xf32, #xf.dims<"B", "">>) -> tensor<?x1xf32, #xf.dims<"B", "">> {
    ^bb0(%r: tensor<64xf32>):
      %s = xf.reduce sum %r : tensor<64xf32> -> tensor<1xf32>
      xf.yield %s : tensor<1xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Xf_Tensor>:$inputs, Xf_IndexMaps:$maps);
  let results = (outs Variadic<Xf_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` `maps` custom<IndexMaps>($maps) attr-dict `:` functional-type($inputs, $results) $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ArrayRef<int64_t> getMap(unsigned i) { return llvm::cast<DenseI64ArrayAttr>(getMaps()[i]).asArrayRef(); }
  }];
}

def Xf_PackOp : Xf_Op<"pack", [Xf_InBody, Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "The same tensor in another physical order";
  let description = [{
    Layout `plain` makes a row-major copy of a view; `keys` and `values` are what attention reads.

    ```mlir
    %p = xf.pack keys %k : tensor<?x8x?x8xf32, #xf.dims<"B", "", "S", "">>
    ```
  }];
  let arguments = (ins Xf_LayoutAttr:$layout, Xf_Tensor:$x);
  let results = (outs Xf_Tensor:$result);
  let assemblyFormat = "$layout $x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Xf_SpreadOp : Xf_Op<"spread", [Xf_InBody, Pure]> {
  let summary = "Sentences that lie back to back, each moved to the start of a row of its own";
  let description = [{
    result[b, .., s, ..] = x[0, .., spans[b, 0] + s, ..] for s < spans[b, 1], and 0 from there on. `spans` i32 [B, 2] has the first
    position and the length of each sentence. The result is [B, H, S, d] in the layouts `keys` and `values`,
    [B, S, d] in `plain`.

    ```mlir
    %p = xf.spread keys %k spans %spans : tensor<1x8x?x8xf32, #xf.dims<"", "", "P", "">>, tensor<?x2xi32, #xf.dims<"B", "">>
      -> tensor<?x8x?x8xf32, #xf.dims<"B", "", "S", "">>
    ```
  }];
  let arguments = (ins Xf_LayoutAttr:$layout, Xf_Tensor:$x, Xf_Tensor:$spans);
  let results = (outs Xf_Tensor:$result);
  let assemblyFormat = "$layout $x `spans` $spans attr-dict `:` type($x) `,` type($spans) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The axis of positions.
    unsigned getAxis() { return getLayout() == Layout::plain ? 1 : 2; }
  }];
}

#endif // XF_KERNEL_OPS_TD
