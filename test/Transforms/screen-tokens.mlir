// RUN: xf-opt %s -split-input-file -xf-screen-tokens=least-columns=16 | FileCheck %s
// RUN: xf-opt %s -split-input-file -xf-screen-tokens | FileCheck %s --check-prefix=SMALL
// SMALL-NOT: screen

// The weight's bytes and words in panels, and what bounds the logits, are weights of their own; `parts` has room for the bounds.
#bnd = #xf.dims<"B", "N", "">
#bd = #xf.dims<"B", "">
// CHECK-LABEL: module @first
// CHECK: xf.weight @w : tensor<200x8xf32> layers 1 layout panels
// CHECK: xf.weight @w.bytes : tensor<200x8xi8> layers 1 layout panels
// CHECK: xf.weight @w.scales : tensor<200xf32> layers 1
// CHECK: xf.weight @w.sums : tensor<200xi32> layers 1
// CHECK: xf.weight @w.lengths : tensor<200xf32> layers 1
// CHECK: xf.weight @w.errors : tensor<200xf32> layers 1
// CHECK: xf.weight @w.mean : tensor<8xf32> layers 1
// CHECK: xf.weight @w.words : tensor<200x8xi16> layers 1 layout panels
// CHECK: xf.weight @w.word_scales : tensor<200xf32> layers 1
// CHECK: xf.weight @w.word_lengths : tensor<200xf32> layers 1
// CHECK: xf.weight @w.word_errors : tensor<200xf32> layers 1
// CHECK: xf.weight @w.word_mean : tensor<8xf32> layers 1
module @first {
  xf.parameter @p : tensor<200x8xf32> path "p"
  xf.weight @w : tensor<200x8xf32> layers 1 layout panels {
  ^bb0(%layer: index):
    %p = xf.param @p : tensor<200x8xf32>
    xf.yield %p : tensor<200x8xf32>
  }
  // CHECK: xf.entry full @run
  xf.entry @run(%x: tensor<?x?x8xf32, #bnd> {xf.name = "x"}, %f: tensor<?x8xi32, #xf.dims<"C", "">> {xf.name = "f"}, %c: tensor<?xi32, #xf.dims<"B">> {xf.name = "c"}, %o: tensor<2xi32> {xf.name = "o"}, %b: tensor<200xf32> {xf.name = "b"}) {
    %w = xf.param @w : tensor<200x8xf32>
    // CHECK: %[[Q:.*]] = xf.param @w.bytes
    // CHECK: %[[S:.*]] = xf.param @w.scales
    // CHECK: %[[U:.*]] = xf.param @w.sums
    // CHECK: %[[L:.*]] = xf.param @w.lengths
    // CHECK: %[[E:.*]] = xf.param @w.errors
    // CHECK: %[[M:.*]] = xf.param @w.mean
    // CHECK: %[[W:.*]] = xf.param @w.words
    // CHECK: xf.choose {{.*}} screen(%[[Q]], %[[S]], %[[U]], %[[L]], %[[E]], %[[M]]) words(%[[W]], {{.*}} tensor<?x224xf32
    %v, %t, %m, %q = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras(%b) maps [[2]] : tensor<?x?x8xf32, #bnd>, tensor<200x8xf32>, tensor<?x8xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> extras(tensor<200xf32>) -> tensor<?x2xf32, #bd>, tensor<?x2xi32, #bd>, tensor<?x2xf32, #bd>, tensor<?x160xf32, #bd> {
    ^bb0(%acc: f32, %bias: f32):
      %two = arith.constant 2.0 : f32
      %y = arith.mulf %two, %acc : f32
      %z = arith.divf %y, %two : f32
      %s = arith.addf %bias, %z : f32
      %d = arith.subf %s, %bias : f32
      xf.yield %d : f32
    }
    xf.return
  }
}

// -----

