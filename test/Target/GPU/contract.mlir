// RUN: xfc %s --emit=ptx -o - | FileCheck %s
// RUN: xfc %s --emit=ptx -o - | FileCheck %s --check-prefix=CLOSED

// Fused multiply-adds, operands copied to shared memory and read four elements at a time, and the epilogue in place.
module attributes {xf.phase = "kernel", xf.bounds = {B = 512 : i64}} {
  xf.parameter @w : tensor<64x32xf32> path "w"
  xf.weight @packed : tensor<64x32xf32> layers 1 layout panels {
  ^bb0(%layer: index):
    %w = xf.param @w : tensor<64x32xf32>
    xf.yield %w : tensor<64x32xf32>
  }
  xf.entry @run(%x: tensor<?x32xf32, #xf.dims<"B", "">> {xf.name = "x"}) -> (tensor<?x64xf32, #xf.dims<"B", "">> {xf.name = "y"}) {
    %w = xf.param @packed : tensor<64x32xf32>
    %y = xf.contract %x, %w extras() maps [] : tensor<?x32xf32, #xf.dims<"B", "">>, tensor<64x32xf32> -> tensor<?x64xf32, #xf.dims<"B", "">> {
    ^bb0(%acc: f32):
      %half = arith.constant 0.5 : f32
      %s = arith.mulf %acc, %half : f32
      xf.yield %s : f32
    }
    xf.return %y : tensor<?x64xf32, #xf.dims<"B", "">>
  }
}

// CHECK: .version 7.0
// CHECK: .target sm_80
// CHECK: .visible .entry k0_contract_few(
// CHECK: .maxntid 64
// CHECK: bar.sync
// CHECK: ld.shared.v4
// CHECK: fma.rn.f32
// CHECK: mul.rn.f32 {{.*}}, 0f3F000000
// CHECK: .visible .entry k0_contract_many_32x32(
// CHECK: .maxntid 128
// CHECK: cp.async.cg.shared.global
// CHECK: ld.shared.v4
// CHECK-COUNT-256: fma.rn.f32
// CHECK: st.shared.v4
// CHECK: st.global

// No library and no approximation.
// CLOSED-NOT: .extern
// CLOSED-NOT: call
// CLOSED-NOT: .approx
// CLOSED-NOT: .ftz
// CLOSED-NOT: .local
