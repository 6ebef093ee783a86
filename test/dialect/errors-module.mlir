// RUN: xf-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{needs a dictionary as}}
module attributes {xf.bounds = 3 : i64} {}

// -----

// expected-error @+1 {{needs a positive i64 as the bound of dimension 'B'}}
module attributes {xf.bounds = {B = 0 : i64}} {}

// -----

// expected-error @+1 {{needs a positive i64 as the bound of dimension 'B'}}
module attributes {xf.bounds = {B = "1"}} {}

// -----

// expected-error @+1 {{needs a dictionary as}}
module attributes {xf.generate = "decode"} {}

// -----

// expected-error @+1 {{has no member 'decoder'}}
module attributes {xf.generate = {decoder = @d}} {}

// -----

// expected-error @+1 {{needs the symbol of an entry as 'decode'}}
module attributes {xf.generate = {decode = "d"}} {}

// -----

// expected-error @+1 {{needs a name as 'tokens'}}
module attributes {xf.generate = {tokens = ""}} {}

// -----

// expected-error @+1 {{needs an i64 that fits in 32 bits as 'end'}}
module attributes {xf.generate = {end = 4294967296 : i64}} {}

// -----

// expected-error @+1 {{needs a positive i64 that fits in 32 bits as 'beam'}}
module attributes {xf.generate = {beam = 0 : i64}} {}

// -----

// expected-error @+1 {{needs a unit attribute as 'ragged_source'}}
module attributes {xf.generate = {ragged_source = 1 : i64}} {}

// -----

// expected-error @+1 {{needs "step" or "kernel" as xf.phase}}
module attributes {xf.phase = 3 : i64} {}

// -----

// expected-error @+1 {{needs "step" or "kernel" as xf.phase}}
module attributes {xf.phase = "model"} {}

// -----

// expected-error @+1 {{has "xf.foo", which is no attribute of the xf dialect}}
module attributes {xf.foo = 3 : i64} {}

// -----

module {
  // expected-error @+1 {{cannot have "xf.phase", an attribute of modules}}
  xf.entry @run() attributes {xf.phase = "kernel"} {
    xf.return
  }
}

// -----

// expected-error @+1 {{as 'source' of}}
module attributes {xf.text = {source = "letters"}} {}

// -----

// expected-error @+1 {{needs a list of i64 that fit in 32 bits as 'prefix'}}
module attributes {xf.text = {prefix = 1 : i64}} {}

// -----

// expected-error @+1 {{needs a name as 'result'}}
module attributes {xf.predict = {result = @r}} {}

// -----

// expected-error @+1 {{needs a string as}}
module attributes {xf.name = 3 : i64} {}

// -----

// expected-error @+1 {{an attribute of modules}}
xf.parameter @p : tensor<2xf32> path "p" attributes {xf.bounds = {}}

// -----

// expected-error @+1 {{needs a static tensor of floats, not 'i32'}}
xf.parameter @p : i32 path "p"

// -----

// expected-error @+1 {{counts must be positive}}
xf.parameter @p : tensor<2xf32> path "p" counts [0]

// -----

// expected-error @+1 {{their product at most 1048576}}
xf.parameter @p : tensor<2xf32> path "p" counts [2097152, 2097152]

// -----

// expected-error @+1 {{needs a path or a region}}
xf.parameter @p : tensor<2xf32>

// -----

// expected-error @+1 {{needs one block that yields}}
xf.parameter @p : tensor<2xf32> {
^bb0(%i: index):
}

// -----

// expected-error @+1 {{takes one index for each dimension}}
xf.parameter @p : tensor<2xf32> {
^bb0(%i: f32):
  %c = arith.constant 0.0 : f64
  xf.yield %c : f64
}

// -----

// expected-error @+1 {{must yield one f64}}
xf.parameter @p : tensor<2xf32> {
^bb0(%i: index):
  xf.yield %i : index
}

// -----

xf.parameter @p : tensor<2xf32> {
^bb0(%i: index):
  // expected-error @+1 {{must give one number of at most 64 bits}}
  %v = arith.constant dense<0.0> : vector<2xf64>
  %c = arith.constant 0.0 : f64
  xf.yield %c : f64
}

// -----

xf.entry @run() {
  // expected-error @+1 {{refers to @p, which is neither a parameter nor a weight}}
  %w = xf.param @p : tensor<2xf32>
  xf.return
}

// -----

xf.parameter @p : tensor<2xf32> path "p.{0}" counts [2]
xf.entry @run() {
  // expected-error @+1 {{needs 1 indices for @p}}
  %w = xf.param @p : tensor<2xf32>
  xf.return
}

// -----

xf.parameter @p : tensor<2xf32> path "p"
xf.entry @run() {
  // expected-error @+1 {{but @p is 'tensor<2xf32>'}}
  %w = xf.param @p : tensor<3xf32>
  xf.return
}

// -----

xf.parameter @p : tensor<2xf32> path "p"
xf.entry @run() {
  // expected-error @+1 {{gives f32 values}}
  %w = xf.param @p : tensor<2xbf16>
  xf.return
}

// -----

// expected-error @+1 {{argument 0 needs a name of its own}}
xf.entry @run(%x: tensor<2xf32>) {
  xf.return
}

// -----

// expected-error @+1 {{result 0 needs a name of its own}}
xf.entry @run(%x: tensor<2xf32> {xf.name = "x"}) -> tensor<2xf32> {
  xf.return %x : tensor<2xf32>
}

// -----

// expected-error @+1 {{argument 1 needs a name of its own}}
xf.entry @run(%x: tensor<2xf32> {xf.name = "x"}, %y: tensor<2xf32> {xf.name = "x"}) {
  xf.return
}

// -----

// expected-error @+1 {{argument 0 needs a string as xf.name, not 3 : i64}}
xf.entry @run(%x: tensor<2xf32> {xf.name = 3 : i64}) {
  xf.return
}

// -----

// expected-error @+1 {{argument 0 has "xf.bounds"; of the xf dialect it can have xf.name alone}}
xf.entry @run(%x: tensor<2xf32> {xf.bounds = {B = 1 : i64}, xf.name = "x"}) {
  xf.return
}

// -----

// expected-error @+1 {{argument 0 is called 'xf.past', as what is added to entries for a search may be}}
xf.entry @run(%x: tensor<2xf32> {xf.name = "xf.past"}) {
  xf.return
}

// -----

// expected-error @+1 {{result 0 has "xf.nam"; of the xf dialect it can have xf.name alone}}
xf.entry @run(%x: tensor<2xf32> {xf.name = "x"}) -> (tensor<2xf32> {xf.nam = "y"}) {
  xf.return %x : tensor<2xf32>
}

// -----

// expected-error @+1 {{needs a body of one block that ends with xf.return}}
xf.entry @run(%x: tensor<2xf32> {xf.name = "x"})

// -----

// expected-error @+1 {{needs a body of one block that ends with xf.return}}
xf.entry @run() {
  xf.yield
}

// -----

xf.entry @run() {
  %c = arith.constant 0 : index
  // expected-error @+1 {{returns other types than entry @run promises}}
  xf.return %c : index
}

// -----

// expected-error @+1 {{#xf.dims names 1 dimensions of 2}}
xf.state @s : tensor<?x?xf32, #xf.dims<"B">> layers 1

// -----

// expected-error @+1 {{must name exactly the dynamic dimensions}}
xf.state @s : tensor<?x2xf32, #xf.dims<"B", "C">> layers 1
