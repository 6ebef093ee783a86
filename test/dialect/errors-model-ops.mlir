// RUN: xf-opt %s -split-input-file -verify-diagnostics

xf.entry @run() {
  // expected-error @+1 {{gives i32 positions of rank 1}}
  %y = xf.positions : tensor<4x4xi32>
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}) {
  // expected-error @+1 {{needs one i32 for each row of [B, 3]}}
  %y = xf.positions from %x : tensor<?x4xf32, #xf.dims<"B", "">> -> tensor<?x3xi32, #xf.dims<"B", "">>
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}, %i: tensor<3xi32> {xf.name = "i"}) {
  // expected-error @+1 {{needs a static table of rank 2 and i32 ids}}
  %y = xf.embed %x, %i : tensor<?x4xf32, #xf.dims<"B", "">>, tensor<3xi32> -> tensor<3x4xf32>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}, %i: tensor<3xi32> {xf.name = "i"}) {
  // expected-error @+1 {{gives elements of the table, 'f32'}}
  %y = xf.embed %w, %i : tensor<8x4xf32>, tensor<3xi32> -> tensor<3x4xi32>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}, %i: tensor<3xi32> {xf.name = "i"}) {
  // expected-error @+1 {{should have the ids' dimensions [3]}}
  %y = xf.embed %w, %i : tensor<8x4xf32>, tensor<3xi32> -> tensor<3x2x4xf32>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}, %i: tensor<3xi32> {xf.name = "i"}) {
  // expected-error @+1 {{does not follow the ids}}
  %y = xf.embed %w, %i : tensor<8x4xf32>, tensor<3xi32> -> tensor<2x4xf32>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}, %i: tensor<3xi32> {xf.name = "i"}) {
  // expected-error @+1 {{should end with the table's 4}}
  %y = xf.embed %w, %i : tensor<8x4xf32>, tensor<3xi32> -> tensor<3x5xf32>
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}) {
  // expected-error @+1 {{needs a static weight of rank 2}}
  %y = xf.linear %x, %x : tensor<?x4xf32, #xf.dims<"B", "">>, tensor<?x4xf32, #xf.dims<"B", "">> -> tensor<?x4xf32, #xf.dims<"B", "">>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}, %x: tensor<3x5xf32> {xf.name = "x"}) {
  // expected-error @+1 {{does not fit the weight [3, 5]}}
  %y = xf.linear %w, %x : tensor<8x4xf32>, tensor<3x5xf32> -> tensor<8x3xf32>
  xf.return
}

// -----

xf.entry @run(%x: tensor<4x4xi32> {xf.name = "x"}) {
  // expected-error @+1 {{has no product of 'i32'}}
  %y = xf.linear %x, %x : tensor<4x4xi32>, tensor<4x4xi32> -> tensor<4x4xf32>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}, %x: tensor<4x4xbf16> {xf.name = "x"}) {
  // expected-error @+1 {{multiplies 'f32' with 'bf16'}}
  %y = xf.linear %w, %x : tensor<8x4xf32>, tensor<4x4xbf16> -> tensor<8x4xf32>
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}, %w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{is not what [B, 4] and the weight [8, 4] give}}
  %y = xf.linear %x, %w : tensor<?x4xf32, #xf.dims<"B", "">>, tensor<8x4xf32> -> tensor<?x4xf32, #xf.dims<"B", "">>
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}, %w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{must give 'f32'}}
  %y = xf.linear %x, %w : tensor<?x4xf32, #xf.dims<"B", "">>, tensor<8x4xf32> -> tensor<?x8xi32, #xf.dims<"B", "">>
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}, %w: tensor<8x4xf32> {xf.name = "w"}, %b: tensor<4xf32> {xf.name = "b"}) {
  // expected-error @+1 {{bias [4] does not fit the weight}}
  %y = xf.linear %x, %w, %b : tensor<?x4xf32, #xf.dims<"B", "">>, tensor<8x4xf32>, tensor<4xf32> -> tensor<?x8xf32, #xf.dims<"B", "">>
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}, %w: tensor<8x4xf32> {xf.name = "w"}, %b: tensor<8xbf16> {xf.name = "b"}) {
  // expected-error @+1 {{adds a bias of 'bf16' to 'f32'}}
  %y = xf.linear %x, %w, %b : tensor<?x4xf32, #xf.dims<"B", "">>, tensor<8x4xf32>, tensor<8xbf16> -> tensor<?x8xf32, #xf.dims<"B", "">>
  xf.return
}

