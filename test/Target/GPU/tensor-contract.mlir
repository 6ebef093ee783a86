// RUN: xfc %s --target cuda --emit=ptx -o - | FileCheck %s
// RUN: xfc %s --target cuda --emit=ptx -o - | FileCheck %s --check-prefix=CLOSED
// RUN: not xfc %s --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=CPU

// Few rows: weights read two words at a time straight into products. Some rows: a warp's chain of weights in registers, rows of x as matrices from
// asynchronous copies. Many rows: copies of both into a ring, one barrier a part between the products of its two steps; rows that cannot be
// copied come first. Results of 16 bits are rounded in the epilogue.
module attributes {xf.phase = "kernel", xf.bounds = {B = 512 : i64}} {
  xf.parameter @w : tensor<64x256xf32> path "w"
  xf.weight @packed : tensor<64x256xf16> layers 1 layout panels {
  ^bb0(%layer: index):
    %w = xf.param @w : tensor<64x256xf32>
    %q = xf.quantize %w : tensor<64x256xf32> -> tensor<64x256xf16>
    xf.yield %q : tensor<64x256xf16>
  }
  xf.entry @run(%x: tensor<?x256xf32, #xf.dims<"B", "">> {xf.name = "x"}) -> (tensor<?x64xf32, #xf.dims<"B", "">> {xf.name = "y"}) {
    %h = xf.row(%x) maps [[0, 1]] : (tensor<?x256xf32, #xf.dims<"B", "">>) -> (tensor<?x256xf16, #xf.dims<"B", "">>) {
    ^bb0(%row: tensor<256xf32>):
      %n = xf.map(%row) maps [[0]] : (tensor<256xf32>) -> tensor<256xf16> {
      ^bb0(%u: f32):
        %v = arith.truncf %u : f32 to f16
        xf.yield %v : f16
      }
      xf.yield %n : tensor<256xf16>
    }
    %w = xf.param @packed : tensor<64x256xf16>
    %y = xf.contract %h, %w extras() maps [] : tensor<?x256xf16, #xf.dims<"B", "">>, tensor<64x256xf16> -> tensor<?x64xf32, #xf.dims<"B", "">> {
    ^bb0(%acc: f32):
      xf.yield %acc : f32
    }
    xf.return %y : tensor<?x64xf32, #xf.dims<"B", "">>
  }
}

// CHECK: .version 7.0
// CHECK: .target sm_80
// CHECK: .visible .entry k0_row(
// CHECK: cvt.rn.f16.f32
// CHECK: .visible .entry k1_contract_few(
// CHECK: .maxntid 64
// CHECK-NOT: bar.sync
// CHECK-COUNT-16: ld.global.v2.b32
// CHECK-NOT: bar.sync
// CHECK-COUNT-8: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK-NOT: bar.sync
// CHECK: st.shared.v2.b32
// CHECK: bar.sync
// CHECK-NOT: bar.sync
// CHECK: .visible .entry k1_contract_some(
// CHECK: .maxntid 64
// CHECK-COUNT-32: ld.global.v2.b32
// CHECK: bar.warp.sync
// CHECK-COUNT-16: cp.async.cg.shared.global
// CHECK: cp.async.wait_group {{.*}}3
// CHECK: bar.sync
// CHECK-COUNT-4: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-COUNT-16: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK: cp.async.wait_group {{.*}}0
// CHECK: bar.sync
// CHECK-COUNT-16: mma.sync
// CHECK-COUNT-16: st.shared.v2.b32
// CHECK: bar.sync
// CHECK: st.global
// CHECK: .visible .entry k1_contract_many_64x64(
// CHECK: .maxntid 128
// CHECK-COUNT-6: cp.async.cg.shared.global
// CHECK: cp.async.wait_group {{.*}}0
// CHECK-COUNT-16: mma.sync
// CHECK: st.global
// CHECK-COUNT-3: cp.async.commit_group
// CHECK: cp.async.wait_group {{.*}}2
// CHECK: bar.sync
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-COUNT-8: mma.sync
// CHECK: cp.async.wait_group {{.*}}2
// CHECK: bar.sync
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-COUNT-8: mma.sync

// CLOSED-NOT: .extern
// CLOSED-NOT: call
// CLOSED-NOT: .local

// CPU: the CPU back end has no kernels for tensors of f16
// CPU-NOT: error:
