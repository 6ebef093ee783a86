// RUN: xf-opt %s -split-input-file -xf-pack-sentences | FileCheck %s
// RUN: xf-opt %s -split-input-file -xf-pack-sentences -xf-pack-sentences | FileCheck %s

// Products and rows take all tokens as one sentence, attention and stores are told where each is, and the mask is computed from
// padded tokens.
#bs = #xf.dims<"B", "S">
#bsd = #xf.dims<"B", "S", "">
#bhsd = #xf.dims<"B", "", "S", "">
// CHECK-LABEL: module @search
// CHECK-SAME: P1 = 12 : i64
// CHECK-SAME: packed_begin = @begin.packed, packed_encode = @encode.packed
module @search attributes {xf.bounds = {B = 6 : i64, P = 3 : i64, S = 4 : i64},
                           xf.generate = {encode = @encode, begin = @begin, batch = "B", beam = 2 : i64, source = "S", pad = 0 : i64}} {
  xf.parameter @table : tensor<10x8xf32> path "table"
  xf.parameter @places : tensor<4x8xf32> path "places"
  xf.weight @w : tensor<8x8xf32> layers 2 layout panels {
  ^bb0(%layer: index):
    %t = xf.param @table : tensor<10x8xf32>
    %s = xf.slice %t axis 0 start 0 : tensor<10x8xf32> -> tensor<8x8xf32>
    xf.yield %s : tensor<8x8xf32>
  }
  xf.state @keys : tensor<?x2x?x4xf32, #bhsd> layers 1 sentences layout keys
  xf.state @given : tensor<?x?xi1, #bs> layers 1 sentences
  xf.entry @encode(%src: tensor<?x?xi32, #bs> {xf.name = "src"}) -> (tensor<?x?x8xf32, #bsd> {xf.name = "memory"}) {
    // CHECK: xf.entry packed @encode.packed(%[[SRC:.*]]: tensor<?x?xi32, #xf.dims<"B", "S">> {xf.name = "src"}, %[[TOKENS:.*]]: tensor<1x?xi32, #xf.dims<"", "P1">> {xf.name = "xf.tokens"}, %[[PLACES:.*]]: tensor<?xi32, #xf.dims<"P1">> {xf.name = "xf.positions"}, %[[SPANS:.*]]: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "xf.spans"}) -> (tensor<1x?x8xf32, #xf.dims<"", "P1", "">> {xf.name = "memory"})
    // CHECK: %[[OK:.*]] = xf.row(%[[SRC]]) {{.*}} -> tensor<?x?xi1, #xf.dims<"B", "S">>
    %ok = xf.row(%src) maps [[0, 1]] : (tensor<?x?xi32, #bs>) -> tensor<?x?xi1, #bs> {
    ^bb0(%r: tensor<?xi32, #xf.dims<"S">>):
      %m = xf.map(%r) maps [[0]] : (tensor<?xi32, #xf.dims<"S">>) -> tensor<?xi1, #xf.dims<"S">> {
      ^bb0(%t: i32):
        %zero = arith.constant 0 : i32
        %c = arith.cmpi ne, %t, %zero : i32
        xf.yield %c : i1
      }
      xf.yield %m : tensor<?xi1, #xf.dims<"S">>
    }
    %p = xf.positions : tensor<?xi32, #xf.dims<"S">>
    %table = xf.param @table : tensor<10x8xf32>
    %places = xf.param @places : tensor<4x8xf32>
    // Look-ups are of the tokens' own positions.
    // CHECK-NOT: xf.positions :
    // CHECK: %[[X:.*]] = xf.row(%[[TOKENS]], %[[PLACES]]) {{.*}} -> tensor<1x?x8xf32, #xf.dims<"", "P1", "">>
    %x = xf.row(%src, %p) maps [[0, 1], [1]] : (tensor<?x?xi32, #bs>, tensor<?xi32, #xf.dims<"S">>) -> tensor<?x?x8xf32, #bsd> {
    ^bb0(%i: tensor<1xi32>, %j: tensor<1xi32>):
      %a = xf.embed %table, %i : tensor<10x8xf32>, tensor<1xi32> -> tensor<8xf32>
      %b = xf.embed %places, %j : tensor<4x8xf32>, tensor<1xi32> -> tensor<8xf32>
      %c = xf.map(%a, %b) maps [[0], [0]] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%u: f32, %v: f32):
        %s = arith.addf %u, %v : f32
        xf.yield %s : f32
      }
      xf.yield %c : tensor<8xf32>
    }
    // CHECK: xf.repeat 2(%[[X]]) : (tensor<1x?x8xf32, #xf.dims<"", "P1", "">>)
    %y = xf.repeat 2(%x) : (tensor<?x?x8xf32, #bsd>) -> tensor<?x?x8xf32, #bsd> {
    ^bb0(%layer: index, %in: tensor<?x?x8xf32, #bsd>):
      %w = xf.param @w[%layer] : tensor<8x8xf32>
      // CHECK: xf.contract {{.*}} -> tensor<1x?x8xf32, #xf.dims<"", "P1", "">>
      %h = xf.contract %in, %w extras() maps [] : tensor<?x?x8xf32, #bsd>, tensor<8x8xf32> -> tensor<?x?x8xf32, #bsd> {
      ^bb0(%acc: f32):
        xf.yield %acc : f32
      }
      // CHECK: %[[Q:.*]] = xf.rearrange {{.*}} -> tensor<1x2x?x4xf32, #xf.dims<"", "", "P1", "">>
      %q = xf.rearrange %h "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #bsd> -> tensor<?x2x?x4xf32, #bhsd>
      // CHECK: %[[K:.*]] = xf.spread keys %[[Q]] spans %[[SPANS]] : {{.*}} -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>
      // CHECK: %[[V:.*]] = xf.spread values %[[Q]] spans %[[SPANS]]
      %k = xf.pack keys %q : tensor<?x2x?x4xf32, #bhsd>
      %v = xf.pack values %q : tensor<?x2x?x4xf32, #bhsd>
      // CHECK: xf.attend %[[Q]], %[[K]], %[[V]] spans %[[SPANS]]
      // CHECK: xf.at %[[OK]]
      %c = xf.attend %q, %k, %v scale 0.5 fill 0xFFF0000000000000 mask {
      ^bb0(%b: index, %n: index, %i: index, %j: index):
        %a = xf.at %ok[%b, %j] : tensor<?x?xi1, #bs>
        xf.yield %a : i1
      } : tensor<?x2x?x4xf32, #bhsd>, tensor<?x2x?x4xf32, #bhsd>, tensor<?x2x?x4xf32, #bhsd> -> (tensor<?x2x?x4xf32, #bhsd>)
      %o = xf.rearrange %c "B h T k -> B T (h k)" {} : tensor<?x2x?x4xf32, #bhsd> -> tensor<?x?x8xf32, #bsd>
      %d = xf.pack plain %o : tensor<?x?x8xf32, #bsd>
      // CHECK: xf.yield {{.*}} : tensor<1x?x8xf32, #xf.dims<"", "P1", "">>
      xf.yield %d : tensor<?x?x8xf32, #bsd>
    }
    xf.return %y : tensor<?x?x8xf32, #bsd>
  }
  xf.entry begin @begin(%memory: tensor<?x?x8xf32, #bsd> {xf.name = "memory"}, %src: tensor<?x?xi32, #bs> {xf.name = "src"}, %slots: tensor<?xi32, #xf.dims<"B">> {xf.name = "xf.slots"}) {
    // CHECK: xf.entry packed @begin.packed(%{{.*}}: tensor<1x?x8xf32, #xf.dims<"", "P1", "">> {xf.name = "memory"}, %{{.*}}: tensor<?x?xi32, #xf.dims<"B", "S">> {xf.name = "src"}, %[[SLOTS:.*]]: tensor<?xi32, #xf.dims<"B">> {xf.name = "xf.slots"}, {{.*}} %[[SPANS:.*]]: tensor<?x2xi32
    %zero = arith.constant 0 : index
    %w = xf.param @w[%zero] : tensor<8x8xf32>
    %ok = xf.row(%src) maps [[0, 1]] : (tensor<?x?xi32, #bs>) -> tensor<?x?xi1, #bs> {
    ^bb0(%r: tensor<?xi32, #xf.dims<"S">>):
      %m = xf.map(%r) maps [[0]] : (tensor<?xi32, #xf.dims<"S">>) -> tensor<?xi1, #xf.dims<"S">> {
      ^bb0(%t: i32):
        %c = arith.trunci %t : i32 to i1
        xf.yield %c : i1
      }
      xf.yield %m : tensor<?xi1, #xf.dims<"S">>
    }
    // CHECK: xf.store {{.*}} to @given[{{.*}}] slots %[[SLOTS]] padding false : tensor<?x?xi1, #xf.dims<"B", "S">>
    xf.store %ok to @given[%zero] slots %slots padding false : tensor<?x?xi1, #bs>, tensor<?xi32, #xf.dims<"B">>
    %h = xf.contract %memory, %w extras() maps [] : tensor<?x?x8xf32, #bsd>, tensor<8x8xf32> -> tensor<?x?x8xf32, #bsd> {
    ^bb0(%acc: f32):
      xf.yield %acc : f32
    }
    %k = xf.rearrange %h "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #bsd> -> tensor<?x2x?x4xf32, #bhsd>
    // CHECK: xf.store {{.*}} to @keys[{{.*}}] slots %[[SLOTS]] spans %[[SPANS]] : tensor<1x2x?x4xf32
    xf.store %k to @keys[%zero] slots %slots : tensor<?x2x?x4xf32, #bhsd>, tensor<?xi32, #xf.dims<"B">>
    xf.return
  }
}