// -----

xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}) {
  // expected-error @+1 {{needs a static f32 matrix}}
  %y = xf.quantize %x : tensor<?x4xf32, #xf.dims<"B", "">> -> tensor<?x4xf32, #xf.dims<"B", "">>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{gives 'tensor<8x4xi8>', 'tensor<8xf32>', 'tensor<8xi32>', 'tensor<8xf32>', 'tensor<8xf32>', 'tensor<4xf32>'}}
  %q, %s, %u, %l = xf.quantize %w : tensor<8x4xf32> -> tensor<8x4xi8>, tensor<8xf32>, tensor<8xi32>, tensor<8xf32>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{gives 'tensor<8x4xi16>', 'tensor<8xf32>', 'tensor<8xf32>', 'tensor<8xf32>', 'tensor<4xf32>'}}
  %q, %s, %l, %e = xf.quantize %w : tensor<8x4xf32> -> tensor<8x4xi16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{gives 'tensor<8x4xbf16>'}}
  %y = xf.quantize %w : tensor<8x4xf32> -> tensor<8x4xf32>
  xf.return
}

// -----

xf.entry @run() {
  // expected-error @+1 {{needs results}}
  "xf.map"() <{maps = []}> ({
  ^bb0:
    "xf.yield"() : () -> ()
  }) : () -> ()
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{has 0 maps for 1 operands}}
  %y = xf.map(%w) maps [] : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: f32):
    xf.yield %a : f32
  }
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{map 0 has another rank}}
  %y = xf.map(%w) maps [[0]] : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: f32):
    xf.yield %a : f32
  }
  xf.return
}

// -----

// A diagonal is no map.
xf.entry @run(%w: tensor<4x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{map 0 refers to dimension 0 twice}}
  xf.map(%w) maps [[0, 0]] : (tensor<4x4xf32>) -> tensor<4xf32> {
  ^bb0(%a: f32):
    xf.yield %a : f32
  }
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{map 0 refers to dimension 2 of [8, 4]}}
  %y = xf.map(%w) maps [[0, 2]] : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: f32):
    xf.yield %a : f32
  }
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{operand 0 of shape [8, 4] does not fit}}
  %y = xf.map(%w) maps [[1, 0]] : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: f32):
    xf.yield %a : f32
  }
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{needs one shape, but has [8, 4] and [4]}}
  %y:2 = xf.map(%w) maps [[0, 1]] : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>) {
  ^bb0(%a: f32):
    xf.yield %a, %a : f32, f32
  }
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{must take the operands' elements}}
  %y = xf.map(%w) maps [[0, 1]] : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: i32):
    xf.yield %a : i32
  }
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{must yield the results' elements}}
  %y = xf.map(%w) maps [[0, 1]] : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: f32):
    xf.yield %a, %a : f32, f32
  }
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{expects a non-empty block}}
  %y = xf.map(%w) maps [[0, 1]] : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: f32):
  }
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  %y = xf.map(%w) maps [[0, 1]] : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: f32):
    // expected-error @+1 {{cannot stand in a region that computes on numbers}}
    %p = xf.positions : tensor<4xi32>
    xf.yield %a : f32
  }
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  %y = xf.map(%w) maps [[0, 1]] : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: f32):
    // expected-error @+1 {{must give one number of at most 64 bits}}
    %b = arith.addf %w, %w : tensor<8x4xf32>
    xf.yield %a : f32
  }
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  %c = arith.constant 1.0 : f32
  %d = arith.addf %c, %c : f32
  %y = xf.map(%w) maps [[0, 1]] : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: f32):
    // expected-error @+1 {{takes a 'f32' from outside of its region}}
    %b = arith.addf %a, %d : f32
    xf.yield %b : f32
  }
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{result must be [8, 4] with 1 as its last dimension}}
  %y = xf.reduce sum %w : tensor<8x4xf32> -> tensor<8xf32>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{axis 'a' stands on the left}}
  %y = xf.rearrange %w "a b -> b" {} : tensor<8x4xf32> -> tensor<4xf32>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{gives [4, 8], not [8, 4]}}
  %y = xf.rearrange %w "a b -> b a" {} : tensor<8x4xf32> -> tensor<8x4xf32>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{the sizes of dimension 1 are too large}}
  %y = xf.rearrange %w "a (b c d) -> a b c d" {b = 4294967296 : i64, c = 4294967296 : i64} : tensor<8x4xf32> -> tensor<8x4xf32>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{axis 'b' has size 2 : i8}}
  %y = xf.rearrange %w "a (b c) -> a b c" {b = 2 : i8} : tensor<8x4xf32> -> tensor<8x2x2xf32>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{axis, start or step is out of range}}
  %y = xf.slice %w axis 2 start 0 : tensor<8x4xf32> -> tensor<8x4xf32>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{should differ from [8, 4] along the axis only}}
  %y = xf.slice %w axis 0 start 0 : tensor<8x4xf32> -> tensor<4x5xf32>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{reads past dimension 0 of [8, 4]}}
  %y = xf.slice %w axis 0 start 2 step 4611686018427387904 : tensor<8x4xf32> -> tensor<4x4xf32>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{axis is out of range}}
  %y = xf.concat(%w) axis 2 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{does not fit [9, 4] beside the axis}}
  %y = xf.concat(%w) axis 1 : (tensor<8x4xf32>) -> tensor<9x4xf32>
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{inputs have 8 along the axis, the result 9}}
  %y = xf.concat(%w) axis 0 : (tensor<8x4xf32>) -> tensor<9x4xf32>
  xf.return
}

