// Model ops: what a description means, before any fusion.
#ifndef XF_MODEL_OPS_TD
#define XF_MODEL_OPS_TD

include "dialect/IR/XfInterfaces.td"
include "dialect/IR/XfModuleOps.td"

def Xf_IndexMaps : TypedArrayAttrBase<DenseI64ArrayAttr, "for each operand, for each of its dimensions, the result's dimension that it follows, or -1 (size 1, broadcast)">;

def Xf_PositionsOp : Xf_Op<"positions", [Xf_InBody, Pure, DeclareOpInterfaceMethods<Xf_CausalOpInterface, ["getDependence", "buildStep"]>]> {
  let summary = "The positions of a sequence";
  let description = [{
    0, 1, … plus `offset`, along the result's only dimension. With `from`, each row's positions continue after its
    past ones: result [B, N] = past[b] + n + offset.

    ```mlir
    %p = xf.positions : tensor<?xi32, #xf.dims<"S">>
    %q = xf.positions from %past : tensor<?xi32, #xf.dims<"B">> -> tensor<?x?xi32, #xf.dims<"B", "N">>
    ```
  }];
  let arguments = (ins Optional<Xf_Tensor>:$past, DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Xf_Tensor:$result);
  let assemblyFormat = "(`from` $past^ `:` type($past) `->`):(`:`)? type($result) attr-dict";
  let hasVerifier = 1;
}

def Xf_EmbedOp : Xf_Op<"embed", [Xf_InRow, Pure, Xf_CausalOpInterface]> {
  let summary = "Rows of a table, chosen by ids";
  let description = [{
    result[.., j] = table[ids[..], j]. An id outside the table is the caller's error; entries check tokens.

    ```mlir
    %x = xf.embed %table, %ids : tensor<100x64xf32>, tensor<?x?xi32, #xf.dims<"B", "S">> -> tensor<?x?x64xf32, #xf.dims<"B", "S", "">>
    ```
  }];
  let arguments = (ins Xf_Tensor:$table, Xf_Tensor:$ids);
  let results = (outs Xf_Tensor:$result);
  let assemblyFormat = "$table `,` $ids attr-dict `:` type($table) `,` type($ids) `->` type($result)";
  let hasVerifier = 1;
}

def Xf_LinearOp : Xf_Op<"linear", [Xf_InExpression, Pure, Xf_CausalOpInterface]> {
  let summary = "x Wᵀ + b over the last dimension";
  let description = [{
    result[.., n] = Σ_k x[.., k] * weight[n, k] (+ bias[n]), k ascending. The weight and bias depend on parameters only; if x does,
    too, the result is computed when compiling.
    Both operands are f32, or both bf16 or f16, or x is f32 and the weight i8, whose elements count as integers, and
    the result is f32; or both are i8, which counts as unsigned (0 … 255) in x and as signed in the weight, as processors
    multiply, and the result is the exact i32.

    ```mlir
    %y = xf.linear %x, %w, %b : tensor<?x64xf32, #xf.dims<"B", "">>, tensor<256x64xf32>, tensor<256xf32> -> tensor<?x256xf32, #xf.dims<"B", "">>
    ```
  }];
  let arguments = (ins Xf_Tensor:$x, Xf_Tensor:$weight, Optional<Xf_Tensor>:$bias);
  let results = (outs Xf_Tensor:$result);
  let assemblyFormat = "$x `,` $weight (`,` $bias^)? attr-dict `:` type($x) `,` type($weight) (`,` type($bias)^)? `->` type($result)";
  let hasVerifier = 1;
}

