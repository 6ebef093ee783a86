// RUN: xf-opt %s -split-input-file -verify-diagnostics

xf.parameter @p : tensor<8x4xf32> path "p"
// expected-error @+1 {{needs a static tensor, not 'i32'}}
xf.weight @w : i32 layers 1 {
  ^bb0(%l: index):
    %w = xf.param @p : tensor<8x4xf32>
    xf.yield %w : tensor<8x4xf32>
  }

// -----

xf.parameter @p : tensor<8x4xf32> path "p"
// expected-error @+1 {{needs at least one layer}}
xf.weight @w : tensor<8x4xf32> layers 0 {
  ^bb0(%l: index):
    %w = xf.param @p : tensor<8x4xf32>
    xf.yield %w : tensor<8x4xf32>
  }

// -----

xf.parameter @p : tensor<8x4xf32> path "p"
// expected-error @+1 {{is a plain tensor or panels of a matrix, not keys of [8, 4]}}
xf.weight @w : tensor<8x4xf32> layers 1 layout keys {
  ^bb0(%l: index):
    %w = xf.param @p : tensor<8x4xf32>
    xf.yield %w : tensor<8x4xf32>
  }

// -----

xf.parameter @p : tensor<8x4xf32> path "p"
// expected-error @+1 {{has scales, but is no matrix of i8}}
xf.weight @w : tensor<8x4xf32> layers 1 scales @p {
  ^bb0(%l: index):
    %w = xf.param @p : tensor<8x4xf32>
    xf.yield %w : tensor<8x4xf32>
  }

// -----

xf.parameter @p : tensor<8x4xf32> path "p"
// expected-error @+1 {{must yield the results' elements}}
xf.weight @w : tensor<4x4xf32> layers 1 {
  ^bb0(%l: index):
    %w = xf.param @p : tensor<8x4xf32>
    xf.yield %w : tensor<8x4xf32>
  }

// -----

xf.parameter @p : tensor<8x4xf32> path "p"
// expected-error @+1 {{must take the operands' elements}}
xf.weight @w : tensor<8x4xf32> layers 1 {
  ^bb0:
    %w = xf.param @p : tensor<8x4xf32>
    xf.yield %w : tensor<8x4xf32>
  }

// -----

