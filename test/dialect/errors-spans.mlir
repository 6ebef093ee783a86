// RUN: xf-opt %s -split-input-file -verify-diagnostics

// Ranks and elements that the layouts have.
xf.entry packed @run(%x: tensor<1x?x4xf32, #xf.dims<"", "P", "">> {xf.name = "x"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{gives plain rows [batch, positions, width], or keys or values [batch, heads, positions, width] of f32, bf16 or f16, not 'tensor<?x?x4xf32}}
  %y = xf.spread keys %x spans %spans : tensor<1x?x4xf32, #xf.dims<"", "P", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> tensor<?x?x4xf32, #xf.dims<"B", "S", "">>
  xf.return
}

// -----

xf.entry packed @run(%x: tensor<1x2x?x4xi32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{gives plain rows [batch, positions, width], or keys or values [batch, heads, positions, width] of f32, bf16 or f16, not }}
  %y = xf.spread values %x spans %spans : tensor<1x2x?x4xi32, #xf.dims<"", "", "P", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> tensor<?x2x?x4xi32, #xf.dims<"B", "", "S", "">>
  xf.return
}

// -----

xf.entry packed @run(%x: tensor<1x2x?x?xf32, #xf.dims<"", "", "P", "D">> {xf.name = "x"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{gives plain rows [batch, positions, width], or keys or values [batch, heads, positions, width] of f32, bf16 or f16, not }}
  %y = xf.spread keys %x spans %spans : tensor<1x2x?x?xf32, #xf.dims<"", "", "P", "D">>, tensor<?x2xi32, #xf.dims<"B", "">> -> tensor<?x2x?x?xf32, #xf.dims<"B", "", "S", "D">>
  xf.return
}

// -----

xf.entry packed @run(%x: tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{gives plain rows [batch, positions, width], or keys or values [batch, heads, positions, width] of f32, bf16 or f16, not }}
  %y = xf.spread panels %x spans %spans : tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>
  xf.return
}

// -----

xf.entry packed @run(%x: tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{gives plain rows [batch, positions, width], or keys or values [batch, heads, positions, width] of f32, bf16 or f16, not }}
  %y = xf.spread plain %x spans %spans : tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>
  xf.return
}

// -----

xf.entry packed @run(%x: tensor<1x?x?xf32, #xf.dims<"", "P", "D">> {xf.name = "x"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{gives plain rows [batch, positions, width], or keys or values [batch, heads, positions, width] of f32, bf16 or f16, not }}
  %y = xf.spread plain %x spans %spans : tensor<1x?x?xf32, #xf.dims<"", "P", "D">>, tensor<?x2xi32, #xf.dims<"B", "">> -> tensor<?x?x?xf32, #xf.dims<"B", "S", "D">>
  xf.return
}

// -----

// Spans.
xf.entry packed @run(%x: tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %spans: tensor<?x2xf32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{needs spans i32 [batch, 2] of the sentences of }}
  %y = xf.spread keys %x spans %spans : tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?x2xf32, #xf.dims<"B", "">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>
  xf.return
}

// -----

xf.entry packed @run(%x: tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %spans: tensor<?xi32, #xf.dims<"B">> {xf.name = "spans"}) {
  // expected-error @+1 {{needs spans i32 [batch, 2] of the sentences of }}
  %y = xf.spread keys %x spans %spans : tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>
  xf.return
}

// -----

xf.entry packed @run(%x: tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %spans: tensor<?x3xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{needs spans i32 [batch, 2] of the sentences of }}
  %y = xf.spread keys %x spans %spans : tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?x3xi32, #xf.dims<"B", "">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>
  xf.return
}

// -----

xf.entry packed @run(%x: tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %spans: tensor<?x?xi32, #xf.dims<"B", "S">> {xf.name = "spans"}) {
  // expected-error @+1 {{needs spans i32 [batch, 2] of the sentences of }}
  %y = xf.spread keys %x spans %spans : tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?x?xi32, #xf.dims<"B", "S">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>
  xf.return
}

// -----

xf.entry packed @run(%x: tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %spans: tensor<?x2xi32, #xf.dims<"S", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{needs spans i32 [batch, 2] of the sentences of }}
  %y = xf.spread keys %x spans %spans : tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?x2xi32, #xf.dims<"S", "">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>
  xf.return
}

// -----

xf.entry packed @run(%x: tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %spans: tensor<5x2xi32, #xf.dims<"", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{needs spans i32 [batch, 2] of the sentences of }}
  %y = xf.spread keys %x spans %spans : tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<5x2xi32, #xf.dims<"", "">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>
  xf.return
}

// -----

// What is spread: one row, of any number of positions, with the result's heads, width and elements.
xf.entry packed @run(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "x"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{with its sentences behind each other along dimension 2}}
  %y = xf.spread keys %x spans %spans : tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>
  xf.return
}

