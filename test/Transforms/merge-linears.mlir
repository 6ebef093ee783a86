// Linears that read the same tensor are one product, in whatever type their factors are, zeros the bias of those that have none; those whose
// result a map alone reads stay apart.
// RUN: xf-opt %s -xf-merge-linears | FileCheck %s
// RUN: xf-opt %s -xf-merge-linears -xf-merge-linears | FileCheck %s
// RUN: xf-opt %s --pass-pipeline='builtin.module(xf-quantize-linears{type=bf16},xf-merge-linears)' | FileCheck %s --check-prefix=BF16
#b = #xf.dims<"B", "">
module attributes {xf.bounds = {B = 4 : i64}} {
  xf.parameter @q : tensor<4x8xf32> path "q"
  xf.parameter @k : tensor<12x8xf32> path "k"
  xf.parameter @v : tensor<4x8xf32> path "v"
  xf.parameter @bias : tensor<4xf32> path "bias"
  // CHECK-LABEL: xf.entry full @run
  // BF16-LABEL: xf.entry full @run
  xf.entry full @run(%x: tensor<?x8xf32, #b> {xf.name = "x"})
      -> (tensor<?x4xf32, #b> {xf.name = "a"}, tensor<?x12xf32, #b> {xf.name = "b"}, tensor<?x4xf32, #b> {xf.name = "c"}, tensor<?x4xf32, #b> {xf.name = "d"}) {
    %q = xf.param @q : tensor<4x8xf32>
    %k = xf.param @k : tensor<12x8xf32>
    %v = xf.param @v : tensor<4x8xf32>
    %bias = xf.param @bias : tensor<4xf32>
    // CHECK: %[[ZEROS:.*]] = xf.map() maps [] : () -> tensor<4xf32>
    // CHECK: %[[ZEROS_B:.*]] = xf.map() maps [] : () -> tensor<12xf32>
    // CHECK: %[[BIAS:.*]] = xf.param @bias
    // CHECK: %[[BIASES:.*]] = xf.concat(%[[ZEROS]], %[[ZEROS_B]], %[[BIAS]]) axis 0
    // CHECK: %[[ALL:.*]] = xf.linear %{{.*}}, %{{.*}}, %[[BIASES]] : tensor<?x8xf32, #{{.*}}>, tensor<20x8xf32>, tensor<20xf32> -> tensor<?x20xf32
    // CHECK-DAG: %[[A:.*]] = xf.slice %[[ALL]] axis 1 start 0 : {{.*}} -> tensor<?x4xf32
    // CHECK-DAG: %[[B:.*]] = xf.slice %[[ALL]] axis 1 start 4 : {{.*}} -> tensor<?x12xf32
    // CHECK-DAG: %[[C:.*]] = xf.slice %[[ALL]] axis 1 start 16 : {{.*}} -> tensor<?x4xf32
    // CHECK-DAG: xf.linear {{.*}} tensor<4x8xf32> -> tensor<?x4xf32
    // CHECK: xf.map
    // CHECK: xf.return %[[A]], %[[B]], %[[C]]
    // BF16: xf.linear %{{.*}}, %{{.*}} : tensor<?x8xbf16, #{{.*}}>, tensor<20x8xbf16>, tensor<20xf32> -> tensor<?x20xf32
    %a = xf.linear %x, %q : tensor<?x8xf32, #b>, tensor<4x8xf32> -> tensor<?x4xf32, #b>
    %b = xf.linear %x, %k : tensor<?x8xf32, #b>, tensor<12x8xf32> -> tensor<?x12xf32, #b>
    %c = xf.linear %x, %q, %bias : tensor<?x8xf32, #b>, tensor<4x8xf32>, tensor<4xf32> -> tensor<?x4xf32, #b>
    %e = xf.linear %x, %v : tensor<?x8xf32, #b>, tensor<4x8xf32> -> tensor<?x4xf32, #b>
    %d = xf.map(%e) maps [[0, 1]] : (tensor<?x4xf32, #b>) -> tensor<?x4xf32, #b> {
    ^bb0(%y: f32):
      %z = math.tanh %y : f32
      xf.yield %z : f32
    }
    xf.return %a, %b, %c, %d : tensor<?x4xf32, #b>, tensor<?x12xf32, #b>, tensor<?x4xf32, #b>, tensor<?x4xf32, #b>
  }
}
