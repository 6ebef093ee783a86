// RUN: xf-opt %s --pass-pipeline='builtin.module(xf-quantize-linears{type=int8})' | FileCheck %s --check-prefix=INT8
// RUN: xf-opt %s --pass-pipeline='builtin.module(xf-quantize-linears{type=bf16})' | FileCheck %s --check-prefix=BF16
// What has its types keeps them.
// RUN: xf-opt %s --pass-pipeline='builtin.module(xf-quantize-linears{type=int8},xf-quantize-linears{type=bf16})' | FileCheck %s --check-prefix=INT8
// RUN: xf-opt %s --pass-pipeline='builtin.module(xf-quantize-linears{type=bf16},xf-quantize-linears{type=int8})' | FileCheck %s --check-prefix=BF16
// RUN: xf-opt %s --pass-pipeline='builtin.module(xf-quantize-linears{type=int8-weights})' | FileCheck %s --check-prefix=WEIGHTS
// RUN: xf-opt %s --pass-pipeline='builtin.module(xf-quantize-linears{type=f16})' | FileCheck %s --check-prefix=F16
// RUN: xf-opt %s --pass-pipeline='builtin.module(xf-quantize-linears{type=f32})' | FileCheck %s --check-prefix=F32
// RUN: xf-opt %s --pass-pipeline='builtin.module(xf-kernel-pipeline{type=int8})' | FileCheck %s --check-prefix=KERNEL
// RUN: xf-opt %s --pass-pipeline='builtin.module(xf-kernel-pipeline{type=int8},xf-quantize-linears{type=int8})' | FileCheck %s --check-prefix=KERNEL
// RUN: not xf-opt %s --pass-pipeline='builtin.module(xf-quantize-linears{type=int4})' 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not xf-opt %s --pass-pipeline='builtin.module(xf-kernel-pipeline{type=int4})' 2>&1 | FileCheck %s --check-prefix=ERROR

// F32-NOT: i8
// ERROR: type 'int4' of xf-quantize-linears is none of f32, bf16, f16, int8, int8-weights

// The table of tied embeddings is stored once, in panels, and the look-up reads it there.
// KERNEL: xf.weight @{{.*}} : tensor<40x8xi8> layers 1 layout panels scales @[[SCALES:.*]] {
// KERNEL: xf.weight @[[SCALES]] : tensor<40xf32> layers 1
// KERNEL-NOT: tensor<40x8xi8> layers

module attributes {xf.bounds = {B = 2 : i64, S = 9 : i64}} {
  xf.parameter @table : tensor<40x8xf32> path "table"
  xf.parameter @bias : tensor<40xf32> path "bias"
  xf.parameter @position : tensor<9x8xf32> path "position"
  // INT8-LABEL: xf.entry full @run
  // BF16-LABEL: xf.entry full @run
  // WEIGHTS-LABEL: xf.entry full @run
  // KERNEL-LABEL: xf.entry full @run
  xf.entry full @run(%ids: tensor<?x?xi32, #xf.dims<"B", "S">> {xf.name = "ids"})
      -> (tensor<?x?x40xf32, #xf.dims<"B", "S", "">> {xf.name = "y"}) {
    %table = xf.param @table : tensor<40x8xf32>
    %bias = xf.param @bias : tensor<40xf32>
    %position = xf.param @position : tensor<9x8xf32>
    // INT8: %[[Q:.*]]:3 = xf.quantize {{.*}} -> tensor<40x8xi8>, tensor<40xf32>, tensor<40xi32>
    // INT8: %[[ROW:.*]] = xf.embed %[[Q]]#0, {{.*}} -> tensor<?x?x8xi8
    // INT8: %[[COLUMN:.*]] = xf.rearrange %[[Q]]#1 "n -> n 1"
    // INT8: %[[SCALE:.*]] = xf.embed %[[COLUMN]], {{.*}} -> tensor<?x?x1xf32
    // INT8: xf.map(%[[ROW]], %[[SCALE]]) maps {{\[}}[0, 1, 2], [0, 1, -1]]
    // BF16: xf.embed {{.*}} -> tensor<?x?x8xbf16
    // WEIGHTS: xf.embed {{.*}} -> tensor<?x?x8xi8
    // WEIGHTS: xf.map({{.*}}) maps {{\[}}[0, 1, 2], [0, 1, -1]]
    %x = xf.embed %table, %ids : tensor<40x8xf32>, tensor<?x?xi32, #xf.dims<"B", "S">> -> tensor<?x?x8xf32, #xf.dims<"B", "S", "">>
    // A table of positions stays what it is.
    // INT8: xf.embed {{.*}} : tensor<9x8xf32>
    // BF16: xf.embed {{.*}} : tensor<9x8xf32>
    %s = xf.positions : tensor<?xi32, #xf.dims<"S">>
    %p = xf.embed %position, %s : tensor<9x8xf32>, tensor<?xi32, #xf.dims<"S">> -> tensor<?x8xf32, #xf.dims<"S", "">>
    %h = xf.map(%x, %p) maps [[0, 1, 2], [1, 2]] : (tensor<?x?x8xf32, #xf.dims<"B", "S", "">>, tensor<?x8xf32, #xf.dims<"S", "">>) -> tensor<?x?x8xf32, #xf.dims<"B", "S", "">> {
    ^bb0(%a: f32, %b: f32):
      %sum = arith.addf %a, %b : f32
      xf.yield %sum : f32
    }
    // INT8: %[[MAX:.*]] = xf.reduce max
    // INT8: %[[SCALES:.*]]:2 = xf.map(%[[MAX]])
    // INT8: %[[X:.*]] = xf.map({{.*}}, %[[SCALES]]#1) {{.*}} -> tensor<?x?x8xi8
    // INT8: %[[W:.*]]:3 = xf.quantize
    // INT8: %[[SUMS:.*]] = xf.linear %[[X]], %[[W]]#0 : {{.*}} -> tensor<?x?x40xi32
    // INT8: xf.map(%[[SUMS]], %[[SCALES]]#0, %[[W]]#1, %[[W]]#2, {{.*}}) maps {{\[}}[0, 1, 2], [0, 1, -1], [2], [2], [2]]
    // The sum of position and token is multiplied as it is.
    // WEIGHTS-NOT: xf.reduce
    // WEIGHTS: %[[W:.*]]:3 = xf.quantize
    // WEIGHTS: %[[SUMS:.*]] = xf.linear {{.*}}, %[[W]]#0 : tensor<?x?x8xf32, {{.*}}>, tensor<40x8xi8> -> tensor<?x?x40xf32
    // WEIGHTS: xf.map(%[[SUMS]], %[[W]]#1, {{.*}}) maps {{\[}}[0, 1, 2], [2], [2]]
    // BF16: %[[X:.*]] = xf.map({{.*}}) {{.*}} -> tensor<?x?x8xbf16
    // BF16: arith.truncf {{.*}} : f32 to bf16
    // F16: arith.truncf {{.*}} : f32 to f16
    // BF16: xf.linear %[[X]], {{.*}} : tensor<?x?x8xbf16
    // All that is one look-up's row and one product.
    // KERNEL: xf.row
    // KERNEL: xf.contract {{.*}} extras(
    // KERNEL-NOT: xf.row
    // KERNEL: xf.return
    %y = xf.linear %h, %table, %bias : tensor<?x?x8xf32, #xf.dims<"B", "S", "">>, tensor<40x8xf32>, tensor<40xf32> -> tensor<?x?x40xf32, #xf.dims<"B", "S", "">>
    xf.return %y : tensor<?x?x40xf32, #xf.dims<"B", "S", "">>
  }
}
