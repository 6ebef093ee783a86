// RUN: xf-opt %s -split-input-file -verify-diagnostics

xf.state @s : tensor<?x2x?x4xbf16, #xf.dims<"B", "", "T", "">> layers 1
xf.entry step @run(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "x"}, %past: tensor<?xi32, #xf.dims<"B">> {xf.name = "xf.past"}) -> (tensor<?x2x?x4xbf16, #xf.dims<"B", "", "T", "">> {xf.name = "y"}) {
  %zero = arith.constant 0 : index
  // expected-error @+1 {{has elements of 'f32', unlike its state}}
  %y = xf.append %x to @s[%zero] axis 2 past %past : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xbf16, #xf.dims<"B", "", "T", "">>
  xf.return %y : tensor<?x2x?x4xbf16, #xf.dims<"B", "", "T", "">>
}

// -----

xf.state @s : tensor<?x8xf32, #xf.dims<"B", "">> layers 1 sentences
xf.entry begin @run(%x: tensor<?x?x8xf32, #xf.dims<"B", "S", "">> {xf.name = "x"}, %slots: tensor<?xi32, #xf.dims<"B">> {xf.name = "xf.slots"}) {
  %zero = arith.constant 0 : index
  // expected-error @+1 {{has another rank than its state}}
  xf.store %x to @s[%zero] slots %slots : tensor<?x?x8xf32, #xf.dims<"B", "S", "">>, tensor<?xi32, #xf.dims<"B">>
  xf.return
}

// -----

xf.entry full @run(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "x"}, %y: tensor<?x2x?x4xbf16, #xf.dims<"B", "", "T", "">> {xf.name = "y"}) -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "z"}) {
  // expected-error @+1 {{multiplies f32, bf16 or f16 with the same}}
  %z = xf.attend %x, %y, %y scale 0.5 fill -1.0e9 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xbf16, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xbf16, #xf.dims<"B", "", "T", "">>
    -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>)
  xf.return %z : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
}

// -----

xf.entry full @run(%x: tensor<?x2x?x4xbf16, #xf.dims<"B", "", "T", "">> {xf.name = "x"}) -> (tensor<?x2x?x?xf32, #xf.dims<"B", "", "T", "T">> {xf.name = "p"}) {
  // expected-error @+1 {{gives probabilities of f32 only}}
  %z, %p = xf.attend %x, %x, %x scale 0.5 fill -1.0e9 : tensor<?x2x?x4xbf16, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xbf16, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xbf16, #xf.dims<"B", "", "T", "">>
    -> (tensor<?x2x?x4xbf16, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x?xf32, #xf.dims<"B", "", "T", "T">>)
  xf.return %p : tensor<?x2x?x?xf32, #xf.dims<"B", "", "T", "T">>
}

// -----

xf.entry full @run(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "x"}) -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "z"}) {
  // expected-error @+1 {{multiplies bf16 in words, and no states}}
  %z = xf.attend %x, %x, %x scale 0.5 fill -1.0e9 {words} : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>)
  xf.return %z : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
}
