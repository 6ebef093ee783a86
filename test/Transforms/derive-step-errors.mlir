// RUN: xf-opt %s -split-input-file -xf-derive-step -verify-diagnostics

// No mask at all.
#bt = #xf.dims<"B", "T">
#btd = #xf.dims<"B", "T", "">
#bhtd = #xf.dims<"B", "", "T", "">
module attributes {xf.bounds = {B = 4 : i64, T = 10 : i64}, xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.entry @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"}) -> (tensor<?x?x8xf32, #btd> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %x = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #bt> -> tensor<?x?x8xf32, #btd>
    // expected-note@below {{its keys are target positions, computed here}}
    %hy = xf.rearrange %x "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #btd> -> tensor<?x2x?x4xf32, #bhtd>
    // expected-error@below {{this attention lets a position read later ones, so no step can be derived from @decode}}
    // expected-note@below {{it has no mask; a causal one allows key j for position i where j <= i}}
    %cy = xf.attend %hy, %hy, %hy scale 0.5 fill 0xFFF0000000000000 : tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd> -> (tensor<?x2x?x4xf32, #bhtd>)
    // expected-note@below {{it is used here}}
    %y = xf.rearrange %cy "B h T k -> B T (h k)" {} : tensor<?x2x?x4xf32, #bhtd> -> tensor<?x?x8xf32, #btd>
    // expected-note@below {{result 'logits' depends on it}}
    xf.return %y : tensor<?x?x8xf32, #btd>
  }
}

// -----

// One position too far.
#bt = #xf.dims<"B", "T">
#btd = #xf.dims<"B", "T", "">
#bhtd = #xf.dims<"B", "", "T", "">
module attributes {xf.bounds = {B = 4 : i64, T = 10 : i64}, xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.entry @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"}) -> (tensor<?x?x8xf32, #btd> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %x = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #bt> -> tensor<?x?x8xf32, #btd>
    // expected-note@below {{its keys are target positions, computed here}}
    %hy = xf.rearrange %x "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #btd> -> tensor<?x2x?x4xf32, #bhtd>
    // expected-error@below {{this attention lets a position read later ones, so no step can be derived from @decode}}
    %cy = xf.attend %hy, %hy, %hy scale 0.5 fill 0xFFF0000000000000 mask {
    ^bb0(%b: index, %head: index, %i: index, %j: index):
      %one = arith.constant 1 : index
      %next = arith.addi %i, %one : index
      // expected-note@below {{the mask lets position i read position j > i: nothing in it implies j <= i}}
      %ok = arith.cmpi sle, %j, %next : index
      xf.yield %ok : i1
    } : tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd> -> (tensor<?x2x?x4xf32, #bhtd>)
    // expected-note@below {{it is used here}}
    %y = xf.rearrange %cy "B h T k -> B T (h k)" {} : tensor<?x2x?x4xf32, #bhtd> -> tensor<?x?x8xf32, #btd>
    // expected-note@below {{result 'logits' depends on it}}
    xf.return %y : tensor<?x?x8xf32, #btd>
  }
}

// -----

// A masked score is as good as others: softmax gives later positions a part.
#bt = #xf.dims<"B", "T">
#btd = #xf.dims<"B", "T", "">
#bhtd = #xf.dims<"B", "", "T", "">
module attributes {xf.bounds = {B = 4 : i64, T = 10 : i64}, xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.entry @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"}) -> (tensor<?x?x8xf32, #btd> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %x = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #bt> -> tensor<?x?x8xf32, #btd>
    // expected-note@below {{its keys are target positions, computed here}}
    %hy = xf.rearrange %x "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #btd> -> tensor<?x2x?x4xf32, #bhtd>
    // expected-error@below {{this attention lets a position read later ones, so no step can be derived from @decode}}
    // expected-note@below {{a score that is masked counts as 'fill', which is above -1e4: later positions take part with it}}
    %cy = xf.attend %hy, %hy, %hy scale 0.5 fill -5.0 mask {
    ^bb0(%b: index, %head: index, %i: index, %j: index):
      %ok = arith.cmpi sle, %j, %i : index
      xf.yield %ok : i1
    } : tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd> -> (tensor<?x2x?x4xf32, #bhtd>)
    // expected-note@below {{it is used here}}
    %y = xf.rearrange %cy "B h T k -> B T (h k)" {} : tensor<?x2x?x4xf32, #bhtd> -> tensor<?x?x8xf32, #btd>
    // expected-note@below {{result 'logits' depends on it}}
    xf.return %y : tensor<?x?x8xf32, #btd>
  }
}

// -----

