// What editors are told of IR: here of an op with a wrong shape, and where a value comes from.
// RUN: xf-lsp-server -lit-test < %s | FileCheck %s
{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"processId":123,"rootPath":"xf","capabilities":{},"trace":"off"}}
// CHECK: "id": 0
// -----
{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"test:///bad.mlir","languageId":"mlir","version":1,"text":"xf.entry full @e(%x: tensor<4xf32> {xf.name = \"x\"}) -> (tensor<4xf32> {xf.name = \"y\"}) {\n  %m = xf.reduce sum %x : tensor<4xf32> -> tensor<2xf32>\n  xf.return %x : tensor<4xf32>\n}"}}}
// CHECK: "method": "textDocument/publishDiagnostics"
// CHECK: "message": "'xf.reduce' op
// CHECK: "line": 1
// -----
{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"test:///good.mlir","languageId":"mlir","version":1,"text":"xf.entry full @e(%x: tensor<4xf32> {xf.name = \"x\"}) -> (tensor<1xf32> {xf.name = \"y\"}) {\n  %m = xf.reduce sum %x : tensor<4xf32> -> tensor<1xf32>\n  xf.return %m : tensor<1xf32>\n}"}}}
// CHECK: "method": "textDocument/publishDiagnostics"
// CHECK: "diagnostics": []
// -----
{"jsonrpc":"2.0","id":1,"method":"textDocument/definition","params":{"textDocument":{"uri":"test:///good.mlir"},"position":{"line":2,"character":13}}}
// CHECK: "id": 1
// CHECK: "line": 1
// What is wrong behind a carriage return that ends no line; this one, \\r, is two letters.
// -----
{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"test:///return.mlir","languageId":"mlir","version":1,"text":"module {} // \\r\r\n\r ."}}}
// CHECK: "method": "textDocument/publishDiagnostics"
// CHECK: "message": "expected three consecutive dots for an ellipsis"
// CHECK: "line": 1
// CHECK: "uri": "test:///return.mlir"
// -----
{"jsonrpc":"2.0","id":3,"method":"shutdown"}
// -----
{"jsonrpc":"2.0","method":"exit"}
