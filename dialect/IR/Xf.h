// The xf dialect: attributes, ops, and helpers on its types.
#ifndef XF_DIALECT_IR_XF_H
#define XF_DIALECT_IR_XF_H

#include "dialect/IR/Causality.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/IR/XfDialect.h.inc"
#include "dialect/IR/XfEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/IR/XfAttrs.h.inc"
#include "dialect/IR/XfInterfaces.h.inc"

namespace mlir::xf {
/// Whether values can have this type: a ranked tensor of floats or integers of at most 64 bits, whose dynamic dimensions
/// have names and whose static ones are at least 1.
bool isValueType(Type type);
/// Syntax of `maps`: [[0, 1], [1]].
ParseResult parseIndexMaps(OpAsmParser &parser, ArrayAttr &maps);
void printIndexMaps(OpAsmPrinter &p, Operation *op, ArrayAttr maps);
/// Syntax of `init`: [0.0, 0xFFF0000000000000]. Unlike an array attribute's own, it keeps every number, infinities included.
ParseResult parseStarts(OpAsmParser &parser, DenseF64ArrayAttr &starts);
void printStarts(OpAsmPrinter &p, Operation *op, DenseF64ArrayAttr starts);
} // namespace mlir::xf

#define GET_OP_CLASSES
#include "dialect/IR/XfOps.h.inc"

namespace mlir::xf {

/// Module attribute: a dictionary, dimension name -> its largest value (i64).
inline constexpr llvm::StringLiteral kBoundsAttr = "xf.bounds";
/// Module attributes that say how entries serve a search, how lines become tokens, and what an encoder-only
/// program prints. Their members are listed in dialect/README.md.
inline constexpr llvm::StringLiteral kGenerateAttr = "xf.generate";
inline constexpr llvm::StringLiteral kTextAttr = "xf.text";
inline constexpr llvm::StringLiteral kPredictAttr = "xf.predict";
/// Module attribute: the phase that the IR has passed, kStepPhase or kKernelPhase, so that a compilation goes on from there.
inline constexpr llvm::StringLiteral kPhaseAttr = "xf.phase";
inline constexpr llvm::StringLiteral kStepPhase = "step", kKernelPhase = "kernel";
/// Argument and result attribute of an entry: the name (StringAttr).
inline constexpr llvm::StringLiteral kNameAttr = "xf.name";

/// A tensor type from its sizes, and for each dimension a name if it is dynamic, else an empty string.
RankedTensorType makeTensor(ArrayRef<int64_t> sizes, ArrayRef<StringRef> names, Type element);

/// The type of a value that is known to be a tensor.
inline RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
/// The name of dimension i; empty if it is static.
StringRef getDimName(RankedTensorType type, unsigned i);
/// All dimensions' names.
SmallVector<StringRef> getDimNames(RankedTensorType type);
/// Whether dimension i of a and j of b are the same size for every binding of the names.
bool sameDim(RankedTensorType a, unsigned i, RankedTensorType b, unsigned j);
/// "[B, S, 64]", as messages print a shape.
std::string describeShape(RankedTensorType type);
/// The largest value of dimension `name`, from the module's bounds; nullopt if it is not listed.
std::optional<int64_t> getBound(ModuleOp module, StringRef name);
/// Lists `bound` as the largest value of dimension `name`.
void setBound(ModuleOp module, StringRef name, int64_t bound);
/// A name for one more dimension: `letter`, with a number if the module's bounds list that already.
std::string freshDim(ModuleOp module, StringRef letter);
/// The same shape with another element type.
RankedTensorType withElement(RankedTensorType type, Type element);
/// The type of sums of products of such factors: i32 for i8, else f32.
Type productElement(Type factor);
/// How many elements of a row stand together in Layout::panels: four bytes' worth.
int64_t panelGroup(Type factor);
/// Whether attention multiplies such elements: f32, bf16 or f16.
bool isFactorOfAttention(Type element);
/// The elements of a packed row: `depth` filled up with zeros to whole groups.
inline int64_t panelDepth(Type factor, int64_t depth) { return llvm::alignTo(depth, panelGroup(factor)); }
/// `type` with dimension i replaced.
RankedTensorType withDim(RankedTensorType type, unsigned i, int64_t size, StringRef name);

/// An einops pattern, parsed: each side is a list of groups of axis indices; `1` is an empty group.
struct Rearrangement {
  SmallVector<std::string> axes;
  SmallVector<SmallVector<unsigned>> in, out;

  /// Parses "B T (h k) -> B h T k". The error says what is wrong with the pattern.
  static FailureOr<Rearrangement> parse(StringRef pattern, llvm::function_ref<InFlightDiagnostic()> emitError);
  /// Sizes and dimension names of all axes for an input of type `in` and given sizes; or an error.
  LogicalResult bind(RankedTensorType in, DictionaryAttr sizes, SmallVectorImpl<int64_t> &axisSizes, SmallVectorImpl<StringRef> &axisNames,
                     llvm::function_ref<InFlightDiagnostic()> emitError) const;
  /// The result's type for an input of type `in`.
  FailureOr<RankedTensorType> apply(RankedTensorType in, DictionaryAttr sizes, llvm::function_ref<InFlightDiagnostic()> emitError) const;
};

} // namespace mlir::xf

#endif // XF_DIALECT_IR_XF_H
