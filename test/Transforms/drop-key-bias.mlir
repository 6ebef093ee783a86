// RUN: xf-opt %s --pass-pipeline='builtin.module(xf-drop-key-bias)' | FileCheck %s

#bt = #xf.dims<"B", "T", "">
module attributes {xf.bounds = {B = 2 : i64, T = 9 : i64, N = 9 : i64}} {
  xf.parameter @w : tensor<8x8xf32> path "w"
  xf.parameter @b : tensor<8xf32> path "b"
  xf.parameter @w3 : tensor<24x8xf32> path "w3"
  xf.parameter @b3 : tensor<24xf32> path "b3"
  xf.state @keys : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1
  xf.state @seen : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1

  // CHECK-LABEL: xf.entry full @plain
  // CHECK: %[[B:.*]] = xf.param @b
  // CHECK: %[[ZERO:.*]] = xf.map(%[[B]])
  // CHECK: arith.constant 0.000000e+00
  // CHECK: %[[K:.*]] = xf.linear %arg0, {{.*}}, %[[ZERO]]
  // CHECK: xf.linear %arg0, {{.*}}, %[[B]]
  xf.entry full @plain(%x: tensor<?x?x8xf32, #bt> {xf.name = "x"}) -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "y"}) {
    %w = xf.param @w : tensor<8x8xf32>
    %b = xf.param @b : tensor<8xf32>
    %k = xf.linear %x, %w, %b : tensor<?x?x8xf32, #bt>, tensor<8x8xf32>, tensor<8xf32> -> tensor<?x?x8xf32, #bt>
    %v = xf.linear %x, %w, %b : tensor<?x?x8xf32, #bt>, tensor<8x8xf32>, tensor<8xf32> -> tensor<?x?x8xf32, #bt>
    %kh = xf.rearrange %k "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #bt> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %vh = xf.rearrange %v "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #bt> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %y = xf.attend %vh, %kh, %vh scale 0.5 fill 0xFFF0000000000000 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>)
    xf.return %y : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  }