// Causal or near: only one side is.
#bt = #xf.dims<"B", "T">
#btd = #xf.dims<"B", "T", "">
#bhtd = #xf.dims<"B", "", "T", "">
module attributes {xf.bounds = {B = 4 : i64, T = 10 : i64}, xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.entry @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"}) -> (tensor<?x?x8xf32, #btd> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %x = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #bt> -> tensor<?x?x8xf32, #btd>
    // expected-note@below {{its keys are target positions, computed here}}
    %hy = xf.rearrange %x "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #btd> -> tensor<?x2x?x4xf32, #bhtd>
    // expected-error@below {{this attention lets a position read later ones, so no step can be derived from @decode}}
    %cy = xf.attend %hy, %hy, %hy scale 0.5 fill 0xFFF0000000000000 mask {
    ^bb0(%b: index, %head: index, %i: index, %j: index):
      %distance = arith.subi %j, %i : index
      %four = arith.constant 4 : index
      %near = arith.cmpi slt, %distance, %four : index
      %causal = arith.cmpi uge, %i, %j : index
      // expected-note@below {{the mask lets position i read position j > i: nothing in it implies j <= i}}
      %ok = arith.ori %near, %causal : i1
      xf.yield %ok : i1
    } : tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd> -> (tensor<?x2x?x4xf32, #bhtd>)
    // expected-note@below {{it is used here}}
    %y = xf.rearrange %cy "B h T k -> B T (h k)" {} : tensor<?x2x?x4xf32, #bhtd> -> tensor<?x?x8xf32, #btd>
    // expected-note@below {{result 'logits' depends on it}}
    xf.return %y : tensor<?x?x8xf32, #btd>
  }
}

// -----

// Token after the one it may see.
#bt = #xf.dims<"B", "T">
#btd = #xf.dims<"B", "T", "">
#bhtd = #xf.dims<"B", "", "T", "">
module attributes {xf.bounds = {B = 4 : i64, T = 10 : i64}, xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.entry @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"}) -> (tensor<?x?x8xf32, #btd> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %x = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #bt> -> tensor<?x?x8xf32, #btd>
    %hy = xf.rearrange %x "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #btd> -> tensor<?x2x?x4xf32, #bhtd>
    // expected-error@below {{a mask, bias or score of this attention reads a target position that may be a later one, so no step can be derived from @decode}}
    %cy = xf.attend %hy, %hy, %hy scale 0.5 fill 0xFFF0000000000000 mask {
    ^bb0(%b: index, %head: index, %i: index, %j: index):
      %one = arith.constant 1 : index
      %next = arith.addi %j, %one : index
      %causal = arith.cmpi sle, %j, %i : index
      // expected-note@below {{read here, neither at position i nor at key position j nor at a fixed distance before}}
      %token = xf.at %tgt[%b, %next] : tensor<?x?xi32, #bt>
      %zero = arith.constant 0 : i32
      %real = arith.cmpi ne, %token, %zero : i32
      %ok = arith.andi %causal, %real : i1
      xf.yield %ok : i1
    } : tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd> -> (tensor<?x2x?x4xf32, #bhtd>)
    // expected-note@below {{it is used here}}
    %y = xf.rearrange %cy "B h T k -> B T (h k)" {} : tensor<?x2x?x4xf32, #bhtd> -> tensor<?x?x8xf32, #btd>
    // expected-note@below {{result 'logits' depends on it}}
    xf.return %y : tensor<?x?x8xf32, #btd>
  }
}

// -----

// A mask that the caller gives.
#bt = #xf.dims<"B", "T">
#btd = #xf.dims<"B", "T", "">
#bhtd = #xf.dims<"B", "", "T", "">
module attributes {xf.bounds = {B = 4 : i64, T = 10 : i64}, xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.entry @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"},
      // expected-error@below {{argument 'mask' is given for all target positions, but a search knows only the tokens, so no step can be derived from @decode}}
      %mask: tensor<?x?xi1, #xf.dims<"T", "T">> {xf.name = "mask"}) -> (tensor<?x?x8xf32, #btd> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %x = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #bt> -> tensor<?x?x8xf32, #btd>
    %hy = xf.rearrange %x "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #btd> -> tensor<?x2x?x4xf32, #bhtd>
    // expected-note@below {{it is used here}}
    %cy = xf.attend %hy, %hy, %hy scale 0.5 fill 0xFFF0000000000000 mask {
    ^bb0(%b: index, %head: index, %i: index, %j: index):
      %ok = xf.at %mask[%i, %j] : tensor<?x?xi1, #xf.dims<"T", "T">>
      xf.yield %ok : i1
    } : tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd> -> (tensor<?x2x?x4xf32, #bhtd>)
    // expected-note@below {{and that here}}
    %y = xf.rearrange %cy "B h T k -> B T (h k)" {} : tensor<?x2x?x4xf32, #bhtd> -> tensor<?x?x8xf32, #btd>
    // expected-note@below {{result 'logits' depends on it}}
    xf.return %y : tensor<?x?x8xf32, #btd>
  }
}

