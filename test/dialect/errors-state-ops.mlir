// RUN: xf-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{needs a tensor over search rows or sentences, not 'i32'}}
xf.state @s : i32 layers 1

// -----

// expected-error @+1 {{needs a tensor over search rows}}
xf.state @s : tensor<f32> layers 1

// -----

// expected-error @+1 {{needs a tensor over search rows}}
xf.state @s : tensor<8x4xf32> layers 1

// -----

// expected-error @+1 {{needs at least one layer}}
xf.state @s : tensor<?x4xf32, #xf.dims<"B", "">> layers 0

// -----

// expected-error @+1 {{is plain, or keys or values}}
xf.state @s : tensor<?x4xf32, #xf.dims<"B", "">> layers 1 layout keys

// -----

// expected-error @+1 {{not panels of}}
xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1 layout panels

// -----

xf.entry @run(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "x"}, %p: tensor<?xi32, #xf.dims<"B">> {xf.name = "p"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{refers to @s, which is no state}}
  %y = xf.append %x to @s[%l] axis 2 past %p : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1 sentences
xf.entry @run(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "x"}, %p: tensor<?xi32, #xf.dims<"B">> {xf.name = "p"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{appends to a state of sentences}}
  %y = xf.append %x to @s[%l] axis 2 past %p : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1
xf.entry @run(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "x"}, %p: tensor<?xi32, #xf.dims<"B">> {xf.name = "p"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{axis 4 is out of range}}
  %y = xf.append %x to @s[%l] axis 4 past %p : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1
xf.entry @run(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "x"}, %p: tensor<?xi32, #xf.dims<"B">> {xf.name = "p"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{grows a dynamic dimension behind the rows, not dimension 1}}
  %y = xf.append %x to @s[%l] axis 1 past %p : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1
xf.entry @run(%x: tensor<?x3x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "x"}, %p: tensor<?xi32, #xf.dims<"B">> {xf.name = "p"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{appends [B, 3, N, 4] along dimension 2 to [B, 2, T, 4]}}
  %y = xf.append %x to @s[%l] axis 2 past %p : tensor<?x3x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1
xf.entry @run(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "x"}, %p: tensor<?xf32, #xf.dims<"B">> {xf.name = "p"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{needs past as one i32 for each row}}
  %y = xf.append %x to @s[%l] axis 2 past %p : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?xf32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1
xf.entry @run(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "x"}, %p: tensor<?xi32, #xf.dims<"B">> {xf.name = "p"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{has the shape [B, 2, U, 4], unlike its state}}
  %y = xf.append %x to @s[%l] axis 2 past %p : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "U", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1
xf.entry @run(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "x"}, %p: tensor<?xi32, #xf.dims<"B">> {xf.name = "p"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{stores into a state of search rows}}
  xf.store %x to @s[%l] slots %p : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?xi32, #xf.dims<"B">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1 sentences
xf.entry @run(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "x"}, %l: index {xf.name = "l"}, %p: tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "p"}) {
  // expected-error @+1 {{needs slots as one i32 for each row}}
  xf.store %x to @s[%l] slots %p : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1 sentences
xf.entry @run(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "x"}, %p: tensor<?xi32, #xf.dims<"B">> {xf.name = "p"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{pads with a 'i1' what is made of 'f32'}}
  xf.store %x to @s[%l] slots %p padding true : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?xi32, #xf.dims<"B">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1 sentences
xf.entry @run(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "x"}, %p: tensor<?xi32, #xf.dims<"B">> {xf.name = "p"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{pads tensors of rank 2 only}}
  xf.store %x to @s[%l] slots %p padding 0.0 : f32 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?xi32, #xf.dims<"B">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1
xf.entry @run(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "x"}, %p: tensor<?xi32, #xf.dims<"B">> {xf.name = "p"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{loads from a state of search rows}}
  %y = xf.load @s[%l] slots %p : tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1 sentences
xf.entry @run(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "x"}, %p: tensor<3xi32> {xf.name = "p"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{needs slots as one i32 for each row}}
  %y = xf.load @s[%l] slots %p : tensor<3xi32> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  xf.return
}

// -----