// Logits that may fall when their product rises have no upper bound from its own: a factor that is negative or not known, a
// difference, a function that is not monotone or to which something is added, two uses.
#bnd = #xf.dims<"B", "N", "">
#bd = #xf.dims<"B", "">
// CHECK-LABEL: module @second
// CHECK-NOT: screen
module @second {
  xf.parameter @p : tensor<200x8xf32> path "p"
  xf.weight @w : tensor<200x8xf32> layers 1 layout panels {
  ^bb0(%layer: index):
    %p = xf.param @p : tensor<200x8xf32>
    xf.yield %p : tensor<200x8xf32>
  }
  xf.entry @run(%x: tensor<?x?x8xf32, #bnd> {xf.name = "x"}, %f: tensor<?x8xi32, #xf.dims<"C", "">> {xf.name = "f"}, %c: tensor<?xi32, #xf.dims<"B">> {xf.name = "c"}, %o: tensor<2xi32> {xf.name = "o"}, %b: tensor<200xf32> {xf.name = "b"}) {
    %w = xf.param @w : tensor<200x8xf32>
    %v0, %t0, %m0, %q0 = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras() maps [] : tensor<?x?x8xf32, #bnd>, tensor<200x8xf32>, tensor<?x8xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> -> tensor<?x2xf32, #bd>, tensor<?x2xi32, #bd>, tensor<?x2xf32, #bd>, tensor<?x160xf32, #bd> {
    ^bb0(%acc: f32):
      %factor = arith.constant -1.0 : f32
      %y = arith.mulf %acc, %factor : f32
      xf.yield %y : f32
    }
    %v1, %t1, %m1, %q1 = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras(%b) maps [[2]] : tensor<?x?x8xf32, #bnd>, tensor<200x8xf32>, tensor<?x8xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> extras(tensor<200xf32>) -> tensor<?x2xf32, #bd>, tensor<?x2xi32, #bd>, tensor<?x2xf32, #bd>, tensor<?x160xf32, #bd> {
    ^bb0(%acc: f32, %factor: f32):
      %y = arith.mulf %acc, %factor : f32
      xf.yield %y : f32
    }
    %v2, %t2, %m2, %q2 = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras(%b) maps [[2]] : tensor<?x?x8xf32, #bnd>, tensor<200x8xf32>, tensor<?x8xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> extras(tensor<200xf32>) -> tensor<?x2xf32, #bd>, tensor<?x2xi32, #bd>, tensor<?x2xf32, #bd>, tensor<?x160xf32, #bd> {
    ^bb0(%acc: f32, %bias: f32):
      %y = arith.subf %bias, %acc : f32
      xf.yield %y : f32
    }
    %v3, %t3, %m3, %q3 = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras() maps [] : tensor<?x?x8xf32, #bnd>, tensor<200x8xf32>, tensor<?x8xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> -> tensor<?x2xf32, #bd>, tensor<?x2xi32, #bd>, tensor<?x2xf32, #bd>, tensor<?x160xf32, #bd> {
    ^bb0(%acc: f32):
      %y = math.cos %acc : f32
      xf.yield %y : f32
    }
    %v5, %t5, %m5, %q5 = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras(%b) maps [[2]] : tensor<?x?x8xf32, #bnd>, tensor<200x8xf32>, tensor<?x8xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> extras(tensor<200xf32>) -> tensor<?x2xf32, #bd>, tensor<?x2xi32, #bd>, tensor<?x2xf32, #bd>, tensor<?x160xf32, #bd> {
    ^bb0(%acc: f32, %bias: f32):
      %t = math.tanh %acc : f32
      %y = arith.addf %t, %bias : f32
      xf.yield %y : f32
    }
    %v4, %t4, %m4, %q4 = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras() maps [] : tensor<?x?x8xf32, #bnd>, tensor<200x8xf32>, tensor<?x8xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> -> tensor<?x2xf32, #bd>, tensor<?x2xi32, #bd>, tensor<?x2xf32, #bd>, tensor<?x160xf32, #bd> {
    ^bb0(%acc: f32):
      %y = arith.mulf %acc, %acc : f32
      xf.yield %y : f32
    }
    xf.return
  }
}

// -----

// A cap is monotone but for its rounding, of which the kernel knows.
#bnd = #xf.dims<"B", "N", "">
#bd = #xf.dims<"B", "">
// CHECK-LABEL: module @capped
module @capped {
  xf.parameter @p : tensor<200x8xf32> path "p"
  xf.weight @w : tensor<200x8xf32> layers 1 layout panels {
  ^bb0(%layer: index):
    %p = xf.param @p : tensor<200x8xf32>
    xf.yield %p : tensor<200x8xf32>
  }
  xf.entry @run(%x: tensor<?x?x8xf32, #bnd> {xf.name = "x"}, %f: tensor<?x8xi32, #xf.dims<"C", "">> {xf.name = "f"}, %c: tensor<?xi32, #xf.dims<"B">> {xf.name = "c"}, %o: tensor<2xi32> {xf.name = "o"}, %b: tensor<200xf32> {xf.name = "b"}) {
    %w = xf.param @w : tensor<200x8xf32>
    // CHECK: xf.choose {{.*}} screen({{.*}} words(
    %v, %t, %m, %q = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras(%b) maps [[2]] : tensor<?x?x8xf32, #bnd>, tensor<200x8xf32>, tensor<?x8xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> extras(tensor<200xf32>) -> tensor<?x2xf32, #bd>, tensor<?x2xi32, #bd>, tensor<?x2xf32, #bd>, tensor<?x160xf32, #bd> {
    ^bb0(%acc: f32, %bias: f32):
      %cap = arith.constant 30.0 : f32
      %s = arith.addf %acc, %bias : f32
      %d = arith.divf %s, %cap : f32
      %h = math.tanh %d : f32
      %y = arith.mulf %h, %cap : f32
      xf.yield %y : f32
    }
    xf.return
  }
}

// -----

// Beside bf16 bytes are good enough for sums, too.
#bnd = #xf.dims<"B", "N", "">
#bd = #xf.dims<"B", "">
// CHECK-LABEL: module @third
// CHECK: xf.weight @w.bytes
// CHECK-NOT: words
module @third {
  xf.parameter @p : tensor<200x8xf32> path "p"
  xf.weight @w : tensor<200x8xbf16> layers 1 layout panels {
  ^bb0(%layer: index):
    %p = xf.param @p : tensor<200x8xf32>
    %q = xf.quantize %p : tensor<200x8xf32> -> tensor<200x8xbf16>
    xf.yield %q : tensor<200x8xbf16>
  }
  xf.entry @run(%x: tensor<?x?x8xbf16, #bnd> {xf.name = "x"}, %f: tensor<?x8xi32, #xf.dims<"C", "">> {xf.name = "f"}, %c: tensor<?xi32, #xf.dims<"B">> {xf.name = "c"}, %o: tensor<2xi32> {xf.name = "o"}) {
    %w = xf.param @w : tensor<200x8xbf16>
    // CHECK: xf.choose {{.*}} screen(
    %v, %t, %m, %q = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras() maps [] : tensor<?x?x8xbf16, #bnd>, tensor<200x8xbf16>, tensor<?x8xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> -> tensor<?x2xf32, #bd>, tensor<?x2xi32, #bd>, tensor<?x2xf32, #bd>, tensor<?x160xf32, #bd> {
    ^bb0(%acc: f32):
      xf.yield %acc : f32
    }
    xf.return
  }
}
