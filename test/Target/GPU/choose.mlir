// RUN: xfc %s --emit=ptx -o - | FileCheck %s

// The choice of tokens: in each tile rows of a warp find their candidates side by side, each by one comparison and one ballot of the lanes.
#b = #xf.dims<"B", "">
#bn = #xf.dims<"B", "N", "">
module attributes {xf.phase = "kernel", xf.bounds = {B = 512 : i64, N = 1 : i64, C = 3 : i64}} {
  xf.parameter @w : tensor<300x32xf32> path "w"
  xf.weight @packed : tensor<300x32xf32> layers 1 layout panels {
  ^bb0(%layer: index):
    %w = xf.param @w : tensor<300x32xf32>
    xf.yield %w : tensor<300x32xf32>
  }
  xf.entry @run(%x: tensor<?x?x32xf32, #bn> {xf.name = "x"}, %f: tensor<?x12xi32, #xf.dims<"C", "">> {xf.name = "f"},
                %c: tensor<?xi32, #xf.dims<"B">> {xf.name = "c"}, %o: tensor<2xi32> {xf.name = "o"})
      -> (tensor<?x4xf32, #b> {xf.name = "v"}, tensor<?x4xi32, #b> {xf.name = "t"}, tensor<?x2xf32, #b> {xf.name = "m"}) {
    %w = xf.param @packed : tensor<300x32xf32>
    %v, %t, %m, %p = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras() maps [] : tensor<?x?x32xf32, #bn>, tensor<300x32xf32>,
        tensor<?x12xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32>
        -> tensor<?x4xf32, #b>, tensor<?x4xi32, #b>, tensor<?x2xf32, #b>, tensor<?x288xf32, #b> {
    ^bb0(%acc: f32):
      xf.yield %acc : f32
    }
    xf.return %v, %t, %m : tensor<?x4xf32, #b>, tensor<?x4xi32, #b>, tensor<?x2xf32, #b>
  }
}

// CHECK: .visible .entry k0_choose_few(
// CHECK: redux.sync.max.s32
// CHECK-NOT: redux.sync
// CHECK: .visible .entry k0_choose_some(
// CHECK-COUNT-4: redux.sync.max.s32
// CHECK-NOT: redux.sync
// CHECK: .visible .entry k0_choose_many(
// CHECK: .maxntid 128
// CHECK: bar.sync
// Forbidden columns: a word for each of 32 rows.
// CHECK-COUNT-32: shfl.sync.idx.b32
// CHECK: redux.sync.max.s32
// CHECK: setp.eq.b32
// CHECK-NEXT: vote.sync.ballot.b32
// CHECK: st.shared.b8
// CHECK-COUNT-3: redux.sync.max.s32
// CHECK-NOT: redux.sync

// Four warps take lists, a fifth one the norms.
// CHECK: .visible .entry k0_choose_merge(
// CHECK: .maxntid 160
// CHECK: redux.sync.max.s32
// CHECK: vote.sync.ballot.b32
