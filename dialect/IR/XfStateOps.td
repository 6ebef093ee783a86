// State: what a decoder's step keeps between calls.
#ifndef XF_STATE_OPS_TD
#define XF_STATE_OPS_TD

include "dialect/IR/XfModelOps.td"

def Xf_StateOp : Xf_Op<"state", [Xf_InModule, Symbol]> {
  let summary = "Memory that a session keeps between steps";
  let description = [{
    One tensor for each of `layers`. Its first dimension is the search row, or with `sentences` the sentence slot,
    filled once by the begin entry. A dimension of the decoder's target grows by append. `layout` is the physical order.

    ```mlir
    xf.state @keys : tensor<?x8x?x8xf32, #xf.dims<"B", "", "T", "">> layers 6
    xf.state @cross_keys : tensor<?x8x?x8xf32, #xf.dims<"B", "", "S", "">> layers 6 sentences
    xf.state @allowed : tensor<?x?xi1, #xf.dims<"B", "S">> layers 6 sentences
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type, I64Attr:$layers, UnitAttr:$sentences,
                       DefaultValuedAttr<Xf_LayoutAttr, "Layout::plain">:$layout);
  let assemblyFormat = "$sym_name `:` $type `layers` $layers (`sentences` $sentences^)? (`layout` $layout^)? attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    RankedTensorType getTensorType() { return llvm::cast<RankedTensorType>(getType()); }
  }];
}

def Xf_AppendOp : Xf_Op<"append", [Xf_InBody, Xf_StateAccessInterface, DeclareOpInterfaceMethods<SymbolUserOpInterface>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Writes new positions into a state and gives all positions";
  let description = [{
    x holds the new positions along `axis`; row b's follow its past[b] earlier ones. The result is the state with dimension
    `axis` up to the longest row; positions after a row's own last one are undefined.

    With `by_reader` a single new position is written by the attention that reads the result as its keys or values, just before it
    reads them: it needs the cache lines around the position anyway.

    ```mlir
    %all = xf.append %k to @keys[%layer] axis 2 past %past : tensor<?x8x?x8xf32, #xf.dims<"B", "", "N", "">>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x8x?x8xf32, #xf.dims<"B", "", "T", "">>
    ```
  }];
  let arguments = (ins Xf_Tensor:$x, FlatSymbolRefAttr:$name, Index:$layer, I64Attr:$axis, Xf_Tensor:$past, UnitAttr:$by_reader);
  let results = (outs Xf_Tensor:$result);
  let assemblyFormat = "$x `to` $name `[` $layer `]` `axis` $axis `past` $past (`by_reader` $by_reader^)? attr-dict `:` type($x) `,` type($past) `->` type($result)";
  let extraClassDeclaration = [{
    /// Whether the result has one reader, an attention that can write a single new position itself: it has as many query heads as
    /// key heads, its queries are the new positions, and it reads the state as keys or values in that layout.
    bool canBeByReader();
  }];
  let hasVerifier = 1;
}

def Xf_StoreOp : Xf_Op<"store", [Xf_InBody, Xf_StateAccessInterface, DeclareOpInterfaceMethods<SymbolUserOpInterface>, MemoryEffects<[MemWrite]>]> {
  let summary = "Writes a sentence's value into its slot of a state";
  let description = [{
    With `spans` (see `xf.spread`), x is [1, H, P, d], which holds all sentences back to back, and the state is of keys or values.
    With `padding`, x has rank 2, and the sentence's positions after x's last one are set to that value up to the state's bound:
    sentences may then be stored without padding them to one length.

    ```mlir
    xf.store %k to @cross_keys[%layer] slots %slots : tensor<?x8x?x8xf32, #xf.dims<"B", "", "S", "">>, tensor<?xi32, #xf.dims<"B">>
    xf.store %ok to @allowed[%layer] slots %slots padding false : tensor<?x?xi1, #xf.dims<"B", "S">>, tensor<?xi32, #xf.dims<"B">>
    ```
  }];
  let arguments = (ins Xf_Tensor:$x, FlatSymbolRefAttr:$name, Index:$layer, Xf_Tensor:$slots,
                       Optional<Xf_Tensor>:$spans, OptionalAttr<TypedAttrInterface>:$padding);
  let assemblyFormat = [{
    $x `to` $name `[` $layer `]` `slots` $slots (`spans` $spans^)? (`padding` $padding^)? attr-dict `:` type($x) `,` type($slots)
    (`,` type($spans)^)?
  }];
  let hasVerifier = 1;
}

def Xf_LoadOp : Xf_Op<"load", [Xf_InBody, Xf_StateAccessInterface, DeclareOpInterfaceMethods<SymbolUserOpInterface>, MemoryEffects<[MemRead]>]> {
  let summary = "Reads a per-sentence state for the rows of a search";
  let description = [{
    result[b, ..] = state[layer][slots[b], ..]

    ```mlir
    %k = xf.load @cross_keys[%layer] slots %slots : tensor<?xi32, #xf.dims<"B">> -> tensor<?x8x?x8xf32, #xf.dims<"B", "", "S", "">>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$name, Index:$layer, Xf_Tensor:$slots);
  let results = (outs Xf_Tensor:$result);
  let assemblyFormat = "$name `[` $layer `]` `slots` $slots attr-dict `:` type($slots) `->` type($result)";
  let hasVerifier = 1;
}

def Xf_ScanStepOp : Xf_Op<"scan_step", [Xf_InBody, DeclareOpInterfaceMethods<SymbolUserOpInterface>, MemoryEffects<[MemRead, MemWrite]>, SingleBlock]> {
  let summary = "A recurrence over new positions, its states kept between calls";
  let description = [{
    As `xf.scan`, but the states of row b start from what the state tensors hold (from `init` where past[b] is 0) and are
    written back after the last position. State tensors have the inputs' shape without `axis`.

    ```mlir
    %c = xf.scan_step(%f) states [@s][%layer] past %past axis 1 init [0.0] : (tensor<?x?x8xf32, #xf.dims<"B", "N", "">>), tensor<?xi32, #xf.dims<"B">> -> tensor<?x?x8xf32, #xf.dims<"B", "N", "">> {
    ^bb0(%s: f32, %a: f32):
      %q = arith.addf %s, %a : f32
      xf.yield %q, %q : f32, f32
    }
    ```
  }];
  let arguments = (ins Variadic<Xf_Tensor>:$inputs, FlatSymbolRefArrayAttr:$states, Index:$layer, Xf_Tensor:$past,
                       I64Attr:$axis, DenseF64ArrayAttr:$init);
  let results = (outs Variadic<Xf_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` `states` $states `[` $layer `]` `past` $past `axis` $axis `init` custom<Starts>($init) attr-dict `:`
    `(` type($inputs) `)` `,` type($past) `->` type($results) $body
  }];
  let hasVerifier = 1;
}

#endif // XF_STATE_OPS_TD