// -----

// What looks at whole sentences gets padded rows, if there is a padding token.
#bs = #xf.dims<"B", "S">
#bsd = #xf.dims<"B", "S", "">
// CHECK-LABEL: module @pooled
// CHECK-SAME: packed = @classify.packed
// CHECK: xf.entry packed @classify.packed
// CHECK: %[[H:.*]] = xf.contract {{.*}} -> tensor<1x?x8xf32, #xf.dims<"", "P", "">>
// CHECK: %[[R:.*]] = xf.spread plain %[[H]] spans {{.*}} -> tensor<?x?x8xf32, #xf.dims<"B", "S", "">>
// CHECK: xf.slice %[[R]] axis 1
module @pooled attributes {xf.bounds = {B = 6 : i64, S = 4 : i64},
                           xf.predict = {entry = @classify, result = "y", batch = "B", source = "S", pad = 0 : i64}} {
  xf.parameter @table : tensor<8x8xf32> path "table"
  xf.entry @classify(%src: tensor<?x?xi32, #bs> {xf.name = "src"}) -> (tensor<?x1x8xf32, #xf.dims<"B", "", "">> {xf.name = "y"}) {
    %w = xf.param @table : tensor<8x8xf32>
    %x = xf.row(%src) maps [[0, 1]] : (tensor<?x?xi32, #bs>) -> tensor<?x?x8xf32, #bsd> {
    ^bb0(%i: tensor<1xi32>):
      %a = xf.embed %w, %i : tensor<8x8xf32>, tensor<1xi32> -> tensor<8xf32>
      xf.yield %a : tensor<8xf32>
    }
    %h = xf.contract %x, %w extras() maps [] : tensor<?x?x8xf32, #bsd>, tensor<8x8xf32> -> tensor<?x?x8xf32, #bsd> {
    ^bb0(%acc: f32):
      xf.yield %acc : f32
    }
    %s = xf.slice %h axis 1 start 0 : tensor<?x?x8xf32, #bsd> -> tensor<?x1x8xf32, #xf.dims<"B", "", "">>
    %c = xf.pack plain %s : tensor<?x1x8xf32, #xf.dims<"B", "", "">>
    xf.return %c : tensor<?x1x8xf32, #xf.dims<"B", "", "">>
  }
}