xf.parameter @p : tensor<8x4xf32> path "p"
// expected-error @+1 {{its scales @p must be a plain weight 'tensor<8xf32>' of as many layers}}
xf.weight @w : tensor<8x4xi8> layers 1 scales @p {
^bb0(%l: index):
  %w = xf.param @p : tensor<8x4xf32>
  %q:3 = xf.quantize %w : tensor<8x4xf32> -> tensor<8x4xi8>, tensor<8xf32>, tensor<8xi32>
  xf.yield %q#0 : tensor<8x4xi8>
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{packs keys and values; panels are made when compiling}}
  %y = xf.pack panels %w : tensor<8x4xf32>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{packs [batch, heads, positions, width] of f32, bf16 or f16}}
  %y = xf.pack keys %w : tensor<8x4xf32>
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}, %w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{is not what [B, 4] and the weight}}
  %y = xf.contract %x, %w extras() maps [] : tensor<?x4xf32, #xf.dims<"B", "">>, tensor<8x4xf32> -> tensor<?x4xf32, #xf.dims<"B", "">> {
  ^bb0(%a: f32):
    xf.yield %a : f32
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}, %w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{has 1 maps for 0 operands}}
  %y = xf.contract %x, %w extras() maps [[0]] : tensor<?x4xf32, #xf.dims<"B", "">>, tensor<8x4xf32> -> tensor<?x8xf32, #xf.dims<"B", "">> {
  ^bb0(%a: f32):
    xf.yield %a : f32
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}, %w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{must take the operands' elements}}
  %y = xf.contract %x, %w extras() maps [] : tensor<?x4xf32, #xf.dims<"B", "">>, tensor<8x4xf32> -> tensor<?x8xf32, #xf.dims<"B", "">> {
  ^bb0(%a: i32):
    xf.yield %a : i32
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x?x4xf32, #xf.dims<"B", "N", "">> {xf.name = "x"}, %w: tensor<8x4xf32> {xf.name = "w"}, %f: tensor<?x4xi32, #xf.dims<"C", "">> {xf.name = "f"}, %c: tensor<?xi32, #xf.dims<"B">> {xf.name = "c"}, %o: tensor<2xi32> {xf.name = "o"}) {
  // expected-error @+1 {{needs rows [batch, positions, width]}}
  %v, %t, %m, %p = xf.choose %x, %w axis 2 forbidden %f by %c options %o extras() maps [] : tensor<?x?x4xf32, #xf.dims<"B", "N", "">>, tensor<8x4xf32>, tensor<?x4xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> -> tensor<?x2xf32, #xf.dims<"B", "">>, tensor<?x2xi32, #xf.dims<"B", "">>, tensor<?x2xf32, #xf.dims<"B", "">>, tensor<?x160xf32, #xf.dims<"B", "">> {
  ^bb0(%a: f32):
    xf.yield %a : f32
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x?x4xf32, #xf.dims<"B", "N", "">> {xf.name = "x"}, %w: tensor<8x4xf32> {xf.name = "w"}, %f: tensor<?x4xi32, #xf.dims<"C", "">> {xf.name = "f"}, %c: tensor<?xi32, #xf.dims<"B">> {xf.name = "c"}, %o: tensor<2xi32> {xf.name = "o"}) {
  // expected-error @+1 {{do not fit the rows of [B, N, 4]}}
  %v, %t, %m, %p = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras() maps [] : tensor<?x?x4xf32, #xf.dims<"B", "N", "">>, tensor<8x4xf32>, tensor<?x4xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> -> tensor<?x3xf32, #xf.dims<"B", "">>, tensor<?x2xi32, #xf.dims<"B", "">>, tensor<?x2xf32, #xf.dims<"B", "">>, tensor<?x160xf32, #xf.dims<"B", "">> {
  ^bb0(%a: f32):
    xf.yield %a : f32
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x?x4xf32, #xf.dims<"B", "N", "">> {xf.name = "x"}, %w: tensor<8x4xf32> {xf.name = "w"}, %f: tensor<?x3xi32, #xf.dims<"C", "">> {xf.name = "f"}, %c: tensor<?xi32, #xf.dims<"B">> {xf.name = "c"}, %o: tensor<2xi32> {xf.name = "o"}) {
  // expected-error @+1 {{do not fit 8 columns}}
  %v, %t, %m, %p = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras() maps [] : tensor<?x?x4xf32, #xf.dims<"B", "N", "">>, tensor<8x4xf32>, tensor<?x3xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> -> tensor<?x2xf32, #xf.dims<"B", "">>, tensor<?x2xi32, #xf.dims<"B", "">>, tensor<?x2xf32, #xf.dims<"B", "">>, tensor<?x160xf32, #xf.dims<"B", "">> {
  ^bb0(%a: f32):
    xf.yield %a : f32
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x?x4xf32, #xf.dims<"B", "N", "">> {xf.name = "x"}, %w: tensor<8x4xf32> {xf.name = "w"}, %f: tensor<?x4xi32, #xf.dims<"C", "">> {xf.name = "f"}, %c: tensor<?xi32, #xf.dims<"B">> {xf.name = "c"}, %o: tensor<2xi32> {xf.name = "o"}, %q: tensor<8x4xi8> {xf.name = "q"}, %s: tensor<8xf32> {xf.name = "s"}, %u: tensor<8xi32> {xf.name = "u"}, %n: tensor<4xf32> {xf.name = "n"}) {
  // expected-error @+1 {{has no screen of 'tensor<8x4xi8>', 'tensor<8xf32>' for 'tensor<8x4xf32>'}}
  %v, %t, %m, %p = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras() maps [] screen(%q, %s) : tensor<?x?x4xf32, #xf.dims<"B", "N", "">>, tensor<8x4xf32>, tensor<?x4xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> screen(tensor<8x4xi8>, tensor<8xf32>) -> tensor<?x2xf32, #xf.dims<"B", "">>, tensor<?x2xi32, #xf.dims<"B", "">>, tensor<?x2xf32, #xf.dims<"B", "">>, tensor<?x224xf32, #xf.dims<"B", "">> {
  ^bb0(%a: f32):
    xf.yield %a : f32
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x?x4xf32, #xf.dims<"B", "N", "">> {xf.name = "x"}, %w: tensor<8x4xf32> {xf.name = "w"}, %f: tensor<?x4xi32, #xf.dims<"C", "">> {xf.name = "f"}, %c: tensor<?xi32, #xf.dims<"B">> {xf.name = "c"}, %o: tensor<2xi32> {xf.name = "o"}, %q: tensor<8x4xi16> {xf.name = "q"}, %s: tensor<8xf32> {xf.name = "s"}, %u: tensor<8xi32> {xf.name = "u"}, %n: tensor<4xf32> {xf.name = "n"}) {
  // expected-error @+1 {{has no words of 'tensor<8x4xi16>', 'tensor<8xf32>' for 'tensor<8x4xf32>'}}
  %v, %t, %m, %p = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras() maps [] words(%q, %s) : tensor<?x?x4xf32, #xf.dims<"B", "N", "">>, tensor<8x4xf32>, tensor<?x4xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> words(tensor<8x4xi16>, tensor<8xf32>) -> tensor<?x2xf32, #xf.dims<"B", "">>, tensor<?x2xi32, #xf.dims<"B", "">>, tensor<?x2xf32, #xf.dims<"B", "">>, tensor<?x224xf32, #xf.dims<"B", "">> {
  ^bb0(%a: f32):
    xf.yield %a : f32
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x?x4xf32, #xf.dims<"B", "N", "">> {xf.name = "x"}, %w: tensor<8x4xf32> {xf.name = "w"}, %f: tensor<?x4xi32, #xf.dims<"C", "">> {xf.name = "f"}, %c: tensor<?xi32, #xf.dims<"B">> {xf.name = "c"}, %o: tensor<2xi32> {xf.name = "o"}, %q: tensor<8x4xi8> {xf.name = "q"}, %s: tensor<8xf32> {xf.name = "s"}, %u: tensor<8xi32> {xf.name = "u"}, %n: tensor<4xf32> {xf.name = "n"}) {
  // expected-error @+1 {{do not fit the rows of [B, N, 4]}}
  %v, %t, %m, %p = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras() maps [] screen(%q, %s, %u, %s, %s, %n) : tensor<?x?x4xf32, #xf.dims<"B", "N", "">>, tensor<8x4xf32>, tensor<?x4xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> screen(tensor<8x4xi8>, tensor<8xf32>, tensor<8xi32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>) -> tensor<?x2xf32, #xf.dims<"B", "">>, tensor<?x2xi32, #xf.dims<"B", "">>, tensor<?x2xf32, #xf.dims<"B", "">>, tensor<?x160xf32, #xf.dims<"B", "">> {
  ^bb0(%a: f32):
    xf.yield %a : f32
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x?x4xf32, #xf.dims<"B", "N", "">> {xf.name = "x"}, %w: tensor<8x4xf32> {xf.name = "w"}, %f: tensor<?x4xi32, #xf.dims<"C", "">> {xf.name = "f"}, %c: tensor<?xi32, #xf.dims<"B">> {xf.name = "c"}, %o: tensor<2xi32> {xf.name = "o"}, %q: tensor<8x4xi8> {xf.name = "q"}, %s: tensor<8xf32> {xf.name = "s"}, %u: tensor<8xi32> {xf.name = "u"}, %n: tensor<4xf32> {xf.name = "n"}) {
  // expected-error @+1 {{is screened, but a logit may decrease when its product grows}}
  %v, %t, %m, %p = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras() maps [] screen(%q, %s, %u, %s, %s, %n) : tensor<?x?x4xf32, #xf.dims<"B", "N", "">>, tensor<8x4xf32>, tensor<?x4xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> screen(tensor<8x4xi8>, tensor<8xf32>, tensor<8xi32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>) -> tensor<?x2xf32, #xf.dims<"B", "">>, tensor<?x2xi32, #xf.dims<"B", "">>, tensor<?x2xf32, #xf.dims<"B", "">>, tensor<?x224xf32, #xf.dims<"B", "">> {
  ^bb0(%a: f32):
    %less = arith.negf %a : f32
    xf.yield %less : f32
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x?x4xf32, #xf.dims<"B", "N", "">> {xf.name = "x"}, %w: tensor<8x4xf32> {xf.name = "w"}, %f: tensor<?x4xi32, #xf.dims<"C", "">> {xf.name = "f"}, %c: tensor<?xi32, #xf.dims<"B">> {xf.name = "c"}, %o: tensor<2xi32> {xf.name = "o"}, %q: tensor<8x4xi16> {xf.name = "q"}, %s: tensor<8xf32> {xf.name = "s"}, %u: tensor<8xi32> {xf.name = "u"}, %n: tensor<4xf32> {xf.name = "n"}) {
  // expected-error @+1 {{is screened, but a logit may decrease when its product grows}}
  %v, %t, %m, %p = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras() maps [] words(%q, %s, %s, %s, %n) : tensor<?x?x4xf32, #xf.dims<"B", "N", "">>, tensor<8x4xf32>, tensor<?x4xi32, #xf.dims<"C", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> words(tensor<8x4xi16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>) -> tensor<?x2xf32, #xf.dims<"B", "">>, tensor<?x2xi32, #xf.dims<"B", "">>, tensor<?x2xf32, #xf.dims<"B", "">>, tensor<?x224xf32, #xf.dims<"B", "">> {
  ^bb0(%a: f32):
    %less = arith.negf %a : f32
    xf.yield %less : f32
  }
  xf.return
}

