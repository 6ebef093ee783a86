// RUN: xf-opt %s -split-input-file -xf-ragged-source | FileCheck %s

// A mask of the source's tokens hides padding from attention: sentences are stored at their own length.
#b = #xf.dims<"B">
#bs = #xf.dims<"B", "S">
#bhs = #xf.dims<"B", "", "S", "">
#bhn = #xf.dims<"B", "", "N", "">

// CHECK-LABEL: module attributes
// CHECK-SAME: ragged_source
module attributes {xf.generate = {begin = @begin, step = @step, batch = "B", source = "S", pad = 7 : i64}} {
  xf.state @keys : tensor<?x2x?x4xf32, #bhs> layers 1 sentences
  xf.state @allowed : tensor<?x?xi1, #bs> layers 1 sentences
  xf.entry begin @begin(%memory: tensor<?x2x?x4xf32, #bhs> {xf.name = "memory"}, %src: tensor<?x?xi32, #bs> {xf.name = "src"},
                        %slots: tensor<?xi32, #b> {xf.name = "xf.slots"}) {
    %c0 = arith.constant 0 : index
    %pad = arith.constant 7 : i32
    %allowed = xf.map(%src) maps [[0, 1]] : (tensor<?x?xi32, #bs>) -> tensor<?x?xi1, #bs> {
    ^bb0(%t: i32):
      %ok = arith.cmpi ne, %pad, %t : i32
      xf.yield %ok : i1
    }
    // CHECK: xf.store %{{.*}} to @allowed[%{{.*}}] slots %{{.*}} padding false :
    xf.store %allowed to @allowed[%c0] slots %slots : tensor<?x?xi1, #bs>, tensor<?xi32, #b>
    // CHECK: xf.store %{{.*}} to @keys[%{{.*}}] slots %{{[a-z0-9]+}} :
    xf.store %memory to @keys[%c0] slots %slots : tensor<?x2x?x4xf32, #bhs>, tensor<?xi32, #b>
    xf.return
  }
  xf.entry step @step(%q: tensor<?x2x?x4xf32, #bhn> {xf.name = "q"}, %slots: tensor<?xi32, #b> {xf.name = "xf.slots"}) -> (tensor<?x2x?x4xf32, #bhn> {xf.name = "y"}) {
    %c0 = arith.constant 0 : index
    %keys = xf.load @keys[%c0] slots %slots : tensor<?xi32, #b> -> tensor<?x2x?x4xf32, #bhs>
    %allowed = xf.load @allowed[%c0] slots %slots : tensor<?xi32, #b> -> tensor<?x?xi1, #bs>
    %y = xf.attend %q, %keys, %keys scale 0.5 fill 0xFFF0000000000000 mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %ok = xf.at %allowed[%b, %j] : tensor<?x?xi1, #bs>
      xf.yield %ok : i1
    } : tensor<?x2x?x4xf32, #bhn>, tensor<?x2x?x4xf32, #bhs>, tensor<?x2x?x4xf32, #bhs> -> (tensor<?x2x?x4xf32, #bhn>)
    xf.return %y : tensor<?x2x?x4xf32, #bhn>
  }
}

// -----

// Without a mask, attention reads what padding would have left behind.
#b = #xf.dims<"B">
#bhs = #xf.dims<"B", "", "S", "">
#bhn = #xf.dims<"B", "", "N", "">

// CHECK-LABEL: module attributes
// CHECK-NOT: ragged_source
module attributes {xf.generate = {begin = @begin, step = @step, batch = "B", source = "S", pad = 0 : i64}} {
  xf.state @keys : tensor<?x2x?x4xf32, #bhs> layers 1 sentences
  xf.entry begin @begin(%memory: tensor<?x2x?x4xf32, #bhs> {xf.name = "memory"}, %slots: tensor<?xi32, #b> {xf.name = "xf.slots"}) {
    %c0 = arith.constant 0 : index
    xf.store %memory to @keys[%c0] slots %slots : tensor<?x2x?x4xf32, #bhs>, tensor<?xi32, #b>
    xf.return
  }
  xf.entry step @step(%q: tensor<?x2x?x4xf32, #bhn> {xf.name = "q"}, %slots: tensor<?xi32, #b> {xf.name = "xf.slots"}) -> (tensor<?x2x?x4xf32, #bhn> {xf.name = "y"}) {
    %c0 = arith.constant 0 : index
    %keys = xf.load @keys[%c0] slots %slots : tensor<?xi32, #b> -> tensor<?x2x?x4xf32, #bhs>
    %y = xf.attend %q, %keys, %keys scale 0.5 fill 0xFFF0000000000000 : tensor<?x2x?x4xf32, #bhn>, tensor<?x2x?x4xf32, #bhs>, tensor<?x2x?x4xf32, #bhs> -> (tensor<?x2x?x4xf32, #bhn>)
    xf.return %y : tensor<?x2x?x4xf32, #bhn>
  }
}