// -----

// Without one there is no twin; nor where the sequence comes first.
#bs = #xf.dims<"B", "S">
#bsd = #xf.dims<"B", "S", "">
// CHECK-LABEL: module @unpadded
// CHECK-NOT: packed
module @unpadded attributes {xf.bounds = {B = 6 : i64, S = 4 : i64}, xf.predict = {entry = @classify, result = "y", batch = "B", source = "S"}} {
  xf.parameter @table : tensor<8x8xf32> path "table"
  xf.entry @classify(%src: tensor<?x?xi32, #bs> {xf.name = "src"}) -> (tensor<?x1x8xf32, #xf.dims<"B", "", "">> {xf.name = "y"}) {
    %w = xf.param @table : tensor<8x8xf32>
    %x = xf.row(%src) maps [[0, 1]] : (tensor<?x?xi32, #bs>) -> tensor<?x?x8xf32, #bsd> {
    ^bb0(%i: tensor<1xi32>):
      %a = xf.embed %w, %i : tensor<8x8xf32>, tensor<1xi32> -> tensor<8xf32>
      xf.yield %a : tensor<8xf32>
    }
    %h = xf.contract %x, %w extras() maps [] : tensor<?x?x8xf32, #bsd>, tensor<8x8xf32> -> tensor<?x?x8xf32, #bsd> {
    ^bb0(%acc: f32):
      xf.yield %acc : f32
    }
    %s = xf.slice %h axis 1 start 0 : tensor<?x?x8xf32, #bsd> -> tensor<?x1x8xf32, #xf.dims<"B", "", "">>
    %c = xf.pack plain %s : tensor<?x1x8xf32, #xf.dims<"B", "", "">>
    xf.return %c : tensor<?x1x8xf32, #xf.dims<"B", "", "">>
  }
}

