// RUN: xf-opt %s -split-input-file -xf-check-sentences -verify-diagnostics

// A sum over the batch.
#bt = #xf.dims<"B", "T">
#btd = #xf.dims<"B", "T", "">
module attributes {xf.bounds = {B = 4 : i64, T = 10 : i64}, xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.entry @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"}) -> (tensor<?x?x8xf32, #btd> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %x = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #bt> -> tensor<?x?x8xf32, #btd>
    %turned = xf.rearrange %x "B T d -> T d B" {} : tensor<?x?x8xf32, #btd> -> tensor<?x8x?xf32, #xf.dims<"T", "", "B">>
    // expected-error@below {{this value mixes the sentences of a batch, so @decode cannot serve a search: its results would depend on the batch}}
    %sum = xf.reduce sum %turned : tensor<?x8x?xf32, #xf.dims<"T", "", "B">> -> tensor<?x8x1xf32, #xf.dims<"T", "", "">>
    %y = xf.map(%x, %sum) maps [[0, 1, 2], [1, 2, -1]] : (tensor<?x?x8xf32, #btd>, tensor<?x8x1xf32, #xf.dims<"T", "", "">>) -> tensor<?x?x8xf32, #btd> {
    ^bb0(%a: f32, %b: f32):
      %d = arith.subf %a, %b : f32
      xf.yield %d : f32
    }
    xf.return %y : tensor<?x?x8xf32, #btd>
  }
}

// -----

// Pairs of sentences, of which one is taken away again; in an encoder, too.
#bs = #xf.dims<"B", "S">
#bt = #xf.dims<"B", "T">
#abs = #xf.dims<"B", "B", "S">
module attributes {xf.bounds = {B = 4 : i64, S = 10 : i64, T = 10 : i64},
                   xf.generate = {encode = @encode, decode = @decode, tokens = "tgt", logits = "logits", batch = "B", source = "S", target = "T"}} {
  xf.entry @encode(%x: tensor<?x?xf32, #bs> {xf.name = "x"}) -> (tensor<?x1x?xf32, #xf.dims<"B", "", "S">> {xf.name = "memory"}) {
    // expected-error@below {{this value holds pairs of the sentences of a batch, so @encode cannot serve a search}}
    %pairs = xf.map(%x, %x) maps [[0, 2], [1, 2]] : (tensor<?x?xf32, #bs>, tensor<?x?xf32, #bs>) -> tensor<?x?x?xf32, #abs> {
    ^bb0(%a: f32, %b: f32):
      %d = arith.subf %a, %b : f32
      xf.yield %d : f32
    }
    %turned = xf.rearrange %pairs "a b s -> b s a" {} : tensor<?x?x?xf32, #abs> -> tensor<?x?x?xf32, #xf.dims<"B", "S", "B">>
    %sum = xf.reduce max %turned : tensor<?x?x?xf32, #xf.dims<"B", "S", "B">> -> tensor<?x?x1xf32, #xf.dims<"B", "S", "">>
    %memory = xf.rearrange %sum "b s 1 -> b 1 s" {} : tensor<?x?x1xf32, #xf.dims<"B", "S", "">> -> tensor<?x1x?xf32, #xf.dims<"B", "", "S">>
    xf.return %memory : tensor<?x1x?xf32, #xf.dims<"B", "", "S">>
  }
  xf.entry @decode(%tgt: tensor<?x?xf32, #bt> {xf.name = "tgt"}) -> (tensor<?x?xf32, #bt> {xf.name = "logits"}) {
    xf.return %tgt : tensor<?x?xf32, #bt>
  }
}

// -----

// A sentence's number, a recurrence from one to the next. What a prediction does not read may be anything.
#b = #xf.dims<"B">
#bs = #xf.dims<"B", "S">
module attributes {xf.bounds = {B = 4 : i64, S = 10 : i64}, xf.predict = {entry = @run, result = "y", batch = "B", source = "S"}} {
  xf.entry @run(%x: tensor<?x?xf32, #bs> {xf.name = "x"}) -> (tensor<?x?xf32, #bs> {xf.name = "y"}, tensor<?xi32, #b> {xf.name = "z"}) {
    // expected-error@below {{this counts the sentences of a batch, so @run cannot serve predictions: its results would depend on the batch}}
    %numbers = xf.positions : tensor<?xi32, #b>
    %other = xf.positions : tensor<?xi32, #b> {offset = 2 : i64}
    // expected-error@below {{this scan runs over the sentences of a batch}}
    %sums = xf.scan(%x) axis 0 init [0.0] : (tensor<?x?xf32, #bs>) -> tensor<?x?xf32, #bs> {
    ^bb0(%s: f32, %a: f32):
      %p = arith.addf %s, %a : f32
      xf.yield %p, %p : f32, f32
    }
    %y = xf.map(%sums, %numbers) maps [[0, 1], [0]] : (tensor<?x?xf32, #bs>, tensor<?xi32, #b>) -> tensor<?x?xf32, #bs> {
    ^bb0(%a: f32, %n: i32):
      %f = arith.sitofp %n : i32 to f32
      %d = arith.mulf %a, %f : f32
      xf.yield %d : f32
    }
    xf.return %y, %other : tensor<?x?xf32, #bs>, tensor<?xi32, #b>
  }
}

