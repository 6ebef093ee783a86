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

// -----

#q = #xf.dims<"B", "", "T", "">
!q = tensor<?x2x?x4xf32, #q>
// A bias whose parts are added to themselves: each is looked at once.
// CHECK-LABEL: @shared
// CHECK: xf.attend {{.*}} mask {
xf.entry @shared(%x: !q {xf.name = "x"}) -> (!q {xf.name = "y"}) {
  %y = xf.attend %x, %x, %x scale 0.5 fill 0xFFF0000000000000 bias {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %j32 = arith.index_cast %j : index to i32
    %f0 = arith.sitofp %j32 : i32 to f32
    %f1 = arith.addf %f0, %f0 : f32
    %f2 = arith.addf %f1, %f1 : f32
    %f3 = arith.addf %f2, %f2 : f32
    %f4 = arith.addf %f3, %f3 : f32
    %f5 = arith.addf %f4, %f4 : f32
    %f6 = arith.addf %f5, %f5 : f32
    %f7 = arith.addf %f6, %f6 : f32
    %f8 = arith.addf %f7, %f7 : f32
    %f9 = arith.addf %f8, %f8 : f32
    %f10 = arith.addf %f9, %f9 : f32
    %f11 = arith.addf %f10, %f10 : f32
    %f12 = arith.addf %f11, %f11 : f32
    %f13 = arith.addf %f12, %f12 : f32
    %f14 = arith.addf %f13, %f13 : f32
    %f15 = arith.addf %f14, %f14 : f32
    %f16 = arith.addf %f15, %f15 : f32
    %f17 = arith.addf %f16, %f16 : f32
    %f18 = arith.addf %f17, %f17 : f32
    %f19 = arith.addf %f18, %f18 : f32
    %f20 = arith.addf %f19, %f19 : f32
    %f21 = arith.addf %f20, %f20 : f32
    %f22 = arith.addf %f21, %f21 : f32
    %f23 = arith.addf %f22, %f22 : f32
    %f24 = arith.addf %f23, %f23 : f32
    %f25 = arith.addf %f24, %f24 : f32
    %f26 = arith.addf %f25, %f25 : f32
    %f27 = arith.addf %f26, %f26 : f32
    %f28 = arith.addf %f27, %f27 : f32
    %f29 = arith.addf %f28, %f28 : f32
    %f30 = arith.addf %f29, %f29 : f32
    %f31 = arith.addf %f30, %f30 : f32
    %f32 = arith.addf %f31, %f31 : f32
    %zero = arith.constant 0.0 : f32
    %hidden = arith.constant 0xFF800000 : f32
    %ahead = arith.cmpi sgt, %j, %i : index
    %hide = arith.select %ahead, %hidden, %zero : f32
    %sum = arith.addf %f32, %hide : f32
    xf.yield %sum : f32
  } : !q, !q, !q -> (!q)
  xf.return %y : !q
}
