// RUN: xf-opt %s --pass-pipeline='builtin.module(xf-narrow-attention)' | FileCheck %s

// A decoder's attention gives the bits of its step's, which reads states; an encoder's may be multiplied in words.
module attributes {xf.bounds = {B = 2 : i64, T = 9 : i64}, xf.generate = {encode = @encode, decode = @decode, begin = @decode.begin}} {
  // CHECK-LABEL: xf.entry full @encode
  // CHECK: xf.attend {{.*}} fill -1.000000e+09 {words} :
  xf.entry full @encode(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "x"}) -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "y"}) {
    %y = xf.attend %x, %x, %x scale 0.5 fill -1.0e9 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>)
    xf.return %y : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  }
  // CHECK-LABEL: xf.entry full @decode
  // CHECK: xf.attend {{.*}} fill -1.000000e+09 :
  xf.entry full @decode(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "x"}) -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "y"}) {
    %y = xf.attend %x, %x, %x scale 0.5 fill -1.0e9 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>)
    xf.return %y : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  }
  // CHECK-LABEL: xf.entry full @decode.begin
  // CHECK: xf.attend {{.*}} fill -1.000000e+09 :
  xf.entry full @decode.begin(%x: tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "x"}) -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">> {xf.name = "y"}) {
    %y = xf.attend %x, %x, %x scale 0.5 fill -1.0e9 : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>, tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
      -> (tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>)
    xf.return %y : tensor<?x2x?x4xf32, #xf.dims<"B", "", "T", "">>
  }
}
