// RUN: xf-opt %s --canonicalize -split-input-file | FileCheck %s

#b = #xf.dims<"B", "">
// CHECK-LABEL: xf.entry full @views
// CHECK-SAME: (%[[X:.*]]: tensor<?x64xf32
// CHECK-NEXT: %[[A:.*]] = xf.slice %[[X]] axis 1 start 14 step 6
// CHECK-NEXT: %[[B:.*]] = xf.slice %[[X]] axis 1 start 4
// CHECK-NEXT: xf.return %[[A]], %[[B]], %[[X]]
xf.entry @views(%x: tensor<?x64xf32, #b> {xf.name = "x"})
    -> (tensor<?x4xf32, #b> {xf.name = "a"}, tensor<?x8xf32, #b> {xf.name = "b"}, tensor<?x64xf32, #b> {xf.name = "c"}) {
  // A slice of a slice.
  %s = xf.slice %x axis 1 start 2 step 3 : tensor<?x64xf32, #b> -> tensor<?x16xf32, #b>
  %a = xf.slice %s axis 1 start 4 step 2 : tensor<?x16xf32, #b> -> tensor<?x4xf32, #b>
  // A slice of a concatenation that lies in one input.
  %two = xf.concat(%x, %x) axis 1 : (tensor<?x64xf32, #b>, tensor<?x64xf32, #b>) -> tensor<?x128xf32, #b>
  %b = xf.slice %two axis 1 start 68 : tensor<?x128xf32, #b> -> tensor<?x8xf32, #b>
  // What changes nothing.
  %all = xf.slice %x axis 1 start 0 : tensor<?x64xf32, #b> -> tensor<?x64xf32, #b>
  %same = xf.rearrange %all "B d -> B d" {} : tensor<?x64xf32, #b> -> tensor<?x64xf32, #b>
  %one = xf.concat(%same) axis 1 : (tensor<?x64xf32, #b>) -> tensor<?x64xf32, #b>
  %c = xf.map(%one) maps [[0, 1]] : (tensor<?x64xf32, #b>) -> tensor<?x64xf32, #b> {
  ^bb0(%e: f32):
    xf.yield %e : f32
  }
  xf.return %a, %b, %c : tensor<?x4xf32, #b>, tensor<?x8xf32, #b>, tensor<?x64xf32, #b>
}

// -----

#b = #xf.dims<"">
// Equal sizes do not make a transposition nothing.
// CHECK-LABEL: @transposed
// CHECK: xf.rearrange
// CHECK: xf.map
xf.entry @transposed(%x: tensor<4x4xf32> {xf.name = "x"}) -> (tensor<4x4xf32> {xf.name = "y"}, tensor<4x4xf32> {xf.name = "z"}) {
  %y = xf.rearrange %x "a b -> b a" {} : tensor<4x4xf32> -> tensor<4x4xf32>
  %z = xf.map(%x) maps [[1, 0]] : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%e: f32):
    xf.yield %e : f32
  }
  xf.return %y, %z : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

#q = #xf.dims<"B", "", "T", "">
!q = tensor<?x2x?x4xf32, #q>
// Minus infinity in a bias is a mask; what else it adds stays.
// CHECK-LABEL: @biased
// CHECK: xf.attend {{.*}} fill 0xFFF0000000000000 mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[SEEN:.*]] = arith.cmpi sle, %[[J]], %[[I]]
// CHECK-NEXT: xf.yield %[[SEEN]]
// CHECK-NEXT: } :
xf.entry @biased(%x: !q {xf.name = "x"}) -> (!q {xf.name = "y"}) {
  %y = xf.attend %x, %x, %x scale 0.5 fill -1.0e9 bias {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %zero = arith.constant 0.0 : f32
    %hidden = arith.constant 0xFF800000 : f32
    %ahead = arith.cmpi sgt, %j, %i : index
    %v = arith.select %ahead, %hidden, %zero : f32
    xf.yield %v : f32
  } : !q, !q, !q -> (!q)
  xf.return %y : !q
}

// -----

#q = #xf.dims<"B", "", "T", "">
!q = tensor<?x2x?x4xf32, #q>
// A finite fill would bring back what the bias hides: both stay.
// CHECK-LABEL: @filled
// CHECK: fill -1.000000e+09 mask {
// CHECK-NOT: cmpi sle
// CHECK: bias {
// CHECK: arith.select
// CHECK-LABEL: @sloped
// CHECK: mask {
// CHECK: bias {
// CHECK-NOT: arith.select
// CHECK: arith.mulf
// CHECK-LABEL: @idle
// CHECK-NOT: mask
// CHECK-NOT: bias
// CHECK-NOT: score
xf.entry @filled(%x: !q {xf.name = "x"}) -> (!q {xf.name = "y"}) {
  %y = xf.attend %x, %x, %x scale 0.5 fill -1.0e9 mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %two = arith.constant 2 : index
    %ok = arith.cmpi ne, %j, %two : index
    xf.yield %ok : i1
  } bias {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %zero = arith.constant 0.0 : f32
    %hidden = arith.constant 0xFF800000 : f32
    %behind = arith.cmpi sge, %i, %j : index
    %v = arith.select %behind, %zero, %hidden : f32
    xf.yield %v : f32
  } : !q, !q, !q -> (!q)
  xf.return %y : !q
}
xf.entry @sloped(%x: !q {xf.name = "x"}) -> (!q {xf.name = "y"}) {
  %y = xf.attend %x, %x, %x scale 0.5 fill 0xFFF0000000000000 bias {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %zero = arith.constant 0.0 : f32
    %slope = arith.constant 0.25 : f32
    %hidden = arith.constant 0xFF800000 : f32
    %d = arith.subi %j, %i : index
    %n = arith.index_cast %d : index to i64
    %f = arith.sitofp %n : i64 to f32
    %s = arith.mulf %f, %slope : f32
    %ahead = arith.cmpi sgt, %j, %i : index
    %v = arith.select %ahead, %hidden, %zero : f32
    %w = arith.addf %s, %v : f32
    xf.yield %w : f32
  } : !q, !q, !q -> (!q)
  xf.return %y : !q
}
xf.entry @idle(%x: !q {xf.name = "x"}) -> (!q {xf.name = "y"}) {
  %y = xf.attend %x, %x, %x scale 0.5 fill 0xFFF0000000000000 mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %true = arith.constant true
    xf.yield %true : i1
  } bias {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %zero = arith.constant 0.0 : f32
    xf.yield %zero : f32
  } score {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %s: f32):
    xf.yield %s : f32
  } : !q, !q, !q -> (!q)
  xf.return %y : !q
}
