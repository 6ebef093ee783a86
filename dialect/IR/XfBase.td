// The dialect itself, its attributes and its enums.
#ifndef XF_BASE_TD
#define XF_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"

def Xf_Dialect : Dialect {
  let name = "xf";
  let cppNamespace = "::mlir::xf";
  let summary = "What Transformer models are made of, at the level where fusion is decided";
  let description = [{
    Values are ranked tensors whose encoding (`#xf.dims`) names their dynamic dimensions; the module's
    `xf.bounds` gives each name its largest value. Model ops say what a model computes, kernel ops what a
    fused group of them becomes. See dialect/README.md for what the dialect is not.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let dependentDialects = ["arith::ArithDialect", "math::MathDialect"];
}

class Xf_Attr<string name, string mnemonic_, list<Trait> traits = []> : AttrDef<Xf_Dialect, name, traits> {
  let mnemonic = mnemonic_;
}

def Xf_DimsAttr : Xf_Attr<"Dims", "dims", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "Names of a tensor's dimensions";
  let description = [{
    One string a dimension: the name of a dynamic dimension, empty for a static one. Two dynamic dimensions
    are the same size exactly if they have the same name.

    ```mlir
    tensor<?x?x64xf32, #xf.dims<"B", "S", "">>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names);
  let assemblyFormat = "`<` $names `>`";
}

def Xf_ReduceKind : I32EnumAttr<"ReduceKind", "what a row is reduced to", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 1>]> {
  let cppNamespace = "::mlir::xf";
  let genSpecializedAttr = 0;
}
def Xf_ReduceKindAttr : EnumAttr<Xf_Dialect, Xf_ReduceKind, "reduce_kind">;

def Xf_EntryKind : I32EnumAttr<"EntryKind", "how an entry is called", [
    I32EnumAttrCase<"full", 0>, I32EnumAttrCase<"begin", 1>, I32EnumAttrCase<"step", 2>,
    I32EnumAttrCase<"packed", 3> /* as full or begin, of sentences without padding */]> {
  let cppNamespace = "::mlir::xf";
  let genSpecializedAttr = 0;
}
def Xf_EntryKindAttr : EnumAttr<Xf_Dialect, Xf_EntryKind, "entry_kind">;

def Xf_Layout : I32EnumAttr<"Layout", "physical order of a packed tensor", [
    I32EnumAttrCase<"plain", 0>,     // row-major
    I32EnumAttrCase<"panels", 1>,    // weights [N, K] as [N/16][K/g][16][g]: g = 1 for f32, 2 for bf16 and f16, 4 for i8
    I32EnumAttrCase<"keys", 2>,      // [B, H, T, d] as [B][H][T/16][d/g][16][g]: g = 1 for f32, 2 for bf16 and f16
    I32EnumAttrCase<"values", 3>]> { // [B, H, T, e] as [B][H][T/g][e, rounded up to 16][g]
  let cppNamespace = "::mlir::xf";
  let genSpecializedAttr = 0;
}
def Xf_LayoutAttr : EnumAttr<Xf_Dialect, Xf_Layout, "layout">;

def Xf_Tensor : Type<CPred<"::mlir::xf::isValueType($_self)">,
    "ranked tensor of numbers, its dynamic dimensions named by #xf.dims, the others of at least one element",
    "::mlir::RankedTensorType">;

// Where an op may stand: in the body of an entry or a stack; there or in a weight's expression; in all these or in a row kernel.
def Xf_InBody : ParentOneOf<["::mlir::xf::EntryOp", "::mlir::xf::RepeatOp"]>;
def Xf_InExpression : ParentOneOf<["::mlir::xf::EntryOp", "::mlir::xf::RepeatOp", "::mlir::xf::WeightOp"]>;
def Xf_InRow : ParentOneOf<["::mlir::xf::EntryOp", "::mlir::xf::RepeatOp", "::mlir::xf::WeightOp", "::mlir::xf::RowOp"]>;
def Xf_InModule : HasParent<"::mlir::ModuleOp">;

class Xf_Op<string mnemonic, list<Trait> traits = []> : Op<Xf_Dialect, mnemonic, traits>;

#endif // XF_BASE_TD