// -----

// A statistic over the target, in a layer.
#bt = #xf.dims<"B", "T">
#btd = #xf.dims<"B", "T", "">
#bhtd = #xf.dims<"B", "", "T", "">
module attributes {xf.bounds = {B = 4 : i64, T = 10 : i64}, xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.entry @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"}) -> (tensor<?x?x8xf32, #btd> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %x = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #bt> -> tensor<?x?x8xf32, #btd>
    // expected-note@below {{and that here}}
    %y = xf.repeat 2 (%x) : (tensor<?x?x8xf32, #btd>) -> (tensor<?x?x8xf32, #btd>) {
    ^bb0(%layer: index, %h: tensor<?x?x8xf32, #btd>):
      %t = xf.rearrange %h "B T d -> B d T" {} : tensor<?x?x8xf32, #btd> -> tensor<?x8x?xf32, #xf.dims<"B", "", "T">>
      // expected-error@below {{this row statistic runs over all target positions, so no step can be derived from @decode}}
      %s = xf.reduce max %t : tensor<?x8x?xf32, #xf.dims<"B", "", "T">> -> tensor<?x8x1xf32, #xf.dims<"B", "", "">>
      // expected-note@below {{it is used here}}
      %n = xf.map(%h, %s) maps [[0, 1, 2], [0, 2, -1]] : (tensor<?x?x8xf32, #btd>, tensor<?x8x1xf32, #xf.dims<"B", "", "">>) -> tensor<?x?x8xf32, #btd> {
      ^bb0(%a: f32, %c: f32):
        %d = arith.subf %a, %c : f32
        xf.yield %d : f32
      }
      xf.yield %n : tensor<?x?x8xf32, #btd>
    }
    // expected-note@below {{result 'logits' depends on it}}
    xf.return %y : tensor<?x?x8xf32, #btd>
  }
}

// -----

// A fixed position.
#bt = #xf.dims<"B", "T">
#btd = #xf.dims<"B", "T", "">
#bhtd = #xf.dims<"B", "", "T", "">
module attributes {xf.bounds = {B = 4 : i64, T = 10 : i64}, xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.entry @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"}) -> (tensor<?x?x8xf32, #btd> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %x = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #bt> -> tensor<?x?x8xf32, #btd>
    // expected-error@below {{this slice takes fixed positions of the target, so no step can be derived from @decode}}
    %s = xf.slice %x axis 1 start 0 : tensor<?x?x8xf32, #btd> -> tensor<?x1x8xf32, #xf.dims<"B", "", "">>
    // expected-note@below {{it is used here}}
    %y = xf.map(%x, %s) maps [[0, 1, 2], [0, -1, 2]] : (tensor<?x?x8xf32, #btd>, tensor<?x1x8xf32, #xf.dims<"B", "", "">>) -> tensor<?x?x8xf32, #btd> {
    ^bb0(%a: f32, %c: f32):
      %d = arith.subf %a, %c : f32
      xf.yield %d : f32
    }
    // expected-note@below {{result 'logits' depends on it}}
    xf.return %y : tensor<?x?x8xf32, #btd>
  }
}

// -----

// Pairs of positions.
#bt = #xf.dims<"B", "T">
#btd = #xf.dims<"B", "T", "">
#bhtd = #xf.dims<"B", "", "T", "">
module attributes {xf.bounds = {B = 4 : i64, T = 10 : i64}, xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.entry @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"}) -> (tensor<?x?x?xf32, #xf.dims<"B", "T", "T">> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %x = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #bt> -> tensor<?x?x8xf32, #btd>
    // expected-error@below {{this value holds pairs of target positions outside of an attention, so no step can be derived from @decode}}
    %pairs = xf.map(%tgt, %tgt) maps [[0, 1], [0, 2]] : (tensor<?x?xi32, #bt>, tensor<?x?xi32, #bt>) -> tensor<?x?x?xf32, #xf.dims<"B", "T", "T">> {
    ^bb0(%a: i32, %c: i32):
      %s = arith.addi %a, %c : i32
      %f = arith.sitofp %s : i32 to f32
      xf.yield %f : f32
    }
    // expected-note@below {{result 'logits' depends on it}}
    xf.return %pairs : tensor<?x?x?xf32, #xf.dims<"B", "T", "T">>
  }
}

