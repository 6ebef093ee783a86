// RUN: xf-opt %s --pass-pipeline='builtin.module(xf-narrow-attention)' | FileCheck %s
// RUN: xf-opt %s --pass-pipeline='builtin.module(xf-narrow-attention,xf-narrow-attention)' | FileCheck %s
// RUN: xf-opt %s --pass-pipeline='builtin.module(xf-narrow-attention{type=f16})' | FileCheck %s --check-prefix=F16
// RUN: not xf-opt %s --pass-pipeline='builtin.module(xf-narrow-attention{type=f64})' 2>&1 | FileCheck %s --check-prefix=NONE
// F16: xf.state @keys : tensor<?x2x?x4xf16
// F16: arith.truncf {{.*}} : f32 to f16
// F16: xf.attend {{.*}} fill -1.000000e+09 : {{.*}} tensor<?x2x?x4xf16
// NONE: type 'f64' of xf-narrow-attention is none of bf16, f16

// Keys and values in states that attention alone reads are kept in bf16; what something else reads stays.
// CHECK: xf.state @keys : tensor<?x2x?x4xbf16
// CHECK: xf.state @values : tensor<?x2x?x4xbf16
// CHECK: xf.state @shared : tensor<?x2x?x4xf32
// CHECK: xf.state @beside : tensor<?x2x?x4xf32
module attributes {xf.bounds = {B = 2 : i64, T = 9 : i64, N = 9 : i64}} {
  xf.state @keys : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1
  xf.state @values : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1
  xf.state @shared : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1
  xf.state @beside : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1

  // What makes all three is rounded as a whole, before it is taken apart, and the context is given as the next product wants it.
  // CHECK-LABEL: xf.entry full @merged
  // CHECK: %[[ROUNDED:.*]] = xf.map(%arg0)
  // CHECK: arith.truncf
  // CHECK-NOT: arith.truncf
  // CHECK: xf.slice %[[ROUNDED]] axis 2 start 0 : {{.*}}xbf16
  // CHECK-NOT: {{arith.truncf|xf.slice %arg0}}
  // CHECK: xf.slice %[[ROUNDED]] axis 2 start 8 : {{.*}}xbf16
  // CHECK-NOT: {{arith.truncf|xf.slice %arg0}}
  // CHECK: xf.slice %[[ROUNDED]] axis 2 start 16 : {{.*}}xbf16
  // CHECK-NOT: {{arith.truncf|xf.slice %arg0}}
  // CHECK: xf.attend {{.*}} {words} : {{.*}}xbf16{{.*}} -> (tensor<?x2x?x4xbf16
  // CHECK: %[[MERGED:.*]] = xf.rearrange {{.*}} -> tensor<?x?x8xbf16
  // CHECK: xf.return %[[MERGED]]
  xf.entry full @merged(%qkv: tensor<?x?x24xf32, #xf.dims<"B", "T", "">> {xf.name = "qkv"}) -> (tensor<?x?x8xbf16, #xf.dims<"B", "T", "">> {xf.name = "y"}) {
    %q = xf.slice %qkv axis 2 start 0 : tensor<?x?x24xf32, #xf.dims<"B", "T", "">> -> tensor<?x?x8xf32, #xf.dims<"B", "T", "">>
    %k = xf.slice %qkv axis 2 start 8 : tensor<?x?x24xf32, #xf.dims<"B", "T", "">> -> tensor<?x?x8xf32, #xf.dims<"B", "T", "">>
    %v = xf.slice %qkv axis 2 start 16 : tensor<?x?x24xf32, #xf.dims<"B", "T", "">> -> tensor<?x?x8xf32, #xf.dims<"B", "T", "">>
    %qh = xf.rearrange %q "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #xf.dims<"B", "T", "">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %kh = xf.rearrange %k "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #xf.dims<"B", "T", "">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %vh = xf.rearrange %v "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x8xf32, #xf.dims<"B", "T", "">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %c = xf.attend %qh, %kh, %vh scale 0.5 fill -1.0e9 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>)
    %m = xf.rearrange %c "B h T k -> B T (h k)" {} : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> -> tensor<?x?x8xf32, #xf.dims<"B", "T", "">>
    %y = xf.map(%m) maps [[0, 1, 2]] : (tensor<?x?x8xf32, #xf.dims<"B", "T", "">>) -> tensor<?x?x8xbf16, #xf.dims<"B", "T", "">> {
    ^bb0(%a: f32):
      %t = arith.truncf %a : f32 to bf16
      xf.yield %t : bf16
    }
    xf.return %y : tensor<?x?x8xbf16, #xf.dims<"B", "T", "">>
  }

  // The queries are needed as they are, too: a rounded copy of them. The second attention reads a state that is given out.
  // CHECK-LABEL: xf.entry step @step
  // CHECK: %[[X:.*]] = xf.map(%arg0)
  // CHECK: xf.append %[[X]] to @keys{{.*}} -> tensor<?x2x?x4xbf16
  // CHECK: xf.append %[[X]] to @values{{.*}} -> tensor<?x2x?x4xbf16
  // CHECK: xf.attend %[[X]], {{.*}} fill -1.000000e+09 : {{.*}} -> (tensor<?x2x?x4xf32
  // CHECK: xf.append %arg0 to @shared
  // CHECK: xf.append %arg0 to @beside
  // CHECK: xf.attend %arg0
  xf.entry step @step(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "x"}, %past: tensor<?xi32, #xf.dims<"B">> {xf.name = "xf.past"})
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "y"}, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "all"}, tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "z"}) {
    %zero = arith.constant 0 : index
    %k = xf.append %x to @keys[%zero] axis 2 past %past : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %v = xf.append %x to @values[%zero] axis 2 past %past : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %y = xf.attend %x, %k, %v scale 0.5 fill -1.0e9 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>)
    %s = xf.append %x to @shared[%zero] axis 2 past %past : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %b = xf.append %x to @beside[%zero] axis 2 past %past : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    %z = xf.attend %x, %s, %b scale 0.5 fill -1.0e9 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>)
    xf.return %y, %s, %z : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>
  }

  // Probabilities are f32, and so are heads of odd width.
  // CHECK-LABEL: xf.entry full @others
  // CHECK-NOT: bf16
  xf.entry full @others(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "x"}, %odd: tensor<?x2x?x3xf32, #xf.dims<"B", "", "T", "">> {xf.name = "odd"})
      -> (tensor<?x2x?x?xf32, #xf.dims<"B", "", "T", "T">> {xf.name = "p"}, tensor<?x2x?x3xf32, #xf.dims<"B", "", "T", "">> {xf.name = "z"}) {
    %y, %p = xf.attend %x, %x, %x scale 0.5 fill -1.0e9 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x?xf32, #xf.dims<"B", "", "T", "T">>)
    %z = xf.attend %odd, %odd, %odd scale 0.5 fill -1.0e9 : tensor<?x2x?x3xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x3xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x3xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x3xf32, #xf.dims<"B", "", "T", "">>)
    xf.return %p, %z : tensor<?x2x?x?xf32, #xf.dims<"B", "", "T", "T">>, tensor<?x2x?x3xf32, #xf.dims<"B", "", "T", "">>
  }
}