// -----

xf.entry packed @run(%x: tensor<1x3x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{with its sentences behind each other along dimension 2}}
  %y = xf.spread keys %x spans %spans : tensor<1x3x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>
  xf.return
}

// -----

xf.entry packed @run(%x: tensor<1x2x?x8xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{with its sentences behind each other along dimension 2}}
  %y = xf.spread keys %x spans %spans : tensor<1x2x?x8xf32, #xf.dims<"", "", "P", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>
  xf.return
}

// -----

xf.entry packed @run(%x: tensor<1x2x?x4xbf16, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{with its sentences behind each other along dimension 2}}
  %y = xf.spread keys %x spans %spans : tensor<1x2x?x4xbf16, #xf.dims<"", "", "P", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>
  xf.return
}

// -----

xf.entry packed @run(%x: tensor<1x2x9x4xf32, #xf.dims<"", "", "", "">> {xf.name = "x"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{with its sentences behind each other along dimension 2}}
  %y = xf.spread keys %x spans %spans : tensor<1x2x9x4xf32, #xf.dims<"", "", "", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>
  xf.return
}

// -----

xf.entry packed @run(%x: tensor<1x?x4xf32, #xf.dims<"", "P", "">> {xf.name = "x"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{with its sentences behind each other along dimension 2}}
  %y = xf.spread keys %x spans %spans : tensor<1x?x4xf32, #xf.dims<"", "P", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>
  xf.return
}

// -----

xf.entry packed @run(%x: tensor<1x?x5xf32, #xf.dims<"", "P", "">> {xf.name = "x"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{with its sentences behind each other along dimension 1}}
  %y = xf.spread plain %x spans %spans : tensor<1x?x5xf32, #xf.dims<"", "P", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> tensor<?x?x4xf32, #xf.dims<"B", "S", "">>
  xf.return
}

// -----

// A result of a fixed length.
xf.entry packed @run(%x: tensor<1x?x4xf32, #xf.dims<"", "P", "">> {xf.name = "x"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{with its sentences behind each other along dimension 1}}
  %y = xf.spread plain %x spans %spans : tensor<1x?x4xf32, #xf.dims<"", "P", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> tensor<?x9x4xf32, #xf.dims<"B", "", "">>
  xf.return
}

// -----

// Attention.
xf.entry packed @run(%q: tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "q"}, %k: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "k"}, %v: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "v"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{gives no probabilities of spans}}
  %c, %p = xf.attend %q, %k, %v spans %spans scale 0.5 fill -1.0e9 : tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> (tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<1x4x?x?xf32, #xf.dims<"", "", "P", "S">>)
  xf.return
}

// -----

xf.entry packed @run(%q: tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "q"}, %k: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "k"}, %v: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "v"}, %spans: tensor<?x2xf32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{needs spans i32 [batch, 2] of the sentences of }}
  %c = xf.attend %q, %k, %v spans %spans scale 0.5 fill -1.0e9 : tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2xf32, #xf.dims<"B", "">> -> (tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">>)
  xf.return
}

// -----

xf.entry packed @run(%q: tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "q"}, %k: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "k"}, %v: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "v"}, %spans: tensor<?xi32, #xf.dims<"B">> {xf.name = "spans"}) {
  // expected-error @+1 {{needs spans i32 [batch, 2] of the sentences of }}
  %c = xf.attend %q, %k, %v spans %spans scale 0.5 fill -1.0e9 : tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?xi32, #xf.dims<"B">> -> (tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">>)
  xf.return
}

// -----

xf.entry packed @run(%q: tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "q"}, %k: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "k"}, %v: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "v"}, %spans: tensor<?x3xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{needs spans i32 [batch, 2] of the sentences of }}
  %c = xf.attend %q, %k, %v spans %spans scale 0.5 fill -1.0e9 : tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x3xi32, #xf.dims<"B", "">> -> (tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">>)
  xf.return
}

// -----

xf.entry packed @run(%q: tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "q"}, %k: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "k"}, %v: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "v"}, %spans: tensor<?x2xi32, #xf.dims<"C", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{needs spans i32 [batch, 2] of the sentences of }}
  %c = xf.attend %q, %k, %v spans %spans scale 0.5 fill -1.0e9 : tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2xi32, #xf.dims<"C", "">> -> (tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">>)
  xf.return
}

// -----

xf.entry packed @run(%q: tensor<?x4x?x4xf32, #xf.dims<"B", "", "P", "">> {xf.name = "q"}, %k: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "k"}, %v: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "v"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{with its sentences behind each other along dimension 2}}
  %c = xf.attend %q, %k, %v spans %spans scale 0.5 fill -1.0e9 : tensor<?x4x?x4xf32, #xf.dims<"B", "", "P", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> (tensor<?x4x?x4xf32, #xf.dims<"B", "", "P", "">>)
  xf.return
}

