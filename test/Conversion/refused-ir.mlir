// IR whose ops are right one by one, but of which no code can be made: it is refused, and nothing else.
// RUN: rm -rf %t && split-file %s %t
// RUN: not xfc %t/constant.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=CONSTANT
// CONSTANT: error: is no op of kernel IR
// RUN: not xfc %t/sum.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=SUM
// SUM: error: is no op of kernel IR
// RUN: not xfc %t/layer-argument.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=LAYER-ARGUMENT
// LAYER-ARGUMENT: layer-argument.mlir:4:10: error: 'xf.param' op cannot be chosen by an argument of its entry: an index is a constant or a stack's layer
// RUN: not xfc %t/computed-layer.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=COMPUTED-LAYER
// COMPUTED-LAYER: computed-layer.mlir:7:12: error: 'xf.param' op cannot be chosen by what is computed: an index is a constant or a stack's layer
// RUN: not xfc %t/index-elements.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=INDEX-ELEMENTS
// INDEX-ELEMENTS: error: no kernel is for tensors of 'index'
// RUN: not xfc %t/scanned-state.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=SCANNED-STATE
// SCANNED-STATE: error: cannot find the rows of a state; xf-materialize-views copies them
// RUN: not xfc %t/viewed-state.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=VIEWED-STATE
// VIEWED-STATE: error: cannot find the rows of a state in a view of it
// RUN: not xfc %t/few-bits.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=FEW-BITS
// FEW-BITS: error: no kernel is for tensors of 'i4'
// RUN: not xfc %t/no-tokens.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=NO-TOKENS
// NO-TOKENS: no-tokens.mlir:2:1: error: its tokens 't' are no tensor

//--- constant.mlir
module attributes {xf.bounds = {B = 8 : i64}, xf.name = "m"} {
  xf.entry @run(%x: tensor<?x64xf32, #xf.dims<"B", "">> {xf.name = "x"}) -> (tensor<?x64xf32, #xf.dims<"B", "">> {xf.name = "y"}) {
    %c = arith.constant dense<2.0> : tensor<64xf32>
    %y = xf.map(%x, %c) maps [[0, 1], [1]] : (tensor<?x64xf32, #xf.dims<"B", "">>, tensor<64xf32>) -> tensor<?x64xf32, #xf.dims<"B", "">> {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      xf.yield %s : f32
    }
    xf.return %y : tensor<?x64xf32, #xf.dims<"B", "">>
  }
}

//--- sum.mlir
module attributes {xf.bounds = {B = 8 : i64}, xf.name = "m"} {
  xf.entry @run(%x: tensor<?x64xi32, #xf.dims<"B", "">> {xf.name = "x"}) -> (tensor<?x64xi32, #xf.dims<"B", "">> {xf.name = "y"}) {
    %c = arith.addi %x, %x : tensor<?x64xi32, #xf.dims<"B", "">>
    %y = xf.map(%c) maps [[0, 1]] : (tensor<?x64xi32, #xf.dims<"B", "">>) -> tensor<?x64xi32, #xf.dims<"B", "">> {
    ^bb0(%a: i32):
      %s = arith.muli %a, %a : i32
      xf.yield %s : i32
    }
    xf.return %y : tensor<?x64xi32, #xf.dims<"B", "">>
  }
}

//--- layer-argument.mlir
module attributes {xf.bounds = {B = 8 : i64}, xf.name = "m"} {
  xf.parameter @w : tensor<64x64xf32> path "w.{0}" counts [4]
  xf.entry @run(%x: tensor<?x64xf32, #xf.dims<"B", "">> {xf.name = "x"}, %i: index {xf.name = "i"}) -> (tensor<?x64xf32, #xf.dims<"B", "">> {xf.name = "y"}) {
    %w = xf.param @w[%i] : tensor<64x64xf32>
    %y = xf.linear %x, %w : tensor<?x64xf32, #xf.dims<"B", "">>, tensor<64x64xf32> -> tensor<?x64xf32, #xf.dims<"B", "">>
    xf.return %y : tensor<?x64xf32, #xf.dims<"B", "">>
  }
}

