// What stands at module level: parameters and entries; and how a body refers to them.
#ifndef XF_MODULE_OPS_TD
#define XF_MODULE_OPS_TD

include "dialect/IR/XfBase.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

def Xf_ParameterOp : Xf_Op<"parameter", [Xf_InModule, Symbol]> {
  let summary = "A named tensor from the checkpoint, or a table computed when compiling";
  let description = [{
    `path` is the tensor's name in the checkpoint; `{0}`, `{1}` … stand for indices below `counts`, one tensor for
    each combination. With a region the parameter is a table: the region maps an element's indices to its value,
    evaluated in f64 and rounded once; a path then means "unless the checkpoint has it".

    ```mlir
    xf.parameter @encoder.layers.ff.weight : tensor<256x64xf32> path "encoder.layers.{0}.ff.weight" counts [6]
    xf.parameter @position : tensor<80x64xf32> {
    ^bb0(%p: index, %i: index):
      %v = arith.index_cast %p : index to i64
      %f = arith.sitofp %v : i64 to f64
      xf.yield %f : f64
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type, OptionalAttr<StrAttr>:$path,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$counts);
  let regions = (region AnyRegion:$init);
  let assemblyFormat = "$sym_name `:` $type (`path` $path^)? (`counts` $counts^)? ($init^)? attr-dict-with-keyword";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    RankedTensorType getTensorType() { return llvm::cast<RankedTensorType>(getType()); }
    bool isTable() { return !getInit().empty(); }
  }];
}

def Xf_ParamOp : Xf_Op<"param", [Xf_InExpression, Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The value of a parameter or weight, at given indices";
  let description = [{
    An index is a constant or the layer index of a stack (`xf.repeat`).

    ```mlir
    %second = arith.constant 1 : index
    %w = xf.param @encoder.layers.ff.weight[%second] : tensor<256x64xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$name, Variadic<Index>:$indices);
  let results = (outs Xf_Tensor:$result);
  let assemblyFormat = "$name (`[` $indices^ `]`)? attr-dict `:` type($result)";
}

def Xf_EntryOp : Xf_Op<"entry", [Xf_InModule, IsolatedFromAbove, FunctionOpInterface, AutomaticAllocationScope]> {
  let summary = "A function that is called from outside";
  let description = [{
    Arguments and results carry their names as `xf.name`. `kind` says how a search uses it: a `full` entry is called
    by name over whole sequences, a `begin` entry once a sentence, a `step` entry for n new positions. A `packed` entry
    is the twin of a full or begin one, for sentences that lie behind each other without padding.

    ```mlir
    xf.entry @run(%x: tensor<?x64xf32, #xf.dims<"B", "">> {xf.name = "x"})
        -> (tensor<?x64xf32, #xf.dims<"B", "">> {xf.name = "y"}) {
      xf.return %x : tensor<?x64xf32, #xf.dims<"B", "">>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       DefaultValuedAttr<Xf_EntryKindAttr, "EntryKind::full">:$kind,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "StringRef":$name, "FunctionType":$type, "ArrayRef<StringRef>":$argNames,
                                 "ArrayRef<StringRef>":$resultNames, CArg<"EntryKind", "EntryKind::full">:$kind)>];
  let extraClassDeclaration = [{
    /// Adds the body's block, with the function type's inputs as arguments.
    Block *addBody();
    StringRef getArgName(unsigned i);
    StringRef getResultName(unsigned i);
    /// Which argument or result has that name; nullopt: none.
    std::optional<unsigned> findArg(StringRef name);
    std::optional<unsigned> findResult(StringRef name);
    ArrayRef<Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ArrayRef<Type> getResultTypes() { return getFunctionType().getResults(); }
    Region *getCallableRegion() { return &getBody(); }
  }];
}

def Xf_ReturnOp : Xf_Op<"return", [Pure, HasParent<"EntryOp">, ReturnLike, Terminator]> {
  let summary = "Ends an entry with its results";
  let description = [{
    ```mlir
    xf.return %x : tensor<?x64xf32, #xf.dims<"B", "">>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let hasVerifier = 1;
}

def Xf_YieldOp : Xf_Op<"yield", [Pure, ReturnLike, Terminator]> {
  let summary = "Ends a region of an xf op with its values";
  let description = [{
    ```mlir
    xf.yield %x : f32
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

#endif // XF_MODULE_OPS_TD