// -----

xf.entry packed @run(%q: tensor<?x4x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "q"}, %k: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "k"}, %v: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "v"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{with its sentences behind each other along dimension 2}}
  %c = xf.attend %q, %k, %v spans %spans scale 0.5 fill -1.0e9 : tensor<?x4x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> (tensor<?x4x?x4xf32, #xf.dims<"B", "", "S", "">>)
  xf.return
}

// -----

xf.entry packed @run(%q: tensor<1x4x9x4xf32, #xf.dims<"", "", "", "">> {xf.name = "q"}, %k: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "k"}, %v: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "v"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{with its sentences behind each other along dimension 2}}
  %c = xf.attend %q, %k, %v spans %spans scale 0.5 fill -1.0e9 : tensor<1x4x9x4xf32, #xf.dims<"", "", "", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> (tensor<1x4x9x4xf32, #xf.dims<"", "", "", "">>)
  xf.return
}

// -----

xf.entry packed @run(%q: tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "q"}, %k: tensor<?x2x9x4xf32, #xf.dims<"B", "", "", "">> {xf.name = "k"}, %v: tensor<?x2x9x4xf32, #xf.dims<"B", "", "", "">> {xf.name = "v"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{with its sentences behind each other along dimension 2}}
  %c = xf.attend %q, %k, %v spans %spans scale 0.5 fill -1.0e9 : tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?x2x9x4xf32, #xf.dims<"B", "", "", "">>, tensor<?x2x9x4xf32, #xf.dims<"B", "", "", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> (tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">>)
  xf.return
}

// -----

xf.entry packed @run(%q: tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "q"}, %k: tensor<?x2x?x8xf32, #xf.dims<"B", "", "S", "">> {xf.name = "k"}, %v: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "v"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{differ in width}}
  %c = xf.attend %q, %k, %v spans %spans scale 0.5 fill -1.0e9 : tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?x2x?x8xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> (tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">>)
  xf.return
}

// -----

xf.entry packed @run(%q: tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "q"}, %k: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "k"}, %v: tensor<?x2x?x4xf32, #xf.dims<"C", "", "S", "">> {xf.name = "v"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{differ in their batch}}
  %c = xf.attend %q, %k, %v spans %spans scale 0.5 fill -1.0e9 : tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2x?x4xf32, #xf.dims<"C", "", "S", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> (tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">>)
  xf.return
}

// -----

xf.entry packed @run(%q: tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "q"}, %k: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "k"}, %v: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "v"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{should be as the queries with the values' width}}
  %c = xf.attend %q, %k, %v spans %spans scale 0.5 fill -1.0e9 : tensor<1x4x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> (tensor<?x4x?x4xf32, #xf.dims<"B", "", "S", "">>)
  xf.return
}

// -----

xf.entry packed @run(%q: tensor<1x3x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "q"}, %k: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "k"}, %v: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "v"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}) {
  // expected-error @+1 {{are no multiple of the key heads}}
  %c = xf.attend %q, %k, %v spans %spans scale 0.5 fill -1.0e9 : tensor<1x3x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?x2xi32, #xf.dims<"B", "">> -> (tensor<1x3x?x4xf32, #xf.dims<"", "", "P", "">>)
  xf.return
}

// -----