  // A moderate fill is a score like the others, and does not shift with them.
  // CHECK-LABEL: xf.entry full @moderate
  // CHECK-NOT: xf.map
  xf.entry full @moderate(%x: tensor<?x?x8xf32, #bt> {xf.name = "x"}) -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "y"}) {
    %w = xf.param @w : tensor<8x8xf32>
    %b = xf.param @b : tensor<8xf32>
    %k = xf.linear %x, %w, %b : tensor<?x?x8xf32, #bt>, tensor<8x8xf32>, tensor<8xf32> -> tensor<?x?x8xf32, #bt>
    %v = xf.linear %x, %w, %b : tensor<?x?x8xf32, #bt>, tensor<8x8xf32>, tensor<8xf32> -> tensor<?x?x8xf32, #bt>
    %kh = xf.rearrange %k "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #bt> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %vh = xf.rearrange %v "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #bt> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %y = xf.attend %vh, %kh, %vh scale 0.5 fill -2.0 mask {
    ^bb0(%bb: index, %h: index, %i: index, %j: index):
      %ok = arith.cmpi sle, %j, %i : index
      xf.yield %ok : i1
    } : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>)
    xf.return %y : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  }

  // What a function makes of the score depends on all of it.
  // CHECK-LABEL: xf.entry full @capped
  // CHECK-NOT: xf.map
  xf.entry full @capped(%x: tensor<?x?x8xf32, #bt> {xf.name = "x"}) -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "y"}) {
    %w = xf.param @w : tensor<8x8xf32>
    %b = xf.param @b : tensor<8xf32>
    %k = xf.linear %x, %w, %b : tensor<?x?x8xf32, #bt>, tensor<8x8xf32>, tensor<8xf32> -> tensor<?x?x8xf32, #bt>
    %v = xf.linear %x, %w, %b : tensor<?x?x8xf32, #bt>, tensor<8x8xf32>, tensor<8xf32> -> tensor<?x?x8xf32, #bt>
    %kh = xf.rearrange %k "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #bt> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %vh = xf.rearrange %v "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #bt> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %y = xf.attend %vh, %kh, %vh scale 0.5 fill 0xFFF0000000000000 score {
    ^bb0(%bb: index, %h: index, %i: index, %j: index, %s: f32):
      %t = math.tanh %s : f32
      xf.yield %t : f32
    } : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>)
    xf.return %y : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  }

  // Keys that are values, too, keep their bias.
  // CHECK-LABEL: xf.entry full @shared
  // CHECK-NOT: xf.map
  xf.entry full @shared(%x: tensor<?x?x8xf32, #bt> {xf.name = "x"}) -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "y"}) {
    %w = xf.param @w : tensor<8x8xf32>
    %b = xf.param @b : tensor<8xf32>
    %k = xf.linear %x, %w, %b : tensor<?x?x8xf32, #bt>, tensor<8x8xf32>, tensor<8xf32> -> tensor<?x?x8xf32, #bt>
    %kh = xf.rearrange %k "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #bt> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %y = xf.attend %kh, %kh, %kh scale 0.5 fill 0xFFF0000000000000 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>)
    xf.return %y : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  }

  // Keys of several attentions, and of nothing else.
  // CHECK-LABEL: xf.entry full @several
  // CHECK: %[[ZERO:.*]] = xf.map
  // CHECK: xf.linear %arg0, {{.*}}, %[[ZERO]]
  xf.entry full @several(%x: tensor<?x?x8xf32, #bt> {xf.name = "x"}, %q: tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "q"}) -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "y"}) {
    %w = xf.param @w : tensor<8x8xf32>
    %b = xf.param @b : tensor<8xf32>
    %k = xf.linear %x, %w, %b : tensor<?x?x8xf32, #bt>, tensor<8x8xf32>, tensor<8xf32> -> tensor<?x?x8xf32, #bt>
    %kh = xf.rearrange %k "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #bt> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %c = xf.attend %q, %kh, %q scale 0.5 fill 0xFFF0000000000000 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>)
    %y = xf.attend %c, %kh, %q scale 0.2 fill 0xFFF0000000000000 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>)
    xf.return %y : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  }

  // Keys that are some columns of a product lose that part of its bias.
  // CHECK-LABEL: xf.entry full @parts
  // CHECK: %[[B:.*]] = xf.param @b3
  // CHECK: %[[KEYS:.*]] = xf.slice %[[B]] axis 0 start 8 : tensor<24xf32> -> tensor<8xf32>
  // CHECK: %[[ZERO:.*]] = xf.map(%[[KEYS]])
  // CHECK: arith.constant 0.000000e+00
  // CHECK: %[[FIRST:.*]] = xf.slice %[[B]] axis 0 start 0 : tensor<24xf32> -> tensor<8xf32>
  // CHECK: %[[LAST:.*]] = xf.slice %[[B]] axis 0 start 16 : tensor<24xf32> -> tensor<8xf32>
  // CHECK: %[[ALL:.*]] = xf.concat(%[[FIRST]], %[[ZERO]], %[[LAST]]) axis 0
  // CHECK: xf.linear %arg0, {{.*}}, %[[ALL]]
  xf.entry full @parts(%x: tensor<?x?x8xf32, #bt> {xf.name = "x"}) -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "y"}) {
    %w = xf.param @w3 : tensor<24x8xf32>
    %b = xf.param @b3 : tensor<24xf32>
    %all = xf.linear %x, %w, %b : tensor<?x?x8xf32, #bt>, tensor<24x8xf32>, tensor<24xf32> -> tensor<?x?x24xf32, #bt>
    %v = xf.slice %all axis 2 start 16 : tensor<?x?x24xf32, #bt> -> tensor<?x?x8xf32, #bt>
    %k = xf.slice %all axis 2 start 8 : tensor<?x?x24xf32, #bt> -> tensor<?x?x8xf32, #bt>
    %q = xf.slice %all axis 2 start 0 : tensor<?x?x24xf32, #bt> -> tensor<?x?x8xf32, #bt>
    %qh = xf.rearrange %q "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #bt> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %kh = xf.rearrange %k "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #bt> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %vh = xf.rearrange %v "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #bt> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %y = xf.attend %qh, %kh, %vh scale 0.5 fill 0xFFF0000000000000 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>)
    xf.return %y : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  }

  // Of columns that something else reads, too, the bias stays.
  // CHECK-LABEL: xf.entry full @overlapping
  // CHECK-NOT: xf.map
  xf.entry full @overlapping(%x: tensor<?x?x8xf32, #bt> {xf.name = "x"}, %q: tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "q"}) -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "y"}) {
    %w = xf.param @w3 : tensor<24x8xf32>
    %b = xf.param @b3 : tensor<24xf32>
    %all = xf.linear %x, %w, %b : tensor<?x?x8xf32, #bt>, tensor<24x8xf32>, tensor<24xf32> -> tensor<?x?x24xf32, #bt>
    %k = xf.slice %all axis 2 start 0 : tensor<?x?x24xf32, #bt> -> tensor<?x?x8xf32, #bt>
    %v = xf.slice %all axis 2 start 7 : tensor<?x?x24xf32, #bt> -> tensor<?x?x8xf32, #bt>
    %kh = xf.rearrange %k "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #bt> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %vh = xf.rearrange %v "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #bt> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %y = xf.attend %q, %kh, %vh scale 0.5 fill 0xFFF0000000000000 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>)
    xf.return %y : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  }

  // Keys that are kept: all that is written into the state, if attention alone reads it.
  // CHECK-LABEL: xf.entry step @step
  // CHECK: %[[ZERO:.*]] = xf.map
  // CHECK: xf.linear %arg0, {{.*}}, %[[ZERO]]
  // CHECK-NOT: xf.map
  xf.entry step @step(%x: tensor<?x?x8xf32, #xf.dims<"B", "N", "">> {xf.name = "x"}, %q: tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "q"}, %past: tensor<?xi32, #xf.dims<"B">> {xf.name = "xf.past"})
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "y"}, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "all"}) {
    %zero = arith.constant 0 : index
    %w = xf.param @w : tensor<8x8xf32>
    %b = xf.param @b : tensor<8xf32>
    %k = xf.linear %x, %w, %b : tensor<?x?x8xf32, #xf.dims<"B", "N", "">>, tensor<8x8xf32>, tensor<8xf32> -> tensor<?x?x8xf32, #xf.dims<"B", "N", "">>
    %kh = xf.rearrange %k "B N (h k) -> B h N k" {h = 2 : i64} : tensor<?x?x8xf32, #xf.dims<"B", "N", "">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>
    %ks = xf.append %kh to @keys[%zero] axis 2 past %past : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %s = xf.linear %x, %w, %b : tensor<?x?x8xf32, #xf.dims<"B", "N", "">>, tensor<8x8xf32>, tensor<8xf32> -> tensor<?x?x8xf32, #xf.dims<"B", "N", "">>
    %sh = xf.rearrange %s "B N (h k) -> B h N k" {h = 2 : i64} : tensor<?x?x8xf32, #xf.dims<"B", "N", "">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>
    %ss = xf.append %sh to @seen[%zero] axis 2 past %past : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %c = xf.attend %q, %ks, %ss scale 0.5 fill 0xFFF0000000000000 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>)
    %y = xf.attend %c, %ss, %ss scale 0.5 fill 0xFFF0000000000000 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>)
    xf.return %y, %ss : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  }
}
