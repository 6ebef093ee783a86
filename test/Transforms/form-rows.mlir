// RUN: xf-opt %s -xf-form-rows | FileCheck %s

// An op that reads one result of a group row by row and another one across rows is not the group's.
// CHECK-LABEL: xf.entry full @run
// CHECK: [[MADE:%.*]]:2 = xf.row(%arg0)
// CHECK: [[TURNED:%.*]] = xf.rearrange [[MADE]]#1
// CHECK: xf.row([[MADE]]#0, [[TURNED]])
#b = #xf.dims<"B", "", "">
!t = tensor<?x4x4xf32, #b>
module attributes {xf.bounds = {B = 8 : i64}} {
  xf.entry @run(%x: !t {xf.name = "x"}) -> (!t {xf.name = "y"}) {
    %a, %b = xf.map(%x) maps [[0, 1, 2]] : (!t) -> (!t, !t) {
    ^bb0(%e: f32):
      %t = arith.addf %e, %e : f32
      %u = arith.mulf %e, %e : f32
      xf.yield %t, %u : f32, f32
    }
    %y = xf.map(%a, %b) maps [[0, 1, 2], [0, 2, 1]] : (!t, !t) -> !t {
    ^bb0(%e: f32, %f: f32):
      %t = arith.addf %e, %f : f32
      xf.yield %t : f32
    }
    xf.return %y : !t
  }
}
