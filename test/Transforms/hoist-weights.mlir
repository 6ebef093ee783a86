// RUN: xf-opt %s --xf-hoist-weights | FileCheck %s
// What is computed with a layer's number is a weight of as many layers, though its parameter is the same for all.
#bd = #xf.dims<"B", "">
// CHECK: xf.weight @w.scale : tensor<16xf32> layers 3 {
// CHECK-NEXT: ^bb0(%[[LAYER:.*]]: index):
// CHECK: arith.index_cast %[[LAYER]] : index to i32
// CHECK: xf.repeat 3
// CHECK-NEXT: ^bb0(%[[L:.*]]: index,
// CHECK: xf.param @w.scale[%[[L]]]
module attributes {xf.bounds = {B = 8 : i64}} {
  xf.parameter @scale : tensor<16xf32> path "scale"
  xf.entry @run(%x: tensor<?x16xf32, #bd> {xf.name = "x"}) -> (tensor<?x16xf32, #bd> {xf.name = "y"}) {
    %w = xf.param @scale : tensor<16xf32>
    %y = xf.repeat 3 (%x) : (tensor<?x16xf32, #bd>) -> (tensor<?x16xf32, #bd>) {
    ^bb0(%layer: index, %in: tensor<?x16xf32, #bd>):
      %own = xf.map(%w) maps [[0]] : (tensor<16xf32>) -> tensor<16xf32> {
      ^bb0(%a: f32):
        %number = arith.index_cast %layer : index to i32
        %real = arith.sitofp %number : i32 to f32
        %p = arith.mulf %a, %real : f32
        xf.yield %p : f32
      }
      %out = xf.map(%in, %own) maps [[0, 1], [1]] : (tensor<?x16xf32, #bd>, tensor<16xf32>) -> tensor<?x16xf32, #bd> {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        xf.yield %s : f32
      }
      xf.yield %out : tensor<?x16xf32, #bd>
    }
    xf.return %y : tensor<?x16xf32, #bd>
  }
}