// Stores.
xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> layers 1 sentences
xf.entry packed @run(%x: tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %slots: tensor<?xi32, #xf.dims<"B">> {xf.name = "slots"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{stores spans as keys or values only}}
  xf.store %x to @s[%l] slots %slots spans %spans : tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<?x2xi32, #xf.dims<"B", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> layers 1
xf.entry packed @run(%x: tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %slots: tensor<?xi32, #xf.dims<"B">> {xf.name = "slots"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{stores into a state of search rows}}
  xf.store %x to @s[%l] slots %slots spans %spans : tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<?x2xi32, #xf.dims<"B", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> layers 1 sentences layout keys
xf.entry packed @run(%x: tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %slots: tensor<?xi32, #xf.dims<"B">> {xf.name = "slots"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{cannot pad spans}}
  xf.store %x to @s[%l] slots %slots spans %spans padding 0.0 : f32 : tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<?x2xi32, #xf.dims<"B", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> layers 1 sentences layout keys
xf.entry packed @run(%x: tensor<1x?x4xf32, #xf.dims<"", "P", "">> {xf.name = "x"}, %slots: tensor<?xi32, #xf.dims<"B">> {xf.name = "slots"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{has another rank than its state}}
  xf.store %x to @s[%l] slots %slots spans %spans : tensor<1x?x4xf32, #xf.dims<"", "P", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<?x2xi32, #xf.dims<"B", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> layers 1 sentences layout keys
xf.entry packed @run(%x: tensor<1x2x?x4xbf16, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %slots: tensor<?xi32, #xf.dims<"B">> {xf.name = "slots"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{has elements of 'bf16', unlike its state}}
  xf.store %x to @s[%l] slots %slots spans %spans : tensor<1x2x?x4xbf16, #xf.dims<"", "", "P", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<?x2xi32, #xf.dims<"B", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> layers 1 sentences layout keys
xf.entry packed @run(%x: tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %slots: tensor<?xi32, #xf.dims<"C">> {xf.name = "slots"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{needs slots as one i32 for each row of}}
  xf.store %x to @s[%l] slots %slots spans %spans : tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?xi32, #xf.dims<"C">>, tensor<?x2xi32, #xf.dims<"B", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> layers 1 sentences layout keys
xf.entry packed @run(%x: tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %slots: tensor<1xi32, #xf.dims<"">> {xf.name = "slots"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{needs slots as one i32 for each row of}}
  xf.store %x to @s[%l] slots %slots spans %spans : tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<1xi32, #xf.dims<"">>, tensor<?x2xi32, #xf.dims<"B", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> layers 1 sentences layout keys
xf.entry packed @run(%x: tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %slots: tensor<?xi32, #xf.dims<"B">> {xf.name = "slots"}, %spans: tensor<?x2xf32, #xf.dims<"B", "">> {xf.name = "spans"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{needs spans i32 [batch, 2] of the sentences of }}
  xf.store %x to @s[%l] slots %slots spans %spans : tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<?x2xf32, #xf.dims<"B", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> layers 1 sentences layout keys
xf.entry packed @run(%x: tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %slots: tensor<?xi32, #xf.dims<"B">> {xf.name = "slots"}, %spans: tensor<?xi32, #xf.dims<"B">> {xf.name = "spans"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{needs spans i32 [batch, 2] of the sentences of }}
  xf.store %x to @s[%l] slots %slots spans %spans : tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<?xi32, #xf.dims<"B">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> layers 1 sentences layout keys
xf.entry packed @run(%x: tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %slots: tensor<?xi32, #xf.dims<"B">> {xf.name = "slots"}, %spans: tensor<?x3xi32, #xf.dims<"B", "">> {xf.name = "spans"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{needs spans i32 [batch, 2] of the sentences of }}
  xf.store %x to @s[%l] slots %slots spans %spans : tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<?x3xi32, #xf.dims<"B", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> layers 1 sentences layout keys
xf.entry packed @run(%x: tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %slots: tensor<?xi32, #xf.dims<"C">> {xf.name = "slots"}, %spans: tensor<?x2xi32, #xf.dims<"C", "">> {xf.name = "spans"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{needs spans i32 [batch, 2] of the sentences of }}
  xf.store %x to @s[%l] slots %slots spans %spans : tensor<1x2x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?xi32, #xf.dims<"C">>, tensor<?x2xi32, #xf.dims<"C", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> layers 1 sentences layout keys
xf.entry packed @run(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> {xf.name = "x"}, %slots: tensor<?xi32, #xf.dims<"B">> {xf.name = "slots"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{with its sentences behind each other along dimension 2}}
  xf.store %x to @s[%l] slots %slots spans %spans : tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<?x2xi32, #xf.dims<"B", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> layers 1 sentences layout keys
xf.entry packed @run(%x: tensor<1x3x?x4xf32, #xf.dims<"", "", "P", "">> {xf.name = "x"}, %slots: tensor<?xi32, #xf.dims<"B">> {xf.name = "slots"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{with its sentences behind each other along dimension 2}}
  xf.store %x to @s[%l] slots %slots spans %spans : tensor<1x3x?x4xf32, #xf.dims<"", "", "P", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<?x2xi32, #xf.dims<"B", "">>
  xf.return
}

// -----

xf.state @s : tensor<?x2x?x4xf32, #xf.dims<"B", "", "S", "">> layers 1 sentences layout keys
xf.entry packed @run(%x: tensor<1x2x9x4xf32, #xf.dims<"", "", "", "">> {xf.name = "x"}, %slots: tensor<?xi32, #xf.dims<"B">> {xf.name = "slots"}, %spans: tensor<?x2xi32, #xf.dims<"B", "">> {xf.name = "spans"}, %l: index {xf.name = "l"}) {
  // expected-error @+1 {{with its sentences behind each other along dimension 2}}
  xf.store %x to @s[%l] slots %slots spans %spans : tensor<1x2x9x4xf32, #xf.dims<"", "", "", "">>, tensor<?xi32, #xf.dims<"B">>, tensor<?x2xi32, #xf.dims<"B", "">>
  xf.return
}