xf.state @r : tensor<?x8xf32, #xf.dims<"B", "">> layers 1
xf.entry @run(%x: tensor<?x?x8xf32, #xf.dims<"B", "N", "">> {xf.name = "x"}, %p: tensor<?xi32, #xf.dims<"B">> {xf.name = "p"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{axis 3 is out of range}}
  %y = xf.scan_step(%x) states [@r][%l] past %p axis 3 init [0.0] : (tensor<?x?x8xf32, #xf.dims<"B", "N", "">>), tensor<?xi32, #xf.dims<"B">> -> tensor<?x?x8xf32, #xf.dims<"B", "N", "">> {
  ^bb0(%s: f32, %a: f32):
    xf.yield %s, %a : f32, f32
  }
  xf.return
}

// -----

xf.state @r : tensor<?x8xf32, #xf.dims<"B", "">> layers 1
xf.entry @run(%x: tensor<?x?x8xf32, #xf.dims<"B", "N", "">> {xf.name = "x"}, %p: tensor<?xi32, #xf.dims<"B">> {xf.name = "p"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{must take the operands' elements}}
  %y = xf.scan_step(%x) states [@r][%l] past %p axis 1 init [] : (tensor<?x?x8xf32, #xf.dims<"B", "N", "">>), tensor<?xi32, #xf.dims<"B">> -> tensor<?x?x8xf32, #xf.dims<"B", "N", "">> {
  ^bb0(%s: f32, %a: f32):
    xf.yield %s, %a : f32, f32
  }
  xf.return
}

// -----

xf.state @r : tensor<?x8xf32, #xf.dims<"B", "">> layers 1
xf.entry @run(%x: tensor<?x?x8xf32, #xf.dims<"B", "N", "">> {xf.name = "x"}, %p: tensor<3xi32> {xf.name = "p"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{needs past as one i32 for each row}}
  %y = xf.scan_step(%x) states [@r][%l] past %p axis 1 init [0.0] : (tensor<?x?x8xf32, #xf.dims<"B", "N", "">>), tensor<3xi32> -> tensor<?x?x8xf32, #xf.dims<"B", "N", "">> {
  ^bb0(%s: f32, %a: f32):
    xf.yield %s, %a : f32, f32
  }
  xf.return
}

// -----

xf.state @r : tensor<?x8xf32, #xf.dims<"B", "">> layers 1
xf.entry @run(%x: tensor<?x?x8xf32, #xf.dims<"B", "N", "">> {xf.name = "x"}, %p: tensor<?xi32, #xf.dims<"B">> {xf.name = "p"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{needs one state tensor for each of its 1 states}}
  %y = xf.scan_step(%x) states [@r, @r][%l] past %p axis 1 init [0.0] : (tensor<?x?x8xf32, #xf.dims<"B", "N", "">>), tensor<?xi32, #xf.dims<"B">> -> tensor<?x?x8xf32, #xf.dims<"B", "N", "">> {
  ^bb0(%s: f32, %a: f32):
    xf.yield %s, %a : f32, f32
  }
  xf.return
}

// -----

xf.state @r : tensor<?x8xf32, #xf.dims<"B", "">> layers 1
xf.entry @run(%x: tensor<?x?x8xf32, #xf.dims<"B", "N", "">> {xf.name = "x"}, %p: tensor<?xi32, #xf.dims<"B">> {xf.name = "p"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{refers to @q, which is no state}}
  %y = xf.scan_step(%x) states [@q][%l] past %p axis 1 init [0.0] : (tensor<?x?x8xf32, #xf.dims<"B", "N", "">>), tensor<?xi32, #xf.dims<"B">> -> tensor<?x?x8xf32, #xf.dims<"B", "N", "">> {
  ^bb0(%s: f32, %a: f32):
    xf.yield %s, %a : f32, f32
  }
  xf.return
}

// -----

xf.state @r : tensor<?x8xf32, #xf.dims<"B", "">> layers 1 sentences
xf.entry @run(%x: tensor<?x?x8xf32, #xf.dims<"B", "N", "">> {xf.name = "x"}, %p: tensor<?xi32, #xf.dims<"B">> {xf.name = "p"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{needs states of search rows}}
  %y = xf.scan_step(%x) states [@r][%l] past %p axis 1 init [0.0] : (tensor<?x?x8xf32, #xf.dims<"B", "N", "">>), tensor<?xi32, #xf.dims<"B">> -> tensor<?x?x8xf32, #xf.dims<"B", "N", "">> {
  ^bb0(%s: f32, %a: f32):
    xf.yield %s, %a : f32, f32
  }
  xf.return
}