// -----

// Two reasons are both told.
#bt = #xf.dims<"B", "T">
#btd = #xf.dims<"B", "T", "">
#bhtd = #xf.dims<"B", "", "T", "">
module attributes {xf.bounds = {B = 4 : i64, T = 10 : i64}, xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.entry @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"}) -> (tensor<?x?x8xf32, #btd> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %x = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #bt> -> tensor<?x?x8xf32, #btd>
    // expected-note@below {{its keys are target positions, computed here}}
    %hz = xf.rearrange %x "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #btd> -> tensor<?x2x?x4xf32, #bhtd>
    // expected-error@below {{this attention lets a position read later ones, so no step can be derived from @decode}}
    // expected-note@below {{it has no mask; a causal one allows key j for position i where j <= i}}
    %cz = xf.attend %hz, %hz, %hz scale 0.5 fill 0xFFF0000000000000 : tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd> -> (tensor<?x2x?x4xf32, #bhtd>)
    // expected-note@below {{it is used here}}
    %z = xf.rearrange %cz "B h T k -> B T (h k)" {} : tensor<?x2x?x4xf32, #bhtd> -> tensor<?x?x8xf32, #btd>
    // expected-error@below {{this slice takes fixed positions of the target, so no step can be derived from @decode}}
    %s = xf.slice %z axis 1 start 2 : tensor<?x?x8xf32, #btd> -> tensor<?x1x8xf32, #xf.dims<"B", "", "">>
    // expected-note@below {{it is used here}}
    // expected-note@below {{and that here}}
    %y = xf.map(%z, %s) maps [[0, 1, 2], [0, -1, 2]] : (tensor<?x?x8xf32, #btd>, tensor<?x1x8xf32, #xf.dims<"B", "", "">>) -> tensor<?x?x8xf32, #btd> {
    ^bb0(%a: f32, %c: f32):
      %d = arith.subf %a, %c : f32
      xf.yield %d : f32
    }
    // expected-note@below {{result 'logits' depends on it}}
    xf.return %y : tensor<?x?x8xf32, #btd>
  }
}

// -----

// What looks ahead beside the logits is no matter.
#bt = #xf.dims<"B", "T">
#btd = #xf.dims<"B", "T", "">
#bhtd = #xf.dims<"B", "", "T", "">
module attributes {xf.bounds = {B = 4 : i64, T = 10 : i64}, xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.entry @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"}) -> (tensor<?x?x8xf32, #btd> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %x = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #bt> -> tensor<?x?x8xf32, #btd>
    %hside = xf.rearrange %x "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #btd> -> tensor<?x2x?x4xf32, #bhtd>
    %cside = xf.attend %hside, %hside, %hside scale 0.5 fill 0xFFF0000000000000 : tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd> -> (tensor<?x2x?x4xf32, #bhtd>)
    %side = xf.rearrange %cside "B h T k -> B T (h k)" {} : tensor<?x2x?x4xf32, #bhtd> -> tensor<?x?x8xf32, #btd>
    xf.return %x : tensor<?x?x8xf32, #btd>
  }
}

// -----

// Logits without target.
#bt = #xf.dims<"B", "T">
#btd = #xf.dims<"B", "T", "">
#bhtd = #xf.dims<"B", "", "T", "">
module attributes {xf.bounds = {B = 4 : i64, T = 10 : i64}, xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  // expected-error@below {{its result 'logits' does not depend on the target's tokens}}
  xf.entry @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"}, %memory: tensor<?x8xf32, #xf.dims<"B", "">> {xf.name = "memory"}) -> (tensor<?x8xf32, #xf.dims<"B", "">> {xf.name = "logits"}) {
    xf.return %memory : tensor<?x8xf32, #xf.dims<"B", "">>
  }
}

// -----

// A sentence is found by its batch.
#bt = #xf.dims<"B", "T">
#btd = #xf.dims<"B", "T", "">
#bhtd = #xf.dims<"B", "", "T", "">
module attributes {xf.bounds = {B = 4 : i64, T = 10 : i64}, xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.entry @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"},
      // expected-error@below {{the step of @decode needs this value of the sentence, but [8] has no dimension 'B'}}
      %memory: tensor<8xf32> {xf.name = "memory"}) -> (tensor<?x?x8xf32, #btd> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %x = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #bt> -> tensor<?x?x8xf32, #btd>
    %y = xf.map(%x, %memory) maps [[0, 1, 2], [2]] : (tensor<?x?x8xf32, #btd>, tensor<8xf32>) -> tensor<?x?x8xf32, #btd> {
    ^bb0(%a: f32, %c: f32):
      %d = arith.subf %a, %c : f32
      xf.yield %d : f32
    }
    xf.return %y : tensor<?x?x8xf32, #btd>
  }
}

