// RUN: xf-opt %s -split-input-file -xf-derive-step | FileCheck %s

// A pre-norm decoder of two layers: tokens and positions, causal attention that skips padding, cross attention.
#bt = #xf.dims<"B", "T">
#bs = #xf.dims<"B", "S">
#btd = #xf.dims<"B", "T", "">
#bsd = #xf.dims<"B", "S", "">
#bhtd = #xf.dims<"B", "", "T", "">
#bhsd = #xf.dims<"B", "", "S", "">

module attributes {xf.bounds = {B = 4 : i64, S = 12 : i64, T = 10 : i64},
    xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", source = "S", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.parameter @position : tensor<10x8xf32> {
  ^bb0(%p: index, %i: index):
    %v = arith.index_cast %p : index to i64
    %f = arith.sitofp %v : i64 to f64
    %s = math.sin %f : f64
    xf.yield %s : f64
  }
  xf.parameter @alpha : tensor<8xf32> path "layers.{0}.norm.alpha" counts [2]
  xf.parameter @qkv : tensor<24x8xf32> path "layers.{0}.qkv" counts [2]
  xf.parameter @cross_q : tensor<8x8xf32> path "layers.{0}.cross.q" counts [2]
  xf.parameter @cross_kv : tensor<16x8xf32> path "layers.{0}.cross.kv" counts [2]
  xf.parameter @out : tensor<11x8xf32> path "out"

  // CHECK: xf.bounds = {B = 4 : i64, N = 10 : i64, {{.*}}xf.generate = {batch = "B", begin = @decode.begin, {{.*}}new = "N", {{.*}}step = @decode.step
  // CHECK: xf.entry full @decode
  xf.entry full @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"}, %memory: tensor<?x?x8xf32, #bsd> {xf.name = "memory"},
                   %src: tensor<?x?xi32, #bs> {xf.name = "src"}, %unused: tensor<?x?xi32, #bs> {xf.name = "unused"})
      -> (tensor<?x?x11xf32, #btd> {xf.name = "logits"}, tensor<?x2x?x?xf32, #xf.dims<"B", "", "T", "S">> {xf.name = "attention"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %e = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #bt> -> tensor<?x?x8xf32, #btd>
    %positions = xf.positions : tensor<?xi32, #xf.dims<"T">>
    %ptable = xf.param @position : tensor<10x8xf32>
    %p = xf.embed %ptable, %positions : tensor<10x8xf32>, tensor<?xi32, #xf.dims<"T">> -> tensor<?x8xf32, #xf.dims<"T", "">>
    %x0 = xf.map(%e, %p) maps [[0, 1, 2], [1, 2]] : (tensor<?x?x8xf32, #btd>, tensor<?x8xf32, #xf.dims<"T", "">>) -> tensor<?x?x8xf32, #btd> {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      xf.yield %s : f32
    }
    %y, %att = xf.repeat 2 (%x0) : (tensor<?x?x8xf32, #btd>) -> (tensor<?x?x8xf32, #btd>, tensor<?x2x?x?xf32, #xf.dims<"B", "", "T", "S">>) {
    ^bb0(%layer: index, %x: tensor<?x?x8xf32, #btd>):
      %alpha = xf.param @alpha[%layer] : tensor<8xf32>
      %sum = xf.reduce sum %x : tensor<?x?x8xf32, #btd> -> tensor<?x?x1xf32, #btd>
      %h = xf.map(%x, %sum, %alpha) maps [[0, 1, 2], [0, 1, -1], [2]] : (tensor<?x?x8xf32, #btd>, tensor<?x?x1xf32, #btd>, tensor<8xf32>) -> tensor<?x?x8xf32, #btd> {
      ^bb0(%a: f32, %b: f32, %c: f32):
        %eighth = arith.constant 1.250000e-01 : f32
        %m = arith.mulf %b, %eighth : f32
        %s = arith.subf %a, %m : f32
        %r = arith.mulf %s, %c : f32
        xf.yield %r : f32
      }
      %w = xf.param @qkv[%layer] : tensor<24x8xf32>
      %all = xf.linear %h, %w : tensor<?x?x8xf32, #btd>, tensor<24x8xf32> -> tensor<?x?x24xf32, #btd>
      %q1 = xf.slice %all axis 2 start 0 : tensor<?x?x24xf32, #btd> -> tensor<?x?x8xf32, #btd>
      %k1 = xf.slice %all axis 2 start 8 : tensor<?x?x24xf32, #btd> -> tensor<?x?x8xf32, #btd>
      %v1 = xf.slice %all axis 2 start 16 : tensor<?x?x24xf32, #btd> -> tensor<?x?x8xf32, #btd>
      %q = xf.rearrange %q1 "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #btd> -> tensor<?x2x?x4xf32, #bhtd>
      %k = xf.rearrange %k1 "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #btd> -> tensor<?x2x?x4xf32, #bhtd>
      %v = xf.rearrange %v1 "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #btd> -> tensor<?x2x?x4xf32, #bhtd>
      %c = xf.attend %q, %k, %v scale 0.5 fill -1.0e+09 mask {
      ^bb0(%b: index, %head: index, %i: index, %j: index):
        %causal = arith.cmpi sle, %j, %i : index
        %token = xf.at %tgt[%b, %j] : tensor<?x?xi32, #bt>
        %zero = arith.constant 0 : i32
        %real = arith.cmpi ne, %token, %zero : i32
        %ok = arith.andi %causal, %real : i1
        xf.yield %ok : i1
      } : tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd> -> (tensor<?x2x?x4xf32, #bhtd>)
      %merged = xf.rearrange %c "B h T k -> B T (h k)" {} : tensor<?x2x?x4xf32, #bhtd> -> tensor<?x?x8xf32, #btd>
      %x2 = xf.map(%x, %merged) maps [[0, 1, 2], [0, 1, 2]] : (tensor<?x?x8xf32, #btd>, tensor<?x?x8xf32, #btd>) -> tensor<?x?x8xf32, #btd> {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        xf.yield %s : f32
      }
      %wq = xf.param @cross_q[%layer] : tensor<8x8xf32>
      %wkv = xf.param @cross_kv[%layer] : tensor<16x8xf32>
      %cq1 = xf.linear %x2, %wq : tensor<?x?x8xf32, #btd>, tensor<8x8xf32> -> tensor<?x?x8xf32, #btd>
      %cq = xf.rearrange %cq1 "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #btd> -> tensor<?x2x?x4xf32, #bhtd>
      %ckv = xf.linear %memory, %wkv : tensor<?x?x8xf32, #bsd>, tensor<16x8xf32> -> tensor<?x?x16xf32, #bsd>
      %ck1 = xf.slice %ckv axis 2 start 0 : tensor<?x?x16xf32, #bsd> -> tensor<?x?x8xf32, #bsd>
      %cv1 = xf.slice %ckv axis 2 start 8 : tensor<?x?x16xf32, #bsd> -> tensor<?x?x8xf32, #bsd>
      %ck = xf.rearrange %ck1 "B S (h k) -> B h S k" {h = 2 : i64} : tensor<?x?x8xf32, #bsd> -> tensor<?x2x?x4xf32, #bhsd>
      %cv = xf.rearrange %cv1 "B S (h k) -> B h S k" {h = 2 : i64} : tensor<?x?x8xf32, #bsd> -> tensor<?x2x?x4xf32, #bhsd>
      %cc, %probs = xf.attend %cq, %ck, %cv scale 0.5 fill -1.0e+09 mask {
      ^bb0(%b: index, %head: index, %i: index, %j: index):
        %token = xf.at %src[%b, %j] : tensor<?x?xi32, #bs>
        %zero = arith.constant 0 : i32
        %real = arith.cmpi ne, %token, %zero : i32
        xf.yield %real : i1
      } : tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhsd>, tensor<?x2x?x4xf32, #bhsd> -> (tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x?xf32, #xf.dims<"B", "", "T", "S">>)
      %cmerged = xf.rearrange %cc "B h T k -> B T (h k)" {} : tensor<?x2x?x4xf32, #bhtd> -> tensor<?x?x8xf32, #btd>
      %x3 = xf.map(%x2, %cmerged) maps [[0, 1, 2], [0, 1, 2]] : (tensor<?x?x8xf32, #btd>, tensor<?x?x8xf32, #btd>) -> tensor<?x?x8xf32, #btd> {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        xf.yield %s : f32
      }
      xf.yield %x3, %probs : tensor<?x?x8xf32, #btd>, tensor<?x2x?x?xf32, #xf.dims<"B", "", "T", "S">>
    }
    %wout = xf.param @out : tensor<11x8xf32>
    %logits = xf.linear %y, %wout : tensor<?x?x8xf32, #btd>, tensor<11x8xf32> -> tensor<?x?x11xf32, #btd>
    xf.return %logits, %att : tensor<?x?x11xf32, #btd>, tensor<?x2x?x?xf32, #xf.dims<"B", "", "T", "S">>
  }
}

// CHECK-DAG: xf.state @decode.keys.0 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 2{{$}}
// CHECK-DAG: xf.state @decode.values.0 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 2{{$}}
// CHECK-DAG: xf.state @decode.past.0 : tensor<?x?xi32, #xf.dims<"B", "T">> layers 1{{$}}
// CHECK-DAG: xf.state @decode.sentence.keys.0 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> layers 2 sentences
// CHECK-DAG: xf.state @decode.sentence.values.0 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> layers 2 sentences
// CHECK-DAG: xf.state @decode.sentence.given.0 : tensor<?x?xi32, #xf.dims<"B", "S">> layers 1 sentences
// CHECK: xf.entry begin @decode.begin(%[[MEMORY:.*]]: {{.*}} {xf.name = "memory"}, %[[SRC:.*]]: {{.*}} {xf.name = "src"}, %[[SLOTS:.*]]: {{.*}} {xf.name = "xf.slots"}) {
// CHECK: xf.store %[[SRC]] to @decode.sentence.given.0[%{{.*}}] slots %[[SLOTS]]
// CHECK: xf.repeat 2() : () -> () {
// CHECK: ^bb0(%[[LAYER:.*]]: index):
// CHECK-NOT: xf.attend
// CHECK: xf.store %{{.*}} to @decode.sentence.keys.0[%[[LAYER]]]
// CHECK: xf.store %{{.*}} to @decode.sentence.values.0[%[[LAYER]]]
// CHECK: xf.entry step @decode.step(%[[TGT:.*]]: tensor<?x?xi32, #xf.dims<"B", "N">> {xf.name = "tgt"}, %[[PAST:.*]]: tensor<?xi32, #xf.dims<"B">> {xf.name = "xf.past"}, %[[SLOTS:.*]]: tensor<?xi32, #xf.dims<"B">> {xf.name = "xf.slots"}) -> (tensor<?x?x11xf32, #xf.dims<"B", "N", "">> {xf.name = "logits"}) {
// CHECK: %[[TOKENS:.*]] = xf.append %[[TGT]] to @decode.past.0[%{{.*}}] axis 1 past %[[PAST]]
// CHECK: %[[SRC:.*]] = xf.load @decode.sentence.given.0[%{{.*}}] slots %[[SLOTS]]
// CHECK: xf.positions from %[[PAST]]
// CHECK: xf.map(%{{.*}}, %{{.*}}) maps {{\[\[}}0, 1, 2], [0, 1, 2]]
// CHECK: xf.repeat 2(%{{.*}}) : (tensor<?x?x8xf32, #xf.dims<"B", "N", "">>) -> tensor<?x?x8xf32, #xf.dims<"B", "N", "">> {
// CHECK: ^bb0(%[[LAYER:.*]]: index, %{{.*}}):
// CHECK: %[[CK:.*]] = xf.load @decode.sentence.keys.0[%[[LAYER]]] slots %[[SLOTS]]
// CHECK: %[[CV:.*]] = xf.load @decode.sentence.values.0[%[[LAYER]]] slots %[[SLOTS]]
// CHECK: %[[K:.*]] = xf.append %{{.*}} to @decode.keys.0[%[[LAYER]]] axis 2 past %[[PAST]]
// CHECK: %[[V:.*]] = xf.append %{{.*}} to @decode.values.0[%[[LAYER]]] axis 2 past %[[PAST]]
// CHECK: xf.attend %{{.*}}, %[[K]], %[[V]] scale
// CHECK: ^bb0(%[[B:.*]]: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[P:.*]] = xf.at %[[PAST]][%[[B]]]
// CHECK: %[[PI:.*]] = arith.index_cast %[[P]]
// CHECK: %[[QI:.*]] = arith.addi %[[PI]], %[[I]]
// CHECK: arith.cmpi sle, %[[J]], %[[QI]]
// CHECK: xf.at %[[TOKENS]][%[[B]], %[[J]]]
// CHECK: xf.attend %{{.*}}, %[[CK]], %[[CV]] scale
// CHECK: xf.at %[[SRC]]
// CHECK: -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>)
// CHECK: xf.return %{{.*}} : tensor<?x?x11xf32, #xf.dims<"B", "N", "">>

// -----

// Sequence first: states keep the row first. Keys and values are the decoder's own input; tokens stand in the mask.
#tb = #xf.dims<"T", "B">
#tbd = #xf.dims<"T", "B", "">
#sb = #xf.dims<"S", "B">
#sbd = #xf.dims<"S", "B", "">
#bhtd = #xf.dims<"B", "", "T", "">
#bhsd = #xf.dims<"B", "", "S", "">
module attributes {xf.bounds = {B = 4 : i64, S = 12 : i64, T = 10 : i64, N = 3 : i64},
    xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", source = "S", target = "T", sequence_first}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.parameter @position : tensor<10x8xf32> path "position"
  // N is taken.
  // CHECK: new = "N1"
  xf.entry @decode(%memory: tensor<?x?x8xf32, #sbd> {xf.name = "memory"}, %src: tensor<?x?xi32, #sb> {xf.name = "src"},
                   %tgt: tensor<?x?xi32, #tb> {xf.name = "tgt"}) -> (tensor<?x?x8xf32, #tbd> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %e = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #tb> -> tensor<?x?x8xf32, #tbd>
    %positions = xf.positions : tensor<?xi32, #xf.dims<"T">> {offset = 1 : i64}
    %ptable = xf.param @position : tensor<10x8xf32>
    %p = xf.embed %ptable, %positions : tensor<10x8xf32>, tensor<?xi32, #xf.dims<"T">> -> tensor<?x8xf32, #xf.dims<"T", "">>
    %p1 = xf.rearrange %p "T d -> T 1 d" {} : tensor<?x8xf32, #xf.dims<"T", "">> -> tensor<?x1x8xf32, #xf.dims<"T", "", "">>
    %half = xf.slice %p1 axis 2 start 0 step 2 : tensor<?x1x8xf32, #xf.dims<"T", "", "">> -> tensor<?x1x4xf32, #xf.dims<"T", "", "">>
    %both = xf.concat(%half, %half) axis 2 : (tensor<?x1x4xf32, #xf.dims<"T", "", "">>, tensor<?x1x4xf32, #xf.dims<"T", "", "">>) -> tensor<?x1x8xf32, #xf.dims<"T", "", "">>
    %row = xf.reduce sum %both : tensor<?x1x8xf32, #xf.dims<"T", "", "">> -> tensor<?x1x1xf32, #xf.dims<"T", "", "">>
    %norm = xf.map(%both, %row) maps [[0, 1, 2], [0, 1, -1]] : (tensor<?x1x8xf32, #xf.dims<"T", "", "">>, tensor<?x1x1xf32, #xf.dims<"T", "", "">>) -> tensor<?x1x8xf32, #xf.dims<"T", "", "">> {
    ^bb0(%a: f32, %b: f32):
      %s = arith.divf %a, %b : f32
      xf.yield %s : f32
    }
    %x = xf.map(%e, %norm) maps [[0, 1, 2], [0, -1, 2]] : (tensor<?x?x8xf32, #tbd>, tensor<?x1x8xf32, #xf.dims<"T", "", "">>) -> tensor<?x?x8xf32, #tbd> {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      xf.yield %s : f32
    }
    %h = xf.rearrange %x "T B (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #tbd> -> tensor<?x2x?x4xf32, #bhtd>
    %c = xf.attend %h, %h, %h scale 0.5 fill 0xFFF0000000000000 mask {
    ^bb0(%b: index, %head: index, %i: index, %j: index):
      %ahead = arith.cmpi slt, %i, %j : index
      %true = arith.constant true
      %causal = arith.xori %ahead, %true : i1
      %token = xf.at %tgt[%j, %b] : tensor<?x?xi32, #tb>
      %zero = arith.constant 0 : i32
      %real = arith.cmpi ne, %token, %zero : i32
      %ok = arith.andi %real, %causal : i1
      xf.yield %ok : i1
    } bias {
    ^bb0(%b: index, %head: index, %i: index, %j: index):
      %token = xf.at %tgt[%i, %b] : tensor<?x?xi32, #tb>
      %value = xf.at %p[%j, %head] : tensor<?x8xf32, #xf.dims<"T", "">>
      %f = arith.sitofp %token : i32 to f32
      %s = arith.addf %f, %value : f32
      xf.yield %s : f32
    } : tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd> -> (tensor<?x2x?x4xf32, #bhtd>)
    %m = xf.rearrange %memory "S B (h k) -> B h S k" {h = 2 : i64} : tensor<?x?x8xf32, #sbd> -> tensor<?x2x?x4xf32, #bhsd>
    %d = xf.attend %c, %m, %m scale 0.5 fill 0xFFF0000000000000 mask {
    ^bb0(%b: index, %head: index, %i: index, %j: index):
      %token = xf.at %src[%j, %b] : tensor<?x?xi32, #sb>
      %zero = arith.constant 0 : i32
      %real = arith.cmpi ne, %token, %zero : i32
      xf.yield %real : i1
    } : tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhsd>, tensor<?x2x?x4xf32, #bhsd> -> (tensor<?x2x?x4xf32, #bhtd>)
    %y = xf.rearrange %d "B h T k -> T B (h k)" {} : tensor<?x2x?x4xf32, #bhtd> -> tensor<?x?x8xf32, #tbd>
    xf.return %y : tensor<?x?x8xf32, #tbd>
  }
}

// CHECK-DAG: xf.state @decode.past.0 : tensor<?x?xi32, #xf.dims<"B", "T">> layers 1{{$}}
// CHECK-DAG: xf.state @decode.past.1 : tensor<?x?x8xf32, #xf.dims<"B", "T", "">> layers 1{{$}}
// CHECK-DAG: xf.state @decode.sentence.given.0 : tensor<?x?xi32, #xf.dims<"B", "S">> layers 1 sentences
// CHECK: xf.entry begin @decode.begin(%[[MEMORY:.*]]: tensor<?x?x8xf32, #xf.dims<"S", "B", "">> {xf.name = "memory"}, %[[SRC:.*]]: {{.*}} {xf.name = "src"}, %[[SLOTS:.*]]: {{.*}} {xf.name = "xf.slots"})
// CHECK: %[[SB:.*]] = xf.rearrange %[[SRC]] "d0 d1 -> d1 d0"
// CHECK: xf.store %[[SB]] to @decode.sentence.given.0
// CHECK: xf.entry step @decode.step(%[[TGT:.*]]: tensor<?x?xi32, #xf.dims<"N1", "B">> {xf.name = "tgt"}, %[[PAST:.*]]: {{.*}} {xf.name = "xf.past"}
// CHECK: %[[NEW:.*]] = xf.rearrange %[[TGT]] "d0 d1 -> d1 d0"
// CHECK: %[[ALL:.*]] = xf.append %[[NEW]] to @decode.past.0[%{{.*}}] axis 1
// CHECK: %[[TOKENS:.*]] = xf.rearrange %[[ALL]] "d1 d0 -> d0 d1"
// CHECK: xf.positions from %[[PAST]] : {{.*}} {offset = 1 : i64}
// CHECK: %[[P:.*]] = xf.embed {{.*}} tensor<?x?xi32, #xf.dims<"B", "N1">> -> tensor<?x?x8xf32, #xf.dims<"B", "N1", "">>
// CHECK: %[[TABLE:.*]] = xf.append %[[P]] to @decode.past.1
// CHECK: xf.rearrange %[[P]] "rows T d -> rows T 1 d"
// CHECK: xf.slice {{.*}} axis 3
// CHECK: xf.concat{{.*}} axis 3
// CHECK: xf.map{{.*}} maps {{\[\[}}0, 1, 2, 3], [0, 1, 2, -1]]
// CHECK: xf.map{{.*}} maps {{\[\[}}0, 1, 2], [1, 0, -1, 2]]
// CHECK: xf.attend
// CHECK: ^bb0(%[[B:.*]]: index, %[[H:.*]]: index, %{{.*}}: index, %[[J:.*]]: index):
// CHECK: xf.at %[[TOKENS]][%[[J]], %[[B]]]
// CHECK: } bias {
// CHECK: ^bb0(%[[B:.*]]: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: xf.at %[[TGT]][%[[I]], %[[B]]]
// CHECK-NEXT: xf.at %[[TABLE]][%[[B]], %[[J]], %[[H]]]

// -----

// A decoder alone, with a recurrence and positions that turn queries and keys: no begin.
#bt = #xf.dims<"B", "T">
#btd = #xf.dims<"B", "T", "">
#td = #xf.dims<"T", "">
#bhtd = #xf.dims<"B", "", "T", "">
module attributes {xf.bounds = {B = 4 : i64, T = 10 : i64},
    xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.parameter @cosines : tensor<10x4xf32> path "cosines"
  // CHECK: xf.generate = {batch = "B", decode = @decode, logits
  xf.entry @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"}) -> (tensor<?x?x11xf32, #btd> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %x = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #bt> -> tensor<?x?x8xf32, #btd>
    %y = xf.repeat 3 (%x) : (tensor<?x?x8xf32, #btd>) -> (tensor<?x?x8xf32, #btd>) {
    ^bb0(%outer: index, %o: tensor<?x?x8xf32, #btd>):
      %inner = xf.repeat 2 (%o) : (tensor<?x?x8xf32, #btd>) -> (tensor<?x?x8xf32, #btd>) {
      ^bb0(%layer: index, %h: tensor<?x?x8xf32, #btd>):
        %s = xf.scan(%h) axis 1 init [0.0] : (tensor<?x?x8xf32, #btd>) -> tensor<?x?x8xf32, #btd> {
        ^bb0(%st: f32, %a: f32):
          %n = arith.addf %st, %a : f32
          xf.yield %n, %n : f32, f32
        }
        %q = xf.rearrange %s "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #btd> -> tensor<?x2x?x4xf32, #bhtd>
        %pos = xf.positions : tensor<?xi32, #xf.dims<"T">>
        %ct = xf.param @cosines : tensor<10x4xf32>
        %cos = xf.embed %ct, %pos : tensor<10x4xf32>, tensor<?xi32, #xf.dims<"T">> -> tensor<?x4xf32, #td>
        %k = xf.map(%q, %cos) maps [[0, 1, 2, 3], [2, 3]] : (tensor<?x2x?x4xf32, #bhtd>, tensor<?x4xf32, #td>) -> tensor<?x2x?x4xf32, #bhtd> {
        ^bb0(%a: f32, %c: f32):
          %r = arith.mulf %a, %c : f32
          xf.yield %r : f32
        }
        %c = xf.attend %k, %k, %q scale 0.5 fill 0xFFF0000000000000 mask {
        ^bb0(%b: index, %head: index, %i: index, %j: index):
          %distance = arith.subi %i, %j : index
          %zero = arith.constant 0 : index
          %window = arith.constant 4 : index
          %past = arith.cmpi sge, %distance, %zero : index
          %near = arith.cmpi slt, %distance, %window : index
          %ok = arith.andi %past, %near : i1
          xf.yield %ok : i1
        } score {
        ^bb0(%b: index, %head: index, %i: index, %j: index, %score: f32):
          %distance = arith.subi %i, %j : index
          %token = xf.at %tgt[%b, %i] : tensor<?x?xi32, #bt>
          %d = arith.index_cast %distance : index to i32
          %sum = arith.addi %d, %token : i32
          %f = arith.sitofp %sum : i32 to f32
          %r = arith.mulf %f, %score : f32
          %t = math.tanh %r : f32
          xf.yield %t : f32
        } : tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd> -> (tensor<?x2x?x4xf32, #bhtd>)
        %m = xf.rearrange %c "B h T k -> B T (h k)" {} : tensor<?x2x?x4xf32, #bhtd> -> tensor<?x?x8xf32, #btd>
        xf.yield %m : tensor<?x?x8xf32, #btd>
      }
      xf.yield %inner : tensor<?x?x8xf32, #btd>
    }
    %logits = xf.linear %y, %table : tensor<?x?x8xf32, #btd>, tensor<11x8xf32> -> tensor<?x?x11xf32, #btd>
    xf.return %logits : tensor<?x?x11xf32, #btd>
  }
}

// CHECK: xf.state @decode.scan.0 : tensor<?x8xf32, #xf.dims<"B", "">> layers 6{{$}}
// CHECK: xf.state @decode.keys.0 : {{.*}} layers 6{{$}}
// CHECK: xf.entry step @decode.step
// CHECK: ^bb0(%[[OUTER:.*]]: index
// CHECK: ^bb0(%[[INNER:.*]]: index
// CHECK: %[[COUNT:.*]] = arith.constant 2 : index
// CHECK: %[[FIRST:.*]] = arith.muli %[[OUTER]], %[[COUNT]]
// CHECK: %[[LAYER:.*]] = arith.addi %[[FIRST]], %[[INNER]]
// CHECK: xf.scan_step(%{{.*}}) states [@decode.scan.0][%[[LAYER]]] past %{{.*}} axis 1 init [0.0
// CHECK: xf.map{{.*}} maps {{\[\[}}0, 1, 2, 3], [0, 2, 3]]
// CHECK: xf.append {{.*}} to @decode.keys.0[%[[LAYER]]]
// CHECK: xf.attend
// CHECK: } score {
// CHECK: ^bb0(%[[B:.*]]: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index, %{{.*}}: f32):
// CHECK: %[[P:.*]] = xf.at %{{.*}}[%[[B]]]
// CHECK: %[[PAST:.*]] = arith.index_cast %[[P]]
// CHECK: %[[AT:.*]] = arith.addi %[[PAST]], %[[I]]
// CHECK: arith.subi %[[AT]], %[[J]]
// CHECK: xf.at %{{.*}}[%[[B]], %[[I]]]

// -----

// decode encodes its source itself, in a loop; the decoder's loop carries the memory on, too. Self-attention's keys are
// the same for all layers: one state of one layer. The recurrence is sequence first.
#tb = #xf.dims<"T", "B">
#tbd = #xf.dims<"T", "B", "">
#bs = #xf.dims<"B", "S">
#bsd = #xf.dims<"B", "S", "">
#bhtd = #xf.dims<"B", "", "T", "">
#bhsd = #xf.dims<"B", "", "S", "">
module attributes {xf.bounds = {B = 4 : i64, S = 12 : i64, T = 10 : i64},
    xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", source = "S", target = "T", sequence_first}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.parameter @encoder : tensor<8x8xf32> path "encoder.{0}" counts [2]
  xf.parameter @memory : tensor<8x8xf32> path "memory.{0}" counts [3]
  xf.entry @decode(%tgt: tensor<?x?xi32, #tb> {xf.name = "tgt"}, %src: tensor<?x?xi32, #bs> {xf.name = "src"})
      -> (tensor<?x?x8xf32, #tbd> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %s = xf.embed %table, %src : tensor<11x8xf32>, tensor<?x?xi32, #bs> -> tensor<?x?x8xf32, #bsd>
    %m0 = xf.repeat 2 (%s) : (tensor<?x?x8xf32, #bsd>) -> (tensor<?x?x8xf32, #bsd>) {
    ^bb0(%layer: index, %h: tensor<?x?x8xf32, #bsd>):
      %w = xf.param @encoder[%layer] : tensor<8x8xf32>
      %y = xf.linear %h, %w : tensor<?x?x8xf32, #bsd>, tensor<8x8xf32> -> tensor<?x?x8xf32, #bsd>
      xf.yield %y : tensor<?x?x8xf32, #bsd>
    }
    %x = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #tb> -> tensor<?x?x8xf32, #tbd>
    %k = xf.rearrange %x "T B (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #tbd> -> tensor<?x2x?x4xf32, #bhtd>
    %y, %m = xf.repeat 3 (%x, %m0) : (tensor<?x?x8xf32, #tbd>, tensor<?x?x8xf32, #bsd>) -> (tensor<?x?x8xf32, #tbd>, tensor<?x?x8xf32, #bsd>) {
    ^bb0(%layer: index, %h: tensor<?x?x8xf32, #tbd>, %mem: tensor<?x?x8xf32, #bsd>):
      %cells = xf.scan(%h) axis 0 init [0.5] : (tensor<?x?x8xf32, #tbd>) -> tensor<?x?x8xf32, #tbd> {
      ^bb0(%st: f32, %a: f32):
        %half = arith.constant 5.000000e-01 : f32
        %p = arith.mulf %st, %half : f32
        %n = arith.addf %p, %a : f32
        xf.yield %n, %n : f32, f32
      }
      %q = xf.rearrange %cells "T B (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #tbd> -> tensor<?x2x?x4xf32, #bhtd>
      %c = xf.attend %q, %k, %k scale 0.5 fill 0xFFF0000000000000 mask {
      ^bb0(%b: index, %head: index, %i: index, %j: index):
        %i32 = arith.index_cast %i : index to i32
        %j32 = arith.index_cast %j : index to i32
        %ok = arith.cmpi ule, %j32, %i32 : i32
        xf.yield %ok : i1
      } : tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhtd> -> (tensor<?x2x?x4xf32, #bhtd>)
      %direct = xf.rearrange %mem "B S (h k) -> B h S k" {h = 2 : i64} : tensor<?x?x8xf32, #bsd> -> tensor<?x2x?x4xf32, #bhsd>
      %w = xf.param @memory[%layer] : tensor<8x8xf32>
      %next = xf.linear %mem, %w : tensor<?x?x8xf32, #bsd>, tensor<8x8xf32> -> tensor<?x?x8xf32, #bsd>
      // The same in all layers: one state of one layer, too.
      %real = xf.map(%src) maps [[0, 1]] : (tensor<?x?xi32, #bs>) -> tensor<?x?xi1, #bs> {
      ^bb0(%a: i32):
        %zero = arith.constant 0 : i32
        %r = arith.cmpi ne, %a, %zero : i32
        xf.yield %r : i1
      }
      %d = xf.attend %c, %direct, %direct scale 0.5 fill 0xFFF0000000000000 mask {
      ^bb0(%b: index, %head: index, %i: index, %j: index):
        %r = xf.at %real[%b, %j] : tensor<?x?xi1, #bs>
        xf.yield %r : i1
      } : tensor<?x2x?x4xf32, #bhtd>, tensor<?x2x?x4xf32, #bhsd>, tensor<?x2x?x4xf32, #bhsd> -> (tensor<?x2x?x4xf32, #bhtd>)
      %o = xf.rearrange %d "B h T k -> T B (h k)" {} : tensor<?x2x?x4xf32, #bhtd> -> tensor<?x?x8xf32, #tbd>
      xf.yield %o, %next : tensor<?x?x8xf32, #tbd>, tensor<?x?x8xf32, #bsd>
    }
    xf.return %y : tensor<?x?x8xf32, #tbd>
  }
}

// CHECK-DAG: xf.state @decode.scan.0 : tensor<?x8xf32, #xf.dims<"B", "">> layers 3{{$}}
// CHECK-DAG: xf.state @decode.keys.0 : {{.*}} layers 1{{$}}
// CHECK-DAG: xf.state @decode.sentence.keys.0 : {{.*}} layers 3 sentences
// CHECK-DAG: xf.state @decode.sentence.given.0 : tensor<?x?xi1, #xf.dims<"B", "S">> layers 1 sentences
// CHECK: xf.entry begin @decode.begin(%{{.*}}: {{.*}} {xf.name = "src"}, %{{.*}}: {{.*}} {xf.name = "xf.slots"})
// CHECK: %[[M:.*]] = xf.repeat 2
// CHECK: xf.repeat 3(%[[M]])
// CHECK: xf.store
// CHECK: xf.entry step @decode.step
// CHECK: xf.append
// CHECK: xf.repeat 3(%{{[a-z0-9]*}})

// -----

// What is repeated for all target positions, for each sentence or for all, is made for new ones where they are.
#bt = #xf.dims<"B", "T">
#bs = #xf.dims<"B", "S">
#td = #xf.dims<"T", "">
#btd = #xf.dims<"B", "T", "">
#bsd = #xf.dims<"B", "S", "">
#b1d = #xf.dims<"B", "", "">
module attributes {xf.bounds = {B = 4 : i64, S = 6 : i64, T = 10 : i64},
                   xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", batch = "B", target = "T"}} {
  xf.parameter @embed : tensor<11x8xf32> path "embed"
  xf.parameter @all : tensor<1x8xf32> path "all"
  xf.entry @decode(%tgt: tensor<?x?xi32, #bt> {xf.name = "tgt"}, %memory: tensor<?x?x8xf32, #bsd> {xf.name = "memory"})
      -> (tensor<?x?x24xf32, #btd> {xf.name = "logits"}) {
    %table = xf.param @embed : tensor<11x8xf32>
    %x = xf.embed %table, %tgt : tensor<11x8xf32>, tensor<?x?xi32, #bt> -> tensor<?x?x8xf32, #btd>
    %first = xf.slice %memory axis 1 start 0 : tensor<?x?x8xf32, #bsd> -> tensor<?x1x8xf32, #b1d>
    %ofSentence = xf.map(%first) maps [[0, -1, 2]] : (tensor<?x1x8xf32, #b1d>) -> tensor<?x?x8xf32, #btd> {
    ^bb0(%a: f32):
      xf.yield %a : f32
    }
    %param = xf.param @all : tensor<1x8xf32>
    %ofAll = xf.map(%param) maps [[-1, 1]] : (tensor<1x8xf32>) -> tensor<?x8xf32, #td> {
    ^bb0(%a: f32):
      xf.yield %a : f32
    }
    %places = xf.positions : tensor<?xi32, #xf.dims<"T">>
    %pe = xf.embed %table, %places : tensor<11x8xf32>, tensor<?xi32, #xf.dims<"T">> -> tensor<?x8xf32, #td>
    %placed = xf.map(%x, %pe, %ofAll) maps [[0, 1, 2], [1, 2], [1, 2]] : (tensor<?x?x8xf32, #btd>, tensor<?x8xf32, #td>, tensor<?x8xf32, #td>) -> tensor<?x?x8xf32, #btd> {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %s = arith.addf %a, %b : f32
      %t = arith.addf %s, %c : f32
      xf.yield %t : f32
    }
    %y = xf.concat(%placed, %ofSentence, %x) axis 2 : (tensor<?x?x8xf32, #btd>, tensor<?x?x8xf32, #btd>, tensor<?x?x8xf32, #btd>) -> tensor<?x?x24xf32, #btd>
    xf.return %y : tensor<?x?x24xf32, #btd>
  }
}

// CHECK: xf.state @decode.sentence.given.0 : tensor<?x1x8xf32, #xf.dims<"B", "", "">> layers 1 sentences
// CHECK-NOT: xf.state
// CHECK: xf.entry step @decode.step
// CHECK: xf.map({{.*}}) maps {{\[\[}}0, -1, 2]] : {{.*}} -> tensor<?x?x8xf32, #xf.dims<"B", "N", "">>
// CHECK: xf.map({{.*}}) maps {{\[\[}}-1, 2]] : (tensor<1x8xf32>) -> tensor<?x?x8xf32, #xf.dims<"B", "N", "">>
