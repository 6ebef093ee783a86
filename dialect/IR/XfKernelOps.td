// Kernel ops: what a fused group becomes, for every target.
#ifndef XF_KERNEL_OPS_TD
#define XF_KERNEL_OPS_TD

include "dialect/IR/XfStateOps.td"

def Xf_WeightOp : Xf_Op<"weight", [Symbol, SingleBlock]> {
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
  let extraClassDeclaration = [{
    RankedTensorType getTensorType() { return llvm::cast<RankedTensorType>(getType()); }
  }];
}

def Xf_ContractOp : Xf_Op<"contract", [Pure, SingleBlock]> {
  let summary = "A matrix product with its epilogue";
  let description = [{
    acc = Σ_k x[.., k] * weight[n, k], k ascending, of the types that `xf.linear` gives; the region takes acc and the extras' elements (as `maps` says, as in
    `xf.map`) and yields the result's element.

    ```mlir
    %y = xf.contract %x, %w extras(%b) maps [[1]] : tensor<?x64xf32, #xf.dims<"B", "">>, tensor<256x64xf32> extras(tensor<256xf32>) -> tensor<?x256xf32, #xf.dims<"B", "">> {
    ^bb0(%acc: f32, %bias: f32):
      %s = arith.addf %acc, %bias : f32
      xf.yield %s : f32
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$weight, Variadic<AnyRankedTensor>:$extras, Xf_IndexMaps:$maps);
  let results = (outs AnyRankedTensor:$result);
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

def Xf_RowOp : Xf_Op<"row", [Pure, SingleBlock]> {
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
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Xf_IndexMaps:$maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` `maps` custom<IndexMaps>($maps) attr-dict `:` functional-type($inputs, $results) $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ArrayRef<int64_t> getMap(unsigned i) { return llvm::cast<DenseI64ArrayAttr>(getMaps()[i]).asArrayRef(); }
  }];
}

def Xf_PackOp : Xf_Op<"pack", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "The same tensor in another physical order";
  let description = [{
    Layout `plain` makes a row-major copy of a view; `keys` and `values` are what attention reads.

    ```mlir
    %p = xf.pack keys %k : tensor<?x8x?x8xf32, #xf.dims<"B", "", "S", "">>
    ```
  }];
  let arguments = (ins Xf_LayoutAttr:$layout, AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$layout $x attr-dict `:` type($x)";
}

#endif // XF_KERNEL_OPS_TD
