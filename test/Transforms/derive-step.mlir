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

  // CHECK: xf.generate = {batch = "B", begin = @decode.begin, {{.*}}new = "N", {{.*}}step = @decode.step
  // CHECK: xf.bounds
  // CHECK-SAME: N = 10 : i64
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
    %probs0 = xf.repeat 1 () : () -> (tensor<8xf32>) {
    ^bb0(%l: index):
      %a = xf.param @alpha[%l] : tensor<8xf32>
      xf.yield %a : tensor<8xf32>
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
