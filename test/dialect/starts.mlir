// Where scans start is any number, and survives as text.
// RUN: xf-opt %s | xf-opt | FileCheck %s
// CHECK: xf.scan(%{{.*}}) axis 0 init [0xFFF0000000000000, 0.33333333333333331, 0.000000e+00] :
module {
  xf.entry full @run(%x: tensor<4xf32> {xf.name = "x"}) -> (tensor<4xf32> {xf.name = "y"}) {
    %y = xf.scan(%x) axis 0 init [0xFFF0000000000000, 0.33333333333333331, 0.0] : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: f32, %b: f32, %c: f32, %e: f32):
      %m = arith.maximumf %a, %e : f32
      xf.yield %m, %b, %c, %m : f32, f32, f32, f32
    }
    xf.return %y : tensor<4xf32>
  }
}