// -----

// Attention over sentences; a mask that knows which sentence it is for, and one that reads another's tokens.
#bs = #xf.dims<"B", "S">
#bhsd = #xf.dims<"B", "", "S", "">
#shbd = #xf.dims<"S", "", "B", "">
module attributes {xf.bounds = {B = 4 : i64, S = 10 : i64}, xf.predict = {entry = @run, result = "y", batch = "B", source = "S"}} {
  xf.entry @run(%x: tensor<?x2x?x4xf32, #bhsd> {xf.name = "x"}, %ids: tensor<?x?xi32, #bs> {xf.name = "ids"}) -> (tensor<?x6x?x4xf32, #bhsd> {xf.name = "y"}) {
    %t = xf.rearrange %x "b h s d -> s h b d" {} : tensor<?x2x?x4xf32, #bhsd> -> tensor<?x2x?x4xf32, #shbd>
    // expected-error@below {{this attention mixes the sentences of a batch}}
    %u = xf.attend %t, %t, %t scale 0.5 fill 0xFFF0000000000000 : tensor<?x2x?x4xf32, #shbd>, tensor<?x2x?x4xf32, #shbd>, tensor<?x2x?x4xf32, #shbd> -> (tensor<?x2x?x4xf32, #shbd>)
    %v = xf.rearrange %u "s h b d -> b h s d" {} : tensor<?x2x?x4xf32, #shbd> -> tensor<?x2x?x4xf32, #bhsd>
    // expected-error@below {{a mask, bias or score of this attention depends on which sentence of a batch it is for}}
    %w = xf.attend %x, %x, %x scale 0.5 fill 0xFFF0000000000000 mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %ok = arith.cmpi sle, %b, %j : index
      xf.yield %ok : i1
    } : tensor<?x2x?x4xf32, #bhsd>, tensor<?x2x?x4xf32, #bhsd>, tensor<?x2x?x4xf32, #bhsd> -> (tensor<?x2x?x4xf32, #bhsd>)
    // expected-error@below {{a mask, bias or score of this attention depends on which sentence of a batch it is for}}
    %z = xf.attend %x, %x, %x scale 0.5 fill 0xFFF0000000000000 mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %other = xf.at %ids[%h, %j] : tensor<?x?xi32, #bs>
      %zero = arith.constant 0 : i32
      %ok = arith.cmpi ne, %other, %zero : i32
      xf.yield %ok : i1
    } : tensor<?x2x?x4xf32, #bhsd>, tensor<?x2x?x4xf32, #bhsd>, tensor<?x2x?x4xf32, #bhsd> -> (tensor<?x2x?x4xf32, #bhsd>)
    %y = xf.concat(%v, %w, %z) axis 1 : (tensor<?x2x?x4xf32, #bhsd>, tensor<?x2x?x4xf32, #bhsd>, tensor<?x2x?x4xf32, #bhsd>) -> tensor<?x6x?x4xf32, #bhsd>
    xf.return %y : tensor<?x6x?x4xf32, #bhsd>
  }
}

// -----

// What sees its own sentence only, whatever the order of the dimensions.
#bs = #xf.dims<"B", "S">
#sbd = #xf.dims<"S", "B", "">
#bhsd = #xf.dims<"B", "", "S", "">
module attributes {xf.bounds = {B = 4 : i64, S = 10 : i64}, xf.predict = {entry = @run, result = "y", batch = "B", source = "S"}} {
  xf.entry @run(%x: tensor<?x?x8xf32, #sbd> {xf.name = "x"}, %ids: tensor<?x?xi32, #bs> {xf.name = "ids"}) -> (tensor<?x2x?x4xf32, #bhsd> {xf.name = "y"}) {
    %sums = xf.scan(%x) axis 0 init [0.0] : (tensor<?x?x8xf32, #sbd>) -> tensor<?x?x8xf32, #sbd> {
    ^bb0(%s: f32, %a: f32):
      %p = arith.addf %s, %a : f32
      xf.yield %p, %p : f32, f32
    }
    %z = xf.repeat 2 (%sums) : (tensor<?x?x8xf32, #sbd>) -> (tensor<?x?x8xf32, #sbd>) {
    ^bb0(%layer: index, %h: tensor<?x?x8xf32, #sbd>):
      xf.yield %h : tensor<?x?x8xf32, #sbd>
    }
    %w = xf.rearrange %z "s b (h k) -> b h s k" {h = 2 : i64} : tensor<?x?x8xf32, #sbd> -> tensor<?x2x?x4xf32, #bhsd>
    %y = xf.attend %w, %w, %w scale 0.5 fill 0xFFF0000000000000 mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %own = xf.at %ids[%b, %j] : tensor<?x?xi32, #bs>
      %zero = arith.constant 0 : i32
      %ok = arith.cmpi ne, %own, %zero : i32
      xf.yield %ok : i1
    } : tensor<?x2x?x4xf32, #bhsd>, tensor<?x2x?x4xf32, #bhsd>, tensor<?x2x?x4xf32, #bhsd> -> (tensor<?x2x?x4xf32, #bhsd>)
    xf.return %y : tensor<?x2x?x4xf32, #bhsd>
  }
}