// -----

// How many tokens there are cannot be said of rows with anything behind them.
#bs = #xf.dims<"B", "S">
#bsd = #xf.dims<"B", "S", "">
// CHECK-LABEL: module @counted
// CHECK-NOT: packed
module @counted attributes {xf.bounds = {B = 6 : i64, S = 4 : i64}, xf.predict = {entry = @tag, result = "y", batch = "B", source = "S"}} {
  xf.parameter @table : tensor<8x8xf32> path "table"
  xf.entry @tag(%src: tensor<?x?xi32, #bs> {xf.name = "src"}) -> (tensor<?x?x8xf32, #bsd> {xf.name = "y"}, tensor<?x1xi32, #xf.dims<"B", "">> {xf.name = "count"}) {
    %w = xf.param @table : tensor<8x8xf32>
    %x = xf.row(%src) maps [[0, 1]] : (tensor<?x?xi32, #bs>) -> tensor<?x?x8xf32, #bsd> {
    ^bb0(%i: tensor<1xi32>):
      %a = xf.embed %w, %i : tensor<8x8xf32>, tensor<1xi32> -> tensor<8xf32>
      xf.yield %a : tensor<8xf32>
    }
    %h = xf.contract %x, %w extras() maps [] : tensor<?x?x8xf32, #bsd>, tensor<8x8xf32> -> tensor<?x?x8xf32, #bsd> {
    ^bb0(%acc: f32):
      xf.yield %acc : f32
    }
    %n = xf.row(%src) maps [[0, 1]] : (tensor<?x?xi32, #bs>) -> tensor<?x1xi32, #xf.dims<"B", "">> {
    ^bb0(%r: tensor<?xi32, #xf.dims<"S">>):
      %m = xf.reduce max %r : tensor<?xi32, #xf.dims<"S">> -> tensor<1xi32>
      xf.yield %m : tensor<1xi32>
    }
    xf.return %h, %n : tensor<?x?x8xf32, #bsd>, tensor<?x1xi32, #xf.dims<"B", "">>
  }
}

// -----

