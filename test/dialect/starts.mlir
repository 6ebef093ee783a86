// Where scans start is any number, at the first position or the last, and survives as text.
// RUN: xf-opt %s | xf-opt | FileCheck %s
// CHECK: xf.scan(%{{.*}}) axis 0 init [0xFFF0000000000000, 0.33333333333333331, 0.000000e+00] :
// CHECK: xf.scan(%{{.*}}) axis 0 reverse init [1.000000e+00] :
module {
  xf.entry full @run(%x: tensor<4xf32> {xf.name = "x"}) -> (tensor<4xf32> {xf.name = "y"}) {
    %y = xf.scan(%x) axis 0 init [0xFFF0000000000000, 0.33333333333333331, 0.0] : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: f32, %b: f32, %c: f32, %e: f32):
      %m = arith.maximumf %a, %e : f32
      xf.yield %m, %b, %c, %m : f32, f32, f32, f32
    }
    %z = xf.scan(%y) axis 0 reverse init [1.0] : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: f32, %b: f32):
      xf.yield %b, %a : f32, f32
    }
    xf.return %z : tensor<4xf32>
  }
}