// -----

// Roles that the entry does not fit.
// expected-error@below {{xf.generate names @decode, which is no entry}}
module attributes {xf.generate = {decode = @decode}} {
}

// -----

module attributes {xf.generate = {decode = @decode, tokens = "target", logits = "logits", batch = "B", target = "T"}} {
  // expected-error@below {{has no argument 'target', the tokens of a search}}
  xf.entry @decode(%tgt: tensor<?x?xi32, #xf.dims<"B", "T">> {xf.name = "tgt"}) -> (tensor<?x?xi32, #xf.dims<"B", "T">> {xf.name = "logits"}) {
    xf.return %tgt : tensor<?x?xi32, #xf.dims<"B", "T">>
  }
}

// -----

module attributes {xf.generate = {decode = @decode, tokens = "tgt", logits = "scores", batch = "B", target = "T"}} {
  // expected-error@below {{has no result 'scores', the logits of a search}}
  xf.entry @decode(%tgt: tensor<?x?xi32, #xf.dims<"B", "T">> {xf.name = "tgt"}) -> (tensor<?x?xi32, #xf.dims<"B", "T">> {xf.name = "logits"}) {
    xf.return %tgt : tensor<?x?xi32, #xf.dims<"B", "T">>
  }
}

// -----

module attributes {xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "L"}} {
  // expected-error@below {{its tokens 'tgt' are [B, T], but a search needs the dimensions 'B' and 'L'}}
  xf.entry @decode(%tgt: tensor<?x?xi32, #xf.dims<"B", "T">> {xf.name = "tgt"}) -> (tensor<?x?xi32, #xf.dims<"B", "T">> {xf.name = "logits"}) {
    xf.return %tgt : tensor<?x?xi32, #xf.dims<"B", "T">>
  }
}

// -----

// With factors as large as these, comparisons of 32 bits say something else of late positions.
#bt = #xf.dims<"B", "T">
#btd = #xf.dims<"B", "T", "">
#bhtd = #xf.dims<"B", "", "T", "">
module attributes {xf.bounds = {B = 4 : i64, T = 10 : i64}, xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.entry @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"}) -> (tensor<?x?x8xf32, #btd> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %x = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #bt> -> tensor<?x?x8xf32, #btd>
    // expected-note@below {{its keys are target positions, computed here}}
    %hy = xf.rearrange %x "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #btd> -> tensor<?x2x?x4xf32, #bhtd>
    // expected-error@below {{this attention lets a position read later ones, so no step can be derived from @decode}}
    %cy = xf.attend %hy, %hy, %hy scale 0.5 fill 0xFFF0000000000000 mask {
    ^bb0(%b: index, %head: index, %i: index, %j: index):
      %factor = arith.constant 1073741824 : index
      %query = arith.muli %i, %factor : index
      %key = arith.muli %j, %factor : index
      // expected-note@below {{the mask lets position i read position j > i: nothing in it implies j <= i}}
      %ok = arith.cmpi sle, %key, %query : index
      xf.yield %ok : i1
    } : tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd> -> (tensor<?x2x?x4xf32, #bhtd>)
    // expected-note@below {{it is used here}}
    %y = xf.rearrange %cy "B h T k -> B T (h k)" {} : tensor<?x2x?x4xf32, #bhtd> -> tensor<?x?x8xf32, #btd>
    // expected-note@below {{result 'logits' depends on it}}
    xf.return %y : tensor<?x?x8xf32, #btd>
  }
}

// -----

// A recurrence that begins at the end knows what is not there yet.
#bt = #xf.dims<"B", "T">
#btd = #xf.dims<"B", "T", "">
module attributes {xf.bounds = {B = 4 : i64, T = 10 : i64}, xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.entry @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"}) -> (tensor<?x?x8xf32, #btd> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %x = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #bt> -> tensor<?x?x8xf32, #btd>
    // expected-error@below {{this scan begins at the last of the target positions, so no step can be derived from @decode}}
    %y = xf.scan(%x) axis 1 reverse init [0.0] : (tensor<?x?x8xf32, #btd>) -> tensor<?x?x8xf32, #btd> {
    ^bb0(%s: f32, %a: f32):
      xf.yield %a, %s : f32, f32
    }
    // expected-note@below {{result 'logits' depends on it}}
    xf.return %y : tensor<?x?x8xf32, #btd>
  }
}