//--- computed-layer.mlir
module attributes {xf.bounds = {B = 8 : i64}, xf.name = "m"} {
  xf.parameter @w : tensor<64x64xf32> path "w.{0}" counts [4]
  xf.entry @run(%x: tensor<?x64xf32, #xf.dims<"B", "">> {xf.name = "x"}) -> (tensor<?x64xf32, #xf.dims<"B", "">> {xf.name = "y"}) {
    %y = xf.repeat 3 (%x) : (tensor<?x64xf32, #xf.dims<"B", "">>) -> (tensor<?x64xf32, #xf.dims<"B", "">>) {
    ^bb0(%layer: index, %in: tensor<?x64xf32, #xf.dims<"B", "">>):
      %next = arith.addi %layer, %layer : index
      %w = xf.param @w[%next] : tensor<64x64xf32>
      %out = xf.linear %in, %w : tensor<?x64xf32, #xf.dims<"B", "">>, tensor<64x64xf32> -> tensor<?x64xf32, #xf.dims<"B", "">>
      xf.yield %out : tensor<?x64xf32, #xf.dims<"B", "">>
    }
    xf.return %y : tensor<?x64xf32, #xf.dims<"B", "">>
  }
}

//--- index-elements.mlir
module attributes {xf.bounds = {B = 8 : i64}, xf.name = "m", xf.phase = "kernel"} {
  xf.entry @run(%x: tensor<?x64xf32, #xf.dims<"B", "">> {xf.name = "x"}) -> () {
    %c = arith.constant dense<2> : tensor<64xindex>
    xf.return
  }
}

//--- scanned-state.mlir
module attributes {xf.bounds = {B = 8 : i64, S = 16 : i64}, xf.name = "m", xf.phase = "kernel"} {
  xf.state @s : tensor<?x?x8xf32, #xf.dims<"B", "S", "">> layers 1 sentences
  xf.entry step @run(%slots: tensor<?xi32, #xf.dims<"B">> {xf.name = "slots"}) -> (tensor<?x?x8xf32, #xf.dims<"B", "S", "">> {xf.name = "y"}) {
    %l = arith.constant 0 : index
    %x = xf.load @s[%l] slots %slots : tensor<?xi32, #xf.dims<"B">> -> tensor<?x?x8xf32, #xf.dims<"B", "S", "">>
    %c = xf.scan(%x) axis 1 init [0.0] : (tensor<?x?x8xf32, #xf.dims<"B", "S", "">>) -> tensor<?x?x8xf32, #xf.dims<"B", "S", "">> {
    ^bb0(%st: f32, %a: f32):
      %q = arith.addf %st, %a : f32
      xf.yield %q, %q : f32, f32
    }
    xf.return %c : tensor<?x?x8xf32, #xf.dims<"B", "S", "">>
  }
}

//--- viewed-state.mlir
module attributes {xf.bounds = {B = 8 : i64, S = 16 : i64}, xf.name = "m", xf.phase = "kernel"} {
  xf.state @s : tensor<?x?x8xf32, #xf.dims<"B", "S", "">> layers 1 sentences
  xf.entry step @run(%slots: tensor<?xi32, #xf.dims<"B">> {xf.name = "slots"}) -> (tensor<?x8x?xf32, #xf.dims<"B", "", "S">> {xf.name = "y"}) {
    %l = arith.constant 0 : index
    %x = xf.load @s[%l] slots %slots : tensor<?xi32, #xf.dims<"B">> -> tensor<?x?x8xf32, #xf.dims<"B", "S", "">>
    %r = xf.rearrange %x "b s d -> b d s" {} : tensor<?x?x8xf32, #xf.dims<"B", "S", "">> -> tensor<?x8x?xf32, #xf.dims<"B", "", "S">>
    %c = xf.pack plain %r : tensor<?x8x?xf32, #xf.dims<"B", "", "S">>
    xf.return %c : tensor<?x8x?xf32, #xf.dims<"B", "", "S">>
  }
}

//--- few-bits.mlir
module attributes {xf.bounds = {B = 8 : i64}, xf.name = "m"} {
  xf.entry @run(%x: tensor<?x64xi32, #xf.dims<"B", "">> {xf.name = "x"}) -> (tensor<?x64xi32, #xf.dims<"B", "">> {xf.name = "y"}) {
    %c = xf.row(%x) maps [[0, 1]] : (tensor<?x64xi32, #xf.dims<"B", "">>) -> tensor<?x64xi4, #xf.dims<"B", "">> {
    ^bb0(%r: tensor<64xi32>):
      %m = xf.map(%r) maps [[0]] : (tensor<64xi32>) -> tensor<64xi4> {
      ^bb0(%a: i32):
        %s = arith.trunci %a : i32 to i4
        xf.yield %s : i4
      }
      xf.yield %m : tensor<64xi4>
    }
    %q = xf.rearrange %c "b (h k) -> b h k" {h = 2 : i64} : tensor<?x64xi4, #xf.dims<"B", "">> -> tensor<?x2x32xi4, #xf.dims<"B", "", "">>
    %d = xf.row(%q) maps [[0, 1, 2]] : (tensor<?x2x32xi4, #xf.dims<"B", "", "">>) -> tensor<?x2x32xi32, #xf.dims<"B", "", "">> {
    ^bb0(%r: tensor<32xi4>):
      %m = xf.map(%r) maps [[0]] : (tensor<32xi4>) -> tensor<32xi32> {
      ^bb0(%a: i4):
        %s = arith.extsi %a : i4 to i32
        xf.yield %s : i32
      }
      xf.yield %m : tensor<32xi32>
    }
    %e = xf.rearrange %d "b h k -> b (h k)" {} : tensor<?x2x32xi32, #xf.dims<"B", "", "">> -> tensor<?x64xi32, #xf.dims<"B", "">>
    xf.return %e : tensor<?x64xi32, #xf.dims<"B", "">>
  }
}

//--- no-tokens.mlir
module attributes {xf.bounds = {B = 8 : i64, T = 16 : i64}, xf.name = "m", xf.generate = {decode = @d, tokens = "t", logits = "l", batch = "B", target = "T", start = 1 : i64, end = 2 : i64}} {
xf.entry @d(%t: index {xf.name="t"}) -> (tensor<?x8xf32, #xf.dims<"B", "">> {xf.name="l"}) { %y = xf.map() maps [] : () -> tensor<?x8xf32, #xf.dims<"B", "">> {
 %s = arith.constant 3.0 : f32
 xf.yield %s : f32 }
 xf.return %y : tensor<?x8xf32, #xf.dims<"B", "">>}}
