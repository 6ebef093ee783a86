// What code is made of is checked before it is made. Each part is kernel IR with one thing wrong.
// RUN: rm -rf %t && split-file %s %t
// RUN: not xfc %t/bound.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=BOUND
// BOUND: error: dimension 'B' has no bound in the module's xf.bounds
// RUN: not xfc %t/zero.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: a name of 2 bytes, one of them 0, cannot be stored: names have 1 to 4096 bytes, none of them 0
// RUN: not xfc %t/nameless.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=NAMELESS
// NAMELESS: error: a name of 0 bytes cannot be stored
// RUN: not xfc %t/element.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=ELEMENT
// ELEMENT: error: no kernel is for tensors of 'f64'
// RUN: not xfc %t/rank.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: error: tensors of more than 6 dimensions are not supported
// RUN: not xfc %t/argument.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=ARGUMENT
// ARGUMENT: error: takes and gives tensors of f32, i32 and i1, not of 'index'
// RUN: not xfc %t/memory.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=MEMORY
// MEMORY: error: tensors of shape [64, 64] for all layers are larger than any memory
// RUN: not xfc %t/model-op.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=MODEL
// MODEL: error: is no op of kernel IR
// RUN: not xfc %t/unpacked.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=UNPACKED
// UNPACKED: error: cannot read [8, 4] in the order 'plain'
// RUN: not xfc %t/returned.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=RETURNED
// RETURNED: error: gives a value that has no buffer of its own
// RUN: not xfc %t/layer.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=LAYER
// LAYER: error: reads layer 2 of 2
// RUN: not xfc %t/index.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=INDEX
// INDEX: error: its index is no number of an enclosing stack's layer
// RUN: not xfc %t/weight.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=WEIGHT
// WEIGHT: error: a weight is computed from parameters, not from @v
// RUN: not xfc %t/step.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=STEP
// STEP: error: xf.generate names @nothing as 'step', which is no entry
// RUN: not xfc %t/tokens.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=TOKENS
// TOKENS: error: has no argument 'tokens' of rank 2 with dimension 'B', the tokens of a search
// RUN: not xfc %t/logits.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=LOGITS
// LOGITS: error: has no result 'y', the logits of a search
// RUN: not xfc %t/reader.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=READER
// READER: error: leaves its position to a reader that does not write it
// RUN: not xfc %t/predict.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=PREDICT
// PREDICT: error: xf.predict lacks 'result'
// RUN: not xfc %t/types.mlir --emit=llvm -o - 2>&1 | FileCheck %s --check-prefix=TYPES
// TYPES: error: has no argument 'kinds', which xf.predict names
// RUN: not xfc %t/nothing.mlir --random-weights 1 --emit=model -o %t/none 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: error: no entry computes anything

//--- nothing.mlir
module {
}