// A statistic over pairs of positions is one of its own sentence, though there is one for each position.
#bs = #xf.dims<"B", "S">
#bsd = #xf.dims<"B", "S", "">
// CHECK-LABEL: module @pairs
// CHECK-NOT: packed
module @pairs attributes {xf.bounds = {B = 6 : i64, S = 4 : i64}, xf.predict = {entry = @tag, result = "y", batch = "B", source = "S"}} {
  xf.parameter @table : tensor<8x8xf32> path "table"
  xf.entry @tag(%src: tensor<?x?xi32, #bs> {xf.name = "src"}) -> (tensor<?x?x1xf32, #bsd> {xf.name = "y"}) {
    %w = xf.param @table : tensor<8x8xf32>
    %x = xf.row(%src) maps [[0, 1]] : (tensor<?x?xi32, #bs>) -> tensor<?x?x8xf32, #bsd> {
    ^bb0(%i: tensor<1xi32>):
      %a = xf.embed %w, %i : tensor<8x8xf32>, tensor<1xi32> -> tensor<8xf32>
      xf.yield %a : tensor<8xf32>
    }
    %h = xf.contract %x, %w extras() maps [] : tensor<?x?x8xf32, #bsd>, tensor<8x8xf32> -> tensor<?x?x8xf32, #bsd> {
    ^bb0(%acc: f32):
      xf.yield %acc : f32
    }
    %one = xf.slice %h axis 2 start 0 : tensor<?x?x8xf32, #bsd> -> tensor<?x?x1xf32, #bsd>
    %turned = xf.rearrange %one "B S d -> B d S" {} : tensor<?x?x1xf32, #bsd> -> tensor<?x1x?xf32, #xf.dims<"B", "", "S">>
    %sums = xf.row(%one, %turned) maps [[0, 1, -1], [0, -1, 2]] : (tensor<?x?x1xf32, #bsd>, tensor<?x1x?xf32, #xf.dims<"B", "", "S">>) -> tensor<?x?x1xf32, #bsd> {
    ^bb0(%a: tensor<1xf32>, %b: tensor<?xf32, #xf.dims<"S">>):
      %p = xf.map(%a, %b) maps [[-1], [0]] : (tensor<1xf32>, tensor<?xf32, #xf.dims<"S">>) -> tensor<?xf32, #xf.dims<"S">> {
      ^bb0(%u: f32, %v: f32):
        %q = arith.mulf %u, %v : f32
        xf.yield %q : f32
      }
      %r = xf.reduce sum %p : tensor<?xf32, #xf.dims<"S">> -> tensor<1xf32>
      xf.yield %r : tensor<1xf32>
    }
    xf.return %sums : tensor<?x?x1xf32, #bsd>
  }
}

// -----

// A row for each token needs no padding token.
#bs = #xf.dims<"B", "S">
#bsd = #xf.dims<"B", "S", "">
// CHECK-LABEL: module @tokens
// CHECK: xf.entry packed @tag.packed
// CHECK-SAME: -> (tensor<1x?x8xf32, #xf.dims<"", "P", "">>
module @tokens attributes {xf.bounds = {B = 6 : i64, S = 4 : i64}, xf.predict = {entry = @tag, result = "y", batch = "B", source = "S"}} {
  xf.parameter @table : tensor<8x8xf32> path "table"
  xf.entry @tag(%src: tensor<?x?xi32, #bs> {xf.name = "src"}) -> (tensor<?x?x8xf32, #bsd> {xf.name = "y"}) {
    %w = xf.param @table : tensor<8x8xf32>
    %x = xf.row(%src) maps [[0, 1]] : (tensor<?x?xi32, #bs>) -> tensor<?x?x8xf32, #bsd> {
    ^bb0(%i: tensor<1xi32>):
      %a = xf.embed %w, %i : tensor<8x8xf32>, tensor<1xi32> -> tensor<8xf32>
      xf.yield %a : tensor<8xf32>
    }
    %h = xf.contract %x, %w extras() maps [] : tensor<?x?x8xf32, #bsd>, tensor<8x8xf32> -> tensor<?x?x8xf32, #bsd> {
    ^bb0(%acc: f32):
      xf.yield %acc : f32
    }
    xf.return %h : tensor<?x?x8xf32, #bsd>
  }
}