// -----

xf.entry @run() {
  // expected-error @+1 {{needs results}}
  "xf.row"() <{maps = []}> ({
  ^bb0:
    "xf.yield"() : () -> ()
  }) : () -> ()
  xf.return
}

// -----

xf.entry @run(%x: tensor<f32> {xf.name = "x"}) {
  // expected-error @+1 {{results need rows}}
  %y = xf.row(%x) maps [[]] : (tensor<f32>) -> tensor<f32> {
  ^bb0(%r: tensor<1xf32>):
    xf.yield %r : tensor<1xf32>
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}) {
  // expected-error @+1 {{has 0 maps for 1 operands}}
  %y = xf.row(%x) maps [] : (tensor<?x4xf32, #xf.dims<"B", "">>) -> tensor<?x4xf32, #xf.dims<"B", "">> {
  ^bb0(%r: tensor<4xf32>):
    xf.yield %r : tensor<4xf32>
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}) {
  // expected-error @+1 {{map 0 has another rank}}
  %y = xf.row(%x) maps [[0]] : (tensor<?x4xf32, #xf.dims<"B", "">>) -> tensor<?x4xf32, #xf.dims<"B", "">> {
  ^bb0(%r: tensor<4xf32>):
    xf.yield %r : tensor<4xf32>
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}) {
  // expected-error @+1 {{map 0 refers to dimension 2}}
  %y = xf.row(%x) maps [[0, 2]] : (tensor<?x4xf32, #xf.dims<"B", "">>) -> tensor<?x4xf32, #xf.dims<"B", "">> {
  ^bb0(%r: tensor<4xf32>):
    xf.yield %r : tensor<4xf32>
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}) {
  // expected-error @+1 {{map 0 must end with the dimension along the rows}}
  %y = xf.row(%x) maps [[1, 0]] : (tensor<?x4xf32, #xf.dims<"B", "">>) -> tensor<?x4xf32, #xf.dims<"B", "">> {
  ^bb0(%r: tensor<4xf32>):
    xf.yield %r : tensor<4xf32>
  }
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{operand 0 of shape [8, 4] does not fit [B, 4]}}
  %y = xf.row(%w) maps [[0, 1]] : (tensor<8x4xf32>) -> tensor<?x4xf32, #xf.dims<"B", "">> {
  ^bb0(%r: tensor<4xf32>):
    xf.yield %r : tensor<4xf32>
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}) {
  // expected-error @+1 {{must take the operands' elements}}
  %y = xf.row(%x) maps [[0, 1]] : (tensor<?x4xf32, #xf.dims<"B", "">>) -> tensor<?x4xf32, #xf.dims<"B", "">> {
  ^bb0(%r: tensor<3xf32>):
    xf.yield %r : tensor<3xf32>
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}) {
  // expected-error @+1 {{results need one rank}}
  %y:2 = xf.row(%x) maps [[0, 1]] : (tensor<?x4xf32, #xf.dims<"B", "">>) -> (tensor<?x4xf32, #xf.dims<"B", "">>, tensor<4xf32>) {
  ^bb0(%r: tensor<4xf32>):
    xf.yield %r, %r : tensor<4xf32>, tensor<4xf32>
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}) {
  // expected-error @+1 {{differ in their rows}}
  %y:2 = xf.row(%x) maps [[0, 1]] : (tensor<?x4xf32, #xf.dims<"B", "">>) -> (tensor<?x4xf32, #xf.dims<"B", "">>, tensor<8x1xf32>) {
  ^bb0(%r: tensor<4xf32>):
    xf.yield %r, %r : tensor<4xf32>, tensor<4xf32>
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}, %w: tensor<?x3xf32, #xf.dims<"B", "">> {xf.name = "w"}) {
  // expected-error @+1 {{its rows differ in length}}
  %y = xf.row(%x, %w) maps [[0, 1], [0, 1]] : (tensor<?x4xf32, #xf.dims<"B", "">>, tensor<?x3xf32, #xf.dims<"B", "">>) -> tensor<?x4xf32, #xf.dims<"B", "">> {
  ^bb0(%r: tensor<4xf32>, %s: tensor<3xf32>):
    xf.yield %r : tensor<4xf32>
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}, %w: tensor<4xf32> {xf.name = "w"}) {
  %y = xf.row(%x) maps [[0, 1]] : (tensor<?x4xf32, #xf.dims<"B", "">>) -> tensor<?x1xf32, #xf.dims<"B", "">> {
  ^bb0(%r: tensor<4xf32>):
    // expected-error @+1 {{reads rows of its kernel, and tables from outside}}
    %s = xf.reduce sum %w : tensor<4xf32> -> tensor<1xf32>
    xf.yield %s : tensor<1xf32>
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}) {
  %y = xf.row(%x) maps [[0, 1]] : (tensor<?x4xf32, #xf.dims<"B", "">>) -> tensor<?x4xf32, #xf.dims<"B", "">> {
  ^bb0(%r: tensor<4xf32>):
    // expected-error @+1 {{cannot stand in a row kernel}}
    %s = xf.slice %r axis 0 start 0 : tensor<4xf32> -> tensor<2xf32>
    xf.yield %r : tensor<4xf32>
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}) {
  %y = xf.row(%x) maps [[0, 1]] : (tensor<?x4xf32, #xf.dims<"B", "">>) -> tensor<?x4xf32, #xf.dims<"B", "">> {
  ^bb0(%r: tensor<4xf32>):
    // expected-error @+1 {{must give rows of the kernel's length or of 1}}
    %s = xf.map(%r) maps [[0]] : (tensor<4xf32>) -> tensor<3xf32> {
    ^bb0(%a: f32):
      xf.yield %a : f32
    }
    xf.yield %r : tensor<4xf32>
  }
  xf.return
}

// -----

xf.entry @run(%x: tensor<4x8xf32> {xf.name = "x"}) -> (tensor<4x8xf32> {xf.name = "y"}) {
  %y = xf.row(%x) maps [[0, 1]] : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%r: tensor<8xf32>):
    // expected-error @+1 {{cannot stand in a row kernel}}
    %one = arith.constant dense<1.0> : tensor<1xf32>
    %m = xf.map(%r, %one) maps [[0], [-1]] : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32> {
    ^bb0(%a: f32, %b: f32):
      xf.yield %b : f32
    }
    xf.yield %m : tensor<8xf32>
  }
  xf.return %y : tensor<4x8xf32>
}

// -----

xf.entry @run(%x: tensor<4x8xf32> {xf.name = "x"}, %z: tensor<8xf32> {xf.name = "z"}) -> (tensor<4x8xf32> {xf.name = "y"}) {
  // expected-error @+1 {{gives rows that its body does not compute}}
  %y = xf.row(%x) maps [[0, 1]] : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%r: tensor<8xf32>):
    xf.yield %z : tensor<8xf32>
  }
  xf.return %y : tensor<4x8xf32>
}
