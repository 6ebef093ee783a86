// RUN: xf-opt %s -xf-rotate-layers | FileCheck %s

#b = #xf.dims<"B", "">
module attributes {xf.bounds = {B = 2 : i64}} {
  xf.parameter @w : tensor<8x8xf32> path "w"

  // The rounded copy that a layer begins with is made of the first input, and of what each layer ends with.
  // CHECK-LABEL: xf.entry full @norm_last
  // CHECK: %[[FIRST:.*]] = xf.map(%[[X:.*]]) maps {{\[}}[0, 1]] : {{.*}} -> tensor<?x8xbf16
  // CHECK: %[[R:.*]]:3 = xf.repeat 3(%[[X]], %[[FIRST]])
  // CHECK: ^bb0(%{{.*}}: index, %[[H:.*]]: tensor<?x8xf32, {{.*}}>, %[[NARROW:.*]]: tensor<?x8xbf16, {{.*}}>):
  // CHECK-NOT: truncf
  // CHECK: xf.linear %[[NARROW]],
  // CHECK: %[[NORMED:.*]] = xf.map(%{{.*}}, %[[LARGEST:.*]]) maps
  // CHECK: %[[NEXT:.*]] = xf.map(%[[NORMED]])
  // CHECK: arith.truncf
  // CHECK: xf.yield %[[NORMED]], %[[NEXT]], %[[LARGEST]] :
  // The same behind the loop is the last layer's; what is made otherwise stays.
  // CHECK-NOT: truncf
  // CHECK: xf.linear %[[R]]#1,
  // CHECK: xf.map(%[[R]]#0)
  // CHECK: arith.mulf
  // CHECK: xf.return %{{.*}}, %{{.*}}, %[[R]]#2
  xf.entry full @norm_last(%x: tensor<?x8xf32, #b> {xf.name = "x"})
      -> (tensor<?x8xf32, #b> {xf.name = "y"}, tensor<?x8xbf16, #b> {xf.name = "z"}, tensor<?x1xf32, #b> {xf.name = "m"}) {
    %w0 = xf.param @w : tensor<8x8xf32>
    %w = xf.quantize %w0 : tensor<8x8xf32> -> tensor<8x8xbf16>
    %r:2 = xf.repeat 3(%x) : (tensor<?x8xf32, #b>) -> (tensor<?x8xf32, #b>, tensor<?x1xf32, #b>) {
    ^bb0(%layer: index, %h: tensor<?x8xf32, #b>):
      %narrow = xf.map(%h) maps [[0, 1]] : (tensor<?x8xf32, #b>) -> tensor<?x8xbf16, #b> {
      ^bb0(%e: f32):
        %t = arith.truncf %e : f32 to bf16
        xf.yield %t : bf16
      }
      %y = xf.linear %narrow, %w : tensor<?x8xbf16, #b>, tensor<8x8xbf16> -> tensor<?x8xf32, #b>
      %m = xf.reduce max %y : tensor<?x8xf32, #b> -> tensor<?x1xf32, #b>
      %n = xf.map(%y, %m) maps [[0, 1], [0, -1]] : (tensor<?x8xf32, #b>, tensor<?x1xf32, #b>) -> tensor<?x8xf32, #b> {
      ^bb0(%e: f32, %s: f32):
        %t = arith.divf %e, %s : f32
        xf.yield %t : f32
      }
      xf.yield %n, %m : tensor<?x8xf32, #b>, tensor<?x1xf32, #b>
    }
    %narrow = xf.map(%r#0) maps [[0, 1]] : (tensor<?x8xf32, #b>) -> tensor<?x8xbf16, #b> {
    ^bb0(%e: f32):
      %t = arith.truncf %e : f32 to bf16
      xf.yield %t : bf16
    }
    %y = xf.linear %narrow, %w : tensor<?x8xbf16, #b>, tensor<8x8xbf16> -> tensor<?x8xf32, #b>
    %z = xf.map(%r#0) maps [[0, 1]] : (tensor<?x8xf32, #b>) -> tensor<?x8xbf16, #b> {
    ^bb0(%e: f32):
      %s = arith.mulf %e, %e : f32
      %t = arith.truncf %s : f32 to bf16
      xf.yield %t : bf16
    }
    xf.return %y, %z, %r#1 : tensor<?x8xf32, #b>, tensor<?x8xbf16, #b>, tensor<?x1xf32, #b>
  }

  // A product ends the layer, which has no row kernel to join.
  // CHECK-LABEL: xf.entry full @product_last
  // CHECK: xf.repeat 3(%{{[^,]*}}) :
  xf.entry full @product_last(%x: tensor<?x8xf32, #b> {xf.name = "x"}) -> (tensor<?x8xf32, #b> {xf.name = "y"}) {
    %w0 = xf.param @w : tensor<8x8xf32>
    %r = xf.repeat 3(%x) : (tensor<?x8xf32, #b>) -> tensor<?x8xf32, #b> {
    ^bb0(%layer: index, %h: tensor<?x8xf32, #b>):
      %m = xf.reduce max %h : tensor<?x8xf32, #b> -> tensor<?x1xf32, #b>
      %n = xf.map(%h, %m) maps [[0, 1], [0, -1]] : (tensor<?x8xf32, #b>, tensor<?x1xf32, #b>) -> tensor<?x8xf32, #b> {
      ^bb0(%e: f32, %s: f32):
        %t = arith.divf %e, %s : f32
        xf.yield %t : f32
      }
      %y = xf.linear %n, %w0 : tensor<?x8xf32, #b>, tensor<8x8xf32> -> tensor<?x8xf32, #b>
      xf.yield %y : tensor<?x8xf32, #b>
    }
    xf.return %r : tensor<?x8xf32, #b>
  }
}
