// RUN: xf-opt %s -split-input-file -xf-choose-tokens | FileCheck %s

// Logits that are a product: a second step entry ends in choosing, with room for 2 * 3 candidates, and for the classes of 4
// sentences.
#bn = #xf.dims<"B", "N">
#bnd = #xf.dims<"B", "N", "">
// CHECK-LABEL: module attributes
// CHECK-SAME: xf.bounds = {B = 12 : i64, C = 9 : i64, N = 10 : i64}
// CHECK-SAME: choose = @decode.choose
module attributes {xf.bounds = {B = 12 : i64, N = 10 : i64},
    xf.generate = {decode = @decode, step = @decode.step, tokens = "tgt", logits = "logits", batch = "B", target = "T", new = "N", beam = 3 : i64}} {
  xf.parameter @embed : tensor<200x8xf32> path "embed"
  xf.parameter @bias : tensor<200xf32> path "bias"
  // CHECK: xf.entry step @decode.step
  // CHECK: xf.contract
  xf.entry step @decode.step(%tgt: tensor<?x?xi32, #bn> {xf.name = "tgt"}, %past: tensor<?xi32, #xf.dims<"B">> {xf.name = "xf.past"})
      -> (tensor<?x?x200xf32, #bnd> {xf.name = "logits"}) {
    %w = xf.param @embed : tensor<200x8xf32>
    %b = xf.param @bias : tensor<200xf32>
    %x = xf.embed %w, %tgt : tensor<200x8xf32>, tensor<?x?xi32, #bn> -> tensor<?x?x8xf32, #bnd>
    %y = xf.contract %x, %w extras(%b) maps [[2]] : tensor<?x?x8xf32, #bnd>, tensor<200x8xf32> extras(tensor<200xf32>) -> tensor<?x?x200xf32, #bnd> {
    ^bb0(%acc: f32, %bias: f32):
      %s = arith.addf %acc, %bias : f32
      xf.yield %s : f32
    }
    xf.return %y : tensor<?x?x200xf32, #bnd>
  }
  // CHECK: xf.entry step @decode.choose(%[[TGT:.*]]: tensor<?x?xi32, {{.*}}> {xf.name = "tgt"}, %{{.*}} {xf.name = "xf.past"},
  // CHECK-SAME: %[[F:[^:]*]]: tensor<?x8xi32, {{.*}}> {xf.name = "xf.forbidden"}, %[[C:[^:]*]]: tensor<?xi32, {{.*}}> {xf.name = "xf.classes"},
  // CHECK-SAME: %[[O:[^:]*]]: tensor<2xi32> {xf.name = "xf.options"})
  // CHECK-SAME: tensor<?x6xf32, {{.*}}> {xf.name = "xf.values"}, tensor<?x6xi32, {{.*}}> {xf.name = "xf.tokens"}, tensor<?x2xf32, {{.*}}> {xf.name = "xf.norms"}
  // CHECK: %[[X:.*]] = xf.embed
  // CHECK-NOT: xf.contract
  // CHECK: %[[V:.*]], %[[T:.*]], %[[M:.*]], %{{.*}} = xf.choose %[[X]], %{{.*}} axis 1 forbidden %[[F]] by %[[C]] options %[[O]] extras(
  // CHECK: arith.addf
  // CHECK: xf.return %[[V]], %[[T]], %[[M]]
}

// -----

// Logits that are something else stay: the search reads them.
#bn = #xf.dims<"B", "N">
#bnd = #xf.dims<"B", "N", "">
// CHECK-LABEL: module attributes
// CHECK-NOT: choose
module attributes {xf.bounds = {B = 12 : i64, N = 10 : i64},
    xf.generate = {decode = @decode, step = @decode.step, tokens = "tgt", logits = "logits", batch = "B", target = "T", new = "N"}} {
  xf.parameter @embed : tensor<200x8xf32> path "embed"
  xf.entry step @decode.step(%tgt: tensor<?x?xi32, #bn> {xf.name = "tgt"}, %past: tensor<?xi32, #xf.dims<"B">> {xf.name = "xf.past"})
      -> (tensor<?x?x8xf32, #bnd> {xf.name = "logits"}) {
    %w = xf.param @embed : tensor<200x8xf32>
    %x = xf.embed %w, %tgt : tensor<200x8xf32>, tensor<?x?xi32, #bn> -> tensor<?x?x8xf32, #bnd>
    xf.return %x : tensor<?x?x8xf32, #bnd>
  }
}

// -----

// An entry that gives nothing is no step that a search could use.
// CHECK-LABEL: module attributes
// CHECK-NOT: choose
module attributes {xf.bounds = {B = 12 : i64, N = 10 : i64},
    xf.generate = {decode = @decode, step = @decode.begin, tokens = "tgt", logits = "logits", batch = "B", target = "T", new = "N"}} {
  xf.entry begin @decode.begin(%x: tensor<?x8xf32, #xf.dims<"B", "">> {xf.name = "x"}) -> () {
    xf.return
  }
}