// -----

// Types of tokens are packed as tokens are.
#bs = #xf.dims<"B", "S">
#bsd = #xf.dims<"B", "S", "">
// CHECK-LABEL: module @types
// CHECK: xf.entry packed @tag.packed(%{{.*}} {xf.name = "kinds"}, %{{.*}} {xf.name = "src"}, %[[TOKENS:.*]]: {{.*}} {xf.name = "xf.tokens"}, {{.*}} {xf.name = "xf.spans"}, %[[TYPES:.*]]: tensor<1x?xi32, #xf.dims<"", "P">> {xf.name = "xf.types"})
// CHECK: xf.row(%[[TOKENS]], %[[TYPES]])
module @types attributes {xf.bounds = {B = 6 : i64, S = 4 : i64},
                          xf.predict = {entry = @tag, result = "y", batch = "B", source = "S", types = "kinds"}} {
  xf.parameter @table : tensor<8x8xf32> path "table"
  xf.entry @tag(%kinds: tensor<?x?xi32, #bs> {xf.name = "kinds"}, %src: tensor<?x?xi32, #bs> {xf.name = "src"}) -> (tensor<?x?x8xf32, #bsd> {xf.name = "y"}) {
    %w = xf.param @table : tensor<8x8xf32>
    %x = xf.row(%src, %kinds) maps [[0, 1], [0, 1]] : (tensor<?x?xi32, #bs>, tensor<?x?xi32, #bs>) -> tensor<?x?x8xf32, #bsd> {
    ^bb0(%i: tensor<1xi32>, %j: tensor<1xi32>):
      %a = xf.embed %w, %i : tensor<8x8xf32>, tensor<1xi32> -> tensor<8xf32>
      %b = xf.embed %w, %j : tensor<8x8xf32>, tensor<1xi32> -> tensor<8xf32>
      %c = xf.map(%a, %b) maps [[0], [0]] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%u: f32, %v: f32):
        %s = arith.addf %u, %v : f32
        xf.yield %s : f32
      }
      xf.yield %c : tensor<8xf32>
    }
    %h = xf.contract %x, %w extras() maps [] : tensor<?x?x8xf32, #bsd>, tensor<8x8xf32> -> tensor<?x?x8xf32, #bsd> {
    ^bb0(%acc: f32):
      xf.yield %acc : f32
    }
    xf.return %h : tensor<?x?x8xf32, #bsd>
  }
}

// -----

#sb = #xf.dims<"S", "B">
#sbd = #xf.dims<"S", "B", "">
// CHECK-LABEL: module @sequence_first
// CHECK-NOT: xf.entry packed
module @sequence_first attributes {xf.bounds = {B = 6 : i64, S = 4 : i64},
                                   xf.predict = {entry = @tag, result = "y", batch = "B", source = "S", pad = 0 : i64, sequence_first}} {
  xf.parameter @table : tensor<8x8xf32> path "table"
  xf.entry @tag(%src: tensor<?x?xi32, #sb> {xf.name = "src"}) -> (tensor<?x?x8xf32, #sbd> {xf.name = "y"}) {
    %w = xf.param @table : tensor<8x8xf32>
    %x = xf.row(%src) maps [[0, 1]] : (tensor<?x?xi32, #sb>) -> tensor<?x?x8xf32, #sbd> {
    ^bb0(%i: tensor<1xi32>):
      %a = xf.embed %w, %i : tensor<8x8xf32>, tensor<1xi32> -> tensor<8xf32>
      xf.yield %a : tensor<8xf32>
    }
    %h = xf.contract %x, %w extras() maps [] : tensor<?x?x8xf32, #sbd>, tensor<8x8xf32> -> tensor<?x?x8xf32, #sbd> {
    ^bb0(%acc: f32):
      xf.yield %acc : f32
    }
    xf.return %h : tensor<?x?x8xf32, #sbd>
  }
}
