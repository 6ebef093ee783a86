// RUN: xf-opt %s --verify-roundtrip | FileCheck %s

#p = #xf.dims<"", "", "P", "">
#s = #xf.dims<"B", "", "S", "">
#b = #xf.dims<"B", "">
!q = tensor<1x4x?x8xf32, #p>
!x = tensor<1x2x?x8xf32, #p>
!rows = tensor<?x2x?x8xf32, #s>
!wide = tensor<?x2x?x16xf32, #s>
!spans = tensor<?x2xi32, #b>
!slots = tensor<?xi32, #xf.dims<"B">>

// CHECK: module attributes {xf.generate = {packed_begin = @run, packed_encode = @run}, xf.predict = {packed = @run}}
module attributes {xf.generate = {packed_encode = @run, packed_begin = @run}, xf.predict = {packed = @run}} {

xf.state @k : !rows layers 1 sentences layout keys
xf.state @v : !rows layers 1 sentences layout values

// CHECK-LABEL: xf.entry packed @run(
// CHECK-SAME: %[[Q:.*]]: tensor<1x4x?x8xf32, {{.*}}"q"}, %[[X:.*]]: tensor<1x2x?x8xf32, {{.*}}"x"}, %[[WIDE:.*]]: tensor<?x2x?x16xf32, {{.*}}"wide"}
// CHECK-SAME: %[[N:.*]]: tensor<1x?x6xi32, {{.*}}"n"}, %[[SLOTS:.*]]: tensor<?xi32, {{.*}}"slots"}, %[[SPANS:.*]]: tensor<?x2xi32, {{.*}}"spans"}
xf.entry packed @run(%q: !q {xf.name = "q"}, %x: !x {xf.name = "x"}, %wide: !wide {xf.name = "wide"},
                     %n: tensor<1x?x6xi32, #xf.dims<"", "P", "">> {xf.name = "n"}, %slots: !slots {xf.name = "slots"},
                     %spans: !spans {xf.name = "spans"}) -> (tensor<1x4x?x16xf32, #p> {xf.name = "c"}) {
  %zero = arith.constant 0 : index
  // CHECK: %[[KEYS:.*]] = xf.spread keys %[[X]] spans %[[SPANS]] : tensor<1x2x?x8xf32, #{{.*}}>, tensor<?x2xi32, #{{.*}}> -> tensor<?x2x?x8xf32, #{{.*}}>
  %k = xf.spread keys %x spans %spans : !x, !spans -> !rows
  // CHECK: xf.spread values %[[X]] spans %[[SPANS]] :
  %v = xf.spread values %x spans %spans : !x, !spans -> !rows
  // CHECK: xf.spread plain %[[N]] spans %[[SPANS]] : tensor<1x?x6xi32, {{.*}} -> tensor<?x?x6xi32,
  %plain = xf.spread plain %n spans %spans : tensor<1x?x6xi32, #xf.dims<"", "P", "">>, !spans -> tensor<?x?x6xi32, #xf.dims<"B", "S", "">>
  // CHECK: xf.store %[[X]] to @k[%{{.*}}] slots %[[SLOTS]] spans %[[SPANS]] : tensor<1x2x?x8xf32, {{.*}}>, tensor<?xi32, {{.*}}>, tensor<?x2xi32,
  xf.store %x to @k[%zero] slots %slots spans %spans : !x, !slots, !spans
  xf.store %x to @v[%zero] slots %slots spans %spans : !x, !slots, !spans
  // CHECK: xf.attend %[[Q]], %[[KEYS]], %[[WIDE]] spans %[[SPANS]] scale 5.000000e-01 fill -1.000000e+09 mask {
  // CHECK: } : tensor<1x4x?x8xf32, {{.*}}>, tensor<?x2x?x8xf32, {{.*}}>, tensor<?x2x?x16xf32, {{.*}}>, tensor<?x2xi32, {{.*}}> -> (tensor<1x4x?x16xf32,
  %c = xf.attend %q, %k, %wide spans %spans scale 0.5 fill -1.0e9 mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %ok = arith.cmpi sle, %j, %i : index
    xf.yield %ok : i1
  } : !q, !rows, !wide, !spans -> (tensor<1x4x?x16xf32, #p>)
  // CHECK: xf.attend %[[Q]], %[[KEYS]], %[[KEYS]] spans %[[SPANS]] scale
  %plainest = xf.attend %q, %k, %k spans %spans scale 0.5 fill -1.0e9 : !q, !rows, !rows, !spans -> (!q)
  xf.return %c : tensor<1x4x?x16xf32, #p>
}
}