// -----

xf.entry @run() {
  // expected-error @+1 {{needs results}}
  "xf.scan"() <{axis = 0 : i64, init = array<f64>}> ({
  ^bb0:
    "xf.yield"() : () -> ()
  }) : () -> ()
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{axis 2 is out of range for [8, 4]}}
  %y = xf.scan(%w) axis 2 init [] : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: f32):
    xf.yield %a : f32
  }
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{must take the operands' elements}}
  %y = xf.scan(%w) axis 0 init [0.0] : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: f32):
    xf.yield %a : f32
  }
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{needs at least one layer}}
  %y = xf.repeat 0 (%w) : (tensor<8x4xf32>) -> (tensor<8x4xf32>) {
  ^bb0(%l: index, %a: tensor<8x4xf32>):
    xf.yield %a : tensor<8x4xf32>
  }
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{must take the layer's index and the carried values}}
  %y = xf.repeat 1 (%w) : (tensor<8x4xf32>) -> (tensor<8x4xf32>) {
  ^bb0(%a: tensor<8x4xf32>):
    xf.yield %a : tensor<8x4xf32>
  }
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{must yield the results' types}}
  %y = xf.repeat 1 (%w) : (tensor<8x4xf32>) -> (tensor<8x4xf32>) {
  ^bb0(%l: index, %a: tensor<8x4xf32>):
    xf.yield
  }
  xf.return
}

// -----

xf.entry @run(%w: tensor<8x4xf32> {xf.name = "w"}) {
  // expected-error @+1 {{carried values must keep their types}}
  xf.repeat 1 (%w) : (tensor<8x4xf32>) -> () {
  ^bb0(%l: index, %a: tensor<8x4xf32>):
    xf.yield
  }
  xf.return
}

// -----

// expected-error @+1 {{takes tensors and indices, not 'tensor<?x4xf32>'}}
xf.entry @run(%x: tensor<?x4xf32> {xf.name = "x"}) {
  xf.return
}

// -----

// expected-error @+1 {{gives tensors, not 'index'}}
xf.entry @run(%i: index {xf.name = "i"}) -> (index {xf.name = "y"}) {
  xf.return %i : index
}

// -----

// expected-error @+1 {{not 'tensor<0x4xf32>'}}
xf.entry @run(%x: tensor<0x4xf32> {xf.name = "x"}) {
  xf.return
}

// -----

// expected-error @+1 {{expects parent op to be one of}}
%p = xf.positions : tensor<4xi32>

// -----

xf.entry @run(%x: tensor<4x8xi1> {xf.name = "x"}) -> (tensor<4x1xi1> {xf.name = "y"}) {
  // expected-error @+1 {{reduces f32 and i32, not 'i1'}}
  %y = xf.reduce max %x : tensor<4x8xi1> -> tensor<4x1xi1>
  xf.return %y : tensor<4x1xi1>
}

// -----

xf.parameter @w : tensor<10x64xf32> path "w"
xf.entry @run(%x: tensor<1xi32> {xf.name = "x"}) -> (tensor<64xf32> {xf.name = "y"}) {
  %w = xf.param @w : tensor<10x64xf32>
  // expected-error @+1 {{should have the ids' dimensions}}
  %y = xf.embed %w, %x : tensor<10x64xf32>, tensor<1xi32> -> tensor<64xf32>
  xf.return %y : tensor<64xf32>
}
