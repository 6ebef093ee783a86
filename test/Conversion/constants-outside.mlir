// Kernels that differ in constants only are different ones, wherever the constants stand.
// RUN: xfc %s --emit=llvm -o - | FileCheck %s
// CHECK-NOT: @k2_row
// CHECK: @k0_row
// CHECK: @k1_row
// CHECK-NOT: @k2_row
#bd = #xf.dims<"B", "">
module attributes {xf.bounds = {B = 8 : i64}, xf.name = "m", xf.phase = "kernel"} {
  xf.entry @run(%x: tensor<?x64xf32, #bd> {xf.name = "x"})
      -> (tensor<?x64xf32, #bd> {xf.name = "a"}, tensor<?x64xf32, #bd> {xf.name = "b"}, tensor<?x64xf32, #bd> {xf.name = "c"}) {
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2.0 : f32
    %a = xf.row(%x) maps [[0, 1]] : (tensor<?x64xf32, #bd>) -> tensor<?x64xf32, #bd> {
    ^bb0(%r: tensor<64xf32>):
      %y = xf.map(%r) maps [[0]] : (tensor<64xf32>) -> tensor<64xf32> {
      ^bb0(%e: f32):
        %s = arith.addf %e, %one : f32
        xf.yield %s : f32
      }
      xf.yield %y : tensor<64xf32>
    }
    %b = xf.row(%x) maps [[0, 1]] : (tensor<?x64xf32, #bd>) -> tensor<?x64xf32, #bd> {
    ^bb0(%r: tensor<64xf32>):
      %y = xf.map(%r) maps [[0]] : (tensor<64xf32>) -> tensor<64xf32> {
      ^bb0(%e: f32):
        %s = arith.addf %e, %two : f32
        xf.yield %s : f32
      }
      xf.yield %y : tensor<64xf32>
    }
    %c = xf.row(%a) maps [[0, 1]] : (tensor<?x64xf32, #bd>) -> tensor<?x64xf32, #bd> {
    ^bb0(%r: tensor<64xf32>):
      %y = xf.map(%r) maps [[0]] : (tensor<64xf32>) -> tensor<64xf32> {
      ^bb0(%e: f32):
        %s = arith.addf %e, %one : f32
        xf.yield %s : f32
      }
      xf.yield %y : tensor<64xf32>
    }
    xf.return %a, %b, %c : tensor<?x64xf32, #bd>, tensor<?x64xf32, #bd>, tensor<?x64xf32, #bd>
  }
}