def Xf_QuantizeOp : Xf_Op<"quantize", [Xf_InExpression, Pure]> {
  let summary = "A matrix of parameters in fewer bits";
  let description = [{
    To bf16 or f16: each element rounded to the nearest, ties to even. To i8: row n has the scale s[n] = max_k |x[n, k]| / 127
    and the elements x[n, k] * (127 / max) rounded to the nearest, ties to even; a row whose maximum is below 2^-100 has
    scale 0 and zeros. The further results are then the scales and the rows' sums of elements. All arithmetic is in f32.
    Three optional results bound the error of a product: the Euclidean norms of the rows and those of their rounding errors
    x[n, k] - s[n] q[n, k], both rounded up, the latter infinite for a row of norm above 2^50; and the mean row.
    To i16: the same with scales such that a row's largest element is at most 32767 and its norm at most 46000, so that sums of
    products of two such rows stay within 32 bits. The further results are those of i8, without the sums.

    ```mlir
    %q, %scales, %sums = xf.quantize %w : tensor<256x64xf32> -> tensor<256x64xi8>, tensor<256xf32>, tensor<256xi32>
    %p, %t, %u, %lengths, %errors, %mean = xf.quantize %w : tensor<256x64xf32> -> tensor<256x64xi8>, tensor<256xf32>, tensor<256xi32>, tensor<256xf32>, tensor<256xf32>, tensor<64xf32>
    %r, %v, %a, %b, %c = xf.quantize %w : tensor<256x64xf32> -> tensor<256x64xi16>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<64xf32>
    %h = xf.quantize %w : tensor<256x64xf32> -> tensor<256x64xbf16>
    ```
  }];
  let arguments = (ins Xf_Tensor:$x);
  let results = (outs Variadic<Xf_Tensor>:$results);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Of rows of i16.
    static constexpr double kMaxInt16 = 32767, kMaxRowNorm = 46000;
    bool isBounded() { return getNumResults() > 3; }
    bool isToInt16() { return getNumResults() > 0 && llvm::cast<RankedTensorType>(getResult(0).getType()).getElementType().isInteger(16); }
  }];
}

def Xf_MapOp : Xf_Op<"map", [Xf_InRow, Pure, DeclareOpInterfaceMethods<Xf_CausalOpInterface, ["buildStep"]>, SingleBlock]> {
  let summary = "Element-wise maths with broadcasting";
  let description = [{
    The region (arith and math ops on scalars) computes each element of the results from the operands' elements. `maps`
    says for each operand which result dimension each of its dimensions follows; -1 marks one of size 1.
    All results have the same shape.

    ```mlir
    %z = xf.map(%x, %y) maps [[0, 1], [1]] : (tensor<?x64xf32, #xf.dims<"B", "">>, tensor<64xf32>) -> tensor<?x64xf32, #xf.dims<"B", "">> {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      xf.yield %s : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Xf_Tensor>:$inputs, Xf_IndexMaps:$maps);
  let results = (outs Variadic<Xf_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` `maps` custom<IndexMaps>($maps) attr-dict `:` functional-type($inputs, $results) $body";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// The result dimensions that operand i follows.
    ArrayRef<int64_t> getMap(unsigned i) { return llvm::cast<DenseI64ArrayAttr>(getMaps()[i]).asArrayRef(); }
    RankedTensorType getShape() { return llvm::cast<RankedTensorType>(getResult(0).getType()); }
  }];
}