//--- bound.mlir
module attributes {xf.bounds = {S = 4 : i64}, xf.phase = "kernel"} {
  xf.entry @run(%x: tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "x"}) {
    xf.return
  }
}
//--- zero.mlir
module attributes {xf.phase = "kernel"} {
  xf.entry @run(%x: tensor<4xf32> {xf.name = "x\00"}) {
    xf.return
  }
}
//--- nameless.mlir
module attributes {xf.name = "", xf.phase = "kernel"} {
  xf.entry @run(%x: tensor<4xf32> {xf.name = "x"}) {
    xf.return
  }
}
//--- element.mlir
module attributes {xf.phase = "kernel"} {
  xf.entry @run(%x: tensor<4xf64> {xf.name = "x"}) {
    xf.return
  }
}
//--- rank.mlir
module attributes {xf.phase = "kernel"} {
  xf.entry @run(%x: tensor<1x1x1x1x1x1x4xf32> {xf.name = "x"}) {
    xf.return
  }
}
//--- argument.mlir
module attributes {xf.phase = "kernel"} {
  xf.entry @run(%x: index {xf.name = "x"}) {
    xf.return
  }
}
//--- memory.mlir
module attributes {xf.phase = "kernel"} {
  xf.parameter @p : tensor<64x64xf32> path "p"
  xf.weight @w : tensor<64x64xf32> layers 4611686018427387904 {
  ^bb0(%l: index):
    %w = xf.param @p : tensor<64x64xf32>
    xf.yield %w : tensor<64x64xf32>
  }
}
//--- model-op.mlir
module attributes {xf.phase = "kernel"} {
  xf.entry @run(%x: tensor<4x4xf32> {xf.name = "x"}) -> (tensor<4x1xf32> {xf.name = "y"}) {
    %y = xf.reduce sum %x : tensor<4x4xf32> -> tensor<4x1xf32>
    xf.return %y : tensor<4x1xf32>
  }
}
//--- unpacked.mlir
module attributes {xf.phase = "kernel"} {
  xf.parameter @p : tensor<8x4xf32> path "p"
  xf.entry @run(%x: tensor<4x4xf32> {xf.name = "x"}) -> (tensor<4x8xf32> {xf.name = "y"}) {
    %w = xf.param @p : tensor<8x4xf32>
    %y = xf.contract %x, %w extras() maps [] : tensor<4x4xf32>, tensor<8x4xf32> -> tensor<4x8xf32> {
    ^bb0(%a: f32):
      xf.yield %a : f32
    }
    xf.return %y : tensor<4x8xf32>
  }
}
//--- returned.mlir
module attributes {xf.phase = "kernel"} {
  xf.entry @run(%x: tensor<4xf32> {xf.name = "x"}) -> (tensor<4xf32> {xf.name = "y"}) {
    xf.return %x : tensor<4xf32>
  }
}
//--- layer.mlir
module attributes {xf.phase = "kernel"} {
  xf.parameter @p : tensor<4xf32> path "p.{0}" counts [2]
  xf.entry @run() -> (tensor<4xf32> {xf.name = "y"}) {
    %c2 = arith.constant 2 : index
    %w = xf.param @p[%c2] : tensor<4xf32>
    %y = xf.pack plain %w : tensor<4xf32>
    xf.return %y : tensor<4xf32>
  }
}
//--- index.mlir
module attributes {xf.phase = "kernel"} {
  xf.parameter @p : tensor<4xf32> path "p.{0}" counts [2]
  xf.entry @run() -> (tensor<4xf32> {xf.name = "y"}) {
    %i = arith.constant -1 : index
    %w = xf.param @p[%i] : tensor<4xf32>
    %y = xf.pack plain %w : tensor<4xf32>
    xf.return %y : tensor<4xf32>
  }
}
//--- weight.mlir
module attributes {xf.phase = "kernel"} {
  xf.weight @v : tensor<4xf32> layers 1 {
  ^bb0(%l: index):
    %w = xf.param @v : tensor<4xf32>
    xf.yield %w : tensor<4xf32>
  }
}
//--- step.mlir
module attributes {xf.phase = "kernel", xf.generate = {step = @nothing}} {
}
//--- tokens.mlir
module attributes {xf.phase = "kernel", xf.bounds = {B = 2 : i64, T = 2 : i64}, xf.generate = {step = @run, tokens = "tokens", logits = "y", batch = "B", target = "T"}} {
  xf.entry step @run() {
    xf.return
  }
}
//--- logits.mlir
module attributes {xf.phase = "kernel", xf.bounds = {B = 2 : i64, T = 2 : i64}, xf.generate = {step = @run, tokens = "tokens", logits = "y", batch = "B", target = "T"}} {
  xf.entry step @run(%t: tensor<?x?xi32, #xf.dims<"B", "T">> {xf.name = "tokens"}) {
    xf.return
  }
}
//--- reader.mlir
module attributes {xf.phase = "kernel", xf.bounds = {B = 2 : i64, N = 4 : i64, T = 4 : i64}} {
  xf.state @keys : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> layers 1 layout keys
  xf.entry @run(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">> {xf.name = "x"}, %past: tensor<?xi32, #xf.dims<"B">> {xf.name = "past"}) {
    %zero = arith.constant 0 : index
    %k = xf.append %x to @keys[%zero] axis 2 past %past by_reader : tensor<?x2x?x4xf32, #xf.dims<"B", "", "N", "">>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
    xf.return
  }
}
//--- predict.mlir
module attributes {xf.phase = "kernel", xf.predict = {entry = @run}} {
  xf.entry @run() {
    xf.return
  }
}
//--- types.mlir
module attributes {xf.phase = "kernel", xf.bounds = {B = 2 : i64, S = 2 : i64}, xf.text = {between = [1]},
                   xf.predict = {entry = @run, result = "y", batch = "B", source = "S", types = "kinds"}} {
  xf.entry @run(%t: tensor<?x?xi32, #xf.dims<"B", "S">> {xf.name = "tokens"}) -> (tensor<?x?xi32, #xf.dims<"B", "S">> {xf.name = "y"}) {
    xf.return %t : tensor<?x?xi32, #xf.dims<"B", "S">>
  }
}
