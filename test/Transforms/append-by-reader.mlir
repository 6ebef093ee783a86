// RUN: xf-opt %s -xf-append-by-reader | FileCheck %s

#n = #xf.dims<"B", "", "N", "">
#t = #xf.dims<"B", "", "T", "">
module attributes {xf.bounds = {B = 2 : i64, M = 9 : i64, N = 9 : i64, T = 9 : i64}} {
  xf.state @keys : tensor<?x2x?x4xf32, #t> layers 1 layout keys
  xf.state @values : tensor<?x2x?x4xf32, #t> layers 1 layout values
  xf.state @plain : tensor<?x2x?x4xf32, #t> layers 1
  xf.state @sentence : tensor<?x2x?x4xf32, #n> layers 1 sentences

  // CHECK-LABEL: xf.entry step @step
  // CHECK: xf.append {{.*}} to @keys[{{.*}}] axis 2 past %{{.*}} by_reader :
  // CHECK: xf.append {{.*}} to @values[{{.*}}] axis 2 past %{{.*}} by_reader :
  xf.entry step @step(%x: tensor<?x2x?x4xf32, #n> {xf.name = "x"}, %past: tensor<?xi32, #xf.dims<"B">> {xf.name = "xf.past"}) -> (tensor<?x2x?x4xf32, #n> {xf.name = "y"}) {
    %zero = arith.constant 0 : index
    %k = xf.append %x to @keys[%zero] axis 2 past %past : tensor<?x2x?x4xf32, #n>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #t>
    %v = xf.append %x to @values[%zero] axis 2 past %past : tensor<?x2x?x4xf32, #n>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #t>
    %y = xf.attend %x, %k, %v scale 0.5 fill -1.0e9 : tensor<?x2x?x4xf32, #n>, tensor<?x2x?x4xf32, #t>, tensor<?x2x?x4xf32, #t> -> (tensor<?x2x?x4xf32, #n>)
    xf.return %y : tensor<?x2x?x4xf32, #n>
  }

  // Heads that share keys belong to several tasks, which would have to wait for the one that appends.
  // CHECK-LABEL: xf.entry step @shared
  // CHECK-NOT: by_reader
  xf.entry step @shared(%x: tensor<?x2x?x4xf32, #n> {xf.name = "x"}, %q: tensor<?x4x?x4xf32, #n> {xf.name = "q"}, %past: tensor<?xi32, #xf.dims<"B">> {xf.name = "xf.past"}) -> (tensor<?x4x?x4xf32, #n> {xf.name = "y"}) {
    %zero = arith.constant 0 : index
    %k = xf.append %x to @keys[%zero] axis 2 past %past : tensor<?x2x?x4xf32, #n>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #t>
    %v = xf.append %x to @values[%zero] axis 2 past %past : tensor<?x2x?x4xf32, #n>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #t>
    %y = xf.attend %q, %k, %v scale 0.5 fill -1.0e9 : tensor<?x4x?x4xf32, #n>, tensor<?x2x?x4xf32, #t>, tensor<?x2x?x4xf32, #t> -> (tensor<?x4x?x4xf32, #n>)
    xf.return %y : tensor<?x4x?x4xf32, #n>
  }

  // A second reader would find nothing, and a plain state has another order.
  // CHECK-LABEL: xf.entry step @others
  // CHECK-NOT: by_reader
  xf.entry step @others(%x: tensor<?x2x?x4xf32, #n> {xf.name = "x"}, %past: tensor<?xi32, #xf.dims<"B">> {xf.name = "xf.past"}) -> (tensor<?x2x?x4xf32, #n> {xf.name = "y"}, tensor<?x2x?x4xf32, #n> {xf.name = "z"}) {
    %zero = arith.constant 0 : index
    %k = xf.append %x to @keys[%zero] axis 2 past %past : tensor<?x2x?x4xf32, #n>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #t>
    %p = xf.append %x to @plain[%zero] axis 2 past %past : tensor<?x2x?x4xf32, #n>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #t>
    %v = xf.pack values %p : tensor<?x2x?x4xf32, #t>
    %y = xf.attend %x, %k, %v scale 0.5 fill -1.0e9 : tensor<?x2x?x4xf32, #n>, tensor<?x2x?x4xf32, #t>, tensor<?x2x?x4xf32, #t> -> (tensor<?x2x?x4xf32, #n>)
    %z = xf.attend %x, %k, %v scale 0.2 fill -1.0e9 : tensor<?x2x?x4xf32, #n>, tensor<?x2x?x4xf32, #t>, tensor<?x2x?x4xf32, #t> -> (tensor<?x2x?x4xf32, #n>)
    xf.return %y, %z : tensor<?x2x?x4xf32, #n>, tensor<?x2x?x4xf32, #n>
  }

  // As many positions are appended as there are queries, and they are the rows' own.
  // CHECK-LABEL: xf.entry step @positions
  // CHECK-NOT: by_reader
  xf.entry step @positions(%q: tensor<?x2x?x4xf32, #xf.dims<"B", "", "M", "">> {xf.name = "q"}, %x: tensor<?x2x?x4xf32, #n> {xf.name = "x"}, %past: tensor<?xi32, #xf.dims<"B">> {xf.name = "xf.past"}) -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "M", "">> {xf.name = "y"}) {
    %zero = arith.constant 0 : index
    %k = xf.append %x to @keys[%zero] axis 2 past %past : tensor<?x2x?x4xf32, #n>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #t>
    %v = xf.append %x to @values[%zero] axis 2 past %past : tensor<?x2x?x4xf32, #n>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #t>
    %y = xf.attend %q, %k, %v scale 0.5 fill -1.0e9 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "M", "">>, tensor<?x2x?x4xf32, #t>, tensor<?x2x?x4xf32, #t> -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "M", "">>)
    xf.return %y : tensor<?x2x?x4xf32, #xf.dims<"B", "", "M", "">>
  }
  // CHECK-LABEL: xf.entry step @loaded
  // CHECK-NOT: by_reader
  xf.entry step @loaded(%q: tensor<?x2x?x4xf32, #n> {xf.name = "q"}, %past: tensor<?xi32, #xf.dims<"B">> {xf.name = "xf.past"}, %slots: tensor<?xi32, #xf.dims<"B">> {xf.name = "xf.slots"}) -> (tensor<?x2x?x4xf32, #n> {xf.name = "y"}) {
    %zero = arith.constant 0 : index
    %x = xf.load @sentence[%zero] slots %slots : tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #n>
    %k = xf.append %x to @keys[%zero] axis 2 past %past : tensor<?x2x?x4xf32, #n>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #t>
    %v = xf.append %x to @values[%zero] axis 2 past %past : tensor<?x2x?x4xf32, #n>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #t>
    %y = xf.attend %q, %k, %v scale 0.5 fill -1.0e9 : tensor<?x2x?x4xf32, #n>, tensor<?x2x?x4xf32, #t>, tensor<?x2x?x4xf32, #t> -> (tensor<?x2x?x4xf32, #n>)
    xf.return %y : tensor<?x2x?x4xf32, #n>
  }
}