def Xf_ReduceOp : Xf_Op<"reduce", [Xf_InRow, Pure, DeclareOpInterfaceMethods<Xf_CausalOpInterface, ["getDependence"]>]> {
  let summary = "Sum or maximum of each row";
  let description = [{
    Over the last dimension, which stays with size 1. Element i belongs to partial i mod 16; the 16 partials
    are combined by one fixed tree (distance 8, 4, 2, 1), whatever the target.

    ```mlir
    %s = xf.reduce sum %x : tensor<?x64xf32, #xf.dims<"B", "">> -> tensor<?x1xf32, #xf.dims<"B", "">>
    ```
  }];
  let arguments = (ins Xf_ReduceKindAttr:$kind, Xf_Tensor:$x);
  let results = (outs Xf_Tensor:$result);
  let assemblyFormat = "$kind $x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Xf_AttendOp : Xf_Op<"attend", [Xf_InBody, Pure, DeclareOpInterfaceMethods<Xf_CausalOpInterface, ["getDependence", "buildStep"]>]> {
  let summary = "Scaled dot-product attention with score, mask and bias as functions of positions";
  let description = [{
    q [B, H, Q, d], k [B, G, K, d], v [B, G, K, e], G divides H; query head h reads key/value head h div (H/G).
    s(b,h,i,j) = score(b,h,i,j, scale * Σ q k) + bias(b,h,i,j); where mask(b,h,i,j) is false it becomes `fill`; softmax of s
    over j; context = Σ_j p v. Results: context [B, H, Q, e] and, if requested, the probabilities [B, H, Q, K].
    The regions take (b, h, i, j) as index values, the score's region an f32 after them, and may read tensors with `xf.at`. A row without any
    allowed key gives what PyTorch's scaled_dot_product_attention gives: the mean over all K keys with a finite fill, 0 with -inf.

    With `spans` i32 [B, 2], the first position and the length of each sentence in one row of them all, queries and context are
    [1, H, P, d] and [1, H, P, e]: sentence b's query i is position spans[b, 0] + i, and it has the first spans[b, 1] keys.

    q, k and v are all f32, all bf16 or all f16. With 16 bits, sums, scores and exponentials are f32; with s_j = exp(score_j - largest
    score), the context is (Σ_j round(s_j) v_j) / Σ_j s_j, in f32 or the type of q, and there are no probabilities.
    With `words` (bf16 only, keys and values not from a state), a kernel may multiply all factors, exponentials included, as i16 with a
    scale per row where that is faster: no other op has to give the same bits.

    ```mlir
    %c = xf.attend %q, %k, %v scale 0.5 fill 0xFFF0000000000000 mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %ok = arith.cmpi sle, %j, %i : index
      xf.yield %ok : i1
    } : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$q, Xf_Tensor:$k, Xf_Tensor:$v, Optional<Xf_Tensor>:$spans, F64Attr:$scale, F64Attr:$fill,
                       UnitAttr:$words);
  let results = (outs Xf_Tensor:$output, Optional<Xf_Tensor>:$probabilities);
  let regions = (region AnyRegion:$mask, AnyRegion:$bias, AnyRegion:$score);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`spans` $spans^)? `scale` $scale `fill` $fill (`mask` $mask^)? (`bias` $bias^)? (`score` $score^)? attr-dict `:`
    type($q) `,` type($k) `,` type($v) (`,` type($spans)^)? `->` `(` type($output) (`,` type($probabilities)^)? `)`
  }];
  let extraClassDeclaration = [{
    /// Whether masked scores take part in the softmax with the value `fill`: one of -1e4 or below gives exactly 0 beside an
    /// allowed key, whose score is assumed to be far above it.
    bool isFillAScore() { return !getMask().empty() && !(getFill().convertToDouble() <= -1e4); }
    /// Whether a mask, or a bias that selects minus infinity, may hide all keys from a query, whose context is then 0.
    bool mayHideAllKeys();
    /// Whether index `d` of a read in one of the regions is always inside the tensor.
    bool isWithin(AtOp at, unsigned d);
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Xf_AtOp : Xf_Op<"at", [HasParent<"AttendOp">, Pure, TypesMatchWith<"the result is an element of the tensor", "tensor", "result",
                                               "::llvm::cast<::mlir::RankedTensorType>($_self).getElementType()">]> {
  let summary = "One element of a tensor, for the regions of attention";
  let description = [{
    ```mlir
    %t = xf.at %tokens[%b, %j] : tensor<?x?xi32, #xf.dims<"B", "S">>
    ```
  }];
  let arguments = (ins Xf_Tensor:$tensor, Variadic<Index>:$indices);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$tensor `[` $indices `]` attr-dict `:` type($tensor)";
  let hasVerifier = 1;
}

def Xf_RearrangeOp : Xf_Op<"rearrange", [Xf_InExpression, Pure, DeclareOpInterfaceMethods<Xf_CausalOpInterface, ["buildStep"]>]> {
  let summary = "Splits, permutes and merges dimensions, as an einops pattern says";
  let description = [{
    Names are axes, parentheses merge, `1` is an axis of size 1. `sizes` gives the axes that the types leave open.

    ```mlir
    %h = xf.rearrange %x "B T (h k) -> B h T k" {h = 8 : i64} : tensor<?x?x64xf32, #xf.dims<"B", "T", "">> -> tensor<?x8x?x8xf32, #xf.dims<"B", "", "T", "">>
    ```
  }];
  let arguments = (ins Xf_Tensor:$x, StrAttr:$pattern, DictionaryAttr:$sizes);
  let results = (outs Xf_Tensor:$result);
  let assemblyFormat = "$x $pattern $sizes attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Xf_SliceOp : Xf_Op<"slice", [Xf_InExpression, Pure, DeclareOpInterfaceMethods<Xf_CausalOpInterface, ["getDependence", "buildStep"]>]> {
  let summary = "A range of one dimension";
  let description = [{
    result[.., i, ..] = x[.., start + i * step, ..] along `axis`; the result's size there is static.

    ```mlir
    %e = xf.slice %x axis 1 start 1 step 2 : tensor<?x64xf32, #xf.dims<"B", "">> -> tensor<?x32xf32, #xf.dims<"B", "">>
    ```
  }];
  let arguments = (ins Xf_Tensor:$x, I64Attr:$axis, I64Attr:$start, DefaultValuedAttr<I64Attr, "1">:$step);
  let results = (outs Xf_Tensor:$result);
  let assemblyFormat = "$x `axis` $axis `start` $start (`step` $step^)? attr-dict `:` type($x) `->` type($result)";
  let extraClassDeclaration = [{
    /// How many elements the range has.
    int64_t getSize() { return getResult().getType().getDimSize(getAxis()); }
    /// The last index that is read; valid once isWithin has been checked.
    int64_t getLast() { return getStart() + (getSize() - 1) * getStep(); }
    /// Whether all indices lie in a dimension of that size. Nothing overflows, whatever the numbers are.
    bool isWithin(int64_t size) {
      return int64_t(getStart()) < size && getSize() - 1 <= (size - 1 - int64_t(getStart())) / int64_t(getStep());
    }
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Xf_ConcatOp : Xf_Op<"concat", [Xf_InExpression, Pure, DeclareOpInterfaceMethods<Xf_CausalOpInterface, ["buildStep"]>]> {
  let summary = "Tensors one after the other along a static dimension";
  let description = [{
    ```mlir
    %c = xf.concat(%a, %b) axis 0 : (tensor<64x64xf32>, tensor<32x64xf32>) -> tensor<96x64xf32>
    ```
  }];
  let arguments = (ins Variadic<Xf_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs Xf_Tensor:$result);
  let assemblyFormat = "`(` $inputs `)` `axis` $axis attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Xf_ScanOp : Xf_Op<"scan", [Xf_InBody, Pure, DeclareOpInterfaceMethods<Xf_CausalOpInterface, ["getDependence", "buildStep"]>, SingleBlock]> {
  let summary = "An element-wise recurrence along one dimension";
  let description = [{
    All inputs and the results have the same shape. For each position along `axis`, ascending or in `reverse`, the region takes
    the states' elements, then the inputs', and yields the new states', then the results'. States start at `init`.

    ```mlir
    %c = xf.scan(%f, %u) axis 1 init [0.0] : (tensor<?x?x8xf32, #xf.dims<"B", "T", "">>, tensor<?x?x8xf32, #xf.dims<"B", "T", "">>) -> tensor<?x?x8xf32, #xf.dims<"B", "T", "">> {
    ^bb0(%s: f32, %a: f32, %b: f32):
      %p = arith.mulf %s, %a : f32
      %q = arith.addf %p, %b : f32
      xf.yield %q, %q : f32, f32
    }
    ```
  }];
  let arguments = (ins Variadic<Xf_Tensor>:$inputs, I64Attr:$axis, DenseF64ArrayAttr:$init, UnitAttr:$reverse);
  let results = (outs Variadic<Xf_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` `axis` $axis (`reverse` $reverse^)? `init` custom<Starts>($init) attr-dict `:` functional-type($inputs, $results) $body";
  let hasVerifier = 1;
}

def Xf_RepeatOp : Xf_Op<"repeat", [Xf_InBody, SingleBlock, RecursiveMemoryEffects, RecursivelySpeculatable]> {
  let summary = "A stack of equal layers";
  let description = [{
    Runs the body for layer 0 … count-1. The body takes the layer's index and the carried values; it yields the new
    carried values and then any others, of which the results keep the last layer's. count is at least 1.

    ```mlir
    %y = xf.repeat 6 (%x) : (tensor<?x64xf32, #xf.dims<"B", "">>) -> (tensor<?x64xf32, #xf.dims<"B", "">>) {
    ^bb0(%layer: index, %h: tensor<?x64xf32, #xf.dims<"B", "">>):
      xf.yield %h : tensor<?x64xf32, #xf.dims<"B", "">>
    }
    ```
  }];
  let arguments = (ins I64Attr:$count, Variadic<Xf_Tensor>:$inits);
  let results = (outs Variadic<Xf_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$count `(` $inits `)` attr-dict `:` functional-type($inits, $results) $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    BlockArgument getLayer() { return getBody().getArgument(0); }
    ArrayRef<BlockArgument> getCarried() { return getBody().getArguments().drop_front(); }
  }];
}

#endif // XF_MODEL_OPS_TD
